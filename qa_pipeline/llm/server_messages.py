"""What a server says about a failed call, made fit to be shown.

What belongs here: one printable line of it, without the key. What does not: what the failure means.
"""

MOST_LETTERS = 300


def one_line(message: str, key: str) -> str:
    """One printable line of the server's message, in which an echoed key is blotted out."""
    blotted = message.replace(key, "[key]") if key else message
    line = " ".join("".join(c if c.isprintable() else " " for c in blotted).split())
    return line if len(line) <= MOST_LETTERS else f"{line[:MOST_LETTERS]}…"
