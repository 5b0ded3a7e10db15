"""The yield of each stage of a batch, and the reasons for losses."""

from collections.abc import Mapping

import polars as pl

from qa_pipeline.curation.duplicates import ALTERNATIVE
from qa_pipeline.curation.gates.gates import VERDICT_WORDS

STEPS = pl.Schema({"stage": pl.String(), "what": pl.String(), "reason": pl.String(), "count": pl.Int64()})
LEFT_OUT_COUNTS = pl.Schema(
    {"what": pl.String(), "documents": pl.Int64(), "pieces": pl.Int64(), "characters": pl.Int64()}
)
MASKED_COUNTS = pl.Schema({"kind": pl.String(), "documents": pl.Int64(), "count": pl.Int64()})
KNOWN_ANSWERS = pl.Schema({"expected_verdict": pl.String(), "verdict": pl.String(), "pairs": pl.Int64()})


def yield_funnel(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Count the rows of every stage of a batch, in pipeline order: a `STEPS` frame.

    The first row of a stage is its total, and the other rows add up to it. Without training examples, as
    after a failed gate, all accepted pairs count as left out.
    """
    drafted = pl.when(pl.col("status") == "drafted").then("origin").otherwise("status").alias("status")
    verdicts, examples = frames["verdicts"], frames.get("training_examples")
    trained = [] if examples is None else examples["pair_id"].to_list()
    trains = pl.col("pair_id").is_in(trained)
    left_out = "failed_gate" if examples is None else "over_document_cap_or_too_long"
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select(
        what=pl.when(trains).then(pl.lit("example")).otherwise(pl.lit("left_out")),
        reason=pl.when(pl.col("expected_verdict").is_not_null())
        .then(pl.lit("known_answer"))
        .when(~trains)
        .then(pl.lit(left_out)),
    )
    return pl.concat(
        [
            stage_counts("documents", "found", frames["documents"], "status"),
            _total("chunks", "cut", frames["chunks"]),
            stage_counts("questions", "planned", frames["questions"], "status"),
            stage_counts("pairs", "made", frames["pairs"].with_columns(drafted), "status"),
            stage_counts("verdicts", "decided", verdicts, "verdict"),
            stage_counts("training_examples", "accepted", accepted, "what"),
        ]
    )


def stage_counts(stage: str, total: str, frame: pl.DataFrame, parted_by: str) -> pl.DataFrame:
    """Return a stage's total, then its counts by status and `reason`, largest first: a `STEPS` frame."""
    parts = (
        frame.group_by(pl.col(parted_by).alias("what"), "reason")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .sort("count", "what", "reason", descending=[True, False, False], nulls_last=True)
        .select(pl.lit(stage).alias("stage"), "what", "reason", "count")
    )
    return pl.concat([_total(stage, total, frame), parts])


def _total(stage: str, what: str, frame: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame([(stage, what, None, frame.height)], schema=STEPS, orient="row")


def known_answers(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Count pairs by their expected and actual verdict: a `KNOWN_ANSWERS` frame."""
    answers = verdicts.filter(pl.col("expected_verdict").is_not_null())
    counts = answers.group_by("expected_verdict", "verdict").agg(pairs=pl.len().cast(pl.Int64))
    return counts.sort("expected_verdict", "verdict")


def summarise(verdicts: pl.DataFrame) -> dict[str, int | float | None]:
    """Return counts, pass rates and mean scores of pairs without an expected verdict.

    `pass_rate` and `average_score` are over accepted and rejected pairs. The specification defines two more:
    `pass_rate_of_all` divides by all pairs, and `average_score_of_passed` is the mean over accepted pairs
    with a score. Rates and means exclude proved drafts that lost to a better draft of the same question.
    Citation figures are means over accepted pairs with citations. Rates and means without rows are None.
    """
    generated = verdicts.filter(pl.col("expected_verdict").is_null())
    counts = dict(generated["verdict"].value_counts().iter_rows())
    rated = generated.filter(pl.col("reason").ne_missing(ALTERNATIVE))
    decided = rated.filter(pl.col("verdict").is_in(["accepted", "rejected"]))
    accepted = generated.filter(pl.col("verdict") == "accepted")
    return {
        "pairs": generated.height,
        **{word: counts.get(word, 0) for word in VERDICT_WORDS},
        "accepted_not_judged": accepted.filter(pl.col("reason") == "unjudged").height,
        "pass_rate": accepted.height / decided.height if decided.height else None,
        "pass_rate_of_all": accepted.height / rated.height if rated.height else None,
        "average_score": _mean(decided["composite"]),
        "average_score_of_passed": _mean(accepted["composite"]),
        "citation_accuracy": _mean(accepted["citation_accuracy"]),
        "citation_quality": _mean(accepted["citation_quality"]),
    }


def _mean(values: pl.Series) -> float | None:
    """Return the mean of the known values, if there are any."""
    scores = values.drop_nulls()
    return float(scores.sum()) / scores.len() if scores.len() else None


def left_out_counts(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the omitted text of files by kind, most characters first: a `LEFT_OUT_COUNTS` frame."""
    return _parts_of_documents(documents, "left_out", LEFT_OUT_COUNTS)


def masked_counts(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the items of personal data by kind, most first: a `MASKED_COUNTS` frame."""
    return _parts_of_documents(documents, "masked", MASKED_COUNTS)


def _parts_of_documents(documents: pl.DataFrame, column: str, schema: pl.Schema) -> pl.DataFrame:
    """Sum the items of a list column by the first field of the schema."""
    kind, _, *counts = schema.names()
    parts = documents.select(column).explode(column).drop_nulls().unnest(column)
    sums = parts.group_by(kind).agg(pl.len().alias("documents"), pl.col(counts).sum())
    ordered = sums.sort([*reversed(counts), kind], descending=[*(True for _ in counts), False])
    return ordered.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
