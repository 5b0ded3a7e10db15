"""How far a stage is, told to whoever listens.

What belongs here: the callback every stage with long work takes. What does not: bars (`console.py`) and logs.
"""

from collections.abc import Callable

Notify = Callable[[int, int], None]
"""Called with (done, total) as work proceeds."""


def silent(done: int, total: int) -> None:
    """Ignore progress."""
