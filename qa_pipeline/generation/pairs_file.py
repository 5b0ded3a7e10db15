"""Read files of existing pairs. An unusable entry gets a reason, and reading continues."""

import hashlib
import json
from pathlib import Path
from typing import Any

from qa_pipeline.documents.corpus.files import PAIRS_FILES, DocumentFailure, read_bytes
from qa_pipeline.documents.corpus.places import BatchFiles
from qa_pipeline.errors import InputError
from qa_pipeline.generation.pair_entries import COLUMNS, RawPair, fault_of_names, read_entry
from qa_pipeline.storage.row_files import Limits, open_rows, too_long, unit_of

LIMITS = Limits()
SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
_LISTS = frozenset({"citations", "sources", "contexts", "messages"})


def read_pairs(path: Path, limits: Limits = LIMITS) -> list[RawPair]:
    """Read a pairs file, including entries that cannot be used.

    Raises:
        InputError: the file as a whole cannot be read, or is empty.
    """
    raw = _raw_pairs(path, None, limits)
    if not raw:
        raise InputError(f"{path} holds no pair; name a file with at least one")
    return raw


def read_pairs_beside(files: BatchFiles) -> list[RawPair]:
    """Read the files of existing pairs next to the documents of a batch.

    Raises:
        InputError: a file cannot be read. Links that lead out of the batch are not followed.
    """
    pairs = []
    for file in filter(None, map(files.find, PAIRS_FILES)):
        try:
            content = read_bytes(file, LIMITS.max_bytes, "the limit of files of pairs")
        except DocumentFailure as failure:
            message = f"{file.path} cannot be read ({failure.reason}): {failure.detail}"
            raise InputError(message) from failure
        pairs += parse_pairs(content, file.path)
    return pairs


def parse_pairs(content: bytes, name: str, limits: Limits = LIMITS) -> list[RawPair]:
    """Parse the bytes of a pairs file. `name` determines the format and appears in messages.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    return _raw_pairs(Path(name), content, limits)


def _raw_pairs(path: Path, content: bytes | None, limits: Limits) -> list[RawPair]:
    file = open_rows(path, limits, SUFFIXES, content=content, columns_known=COLUMNS)
    is_csv = unit_of(path.name) == "row" and not file.types
    if (is_csv or file.types) and file.columns and (fault := fault_of_names(file.columns)):
        place = f"{path} row 1" if is_csv else str(path)
        raise InputError(f"{place}: {fault.detail}; rename or add columns")
    name = path.name if content is None else str(path)
    pairs = []
    for row in file.rows():
        value, written = row.value, row.written
        if file.types and not written:
            written = repr(sorted(value.items())).encode("utf-8", "surrogatepass")
            if len(written) > limits.max_line_bytes:
                value = too_long(limits)
        elif is_csv and isinstance(value, dict):
            value = {column: _cell(column, cell) for column, cell in value.items()}
        pairs.append(read_entry(value, RawPair(name, row.place, hashlib.sha256(written).hexdigest())))
    return pairs


def _cell(column: str, cell: str | None) -> Any:
    """Return a cell's text, parsed if it is JSON in a column of lists."""
    if cell and column in _LISTS and cell.lstrip().startswith(('["', "[{", "{", "[]")):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell
