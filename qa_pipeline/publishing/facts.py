"""Facts for the card of a release: counts of rows and documents, models and settings."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from qa_pipeline.pipeline.funnel import masked_counts

_COLUMNS = ("language", "question_type", "coverage", "difficulty", "origin", "judge")
_VALUES = {name: pl.col(name) for name in _COLUMNS} | {
    "decided_by": pl.when(pl.col("decided_by").list.len() > 0)
    .then(pl.col("decided_by").list.join(" and "))
    .otherwise(pl.lit("refusal")),
    "words of the question": pl.col("question").str.count_matches(r"\S+"),
    "words of the answer": pl.col("answer").str.count_matches(r"\S+"),
    "characters of the messages": pl.col("messages")
    .list.eval(pl.element().struct.field("content").str.len_chars())
    .list.sum(),
}  # fmt: skip
"""Expressions whose values are counted per row, by name."""
LENGTHS = ("words of the question", "words of the answer", "characters of the messages")
QUANTILES = {"least": 0.0, "median": 0.5, "95 %": 0.95, "most": 1.0}
_MAKERS = (
    ("questions", "questions", "model", "prompt_hash"),
    ("answers", "pairs", "generator", "prompt_hash"),
    ("embeddings", "embeddings", pl.format("{} @ {}", "model", "model_revision"), None),
    ("entailment of claims", "claims", "entailment_model", None),
    ("verified by a model", "claim_verdicts", "model", "prompt_hash"),
    ("round trip", "round_trips", "model", None),
    ("judged", "assessments", "judge", "prompt_hash"),
)
"""Tasks of models: role, table, and the table's columns for model and prompt."""
Key = tuple[Any, ...]


class CardFacts:
    """Counts across the batches of a release."""

    def __init__(self) -> None:
        self._values = {name: Counter[Any]() for name in _VALUES}
        self._counts = {name: Counter[Key]() for name in ("canaries", "made_by", "masked")}
        self._licences = Counter[str]()
        self._prompts: set[str] = set()

    def add(self, tables: Mapping[str, pl.DataFrame], rows: pl.DataFrame, sources: pl.DataFrame) -> None:
        """Count the tables of a batch, its released rows, and its documents."""
        for name, value in _VALUES.items():
            if set(value.meta.root_names()) <= {*rows.columns}:
                self._values[name].update(dict(rows.group_by(value.alias("value")).len().iter_rows()))
        self._licences.update(sources["licence"].fill_null("unknown"))
        system = pl.col("messages").list.first().struct.field("content")
        self._prompts.update(rows.select(system.unique()).to_series())
        replied = tables["canaries"].filter(pl.col("verdict") != "failed")
        self._count("canaries", replied, "asks", "expected", "verdict")
        for kind, documents, pieces in masked_counts(tables["documents"]).iter_rows():
            self._counts["masked"][kind, "documents"] += documents
            self._counts["masked"][kind, "count"] += pieces
        for role, table, model, prompt in _MAKERS:
            made_by = pl.col(model) if isinstance(model, str) else model
            prompted = pl.lit(None, pl.String()) if prompt is None else pl.col(prompt)
            done = tables[table].select(role=pl.lit(role), model=made_by, prompt=prompted)
            self._count("made_by", done.drop_nulls("model"), "role", "model", "prompt")

    def _count(self, name: str, frame: pl.DataFrame, *keys: str) -> None:
        for *key, count in frame.group_by(keys).len().iter_rows():
            self._counts[name][tuple(key)] += count

    def document(self) -> dict[str, Any]:
        """Return all facts as JSON values; unknown values are counted under "unknown"."""
        values = {
            name: {"unknown" if value is None else str(value): count for value, count in counts.items()}
            for name, counts in self._values.items()
            if name not in LENGTHS
        }
        return {
            "rows": sum(self._values["language"].values()),
            "values": values,
            "lengths": {name: _quantiles(self._values[name]) for name in LENGTHS},
            "documents": self._licences.total(),
            "licences": dict(sorted(self._licences.items())),
            "system_prompts": sorted(self._prompts),
            "canaries": self._lines("canaries", "asks", "expected", "verdict"),
            "made_by": self._lines("made_by", "role", "model", "prompt"),
            "masked": self._lines("masked", "kind", "what"),
        }

    def _lines(self, name: str, *keys: str) -> list[dict[str, Any]]:
        counted = sorted(self._counts[name].items(), key=lambda item: [str(part) for part in item[0]])
        return [{**dict(zip(keys, key, strict=True)), "count": count} for key, count in counted]


def _quantiles(counts: Counter[int]) -> dict[str, int]:
    """Return the quantiles of numbers, given the frequency of each."""
    frame = pl.DataFrame({"length": [*counts], "rows": [*counts.values()]}).sort("length")
    upto, every = frame["rows"].cum_sum(), sum(counts.values())
    ranks = {name: 1 + round(part * (every - 1)) for name, part in QUANTILES.items()}
    return {name: frame["length"][int(upto.search_sorted(rank))] for name, rank in ranks.items()}
