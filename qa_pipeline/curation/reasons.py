"""Reason codes in words, for people who read a verdict or a file that was not read."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def _words() -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name("reasons.toml").read_text("utf-8"))


def in_words(reason: str, detail: str | None = None) -> str:
    """Return what a reason code means, with the detail that was stored beside it."""
    words = _words().get(reason, reason.replace("_", " "))
    rest = (detail or "").replace(f"{reason}: ", "").strip()
    return f"{words}: {rest}" if rest else words
