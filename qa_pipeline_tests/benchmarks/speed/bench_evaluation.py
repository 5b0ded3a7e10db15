"""Rows a second and peak memory of an evaluation by all offline metrics, vectors given, for numbers of rows.

    python -m qa_pipeline_tests.benchmarks.speed.bench_evaluation WORK [--rows 2000 10000]
        [--workers 2] [--metric NAME …]

Rows are made from the documents in data/corpora: five contexts of a few sentences each, an answer of two
sentences of them with a number or a name changed in every third row, and citations. Each size is a process of
its own, which embeds all texts first and is measured from then on; peak memory is that of the process and its
workers, the first pass included.
"""

import json
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

CORPORA = Path(__file__).parents[3] / "data" / "corpora"
LANGUAGES = {"heat-pumps-en": "en", "vattenverk-sv": "sv", "bibliothek-de": "de"}
MODULE = "qa_pipeline_tests.benchmarks.speed.bench_evaluation"


def main() -> None:
    """Measure each size in a process of its own, and print."""
    parser = parser_of(__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--metric", nargs="*", default=[])
    parser.add_argument("--one", action="store_true", help="measure in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(_measure(given.work, given.rows[0], given.workers, given.metric)))
        return
    for rows in given.rows:
        options = ["--one", "--rows", str(rows), "--workers", str(given.workers), "--metric", *given.metric]
        done = subprocess.run(
            [sys.executable, "-m", MODULE, str(given.work), *options],
            check=True,
            capture_output=True,
            text=True,
        )
        print_json(json.loads(done.stdout.splitlines()[-1]))


def _measure(work: Path, rows: int, workers: int, names: list[str]) -> dict[str, Any]:
    import polars as pl

    from qa_pipeline.evaluation.metrics.registry import chosen_metrics
    from qa_pipeline.evaluation.rag_datasets import read_rag_rows
    from qa_pipeline.evaluation.running import evaluate_into
    from qa_pipeline.evaluation.scoring import evaluation_settings
    from qa_pipeline.evaluation.signals.base import Means
    from qa_pipeline.resources import Resources
    from qa_pipeline.settings.tree import Settings

    folder = work / str(rows)
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "rows.jsonl"
    with made.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in _rows(rows))
    frame = read_rag_rows([made]).items
    means = Means(Resources(evaluation_settings(Settings(out=work))))
    metrics = chosen_metrics(names)
    seconds, processor = [], []
    for _ in range(2):  # the first pass embeds
        before, used = time.perf_counter(), _processor()
        evaluate_into(folder, frame, metrics, means)
        seconds.append(time.perf_counter() - before)
        processor.append(_processor() - used)
    values = pl.read_parquet(folder / "rows.parquet").select(one.name for one in metrics)
    return {
        "benchmark": "evaluation",
        "rows": rows,
        "workers": workers,
        "metrics": len(metrics),
        "seconds": round(seconds[1], 2),
        "rows_per_second": round(rows / seconds[1], 1),
        "processor_seconds": round(processor[1], 2),
        "first_pass_seconds": round(seconds[0], 2),
        "peak_memory_mb": round(_peak() / 1024),
        "known": {name: values.height - values[name].null_count() for name in values.columns},
    }


def _processor() -> float:
    return sum(
        one.ru_utime + one.ru_stime
        for one in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _peak() -> int:
    """KiB of this process and of its largest child."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _sentences() -> dict[str, list[tuple[str, str]]]:
    """Document and sentence, in order, by language."""
    from qa_pipeline.text.sentences import split_sentences

    found: dict[str, list[tuple[str, str]]] = {}
    for batch, language in LANGUAGES.items():
        for path in sorted((CORPORA / batch).glob("*.[mth]*")):
            if path.suffix not in (".md", ".html", ".txt"):
                continue
            text = re.sub(r"<[^>]*>", " ", path.read_text(encoding="utf-8"))
            found.setdefault(language, []).extend(
                (path.name, " ".join(text[start:end].split()))
                for start, end in split_sentences(text, language)
                if 40 < end - start < 300 and "|" not in text[start:end]
            )
    return found


def _rows(count: int) -> Iterator[dict[str, Any]]:
    """Rows from a seed; the same ones come first whatever the count."""
    draw = random.Random(0)
    sentences = _sentences()
    for number in range(count):
        own = sentences[draw.choice(list(sentences))]
        shown = [draw.sample(own, 3) for _ in range(5)]
        picked = draw.sample([one for of_context in shown for one in of_context], 2)
        answer = [text if number % 3 else _changed(text, draw) for _, text in picked]
        yield {
            "id": str(number),
            "query": f"What does {picked[0][0]} say of {picked[0][1][:60]}?",
            "answer": f"{answer[0]} [1] {answer[1]} [source: {picked[1][0]}]",
            "contexts": [
                {
                    "text": " ".join(text for _, text in of_context),
                    "document": of_context[0][0],
                    "date": f"20{draw.randint(10, 25)}-01-01",
                    "authority": round(draw.random(), 2),
                }
                for of_context in shown
            ],
            "reference": picked[0][1],
            "relevant_documents": [picked[0][0]],
            "true_claims": [{"claim": text, "source": name} for name, text in picked],
            "samples": [answer[0], answer[0].upper(), answer[1]],
            "confidences": sorted(draw.random() for _ in range(3)),
            "must_refuse": False,
        }


def _changed(text: str, draw: random.Random) -> str:
    """The sentence with another number in the place of one, else cut in half."""
    numbers = re.findall(r"\d+", text)
    if numbers:
        return text.replace(draw.choice(numbers), str(draw.randint(100, 999)))
    return " ".join(text.split()[::2]) + "."


if __name__ == "__main__":
    main()
