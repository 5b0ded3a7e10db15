"""The list of benchmarks and what each measures: `make bench`."""

import ast
from collections.abc import Iterator
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]
PACKAGE = "qa_pipeline_tests.benchmarks"


def benchmarks() -> Iterator[tuple[str, str]]:
    """Module name below the package and first line of the docstring of every benchmark that can be run."""
    for file in sorted(BENCHMARKS.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if file != Path(__file__) and '__name__ == "__main__"' in text:
            name = ".".join(file.relative_to(BENCHMARKS).with_suffix("").parts)
            yield name, (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def main() -> None:
    """Print the list."""
    found = list(benchmarks())
    width = max(len(name) for name, _ in found)
    print(f"python -m {PACKAGE}.NAME --help\n")
    print("\n".join(f"{name:{width}}  {line}" for name, line in found))


if __name__ == "__main__":
    main()
