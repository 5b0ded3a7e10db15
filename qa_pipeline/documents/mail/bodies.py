"""The plain text of an e-mail: what was written, what is quoted from others, and the signature.

What belongs here: the conventions of mail text (`> `, `-- `, RFC 3676). What does not: finding the text in a
message (`parser`).
"""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from qa_pipeline.documents.inner_text import read_inner
from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.records import Block
from qa_pipeline.settings.documents import DocumentSettings

_QUOTED = re.compile(r"^(?:> ?)+")
_SIGNATURES = ("-- ", "--")


def read_body(
    text: str, left: Omissions, path: str, settings: DocumentSettings, *, flowed: bool = False
) -> tuple[Block, ...]:
    """Blocks of a plain text body.

    Args:
        text: the body.
        left: counts marks that go: of quotes, of the signature, of lists.
        path: the file, for messages.
        settings: limits of the reader of plain text.
        flowed: whether lines that end in a space go on with the next (RFC 3676).
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    blocks: list[Block] = []
    told = _told_apart(_joined(lines, left) if flowed else lines, left)
    for kind, part in groupby(told, key=itemgetter(0)):
        run = [line for _, line in part]
        if kind == "quote":
            blocks += _quotes(run)
        elif kind == "signature":
            blocks += [Block("paragraph", "\n".join(run))]
        else:
            parsed = read_inner("\n".join(run), "text", path, settings)
            left.update(parsed.left_out)
            blocks += parsed.blocks
    return tuple(blocks)


def _told_apart(lines: list[str], left: Omissions) -> Iterator[tuple[str, str]]:
    """Each line with what it is; a signature goes on to the end or to a quote below it."""
    kind = "text"
    for line in lines:
        mark = _QUOTED.match(line)
        if mark:
            kind = "text"
            left.add("quote_mark", mark[0])
            yield "quote", line[mark.end() :]
        elif line in _SIGNATURES:
            kind = "signature"
            left.add("signature_mark", line)
        elif kind == "text" or line.strip():
            yield kind, line


def _quotes(lines: list[str]) -> Iterator[Block]:
    """One block a paragraph of the quoted text, its lines as they stand."""
    for blank, part in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield Block("quote", "\n".join(part))


def _joined(lines: list[str], left: Omissions) -> list[str]:
    """Lines that were broken to fit a width, put together again within their depth of quoting."""
    whole: list[str] = []
    open_depth = None
    for line in lines:
        mark = _QUOTED.match(line)
        depth = mark[0].count(">") if mark else 0
        content = line[mark.end() :] if mark else line.removeprefix(" ")
        if open_depth == depth and whole:
            left.count("quote_mark", min(depth, 1), depth)
            whole[-1] += content
        else:
            whole.append(f"{'>' * depth} {content}" if depth else content)
        open_depth = depth if content.endswith(" ") and content not in _SIGNATURES else None
    return whole
