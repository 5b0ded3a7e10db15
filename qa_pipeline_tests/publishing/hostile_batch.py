"""One batch of few rows whose texts hold every sign that a file format could stumble over."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.publishing.formats import FORMATS, format_writer
from qa_pipeline.storage.tables import ROUND_TRIPS
from qa_pipeline_tests.curation.rows import (
    Row,
    chunk,
    chunks,
    document,
    documents,
    example,
    examples,
    pair,
    pairs,
    sha,
    verdict,
    verdicts,
)

HOSTILE = 'It\'s "9 | 10"\tand\r\n\u2028\x00 {x}\\ ]}, 🦅 é e\u0301.'
FIRST, SECOND, THIRD = f"🦅 One: {HOSTILE}", f"Two: {HOSTILE}", "Elsewhere 🦅 the shop is open."
TEXT = f"{FIRST} {SECOND}\n\n{THIRD}"
QUESTION, ANSWER, WORSE = f"What? {HOSTILE}", f"This. {HOSTILE}", f"That. {HOSTILE}"
SPLITS = ("train", "test")


def _said(question: str, answer: str) -> list[dict[str, str]]:
    words = {"system": "Be brief.", "user": question, "assistant": answer}
    return [{"role": role, "content": content} for role, content in words.items()]


def _quoted(quote: str, chunk_id: str, document_id: str = "d", text: str = TEXT) -> Row:
    start = text.index(quote)
    return {
        "claim": f"So: {quote}",
        "document_id": document_id,
        "chunk_id": chunk_id,
        "path": f"{document_id}.md",
        "content_sha256": sha(document_id),
        "start": start,
        "end": start + len(quote),
        "quote": quote,
    }


def _cut(chunk_id: str, text: str, document_id: str = "d", whole: str = TEXT, position: int = 0) -> Row:
    start = whole.index(text)
    return chunk(
        chunk_id,
        text,
        document_id=document_id,
        position=position,
        char_start=start,
        char_end=start + len(text),
    )


def released(pair_id: str, split: str = "train", documents: Sequence[str] = ("d",), **values: Any) -> Row:
    """A released row, with its split and the documents it rests on."""
    return {"pair_id": pair_id, "split": split, "documents": [sha(one) for one in documents], **values}


PLACED = {"d": "train", "f": "train", "t": "test"}


def tables() -> dict[str, pl.DataFrame]:
    """The tables that formats read.

    Chunks of `d`: `both` (both quotes), `part` (ends within the first), `third`; `copy` holds the first quote
    in another document, `away` nothing of it, `again` all of it in other words, `twin` says the same,
    and `test` is of the document that a row of the test split rests on.
    """
    near, far, held = f"As is said: {FIRST}", "Nothing of it is here.", "The fish is blue."
    again = "All of it is here, in other words."
    passages = ["third", "part", "both", "copy", "away", "test", "again", "twin"]
    drafts = {"p": ANSWER, "worse": WORSE, "same": f"{ANSWER} ", "double": "Twice."}
    return {
        "documents": documents(*(document(one) for one in ("d", "e", "f", "t"))),
        "chunks": chunks(
            _cut("both", f"{FIRST} {SECOND}", position=1),
            _cut("part", FIRST[:10], position=2),
            _cut("third", THIRD, position=3),
            _cut("copy", near, "e", near),
            _cut("away", far, "f", far),
            _cut("again", again, "e", again, 1),
            _cut("twin", again, "f", again, 1),
            _cut("test", held, "t", held),
        ).with_columns(placed=pl.col("document_id").replace_strict(PLACED, default=None)),
        "pairs": pairs(
            *(
                pair(one, question=QUESTION, question_id="q", passage_ids=passages, answer=answer,
                    passage_scores=[1 / n for n in range(1, 9)],
                    citations=[{"raw": "[c1]", "document_id": "d", "chunk_id": "both", "quote": FIRST}])
                for one, answer in drafts.items()
            ),
            pair("refused", question_id="r", passage_ids=["third", "away"], coverage="none"),
            pair("apart", question_id="s", passage_ids=["both"]),
            pair("held", question_id="t", passage_ids=["test"]),
        ),
        "verdicts": verdicts(
            *(verdict(one) for one in ("p", "refused", "apart", "held")),
            verdict("worse", "rejected", reason="contradicted", stage="source_verification"),
            verdict("same", "rejected", reason="alternative", stage="deduplication"),
            verdict("double", "rejected", reason="duplicate", stage="deduplication"),
        ),
        "round_trips": ROUND_TRIPS.frame(
            [{"pair_id": "p", "batch": "b", "status": "checked", "further_chunk_ids": ["again"]}]
        ),
    }  # fmt: skip


def rows() -> pl.DataFrame:
    """The released rows: `p`, `held` (in one place each), `apart` (in two places), `refused`."""
    proof = [_quoted(FIRST, "both"), _quoted(SECOND, "both")]
    two_places = [_quoted(FIRST, "both"), _quoted(THIRD, "third")]
    held = _quoted("The fish is blue.", "test", "t", "The fish is blue.")
    own = {
        "p": released("p", question=QUESTION, answer=ANSWER, evidence=proof, difficulty="easy"),
        "apart": released("apart", evidence=two_places),
        "refused": released("refused", coverage="none", documents=("d", "f")),
        "held": released("held", "test", ("t",), evidence=[held]),
    }
    made = []
    for pair_id, values in own.items():
        question, answer = values.get("question", "Q?"), values.get("answer", "A.")
        given = {name: one for name, one in values.items() if name not in {"pair_id", "split", "documents"}}
        made.append(
            example(
                pair_id,
                **{"question": question, "answer": answer, "messages": _said(question, answer), **given},
            )
        )
    further = pl.DataFrame(
        [{"pair_id": one, "documents": of["documents"], "split": of["split"]} for one, of in own.items()]
    )
    return examples(*made).join(further, on="pair_id", maintain_order="left").with_columns(
        licences=pl.lit(["CC0-1.0"]), version=pl.lit(3, pl.Int32), in_evaluation=pl.lit(value=False)
    )  # fmt: skip


def write_all(folder: Path) -> None:
    """Write every format, with a split that has no row."""
    for name in FORMATS:
        with format_writer(folder, name, (*SPLITS, "empty"), "closed_book") as write:
            write(tables(), rows())
