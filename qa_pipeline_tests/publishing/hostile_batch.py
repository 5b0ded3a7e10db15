"""One batch of few rows whose texts hold every sign that a file format could stumble over."""

from pathlib import Path

import polars as pl

from qa_pipeline.publishing.rows import FORMATS, PREFERENCE, trainer_lines, with_worse_drafts
from qa_pipeline_tests.curation.rows import example, examples, pair, pairs, sha, verdict, verdicts

HOSTILE = 'It\'s "9 | 10"\tand\r\n\u2028\x00 {x}\\ ]}, 🦅 é e\u0301.'
QUESTION, ANSWER, WORSE = f"What? {HOSTILE}", f"This. {HOSTILE}", f"That. {HOSTILE}"
SPLITS = {"p": "train", "apart": "train", "held": "test"}


def _said(question: str, answer: str) -> list[dict[str, str]]:
    words = {"system": "Be brief.", "user": question, "assistant": answer}
    return [{"role": role, "content": content} for role, content in words.items()]


def tables() -> dict[str, pl.DataFrame]:
    """The tables that formats read: `p` and drafts of its question, and two other pairs."""
    drafts = {"p": ANSWER, "worse": WORSE, "same": f"{ANSWER} ", "double": "Twice."}
    return {
        "pairs": pairs(
            *(pair(one, question=QUESTION, question_id="q", answer=answer) for one, answer in drafts.items()),
            pair("apart", question_id="s"),
            pair("held", question_id="t"),
        ),
        "verdicts": verdicts(
            *(verdict(one) for one in ("p", "apart", "held")),
            verdict("worse", "rejected", reason="contradicted", stage="source_verification"),
            verdict("same", "rejected", reason="alternative", stage="deduplication"),
            verdict("double", "rejected", reason="duplicate", stage="deduplication"),
        ),
    }


def rows() -> pl.DataFrame:
    """The released rows."""
    texts = {"p": (QUESTION, ANSWER)}
    made = []
    for pair_id in SPLITS:
        question, answer = texts.get(pair_id, ("Q?", "A."))
        made.append(example(pair_id, question=question, answer=answer, messages=_said(question, answer)))
    return examples(*made).with_columns(
        split=pl.col("pair_id").replace_strict(SPLITS),
        documents=pl.lit([sha("d")]),
        licences=pl.lit(["CC0-1.0"]),
        grounding=pl.lit(1.0),
        composite=pl.lit(0.75),
    )


def write_all(folder: Path) -> None:
    """Write every format, with a split that has no row."""
    for name in FORMATS:
        (folder / name).mkdir()
        for split in ("train", "test", "empty"):
            own = rows().filter(pl.col("split") == split)
            (folder / name / f"{split}.jsonl").write_bytes(lines(name, own))


def lines(name: str, released: pl.DataFrame, drafts: dict[str, pl.DataFrame] | None = None) -> bytes:
    """The lines of a format."""
    own = tables() if drafts is None else drafts
    worse = with_worse_drafts(released, own) if name == PREFERENCE else released
    return b"".join(trainer_lines(name, worse))
