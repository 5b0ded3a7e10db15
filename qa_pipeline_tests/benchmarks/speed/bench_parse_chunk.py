"""Speed of parsing and chunking against what the libraries alone need for the same text.

    python -m qa_pipeline_tests.benchmarks.speed.bench_parse_chunk FOLDER ...

Prints one JSON line a folder.

`ratio` is the time of the libraries alone over the time of the two stages, so 1 would be no cost of our own.
Alone, each library does once what the stages cannot do without it, and nothing is done with what it returns
(`libraries_alone`): the parser of each format reads the bytes, the identifier tells the language of each
stretch of text, MinHash sketches each document and looks it up among the others, and the embedding model's
tokenizer counts the text of every chunk in one call. The stages also do everything else: walking the tree,
cleaning, sections, tables, cutting. `ratio_parsers` leaves languages and near duplicates to the stages, which
then pay for them while the libraries do not. A format that no library here reads alone counts as no time.

The tokenizer uses one core in `ratio`, as the parsers and stages do, so that it compares work and not the
number of cores; what counts is processor time. In `ratio_all_cores` both sides let it use every core, and
what counts is the clock. All are timed in turns, several times over, and the fastest round of each counts:
other work on the machine slows all or none.
`chunk_ratio` is the time of the tokenizer alone over that of cutting, on one core.
`growth` is the time for four times the text over four times the time, so 1 is linear.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

from qa_pipeline.documents.corpus.files import documents_among, read_bytes
from qa_pipeline.documents.corpus.folders import open_folder
from qa_pipeline.documents.formats.registry import format_of
from qa_pipeline.documents.near_duplicates import shingles
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.records import index_text
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.documents import ChunkingSettings, DocumentSettings
from qa_pipeline.text.language import READ_OF_A_STRETCH, languages_of, stretches
from qa_pipeline_tests.benchmarks.speed.libraries_alone import parse_alone, sketch_alone, tell_alone
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.retrieval.documents import Counter

_ROUNDS = 5
_LARGEST = 1_000_000_000


def fastest(clock: Callable[[], float], *works: Callable[[], object]) -> list[float]:
    """Shortest of several rounds for each: the one least disturbed by other work on the machine."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(_ROUNDS):
        for spent, work in zip(times, works, strict=True):
            start = clock()
            work()
            spent.append(clock() - start)
    return [min(spent) for spent in times]


def tokenize_on(*, all_cores: bool) -> None:
    """Let the tokenizer use every core or one; it looks at this variable at each call."""
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if all_cores else "false"


def repeated(folder: Path, target: Path, times: int) -> Path:
    """A folder whose text files hold their content `times` times over, with nothing equal to another."""
    for found in documents_among(open_folder(folder).list()):
        name = format_of(found.path)
        if name in ("markdown", "text"):
            copy = target / str(times) / found.path
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(b"\n\n".join([read_bytes(found, _LARGEST)] * times))
    return target / str(times)


def measure(folder: Path) -> dict[str, float | int | str | None]:
    counter, reading, chunking = Counter(), DocumentSettings(), ChunkingSettings()
    languages_of("warm up")
    documents = read_documents("bench", folder, reading)
    chunks = chunk_documents(documents, counter, chunking)
    texts = documents["text"].drop_nulls().to_list()
    indexed = [index_text(path, text) for path, text in chunks.select("section_path", "text").iter_rows()]
    found = documents_among(open_folder(folder).list())
    files = [(format_of(file.path) or "", read_bytes(file, _LARGEST)) for file in found]
    told = [part[:READ_OF_A_STRETCH] for text in texts for part in stretches(text)]
    sets = [shingles(text).tolist() for text in texts]
    threshold = reading.near_duplicate_similarity
    works = (
        lambda: parse_alone(files),
        lambda: tell_alone(told),
        lambda: sketch_alone(sets, threshold),
        lambda: counter.count(indexed),
        lambda: read_documents("bench", folder, reading),
        lambda: chunk_documents(documents, counter, chunking),
    )
    tokenize_on(all_cores=True)
    *alone, parsing, cutting = fastest(perf_counter, *works)
    ratio_all_cores = sum(alone) / (parsing + cutting)
    tokenize_on(all_cores=False)
    *alone, parsing, cutting = fastest(process_time, *works)
    parsers, teller, sketches, tokenizer = alone
    with tempfile.TemporaryDirectory() as target:
        growth = _growth(folder, Path(target), counter)
    return {
        "bench": "parse_chunk",
        "folder": folder.name,
        "documents": len(texts),
        "characters": sum(map(len, texts)),
        "parse_s": round(parsing, 4),
        "chunk_s": round(cutting, 4),
        "parsers_alone_s": round(parsers, 4),
        "languages_alone_s": round(teller, 4),
        "sketches_alone_s": round(sketches, 4),
        "tokenizer_alone_s": round(tokenizer, 4),
        "ratio": round(sum(alone) / (parsing + cutting), 3),
        "ratio_parsers": round((parsers + tokenizer) / (parsing + cutting), 3),
        "chunk_ratio": round(tokenizer / cutting, 3),
        "ratio_all_cores": round(ratio_all_cores, 3),
        "growth": growth,
    }


def _growth(folder: Path, target: Path, counter: Counter) -> float | None:
    """Time for four times the text over four times the time for it once; None without text files."""
    spent = []
    for times in (1, 4):
        copies = repeated(folder, target, times)
        if not copies.is_dir():
            return None

        def both(batch: Path = copies) -> None:
            documents = read_documents("bench", batch, DocumentSettings())
            chunk_documents(documents, counter, ChunkingSettings())

        spent += fastest(process_time, both)
    return round(spent[1] / (4 * spent[0]), 3)


def main() -> None:
    """Measure each folder."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    for folder in parser.parse_args().folders:
        print_json(measure(folder))


if __name__ == "__main__":
    main()
