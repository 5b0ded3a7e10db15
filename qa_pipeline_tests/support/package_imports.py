"""Which modules of the package import which others."""

import ast
from collections.abc import Mapping
from pathlib import Path

PACKAGE = "qa_pipeline"


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


def _reached(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in imports[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen
