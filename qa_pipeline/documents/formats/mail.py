"""Read e-mail: its head, and the text of the message.

Earlier mail in a reply is marked by `>` and is in doubt. Attachments are counted and never opened.
"""

import base64
import binascii
import email
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.row_files import InnerFormat, lower_headings, read_inner
from qa_pipeline.documents.formats.text import decode
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.doubt import SIGNS
from qa_pipeline.text.language import declared_language

_SHOWN_HEADERS = ("From", "To", "Cc", "Date")
_MAIL_HEADERS = frozenset(["from", "to", "subject", "date", "received", "message-id", "mime-version"])
_TEXT_TYPES = ("text/plain", "text/html", "text/markdown", "multipart")  # a multipart without parts is text
_LONGEST_HEADER = 10_000  # characters: the time to decode one grows with the square of its length
_LEAST_SHARE = 0.5  # of the longest version: a plain text with less is cut, or only says `see the HTML`
_BASE64 = re.compile(r"\s*(?:[A-Za-z0-9+/]+={0,2}[ \t]*(?:\r?\n|\Z))+")  # lines such as `SGVsbG8=`
_QUOTED_LINES = re.compile(r"(?:^>.*\n?)+", re.MULTILINE)
_EARLIER = re.compile(
    r"-{2,}\s*(?:Original Message|Urspr(?:ü|u)n(?:gliche Nachricht|gligt meddelande))"
    r"|\W*(?:From|Von|Från):.{1,300}?\b(?:Sent|Date|Gesendet|Datum|Skickat):",
    re.DOTALL,
)  # how mail programs begin the mail that is answered below
_FORWARD = re.compile(r"\s*(?:fwd?|wg|vb)\s*:", re.IGNORECASE)  # earlier mail is what it passes on


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a message."""
    reader = _Reader(settings)
    try:
        message = email.message_from_bytes(source.content)
        if _MAIL_HEADERS.isdisjoint(name.lower() for name in message.keys()):  # noqa: SIM118 - no mapping
            raise DocumentFailure("damaged", "the file lacks the headers of an e-mail")
        blocks = tuple(reader.read_message(message, level=1))
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "the parts of the message are nested too deep") from error
    return ParsedFile(
        blocks=blocks,
        title=_header(message, "subject") or None,
        language=declared_language(_header(message, "content-language")),
        left_out=reader.omissions.record(),
    )


@dataclass(slots=True)
class _Reader:
    settings: DocumentSettings
    omissions: Omissions = field(default_factory=Omissions)

    def read_message(self, message: Message, level: int) -> Iterator[Block]:
        """Yield the blocks of a message; `level` is that of its subject, deeper in an attached message."""
        if subject := _header(message, "subject"):
            yield Block("heading", subject, min(level, 6))
        lines = [f"{name}: {value}" for name in _SHOWN_HEADERS if (value := _header(message, name))]
        if lines:
            yield Block("paragraph", "\n".join(lines))
        for name, value in message.raw_items():
            if name.title() not in (*_SHOWN_HEADERS, "Subject"):
                self.omissions.add("header", f"{name}{value}")
        blocks = list(self.read_part(message, level))
        yield from blocks if _FORWARD.match(subject) else _mark_earlier(blocks)

    def read_part(self, part: Message, level: int) -> Iterator[Block]:
        """Yield the blocks of a part of a message and of the parts in it."""
        kind = part.get_content_type()
        children = list(part.get_payload()) if part.is_multipart() else []
        is_attached = part.get_content_disposition() == "attachment"
        if kind == "message/rfc822" and children:
            yield from self.read_message(children[0], level + 1)
        elif kind == "multipart/alternative" and children:
            yield from self._read_versions(children, level)
        elif children:
            for child in children:
                yield from self.read_part(child, level)
        elif kind.startswith(_TEXT_TYPES) and not is_attached:
            yield from self._read_text(part, level)
        else:
            content, _ = _payload_of(part)
            if content.strip():
                self.omissions.add("attachment")

    def _read_versions(self, versions: Sequence[Message], level: int) -> Iterator[Block]:
        """Yield the blocks of the first version, the plainest, or of the next if that is cut."""
        readers = [_Reader(self.settings) for _ in versions]
        pairs = zip(readers, versions, strict=True)
        readings = [list(reader.read_part(version, level)) for reader, version in pairs]
        lengths = [sum(len(block.text) for block in blocks) for blocks in readings]
        least_length = _LEAST_SHARE * max(lengths)
        chosen = next(number for number, length in enumerate(lengths) if length >= least_length)
        yield from readings[chosen]
        self.omissions.update(readers[chosen].omissions.record())
        for number, reader in enumerate(readers):
            if number != chosen:  # all its text is left out, so of its own omissions only attachments count
                pieces = 1 if readings[number] else 0
                self.omissions.count("alternative", pieces, characters=lengths[number])
                self.omissions.count("attachment", reader.omissions.pieces["attachment"], characters=0)

    def _read_text(self, part: Message, level: int) -> list[Block]:
        """Return the blocks of a plain or HTML part, its headings below `level`."""
        content, footer = _payload_of(part)
        is_html = part.get_content_type() == "text/html"
        try:
            text = decode(content, declared=is_html, charset=part.get_content_charset())
        except DocumentFailure:
            self.omissions.add("undecodable_part")
            return []
        if footer.strip():
            self.omissions.add("beside_parts", footer)
        blocks = self._read_inner(text, "html") if is_html else self._read_plain(text)
        return lower_headings(tuple(blocks), by=level)

    def _read_plain(self, text: str) -> Iterator[Block]:
        """Yield the blocks of a plain text, with the lines behind `>` as quotes."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = text.replace("\n-- \n", "\n\n")  # the mark of a signature
        position = 0
        for quote in _QUOTED_LINES.finditer(text):
            yield from self._read_inner(text[position : quote.start()], "text")
            yield Block("quote", re.sub("^(?:> ?)+", "", quote[0], flags=re.MULTILINE))
            position = quote.end()
        yield from self._read_inner(text[position:], "text")

    def _read_inner(self, text: str, format_name: InnerFormat) -> Iterable[Block]:
        parsed = read_inner(text, format_name, self.settings)
        self.omissions.update(parsed.left_out)
        return parsed.blocks


def _mark_earlier(blocks: Sequence[Block]) -> Iterator[Block]:
    """Mark quotes and earlier mail, which a line such as `-----Original Message-----` begins."""
    is_earlier = False
    for block in blocks:
        is_earlier = is_earlier or _EARLIER.match(block.text) is not None
        if is_earlier or block.kind == "quote":
            text = "\n".join(f"> {line}" for line in block.text.splitlines() if line.strip())
            yield replace(block, kind="quote", text=f"{text}{SIGNS['quoted']}")
        else:
            yield block


def _payload_of(part: Message) -> tuple[bytes, str]:
    """Return the bytes of a part, and the footer that a mailing list appended to a Base64 body."""
    if str(part.get("content-transfer-encoding", "")).strip().lower() == "base64":
        text = str(part.get_payload())
        body = _BASE64.match(text)
        if body is None:  # declared as Base64, but plain text
            return text.encode("utf-8", "surrogateescape"), ""
        with suppress(binascii.Error):  # `==` replaces lost padding
            return base64.b64decode(f"{body[0]}=="), text[body.end() :]
    # other encodings, and Base64 of 4n + 1 signs, at which `b64decode` raises
    payload = part.get_payload(decode=True)
    return (payload if isinstance(payload, bytes) else b""), ""


def _header(message: Message, name: str) -> str:
    values = (value[:_LONGEST_HEADER] for key, value in message.raw_items() if key.lower() == name.lower())
    return " ".join(", ".join(map(_decode_words, values)).split())


def _decode_words(value: str) -> str:
    """Decode a header such as `=?utf-8?q?F=C3=B6rslag?=`."""
    try:
        words = decode_header(decode(value.encode("utf-8", "surrogateescape")))
        texts = (word if isinstance(word, str) else decode(word, charset=charset) for word, charset in words)
        return "".join(texts)
    except (DocumentFailure, HeaderParseError):
        return value.encode(errors="replace").decode()
