"""Text of PDFs of many makers against two other readers: pdftotext of poppler-utils, and pdfminer.six.

    python -m qa_pipeline_tests.benchmarks.quality.measure_pdf_reading --pdfs FOLDER --out FILE

Reads all PDFs of a folder, writes a row for each to FILE and prints the summary as one JSON line.

A reference is the text of another reader; `agreed` are the words that both others find, so that what one of
them invents counts against nobody. Of each:

- `recall`: share of its words (as a multiset) whose letters our text holds as often. Letters, since readers
  part words in different ways: `10^6` holds `106`.
- `recall_with_left_out`: the same of our text and what the reader counts as left out.
- `numbers`: as `recall`, of the words with a digit.
- `order`: of the runs of three words that occur once in either text, the share in the longest common
  subsequence.
- `neighbours`: share of its runs of three words that our text has, wherever they are.

`precision` is the share of our words that either of the others finds. `left_out` are characters that the
reader counts as left out, by reason. `seconds_a_page` is processor time. `pdftotext_in_pdfminer` is a scale:
the text of the one reader against that of the other.

Figures are shares over all words and means over files (`by_file`). `worst` are the ten files with the lowest
recall of agreed words, `worst_unaccounted` those with the lowest recall with what is left out.
"""

import json
import re
import resource
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import pypdfium2
from pdfminer.high_level import extract_text
from pdfminer.psexceptions import PSException

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf import parser as pdf
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.benchmarks.quality.accounted_text import missing_words
from qa_pipeline_tests.benchmarks.quality.measure_pdf import (
    join_broken,
    order,
    record_omissions,
    words,
    written,
)
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now

Row = dict[str, Any]

_SETTINGS = DocumentSettings()
_SCALE = "pdftotext_in_pdfminer"
_WORST = 10
_LONGEST_SECONDS = 120
"""For a page that keeps pdftotext busy without end; most take less than one."""
_SHARES = {
    "recall": ("in_text", "words"),
    "recall_with_left_out": ("in_all", "words"),
    "numbers": ("numbers_in_text", "numbers"),
    "order": ("ordered", "unique"),
    "neighbours": ("runs_in_text", "runs"),
}


def main() -> None:
    """Measure a folder."""
    parser = parser_of(__doc__)
    parser.add_argument("--pdfs", type=Path, required=True, help="folder of PDFs")
    parser.add_argument("--out", type=Path, required=True, help="file for the rows")
    arguments = parser.parse_args()
    rows = [measure(path) for path in sorted(arguments.pdfs.rglob("*.pdf"))]
    arguments.out.write_text(json.dumps(rows, ensure_ascii=False, indent=1))
    print_json(summarize(rows))


def measure(path: Path) -> Row:
    """Return the counts of one file, or why a reader could not read it."""
    content = path.read_bytes()
    row: Row = {"file": path.name, **describe(content)}
    start = process_time()
    try:
        with record_omissions() as omitted:
            parsed = pdf.parse(SourceFile(path.name, content), _SETTINGS)
    except DocumentFailure as failure:
        return row | {"failed": failure.reason}
    row["seconds"] = {"ours": process_time() - start}
    row["left_out"] = {part.what: part.characters for part in parsed.left_out}
    text, once = assemble(parsed.blocks).text, "\n".join(written(parsed))
    ours = Counter(words(text))
    others: dict[str, str] = {}
    for name, read in _OTHERS.items():
        try:
            other, row["seconds"][name] = read(path)
        except (PSException, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
            # what pdfminer.six raises on files that it can't read is not of one class
            return row | {"failed": f"{name}: {type(error).__name__}"}
        others[name] = join_broken(other, ours)
    everything = "\n".join([text, *omitted])
    one, other = others.values()
    first, second, mine = (Counter(words(part)) for part in (one, other, once))
    row["by_reference"] = {name: _against(part, text, everything, once) for name, part in others.items()}
    row["by_reference"]["agreed"] = _found(one, first & second, text, everything)
    row["by_reference"][_SCALE] = _against(one, other, other, other)
    return row | {"ours": mine.total(), "in_others": (mine & (first | second)).total()}


def describe(content: bytes) -> Row:
    """Return pages and makers of a file by what it says of itself."""
    document = pypdfium2.PdfDocument(content)
    said = document.get_metadata_dict()
    pages = len(document)
    document.close()
    producer = re.sub(r"\W*\d.*", "", said.get("Producer", ""), flags=re.DOTALL).strip()
    return {"pages": pages, "maker": producer or "unknown", "creator": said.get("Creator", "")}


def _pdftotext(path: Path) -> tuple[str, float]:
    """Return the text by pdftotext, in its own order of reading, and processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["pdftotext", "-enc", "UTF-8", str(path), "-"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=_LONGEST_SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout.decode("utf-8", "replace"), seconds


def _pdfminer(path: Path) -> tuple[str, float]:
    start = process_time()
    return extract_text(path), process_time() - start


_OTHERS: dict[str, Callable[[Path], tuple[str, float]]] = {"pdftotext": _pdftotext, "pdfminer": _pdfminer}


def _against(other: str, text: str, everything: str, once: str) -> Counter[str]:
    """Return the counts of our text against that of another reader."""
    theirs, ours = words(other), words(once)
    runs, our_runs = ([*zip(part, part[1:], part[2:], strict=False)] for part in (theirs, ours))
    ordered, unique = order(our_runs, runs)
    in_text = (Counter(runs) & Counter(our_runs)).total()
    counts = _found(other, Counter(theirs), text, everything)
    return counts + Counter(ordered=ordered, unique=unique, runs=len(runs), runs_in_text=in_text)


def _found(other: str, counted: Counter[str], text: str, everything: str) -> Counter[str]:
    """Return how many of the counted words of another text, and of those with digits, our texts hold."""
    uncounted = Counter(words(other)) - counted
    lacking, nowhere = (missing_words(other, ours) - uncounted for ours in (text, everything))
    numbers = Counter({word: count for word, count in counted.items() if re.search(r"\d", word)})
    return Counter(
        words=counted.total(),
        in_text=counted.total() - lacking.total(),
        in_all=counted.total() - nowhere.total(),
        numbers=numbers.total(),
        numbers_in_text=numbers.total() - (numbers & lacking).total(),
    )


def summarize(rows: Sequence[Row]) -> Row:
    """Return the figures over all files that all readers could read."""
    read = [row for row in rows if "failed" not in row]
    left_out = sum((Counter(row["left_out"]) for row in read), Counter[str]())
    seconds = sum((Counter(row["seconds"]) for row in read), Counter[str]())
    pages = sum(row["pages"] for row in read)
    return {
        "bench": "pdf_reading",
        "files": len(rows),
        "pages": pages,
        "makers": len({row["maker"] for row in rows}),
        "failed": dict(Counter(row["failed"] for row in rows if "failed" in row)),
        **{reference: _figures(read, reference) for reference in (*_OTHERS, "agreed", _SCALE)},
        "precision": _share((row["in_others"], row["ours"]) for row in read),
        "left_out": dict(left_out.most_common()),
        "seconds_a_page": {name: round(value / pages, 4) for name, value in seconds.items()},
        "load": load_now(),
        "worst": _lowest(read, "in_text"),
        "worst_unaccounted": _lowest(read, "in_all"),
    }


def _lowest(rows: Sequence[Row], part: str) -> list[Row]:
    shown = ("file", "maker", "pages", "left_out")
    return [
        {name: row[name] for name in shown}
        | {"agreed": row["by_reference"]["agreed"], "recall": round(_recall(row, part), 4)}
        for row in sorted(rows, key=lambda row: _recall(row, part))[:_WORST]
    ]


def _recall(row: Row, part: str = "in_text") -> float:
    """Return the share of the agreed words of a file in our text; 1 where there are none."""
    agreed = row["by_reference"]["agreed"]
    return agreed.get(part, 0) / agreed["words"] if agreed.get("words") else 1.0


def _share(counts: Iterable[tuple[float, float]]) -> float | None:
    """Return the sum of the parts divided by the sum of the wholes, to four digits."""
    parts, wholes = map(sum, zip(*counts, strict=True))
    return round(parts / wholes, 4) if wholes else None


def _figures(rows: Sequence[Row], reference: str) -> Row:
    def over(name: str, *, by_file: bool) -> float | None:
        def counts(row: Row) -> tuple[float, float]:
            part, whole = (row["by_reference"][reference].get(key, 0) for key in _SHARES[name])
            return (part / whole, 1) if by_file and whole else (part, whole)

        return _share(map(counts, rows))

    counted = {name for row in rows for name in row["by_reference"][reference]}
    names = [name for name, (_, whole) in _SHARES.items() if whole in counted]
    figures: Row = {name: over(name, by_file=False) for name in names}
    return figures | {"by_file": {name: over(name, by_file=True) for name in names}}


if __name__ == "__main__":
    main()
