"""What became of everything: how much reached each stage of a batch, and why the rest did not."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from qa_pipeline.curation.duplicates import ALTERNATIVE
from qa_pipeline.storage.tables import MESSAGE_COLUMNS

STEPS = pl.Schema({"stage": pl.String(), "what": pl.String(), "reason": pl.String(), "count": pl.Int64()})


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a run, without known-answer pairs; None where there is nothing to divide by.

    `pass_rate` and `average_score` are over accepted and rejected pairs. The specification's are beside them:
    `pass_rate_of_all` divides by all pairs, `average_score_of_passed` is the mean over accepted pairs that
    have a score.
    """

    pairs: int
    accepted: int
    accepted_not_judged: int
    rejected: int
    needs_review: int
    failed: int
    pass_rate: float | None
    pass_rate_of_all: float | None
    average_score: float | None
    average_score_of_passed: float | None
    citation_accuracy: float | None
    citation_quality: float | None


def yield_funnel(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Count every stage of one or more batches.

    The first row of a stage is its total; the others part it, so that they add up to it. `layouts` alone
    counts each example once for each layout.

    Args:
        frames: documents, chunks, questions, pairs, verdicts and training_examples by name; the last one is
            absent where a failed gate stood before it.

    Returns:
        stage, what, reason (null where there is none) and count, in pipeline order.
    """
    questions, pairs = frames["questions"], frames["pairs"]
    drafted = pl.when(pl.col("status") == "drafted").then("origin").otherwise("status").alias("status")
    return pl.concat(
        [
            stage_counts("documents", "found", frames["documents"], "status"),
            stage_counts("chunks", "cut", frames["chunks"].with_columns(*_certainty()), "certainty"),
            stage_counts("questions", "asked", questions, "status"),
            stage_counts("pairs", "made", pairs.with_columns(drafted), "status"),
            stage_counts("verdicts", "decided", frames["verdicts"], "verdict"),
            *_training(frames["verdicts"], frames.get("training_examples")),
        ]
    )


def _certainty() -> tuple[pl.Expr, pl.Expr]:
    """Return whether the reader of a chunk is sure of all its text, and the kinds of its doubts as reason."""
    kinds = pl.col("doubts").list.eval(pl.element().struct.field("kind").unique().sort()).list.join(", ")
    is_certain = pl.col("doubts").is_null()
    certainty = pl.when(is_certain).then(pl.lit("certain")).otherwise(pl.lit("in_doubt"))
    return certainty.alias("certainty"), kinds.alias("reason")


_MISSED = {
    "needs_review": "sent_to_review", "accepted": "wrongly_accepted", "rejected": "wrongly_rejected",
    "failed": "failed",
}  # fmt: skip


def known_answers(pairs: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Compare verdicts with the ones known to be right, by kind of pair.

    A pair sent to a person is neither right nor wrong and is counted apart, unless that was expected. A pair
    without a verdict counts as failed.

    Returns:
        expected_verdict, expected_kind, pairs, and what these part into: hits and the values of `_MISSED`.
    """
    got = pl.col("verdict").fill_null("failed")
    hit = got == pl.col("expected_verdict")
    return (
        pairs.filter(pl.col("expected_verdict").is_not_null())
        .select("pair_id", "expected_verdict", "expected_kind")
        .join(verdicts.select("pair_id", "verdict"), on="pair_id", how="left")
        .group_by("expected_verdict", "expected_kind")
        .agg(
            pl.len().cast(pl.Int64).alias("pairs"),
            hit.sum().cast(pl.Int64).alias("hits"),
            *((~hit & (got == word)).sum().cast(pl.Int64).alias(name) for word, name in _MISSED.items()),
        )
        .sort("expected_verdict", "expected_kind", nulls_last=True)
    )


def summarise(verdicts: pl.DataFrame) -> Summary:
    """Return the total, verdicts, pass rates and mean composite scores.

    Rates and means leave out proved drafts beside a better one for the same question. The figures of
    citations are means over accepted pairs that cite anything.
    """
    generated = verdicts.filter(pl.col("expected_verdict").is_null())
    counts = dict(generated["verdict"].value_counts().iter_rows())
    rated = generated.filter(pl.col("reason").ne_missing(ALTERNATIVE))
    decided = rated.filter(pl.col("verdict").is_in(["accepted", "rejected"]))
    accepted = generated.filter(pl.col("verdict") == "accepted")
    return Summary(
        pairs=generated.height,
        accepted=accepted.height,
        accepted_not_judged=accepted.filter(pl.col("reason") == "unjudged").height,
        rejected=counts.get("rejected", 0),
        needs_review=counts.get("needs_review", 0),
        failed=counts.get("failed", 0),
        pass_rate=accepted.height / decided.height if decided.height else None,
        pass_rate_of_all=accepted.height / rated.height if rated.height else None,
        average_score=_mean(decided["composite"]),
        average_score_of_passed=_mean(accepted["composite"]),
        citation_accuracy=_mean(accepted["citation_accuracy"]),
        citation_quality=_mean(accepted["citation_quality"]),
    )


def _mean(values: pl.Series) -> float | None:
    """Return the mean of the known values; None where nothing is known."""
    present = values.drop_nulls()
    return float(present.sum()) / present.len() if present.len() else None


def stage_counts(stage: str, total: str, frame: pl.DataFrame, parted_by: str | None = None) -> pl.DataFrame:
    """Return a stage's total, then its parts by a status column and `reason`, largest first: `STEPS`."""
    total_steps = _steps(stage, [(total, None, frame.height)])
    if parted_by is None:
        return total_steps
    parts = (
        frame.group_by(pl.col(parted_by).alias("what"), "reason")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .sort("count", "what", "reason", descending=[True, False, False], nulls_last=True)
        .select(pl.lit(stage).alias("stage"), "what", "reason", "count")
    )
    return pl.concat([total_steps, parts])


def _training(verdicts: pl.DataFrame, examples: pl.DataFrame | None) -> list[pl.DataFrame]:
    """Return the counts of accepted pairs, of those that are no example, and of examples by layout."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted")
    canaries = accepted.filter(pl.col("expected_verdict").is_not_null()).height
    rest = accepted.height - canaries
    first: list[tuple[str, str | None, int]] = [("accepted", None, accepted.height)]
    left_out = ("left_out", "known_answer", canaries)
    if examples is None:
        return [_steps("training_examples", [*first, left_out, ("left_out", "failed_gate", rest)])]
    too_many = ("left_out", "over_document_cap_or_too_long", rest - examples.height)
    layouts = [(name, None, examples[column].count()) for name, column in MESSAGE_COLUMNS.items()]
    return [
        _steps("training_examples", [*first, ("example", None, examples.height), left_out, too_many]),
        _steps("layouts", [("examples", None, examples.height), *layouts]),
    ]


def _steps(stage: str, rows: list[tuple[str, str | None, int]]) -> pl.DataFrame:
    return pl.DataFrame([(stage, *row) for row in rows], schema=STEPS, orient="row")


LEFT_OUT_COUNTS = pl.Schema(
    {"what": pl.String(), "documents": pl.Int64(), "pieces": pl.Int64(), "characters": pl.Int64()}
)
MASKED_COUNTS = pl.Schema({"kind": pl.String(), "documents": pl.Int64(), "items": pl.Int64()})


def left_out_counts(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the text left out of the files, by kind, most characters first: `LEFT_OUT_COUNTS`."""
    counts = [pl.len().alias("documents"), pl.col("pieces").sum(), pl.col("characters").sum()]
    return _counted(documents, "left_out", counts, LEFT_OUT_COUNTS).sort(
        ["characters", "pieces", "what"], descending=[True, True, False]
    )


def masked_counts(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the items of personal data, by kind, most first: `MASKED_COUNTS`."""
    counts = [pl.len().alias("documents"), pl.col("count").sum().alias("items")]
    return _counted(documents, "masked", counts, MASKED_COUNTS).sort(
        ["items", "kind"], descending=[True, False]
    )


def _counted(documents: pl.DataFrame, column: str, counts: list[pl.Expr], schema: pl.Schema) -> pl.DataFrame:
    """Group the parts that lists of structures hold by the first field of the result."""
    parts = documents.select(column).explode(column).drop_nulls().unnest(column)
    counted = parts.group_by(schema.names()[0]).agg(counts)
    return counted.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def text_figures(documents: pl.DataFrame) -> dict[str, int]:
    """Return the characters, sections and pages of the texts, and the number of near duplicates."""
    return {
        "characters": int(documents["text"].str.len_chars().sum()),
        "sections": int(documents["sections"].list.len().sum()),
        "pages": int(documents["pages"].list.len().sum()),
        "near duplicates": int(documents["near_duplicate_of"].is_not_null().sum()),
    }
