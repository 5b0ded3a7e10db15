"""MB a second at which the rows of a release become the files of each format, against Python's own json.

    python -m qa_pipeline_tests.benchmarks.speed.bench_formats [--rows 20000] [--batches 4]

Run it on one core with `taskset -c 0` and POLARS_MAX_THREADS=1, for figures of a core. Texts have umlauts,
quotes and line breaks. `mb_per_second` is of a whole format, mapped and written to a file that is closed and
synced; `lines` are JSON lines alone, of rows already mapped, by `json_lines` and by `json.dumps`.
"""

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from qa_pipeline.curation.exports import json_lines
from qa_pipeline.publishing.formats import FORMATS, Tables, format_writer
from qa_pipeline.storage.tables import ROUND_TRIPS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.curation.rows import (
    chunk,
    chunks,
    document,
    documents,
    example,
    examples,
    pair,
    pairs,
    sha,
    verdict,
    verdicts,
)

SENTENCE = 'Die Bücherei „Süd“ öffnet um "neun" Uhr,\nund schließt um {}. '
SPLITS = ("train", "test")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--batches", type=int, default=4)
    arguments = parser.parse_args()
    tables, released = _batch(arguments.rows)
    with TemporaryDirectory() as folder:
        formats = {name: _write(Path(folder), name, tables, released, arguments.batches) for name in FORMATS}
    mapped = FORMATS["chat"].rows(tables, released, "with_context")[0].drop("split")
    fast = _timed(lambda: sum(len(block) for block in json_lines(mapped)))
    slow = _timed(lambda: sum(len(_dumped(row)) for row in mapped.iter_rows(named=True)))
    print_json(
        {
            "benchmark": "formats",
            "rows": arguments.rows,
            "polars_threads": pl.thread_pool_size(),
            "mb_per_second": formats,
            "lines": {"json_lines": fast, "json_dumps": slow, "ratio": round(fast / slow, 1)},
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    )


def _dumped(row: dict[str, object]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def _timed(written: Callable[[], int]) -> float:
    began = time.perf_counter()
    size = written()
    return round(size / (time.perf_counter() - began) / 1e6, 1)


def _write(folder: Path, name: str, tables: Tables, released: pl.DataFrame, batches: int) -> float:
    def written() -> int:
        with format_writer(folder, name, SPLITS, "with_context") as write:
            for _ in range(batches):
                write(tables, released)
        return sum(path.stat().st_size for path in (folder / name).rglob("*.*"))

    return _timed(written)


def _batch(count: int) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """A batch of `count` pairs, ten to a document of ten chunks, with five passages and a draft each."""
    parts = [[SENTENCE.format(f"{d}.{c}") * 15 for c in range(10)] for d in range(count // 10)]
    cut, own, asked, judged = [], [], [], []
    for d, texts in enumerate(parts):
        for c, text in enumerate(texts):
            at, one = sum(map(len, texts[:c])), f"{d}-{c}"
            quote = text[: len(text) // 15]
            place = {"chunk_id": one, "document_id": f"d{d}", "start": at, "end": at + len(quote)}
            proof = {
                **place,
                "claim": quote,
                "quote": quote,
                "path": f"d{d}.md",
                "content_sha256": sha(f"d{d}"),
            }
            words = {"system": "Be brief.", "user": f"{text}\n\nWann? {one}", "assistant": quote}
            said = [{"role": role, "content": content} for role, content in words.items()]
            cut.append(chunk(one, text, document_id=f"d{d}", char_start=at, char_end=at + len(text)))
            passages = [f"{d}-{(c + n) % 10}" for n in range(5)]
            asked.append(pair(one, question_id=one, passage_ids=passages, passage_scores=[0.5] * 5))
            asked.append(pair(f"{one}w", question_id=one, answer=quote.upper()[:40]))
            judged += [verdict(one), verdict(f"{one}w", "rejected", reason="contradicted", stage="pairs")]
            own.append(
                example(one, question=f"Wann? {one}", answer=quote, messages=said,
                    messages_with_context=said, evidence=[proof])
            )  # fmt: skip
    tables = {
        "documents": documents(*(document(f"d{d}") for d in range(len(parts)))),
        "chunks": chunks(*cut).with_columns(placed=pl.lit(None, pl.String())),
        "pairs": pairs(*asked),
        "verdicts": verdicts(*judged),
        "round_trips": ROUND_TRIPS.empty(),
    }
    hashes = pl.col("evidence").list.eval(pl.element().struct.field("content_sha256"))
    released = examples(*own).with_columns(
        documents=hashes,
        licences=pl.lit(["CC0-1.0"]),
        version=pl.lit(1),
        split=pl.when(pl.int_range(pl.len()) // 10 % 10 == 0).then(pl.lit("test")).otherwise(pl.lit("train")),
    )
    return tables, released


if __name__ == "__main__":
    main()
