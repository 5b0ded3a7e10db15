"""Seconds and memory that the splits of many rows take, at first and with the splits of the release before.

    python -m qa_pipeline_tests.benchmarks.speed.bench_splits [--rows 1000000]

Ten rows to a document, and a question of its own to nearly each.
"""

import resource
import time

import numpy as np
import polars as pl

from qa_pipeline.publishing.splits import JOINS, KEYS, PLACED, assign_splits, placed_keys
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

RATIOS = {"train": 0.8, "validation": 0.1, "test": 0.1}


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows: int = parser.parse_args().rows
    lots, numbers = np.random.default_rng(0), pl.int_range(rows, eager=True)
    ids = numbers.cast(pl.String())
    drawn = {"document": lots.integers(0, rows // 10, rows), "question": lots.integers(0, 3000 * rows, rows)}
    keys = pl.concat(
        pl.DataFrame({"pair_id": ids, "key": values}).with_columns(key=pl.format(f"{what}:{{}}", "key"))
        for what, values in drawn.items()
    ).cast(KEYS)
    began = time.perf_counter()
    first = assign_splits(keys, JOINS.to_frame(), RATIOS, PLACED.to_frame())
    placed = placed_keys(keys, first, PLACED.to_frame())
    between = time.perf_counter()
    again = assign_splits(keys, JOINS.to_frame(), RATIOS, placed)
    print_json(
        {
            "benchmark": "splits",
            "rows": rows,
            "components": first["component"].n_unique(),
            "seconds": round(between - began, 1),
            "seconds_again": round(time.perf_counter() - between, 1),
            "moved": first.join(again, on="pair_id").filter(pl.col("split") != pl.col("split_right")).height,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    )


if __name__ == "__main__":
    main()
