"""Read plain text: its encoding, its layout, and the front matter of text files."""

import codecs
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import yaml

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.rows import counted_lines, read_aligned, read_bars, read_ruled
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.base import read_yaml
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import declared_language
from qa_pipeline.text.lexicon.languages import SMALL, of_all
from qa_pipeline.text.words import clean

_ITEM = re.compile(
    rf"^(?P<indent>\s*)(?:[-*+•‣–]|(?P<number>\(?(?:\d{{1,3}}|[{SMALL}])[.)]))\s+(?P<text>\S.*)$"
)  # `- text`, `3. text` or `(a) text`
_UNDERLINE = re.compile(r"^\s*([=\-~^*#])\1{2,}\s*$")  # `====`
_NUMBERED = re.compile(rf"^(?P<number>\d{{1,2}}(?:\.\d{{1,2}}){{0,4}})\.?\s+[^\W\d_{SMALL}]")  # `2.1 Scope`
_SENTENCE_END = (".", ",", ";", ":", "!", "?")
_LONGEST_HEADING = 80  # characters: one line of a terminal
_WRAPPED_AT = 50  # characters: shorter lines were ended on purpose, as text is wrapped at 60 to 80


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a plain text file."""
    text = clean(decode(source.content)).expandtabs(4)
    omissions = Omissions()
    blocks: list[Block] = []
    for group in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")):  # at blank lines
        lines = [line.rstrip() for line in group.split("\n")]
        table = read_bars(lines) or read_ruled(lines) or read_aligned(lines)
        if table is None:
            blocks += _read_group(lines, omissions)
        else:
            blocks += [Block("table_row", line) for line in counted_lines(table, omissions)]
    return ParsedFile(blocks=tuple(blocks), left_out=omissions.record())


def heading_level(line: str) -> int | None:
    """Return the level of a line that is alone and looks like a heading: numbered, or all in capitals."""
    text = line.strip()
    if not text or len(text) > _LONGEST_HEADING or text.endswith(_SENTENCE_END):
        return None
    if numbered := _NUMBERED.match(text):
        return min(2 + numbered["number"].count("."), 6)
    letters = [character for character in text if character.isalpha()]
    is_upper = text == text.upper() != text.lower()  # in scripts without capitals both are equal
    return 2 if len(letters) > 3 and is_upper else None  # fewer capitals may be an abbreviation


def _read_group(lines: list[str], omissions: Omissions) -> list[Block]:
    """Return the underlined headings at the start of some lines, and the blocks of the others."""
    filled = [line for line in lines if line.strip()]
    headings: list[Block] = []
    while len(filled) > 1:
        title, *below = filled
        underline = _UNDERLINE.match(below[0])
        if underline is None or _UNDERLINE.match(title):
            break
        headings.append(Block("heading", title, 1 if underline[1] in "=#*" else 2))
        omissions.add("rule", below[0])
        filled = below[1:]
    return headings + _read_body(filled, omissions)


def _read_body(lines: list[str], omissions: Omissions) -> list[Block]:
    """Return lines as list items, a heading, code or a paragraph; rules are counted."""
    if all(_UNDERLINE.match(line) for line in lines):  # rules; below a heading, `lines` may be empty
        for line in lines:
            omissions.add("rule", line)
        return []
    level = heading_level(lines[0]) if len(lines) == 1 else None
    if level is not None:  # such as `2. Scope`, which looks like an item, too
        return [Block("heading", lines[0], level)]
    if _ITEM.match(lines[0]):
        return _read_items(lines, omissions)
    if all(line.startswith("    ") for line in lines):
        return [Block("code", "\n".join(line[4:] for line in lines))]
    is_wrapped = all(len(line.strip()) >= _WRAPPED_AT for line in lines[:-1])
    return [Block("paragraph", (" " if is_wrapped else "\n").join(map(str.strip, lines)))]


def _read_items(lines: list[str], omissions: Omissions) -> list[Block]:
    """Return list items with levels by indent; a line without a mark goes on with the item above."""
    groups: list[list[str]] = []  # the lines of each item
    for line in lines:
        if _ITEM.match(line):
            groups.append([line])
        else:
            groups[-1].append(line.strip())
    items = [item for group in groups if (item := _ITEM.match(" ".join(group)))]
    for item in items:
        if item["number"] is None:
            omissions.add("list_marker", item.string[: item.start("text")])
    indents = sorted({len(item["indent"]) for item in items})
    depths = {indent: depth for depth, indent in enumerate(indents)}
    return [
        Block("list_item", item["text"], depths[len(item["indent"])], marker=item["number"]) for item in items
    ]


_TITLE = ("title", *of_all("fields.title"))
_LANGUAGE = ("language", "lang", *of_all("fields.language"))
_LICENCE = ("licence", "license", *of_all("fields.licence"))
_SOURCE = ("source_uri", "source_url", "source", "canonical", "canonical_url", "url", "pdf_url")
_SUCCESSORS = ("superseded_by", "replaced_by", "obsoleted_by")
_FLAGS = ("draft", "deprecated", "obsolete", "repealed", "superseded", "withdrawn")
_TRUE = frozenset({"true", "yes", "1"})
_LONGEST_YAML = 50_000  # characters: reading YAML takes long
_NO_TEXT = frozenset({"", "~", "null", "true", "false"})
_FRONT = re.compile(r"(?ms)\A(?P<rule>---|\+\+\+)[ \t]*\n(?P<fields>.*?)^(?P=rule)[ \t]*$\n?")
_FIELD = re.compile(r"(?:\s|#[^\n]*\n)*(?:[\w\"'][^\n:=]*[:=]|!!|- |[\[{])")
"""The start of fields, such as `title: ...`, `title = ...` or `- ...`, below blank lines and comments."""
FrontMatter = dict[str, Any]
"""The fields that this package uses: title, language, source_uri, licence and status, or None."""


def split_front_matter(text: str) -> tuple[str, FrontMatter, str]:
    """Return a file's front matter as written, its fields, and the rest of the file.

    Of front matter between `---` the YAML is read, and TOML between `+++` is only set apart.
    """
    match = _FRONT.match(text)
    written = match["fields"] if match else ""
    is_prose = written.strip() != "" and not _FIELD.match(written)  # between two rules
    if match is None or is_prose:
        return "", {}, text
    loaded = None
    if match["rule"] == "---" and len(written) <= _LONGEST_YAML:
        with suppress(yaml.YAMLError, ValueError, RecursionError):
            loaded = read_yaml(written)
    values = loaded.items() if isinstance(loaded, dict) else ()
    fields = {str(name).strip().lower(): value for name, value in values}
    # `draft: true` gives the status `draft`, and `superseded_by: B` the status `superseded`
    flags = (name for name in _FLAGS if str(fields.get(name, "")).strip().lower() in _TRUE)
    successors = (name.partition("_")[0] for name in _SUCCESSORS if _first(fields, (name,)))
    used: FrontMatter = {
        "title": _first(fields, _TITLE),
        "language": declared_language(_first(fields, _LANGUAGE)),
        "source_uri": _first(fields, _SOURCE),
        "licence": _first(fields, _LICENCE),
        "status": _first(fields, ("status", "state")) or next(chain(flags, successors), None),
    }
    return written, used, text[match.end() :]


def _first(fields: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    """Return the first field with a text."""
    values = (fields.get(name) for name in names)
    texts = (value.strip() for value in values if isinstance(value, str))
    return next((text for text in texts if text.lower() not in _NO_TEXT), None)


_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_BINARY_STARTS = (
    b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x7fELF", b"\x1f\x8b",
    b"\xd0\xcf\x11\xe0", b"RIFF", b"{\\rtf",
)  # fmt: skip
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']\s*([\w.:-]{2,40})|"""
    rb"""<meta\b[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w.:-]{2,40})""",
    re.IGNORECASE,
)
_LOOKED_AT = 4096  # bytes in which a file declares its encoding
_GARBLED = re.compile(
    r"[^\W\d_][\x80-\x9f\xa1-\xac\xae-\xb3\xb5\xb6\xb8-\xbf„”†‡ˆ‰‹›•˜](?=[^\W\d_])|[a-z][ŒŠŽŸÀ-Þ]"
)  # a sign amid a word, or a capital behind a small letter, as in text of another code page
# Browsers read these labels as their Windows superset, and pages rely on it (WHATWG Encoding, 4.2).
_SUPERSETS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254"}


def decode(content: bytes, *, declared: bool = False, charset: str | None = None) -> str:
    """Decode a text by its byte order mark, its declaration, as UTF-8, or by a guess.

    `declared` trusts an XML declaration or HTML meta element, and `charset` is that of a mail header; each is
    passed over if it does not fit. Raises a DocumentFailure (`binary_content` or `undecodable`).
    """
    for mark, codec in _MARKS:
        if content.startswith(mark):
            text = _try_decoding(content.removeprefix(mark), codec)
            if text is not None:
                return text
            raise DocumentFailure("undecodable", f"the byte order mark indicates {codec}, which does not fit")
    if content.startswith(_BINARY_STARTS):
        raise DocumentFailure("binary_content", "the content is binary, despite the file name")
    if charset is None and 0 in content[:_LOOKED_AT]:
        raise DocumentFailure("binary_content", "the file contains NUL characters, so it is not text")
    declaration = _DECLARATION.search(content[:_LOOKED_AT]) if declared else None
    declared_name = (declaration[1] or declaration[2]).decode("ascii", "replace") if declaration else None
    utf8_text = _try_decoding(content, "utf-8")  # None for UTF-16, whose zeros would be NUL
    for name in filter(None, (charset, declared_name)):
        encoding = name
        with suppress(LookupError, ValueError):  # an unknown name, which no bytes fit
            encoding = codecs.lookup(name).name
        encoding = _SUPERSETS.get(encoding, encoding)
        text = _try_decoding(content, encoding)
        if text is None:
            continue
        # nearly any bytes fit Latin-1 (a byte per character) or UTF-16, but they rarely fit UTF-8 by chance
        fits_any_bytes = len(text) == len(content) or encoding.startswith(("utf-16", "utf-32"))
        return utf8_text if fits_any_bytes and utf8_text is not None else text
    return utf8_text if utf8_text is not None else _guess(content)


def _try_decoding(content: bytes, encoding: str) -> str | None:
    """Return a text, or None for an unknown encoding or wrong bytes: UTF-16 read as UTF-8 has NUL."""
    try:
        text = content.decode(encoding)
    except (UnicodeError, LookupError, ValueError):  # unknown, or not one of text, such as rot13
        return None
    return text if "\0" not in text else None


def _guess(content: bytes) -> str:
    """Read undeclared text that is not UTF-8 as Windows text, unless its words look garbled."""
    text = _try_decoding(content, "cp1252")
    letters = [character for character in text or "" if character.isalpha()]
    is_foreign = 2 * sum(not letter.isascii() for letter in letters) > len(letters)
    if text is None or is_foreign or _GARBLED.search(text):
        raise DocumentFailure("undecodable", "no known encoding fits; save the file as UTF-8")
    return text
