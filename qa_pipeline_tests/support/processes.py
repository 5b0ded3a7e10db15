"""Child processes, as Linux lists them."""

from contextlib import suppress
from pathlib import Path


def children_of(pid: int) -> list[int]:
    """Return the direct child processes of a process."""
    children: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended since it was listed
            children += map(int, thread.read_text().split())
    return children
