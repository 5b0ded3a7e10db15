"""The format of a file by its bytes, for files whose name says otherwise."""

_LOOKED_AT = 1024
_ZIP = b"PK\x03\x04"
_PARTS = {
    b"word/document.xml": ".docx",
    b"xl/workbook.xml": ".xlsx",
    b"ppt/presentation.xml": ".pptx",
    b"META-INF/container.xml": ".epub",
    b"opendocument.text": ".odt",
    b"opendocument.spreadsheet": ".ods",
}
"""Names of members of an archive that tell its format."""


def suffix_of(content: bytes) -> str | None:
    """Return the suffix that a file should have; None where its bytes do not tell."""
    start = content[:_LOOKED_AT]
    if b"%PDF-" in start:
        return ".pdf"
    if start.startswith(_ZIP):
        return next((suffix for part, suffix in _PARTS.items() if part in content), None)
    is_page = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html"))
    return ".html" if is_page else None
