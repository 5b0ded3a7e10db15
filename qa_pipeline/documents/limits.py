"""The sizes beyond which a file is a failed row, whatever the settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Bound the size of a file that a reader takes; tests pass smaller bounds.

    Attributes:
        page_objects: drawn objects of a page of a PDF.
        rows: rows of a table or file.
        archive_members: members of a ZIP container, such as DOCX and EPUB.
        decompressed_bytes: bytes of a container after decompression.
    """

    page_objects: int = 200_000
    rows: int = 200_000
    archive_members: int = 10_000
    decompressed_bytes: int = 500_000_000


LIMITS = ReaderLimits()
"""The limits of all runs."""
