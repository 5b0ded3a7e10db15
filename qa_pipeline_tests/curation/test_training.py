"""Only proved rows train, every layout keeps to its length, and equal input gives equal examples."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.curation.training import build_training_examples, user_message
from qa_pipeline.prompts.loading import part_text
from qa_pipeline.records import Passage
from qa_pipeline.settings.verification import TrainingSettings
from qa_pipeline_tests.curation.rows import (
    TEXT,
    Row,
    assessment,
    assessments,
    chunk,
    chunks,
    claim,
    claim_verdict,
    claim_verdicts,
    claims,
    document,
    documents,
    pair,
    pairs,
    sha,
    verdict,
    verdicts,
)

LAYOUTS = ("closed_book", "with_context", "with_distractors")


def words_in(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def batch(
    *rows: Row, words: dict[str, str] | None = None, **replaced: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """Pairs whose one claim rests on chunk c of document d, among five more chunks."""
    ids = [row["pair_id"] for row in rows]
    verdict_of = words or {}
    return {
        "pairs": pairs(*rows),
        "verdicts": verdicts(
            *(
                verdict(i, verdict_of.get(i, "accepted"), expected_verdict=row.get("expected_verdict"))
                for i, row in zip(ids, rows, strict=True)
            )
        ),
        "claims": claims(*(claim(row["pair_id"]) for row in rows if row["coverage"] != "none")),
        "claim_verdicts": claim_verdicts(
            *(claim_verdict(row["pair_id"], "supported") for row in rows if row["coverage"] != "none")
        ),
        "assessments": assessments(*(assessment(i) for i in ids)),
        "chunks": chunks(chunk("c"), *(chunk(f"o{n}", f"Other {n}.", document_id="o") for n in range(5))),
        "documents": documents(document("d"), document("o")),
        **replaced,
    }


def build(frames: dict[str, pl.DataFrame], **settings: Any) -> pl.DataFrame:
    return build_training_examples(**frames, count_tokens=words_in, settings=TrainingSettings(**settings))


def first(frames: dict[str, pl.DataFrame], **settings: Any) -> dict[str, Any]:
    return build(frames, **settings).row(0, named=True)


def user(frames: dict[str, pl.DataFrame], layout: str) -> str:
    content: str = first(frames, layout=layout)["messages"][1]["content"]
    return content


VERDICT_WORDS = st.sampled_from(["accepted", "rejected", "needs_review", "failed"])


@given(
    rows=st.lists(
        st.tuples(VERDICT_WORDS, st.none() | VERDICT_WORDS, st.sampled_from(["full", "partial", "none"])),
        max_size=6,
    )
)
def test_exactly_the_accepted_pairs_that_are_no_known_answers_train(
    rows: list[tuple[str, str | None, str]],
) -> None:
    made = [
        pair(f"p{n}", expected_verdict=known, coverage=coverage)
        for n, (_, known, coverage) in enumerate(rows)
    ]
    words = {f"p{n}": word for n, (word, _, _) in enumerate(rows)}
    expected = [f"p{n}" for n, (word, known, _) in enumerate(rows) if word == "accepted" and known is None]
    assert build(batch(*made, words=words))["pair_id"].to_list() == expected


def test_the_type_of_a_question_is_what_its_judge_says_it_asks() -> None:
    judged = assessments(assessment("p", question_type="procedure"))
    assert first(batch(pair("p")))["question_type"] != "procedure"
    assert first(batch(pair("p"), assessments=judged))["question_type"] == "procedure"


@given(
    max_tokens=st.integers(1, 120),
    distractors=st.integers(0, 4),
    coverage=st.sampled_from(["full", "none"]),
    layout=st.sampled_from(LAYOUTS),
)
def test_no_example_is_longer_than_allowed_and_its_count_is_its_own(
    max_tokens: int, distractors: int, coverage: str, layout: str
) -> None:
    made = pair("p", coverage=coverage, passage_ids=["o1", "o2", "c"])
    settings = {"max_tokens": max_tokens, "distractors": distractors, "layout": layout}
    for row in build(batch(made), **settings).iter_rows(named=True):
        text = "\n".join(message["content"] for message in row["messages"])
        assert row["tokens"] == len(text.split()) <= max_tokens


def test_the_layouts_show_nothing_the_proof_and_the_proof_among_others() -> None:
    frames = batch(pair("p", passage_ids=["o1", "c", "o2", "o3"]))
    assert user(frames, "closed_book") == "Question p?"
    assert TEXT in user(frames, "with_context")
    assert "Other" not in user(frames, "with_context")
    assert user(frames, "with_distractors").count("Other") == 2
    for layout in LAYOUTS:
        messages = first(frames, layout=layout)["messages"]
        assert [message["role"] for message in messages] == ["system", "user", "assistant"]
        assert messages[2]["content"] == "Answer p."
        assert messages[1]["content"].endswith("Question p?")


def test_passages_carry_plain_marks_as_an_application_would_show_them() -> None:
    frames = batch(pair("p", coverage="none", passage_ids=["c", "t"]))
    titled = chunk("t", "Closed on Mondays.", section_path=["Library", "Days\noff"])
    frames["chunks"] = chunks(chunk("c"), titled)
    assert user(frames, "with_context") == (
        f"<passages>\n[1] Library › Opening hours\n{TEXT}\n\n[2] Library › Days off\nClosed on Mondays.\n"
        "</passages>\n\nQuestion p?"
    )


@given(st.text(), st.text().filter(lambda question: "</passages>" not in question))
def test_no_passage_ends_before_its_mark_and_the_question_comes_last(text: str, question: str) -> None:
    shown = user_message([Passage("c", "Library", (), text, "en")], question)
    before, after = shown.split("</passages>")
    assert before.startswith("<passages>\n[1] Library\n")
    assert after == f"\n\n{question}"
    assert user_message([], question) == question


def test_a_refusal_is_shown_what_was_found_and_no_distractors() -> None:
    frames = batch(pair("p", coverage="none", passage_ids=["o1", "o2"]))
    row = first(frames, layout="with_distractors")
    assert (row["passages"], row["evidence"]) == (["o1", "o2"], [])
    assert "Other 1." in user(frames, "with_context")
    assert "Other 2." in user(frames, "with_context")


def test_source_marks_stay_out_of_every_message_and_in_the_answer() -> None:
    answer = "It opens at nine [source:d.md#hours]. It closes at five [Källa: d.md]."
    for layout in LAYOUTS:
        row = first(batch(pair("p", answer=answer)), layout=layout)
        assert row["messages"][2]["content"] == "It opens at nine. It closes at five."
        assert row["answer"] == answer


@pytest.mark.parametrize("language", ["en", "sv", "de"])
def test_the_system_message_speaks_the_language_of_the_pair_unless_set(language: str) -> None:
    frames = batch(pair("p", language=language))
    row = first(frames)
    assert row["messages"][0]["content"] == part_text(language, "system_closed_book")
    with_passages = first(frames, layout="with_context")["messages"]
    assert with_passages[0]["content"] == part_text(language, "system_passages")
    assert first(frames, system_prompt="Be brief.")["messages"][0]["content"] == "Be brief."


def test_every_supported_claim_is_proved_in_the_order_of_the_answer() -> None:
    frames = batch(pair("p"))
    frames["claims"] = claims(
        claim("p", 1, text="second", evidence_page=3), claim("p", 0, text="first"), claim("p", 2)
    )
    frames["claim_verdicts"] = claim_verdicts(
        claim_verdict("p", "supported", 0),
        claim_verdict("p", "supported", 1),
        claim_verdict("p", "undecided", 2),
    )
    evidence = first(frames)["evidence"]
    assert [one["claim"] for one in evidence] == ["first", "second"]
    assert evidence[1] == {
        "claim": "second",
        "document_id": "d",
        "chunk_id": "c",
        "path": "d.md",
        "content_sha256": sha("d"),
        "start": 0,
        "end": len(TEXT),
        "page": 3,
        "quote": TEXT,
    }


def test_provenance_names_who_wrote_judged_and_decided_and_the_sources() -> None:
    frames = batch(pair("p", prompt_hash="h"), pair("r", coverage="none", passage_ids=["o1"]))
    frames["documents"] = documents(document("d", licence=None), document("o"))
    frames["verdicts"] = frames["verdicts"].with_columns(citation_quality=0.9)
    answered, refused = (row["provenance"] for row in build(frames).iter_rows(named=True))
    assert answered == {
        "origin": "generated",
        "generator": "model",
        "prompt_hash": "h",
        "judge": "judge-1",
        "thresholds_id": "t",
        "citation_quality": 0.9,
        "source_uris": ["https://example.org/d"],
        "licences": [],
    }
    assert (refused["source_uris"], refused["licences"]) == (["https://example.org/o"], ["CC0-1.0"])


@given(
    max_tokens=st.integers(1, 120),
    distractors=st.integers(0, 4),
    retrieved=st.permutations(["o1", "o3", "c"]),
    layout=st.sampled_from(LAYOUTS[1:]),
)
def test_the_proof_is_never_dropped_from_a_layout_with_passages(
    max_tokens: int, distractors: int, retrieved: list[str], layout: str
) -> None:
    frames = batch(pair("p", passage_ids=retrieved))
    rows = build(frames, max_tokens=max_tokens, distractors=distractors, layout=layout)
    for row in rows.iter_rows(named=True):
        assert TEXT in row["messages"][1]["content"]
