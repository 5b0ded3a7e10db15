"""Measure the citations of pairs, and the coverage of sections."""

import polars as pl

from qa_pipeline.retrieval.packing import NEAR_DUPLICATE, REPEATED_BLOCK
from qa_pipeline.text.references import RESOLVED
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_passages, join_by_pair

MEASURES = ("citation_existence", "citation_accuracy", "citation_quality")
WEIGHT_EXISTENCE, WEIGHT_ACCURACY, WEIGHT_GROUNDING = 0.4, 0.3, 0.3  # as the specification fixes them
HIGH, MIDDLE = 0.8, 0.5  # as the specification fixes them

_DIGITS = 9  # of rounded measures, so that 0.4 + 0.3 + 0.3 is 1
_BY_CHUNK, _BY_DOCUMENT = ["pair_id", "chunk_id"], ["pair_id", "document_id"]


def citation_quality(pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Measure the citations of every pair, in the order of `pairs`: do they exist and support claims?

    A measure is null if the pair lacks the citations or claims to divide by. A citation points to a passage,
    or to a document if it gives only that. It supports a claim if the claim is supported and its evidence is
    in that passage or document. If two passages state the same, only the passage that verification chose as
    evidence counts.

    Returns:
        pair_id and `MEASURES`, shares from 0 to 1.
        citation_existence: share of citations that point to a passage or document of the batch.
        citation_accuracy: share of citations that support a claim.
        citation_quality: 0.4 of existence, 0.3 of accuracy and 0.3 of the share of supported claims. The
        last counts in bands: 1 above 0.8, 0.7 above 0.5, otherwise 0.
    """
    decided = decided_claims(claims, claim_verdicts)
    is_supported = pl.col("verdict") == SUPPORTED
    grounding = decided.group_by("pair_id").agg(is_supported.mean().alias("grounding"))
    supported = decided.filter(is_supported).select("pair_id", "claim_id")
    evidence = evidence_passages(claims, claim_verdicts).select(
        "claim_id", chunk_id="evidence_chunk_id", document_id="evidence_document_id"
    )
    cited = _citations(pairs, supported.join(evidence, on="claim_id"))  # a row per citation
    is_resolved = pl.col("resolution").is_in(RESOLVED)
    exists = is_resolved | (pl.col("resolution") == "no_text")  # a file without text exists too
    proves = is_resolved & pl.col("proves")
    shares = cited.group_by("pair_id").agg(citation_existence=exists.mean(), citation_accuracy=proves.mean())
    joined = join_by_pair(pairs.select("pair_id"), shares, grounding)
    accuracy = pl.when(pl.col("grounding").is_not_null()).then("citation_accuracy")  # null without claims
    quality = (
        WEIGHT_EXISTENCE * pl.col("citation_existence")
        + WEIGHT_ACCURACY * accuracy
        + WEIGHT_GROUNDING * _banded(pl.col("grounding"))
    )
    measures = {"citation_accuracy": accuracy, "citation_quality": quality.round(_DIGITS)}
    return joined.with_columns(**measures).select("pair_id", *MEASURES)


def _citations(pairs: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """Return a row per citation; `proves` is True if `evidence` is in the cited passage or document."""
    by_chunk = evidence.select(_BY_CHUNK).unique().with_columns(chunk_proves=True)
    by_document = evidence.select(_BY_DOCUMENT).unique().with_columns(document_proves=True)
    proves = pl.when(pl.col("chunk_id").is_null()).then("document_proves").otherwise("chunk_proves")
    return (
        pairs.select("pair_id", pl.col("citations").alias("citation"))
        .explode("citation", empty_as_null=True)
        .drop_nulls("citation")
        .unnest("citation")
        .join(by_chunk, on=_BY_CHUNK, how="left")
        .join(by_document, on=_BY_DOCUMENT, how="left")
        .with_columns(proves=proves.fill_null(value=False))
    )


def _banded(share: pl.Expr) -> pl.Expr:
    """Return 1 above 0.8, 0.7 above 0.5, otherwise 0. Null stays null."""
    rounded = share.round(_DIGITS)
    low = pl.when(rounded.is_not_null()).then(0.0)
    return pl.when(rounded > HIGH).then(1.0).when(rounded > MIDDLE).then(0.7).otherwise(low)


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
    section_questions = (  # a row per section
        questions.with_columns(chunk_id=pl.col("target_chunk_ids").list.first())
        .join(chunk_sections, on="chunk_id")
        .group_by(*_SECTION)
        .agg(question_reason=_MOST_FREQUENT_REASON)
    )
    section_pairs = (  # a row per section
        _chunks_of_pairs(pairs, questions)
        .join(chunk_sections, on="chunk_id")
        .join(verdicts.select("pair_id", "verdict", "reason"), on="pair_id")
        .unique(["pair_id", *_SECTION])  # a pair counts once per section
        .group_by(*_SECTION)
        .agg(accepted=(pl.col("verdict") == "accepted").sum(), pair_reason=_MOST_FREQUENT_REASON)
    )
    is_covered = pl.col("accepted") > 0
    uncovered_status = pl.when("repeated").then(pl.lit("repeated")).otherwise(pl.lit("uncovered"))
    return (
        sections.join(section_questions, on=_SECTION, how="left", maintain_order="left")
        .join(section_pairs, on=_SECTION, how="left", maintain_order="left")
        .with_columns(pl.col("accepted").fill_null(0).cast(pl.Int32))
        .select(
            *(*_SECTION, "batch", "section_path", "accepted"),
            status=pl.when(is_covered).then(pl.lit("covered")).otherwise(uncovered_status),
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
    document_columns = documents.select("document_id", "path", "format", "language")
    sections = coverage.join(document_columns, on="document_id", how="left", maintain_order="left")
    textless = documents.join(coverage, on="document_id", how="anti", maintain_order="left").with_columns(
        section_path=pl.lit(None), accepted=0, reason=pl.coalesce("reason", pl.lit("no_text"))
    )
    parts = [frame.select(OUTCOMES.names()).cast(OUTCOMES) for frame in (sections, textless)]
    return pl.concat(parts).sort("batch", "path", maintain_order=True)


def _chunks_of_pairs(pairs: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Return pair_id and chunk_id, a row per target of the question, or per chunk an imported pair used."""
    targets = questions.select("question_id", "target_chunk_ids")
    return (
        pairs.filter(pl.col("expected_verdict").is_null())  # known-answer pairs test the pipeline
        .select("pair_id", "question_id", "used_chunk_ids")
        .join(targets, on="question_id", how="left")
        .select("pair_id", chunk_id=pl.coalesce("target_chunk_ids", "used_chunk_ids"))
        .explode("chunk_id")
    )
