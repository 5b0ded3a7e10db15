"""Count the unsupported answers that verification accepts, and the supported ones that it rejects.

    python -m qa_pipeline_tests.benchmarks.quality.measure_false_accepts DATA … [--limit 300]

DATA are files or folders of labelled answers with the columns id, dataset, language, context (list of
passages), answer, label (1 = supported) and group_id. Each is checked by `qa_pipeline.verify`, with no
model. Prints one JSON line for each data set and one for all: accepted and rejected answers by label.
"""

from collections import Counter
from pathlib import Path

import polars as pl

from qa_pipeline import verify
from qa_pipeline.evaluation.labelled_files import draw
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.evaluation.labelled_files import read_labelled


def main() -> None:
    """Verify every item and print the counts."""
    parser = parser_of(__doc__)
    parser.add_argument("data", type=Path, nargs="+", help="files or folders of labelled answers")
    parser.add_argument("--limit", type=int, help="rows of each data set, drawn by group")
    options = parser.parse_args()
    items = draw(read_labelled(options.data).items, options.limit)
    total: Counter[str] = Counter()
    for (name,), subset in items.group_by("dataset", maintain_order=True):
        counts = count_verdicts(subset)
        total += counts
        print_json({"dataset": name, **counts})
    print_json({"dataset": "all", **total})


def count_verdicts(items: pl.DataFrame) -> Counter[str]:
    """Count the items of each label and verdict, such as `unsupported_accepted`."""
    counts: Counter[str] = Counter()
    for row in items.iter_rows(named=True):
        question = row["question"] or row["answer"]
        found = verify(question, row["answer"], row["context"], language=row["language"])
        counts[f"{'supported' if row['label'] else 'unsupported'}_{found.verdict}"] += 1
    return counts


if __name__ == "__main__":
    main()
