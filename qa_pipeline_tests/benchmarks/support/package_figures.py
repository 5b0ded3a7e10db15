"""Size and shape of the package, of this tree or of another: `python -m … [ROOT]`.

Lines, files, modules at the root, imports between the top folders, import circles, settings, columns and
dependencies, as a table or, with `--json`, as one object. Several roots are put side by side, so that a tree
can be compared with an earlier checkout of it.
"""

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

PACKAGE = "qa_pipeline"
SHORT = 60
"""Lines below which a module is called short."""
_COUNTS = """
import json
from qa_pipeline.storage import tables
from qa_pipeline.settings.tree import Settings
from pydantic import BaseModel

def leaves(model):
    total = 0
    for field in model.model_fields.values():
        kind = field.annotation
        nested = isinstance(kind, type) and issubclass(kind, BaseModel)
        total += leaves(kind) if nested else 1
    return total

stored = {table.name: len(table.columns) for table in tables.TABLES.values()}
print(json.dumps({"settings": leaves(Settings), "tables": len(stored), "columns": sum(stored.values()),
                  "columns of claims": stored["claims"]}))
"""


def modules_of(root: Path) -> dict[str, Path]:
    """Dotted name to file of every module of the package, `__init__.py` left out."""
    files = sorted((root / PACKAGE).rglob("*.py"))
    return {
        ".".join(file.relative_to(root).with_suffix("").parts): file
        for file in files
        if file.name != "__init__.py"
    }


def imports_of(modules: Mapping[str, Path]) -> dict[str, set[str]]:
    """For each module, the modules of the package that it imports, also inside functions."""
    found: dict[str, set[str]] = {}
    for name, file in modules.items():
        own = found.setdefault(name, set())
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    own |= {one for one in (full, node.module) if one in modules}
            elif isinstance(node, ast.Import):
                own |= {alias.name for alias in node.names if alias.name in modules}
    return found


def circles_of(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others."""
    reached = {name: _reached(name, imports) for name in imports}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in imports
        if name in reached[name]
    }
    return sorted(list(group) for group in groups)


def figures(root: Path) -> dict[str, float]:
    """Every figure of one tree."""
    modules = modules_of(root)
    lines = [len(file.read_text(encoding="utf-8").splitlines()) for file in modules.values()]
    imports = imports_of(modules)
    tops = {
        (name.split(".")[1], other.split(".")[1])
        for name, others in imports.items()
        for other in others
        if name.split(".")[1] != other.split(".")[1]
    }
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    counted = subprocess.run(
        [sys.executable, "-c", _COUNTS], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    return {
        "lines": sum(lines),
        "files": len(lines),
        "median lines of a file": statistics.median(lines),
        f"files under {SHORT} lines": sum(count < SHORT for count in lines),
        "modules at the root": len(list((root / PACKAGE).glob("[a-z]*.py"))),
        "imports between top folders": len(tops),
        "import circles": len(circles_of(imports)),
        **json.loads(counted.stdout.splitlines()[-1]),
        "dependencies": len(project["dependencies"]),
    }


def _reached(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in imports[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def main() -> None:
    """Print the figures of the named trees side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roots", nargs="*", type=Path, default=[Path.cwd()])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = [figures(root.resolve()) for root in given.roots]
    if given.json:
        print(json.dumps(found))
        return
    for name in found[0]:
        print(f"{name:<30}" + "".join(f"{one[name]:>10g}" for one in found))


if __name__ == "__main__":
    main()
