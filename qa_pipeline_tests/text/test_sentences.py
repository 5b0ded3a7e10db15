import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.sentences import split_sentences

# "¦" marks where one sentence ends and the next begins; everything else is the text itself.
ENGLISH = [
    "Use a proxy, e.g. Nginx, in front. ¦Then reload.",
    "See Fig. 3 for details. ¦The rest is plain.",
    "Smith et al. 2019 showed it. ¦Later work agrees.",
    "Smith et al. Nature 5 showed it.",
    "The U.S. Government paid. ¦It was cheap.",
    "He lives in the U.S. ¦The rent is high.",
    "J. R. R. Tolkien wrote it. ¦Everyone read it.",
    "Edit httpd.conf first. ¦Then edit srm.conf.",
    "Edit `a. B. conf` now. ¦Then stop.",
    'She said "Stop." ¦Then she left.',
    '"Why?" she asked. ¦Nobody knew.',
    "It was shown (Lee, 2019). [source:doc.md#a.b] ¦Next comes this.",
    "It was shown.[1] ¦Another claim follows.[2, 3] ¦The end.",
    "Wait... what? ¦Yes... ¦That is it.",
    "He quoted [...] Then he stopped.",
    "1. Install the server.",
    "2.1. Install the server. ¦Then start it.",
    "Do this: 1. Install. ¦2. Start.",
    "The shop opens at 9 a.m. ¦It closes at 5 p.m. sharp.",
    "**Bold end.** ¦*Italic start* here.",
    "A line break\ninside a paragraph. ¦And on.",
    "# Heading 1. Foo. Bar\n¦Text one. ¦Text two.\n\n¦No stop here\n\n¦- one. ¦Two.\n¦- three\n  goes on",
    "Name: a. B | Value: c. D\n¦Name: e | Value: f",
    "Syntax: A on\n¦Default: off",
    "Before.\n\n¦```python\nx = 1. \n\nY. Z\n```\n\n¦After. ¦Done.",
    "The module is loaded. ¦mod_ssl provides it. ¦The end.",
    "He was born on 23rd. May 1930. ¦She came later.",
    "He finished 2nd. ¦May was third. ¦She came 3rd. ¦March was cold. ¦They met on the 4th. May and left.",
    "Lt. Col. Smith and Maj. Gen. Jones met Hon. Sec. Brown. ¦They left.",
]

SWEDISH = [
    "Det gäller t.ex. Stockholm och bl.a. Umeå. ¦Det är allt.",
    "Böter, vite m.m. ¦Lagen gäller inte.",
    "Enligt 3 kap. 2 § gäller detta. ¦Nästa.",
    "Se prop. 2019/20:5 och SFS 2010:900. ¦Lagen ändrades.",
    "Beslutet fattas enligt 2 § andra st. 3 punkten. ¦Det gäller.",
    "Lagen träder i kraft den 3. maj 2020. ¦Den gäller då.",
    "Mötet hölls den 3. Maj var varm. ¦Slut.",
    "A. Andersson och B. C. Berg kom. ¦De gick.",
    "”Varför?” frågade hon. ¦Ingen visste.",
    "Det visades (Ek 2019). [source:dokument.md#sektion] ¦Nästa mening.",
    "Han väntade ... och gick. ¦Slut…\n\n¦Nytt.",
    "Ansökan ska göras skriftligt. ¦3 § Beslut får överklagas.",
    "1. Inledning",
    "1 § Lagen gäller. ¦Den är ny. Lag (2010:5). ¦Nästa.".replace("ny. Lag", "ny. ¦Lag"),
    "Lagen gäller hundar, katter osv. ¦Andra djur omfattas inte.",
    "Ansökan ska innehålla\n\n¦1. namn,\n¦2. adress. ¦Den ska skrivas under.",
    "Jfr 3 kap. Brottsbalken gäller. ¦Slut.".replace("kap. B", "kap. ¦B"),
    "Se ``a.b`` och ``c.d`` nu. ¦Kungl. Maj:t beslutade.",
    "Omsättningen steg till 3,5 milj. Euro. ¦Det var mycket.",
    "Det kostade 2 mdr. ¦Det var dyrt.",
    "Fil.dr. Anna Berg och civ.ing. Per Ek kom. ¦De gick.",
    "Den 23:e. Maj är varm.",
]

GERMAN = [
    "Das gilt z. B. Für alle. ¦Es ist so.".replace("Für", "Hunden"),
    "Er kommt, d. h. Die Sache läuft. ¦Gut.",
    "Hunde, Katzen usw. Tiere sind gut. ¦Ja.",
    "Hunde, Katzen usw. ¦Die Tiere sind gut.",
    "Nach Nr. 5 und Abs. 2 gilt das. ¦Es ist so.",
    "Das ist eine Art. ¦Die andere ist neu.",
    "Er kam am 3. Mai 2020. ¦Sie kam später.",
    "Im 19. Jahrhundert war das so. ¦Heute nicht.",
    "Die 5. Auflage ist neu. ¦Die alte nicht.",
    "Er kam am 3. ¦Das war gut.",
    "Siehe Kapitel 3. ¦Anschließend folgt mehr.",
    "Dr. Prof. Müller kam. ¦Er ging.",
    "J. S. Bach komponierte. ¦Er war fleißig.",
    "„Warum?“ fragte sie. ¦Niemand wusste es.",
    "Es wurde gezeigt (Ott 2019). [source:dokument.md#teil] ¦Weiter.",
    "Er wartete ... und ging. ¦Ende…\n\n¦Neu.",
    "Karl V. Kaiser regierte. ¦Er war alt.",
    "Vgl. S. 12 ff. ¦Das steht da.",
    "# 1. Einleitung. Teil\n¦Text. ¦Mehr Text.",
    "Beschreibung: Ein Modul. ¦Zweiter Satz.\n¦Status: Basis",
    "Der Standardwert ist `None. Es`. ¦Mehr.",
    "Der Umsatz stieg auf 3,5 Mio. Euro im Jahr 2030.",
    "Ca. 5 Std. Fahrt sind nötig.",
    "Es waren 3,5 Mio. ¦Das ist viel. ¦Es dauert 5 Std. ¦Danach folgt eine Pause.",
    "Herr Dr.-Ing. Meier und Dipl.-Ing. Weber kamen. ¦Sie gingen.",
    "Am 3. Dez. Beginn der Arbeiten. ¦Ab 100 Stk. Rabatt.",
]

CASES = [
    *(("en", case) for case in ENGLISH),
    *(("sv", case) for case in SWEDISH),
    *(("de", case) for case in GERMAN),
]

languages = st.sampled_from(["en", "sv", "de", "xx"])
PARTS = [
    "Ord", "ord", "z. B.", "e.g.", "3", "3.", ".", "...", "?", "!", " ", "\n", "\n\n", "§", "[1]", "`", "```",
    "# ", "- ", " | ", "Nyckel: ", "(", ")", "”", "“", "U.S.", "Nr.", "😎", "\t", "…", "\r", "\x85", "\u2028",
    "İ", "ß",
]  # fmt: skip
prose = st.lists(st.sampled_from(PARTS)).map("".join)


@pytest.mark.parametrize(("language", "marked"), CASES)
def test_tricky_texts_are_cut_where_a_reader_would(language: str, marked: str) -> None:
    text = marked.replace("¦", "")
    expected = [part.strip() for part in marked.split("¦")]
    assert [text[start:end] for start, end in split_sentences(text, language)] == expected


@given(st.one_of(st.text(), prose), languages)
def test_sentences_are_trimmed_ordered_disjoint_and_cover_all_that_is_no_space(
    text: str, language: str
) -> None:
    spans = split_sentences(text, language)
    position, outside = 0, ""
    for start, end in spans:
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        outside += text[position:start]
        position = end
    assert not (outside + text[position:]).strip()


@given(st.lists(prose, max_size=4), languages)
def test_a_blank_line_always_ends_a_sentence(paragraphs: list[str], language: str) -> None:
    text = "\n\n".join(part.replace("`", "").replace("~", "") for part in paragraphs)
    for start, end in split_sentences(text, language):
        assert "\n\n" not in text[start:end]


def test_an_unclosed_fence_swallows_nothing() -> None:
    text = "```python\nx = 1\n\nA sentence. Another."
    parts = [text[start:end] for start, end in split_sentences(text, "en")]
    assert parts == ["```python", "x = 1", "A sentence.", "Another."]
