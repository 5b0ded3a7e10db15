"""User names and passwords for URLs, as in `https://user:password@host` and `curl -u user:password`.

What belongs here: what stands between `://` and `@`, and that option of a command. What does not: addresses
(`mail`) and other ways to write passwords (`secrets`).
"""

import re
from collections.abc import Iterator

from qa_pipeline.documents.masking.items import Family, Item

_LOGIN = re.compile(r"(?<=://)([^\s/?#@\"'<>\[\]|`\\]{1,256}(?:@[^\s/?#@\"'<>\[\]|`\\:]{1,64})?)@(?=[\w\[])")
_OPTION = re.compile(
    r"\b(?:curl|https?)\b[^\n]{0,200}?\s(?:-u|--user|-a|--auth)[ =]?[\"']?"
    r"([^\s:\"'@/]{1,64}:[^\s\"']{3,128})"
)
_STANDS_FOR = re.compile(r"[$%]?[{(][^{}()]{1,40}[)}]|\$\w+|\*+|\.\.\.|x{3,}", re.IGNORECASE)
_ANYBODY = {
    "user", "username", "usr", "name", "login", "me", "you", "anonymous", "ftp", "git", "hg", "svn", "root",
    "admin", "postgres", "mysql", "foo", "bar", "password", "passwd", "pass", "pwd", "pw", "secret", "token",
    "key", "apikey", "benutzer", "benutzername", "kennwort", "passwort", "användare", "användarnamn",
    "lösenord",
}  # fmt: skip


def _find(text: str) -> Iterator[Item]:
    for match in _LOGIN.finditer(text) if "@" in text and "://" in text else ():
        if any(_tells(part) for part in match[1].split(":", 1)):
            yield Item("url_login", match.start(), match.end(1), match[1])
    for match in _OPTION.finditer(text) if "-u" in text or "-a" in text else ():
        if _tells(match[1].partition(":")[2]):
            yield Item("url_login", *match.span(1), match[1])


def _tells(part: str) -> bool:
    """Whether a part is somebody's, and not the word for what should stand there."""
    return bool(part) and part.casefold() not in _ANYBODY and not _STANDS_FOR.fullmatch(part)


FAMILY = Family("url_login", _find)
