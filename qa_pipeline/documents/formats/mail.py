"""Read e-mail: its head, and the text of the message.

The plain version is preferred to HTML, unless it is cut. Earlier mail in a reply is marked by `>` and is in
doubt. Attachments are counted and never opened.
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
from itertools import zip_longest

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.row_files import lower_headings, read_inner
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.doubt import SIGNS
from qa_pipeline.text.language import declared_language

_HEAD_LINES = ("From", "To", "Cc", "Date")
_OF_A_MAIL = frozenset(
    ["from", "to", "subject", "date", "received", "message-id", "mime-version", "return-path", "delivered-to"]
)
_DEEPEST = 20  # parts in parts: a message that was forwarded ten times has as many
_LONGEST_HEADER = 10_000  # characters: the time to decode one grows with the square of its length
_LEAST_SHARE = 0.5  # of the text of the HTML version: a plain one with less is cut, or only names the other
_BASE64 = re.compile(r"\s*(?:[A-Za-z0-9+/]+={0,2}[ \t]*(?:\r?\n|\Z))+")
"""The lines of a body up to a blank line or other signs."""
_FLOWED = re.compile(r"(?<=\S) \n(?![> \n]|-- \n)(?m:(?<!^-- \n))")
_WROTE = (
    r"(?:(?:On|Am|Den)\b[^\n]{0,200}\n)?[^\n]{0,200}\b(?:wrote|schrieb|skrev)\b[^\n]{0,80}"
    r"(?:\n<[^\n]{1,80}>)?:[ \t]*"
)
_QUOTED = re.compile(rf"(?:^(?!>){_WROTE}\n\s*)?(?:^>.*\n?)+", re.MULTILINE)
_ATTRIBUTION = re.compile(rf"(?=[^\n]*\d){_WROTE}")
"""`On 2 May 2031 Bo wrote:`, a paragraph of its own."""
_EARLIER = re.compile(
    r"-{2,}\s*(?:Original Message|Urspr(?:ü|u)n(?:gliche Nachricht|gligt meddelande))"
    r"|\W*(?:From|Von|Från):.{1,300}?\b(?:Sent|Date|Gesendet|Datum|Skickat):",
    re.DOTALL,
)
"""How mail programs begin the mail that is answered below."""
_FORWARD = re.compile(r"\s*(?:fwd?|wg|vb)\s*:", re.IGNORECASE)
_NOTES = {
    "attachment": "attachments were not opened",
    "undecodable_part": "parts are in no known encoding and were left out",
    "deep_message": f"parts are nested more than {_DEEPEST} deep and were left out",
}


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a message."""
    reader = _Reader(settings)
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
        title=_header(message, "subject") or None,
        language=declared_language(_header(message, "content-language")),
        left_out=reader.omissions.record(),
        notes=tuple(f"{pieces[what]} {text}" for what, text in _NOTES.items() if pieces[what]),
    )


@dataclass(slots=True)
class _Reader:
    settings: DocumentSettings
    omissions: Omissions = field(default_factory=Omissions)

    def message(self, message: Message, level: int, depth: int) -> Iterator[Block]:
        """Yield the blocks of a message; the heading of a forwarded message is a level lower."""
        subject = _header(message, "subject")
        if subject:
            yield Block("heading", subject, min(level, 6))
        if lines := [f"{name}: {value}" for name in _HEAD_LINES if (value := _header(message, name))]:
            yield Block("paragraph", "\n".join(lines))
        for name, value in message.raw_items():
            if name.title() not in (*_HEAD_LINES, "Subject"):
                self.omissions.add("header", f"{name}{value}")
        blocks = [*self._part(message, level, depth)]
        yield from blocks if _FORWARD.match(subject) else _mark_earlier(blocks)

    def _part(self, part: Message, level: int, depth: int) -> Iterator[Block]:
        kind = part.get_content_type()
        inner = [*part.get_payload()] if part.is_multipart() else []
        if depth > _DEEPEST:
            leaves = (leaf for leaf in part.walk() if not leaf.is_multipart())
            self.omissions.add("deep_message", "".join(str(leaf.get_payload()) for leaf in leaves))
        elif kind == "message/rfc822" and inner:
            yield from self.message(inner[0], level + 1, depth + 1)
        elif kind == "multipart/alternative" and (chosen := self._best_of(part)) is not None:
            yield from self._text(chosen, level)
        elif inner:
            for text in (part.preamble, part.epilogue):  # which mail programs do not show
                if text and text.strip():
                    self.omissions.add("beside_parts", text)
            for child in inner:
                yield from self._part(child, level, depth + 1)
        elif _is_text(part):
            yield from self._text(part, level)
        elif _payload_of(part)[0].strip():
            self.omissions.add("attachment")

    def _best_of(self, part: Message) -> Message | None:
        """Return the plain version of a text, or the HTML version if the plain text is cut."""
        texts = {leaf.get_content_type(): leaf for leaf in reversed([*part.walk()]) if _is_text(leaf)}
        plain, rich = texts.get("text/plain"), texts.get("text/html")
        if plain is None or rich is None:
            return plain or rich
        uncounted = _Reader(self.settings)
        length, least = (
            sum(len(block.text) for block in uncounted._text(version, 1)) for version in (plain, rich)
        )
        takes_plain = length >= max(_LEAST_SHARE * least, 1)
        self.omissions.count("alternative", 1, least if takes_plain else length)
        return plain if takes_plain else rich

    def _text(self, part: Message, level: int) -> list[Block]:
        content, rest = _payload_of(part)
        is_html = part.get_content_type() == "text/html"
        try:
            text = decode(content, declared=is_html, charset=part.get_content_charset())
        except DocumentFailure:
            self.omissions.add("undecodable_part")
            return []
        self.omissions.count("beside_parts", int(bool(rest.strip())), len("".join(rest.split())))
        if is_html:
            return lower_headings(tuple(self._inner(text, "html")), by=level)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if str(part.get_param("format", "")).lower() == "flowed":
            text = _FLOWED.sub("" if str(part.get_param("delsp", "")).lower() == "yes" else " ", text)
        return lower_headings(tuple(self._plain(text)), by=level)

    def _plain(self, text: str) -> Iterator[Block]:
        text, position = text.replace("\n-- \n", "\n\n"), 0
        for quote in _QUOTED.finditer(text):
            yield from self._inner(text[position : quote.start()], "text")
            yield Block("quote", re.sub("^(?:> ?)+", "", quote[0], flags=re.MULTILINE))
            position = quote.end()
        yield from self._inner(text[position:], "text")

    def _inner(self, text: str, name: str) -> Iterable[Block]:
        parsed = read_inner(text, "html" if name == "html" else "text", self.settings)
        self.omissions.update(parsed.left_out)
        return parsed.blocks


def _mark_earlier(blocks: Sequence[Block]) -> Iterator[Block]:
    is_earlier = False
    for block, following in zip_longest(blocks, blocks[1:]):
        is_attribution = _ATTRIBUTION.fullmatch(block.text) is not None
        is_earlier |= _EARLIER.match(block.text) is not None
        is_earlier |= is_attribution and following is not None and following.kind != "quote"
        if is_earlier or is_attribution or block.kind == "quote":
            lines = [line for line in block.text.splitlines() if line.strip()]
            text = "\n".join(f"> {line}" for line in lines)
            yield replace(block, kind="quote", text=f"{text}{SIGNS['quoted']}")
        else:
            yield block


def _payload_of(part: Message) -> tuple[bytes, str]:
    """Return the bytes of a part, and the text behind a Base64 body, such as the footer of a mailing list."""
    if str(part.get("content-transfer-encoding", "")).strip().lower() == "base64":
        text = str(part.get_payload())
        body = _BASE64.match(text)
        if body is None:  # whatever it says, it is text
            return text.encode("utf-8", "surrogateescape"), ""
        with suppress(binascii.Error):
            return base64.b64decode(f"{body[0]}=="), text[body.end() :]
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b"", ""


def _is_text(part: Message) -> bool:
    kinds = ("text/plain", "text/html", "text/markdown", "multipart")
    return part.get_content_disposition() != "attachment" and part.get_content_type().startswith(kinds)


def _header(message: Message, name: str) -> str:
    values = (value[:_LONGEST_HEADER] for key, value in message.raw_items() if key.lower() == name.lower())
    return " ".join(", ".join(map(_decode_words, values)).split())


def _decode_words(value: str) -> str:
    try:
        words = decode_header(decode(value.encode("utf-8", "surrogateescape")))
        return "".join(
            word if isinstance(word, str) else decode(word, charset=charset) for word, charset in words
        )
    except (DocumentFailure, HeaderParseError):
        return value.encode(errors="replace").decode()
