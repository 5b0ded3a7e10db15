r"""Backslashes in the JSON of a reply that its model did not mean as escapes, as in LaTeX and in paths.

Models copy `\frac` or `C:\temp` from a document into JSON without doubling the backslash. Some of these are
no JSON at all (`\alpha`), and some are JSON of another text: `\f` is a form feed, `\t` a tab. Inside strings
of the reply, a backslash is doubled, and so stays what it is, where

- no JSON escape begins with it: `\alpha`, `\(`, `\_`, and `\u` without four hexadecimal digits after it. Only
  `\'`, which JavaScript has, is an apostrophe;
- the escape is one that prose never has: `\b`, `\f`, and `\r` before a letter;
- it stands in a path that begins with a drive or a server and one backslash: `C:\temp\new`. Directly after
  the drive, `\n` is part of a path only before a lower-case letter, since `A:\nFirst` are two lines;
- `\t` or `\n` begins a command of LaTeX: `\times`, `\nabla`. Commands whose rest is a word of its own
  (`\not`, `\neg`, `\nu`) count only in a string that has another backslash of these kinds; `\ni` never does.

All other escapes stay escapes: a line break before a word is one.
"""

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_ESCAPE_OR_PATH = re.compile(
    r"""(?P<path> (?: (?<![^\s"'(\[<=,;]) | (?<=\\[nrt]) )
            (?: [A-Za-z]:\\(?!["\\n]|u[0-9a-fA-F]{4}) | [A-Za-z]:\\(?=n[a-z])
              | \\\\[\w.-]+\\(?=[^ntu"\\/])(?!r\b) )
            (?: [^\s"<>|*?\\] | \\(?!"|[nrt]\b) )* )
        | \\ (?P<escape> u[0-9a-fA-F]{4} | . ) (?= (?P<rest> [a-zA-Z]* ) )""",
    re.VERBOSE | re.DOTALL,
)
_NO_CODE = re.compile(r"\\(?!u[0-9a-fA-F]{4})")
_SIMPLE_ESCAPES = frozenset('"\\/')
_COMMAND = re.compile(
    r"t(?:anh?|au|binom|ext\w*|frac|herefore|heta|hick\w+|hinspace|ilde|imes|op?|riangle\w*|wohead\w+)"
    r"|n(?:abla|atural|cong|earrow|eq|ewline|leftarrow|leq|geq|olimits|onumber|otag|otin|rightarrow|subseteq"
    r"|supseteq|warrow)"
)
_WORDLIKE = re.compile(r"n(?:e|eg|exists|mid|ot|parallel|sim|u)")


def keep_backslashes(raw: str) -> str:
    """Return the JSON text with those backslashes doubled that are no escapes."""
    return _STRING.sub(lambda string: _with_backslashes(string[0]), raw) if "\\" in raw else raw


def _with_backslashes(string: str) -> str:
    has_literal = any(
        match["path"] or _is_literal(match["escape"], match["rest"])
        for match in _ESCAPE_OR_PATH.finditer(string)
    )

    def mend(match: re.Match[str]) -> str:
        if match["path"]:
            return _NO_CODE.sub(r"\\\\", match["path"])
        escape, rest = match["escape"], match["rest"]
        if escape == "'":
            return "'"
        is_command = has_literal and _WORDLIKE.fullmatch(escape + rest)
        return "\\" + match[0] if is_command or _is_literal(escape, rest) else match[0]

    return _ESCAPE_OR_PATH.sub(mend, string)


def _is_literal(escape: str, rest: str) -> bool:
    """Return whether an escape is none, whatever is around it."""
    match escape:
        case "b" | "f":
            return True
        case "r":
            return bool(rest)
        case "t" | "n":
            return _COMMAND.fullmatch(escape + rest) is not None
        case "'":
            return False
    return escape not in _SIMPLE_ESCAPES and len(escape) == 1
