r"""Double the backslashes in the JSON of a reply that are not escapes, as in LaTeX and paths.

Models copy `\frac` or `C:\temp` from a document into JSON without doubling the backslash. Some of these are
not valid JSON (`\alpha`). Others are valid JSON for another text: `\f` is a form feed, and `\t` a tab.
"""

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
# after the drive, `\n` is part of a path only before a lower-case letter, since `A:\nFirst` is two lines
_PATH = re.compile(
    r"""(?:(?<![^\s"'(\[<=,;])|(?<=\\[nrt])) [A-Za-z]:\\(?!["\\]|n(?![a-z])|u[0-9a-fA-F]{4})
        (?:[^\s"<>|*?\\] | \\(?!"|[nrt]\b))*""",
    re.VERBOSE,
)
_NO_CODE = re.compile(r"\\(?!u[0-9a-fA-F]{4})")
_TAB_COMMANDS = r"anh?|au|binom|ext\w*|frac|herefore|heta|hick\w+|hinspace|ilde|imes|op?|riangle\w*"
_LINE_COMMANDS = "abla|atural|cong|earrow|eq|ewline|leftarrow|leq|geq|otin|rightarrow|subseteq"
# prose never contains `\b` or `\f`, nor `\r` before a letter; \t and \n may begin a LaTeX command
_ESCAPE_OR_BACKSLASH = re.compile(
    rf"""\\(?: ["\\/] | u[0-9a-fA-F]{{4}} | (?P<quote>') | r(?![a-zA-Z])
            | t(?!(?:{_TAB_COMMANDS})(?![a-zA-Z])) | n(?!(?:{_LINE_COMMANDS})(?![a-zA-Z])) )
        | (?P<backslash>\\)""",
    re.VERBOSE,
)


def keep_backslashes(raw: str) -> str:
    """Double the backslashes in JSON strings that are not escapes.

    All other escapes are kept, such as a line break before a word.
    """
    return _STRING.sub(lambda string: _with_backslashes(string[0]), raw) if "\\" in raw else raw


def _with_backslashes(string: str) -> str:
    string = _PATH.sub(lambda path: _NO_CODE.sub(r"\\\\", path[0]), string)
    return _ESCAPE_OR_BACKSLASH.sub(
        lambda found: r"\\" if found["backslash"] else found["quote"] or found[0], string
    )
