"""E-mail files: who wrote to whom about what, and the text of the message.

`EmailMessage.get_body` takes one part of a message and so loses digests, forwarded messages and what a
mailing list adds, and its policy raises on malformed headers; therefore all parts are walked here under the
older policy. Of plain and HTML versions of a text the plain one is taken, unless it is cut or only names the
other. Attachments are counted and never opened.
"""

import base64
import email
import email.header
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.message import Message
from itertools import chain, groupby
from operator import itemgetter

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.row_files import lower_headings, read_inner
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import declared_language

_HEADERS = ("From", "To", "Cc", "Date")
_OF_A_MAIL = frozenset({
    "from", "to", "subject", "date", "received", "message-id", "mime-version", "return-path",
    "delivered-to",
})  # fmt: skip
_DEEPEST = 20  # parts in parts: a message that was forwarded ten times has as many
_MOST_PARTS = 1000  # more than a digest of a mailing list has
_MOST_HEADER_LINES, _MOST_BOUNDARIES = 10_000, 100_000
"""The library takes seconds for as many, and all of them before it tells how many there are."""
_LEAST_SHARE = 0.5
"""A version with less than this share of the longest one's text is cut, or only names another."""
_LONGEST_ENCODED = 20_000
"""Looking for encoded words in a header takes the square of its length."""
_BASE64 = re.compile(r"\s*(?:[A-Za-z0-9+/]+={0,2}[ \t]*(?:\r?\n|\Z))+")
"""The lines of a body up to a blank one, or one that holds other signs."""
_FOLD = re.compile(r"[^\S\r\n]{0,200}[\r\n]\s*")
_QUOTED = re.compile(r"^(?:> ?)+")
_SIGNATURES = ("-- ", "--")
_NOTES = {
    "attachment": "attachments were not opened",
    "undecodable_part": "parts are in no known encoding and were left out",
    "deep_message": "parts are nested too deep and were left out",
}


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one message.

    Raises:
        DocumentFailure: it is no e-mail, or parts are nested deeper than any mail program does.
    """
    head = re.match(rb"(?:[^\r\n]+\r?\n)*", source.content)
    if head and head[0].count(b"\n") > _MOST_HEADER_LINES:
        raise DocumentFailure("damaged", "the message has too many headers")
    if source.content.count(b"\n--") > _MOST_BOUNDARIES:
        raise DocumentFailure("damaged", "the message has too many parts")
    reader = _Reader(source.path, settings)
    try:
        message = email.message_from_bytes(source.content)
        if _OF_A_MAIL.isdisjoint(name.lower() for name in message.keys()):  # noqa: SIM118 - no mapping
            raise DocumentFailure("damaged", "the file has none of the headers of an e-mail")
        blocks = tuple(reader.message(message, level=1, depth=0))
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "the parts of the message are nested too deep") from error
    pieces = reader.omissions.pieces
    return ParsedFile(
        blocks=blocks,
        title=_read_header(message, "subject"),
        language=declared_language(_read_header(message, "content-language")),
        left_out=reader.omissions.record(),
        notes=tuple(f"{pieces[what]} {text}" for what, text in _NOTES.items() if pieces[what]),
    )


@dataclass(slots=True)
class _Reader:
    path: str
    settings: DocumentSettings
    parts: int = 0
    omissions: Omissions = field(default_factory=Omissions)

    def message(self, message: Message, level: int, depth: int) -> Iterator[Block]:
        """Yield the blocks of a message; a forwarded one has its heading below the other's."""
        if subject := _read_header(message, "subject"):
            yield Block("heading", subject, min(level, 6))
        headers = ((name, _read_header(message, name.lower())) for name in _HEADERS)
        lines = [f"{name}: {value}" for name, value in headers if value]
        if lines:
            yield Block("paragraph", "\n".join(lines))
        for name, value in message.raw_items():
            if name.title() not in (*_HEADERS, "Subject"):
                self.omissions.add("header", f"{name}{value}")
        yield from self._part(message, level, depth)

    def _part(self, part: Message, level: int, depth: int) -> Iterator[Block]:
        self.parts += 1
        kind, inner = part.get_content_type(), _inner_parts(part)
        if depth > _DEEPEST or self.parts > _MOST_PARTS:
            leaves = (leaf for leaf in part.walk() if not leaf.is_multipart())
            self.omissions.add("deep_message", "".join(str(leaf.get_payload()) for leaf in leaves))
        elif kind == "message/rfc822" and inner:
            yield from self.message(inner[0], level + 1, depth + 1)
        elif part.is_multipart():
            for text in (part.preamble, part.epilogue):  # which mail programs do not show
                if text and text.strip():
                    self.omissions.add("beside_parts", text)
            versions = (self._part(version, level, depth + 1) for version in inner)
            if kind == "multipart/alternative":
                yield from self._best_of(inner, [list(blocks) for blocks in versions])
            else:
                yield from chain.from_iterable(versions)
        elif _is_text(part):
            yield from self._text(part, level)
        elif _payload_of(part)[0].strip():
            self.omissions.add("attachment")

    def _best_of(self, parts: list[Message], versions: list[list[Block]]) -> Iterator[Block]:
        """Yield the plain one of versions of the same text, unless it is cut; then the richest."""
        lengths = [sum(len(block.text) for block in blocks) for blocks in versions]
        least = max(1, _LEAST_SHARE * max(lengths, default=0))
        good = [place for place, length in enumerate(lengths) if length >= least]
        plain = [place for place in good if parts[place].get_content_type() == "text/plain"]
        chosen = next(iter(plain or good[-1:]), None)
        for place, blocks in enumerate(versions):
            if place == chosen:
                yield from blocks
            elif blocks:
                self.omissions.add("alternative", "".join(block.text for block in blocks))

    def _text(self, part: Message, level: int) -> list[Block]:
        content, rest = _payload_of(part)
        is_html, charset = part.get_content_type() == "text/html", part.get_content_charset()
        try:
            text = decode(content, declared=is_html, charset=charset)
        except DocumentFailure:
            self.omissions.add("undecodable_part")
            return []
        if rest:
            self.omissions.add("beside_parts", rest)
        if not is_html:
            flowed, delsp = (str(part.get_param(name, "")).lower() for name in ("format", "delsp"))
            space = None if flowed != "flowed" else "" if delsp == "yes" else " "
            return lower_headings(tuple(self._plain(text, space)), by=level)
        parsed = read_inner(text, "html", self.path, self.settings)
        self.omissions.update(parsed.left_out)
        return lower_headings(parsed.blocks, by=level)

    def _plain(self, text: str, space: str | None) -> Iterator[Block]:
        """Yield the blocks of a plain body; with a `space`, which may be "", lines that end in one go on."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        kinds = _kinds_of(
            lines if space is None else _join_flowed(lines, space, self.omissions), self.omissions
        )
        for kind, part in groupby(kinds, key=itemgetter(0)):
            run = [line for _, line in part]
            if kind == "quote":
                by_blank = groupby(run, key=lambda line: not line.strip())
                yield from (Block("quote", "\n".join(lines)) for is_blank, lines in by_blank if not is_blank)
            elif kind == "signature":
                yield Block("paragraph", "\n".join(run))
            else:
                parsed = read_inner("\n".join(run), "text", self.path, self.settings)
                self.omissions.update(parsed.left_out)
                yield from parsed.blocks


def _kinds_of(lines: list[str], omissions: Omissions) -> Iterator[tuple[str, str]]:
    """Yield each line with its kind; a signature goes on to the end or to a quote below it."""
    kind = "text"
    for line in lines:
        if mark := _QUOTED.match(line):
            kind = "text"
            omissions.add("quote_mark", mark[0])
            yield "quote", line[mark.end() :]
        elif line in _SIGNATURES:
            kind = "signature"
            omissions.add("signature_mark", line)
        elif kind == "text" or line.strip():
            yield kind, line


def _join_flowed(lines: list[str], space: str, omissions: Omissions) -> list[str]:
    """Return the lines with those joined that were broken to fit a width, at their depth of quoting.

    The space at which one was broken is of the text or only marks the break, as `delsp` says (RFC 3676).
    """
    joined: list[str] = []
    open_depth = None
    for line in lines:
        mark = _QUOTED.match(line)
        depth = mark[0].count(">") if mark else 0
        content = line[mark.end() :] if mark else line.removeprefix(" ")
        if open_depth == depth and joined:
            omissions.count("quote_mark", min(depth, 1), depth)
            joined[-1] = joined[-1][:-1] + space + content
        else:
            joined.append(f"{'>' * depth} {content}" if depth else content)
        open_depth = depth if content.endswith(" ") and content not in _SIGNATURES else None
    return joined


def _inner_parts(part: Message) -> list[Message]:
    payload = part.get_payload() if part.is_multipart() else []
    return [inner for inner in payload if isinstance(inner, Message)]


def _is_text(part: Message) -> bool:
    """Return whether a part is text to be read: no attached file, no calendar entry or other data.

    A part that mail programs show inline is text of the message, whether or not it has a file name.
    """
    if part.get_content_disposition() == "attachment":
        return False
    kind = part.get_content_type()  # a multipart that names no boundary of its parts is text as it is
    return kind in ("text/plain", "text/html", "text/markdown") or kind.startswith("multipart/")


def _payload_of(part: Message) -> tuple[bytes, str]:
    """Return the bytes of a part, and the text behind a Base64 body, such as the footer of a mailing list."""
    encoding = str(part.get("content-transfer-encoding", "")).strip().lower()
    if encoding == "base64" and isinstance(part.get_param("charset", ""), str):
        text = str(part.get_payload())
        body = _BASE64.match(text)
        encoded = "".join(body[0].split()) if body else ""
        if body and text[body.end() :].strip() and len(encoded) % 4 == 0:
            return base64.b64decode(encoded), text[body.end() :]
        if not body:  # whatever it says, it is text
            return text.encode("utf-8", "surrogateescape"), ""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b"", ""


def _read_header(message: Message, name: str) -> str | None:
    """Return a header as a reader sees it: words decoded, folded lines joined, repeats in one line."""
    raw = ", ".join(str(value) for key, value in message.raw_items() if key.lower() == name)
    content = raw.encode("utf-8", "surrogateescape")  # bytes beyond ASCII are handed out as lone surrogates
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    text = _FOLD.sub(" ", text)
    if len(text) > _LONGEST_ENCODED:
        return text.strip()
    try:
        parts = email.header.decode_header(text)
    except HeaderParseError:  # broken Base64: better as it is than not at all
        return text.strip() or None
    return "".join(_decode_word(word, charset) for word, charset in parts).strip() or None


def _decode_word(word: bytes | str, charset: str | None) -> str:
    if isinstance(word, str):
        return word
    if charset is None:
        return word.decode("raw-unicode-escape")  # as `decode_header` made it of what was no encoded word
    try:
        return decode(word, charset=charset)
    except DocumentFailure:
        return word.decode("utf-8", "replace")
