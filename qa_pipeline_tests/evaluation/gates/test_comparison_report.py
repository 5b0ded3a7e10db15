import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from qa_pipeline.evaluation.gates.changed_verdicts import Run
from qa_pipeline.evaluation.gates.comparison import compare_runs
from qa_pipeline.evaluation.gates.comparison_report import MOST_ANSWERS, TEXTS, comparison_report
from qa_pipeline.evaluation.reports.stored_report import read_report, read_statements
from qa_pipeline_tests.evaluation.stored_reports import continuous, write_report

HOSTILE = "</script><img src=x onerror=alert(1)>\"' onload=x {{ 7*7 }}{% raw %} \u202egnp.exe &lt;b&gt;"
GOOD = {"faithfulness": continuous(60), "token_f1": continuous(60)}
WORSE = {
    "faithfulness": [score * (0.8 + 0.01 * (row % 5)) for row, score in enumerate(GOOD["faithfulness"])],
    "token_f1": GOOD["token_f1"],
}


def run_of(folder: Path, scores: Any, name: str | None = None, **how: Any) -> Run:
    write_report(folder, scores, **how)
    return Run(name or folder.name, read_report(folder, TEXTS), read_statements(folder))


def page_of(runs: Sequence[Run], *, paired: bool = True) -> LexborHTMLParser:
    reports = [run.report for run in runs]
    return LexborHTMLParser(comparison_report(runs, compare_runs(reports[0], reports[1:], paired=paired)))


def text_of(page: LexborHTMLParser, selector: str) -> list[str]:
    return [" ".join(node.text().split()) for node in page.css(selector)]


def test_each_metric_has_a_line_for_each_run_and_says_which_is_worse(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / "a", GOOD), run_of(tmp_path / "b", GOOD), run_of(tmp_path / "c", WORSE)]
    page = page_of(runs)
    assert text_of(page, "#metrics tbody td.run") == ["a", "b", "c"]
    assert text_of(page, "#metrics mark") == ["▼ worse"]
    assert text_of(page, "#others mark") == []
    assert text_of(page, ".headline") == [
        "b shows no difference by any metric.",
        "c is worse by faithfulness; 1 metric shows no difference.",
    ]


def test_an_answer_that_changed_shows_both_answers_with_what_is_not_supported(tmp_path: Path) -> None:
    same = ["supported"] * 3
    before = run_of(tmp_path / "a", {"faithfulness": [1.0] * 3}, verdicts=same)
    now = run_of(
        tmp_path / "b", {"faithfulness": [1.0, 0.0, 1.0]}, verdicts=["supported", "unsupported", "supported"]
    )
    page = page_of([before, now])
    (card,) = page.css("article.row")
    assert [" ".join(node.text().split()) for node in card.css("h4")] == ["a", "b"]
    assert [node.text() for node in card.css("p.text")] == ["Ann.1 Bob.", "Ann.1 Bob."]
    assert [node.attributes["class"] for node in card.css("p.text mark")] == ["supported", "unsupported"]
    (listed,) = card.css(".evidence li")
    assert "Eve." in listed.text()
    assert "faithfulness 1.000 → 0.000" in card.text()


def test_a_reader_chooses_by_change_run_verdict_and_category(tmp_path: Path) -> None:
    scores = {"faithfulness": [0.5, 0.5]}
    runs = [
        run_of(tmp_path / name, scores, verdicts=verdicts)
        for name, verdicts in (
            ("a", ["supported", "unsupported"]),
            ("b", ["unsupported", "unsupported"]),
            ("c", ["supported", "supported"]),
        )
    ]
    page = page_of(runs)
    offered = {
        node.attributes["name"]: [option.text() for option in node.css("option")]
        for node in page.css("select")
    }
    assert offered == {
        "change": ["all", "better", "worse"],
        "run": ["all", "b", "c"],
        "before": ["all", "supported", "unsupported"],
        "now": ["all", "supported", "unsupported"],
    }


def test_texts_and_names_of_others_are_letters_wherever_they_stand(tmp_path: Path) -> None:
    texts = dict.fromkeys(("query", "answer", "category", "language", "quote", "document", "text"), HOSTILE)
    runs = [
        run_of(
            tmp_path / name,
            {"faithfulness": [0.5, 0.5]},
            name=HOSTILE + name,
            verdicts=[verdict, HOSTILE],
            texts=texts,
            ids=[HOSTILE, "b"],
            dataset=HOSTILE,
            settings={HOSTILE: HOSTILE},
        )
        for name, verdict in (("a", "supported"), ("b", "contradicted"))
    ]
    page = page_of(runs)
    assert page.css("img") == []
    assert len(page.css("script")) == 1
    assert [name for node in page.css("*") for name in node.attributes if name.startswith("on")] == []
    assert page.html is not None
    assert page.html.count("{{ 7*7 }}") > 5
    for node in page.css("body *"):
        text = "".join(part.text(deep=False) for part in node.iter(include_text=True) if part.tag == "-text")
        assert "\u202e" not in text or node.tag in ("bdi", "option"), node.tag


def test_the_parts_of_the_page_are_named_and_headed(tmp_path: Path) -> None:
    page = page_of([
        run_of(tmp_path / "a", GOOD, verdicts=["supported"] * 60),
        run_of(tmp_path / "b", WORSE, verdicts=["unsupported"] * 60),
    ])  # fmt: skip
    names = [node.attributes["id"] for node in page.css("[id]")]
    assert len(names) == len(set(names))
    pointed = [node.attributes["aria-labelledby"] for node in page.css("[aria-labelledby]")]
    pointed += [(node.attributes["href"] or "")[1:] for node in page.css("a")]
    assert set(pointed) <= set(names)
    assert all(node.attributes.get("scope") for node in page.css("th"))
    levels = [int((node.tag or "")[1]) for node in page.css("h1, h2, h3, h4")]
    assert all(later - level <= 1 for level, later in itertools.pairwise(levels))
    assert {node.attributes.get("tabindex") for node in page.css(".wide")} == {"0"}


def test_a_page_of_many_changes_has_the_worst_and_the_best_of_them(tmp_path: Path) -> None:
    count = 2 * MOST_ANSWERS
    before = ["supported"] * count + ["contradicted"] * 3
    after = ["contradicted"] * count + ["supported"] * 3
    scores = {"faithfulness": [0.5] * len(before)}
    page = page_of([
        run_of(tmp_path / "a", scores, verdicts=before), run_of(tmp_path / "b", scores, verdicts=after)
    ])  # fmt: skip
    cards = page.css("article.row")
    assert len(cards) == MOST_ANSWERS
    assert sum("better:" in card.text() for card in cards) == 3


def test_runs_over_different_rows_have_no_answers_to_compare(tmp_path: Path) -> None:
    runs = [
        run_of(tmp_path / "a", GOOD, dataset="boilers", verdicts=["supported"]),
        run_of(tmp_path / "b", WORSE, dataset="boilers", sha256="b" * 64, verdicts=["unsupported"]),
    ]
    page = page_of(runs, paired=False)
    assert page.css("article.row") == []
    assert "as independent samples" in text_of(page, "header p")[0]
    assert text_of(page, "[aria-label=Runs] td:nth-child(3)") == ["boilers (aaaaaaaa)", "boilers (bbbbbbbb)"]


@pytest.mark.parametrize("verdicts", [[], [None, None]])
def test_without_statements_the_page_says_that_changes_are_not_known(
    tmp_path: Path, verdicts: Sequence[None]
) -> None:
    scores = {"faithfulness": [None, None]}
    page = page_of([
        run_of(tmp_path / "a", scores, verdicts=verdicts), run_of(tmp_path / "b", scores, verdicts=verdicts)
    ])  # fmt: skip
    assert "Not known: a run has no statements." in text_of(page, "#changed p")[0]


def test_settings_in_which_runs_differ_are_marked(tmp_path: Path) -> None:
    runs = [
        run_of(tmp_path / name, GOOD, settings={"judge": judge, "undecided": "unknown", "limit": None})
        for name, judge in (("a", None), ("b", "gemini/x"))
    ]
    page = page_of(runs)
    assert text_of(page, "#how tbody tr") == ["judge (differs)–gemini/x", "undecidedunknownunknown"]
    assert text_of(page, ".notes li") == [
        "b: measured otherwise: judge is None in baseline, gemini/x in current"
    ]
