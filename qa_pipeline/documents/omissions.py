"""What a markup parser leaves out of the text, counted while it reads.

What belongs here: counting pieces and characters by kind, and the sentences about them that a reader of the
row should see. What does not: deciding what is left out (one module a format).
"""

from collections import Counter

from qa_pipeline.records import LeftOut


def visible(text: str) -> int:
    """Number of characters that are not blank."""
    return len("".join(text.split()))


class Omissions:
    """Text that does not reach the blocks, by kind."""

    def __init__(self) -> None:
        self.pieces: Counter[str] = Counter()
        self.characters: Counter[str] = Counter()

    def add(self, what: str, text: str = "", pieces: int = 1) -> None:
        """Count pieces of a kind, and the characters of `text` that are not blank."""
        self.pieces[what] += pieces
        self.characters[what] += visible(text)

    def count(self, what: str, pieces: int, characters: int) -> None:
        """Count pieces whose characters are known; nothing where there are none."""
        if pieces or characters:
            self.pieces[what] += pieces
            self.characters[what] += characters

    def update(self, others: tuple[LeftOut, ...]) -> None:
        """Take over what a parser of a part of the file counted."""
        for other in others:
            self.count(other.what, other.pieces, other.characters)

    def record(self) -> tuple[LeftOut, ...]:
        """All kinds that were met, in order of their names."""
        return tuple(LeftOut(what, self.pieces[what], self.characters[what]) for what in sorted(self.pieces))

    def notes(self) -> tuple[str, ...]:
        """What a reader should know although the document was read."""
        notes = []
        if includes := self.pieces["include"]:
            notes.append(f"{includes} {'include' if includes == 1 else 'includes'} could not be resolved")
        if self.pieces["unclosed_comment"]:
            notes.append("a comment is never closed, so what follows its start was left out")
        return tuple(notes)
