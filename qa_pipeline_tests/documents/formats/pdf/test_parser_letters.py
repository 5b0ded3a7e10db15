"""Fonts that name their letters wrong: Unicode maps that were changed, and honest files that look odd."""

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap

import matplotlib as mpl
import pytest
from fpdf import FPDF

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline_tests.documents.formats.pdf.builders import blank, parse
from qa_pipeline_tests.documents.formats.pdf.test_lines import in_font

ENGLISH = (
    "The river Alder rises in the northern hills and reaches the harbour of Lund after ninety miles. "
    "Its bridge was built by the town in 1874 and carries the road to the old mill. "
)
MORE = "People of the valley fish in its ponds. A ferry crosses it where no bridge stands. "
SMALL = "abcdefghijklmnopqrstuvwxyz"


def mapped(text: str, letters: Mapping[str, str]) -> bytes:
    """Return a PDF that shows `text` and whose font says that some of its letters are others."""
    document = blank()
    document.set_compression(False)  # so that the map can be changed
    document.add_font("Sans", fname=f"{mpl.get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    document.set_font("Sans", size=10)
    document.multi_cell(0, 6, text)
    content = bytes(document.output())
    for shown, named in letters.items():
        # marked, so that a letter which changes places with another is changed once
        content = re.sub(rb"(?<=> <)%04X(?=>\n)" % ord(shown), b"#%04X" % ord(named), content)
    return content.replace(b"<#", b"<")


def shifted(first: int) -> dict[str, str]:
    return {letter: chr(first + place) for place, letter in enumerate(SMALL)}


def judgement_of(content: bytes | FPDF) -> str:
    """Return what is said of the letters of a file, or why it is refused."""
    try:
        notes = parse(content).notes
    except DocumentFailure as failure:
        return failure.reason
    return "said" if any("wrong" in note for note in notes) else "nothing"


FALSE = {
    "some letters are Cyrillic": (ENGLISH, {"e": "ж", "t": "ю", "n": "б"}),
    "look-alikes of Cyrillic": (ENGLISH, {"a": "\u0430", "e": "\u0435", "o": "\u043e", "p": "\u0440"}),
    "look-alikes of Greek": (ENGLISH, {"o": "\u03bf", "v": "\u03bd"}),
    "Greek in the place of Latin letters": (ENGLISH, {"e": "θ", "n": "ψ"}),
    "Armenian amid words": (ENGLISH, {"e": "ա", "i": "բ"}),
    "Han amid words": (ENGLISH, {"h": "漢", "r": "字"}),
    "Thai amid words": (ENGLISH, {"o": "ก", "a": "ข"}),
    "ligatures of a private code": (f"The oﬀice flows. {ENGLISH}", {"ﬀ": "\ue001"}),
    "private codes for a few letters": (ENGLISH, {"w": "\ue077", "b": "\ue062"}),
    "all words Cyrillic": (ENGLISH, shifted(0x0430)),
    "all words Greek": (ENGLISH, dict(zip(SMALL, "χψωφυτσρποξνμλκιθηζεδγβαάέ", strict=True))),
    "Cyrillic in headings alone": (f"THE RIVER\n{ENGLISH}", {"H": "\u041d", "R": "Я", "V": "Ж"}),
    "Swedish with Greek letters": (
        "Floden rinner genom skogarna och når hamnen efter en lång färd.", {"n": "η", "g": "φ"},
    ),
    "German with Cyrillic umlauts": (
        "Der Fluß führt über größere Höhen und fällt später zum Hafen ab.", {"ü": "ь", "ö": "ц"},
    ),
    "Greek read as Latin-1": ("Ç åëëçíéêÞ ãëþóóá åßíáé ìßá áðü ôéò áñ÷áéüôåñåò ãëþóóåò ôïõ êüóìïõ.", {}),
    "Greek read as Latin-1 in a quotation": (f"{ENGLISH}It is ç ïäüò ôïõ ðïôáìïý there.", {}),
    "Russian read as Latin-1": ("Ïðèâåò ìèð. Ðåêà íà÷èíàåòñÿ â ñåâåðíûõ õîëìàõ è òå÷åò ê ãîðîäó.", {}),
}  # fmt: skip
TRUE = {
    "Russian quoted": f"{ENGLISH}A map calls it «Река начинается в северных холмах» and no more. {MORE}",
    "Greek quoted": f"{ENGLISH}Herodotus writes ὁ ποταμὸς ἐκ τῶν ὀρέων ῥέει; now ο ποταμός είναι.",
    "Greek and English in halves": f"{MORE}Ο ποταμός πηγάζει στους βόρειους λόφους και φτάνει στο λιμάνι.",
    "Ukrainian and English in halves": f"{MORE}Річка бере початок у північних пагорбах і сягає гавані міста.",
    "Hebrew and Arabic quoted": f"{ENGLISH}A map names it נהר and نهر and no more. {MORE}",
    "Bulgarian and Serbian": f"{MORE}A map says «пръст на реката» and «смрт, трг, врх, прст» and ГОСТ СССР.",
    "maths": "The area is 2πr for Δx = 5 μm at λmax, with R = 3 kΩ and sinθcosφ + Acosωt = ΔHΔS. "
    f"The phase eiωt of gμν and αβγ has the value xαyβ where ∑ni is ∂f. {MORE}",
    "physics": "With Rμνρσ = 0, dlnρdt = 3, the force is qvB; Tc = 4 K; ρgh; mgsinα; limx; maxαx; Δf/f; "
    f"ηNASA. A μSv is a thousandth of a mSv, a kΩm is one too, and ΔEγ is the gap of αGaN. {MORE}",
    "chemistry": f"IFNγ and TNFα act on NFκB, IL1β and γδT cells; β-carotene, α2-macroglobulin. {MORE}",
    "statistics": f"Spearman ρs, Cronbach α, Kendall τb, χ2 of 3.1, η2 and ω2; β1x1 + β2x2 + εij. {MORE}",
    "tall brackets of TeX": f"{MORE}\uf8eb\uf8ec\uf8ec\uf8ed 1 2 \uf8f6\uf8f7\uf8f7\uf8f8 {MORE}",
    "bullets of a symbol font": f"\uf0b7 {MORE}\n\uf0b7 {MORE}\n\uf0a7 {MORE}",
    "boxes to tick": f"\uf0a8 Yes \uf0fe No \uf0a8 Perhaps. Send it \uf0e0 office. {MORE}",
    "arrows amid text": f"Press File \uf0ae Save. {MORE} \uf0fc done \uf04a",
    "Swedish": "Åän flyter över ängarna på våren. Än är älgen på ön i åar. Öl på å. Åländsk färja gör nytta.",
    "Icelandic": "Áin rennur úr fjöllunum og nær höfninni. Það er ís á ánni. Þórður á æðarfugl í eyjunni.",
    "Vietnamese": "Sông bắt đầu từ những ngọn đồi phía bắc và chảy đến cảng của thành phố. Được đường ở đó.",
    "Polish and Czech": "Źdźbło żółci wśród łąk. Příliš žluťoučký kůň úpěl ďábelské ódy. Świętość ćmy łódź.",
    "names in one box": f"YouTube of Müller & Œuvre, Ærø, Ørsted, Łódź, İstanbul, ÅÄÖ, Čapek. {MORE}",
    "sounds": f"The name is spoken ˈrɪvə, θɪŋ, ˈðɪs ɪz ə ˈtɛst, with χ and β in older books. {MORE}",
    "Chinese with Latin names": "这个程序使用Python编写并且可以在Linux系统上运行。我们用PDF文件和HTML页面。",
    "Greek with units": "Το μήκος είναι 5 μm και η τάση 3 kV στο CERN. Ο αγωγός έχει αντίσταση 4 kΩ εδώ.",
}


@pytest.mark.parametrize(("text", "letters"), FALSE.values(), ids=FALSE)
def test_letters_that_a_font_names_wrong_are_said(text: str, letters: Mapping[str, str]) -> None:
    assert judgement_of(mapped(text, letters)) in ("said", "unreadable_text")


@pytest.mark.parametrize("first", [0xE000, 0xF061])
def test_a_file_of_private_codes_is_refused(first: int) -> None:
    assert judgement_of(mapped(ENGLISH, shifted(first))) == "unreadable_text"


def test_a_file_whose_letters_have_no_names_is_refused() -> None:
    nameless = re.sub(rb"(?s)\d+ beginbfchar.*?endbfchar\n", b"", mapped(ENGLISH, {}))
    assert judgement_of(nameless) == "unreadable_text"


@pytest.mark.parametrize("text", TRUE.values(), ids=TRUE)
def test_words_of_another_script_and_signs_are_not_taken_for_false_letters(text: str, tmp_path: Path) -> None:
    lines = [part for line in text.split("\n") for part in wrap(line, 70)]
    assert judgement_of(in_font(tmp_path, *lines)) == "nothing"
