"""How every benchmark starts and reports: its docstring as help, its figures as one line of JSON."""

import argparse
import json
from typing import Any


def parser_of(documentation: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the module's documentation, its lines kept."""
    return argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def print_json(figures: Any) -> None:
    """Print figures as one line."""
    print(json.dumps(figures, ensure_ascii=False), flush=True)
