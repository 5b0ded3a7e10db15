import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import CHUNKS
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline.verification.outcomes import fabricated_citations
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.rows import chunks, citation, documents, pair, pairs

SETTINGS = VerificationSettings()
SENTENCES = [
    "The heat pump weighs 80 kg.",
    "The pump was released on 12 March 2021 by Nordvik.",
    "Do not use softened water.",
    "The safety valve opens at 3 bar.",
    "Members may borrow at most 5 books.",
    "The default of `read_timeout` is 30 seconds.",
    "Råvattnet tas från Lillsjön.",
    "Die Leihfrist beträgt 28 Tage.",
]


def claims_of(texts: dict[str, str], *rows: dict[str, object], language: str = "en") -> pl.DataFrame:
    frame = documents(texts, language)
    return find_claims(pairs(*rows), frame, chunks(frame), HashEmbedder())


@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6, unique=True),
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3, unique=True),
    st.sampled_from(["en", "sv", "de"]),
    st.sampled_from([" ", "\n\n", "\n\n## Section\n\n", "\n- "]),
)
def test_evidence_is_a_slice_of_its_document(
    sentences: list[str], claims: list[str], language: str, joint: str
) -> None:
    text = joint.join(sentences)
    row = pair(" ".join(claims), cites="a.md", language=language)
    found = claims_of({"a.md": text}, row, language=language)
    assert found.height == len(claims)
    for claim in found.filter(pl.col("evidence_quote").is_not_null()).iter_rows(named=True):
        assert text[claim["evidence_start"] : claim["evidence_end"]] == claim["evidence_quote"]
        assert claim["evidence_content_sha256"] == "sha-a.md"


@given(st.lists(st.sampled_from(SENTENCES[:6]), min_size=1, max_size=6, unique=True), st.data())
def test_a_sentence_of_the_document_is_proved(sentences: list[str], data: st.DataObject) -> None:
    row = pair(data.draw(st.sampled_from(sentences)), cites="a.md")
    found = claims_of({"a.md": "# Title\n\n" + "\n\n".join(sentences)}, row)
    assert found["proved_by"].to_list() == ["quotation"]
    verdict = decide_claims(found, pairs(row), SETTINGS)
    assert verdict.select("verdict", "decided_by").row(0) == ("supported", "quotation")


def test_refusals_and_failed_pairs_have_no_claims() -> None:
    refusal = pair("This is not in the knowledge base.", cites="a.md", coverage="none")
    failed = {**pair("", cites="a.md"), "answer": None, "coverage": None, "status": "failed"}
    assert claims_of({"a.md": "Text."}, refusal, failed).is_empty()


@pytest.mark.parametrize(
    ("cite", "status", "reason"),
    [
        (citation("no.md", resolution="unknown_document"), "unresolved", "fabricated_citation"),
        (
            citation("a.md#x", document_id="doc-a.md", resolution="section_not_found"),
            "resolved",
            "section_not_found",
        ),
        (citation("a", resolution="ambiguous"), "unresolved", "ambiguous_citation"),
        (citation("a.md", document_id="doc-a.md", quote="never said this at all"), "quote_not_found", None),
        (citation("a.md", document_id="doc-a.md", quote="heat pump weighs"), "resolved", None),
    ],
)
def test_the_state_of_the_citation_is_the_claims(
    cite: dict[str, object], status: str, reason: str | None
) -> None:
    found = claims_of({"a.md": SENTENCES[0]}, pair("The heat pump weighs 80 kg.", cites=[cite]))
    assert found.select("citation_status", "citation_reason").row(0) == (status, reason)


def test_a_claim_rests_on_the_source_whose_number_is_behind_it() -> None:
    texts = {"a.md": SENTENCES[0], "b.md": SENTENCES[3]}
    cites = [
        citation(path, document_id=f"doc-{path}", number=number) for number, path in enumerate(texts, start=1)
    ]
    found = claims_of(texts, pair(f"{SENTENCES[0][:-1]} [1]. {SENTENCES[3][:-1]} [c2].", cites=cites))
    assert found["evidence_document_id"].to_list() == ["doc-a.md", "doc-b.md"]
    assert found["text"].to_list() == [SENTENCES[0], SENTENCES[3]]
    assert found["candidate_chunk_ids"].to_list() == [["a.md:0"], ["b.md:0"]]


@pytest.mark.parametrize(
    ("others", "status", "kind"),
    [(["a.md:1"], "quote_repaired", "misplaced"), ([], "quote_not_found", "missing")],
)
def test_a_quote_of_another_cited_chunk_is_repaired(others: list[str], status: str, kind: str) -> None:
    text = "# One\n\nThe heat pump weighs 80 kg.\n\n# Two\n\nThe valve opens at 3 bar."
    cites = [
        citation("passage 1", document_id="doc-a.md", chunk_id=chunk_id, resolution="chunk", quote=quote)
        for chunk_id, quote in [("a.md:0", "opens at 3 bar"), *((other, None) for other in others)]
    ]
    found = claims_of({"a.md": text}, pair("The valve opens at 3 bar.", cites=cites))
    assert found["citation_status"].to_list() == [status]
    assert found["quotes"][0].to_list() == [{"given": "opens at 3 bar", "kind": kind}]


@pytest.mark.parametrize(
    ("row", "status", "verdict", "reason"),
    [
        (pair(SENTENCES[0], cites=[]), "found_by_search", "supported", None),
        (pair("The heat pump weighs 90 kg.", cites=[]), "found_by_search", "contradicted", "number_mismatch"),
        (pair("Bears hibernate each winter.", cites=[]), "found_by_search", "undecided", "no_evidence_found"),
        (pair(SENTENCES[0], cites=[], origin="generated"), "found_by_search", "supported", None),
        (pair(SENTENCES[0], cites="b.md"), "resolved", "undecided", "undecided_without_model"),
    ],
)
def test_a_claim_without_its_citation_is_compared_with_what_the_batch_has(
    row: dict[str, object], status: str, verdict: str, reason: str | None
) -> None:
    claims = claims_of({"a.md": SENTENCES[0], "b.md": SENTENCES[3], "c.md": SENTENCES[1]}, row)
    assert claims["citation_status"].to_list() == [status]
    decided = decide_claims(claims, pairs(row), SETTINGS)
    assert decided.select("verdict", "reason").rows() == [(verdict, reason)]
    assert fabricated_citations(pairs(row), claims).height == 0


def test_the_page_is_where_the_evidence_starts() -> None:
    frame = documents({"a.md": "First page.\n\nThe valve opens at 3 bar."})
    pages = [{"number": 1, "start": 0, "end": 12}, {"number": 2, "start": 12, "end": 50}]
    paged = frame.with_columns(pages=pl.Series([pages], dtype=frame.schema["pages"]))
    found = find_claims(
        pairs(pair("The valve opens at 3 bar.", cites="a.md")), paged, chunks(paged), HashEmbedder()
    )
    assert found["evidence_page"].to_list() == [2]


def doubting(frame: pl.DataFrame, path: str, part: str) -> pl.DataFrame:
    """Return chunks of documents, of which the reader of one is not sure of a part."""
    text = frame.filter(path=path)["text"].item()
    doubt = {"kind": "order", "start": text.index(part), "end": text.index(part) + len(part)}
    is_its = pl.col("document_id") == f"doc-{path}"
    doubts = pl.lit(pl.Series([[doubt]], dtype=CHUNKS.schema["doubts"])).first()
    return chunks(frame).with_columns(doubts=pl.when(is_its).then(doubts))


def test_evidence_has_the_doubt_about_its_own_sentence_and_none_about_its_neighbours() -> None:
    frame = documents({"a.md": f"{SENTENCES[0]} {SENTENCES[3]}"})
    asked = pairs(pair(f"{SENTENCES[0]} {SENTENCES[3]}", cites="a.md"))
    claims = find_claims(asked, frame, doubting(frame, "a.md", SENTENCES[3]), HashEmbedder())
    assert claims["evidence_doubt"].to_list() == [None, "order"]


def test_of_two_sentences_that_prove_a_claim_the_one_without_doubt_is_its_evidence() -> None:
    frame = documents({"a.md": SENTENCES[0], "b.md": SENTENCES[0]})
    cites = [citation(path, document_id=f"doc-{path}") for path in ("a.md", "b.md")]
    for doubtful, sure in (("a.md", "b.md"), ("b.md", "a.md")):
        asked = pairs(pair(SENTENCES[0], cites=cites))
        claims = find_claims(asked, frame, doubting(frame, doubtful, SENTENCES[0]), HashEmbedder())
        assert claims.select("evidence_document_id", "evidence_doubt", "unproved").row(0) == (
            f"doc-{sure}",
            None,
            [],
        )


@pytest.mark.parametrize("raw", ["mine.jsonl", "./sets/mine.jsonl", "source:mine.jsonl"])
def test_the_file_that_a_pair_came_from_is_no_source_for_it(raw: str) -> None:
    documents = {"mine.jsonl": SENTENCES[0]}
    cited = pair(SENTENCES[0], cites=[citation(raw)], generator="sets/mine.jsonl")
    marked = pair(f"{SENTENCES[0]} [source:{raw}]", cites=[], generator="mine.jsonl")
    for one in (cited, marked):
        found = claims_of(documents, one)
        assert found["citation_reason"].to_list() == ["fabricated_citation"]
