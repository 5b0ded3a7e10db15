from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.sentences import split_sentences
from qa_pipeline_tests.support.work import lines_run

# "¦" marks where one sentence ends and the next begins; everything else is the text itself.
ENGLISH = [
    "It works. ¦It is fast.",
    "Use a proxy, e.g. Nginx, in front. ¦Then reload.",
    "It is strict, i.e. Python checks it. ¦Next.",
    "See Fig. 3 for details. ¦The rest is plain.",
    "Dr. Smith arrived. ¦He sat down.",
    "Smith et al. 2019 showed it. ¦Later work agrees.",
    "Smith et al. Nature 5 showed it.",
    "The U.S. Government paid. ¦It was cheap.",
    "He lives in the U.S. ¦The rent is high.",
    "J. R. R. Tolkien wrote it. ¦Everyone read it.",
    "Version 2.4.1 is out. ¦Version 2.4.2 follows.",
    "Pi is 3.14 and e is 2.72. ¦Both are irrational.",
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
    "First; Second; Third. ¦Fourth.",
    "It has apples, pears, etc. ¦They are good.",
    "The shop opens at 9 a.m. ¦It closes at 5 p.m. sharp.",
    "Read Sec. 2 and No. 5. ¦No. ¦That is wrong.",
    "Is it true?! ¦Yes!",
    "(It rains.) ¦The sun shines.",
    "**Bold end.** ¦*Italic start* here.",
    "A line break\ninside a paragraph. ¦And on.",
    "# Heading 1. Foo. Bar\n¦Text one. ¦Text two.\n\n¦No stop here\n\n¦- one. ¦Two.\n¦- three\n  goes on",
    "Name: a. B | Value: c. D\n¦Name: e | Value: f",
    "Syntax: A on\n¦Default: off",
    "Before.\n\n¦```python\nx = 1. \n\nY. Z\n```\n\n¦After. ¦Done.",
    "The module is loaded. ¦mod_ssl provides it. ¦The end.",
    "It is easy. 🚀 ¦Really.",
    "Acme Inc. Chairman Jones spoke. ¦He was brief.",
    "The car Reg. No. 44 was sold. ¦It was red.",
    "See Cat. No. 12 and Ser. No. 5. ¦Keep it.",
    "It works. ¦No. 5 is red.",
    "He was born on 23rd. May 1930. ¦She came later.",
    "They met on 4th. Sept. 1931. ¦Nothing came of it.",
    "He finished 2nd. ¦May was third. ¦She came 3rd. ¦March was cold. ¦They met on the 4th. May and left.",
    "It came 23rd. ¦The others were faster. ¦Nobody was 24th. ¦No one cared.",
    "Lt. Col. Smith and Maj. Gen. Jones met Hon. Sec. Brown. ¦They left.",
    "Refer to Sect. 4 and Para. 2. ¦Then stop.",
]

SWEDISH = [
    "Det fungerar. ¦Det är snabbt.",
    "Det gäller t.ex. Stockholm och bl.a. Umeå. ¦Det är allt.",
    "Det gäller t. ex. Stockholm och bl. a. Umeå. ¦Det är allt.",
    "Böter, vite m.m. ¦Lagen gäller inte.",
    "Böter, vite m. m. ¦Lagen gäller inte.",
    "Kontraktet, d.v.s. Avtalet, gäller. ¦Nästa.",
    "Enligt 3 kap. 2 § gäller detta. ¦Nästa.",
    "Se prop. 2019/20:5 och SFS 2010:900. ¦Lagen ändrades.",
    "Beslutet fattas enligt 2 § andra st. 3 punkten. ¦Det gäller.",
    "Lagen träder i kraft den 3. maj 2020. ¦Den gäller då.",
    "Mötet hölls den 3. Maj var varm. ¦Slut.",
    "Han kom 2019. ¦Hon kom 2020.",
    "A. Andersson och B. C. Berg kom. ¦De gick.",
    "Priset är 3.50 kr. ¦Det är billigt.",
    "Version 2.4.1 finns. ¦Den är ny.",
    "Ändra i httpd.conf. ¦Starta om.",
    "Det sades ”Nej.” ¦Sedan var det tyst.",
    "”Varför?” frågade hon. ¦Ingen visste.",
    "Det visades (Ek 2019). [source:dokument.md#sektion] ¦Nästa mening.",
    "Det visades [1]. ¦Sedan kom mer.[2] ¦Slut.",
    "Han väntade ... och gick. ¦Slut…\n\n¦Nytt.",
    "Ansökan ska göras skriftligt. ¦3 § Beslut får överklagas.",
    "1. Inledning",
    "1 § Lagen gäller. ¦Den är ny. Lag (2010:5). ¦Nästa.".replace("ny. Lag", "ny. ¦Lag"),
    "Handläggaren (f.d. Domaren) kom. ¦Hon satt.",
    "Lagen gäller hundar, katter osv. ¦Andra djur omfattas inte.",
    "Bolaget m.fl. Bolag berörs. ¦Det är allt.",
    "Mötet börjar kl. 10. ¦Det slutar kl. 12.",
    "Det krävs; Det är klart. ¦Slut.",
    "Är det så?! ¦Ja!",
    "Ansökan ska innehålla\n\n¦1. namn,\n¦2. adress. ¦Den ska skrivas under.",
    "Jfr 3 kap. Brottsbalken gäller. ¦Slut.".replace("kap. B", "kap. ¦B"),
    "Se ``a.b`` och ``c.d`` nu. ¦Kungl. Maj:t beslutade.",
    "Hr A kom fr.o.m. Måndag. ¦Slut.",
    "Omsättningen steg till 3,5 milj. Euro. ¦Det var mycket.",
    "Det kostade 2 mdr. ¦Det var dyrt.",
    "Fil.dr. Anna Berg och civ.ing. Per Ek kom. ¦De gick.",
    "Resan tar 5 tim. ¦Sedan blir det paus.",
    "Den 23:e. Maj är varm.",
]

GERMAN = [
    "Es geht. ¦Es ist schnell.",
    "Das gilt z. B. Für alle. ¦Es ist so.".replace("Für", "Hunden"),
    "Das gilt z.B. Hunden. ¦Es ist so.",
    "Er kommt, d. h. Die Sache läuft. ¦Gut.",
    "Hunde, Katzen usw. Tiere sind gut. ¦Ja.",
    "Hunde, Katzen usw. ¦Die Tiere sind gut.",
    "Nach Nr. 5 und Abs. 2 gilt das. ¦Es ist so.",
    "Nach Art. 3 GG gilt das. ¦Es ist so.",
    "Das ist eine Art. ¦Die andere ist neu.",
    "Er kam am 3. Mai 2020. ¦Sie kam später.",
    "Im 19. Jahrhundert war das so. ¦Heute nicht.",
    "Die 5. Auflage ist neu. ¦Die alte nicht.",
    "Er kam am 3. ¦Das war gut.",
    "Das war 2019. ¦Danach kam nichts.",
    "Siehe Kapitel 3. ¦Anschließend folgt mehr.",
    "Dr. Prof. Müller kam. ¦Er ging.",
    "J. S. Bach komponierte. ¦Er war fleißig.",
    "Es kostet 3.50 Euro. ¦Das ist billig.",
    "Version 2.4.1 ist da. ¦Sie ist neu.",
    "Bearbeiten Sie httpd.conf. ¦Starten Sie neu.",
    "Er sagte: „Nein.“ ¦Dann ging er.",
    "„Warum?“ fragte sie. ¦Niemand wusste es.",
    "Es wurde gezeigt (Ott 2019). [source:dokument.md#teil] ¦Weiter.",
    "Es wurde gezeigt.[1] ¦Weiter geht es. [2] ¦Ende.",
    "Er wartete ... und ging. ¦Ende…\n\n¦Neu.",
    "Das ist bzw. War so.",
    "Karl V. Kaiser regierte. ¦Er war alt.",
    "Das gilt i. d. R. Nicht. ¦Doch.",
    "Das ist so; Das auch. ¦Ende.",
    "Ist das so?! ¦Ja!",
    "Vgl. S. 12 ff. ¦Das steht da.",
    "Die Datei liegt u. a. Unten. ¦Ja.",
    "# 1. Einleitung. Teil\n¦Text. ¦Mehr Text.",
    "Beschreibung: Ein Modul. ¦Zweiter Satz.\n¦Status: Basis",
    "Sie können es tun. 😎 ¦Das ist alles.",
    "Der Standardwert ist `None. Es`. ¦Mehr.",
    "Er kam am Di. ¦Sie nicht.",
    "Der Umsatz stieg auf 3,5 Mio. Euro im Jahr 2030.",
    "Die Kosten lagen bei 2 Mrd. Euro und 40 Tsd. Euro.",
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
prose = st.lists(
    st.sampled_from(
        [
            *(
                "Ord",
                "ord",
                "z. B.",
                "e.g.",
                "3",
                "3.",
                ".",
                "...",
                "?",
                "!",
                " ",
                "\n",
                "\n\n",
                "§",
                "[1]",
                "`",
            ),
            *("```", "# ", "- ", " | ", "Nyckel: ", "(", ")", "”", "“", "U.S.", "Nr.", "😎", "\t", "…"),
            *("\r", "\x85", "\u2028", "İ", "ß"),
        ]
    )
).map("".join)


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


@given(st.sampled_from(CASES), st.sampled_from(CASES))
def test_paragraphs_are_cut_on_their_own(first: tuple[str, str], second: tuple[str, str]) -> None:
    language = first[0]
    one, two = first[1].replace("¦", ""), second[1].replace("¦", "")
    together = split_sentences(f"{one}\n\n{two}", language)
    shift = len(one) + 2
    apart = split_sentences(one, language)
    assert together == apart + [(start + shift, end + shift) for start, end in split_sentences(two, language)]


def test_an_unclosed_fence_swallows_nothing() -> None:
    text = "```python\nx = 1\n\nA sentence. Another."
    assert [text[start:end] for start, end in split_sentences(text, "en")] == [
        "```python",
        "x = 1",
        "A sentence.",
        "Another.",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        lambda size: "." * size,
        lambda size: ". " * (size // 2),
        lambda size: "." + " " * size + "a",
        lambda size: "a" * size,
        lambda size: "(" * (size // 2) + ")" * (size // 2),
        lambda size: "[" * size,
        lambda size: ". [1.]" * (size // 6),
        lambda size: ".[" * (size // 2),
        lambda size: "`" * size,
        lambda size: "```a\n" * (size // 5),
        lambda size: "\n".join("`" * length for length in range(int((2 * size) ** 0.5), 3, -1)),
        lambda size: "\n" * size,
        lambda size: "a: b\n" * (size // 5),
        lambda size: "1." * (size // 2),
        lambda size: "A. " * (size // 3),
        lambda size: '."' * (size // 2),
    ],
    ids=range(16),
)
def test_hostile_text_twice_as_long_is_at_most_twice_the_work(hostile: Callable[[int], str]) -> None:
    def work(size: int) -> int:
        return lines_run(partial(split_sentences, hostile(size), "de"))

    assert work(100_000) < 2.2 * work(50_000) + 1000
