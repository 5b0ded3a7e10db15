import ast
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.requests import Request
from starlette.testclient import TestClient

from qa_pipeline.curation.decisions import APPLIED, EDITED, REOPENED, REPLACED, STALE, TAKEN_BACK
from qa_pipeline.curation.ledger import SCORES
from qa_pipeline.curation.reasons import REASONS
from qa_pipeline.evaluation.reports.rating_sheet import CATEGORIES
from qa_pipeline.pipeline.stages import STAGES
from qa_pipeline.publishing.certificate import LABELS
from qa_pipeline.records import QuestionType
from qa_pipeline.review import languages, overview_view
from qa_pipeline.review.decision_view import FIELDS, KEYS
from qa_pipeline.review.languages import (
    COOKIE,
    ENGLISH,
    LANGUAGES,
    PhrasedError,
    Phrases,
    environment,
    language_of,
    read_phrases,
)
from qa_pipeline.review.pair_view import STEPS
from qa_pipeline.review.queue import COLUMNS, LISTS
from qa_pipeline.review.sample_sheet import CATEGORIES as WORTH
from qa_pipeline.review.sample_sheet import CRITERION
from qa_pipeline.text.rendering import words
from qa_pipeline_tests.end_to_end import Workspace

OTHERS = [language for language in LANGUAGES if language != ENGLISH]
FOLDER = Path(languages.__file__).parent
PACKAGE = FOLDER.parents[1]
VERDICTS = ("accepted", "rejected", "needs_review", "failed")
OF_CLAIMS = ("supported", "unsupported", "contradicted", "undecided")
STATES = (APPLIED, STALE, REPLACED, TAKEN_BACK, EDITED, REOPENED, "recorded since the last run")
TEXTS = [
    *STEPS.values(),
    *(pair_list.title for pair_list in LISTS.values()),
    *(name.capitalize() for name in COLUMNS),
    *KEYS.values(),
    *REASONS.values(),
    *overview_view._SCORES.values(),
    *map(words, [*VERDICTS, *OF_CLAIMS, *STATES, *get_args(QuestionType), *SCORES, *STAGES]),
    *[*LABELS, *CATEGORIES, *WORTH, CRITERION, "rating"],
    *map(words, FIELDS[:4]),
]
"""What pages show by the filters `phrase`, `words` and `reason`, as far as lists of the package have it."""
ANY_QUOTE = '"…"'
"""Words that a difference of claim and evidence quotes."""
PLACE = re.compile(r'%\((\w+)\)[sr]|</?\w+>|%%|"…"')


def of_templates() -> dict[str, str | None]:
    """Return the phrases of the templates, with what they are for many where they count."""
    english = environment(ENGLISH)
    phrases: dict[str, str | None] = {}
    for template in FOLDER.glob("templates/*.j2"):
        for _, function, message in english.extract_translations(template.read_text("utf-8")):  # type: ignore[attr-defined]
            texts = [message] if isinstance(message, str) else list(message)
            phrases[texts[0]] = texts[1] if function == "ngettext" else None
    return phrases


def of_modules() -> Iterator[str]:
    """Yield the phrases of errors and messages."""
    for module in FOLDER.glob("*.py"):
        tree = ast.parse(module.read_text("utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = getattr(call.func, "id", "")
            texts = call.args[:1] if name == "PhrasedError" else call.args[2:4] if name == "message" else []
            for text in texts:
                if isinstance(text, ast.Constant):
                    yield str(text.value)
                elif isinstance(text, ast.Name):
                    yield from assigned_texts(tree, text.id)


def assigned_texts(tree: ast.Module, name: str) -> Iterator[str]:
    assignments = (node for node in ast.walk(tree) if isinstance(node, ast.Assign))
    for node in assignments:
        if getattr(node.targets[0], "id", "") == name and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


@pytest.fixture(scope="module")
def needed() -> dict[str, str | None]:
    return dict.fromkeys([*of_modules(), *TEXTS]) | of_templates()


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_every_phrase(language: str, needed: dict[str, str | None]) -> None:
    assert sorted(needed.keys() - read_phrases(language).keys()) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_no_phrase_that_nothing_shows(language: str, needed: dict[str, str | None]) -> None:
    code = "\n".join(file.read_text("utf-8") for file in PACKAGE.rglob("*.py"))
    rest = read_phrases(language).keys() - needed.keys()
    superfluous = []
    for phrase in sorted(rest):
        pieces = phrase.replace("'", "\\'").split(ANY_QUOTE)
        is_written = f'"{phrase}"' in code or f'"{phrase.replace(" ", "_")}"' in code
        if not is_written and (len(pieces) == 1 or not all(piece in code for piece in pieces)):
            superfluous.append(phrase)
    assert superfluous == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_values_and_tags_of_its_phrase(
    language: str, needed: dict[str, str | None]
) -> None:
    different = []
    for phrase, translation in read_phrases(language).items():
        many = needed.get(phrase)
        forms = (
            [(phrase, translation)] if many is None else list(zip((phrase, many), translation, strict=True))
        )
        different += [
            (text, form)
            for text, form in forms
            if sorted(PLACE.findall(text)) != sorted(PLACE.findall(form)) or not form.strip()
        ]
    assert different == []


@pytest.mark.parametrize("language", OTHERS)
def test_languages_have_the_same_phrases_in_the_same_order(language: str) -> None:
    assert list(read_phrases(language)) == list(read_phrases(OTHERS[0]))


def shown_texts(html: str) -> set[str]:
    """Return what a page says: its texts and names, without those of documents, people and commands."""
    tree = LexborHTMLParser(html)
    names = {
        node.attributes.get(name) or ""
        for name in ("aria-label", "title", "placeholder")
        for node in tree.css(f"[{name}]")
    }
    for node in tree.css("bdi, code, pre, footer, script, style, textarea, [dir=auto], .values"):
        node.decompose()
    texts = {node.text(deep=False) or "" for node in chain(tree.css("title"), tree.css("body *"))}
    return {" ".join(text.split()) for text in names | texts} - {""}


def english_of(texts: set[str], language: str) -> list[str]:
    """Return what of the texts is English that has a translation."""
    catalog = read_phrases(language)
    english = []
    for phrase, translation in catalog.items():
        if translation == phrase or isinstance(translation, list):
            continue
        pattern = re.compile(re.sub(r"%\\\(\w+\\\)[sr]", ".+", re.escape(PLACE.sub(r"\g<0>", phrase))))
        is_short = " " not in phrase
        english += [
            text
            for text in texts
            if text not in catalog.values()
            and (pattern.fullmatch(text) if is_short else pattern.search(text))
        ]
    return english


PAGES = (
    "/",
    "/?list=all",
    "/?list=all&search=nowhere",
    "/ask",
    "/overview",
    "/sheets",
    "/decisions",
    "/nowhere",
    "/pair/b/gone",
)


@pytest.mark.parametrize("language", OTHERS)
def test_no_page_says_a_phrase_in_english(client: TestClient, language: str) -> None:
    client.headers["accept-language"] = language
    queue = client.get("/?list=all").text
    pairs = re.findall(r'href="(/pair/[^"]+)"', queue)
    documents = re.findall(r'href="(/document/[^"#]+)', "".join(client.get(pair).text for pair in pairs))
    for address in {*PAGES, *pairs, *documents}:
        page = client.get(address.replace("&amp;", "&")).text
        assert f'<html lang="{language}">' in page, address
        assert english_of(shown_texts(page), language) == [], address


@pytest.mark.parametrize(
    ("language", "accepted", "edited"),
    [
        ("sv", "Godkänt och sparat på disken:", "Det ändrade paret, ännu inte sparat"),
        (
            "de",
            "Angenommen und auf der Festplatte gespeichert:",
            "Das geänderte Paar, noch nicht gespeichert",
        ),
    ],
)
def test_what_a_form_does_is_said_in_the_language(
    client: TestClient, language: str, accepted: str, edited: str
) -> None:
    client.headers |= {"accept-language": language, "origin": "http://127.0.0.1"}
    pair = re.findall(r'href="(/pair/b/\w+)\?', client.get("/?list=all").text)[0]
    form = {
        field.attributes["name"] or "": field.attributes.get("value") or ""
        for field in LexborHTMLParser(client.get(pair).text).css("form.decide input[type=hidden]")
    }
    preview = client.post(
        f"{pair}/decision", data={**form, "decision": "edited", "edited_answer": "It is 9."}
    )
    refusal = client.post(f"{pair}/decision", data={**form, "decision": "edited"})
    decided = client.post(f"{pair}/decision", data={**form, "decision": "accepted"})
    assert edited in preview.text
    assert accepted in decided.text
    assert refusal.status_code == 409
    pages = [preview, decided, refusal, *map(client.get, ["/?list=decided", "/decisions", "/overview"])]
    assert [english_of(shown_texts(page.text), language) for page in pages] == [[]] * len(pages)


def test_english_on_a_page_is_found(client: TestClient) -> None:
    english = english_of(shown_texts(client.get("/?list=all").text), "sv")
    assert {"Queue", "Clear filters", "Search in question and answer"} <= set(english)


@pytest.mark.parametrize("language", OTHERS)
def test_who_is_not_signed_in_reads_so_in_their_language(client: TestClient, language: str) -> None:
    client.cookies.clear()
    reply = client.get("/", headers={"accept-language": language})
    assert reply.status_code == 401
    assert english_of(shown_texts(reply.text), language) == []


def request(header: str = "", query: str = "", cookie: str = "") -> Request:
    headers = [(b"accept-language", header.encode()), (b"cookie", f"{COOKIE}={cookie}".encode())]
    return Request({"type": "http", "headers": headers, "query_string": query.encode()})


@pytest.mark.parametrize(
    ("header", "query", "cookie", "language"),
    [
        ("", "", "", "en"),
        ("sv-SE,sv;q=0.9,en;q=0.8", "", "", "sv"),
        ("fr, de;q=0.5, sv;q=0.7", "", "", "sv"),
        ("en, de", "", "", "en"),
        ("fr;q=high, DE;q=0.5", "", "", "de"),
        ("sv", "", "de", "de"),
        ("sv", "lang=en", "de", "en"),
        ("sv", "lang=../../etc/passwd", "<script>", "sv"),
    ],
)
def test_the_address_goes_before_the_cookie_and_that_before_the_browser(
    header: str, query: str, cookie: str, language: str
) -> None:
    assert language_of(request(header, query, cookie)) == language


def test_a_chosen_language_is_remembered(client: TestClient) -> None:
    reply = client.get("/?lang=de&list=all")
    (cookie,) = reply.headers.get_list("set-cookie")
    assert all(part in cookie for part in ("qa_pipeline_language=de", "HttpOnly", "SameSite=strict"))
    assert '<html lang="de">' in client.get("/overview").text
    assert "set-cookie" not in client.get("/?lang=xx").headers


def test_links_to_other_languages_keep_the_address_and_drop_a_token(client: TestClient) -> None:
    page = client.get("/?list=all&search=valve&lang=de&token=secret").text
    footer = LexborHTMLParser(page).css_first("footer")
    assert footer is not None
    links = {link.attributes["hreflang"]: link.attributes["href"] for link in footer.css("a")}
    assert links["sv"] == "?list=all&search=valve&lang=sv"
    assert [link.text() for link in footer.css("a[aria-current]")] == ["Deutsch"]


def test_an_answer_to_a_form_links_to_pages_that_can_be_loaded(client: TestClient) -> None:
    page = client.post("/ask", data={"question": "?"}, headers={"origin": "http://127.0.0.1"})
    assert '<a href="/?lang=sv"' in page.text


@pytest.mark.parametrize(
    ("language", "number", "decimal", "share"),
    [
        ("en", "12,345", "0.25", "25.0%"),
        ("sv", "12\xa0345", "0,25", "25,0\xa0%"),
        ("de", "12.345", "0,25", "25,0\xa0%"),
    ],
)
def test_numbers_have_the_signs_of_the_language(language: str, number: str, decimal: str, share: str) -> None:
    template = "{{ 12345 | thousands }} {{ 0.25 | decimal }} {{ 1 | share(4) }} {{ 1 | share(0) }}"
    assert environment(language).from_string(template).render() == f"{number} {decimal} {share} –"


def test_an_error_is_said_in_the_language_with_its_values() -> None:
    error = PhrasedError(
        "the file holds %(count)s questions; at most %(most)s are answered", count=1500, most=1000
    )
    assert str(error) == "the file holds 1,500 questions; at most 1,000 are answered"
    assert Phrases("de").phrase(error) == "die Datei enthält 1.500 Fragen; höchstens 1.000 werden beantwortet"


def test_words_of_others_stay_as_they_are() -> None:
    swedish = Phrases("sv")
    assert swedish.phrase("100 % of {braces} and %(names)s") == "100 % of {braces} and %(names)s"
    assert swedish.reason("it is empty: really") == "den är tom: really"
    assert swedish.reason("something new") == "something new"


@pytest.mark.parametrize(
    ("difference", "swedish"),
    [
        ('"at 3 bar" became "at 5 bar"', '"at 3 bar" blev "at 5 bar"'),
        ('"a" left out; is followed by "B."', '"a" utelämnat; följs av "B."'),
        ('is followed by "a; b"', 'is followed by "a; b"'),
        ('"say "so"" left out', '"say "so"" left out'),
        ("no whole cell", "ingen hel tabellcell"),
        ("", ""),
    ],
)
def test_a_difference_keeps_the_words_that_it_quotes(difference: str, swedish: str) -> None:
    assert Phrases("sv").differences(difference) == swedish
    assert Phrases("en").differences(difference) == difference


def test_one_and_many_differ() -> None:
    one, many = "{{ count }} more difference", "{{ count }} more differences"
    template = f"{{% trans count=n %}}{one}{{% pluralize count %}}{many}{{% endtrans %}}"
    texts = [environment("de").from_string(template).render(n=n) for n in (0, 1, 2)]
    assert texts == ["0 weitere Unterschiede", "1 weiterer Unterschied", "2 weitere Unterschiede"]


def test_values_of_phrases_are_escaped(workspace: Workspace, sign_in: Callable[[Path], TestClient]) -> None:
    client = sign_in(workspace.out)
    page = client.get("/pair/b/<script>?lang=sv").text
    assert "inget par &#39;&lt;script&gt;&#39;" in page
    assert "<script>" not in page
