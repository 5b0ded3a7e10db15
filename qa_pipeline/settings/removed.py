"""Advice about settings, commands, options and files of an earlier version."""

import functools
import tomllib
from pathlib import Path

SINCE = "0.2"


@functools.cache
def _replacements() -> dict[str, str]:
    content: dict[str, str] = tomllib.loads(
        Path(__file__).with_name("removed.toml").read_text(encoding="utf-8")
    )
    return content


def removal_of(name: str) -> str | None:
    """Return advice about a removed setting, command or option; None for any other name.

    A removed group covers its settings, so that `a.b` covers `a.b.c`.
    """
    parts = name.split(".")
    groups = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    removed = next((group for group in groups if group in _replacements()), None)
    return None if removed is None else f"{name} was removed in version {SINCE}: {_replacements()[removed]}"


def leftovers(out: Path) -> list[str]:
    """Return advice about each file or folder below `out` that only an earlier version used."""
    return [
        f"{out / name.removeprefix('out/')} is not used since version {SINCE}: {action}"
        for name, action in _replacements().items()
        if name.startswith("out/") and (out / name.removeprefix("out/")).exists()
    ]
