"""How a local batch looks from outside: what can be known of it without reading a file.

What belongs here: names, sizes and times. What does not: listing documents (`folders`).
"""

import os
from hashlib import sha256
from pathlib import Path

_GIT_STATE = (".git/HEAD", ".git/logs/HEAD", ".git/config", ".git/index", ".git/packed-refs")
"""Hidden files that decide what is known of the origin of documents."""


def look_of_folder(folder: Path) -> str:
    """Hash names, sizes and times of all visible entries: what can be known without reading them.

    Raises:
        OSError: files come and go.
    """
    looks = sha256()
    for location in _locations(str(folder)):
        looks.update(_state(location, str(folder)))
    for name in _GIT_STATE:
        if os.path.lexists(location := str(folder / name)):
            looks.update(_state(location, str(folder)))
    return looks.hexdigest()


def look_of_file(path: Path) -> str:
    """The same for a single file."""
    return sha256(_state(str(path), str(path.parent))).hexdigest()


def _state(location: str, base: str) -> bytes:
    parts: tuple[object, ...] = (location[len(base) :],)
    try:
        state = os.lstat(location)
    except PermissionError:  # its folder may be listed and not entered
        pass
    else:
        parts += (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    return repr(parts).encode(errors="surrogateescape")


def _locations(folder: str) -> list[str]:
    """Every visible entry below a folder; one that may not be entered stands for what it holds."""
    found: list[str] = []
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except PermissionError:
            continue
        found += [entry.path for entry in visible]
        pending += [entry.path for entry in visible if entry.is_dir(follow_symlinks=False)]
    return sorted(found)
