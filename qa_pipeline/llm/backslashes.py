r"""Backslashes in the JSON of a reply that its model did not mean as escapes, as in LaTeX and in paths.

Models copy `\frac` or `C:\temp` from a document into JSON without doubling the backslash. Some of these are
no JSON at all (`\alpha`), and some are JSON of another text: `\f` is a form feed, `\t` a tab.
"""

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
# after the drive, `\n` is part of a path only before a lower-case letter: `A:\nFirst` are two lines
_PATH = re.compile(
    r"""(?:(?<![^\s"'(\[<=,;])|(?<=\\[nrt])) [A-Za-z]:\\(?!["\\]|n(?![a-z])|u[0-9a-fA-F]{4})
        (?:[^\s"<>|*?\\] | \\(?!"|[nrt]\b))*""",
    re.VERBOSE,
)
_NO_CODE = re.compile(r"\\(?!u[0-9a-fA-F]{4})")
_TAB_COMMANDS = r"anh?|au|binom|ext\w*|frac|herefore|heta|hick\w+|hinspace|ilde|imes|op?|riangle\w*"
_LINE_COMMANDS = "abla|atural|cong|earrow|eq|ewline|leftarrow|leq|geq|otin|rightarrow|subseteq"
# prose never has `\b` and `\f`, nor `\r` before a letter; \t and \n may begin a command of LaTeX
_ESCAPE_OR_BACKSLASH = re.compile(
    rf"""\\(?: ["\\/] | u[0-9a-fA-F]{{4}} | (?P<quote>') | r(?![a-zA-Z])
            | t(?!(?:{_TAB_COMMANDS})(?![a-zA-Z])) | n(?!(?:{_LINE_COMMANDS})(?![a-zA-Z])) )
        | (?P<backslash>\\)""",
    re.VERBOSE,
)


def keep_backslashes(raw: str) -> str:
    """Return the JSON text with those backslashes in its strings doubled that are no escapes.

    All other escapes stay: a line break before a word is one.
    """
    return _STRING.sub(lambda string: _with_backslashes(string[0]), raw) if "\\" in raw else raw


def _with_backslashes(string: str) -> str:
    string = _PATH.sub(lambda path: _NO_CODE.sub(r"\\\\", path[0]), string)
    return _ESCAPE_OR_BACKSLASH.sub(
        lambda found: r"\\" if found["backslash"] else found["quote"] or found[0], string
    )
