"""E-mail addresses, plain and written so that programs should not find them.

What belongs here: addresses with `@`, with `%40` as in a URL, and with `(at)`, or ` at ` and ` dot `. What
does not: user names in URLs (`logins`), and names of machines alone.

`root@localhost` is left alone: a name on a machine without a domain reaches nobody.
"""

import re
from collections.abc import Iterator

from qa_pipeline.documents.masking.items import Family, Item

_LETTER = r"[^\W_]"
# in a URL it may begin after an encoded character
_LOCAL = r"(?:(?<=%[0-9a-f]{2})|(?<!\w)(?!(?<=%)[0-9a-f]{2}))(\w[\w.%+~-]{0,63}|\"[^\"\n@]{1,64}\")"
_LABEL = rf"{_LETTER}(?:[\w-]{{0,61}}{_LETTER})?"
_TOP = r"(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![^\W_])"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL}){{0,8}}\.{_TOP}"
_PLAIN = re.compile(
    # white space may have come in after the sign, and a line may end with the only dot
    rf"{_LOCAL}(?:@|%40)[ \n]?({_DOMAIN}|{_LABEL}\.\n{_TOP}|\[[0-9a-f.:]{{7,45}}\])",
    re.IGNORECASE,
)
_KNOWN_TOPS = "at|be|biz|ch|com|cz|de|dk|edu|es|eu|fi|fr|gov|ie|info|io|it|mil|net|nl|no|org|pl|pt|se|uk|us"
_BROKEN = re.compile(
    rf"{_LOCAL}[ \n]?@[ \n]?({_LABEL}(?:\n?\.\n?{_LABEL}){{0,4}}\n?\.\n?(?:{_KNOWN_TOPS}))(?![\w-])"
)
"""An address with blanks or a line end in it, where its ending is a known one: programs write `a @ b.T`."""
_AT = r"\s{0,2}[(\[{<](?:at|ät|snabel-?a)[)\]}>]\s{0,2}"
_DOT = r"(?:\s{0,2}[(\[{<](?:dot|punkt|\.)[)\]}>]\s{0,2}|\.|\s(?:dot|punkt)\s)"
_HIDDEN = re.compile(rf"{_LOCAL}{_AT}({_LABEL}(?:{_DOT}{_LABEL}){{0,5}}{_DOT}{_TOP})", re.IGNORECASE)
_WORD = r"\w[\w+-]{0,63}"
_SPOKEN = re.compile(
    rf"(?<!\w)({_WORD}(?:\sdot\s{_WORD}){{0,3}})\sat\s({_LABEL}(?:\sdot\s{_LABEL}){{0,4}}\sdot\s{_TOP})|"
    rf"(?<=<){_LOCAL}\sat\s({_LABEL}(?:\.{_LABEL}){{0,5}}\.{_TOP})(?=>)",
    re.IGNORECASE,
)
_SIGN = re.compile(r"[(\[{<](?:at|ät|snabel-?a)[)\]}>]", re.IGNORECASE)
_FILES = {
    "css", "gif", "html", "jpeg", "jpg", "js", "json", "map", "min", "png", "service", "socket", "svg",
    "target", "tgz", "timer", "webp", "whl",
}  # fmt: skip
_ENDS = re.compile(rf"\.(?:{_KNOWN_TOPS})$")
"""What stands before a line end is an address already, and the line end the end of a sentence."""
_DOTS = re.compile(_DOT, re.IGNORECASE)


def _find(text: str) -> Iterator[Item]:
    patterns = [_PLAIN] if "@" in text or "%40" in text else []
    if "@" in text and ("\n" in text or " @" in text):
        patterns.append(_BROKEN)
    if any(bracket in text for bracket in "([{<") and _SIGN.search(text):
        patterns.append(_HIDDEN)
    if " at " in text or " AT " in text:
        patterns.append(_SPOKEN)
    for pattern in patterns:
        for match in pattern.finditer(text):
            local, domain = (group for group in match.groups() if group is not None)
            before, line_end, _ = domain.partition("\n")
            whole = pattern is _BROKEN and line_end and _ENDS.search(before)
            if not whole and _reaches_somebody(text, match, local, domain):
                address = f"{_DOTS.sub('.', local)}@{_DOTS.sub('.', domain.replace(chr(10), ''))}"
                yield Item("email", match.start(), match.end(), address.casefold())


def _reaches_somebody(text: str, match: re.Match[str], local: str, domain: str) -> bool:
    """Not the user of a version control server, nor a file such as `logo@2x.png`, nor a decorator in code."""
    if len(local) == 1 and text[match.start() - 1 : match.start()] == "\\":
        return False
    server = local.casefold() in ("git", "hg", "svn") and text[match.end() : match.end() + 1] in (":", "/")
    return not server and domain.rpartition(".")[2].casefold() not in _FILES


FAMILY = Family("email", _find)
