"""An environment as a plain install leaves it: what only extras bring cannot be imported."""

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_SITE = """
import sys
from importlib.machinery import PathFinder

BLOCKED = {blocked!r}


class Plain(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCKED else super().find_spec(name, path, target)


sys.meta_path[:] = [Plain if finder is PathFinder else finder for finder in sys.meta_path]
"""


def block_extras(folder: Path, repository: Path, besides: Iterable[str] = ()) -> None:
    """Write a `sitecustomize.py` that hides what neither the project's dependencies nor `besides` bring."""
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {
        canonicalize_name(found.name): [Requirement(text) for text in found.requires or ()]
        for found in distributions()
    }
    brought: set[str] = set()
    todo = [Requirement(text) for text in (*project["dependencies"], *besides)]
    seen = set()
    while todo:
        wanted = todo.pop()
        name, extras = canonicalize_name(wanted.name), ("", *wanted.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        brought.add(name)
        todo += [
            requirement
            for requirement in required.get(name, ())
            if requirement.marker is None
            or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)
        ]
    blocked = {
        module
        for module, owners in packages_distributions().items()
        if brought.isdisjoint(canonicalize_name(owner) for owner in owners) and module != "qa_pipeline"
    }
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SITE.format(blocked=sorted(blocked)), encoding="utf-8")


def named_installs(page: str) -> list[str]:
    """Return the distributions that a page tells its readers to install."""
    return re.findall(r"pip install ([a-z][a-z0-9-]*)", page)
