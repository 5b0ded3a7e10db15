"""How the tokens estimated from a text compare with what tokenizers count.

    python -m qa_pipeline_tests.benchmarks.quality.measure_tokens FOLDER ... --tokenizer NAME ...

A folder's name says its language as in `x-en-md`. A tokenizer is a tokenizer.json, or the name of a tiktoken
encoding (tiktoken is no requirement of this project; its vocabularies must lie in TIKTOKEN_CACHE_DIR). Prints
one JSON line: estimated by counted tokens of pieces of 3,000 characters, mean, 1st and 99th percentile.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from qa_pipeline.llm.budget.tokens import estimate_tokens
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

PIECE = 3000


def counter(name: str) -> Callable[[str], int]:
    """What counts tokens under this name."""
    if name.endswith(".json"):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(name)
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    import tiktoken  # type: ignore[import-not-found,unused-ignore]

    encoding: Any = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode_ordinary(text))


def pieces(folder: Path) -> Iterator[tuple[str, str]]:
    """Language and text of each piece of the text files of a folder."""
    named = re.search(r"-(\w\w)-", folder.name)
    language = named[1] if named else "en"
    for file in sorted(folder.iterdir()):
        if file.suffix in {".md", ".html", ".rst", ".txt"}:
            text = file.read_text(encoding="utf-8", errors="replace")
            yield from ((language, text[at : at + PIECE]) for at in range(0, max(1, len(text) - 500), PIECE))


def compared(folder: Path, count: Callable[[str], int]) -> list[float]:
    """Estimated by counted tokens, piece by piece."""
    return [
        estimate_tokens(text, language) / counted
        for language, text in pieces(folder)
        if (counted := count(text))
    ]


def main() -> None:
    """Compare."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--tokenizer", nargs="+", required=True)
    asked = parser.parse_args()
    found = {}
    for name in asked.tokenizer:
        count = counter(name)
        ratios = {folder.name: compared(folder, count) for folder in asked.folders}
        together = [ratio for each in ratios.values() for ratio in each]
        shown = {"all": together, **ratios}
        found[Path(name).name] = {
            of: [round(float(value), 3) for value in (np.mean(each), *np.percentile(each, (1, 99)))]
            for of, each in shown.items()
            if each
        }
    print_json(found)


if __name__ == "__main__":
    main()
