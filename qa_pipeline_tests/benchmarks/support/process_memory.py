"""Memory of other processes, as proc(5) tells it."""

from pathlib import Path


def peak_of(process: int | str) -> int:
    """The most memory a running process has had, in bytes; 0 once it is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "VmHWM: 0")
    return int(line.split()[1]) * 1024
