"""The many ways people write items of personal data.

Each kind has known ways, which the patterns were written for, and held-out ones, which were written down from
how people write such items before any of them was looked for.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from qa_pipeline_tests.documents.masking import drawn
from qa_pipeline_tests.documents.masking.drawn import Draw

Write = Callable[[str], str]


@dataclass(frozen=True)
class Planted:
    """An item: its kind, its bare form, and one way to write it."""

    kind: str
    bare: str
    way: str
    written: str

    @property
    def said(self) -> str:
        return self.written

    def stands_in(self, text: str) -> bool:
        """Whether the item can still be read in a text, however it is written there."""
        return self.written in text or plain(self.bare) in plain(text)


def plain(text: str) -> str:
    """Letters and digits alone, in one form and without case."""
    return "".join(one for one in unicodedata.normalize("NFKC", text).casefold() if one.isalnum())


def grouped(number: str, *sizes: int, by: str = " ") -> str:
    parts, place = [], 0
    for size in sizes:
        parts.append(number[place : place + size])
        place += size
    return by.join([*parts, number[place:]] if number[place:] else parts)


def fours(number: str, by: str = " ") -> str:
    return grouped(number, *[4] * ((len(number) + 3) // 4), by=by)


def wide(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if one.isdigit() else one for one in text)


def _national(number: str) -> str:
    """Trunk prefix and area code, then the rest in groups, as at home."""
    for code, area in (("+4670", 2), ("+467", 2), ("+468", 1), ("+4915", 3), ("+4930", 2), ("+447", 4)):
        if number.startswith(code):
            home = number[3:]
            return (
                f"0{home[:area]}-{grouped(home[area:], 3, 2, 2) if code.startswith('+46') else home[area:]}"
            )
    return f"({number[2:5]}) {number[5:8]}-{number[8:]}"


KINDS: Mapping[str, tuple[Callable[[Draw], str], Mapping[str, Write], Mapping[str, Write]]] = {
    "personnummer": (
        drawn.personnummer,
        {
            "ten digits": lambda n: f"{n[2:8]}-{n[8:]}",
            "twelve digits": lambda n: f"{n[:8]}-{n[8:]}",
            "twelve joined": lambda n: n,
            "ten joined": lambda n: n[2:],
            "over a line": lambda n: f"{n[2:8]}-\n{n[8:]}",
        },
        {
            "en dash": lambda n: f"{n[2:8]}–{n[8:]}",
            "full width": lambda n: wide(f"{n[2:8]}-{n[8:]}"),
            "date with hyphens": lambda n: f"{n[:4]}-{n[4:6]}-{n[6:8]}-{n[8:]}",
            "blanks around": lambda n: f"{n[2:8]} - {n[8:]}",
            "no-break hyphen": lambda n: f"{n[:8]}\u2011{n[8:]}",
        },
    ),
    "iban": (
        drawn.iban,
        {"joined": str, "fours": fours, "small": str.lower},
        {
            "hyphens": lambda n: fours(n, "-"),
            "over a line": lambda n: f"{fours(n[:12])}\n{fours(n[12:])}",
            "country apart": lambda n: f"{n[:2]} {n[2:]}",
        },
    ),
    "card": (
        drawn.card,
        {"joined": str, "groups": lambda n: fours(n) if len(n) == 16 else grouped(n, 4, 6, 5)},
        {
            "hyphens": lambda n: fours(n, "-") if len(n) == 16 else grouped(n, 4, 6, 5, by="-"),
            "over a line": lambda n: f"{n[:4]} {n[4:8]}\n{n[8:12]} {n[12:]}" if len(n) == 16 else n,
            "dots": lambda n: fours(n, ".") if len(n) == 16 else grouped(n, 4, 6, 5, by="."),
        },
    ),
    "phone": (
        drawn.phone,
        {"international": lambda n: f"{n[:3]} {grouped(n[3:], 2, 3, 2, 2)}", "at home": _national},
        {
            "joined": str,
            "double zero": lambda n: f"00{n[1:3]} {n[3:]}",
            "trunk zero": lambda n: f"{n[:3]} (0){n[3:5]} {n[5:]}" if n[1] == "4" else n,
            "dots": lambda n: f"{n[:3]}.{grouped(n[3:], 3, 3, 2, 2, by='.')}",
            "over a line": lambda n: f"{n[:5]} {n[5:8]}\n{n[8:]}",
        },
    ),
    "email": (
        drawn.email,
        {"plain": str, "capitals": str.upper},
        {
            "in a URL": lambda n: f"mailto:{n.replace('@', '%40')}",
            "over a line": lambda n: n.replace("@", "@\n"),
            "angle brackets": lambda n: f"<{n}>",
        },
    ),
    "secret": (
        drawn.secret,
        {"alone": str, "assigned": lambda n: f"API_KEY={n}"},
        {"quoted": lambda n: f'"{n}",', "bearer": lambda n: f"Authorization: Bearer {n}"},
    ),
}


def plant(draw: Draw, kind: str, *, held_out: bool) -> list[Planted]:
    """One drawn item in each of the known or the held-out ways."""
    make, known, kept_back = KINDS[kind]
    bare = make(draw)
    ways = kept_back if held_out else known
    return [Planted(kind, _bare(kind, way, bare), way, write(bare)) for way, write in ways.items()]


def _bare(kind: str, way: str, bare: str) -> str:
    """The part of an item that every way to write it holds."""
    shortest = {"personnummer": bare[2:], "phone": bare[3:]}
    return shortest.get(kind, bare)
