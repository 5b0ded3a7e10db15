"""What parsing in worker processes costs and gains, and whether memory grows with the number of documents.

    python -m qa_pipeline_tests.benchmarks.speed.bench_parse_workers FOLDER ...

Prints one JSON line. The files of all folders are read once and parsed here and by warm workers, in turns,
several rounds over, of which the fastest of each counts. `ratio_one` and `ratio_two` are the time here over
the time of one and two workers: 1 is no cost, 2 is all that two can gain. `start_s` is the first file of a
new pool.

For memory the same files are parsed again and again under other bytes, so that a run has 1, 2 and 4 times as
many; outcomes are thrown away as they come. `peak_mb` is that of this process and its workers together,
sampled while they parse.
"""

import os
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from threading import Event, Thread
from time import perf_counter

from qa_pipeline.documents.corpus.files import documents_among, read_bytes
from qa_pipeline.documents.corpus.folders import open_folder
from qa_pipeline.documents.formats.registry import format_of
from qa_pipeline.documents.parsing import ParseFiles, ParseRequest, parse_in_process
from qa_pipeline.documents.sandbox.pool import ParsingPool
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now

_ROUNDS = 3
_LARGEST = 1_000_000_000
_SAMPLED_EVERY = 0.02
_DOCUMENTS = (200, 400, 800)


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    requests = list(_requests(parser.parse_args().folders))
    print_json(
        {
            "benchmark": "parse_workers",
            "cores": len(os.sched_getaffinity(0)),
            "load": load_now(),
            "files": len(requests),
            "megabytes": round(sum(len(request.source.content) for request in requests) / 1e6, 1),
            **_rates(requests),
            **_memory(requests),
        }
    )


def _requests(folders: list[Path]) -> Iterator[ParseRequest]:
    for folder in folders:
        for found in documents_among(open_folder(folder).list()):
            name = format_of(found.path)
            if name is not None and found.failure is None:
                yield ParseRequest(SourceFile(found.path, read_bytes(found, _LARGEST)), name)


def _rates(requests: list[ParseRequest]) -> dict[str, object]:
    pool = ParsingPool(os.environ)
    started = _seconds(pool.parse, requests[:1], 1)
    ways: dict[str, tuple[ParseFiles, int]] = {
        "here": (parse_in_process, 1),
        "one": (pool.parse, 1),
        "two": (pool.parse, 2),
    }
    for parse, workers in ways.values():
        _seconds(parse, requests, workers)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(_ROUNDS):
        for name, (parse, workers) in ways.items():
            times[name].append(_seconds(parse, requests, workers))
    pool.close()
    best = {name: min(taken) for name, taken in times.items()}
    return {
        "start_s": round(started, 2),
        "seconds": {name: round(taken, 3) for name, taken in best.items()},
        "files_a_second": {name: round(len(requests) / taken, 1) for name, taken in best.items()},
        "ratio_one": round(best["here"] / best["one"], 3),
        "ratio_two": round(best["here"] / best["two"], 3),
        "two_over_one": round(best["one"] / best["two"], 3),
    }


def _seconds(parse: ParseFiles, requests: list[ParseRequest], workers: int) -> float:
    start = perf_counter()
    for _ in parse(requests, DocumentSettings(parse_workers=workers)):
        pass
    return perf_counter() - start


def _memory(requests: list[ParseRequest]) -> dict[str, object]:
    peaks = {count: _peak(requests, count) for count in _DOCUMENTS}
    return {
        "peak_mb": {str(count): round(peak / 1e6) for count, peak in peaks.items()},
        "peak_ratio": round(peaks[_DOCUMENTS[-1]] / peaks[_DOCUMENTS[0]], 3),
    }


def _peak(requests: list[ParseRequest], count: int) -> int:
    """Most bytes that this process and two fresh workers held together over so many files."""
    pool = ParsingPool(os.environ)
    over = Event()
    seen = [0]

    def sample() -> None:
        while not over.wait(_SAMPLED_EVERY):
            seen[0] = max(seen[0], sum(_resident(process) for process in [os.getpid(), *_children()]))

    sampling = Thread(target=sample)
    sampling.start()
    for _ in pool.parse(_varied(requests, count), DocumentSettings(parse_workers=2)):
        pass
    over.set()
    sampling.join()
    pool.close()
    return seen[0]


def _varied(requests: list[ParseRequest], count: int) -> Iterator[ParseRequest]:
    """So many files, none of equal bytes; made when asked for, as files are read."""
    for number, request in enumerate(islice(cycle(requests), count)):
        content = request.source.content + b"\n" * (number // len(requests))
        yield ParseRequest(SourceFile(f"{number} {request.source.path}", content), request.format)


def _children() -> list[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


if __name__ == "__main__":
    main()
