"""ZIP archives built on the spot, good ones and bad."""

import io
import zipfile
from collections.abc import Mapping

Files = Mapping[str, str | bytes] | Mapping[str, bytes]


def zip_bytes(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


def flagged(content: bytes, bits: int) -> bytes:
    """The archive with bits set in the flags of its first member, as encryption sets them."""
    changed = bytearray(content)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[changed.index(mark) + offset] |= bits
    return bytes(changed)


def renamed(content: bytes, name: bytes) -> bytes:
    """The archive with the bytes of the first member's name replaced by others of the same number."""
    size = int.from_bytes(content[26:28], "little")
    return content.replace(content[30 : 30 + size], name[:size].ljust(size, b"_"))
