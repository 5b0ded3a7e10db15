"""Numbers of real tables: whether each stands in the text with the heads of its row and of its column.

    python -m qa_pipeline_tests.benchmarks.quality.measure_table_numbers --files FOLDER [--out FILE]

FOLDER holds the files and `tables.json`, the truth by another road (`label_table_numbers` writes it): a list
of tables, each with its `file`, `format` and `numbers`: the `number` as a person sees it, its `row` (text of
the row's first cell, empty if the row has no name) and its `column` (names above it, empty if it has none).

A number is `right` where a table row of our text has it in a piece whose name has all words of its column,
and the row has all words of its row's name. Else it has `wrong_column` or `wrong_row` where only the other is
right, is `without_heads` where a table row has it at all, `elsewhere` where it stands in other text or in a
longer cell, and else `lost`.

Prints one JSON line: by format and in all, numbers by outcome and the share that is right as [value, low,
high], with the 95 % interval of a mean by files. `--out` takes the numbers that are not right.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.registry import PARSERS, format_of
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.doubt import SIGN
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.grouped_shares import share_by_group

_SETTINGS = DocumentSettings()
_WORD = re.compile(r"[^\W_]+")
_OUTCOMES = ("right", "wrong_column", "wrong_row", "without_heads", "elsewhere", "lost")
"""From best to worst."""
_BY_HEADS = dict(zip([(True, True), (False, True), (True, False), (False, False)], _OUTCOMES, strict=False))
"""Outcomes of a number in a table row, by whether its column and its row are right."""


@dataclass(frozen=True, slots=True)
class TextRow:
    """Hold one row of a table of our text: its words, and each piece as name and value."""

    words: Counter[str]
    pieces: tuple[str, ...]


def main() -> None:
    """Measure the files of a folder."""
    parser = parser_of(__doc__)
    parser.add_argument("--files", type=Path, required=True, help="folder of files and tables.json")
    parser.add_argument("--out", type=Path, help="file for the numbers that are not right")
    arguments = parser.parse_args()
    tables = json.loads((arguments.files / "tables.json").read_text(encoding="utf-8"))
    rows = [row for table in tables for row in judge_table(arguments.files, table)]
    if arguments.out:
        wrong = [row for row in rows if row["outcome"] != "right"]
        arguments.out.write_text(json.dumps(wrong, ensure_ascii=False, indent=1), encoding="utf-8")
    print_json({"bench": "table_numbers", **summarize(rows)})


def judge_table(folder: Path, table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each number of a table with its outcome; all are lost in a file that can't be read."""
    name = table["file"]
    format_name = format_of(name)
    try:
        parsed = PARSERS[format_name](SourceFile(name, (folder / name).read_bytes()), _SETTINGS)  # type: ignore[index]
    except DocumentFailure:
        parsed = ParsedFile(())
    rows = [read_row(block.text) for block in parsed.blocks if block.kind == "table_row"]
    text = plain("\n".join(block.text for block in parsed.blocks))
    for item in table["numbers"]:
        yield {**item, "file": name, "format": table["format"], "outcome": outcome_of(item, rows, text)}


def plain(text: str) -> str:
    """Return the text with one kind of blank, minus sign and apostrophe, without case and signs of doubt."""
    text = unicodedata.normalize("NFKC", SIGN.sub("", text))
    text = re.sub(r"[\u2010-\u2015\u2212]", "-", text).replace("’", "'")
    return re.sub(r"\s+", " ", text).strip().casefold()


def read_row(line: str) -> TextRow:
    """Return a line `Name: value | Name: value` in its pieces."""
    line = plain(line)
    return TextRow(Counter(_WORD.findall(line)), tuple(line.split(" | ")))


def outcome_of(item: dict[str, str], rows: Sequence[TextRow], text: str) -> str:
    """Return the best outcome over all table rows that have the number."""
    value, row_name, column = (plain(item[key]) for key in ("number", "row", "column"))
    column_words, row_words = Counter(_WORD.findall(column)), Counter(_WORD.findall(row_name))
    outcomes = {
        _BY_HEADS[column_words <= Counter(_WORD.findall(piece.removesuffix(value))), row_words <= row.words]
        for row in rows
        for piece in row.pieces
        if piece == value or piece.endswith(f": {value}")
    }
    if outcomes:
        return min(outcomes, key=_OUTCOMES.index)
    return "elsewhere" if re.search(rf"(?<![\w.,]){re.escape(value)}(?!\w|[.,]\d)", text) else "lost"


def summarize(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return outcomes and the share that is right, by format and in all."""
    formats = sorted({row["format"] for row in rows})
    parts = {name: [row for row in rows if row["format"] == name] for name in formats} | {"all": list(rows)}
    return {
        name: {
            "files": len({row["file"] for row in part}),
            "numbers": len(part),
            **{outcome: sum(row["outcome"] == outcome for row in part) for outcome in _OUTCOMES},
            "share_right": share_by_group((row["file"], row["outcome"] == "right", 1) for row in part),
        }
        for name, part in parts.items()
    }


if __name__ == "__main__":
    main()
