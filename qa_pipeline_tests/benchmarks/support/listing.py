"""The benchmarks and what each measures: `make bench`."""

import ast
from collections.abc import Iterator
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]


def listed() -> Iterator[tuple[str, str]]:
    """Module name and first line of the docstring of every benchmark that can be run."""
    for file in sorted(BENCHMARKS.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if "__main__" in source and file != Path(__file__):
            name = ".".join(file.relative_to(BENCHMARKS.parents[1]).with_suffix("").parts)
            yield name, (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


if __name__ == "__main__":
    for module, what in listed():
        print(f"python -m {module}\n    {what}")
