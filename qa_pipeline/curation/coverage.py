"""Count the accepted pairs of each section of a batch."""

import polars as pl

from qa_pipeline.retrieval.packing import NEAR_DUPLICATE, REPEATED_BLOCK

_SECTION = ("document_id", "section_start")
_MOST_FREQUENT_REASON = pl.col("reason").drop_nulls().sort().mode(maintain_order=True).first()


def cover_sections(
    chunks: pl.DataFrame, questions: pl.DataFrame, pairs: pl.DataFrame, verdicts: pl.DataFrame
) -> pl.DataFrame:
    """Count the accepted pairs of each section, and give the reason if there are none.

    A generated pair counts for the section its question was written for. An imported pair counts for every
    section whose chunks it used. The reason of an uncovered section is the most frequent reason of its
    pairs, or else of its questions. Ties go to the first reason by name.

    Returns:
        Sections, in the order of the chunks, with accepted, reason and status: covered (it has an accepted
        pair), repeated (all its chunks repeat other text) or uncovered.
    """
    chunk_sections = chunks.select("chunk_id", *_SECTION)
    is_repeated = pl.col("passed_over").is_in([NEAR_DUPLICATE, REPEATED_BLOCK]).fill_null(value=False)
    sections = chunks.group_by(*_SECTION, maintain_order=True).agg(
        pl.first("batch", "section_path"), repeated=is_repeated.all()
    )
    section_questions = (
        questions.with_columns(chunk_id=pl.col("target_chunk_ids").list.first())
        .join(chunk_sections, on="chunk_id")
        .group_by(*_SECTION)
        .agg(question_reason=_MOST_FREQUENT_REASON)
    )
    section_pairs = (
        _chunks_of_pairs(pairs, questions)
        .join(chunk_sections, on="chunk_id")
        .join(verdicts.select("pair_id", "verdict", "reason"), on="pair_id")
        .unique(["pair_id", *_SECTION])
        .group_by(*_SECTION)
        .agg(accepted=(pl.col("verdict") == "accepted").sum(), pair_reason=_MOST_FREQUENT_REASON)
    )
    is_covered = pl.col("accepted") > 0
    status = pl.when(is_covered).then(pl.lit("covered")).when("repeated").then(pl.lit("repeated"))
    return (
        sections.join(section_questions, on=_SECTION, how="left", maintain_order="left")
        .join(section_pairs, on=_SECTION, how="left", maintain_order="left")
        .with_columns(pl.col("accepted").fill_null(0).cast(pl.Int32))
        .select(
            *(*_SECTION, "batch", "section_path", "accepted"),
            status=status.otherwise(pl.lit("uncovered")),
            reason=pl.when(~is_covered).then(pl.coalesce("pair_reason", "question_reason")),
        )
    )


OUTCOMES = pl.Schema(
    {
        **dict.fromkeys(("batch", "path", "format", "language"), pl.String()),
        "section_path": pl.List(pl.String()),
        "accepted": pl.Int32(),
        "reason": pl.String(),
    }
)


def section_outcomes(coverage: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return an OUTCOMES frame: the number of accepted pairs of each section, and the reason if it is 0.

    A document without sections has a single row. Its reason says why the file could not be read.
    """
    of_document = documents.select("document_id", "path", "format", "language")
    sections = coverage.join(of_document, on="document_id", how="left", maintain_order="left")
    textless = documents.join(coverage, on="document_id", how="anti", maintain_order="left").with_columns(
        section_path=pl.lit(None), accepted=0, reason=pl.coalesce("reason", pl.lit("no_text"))
    )
    parts = [frame.select(OUTCOMES.names()).cast(OUTCOMES) for frame in (sections, textless)]
    path_order = pl.col("path").rank("dense").over("batch")
    return pl.concat(parts).sort("batch", path_order, maintain_order=True)


def _chunks_of_pairs(pairs: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Return pair_id and chunk_id: a row for each chunk that a pair is about."""
    targets = questions.select("question_id", "target_chunk_ids")
    return (
        pairs.filter(pl.col("expected_verdict").is_null())
        .select("pair_id", "question_id", "used_chunk_ids")
        .join(targets, on="question_id", how="left")
        .select("pair_id", chunk_id=pl.coalesce("target_chunk_ids", "used_chunk_ids"))
        .explode("chunk_id")
    )
