"""How every benchmark starts and reports: its docstring as help, its figures as one line of JSON."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qa_pipeline.errors import QAPipelineError


def parser_of(documentation: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the module's documentation, its lines kept."""
    return argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def print_json(figures: Any) -> None:
    """Print figures as one line."""
    print(json.dumps(figures, ensure_ascii=False), flush=True)


def add_data_options(parser: argparse.ArgumentParser, rows: str) -> None:
    """Add the options of a benchmark over labelled rows: files, limit, resamples and output folder."""
    parser.add_argument("data", type=Path, nargs="+", help=f"files or folders of {rows}")
    parser.add_argument("--limit", type=int, help="rows of each data set, drawn by group")
    parser.add_argument("--resamples", type=int, default=1000, help="of the intervals")
    parser.add_argument("--out", type=Path, default=Path("data"), help="where vectors and replies are kept")


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """End the process with the text of an error that a person can mend, in place of a traceback."""
    try:
        yield
    except QAPipelineError as error:
        raise SystemExit(str(error)) from error
