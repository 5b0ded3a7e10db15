"""Plan the questions of a batch: chunks, their order, and question types.

A slot is a question to be written about a chunk. Slots are ordered by turns: every section gets its first
question before any gets a second. A limit on questions cuts this list. Types are assigned to the slots by
largest remainder (Hamilton's method), scarce types first. Table questions are only asked of chunks with a
table, and two-hop questions (about two chunks) of chunks with a link.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.records import HOP_SCOPES, QuestionType
from qa_pipeline.settings.generation import GenerationSettings

PLAN = pl.Schema(
    {
        "chunk_id": pl.String(),
        "place": pl.Int32(),
        "planned_type": pl.String(),
        "partner_id": pl.String(),
    }
)
SECTION = ("document_id", "section_start")
"""The columns that identify a section of a batch."""

_SUMMARY_CHARACTERS = 400
"""Minimum characters of a passage that is worth summing up."""
_ROWS = r"(?m)^.*\S \| \S.*$"
"""A row of a table in document text."""
_ITEMS = r"(?m)^\s*(?:[-*•]|\d{1,3}[.)]|[a-z]\)) \S"

_OFFERED: Mapping[QuestionType, pl.Expr] = {
    "summary": pl.col("text").str.len_chars() >= _SUMMARY_CHARACTERS,
    "procedure": pl.col("text").str.count_matches(_ITEMS) >= 2,
    "table": pl.col("text").str.count_matches(_ROWS) >= 2,
    **{kind: pl.col(scope).is_not_null() for kind, scope in HOP_SCOPES.items()},
}
"""The condition on a chunk for each restricted question type. Other types suit every chunk."""


def plan_questions(
    chunks: pl.DataFrame,
    settings: GenerationSettings,
    taken: pl.DataFrame,
    links: pl.DataFrame,
) -> pl.DataFrame:
    """Assign the remaining questions of a batch to chunks and types.

    `taken` has chunk_id and planned_type of existing questions, which count in the mix and the limit. `links`
    is a frame of `LINKS`.

    Returns:
        PLAN, best first. `partner_id` is the second chunk of a two-hop question, in rotation over the links.
        Chunks beyond the limit and two-hop questions without a link have no row.
    """
    chunks = chunks.select("chunk_id", *SECTION, "text")
    for scope in HOP_SCOPES.values():
        partners = (
            links.filter(pl.col("scope") == scope)
            .group_by("chunk_id", maintain_order=True)
            .agg(pl.col("other_chunk_id").alias(scope))
        )
        chunks = chunks.join(partners, on="chunk_id", how="left", maintain_order="left")
    slots = _ordered(chunks, settings.questions_per_chunk)
    if settings.max_questions is not None:
        slots = slots.head(max(0, settings.max_questions - taken.height))
    counts = dict(taken.group_by("planned_type").len().iter_rows())
    types = deal_types(slots, settings.mix, counts)
    planned = slots.with_columns(pl.Series("planned_type", types, pl.String()))
    partner_id: pl.Expr = pl.lit(None, dtype=PLAN["partner_id"])
    number = pl.int_range(pl.len()).over("chunk_id", "planned_type")  # of the question about its chunk
    for kind, scope in HOP_SCOPES.items():
        partner = pl.col(scope).list.get(number % pl.col(scope).list.len())
        partner_id = pl.when(pl.col("planned_type") == kind).then(partner).otherwise(partner_id)
    is_hop = pl.col("planned_type").is_in(list(HOP_SCOPES))
    planned = planned.with_columns(partner_id=partner_id)
    return planned.filter(~is_hop | pl.col("partner_id").is_not_null()).select(PLAN.names()).cast(PLAN)


def _ordered(chunks: pl.DataFrame, per_chunk: int) -> pl.DataFrame:
    """Return every slot with its chunk's text, first turns first, in the order of hashes."""
    indices = pl.DataFrame({"place": range(per_chunk)}, schema={"place": pl.Int32()})
    slots = chunks.join(indices, how="cross")
    in_section = slots.sort("place", "chunk_id").with_columns(turn=pl.int_range(pl.len()).over(*SECTION))
    return in_section.sort("turn", "chunk_id", "place")


def deal_types(
    slots: pl.DataFrame, weights: Mapping[QuestionType, float], taken: Mapping[str, int]
) -> list[QuestionType]:
    """Return a type for each slot, as close to the mix as the chunks allow.

    `taken` counts the existing questions of each type.
    """
    if slots.is_empty():
        return []
    types = [kind for kind, weight in weights.items() if weight > 0]
    conditions = [_OFFERED.get(kind, pl.repeat(value=True, n=pl.len())).alias(kind) for kind in types]
    is_offered = slots.select(conditions).to_numpy()  # slots × types
    quotas = _quotas(
        np.array([weights[kind] for kind in types]), [taken.get(kind, 0) for kind in types], len(slots)
    )
    scarce_first = [int(kind) for kind in np.argsort(is_offered.sum(axis=0), kind="stable")]
    dealt: list[QuestionType] = []
    used: dict[str, set[int]] = defaultdict(set)
    for chunk_id, offered in zip(slots["chunk_id"], is_offered, strict=True):
        fitting = [kind for kind in scarce_first if offered[kind]] or scarce_first
        # repeat a type in a chunk only if all other types are used up
        new = [kind for kind in fitting if kind not in used[chunk_id]]
        missing = (kind for kind in (*new, *fitting) if quotas[kind] > 0)
        least_exceeded = max(new or fitting, key=lambda kind: quotas[kind] / weights[types[kind]])
        kind = next(missing, least_exceeded)
        used[chunk_id].add(kind)
        quotas[kind] -= 1
        dealt.append(types[kind])
    return dealt


def _quotas(weights: npt.NDArray[np.float64], taken: Sequence[int], slots: int) -> list[int]:
    """Return the number of slots of each type, so that existing and new questions together match the mix."""
    total = slots + sum(taken)
    missing = np.maximum(weights / weights.sum() * total - np.array(taken), 0.0)
    exact = missing / missing.sum() * slots
    floors = np.floor(exact).astype(int)
    rest = np.argsort(floors - exact, kind="stable")[: slots - floors.sum()]
    floors[rest] += 1
    return [int(quota) for quota in floors]
