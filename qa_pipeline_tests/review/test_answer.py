"""An answer and its sources are data in every format: nothing of a document becomes markup of it."""

from typing import Any

from qa_pipeline.review.answer import Answer, as_bibtex, as_markdown, sources_of
from qa_pipeline.review.batches import AskedBatch
from qa_pipeline.review.pair import ClaimView, Quote
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.curation import rows

HOSTILE = (
    'A} @misc{x, title = {y}} \\input{/etc/passwd} 100% $&#_^~ "q" '
    "<script>alert(1)</script> [a](b) \x1b[2J\u202e"
)


def claim(number: int, quote: str, chunk: str = "c1") -> ClaimView:
    evidence = Quote("d1", "guide.md", chunk, f"Part {HOSTILE}", 7, 0, 5, quote, 0.9)
    return ClaimView(number, f"claim{number}", quote, 0, 5, "supported", "proof", None, [], {}, evidence)


def answer(*claims: ClaimView, is_upload: bool = False) -> Answer:
    origin = {"licence": "CC-BY-4.0", "source_uri": "https://example.org/a?b=1&c=2"}
    documents = rows.documents(rows.document("d1", path="guide.md", title=HOSTILE, **origin))
    pair = rows.pairs(rows.pair("p", question=f"Why? {HOSTILE}", answer=HOSTILE))
    batch = AskedBatch("upload:x.md" if is_upload else "batch:b", "b", Layout.__new__(Layout), "mine.md")
    row = pair.row(0, named=True)
    chunks: Any = {name: {"text": f"The text of {name}."} for name in ("c1", "c2")}
    upload = "mine.md" if is_upload else None
    sources = sources_of(claims, documents, chunks, row, upload=upload)  # type: ignore[arg-type]
    return Answer(batch, row, [], documents, list(claims), [(HOSTILE, None)], sources=sources)  # type: ignore[arg-type]


def test_a_chunk_that_two_claims_rest_on_is_one_source() -> None:
    sources = answer(claim(1, "first"), claim(2, "first"), claim(3, "other", chunk="c2")).sources
    assert [(source["number"], source["quote"], source["claims"]) for source in sources] == [
        (1, "first", [1, 2]),
        (2, "other", [3]),
    ]
    assert (sources[0]["page"], sources[0]["licence"]) == (7, "CC-BY-4.0")
    assert sources[1]["text"] == "The text of c2."


def test_an_upload_is_called_as_its_owner_calls_it() -> None:
    (source,) = answer(claim(1, "first"), is_upload=True).sources
    assert (source["title"], source["path"]) == ("mine.md", "mine.md")


def test_bibtex_has_as_many_entries_as_sources_and_balanced_braces() -> None:
    text = as_bibtex(answer(claim(1, HOSTILE)).sources)
    assert [line for line in text.splitlines() if line.startswith("@")] == ["@misc{source1,"]
    depth = 0
    for place, character in enumerate(text.rstrip()):
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= (1 if 5 < place < len(text.rstrip()) - 1 else 0)
    assert depth == 0
    assert "\\input{/" not in text
    assert "\x1b" not in text


def test_markdown_shows_texts_as_texts() -> None:
    asked = answer(claim(1, HOSTILE))
    text = as_markdown(asked.pair["question"] or "", HOSTILE, asked.sources)
    assert "<script>alert" not in text
    assert "[a](b)" not in text
    assert "CC-BY-4.0" in text.replace("\\", "")
    assert "page 7" in text
