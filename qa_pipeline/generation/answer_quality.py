"""Drafted answers that nobody should train on, whatever proves them.

They are found before they cost a verifier or a judge.
"""

import functools
import re
from collections.abc import Mapping

import polars as pl

from qa_pipeline.records import AnswerStyle
from qa_pipeline.text.language import in_other_language
from qa_pipeline.text.lexicon.languages import any_of_all
from qa_pipeline.text.references import SOURCE_MARK, marked_numbers
from qa_pipeline.verification.outcomes import FLAWED

MOST_CHARACTERS: Mapping[AnswerStyle, int] = {"short": 200, "sentence": 800, "long_form": 2500, "steps": 2500}
"""Characters of an answer by its style."""
COPIED_SHARE, COPIED_CHARACTERS = 0.8, 500
"""An answer that is word for word this share of a passage, and this long, is the passage and no answer."""

_DELIMITER = re.compile(
    r"</?(?:passage|question|answer|text|claim|sentence)-[0-9a-f-]+>|\{(?:passages|question|refusal|types)\}"
)


def mark_flawed(pairs: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs, of status flawed where their answer is, or drafted where an old flaw is gone.

    Only drafted answers are looked at: neither failures nor refusals, nor what others wrote.

    Reasons: leaked_marker (of a citation or of the prompt), boilerplate (about the text or the writer),
    answer_too_long, copied_passage, language_mismatch.
    """
    drafted = pairs.filter(
        pl.col("origin") == "generated",
        pl.col("status").is_in(["drafted", FLAWED]),
        pl.col("coverage") != "none",
    )
    copied = _copied(drafted, chunks)
    rows = drafted.select("pair_id", "answer", "language", "answer_style").iter_rows()
    flaw_rows = [(row[0], *_flaw(row[1], row[2], row[3], row[0] in copied)) for row in rows]
    columns = ("pair_id", "flaw", "flaw_detail")
    flaws = pl.DataFrame(flaw_rows, schema=dict.fromkeys(columns, pl.String()), orient="row")
    joined = pairs.join(flaws, on="pair_id", how="left", maintain_order="left")
    looked_at = pl.col("pair_id").is_in(drafted["pair_id"].implode())
    return joined.with_columns(
        status=pl.when(pl.col("flaw").is_not_null())
        .then(pl.lit(FLAWED))
        .when(looked_at)
        .then(pl.lit("drafted"))
        .otherwise("status"),
        reason=pl.when(looked_at).then("flaw").otherwise("reason"),
        detail=pl.when(looked_at).then("flaw_detail").otherwise("detail"),
    ).drop("flaw", "flaw_detail")


def _flaw(answer: str, language: str, style: AnswerStyle, copied: bool) -> tuple[str | None, str | None]:
    """Return the reason code and the words that show it; two nulls for a good answer."""
    marker = SOURCE_MARK.search(answer) or _DELIMITER.search(answer)
    if marker is not None:
        return "leaked_marker", marker[0]
    if numbers := marked_numbers(answer):
        return "leaked_marker", f"[{numbers[0]}]"
    if phrase := _boilerplate().search(answer):
        return "boilerplate", phrase[0]
    if len(answer) > MOST_CHARACTERS[style]:
        return "answer_too_long", f"{len(answer)} characters, at most {MOST_CHARACTERS[style]}"
    if copied:
        return "copied_passage", f"{len(answer)} characters word for word"
    other = in_other_language(answer, language)
    return ("language_mismatch", f"in {other}, not in {language}") if other else (None, None)


def _copied(drafted: pl.DataFrame, chunks: pl.DataFrame) -> set[str]:
    """Return the pairs whose answer is most of a passage, word for word."""
    words = [pl.col(name).str.replace_all(r"\s+", " ").str.strip_chars() for name in ("answer", "text")]
    used = drafted.select("pair_id", "answer", chunk_id="used_chunk_ids").explode("chunk_id")
    passages = used.join(chunks.select("chunk_id", "text"), on="chunk_id").with_columns(words)
    answer, text = pl.col("answer"), pl.col("text")
    copied = passages.filter(
        answer.str.len_chars() >= pl.max_horizontal(COPIED_SHARE * text.str.len_chars(), COPIED_CHARACTERS),
        text.str.contains(answer, literal=True),
    )
    return set(copied["pair_id"])


@functools.cache
def _boilerplate() -> re.Pattern[str]:
    return re.compile(any_of_all("boilerplate"), re.IGNORECASE)
