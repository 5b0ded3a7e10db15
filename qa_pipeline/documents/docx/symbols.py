"""Characters of symbol fonts, which Word stores as places in a font instead of as characters.

What belongs here: which character stands at a place. The order of the Symbol font is that of its encoding by
Adobe; of Wingdings only marks that carry meaning in a text are listed. What does not: text in ordinary fonts.
"""

_SYMBOL_FROM_SPACE = (
    " !∀#∃%&∍()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
)
_SYMBOL_FROM_A0 = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"
_SYMBOL_FROM_F1 = "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
_WINGDINGS = {
    0x4A: "☺",
    0x6C: "●",
    0x6E: "■",
    0x6F: "□",
    0x71: "□",
    0x76: "❖",
    0x9F: "•",
    0xA7: "▪",
    0xA8: "□",
    0xD8: "➢",
    0xDF: "←",
    0xE0: "→",
    0xE1: "↑",
    0xE2: "↓",
    0xE8: "→",
    0xF0: "⇨",
    0xFB: "✗",
    0xFC: "✓",
    0xFD: "☒",
    0xFE: "☑",
}
_SYMBOL = {
    start + place: sign
    for start, signs in ((0x20, _SYMBOL_FROM_SPACE), (0xA0, _SYMBOL_FROM_A0), (0xF1, _SYMBOL_FROM_F1))
    for place, sign in enumerate(signs)
}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}
_PRIVATE = range(0xF000, 0xF100)


def symbol(font: str, code: str) -> str | None:
    """The character at a place of a font; None where it is not known.

    Args:
        font: name of the font.
        code: the place as attributes hold it, in hexadecimal.
    """
    try:
        place = int(code, 16)
    except ValueError:
        return None
    if place in _PRIVATE:
        place -= _PRIVATE.start
    return _FONTS.get(font.strip().lower(), {}).get(place)
