from dataclasses import replace
from pathlib import Path

from markdown_it import MarkdownIt

from qa_pipeline.evaluation.comparison import ab_decision, compare_paired
from qa_pipeline.evaluation.comparison_pages import (
    Table,
    comparison_page,
    gate_page,
    markdown,
)
from qa_pipeline.evaluation.gate import Limits, gate
from qa_pipeline_tests.evaluation.stored_reports import continuous, report_of, stored
from qa_pipeline_tests.evaluation.test_gate import golden

HOSTILE = "<img src=x onerror=alert(1)> | [a](javascript:b)\n# c"


def html(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))


def test_a_gate_shows_failures_first(tmp_path: Path) -> None:
    now = stored(tmp_path / "a", {"grounding": continuous(30), "token_f1": continuous(30, 0.5)})
    before = stored(tmp_path / "b", {"grounding": continuous(30), "token_f1": continuous(30, 0.8, seed=1)})
    found = gate(now, before, Limits(thresholds={"grounding": 0.1}))
    page = markdown("Gate", gate_page(found))
    assert page.startswith("## Gate")
    assert page.index("❌ failed") < page.index("**2 passed**")
    assert "<table>" in html(page)


def test_names_of_others_are_no_markup(tmp_path: Path) -> None:
    now = report_of(
        stored(tmp_path, {"grounding": continuous(20)}).rows.rename({"grounding": HOSTILE}), HOSTILE
    )
    before = replace(now, dataset=HOSTILE, place=Path(HOSTILE), settings={HOSTILE: HOSTILE})
    compared = compare_paired(before, now)
    compared["decision"] = {"metric": HOSTILE, **ab_decision(compared["metrics"][HOSTILE])}
    compared["excluded"] = {HOSTILE: HOSTILE}
    rows = golden((HOSTILE, HOSTILE, 0.9))
    for page in (comparison_page(compared), gate_page(gate(now, before, golden=rows))):
        shown = html(markdown("Page", page))
        assert "<img" not in shown
        assert "<a " not in shown
        assert "<h1" not in shown


def test_the_id_of_a_row_cannot_steer_a_terminal(tmp_path: Path) -> None:
    report = stored(tmp_path, {"grounding": [0.5, 0.5]}, ids=["\x1b[2J\u202e", "b"])
    found = gate(report, golden=golden(("\x1b[2J\u202e", "grounding", 0.9)))
    shown = [one.rows for one in gate_page(found) if isinstance(one, Table)]
    assert "�[2J�" in [row[1] for rows in shown for row in rows]
