import base64
import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from qa_pipeline_tests.evaluation.reported import Row, asked, said, stored

HOSTILE = (
    "</script><img src=x onerror=alert(1)>\"' onload=x {{ 7*7 }}{% raw %} \u202egnp.exe <!-- ]]> &lt;b&gt;"
)


def page(folder: Path, rows: list[Row], statements: list[Row] | None = None, **told: Any) -> str:
    stored(folder, rows, statements or [], **told)
    return (folder / "report.html").read_text(encoding="utf-8")


def first(tree: LexborHTMLParser | LexborNode, selector: str) -> LexborNode:
    found = tree.css_first(selector)
    assert found is not None, selector
    return found


def hostile_page(folder: Path) -> str:
    names = ("id", "query", "answer", "group", "dataset", "category", "difficulty", "language", "reference")
    context = {
        "text": HOSTILE,
        "document": HOSTILE,
        "rank": 1,
        "score": None,
        "date": None,
        "authority": None,
    }
    row = asked(0, **dict.fromkeys(names, HOSTILE), contexts=[context])
    told: Row = dict.fromkeys(("id", "text", "reason", "quote", "document", "decided_by"), HOSTILE)
    statements = [said(**told, end=len(HOSTILE)), said(verdict=HOSTILE, **told, start=3, end=len(HOSTILE))]
    return page(folder, [row, asked(1)], statements, settings={"model": HOSTILE})


def test_texts_of_the_data_are_letters_wherever_they_stand(tmp_path: Path) -> None:
    html = hostile_page(tmp_path)
    tree = LexborHTMLParser(html)
    assert tree.css("img") == []
    assert tree.css("script") == []
    scripted = [name for node in tree.css("*") for name in node.attributes if name.startswith("on")]
    assert scripted == []
    assert html.count("{{ 7*7 }}") == html.count("{% raw %}") > 8
    assert "49" not in first(tree, "h1").text()


def test_the_page_has_its_own_style_runs_no_script_and_fetches_nothing(tmp_path: Path) -> None:
    tree = LexborHTMLParser(hostile_page(tmp_path))
    policy = first(tree, "meta[http-equiv=Content-Security-Policy]").attributes["content"] or ""
    (held,) = tree.css("style")
    digest = base64.b64encode(hashlib.sha256(held.text().encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    own = [node for node in tree.css("*") if {"src", "style", "action", "srcset"} & set(node.attributes)]
    assert own == []
    assert all((node.attributes["href"] or "").startswith("#") for node in tree.css("[href]"))


def test_statements_have_verdict_and_evidence(tmp_path: Path) -> None:
    told = [said(0, start=5, end=9, quote="Bob it was.", document="a.md", score=0.25, reason="negation")]
    tree = LexborHTMLParser(page(tmp_path, [asked(0), asked(1)], told))
    card = first(tree, "article.row")
    beside = first(card, ".evidence").text()
    assert all(
        one in beside
        for one in ("1 ✗ unsupported", "by similarity (negation), score 0.25", "Bob it was.", "a.md")
    )


LETTERS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=40)


@given(st.lists(LETTERS, min_size=1, max_size=15))
def test_any_text_is_read_back_as_it_was(texts: list[str]) -> None:
    rows = [asked(number, query=text) for number, text in enumerate(texts)]
    with TemporaryDirectory() as folder:
        tree = LexborHTMLParser(page(Path(folder), rows))
    assert [node.text() for node in tree.css("article.row h3")] == texts
