"""How far a refusal's outcome can be trusted: against questions that people marked answerable or not.

Takes Parquet files with the columns id, language, question, context (list of passages), answerable (1 or 0)
and group_id. All passages of a group of at least 20 items, or else of the whole file, are one batch; every
question counts as refused:

    python -m qa_pipeline_tests.benchmarks.quality.measure_refusals FILE... [--limit 500] [--seed 0]

Prints one JSON line a file: items, and for each outcome how many refusals got it and how many of those
rightly (correct_refusal: unanswerable; refused_answerable: answerable), with the recall of each.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.evaluation.signals.statement_tables import Statement, statement_tables
from qa_pipeline.models.base import Encoder
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.settings.tree import Settings
from qa_pipeline.verification.refusals import judge_refusals
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

_LEAST = 20


def batches(items: pl.DataFrame) -> list[tuple[pl.DataFrame, tuple[str, ...]]]:
    """Items that share a batch, with its passages."""
    sizes = items.group_by("group_id").len()
    large = sizes["len"].min() >= _LEAST  # type: ignore[operator]
    parts = items.partition_by("group_id", maintain_order=True) if large else [items]
    return [
        (part, tuple(dict.fromkeys(p for c in part["context"] for p in c if p.strip()))) for part in parts
    ]


def judge(
    part: pl.DataFrame, passages: Sequence[str], chosen: Sequence[str], embedder: Encoder, settings: Settings
) -> pl.DataFrame:
    """answerable and outcome of the chosen items of a batch."""
    items = part.filter(pl.col("id").is_in(list(chosen)))
    statements = [
        Statement(f"no answer {row['id']}", tuple(passages), row["language"], row["question"])
        for row in items.iter_rows(named=True)
    ]
    tables = statement_tables(statements)
    pairs = tables.pairs.with_columns(coverage=pl.lit("none"))
    judged = judge_refusals(pairs, tables.chunks, embedder, settings.verification)
    labels = items.select("answerable").with_columns(pair_id=pl.Series(tables.pair_ids))
    return labels.join(judged.select("pair_id", "outcome"), on="pair_id").select("answerable", "outcome")


def measure(path: Path, limit: int, seed: int) -> dict[str, Any]:
    """Figures of one file."""
    settings = Settings()
    embedder = load_embedder(settings.embedding)
    items = pl.read_parquet(path)
    chosen = items.sample(min(limit, items.height), seed=seed, shuffle=True)["id"].to_list()
    frames = [judge(part, passages, chosen, embedder, settings) for part, passages in batches(items)]
    found = pl.concat(frames)
    right = {"correct_refusal": 0, "refused_answerable": 1}
    row: dict[str, Any] = {"file": path.stem, "items": found.height}
    for outcome, label in right.items():
        got = found.filter(pl.col("outcome") == outcome)
        hits = got.filter(pl.col("answerable") == label).height
        every = found.filter(pl.col("answerable") == label).height
        row[outcome] = {"right": hits, "of": got.height, "recall": round(hits / every, 3) if every else None}
    return row


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for path in given.files:
        print_json(measure(path, given.limit, given.seed))


if __name__ == "__main__":
    main()
