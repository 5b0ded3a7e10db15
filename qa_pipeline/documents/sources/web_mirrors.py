"""A mirror of a web site as a batch: the address each file was fetched from.

What belongs here: folders named like hosts, as wget and HTTrack make them, and the way back from a file's
name to its address. What does not: an address a page names itself, which is believed first (`reading`).
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from qa_pipeline.documents.files import FoundFile

_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+([a-z]{2,24})")
_NO_DOMAINS = {
    "bz2", "css", "csv", "d", "doc", "docx", "epub", "gz", "htm", "html", "js", "json", "md", "old", "orig",
    "pdf", "py", "rst", "sh", "tar", "tmp", "txt", "xml", "yaml", "yml", "zip",
}  # fmt: skip
"""Last parts of folder names that are rather suffixes; a site there needs `kind: website`."""
_PAGES = (b".html", b".htm", b".xhtml")
_INDEX = re.compile(rb"(?:^|/)index\.x?html?$")
_MADE_UP = re.compile(rb"\.(?:php|asp|aspx|jsp|cgi|pl)\.html?$|\?.*\.html?$|[^/]@[^/]*=", re.IGNORECASE)
"""Names that a mirroring program made of another one, so that the address is not known."""
_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_SAFE = "/%!$&'()*+,;=:@~?"


@dataclass(frozen=True)
class Mirror:
    """The hosts of a mirror; with `whole` the batch itself is the folder of that host."""

    hosts: frozenset[bytes]
    whole: str | None = None
    licence: None = None

    def source_uri_of(self, file: FoundFile) -> str | None:
        """The address of a file; None for one that lies in no host's folder or has a made-up name."""
        host, rest = self.whole, file.raw
        if host is None:
            first, _, rest = file.raw.partition(b"/")
            host = first.decode() if first in self.hosts else None
        if host is None or not rest or _MADE_UP.search(rest):
            return None
        path = _INDEX.sub(lambda found: b"/" if found[0].startswith(b"/") else b"", rest)
        return f"https://{host}/{quote(_ESCAPE.sub(b'%25', path), safe=_SAFE)}"


def read_mirror(name: str, found: Sequence[FoundFile], *, sure: bool = False) -> Mirror | None:
    """The mirror a batch is; None when nothing says that it is one.

    Args:
        name: of the batch.
        found: its files.
        sure: its owner says so, and a folder's name is enough. Otherwise the pages must be in the majority.
    """
    if _is_host(name, sure=sure) and (sure or _mostly_pages([file.raw for file in found])):
        return Mirror(frozenset(), name)
    below: dict[bytes, list[bytes]] = defaultdict(list)
    for file in found:
        first, slash, rest = file.raw.partition(b"/")
        if slash:
            below[first].append(rest)
    hosts = frozenset(
        first
        for first, names in below.items()
        if _is_host(first.decode("utf-8", "replace"), sure=sure) and (sure or _mostly_pages(names))
    )
    return Mirror(hosts) if hosts else None


def _is_host(name: str, *, sure: bool) -> bool:
    found = _HOST.fullmatch(name)
    return found is not None and (sure or found[1] not in _NO_DOMAINS)


def _mostly_pages(names: Sequence[bytes]) -> bool:
    pages = sum(name.partition(b"?")[0].lower().endswith(_PAGES) for name in names)
    return 2 * pages >= len(names) > 0
