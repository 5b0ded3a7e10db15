"""What a data card rests on: counts of the tables, rows and documents of a release."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import metadata
from itertools import accumulate
from typing import Any

import polars as pl

from qa_pipeline.curation.coverage import cover_sections
from qa_pipeline.pipeline.funnel import masked_counts, yield_funnel
from qa_pipeline.settings.thresholds import Interval
from qa_pipeline.storage.tables import LAYOUTS

SHOWN_SOURCES = 50
"""Documents that the card lists; all are in `sources.parquet`."""
_PAIR_SCORES = ("composite", "grounding", "relevance", "correctness", "completeness", "question_quality")
_CLAIM_SCORES = ("similarity", "entailment")
_COUNTED = ("language", "question_type", "coverage", "difficulty")
_PROVENANCE = ("origin", "generator", "judge", "thresholds_id")
LENGTHS = {
    f"{unit} of the {part}": expression
    for part in ("question", "answer")
    for unit, expression in (
        ("characters", pl.col(part).str.len_chars()),
        ("words", pl.col(part).str.count_matches(r"\S+")),
    )
} | {f"tokens, {layout}": pl.col("tokens").struct.field(layout) for layout in LAYOUTS}
REFUSAL = "refusal"
ROW_COLUMNS = (*_COUNTED, "provenance", "question", "answer", "tokens", "claims")
SOURCE_COLUMNS = ("batch", "path", "content_sha256", "licence", "source_uri")
_QUANTILES = {"least": 0.0, "median": 0.5, "95 %": 0.95, "most": 1.0}
_MAKERS = (
    ("questions", "questions", "model", "prompt_hash"),
    ("answers", "pairs", "generator", "prompt_hash"),
    ("embeddings", "embeddings", pl.format("{} @ {}", "model", "model_revision"), None),
    ("entailment of claims", "claims", "entailment_model", None),
    ("verified by a model", "claim_verdicts", "model", "prompt_hash"),
    ("round trip", "round_trips", "model", None),
    ("judged", "assessments", "judge", "prompt_hash"),
)
"""What models did: role, table, and its columns of model and prompt."""


class CardFacts:
    """Counts over the batches of a release."""

    def __init__(self) -> None:
        self._counts: dict[str, pl.DataFrame] = {}

    def add(self, tables: Mapping[str, pl.DataFrame], released: pl.DataFrame) -> None:
        """Count all tables of a batch, and the `pair_id` of its released rows."""
        verdicts = tables["verdicts"].filter(pl.col("expected_verdict").is_null())
        ids = released.select("pair_id", released=True)
        pairs = verdicts.join(ids, on="pair_id", how="left").with_columns(
            pl.col("released").fill_null(value=False)
        )
        claims = tables["claims"].join(pairs.select("pair_id", "released"), on="pair_id")
        decided = tables["claim_verdicts"].join(pairs.select("pair_id", "released"), on="pair_id")
        self._sum("funnel", ("stage", "what", "reason"), yield_funnel(tables))
        self._sum("masked", ("kind",), masked_counts(tables["documents"]))
        asked = (tables[name] for name in ("chunks", "questions", "pairs", "verdicts"))
        self._count("sections", cover_sections(*asked), "status")
        self._count("claims", decided, "verdict", "decided_by", "released")
        replied = tables["canaries"].filter(pl.col("verdict") != "failed")
        self._count("canaries", replied, "asks", "expected", "verdict")
        for names, frame in ((_PAIR_SCORES, pairs), (_CLAIM_SCORES, claims)):
            for name in names:
                score, scored = pl.col(name), frame.drop_nulls(name)
                counts = scored.select(
                    score=pl.lit(name),
                    count=pl.len().cast(pl.Int64),
                    released=pl.col("released").sum().cast(pl.Int64),
                    half=(score >= 0.5).sum().cast(pl.Int64),
                    most=(score >= 0.9).sum().cast(pl.Int64),
                )
                self._sum("scores", ("score",), counts.filter(pl.col("count") > 0))
        for role, table, model, prompt in _MAKERS:
            made_by = pl.col(model) if isinstance(model, str) else model
            prompted = pl.lit(None, pl.String()) if prompt is None else pl.col(prompt)
            done = tables[table].select(pl.lit(role).alias("role"), made_by.alias("model"), prompt=prompted)
            self._count("made_by", done.drop_nulls("model"), "role", "model", "prompt")

    def _count(self, name: str, frame: pl.DataFrame, *keys: str) -> None:
        self._sum(name, keys, frame.group_by(keys).agg(count=pl.len().cast(pl.Int64)))

    def _sum(self, name: str, keys: Iterable[str], counts: pl.DataFrame) -> None:
        """Add counts of equal keys, in the order in which they first come up."""
        before = self._counts.get(name, counts.head(0))
        added = pl.concat([before, counts]).group_by(list(keys), maintain_order=True)
        self._counts[name] = added.agg(pl.exclude(list(keys)).sum())

    def document(self, rows: Iterable[pl.DataFrame], sources: Iterable[pl.DataFrame]) -> dict[str, Any]:
        """Return all facts as JSON values.

        Args:
            rows: the released rows, as `row_facts` takes them.
            sources: the documents, as `source_facts` does.
        """
        funnel = self._counts["funnel"]
        # a reason that only a later batch has belongs beside the others of its stage
        order = pl.Enum(funnel["stage"].unique(maintain_order=True).to_list())
        return {
            "package": package_version(),
            "rows": row_facts(rows),
            "sources": source_facts(sources),
            "funnel": funnel.sort(pl.col("stage").cast(order), maintain_order=True).to_dicts(),
            "sections": self._frame("sections", "status"),
            "claims": self._frame("claims", "verdict", "decided_by", "released"),
            "canaries": _canaries(self._counts["canaries"]),
            "scores": self._counts["scores"].to_dicts(),
            "made_by": self._frame("made_by", "role", "model", "prompt"),
            "masked": self._frame("masked", "kind"),
        }

    def _frame(self, name: str, *by: str) -> list[dict[str, Any]]:
        return self._counts[name].sort(by, nulls_last=True).to_dicts()


def _canaries(canaries: pl.DataFrame) -> list[dict[str, Any]]:
    """Return counts of canaries by whom they test and right verdict, with shares and their intervals."""
    count = pl.col("count")
    counts = {word: count.filter(pl.col("verdict") == word).sum() for word in ("rejected", "accepted")}
    by = ("asks", "expected")
    rows = canaries.group_by(by).agg(canaries=count.sum(), **counts).sort(by).to_dicts()
    for row in rows:
        for name in ("rejected", "accepted"):
            row[f"{name}_share"] = Interval.of_counts(row[name], row["canaries"]).model_dump()
    return rows


def row_facts(rows: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the facts that the rows alone give.

    Args:
        rows: of all splits, part after part, with `ROW_COLUMNS`.

    Returns:
        `rows`; counts of the values of each counted column, unknown ones as `unknown`; and quantiles of
        `lengths`, which are null where nothing is known.
    """
    provenance = pl.col("provenance").struct
    columns = {name: pl.col(name).cast(pl.String) for name in _COUNTED} | {
        name: provenance.field(name) for name in _PROVENANCE
    }
    decided_by = pl.col("claims").list.eval(pl.element().struct.field("decided_by"))
    steps = decided_by.list.unique().list.sort().list.join(" and ")
    columns["decided_by"] = pl.when(pl.col("claims").list.len() > 0).then(steps).otherwise(pl.lit(REFUSAL))
    values = [column.fill_null("unknown") for column in columns.values()] + list(LENGTHS.values())
    counts = [Counter[Any]() for _ in values]
    for part in rows:
        _count_values(part, values, counts)
    texts, lengths = counts[: len(columns)], counts[len(columns) :]
    return {
        "rows": texts[0].total(),
        **{name: dict(sorted(of_column.items())) for name, of_column in zip(columns, texts, strict=True)},
        "lengths": {name: _quantiles(of_unit) for name, of_unit in zip(LENGTHS, lengths, strict=True)},
    }


def _count_values(part: pl.DataFrame, values: Iterable[pl.Expr], counts: Iterable[Counter[Any]]) -> None:
    for value, counted in zip(values, counts, strict=True):
        counted.update(dict(part.group_by(value.alias("value")).len().iter_rows()))


def _quantiles(counts: Counter[int | None]) -> dict[str, int | None]:
    """Return the quantiles of numbers given with their frequencies; None is unknown."""
    lengths = sorted((length, rows) for length, rows in counts.items() if length is not None)
    values, upto = [length for length, _ in lengths], list(accumulate(rows for _, rows in lengths))
    every = upto[-1] if upto else 0
    quantiles: dict[str, int | None] = {"rows": every, **dict.fromkeys(_QUANTILES)}
    if every:
        ranks = {name: 1 + round(part * (every - 1)) for name, part in _QUANTILES.items()}
        quantiles |= {name: values[bisect_left(upto, rank)] for name, rank in ranks.items()}
    return quantiles


def source_facts(sources: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the number of documents, their batches and licences, and the first by batch and path.

    Args:
        sources: the documents, part after part, with `SOURCE_COLUMNS`.
    """
    counts = {name: Counter[str]() for name in ("batch", "licence")}
    shown_sources = pl.DataFrame(schema=dict.fromkeys(SOURCE_COLUMNS, pl.String()))
    for part in sources:
        _count_values(part, [pl.col(name).fill_null("unknown") for name in counts], counts.values())
        together = pl.concat([shown_sources, part.select(SOURCE_COLUMNS)])
        shown_sources = together.sort("batch", "path", "content_sha256").head(SHOWN_SOURCES)
    return {
        "documents": counts["batch"].total(),
        "batches": dict(sorted(counts["batch"].items())),
        "licences": dict(sorted(counts["licence"].items())),
        "first": shown_sources.to_dicts(),
    }


def package_version() -> str:
    """Return the version of this package."""
    try:
        return metadata.version("qa-pipeline")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return "checkout"
