"""Describe reason codes in words, for people who look at verdicts or unreadable files."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def _words() -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name("reasons.toml").read_text("utf-8"))


def in_words(reason: str, detail: str | None = None) -> str:
    """Describe a reason code in words, followed by its stored detail."""
    words = _words().get(reason, reason.replace("_", " "))
    rest = (detail or "").replace(f"{reason}: ", "").strip()
    return f"{words}: {rest}" if rest else words
