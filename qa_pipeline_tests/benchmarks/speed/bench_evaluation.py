"""Rows a second and peak memory of an evaluation by all offline metrics, vectors given, for numbers of rows.

    python -m qa_pipeline_tests.benchmarks.speed.bench_evaluation WORK [--rows 2000 10000]
        [--corpora FOLDER] [--metric NAME …]

Rows are made from the prose of the documents in data/corpora, or another folder of corpora: five contexts of
three sentences, a question about one of them, an answer of two, changed in every third row, and
citations.
Each size is a process of its own that reads, evaluates and writes the report. A process before it stores a
vector of hashed words for every text, in the place of the model's: what is measured is an evaluation whose
vectors are there. Rows a second are those of the evaluation alone; peaks are those of all three.
"""

import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.evaluation.datasets.answered_questions import rag_blocks, store_rag_rows
from qa_pipeline.evaluation.datasets.labelled_files import LEFT_OUT
from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.reports.report import About, dataset_name
from qa_pipeline.evaluation.reports.report_folder import dataset_sha256, write_report
from qa_pipeline.evaluation.running import evaluate_into, evaluation_settings
from qa_pipeline.evaluation.signals.base import Means
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.fakes import HashEmbedder

CORPORA = Path(__file__).parents[3] / "data" / "corpora"
LANGUAGE = re.compile(r"(?:^|-)(en|sv|de)(?:-|$)")
PROSE = re.compile(r"[A-ZÅÄÖÜ][^|#{}<>]*[.!?]")
QUESTIONS = {"en": "What about {}?", "sv": "Vad gäller för {}?", "de": "Was gilt für {}?"}
MODULE = "qa_pipeline_tests.benchmarks.speed.bench_evaluation"


def main() -> None:
    """Measure each size in a process of its own, and print."""
    parser = parser_of(__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--corpora", type=Path, default=CORPORA, help="folders named NAME-LANGUAGE[-…]")
    parser.add_argument("--metric", nargs="*", default=[])
    parser.add_argument("--step", choices=("store", "measure"), help="do this in this process")
    given = parser.parse_args()
    if given.step == "store":
        _store(given.work, given.corpora, given.rows[0], given.metric)
    elif given.step == "measure":
        print(json.dumps(_measure(given.work, given.rows[0], given.metric)))
    else:
        for rows in given.rows:
            own = ["--rows", str(rows), "--corpora", str(given.corpora)]
            for step in ("store", "measure"):
                command = [sys.executable, "-m", MODULE, str(given.work), *own, "--step", step]
                done = subprocess.run(
                    [*command, "--metric", *given.metric], check=True, stdout=subprocess.PIPE, text=True
                )
            print_json(json.loads(done.stdout.splitlines()[-1]))


def _store(work: Path, corpora: Path, rows: int, names: list[str]) -> None:
    """Write the rows, and a vector for every text that their evaluation looks at."""
    settings = evaluation_settings(Settings(out=work))
    model = load_embedder(settings.embedding)
    hashed = HashEmbedder(model.dimension, model.model, model.revision, model.precision)
    folder = work / str(rows)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in _rows(corpora, rows))
    means = Means(Resources(settings, embedder=hashed))
    evaluate_into(folder, _stored(folder), chosen_metrics(names), means)


def _stored(folder: Path) -> pl.LazyFrame:
    return store_rag_rows(folder / "data.parquet", rag_blocks([folder / "rows.jsonl"], {}))


def _measure(work: Path, rows: int, names: list[str]) -> dict[str, Any]:
    folder = work / str(rows)
    begun = time.perf_counter()
    data = _stored(folder)
    sha256, reading = dataset_sha256(data), time.perf_counter() - begun
    means = Means(Resources(evaluation_settings(Settings(out=work))))
    metrics = chosen_metrics(names)
    start, used = time.perf_counter(), _processor()
    counts = evaluate_into(folder, data, metrics, means)
    seconds, used = time.perf_counter() - start, _processor() - used
    about = About(dataset_name(data), sha256, LEFT_OUT.to_frame(), {})
    write_report(folder, metrics, counts, about)
    whole = time.perf_counter() - begun
    values = pl.read_parquet(folder / "rows.parquet").select(one.name for one in metrics)
    return {
        "benchmark": "evaluation",
        "rows": rows,
        "metrics": len(metrics),
        "seconds": round(seconds, 2),
        "rows_per_second": round(rows / seconds, 1),
        "seconds_reading": round(reading, 2),
        "seconds_reporting": round(whole - reading - seconds, 2),
        "processor_seconds": round(used, 2),
        "rows_per_processor_second": round(rows / used, 1),
        "load": [round(one, 1) for one in os.getloadavg()],
        **{name: round(_peak(who) / 1024) for name, who in PROCESSES.items()},
        "unknown": {name: count for name in values.columns if (count := values[name].null_count())},
    }


def _processor() -> float:
    return sum(
        one.ru_utime + one.ru_stime
        for one in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


PROCESSES = {"peak_mb": resource.RUSAGE_SELF, "peak_mb_of_a_worker": resource.RUSAGE_CHILDREN}


def _peak(who: int) -> int:
    """KiB of this process, or of its largest child."""
    return resource.getrusage(who).ru_maxrss


def _sentences(corpora: Path) -> dict[str, list[tuple[str, str]]]:
    """Document and sentence, in order, by language."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(corpora.rglob("*")):
        language = LANGUAGE.search(path.parent.name)
        if language and path.suffix in (".md", ".html", ".txt", ".rst"):
            text = re.sub(r"<[^>]*>", " ", path.read_text(encoding="utf-8", errors="replace"))
            found.setdefault(language[1], []).extend(
                (path.name, " ".join(text[start:end].split()))
                for start, end in split_sentences(text, language[1])
                if 40 < end - start < 300 and PROSE.fullmatch(text, start, end)
            )
    return found


def _rows(corpora: Path, count: int) -> Iterator[dict[str, Any]]:
    """Rows from a seed; the same ones come first whatever the count."""
    draw = random.Random(0)
    sentences = _sentences(corpora)
    for number in range(count):
        language = draw.choice(list(sentences))
        own = sentences[language]
        shown = [own[3 * at : 3 * at + 3] for at in draw.sample(range(len(own) // 3), 5)]
        picked = draw.sample([one for of_context in shown for one in of_context], 2)
        answer = [text if number % 3 else _changed(text, draw) for _, text in picked]
        yield {
            "id": str(number),
            "query": QUESTIONS[language].format(picked[0][1][:60].rpartition(" ")[0]),
            "language": language,
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
