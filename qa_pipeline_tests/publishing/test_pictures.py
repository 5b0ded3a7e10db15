import json
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from qa_pipeline.publishing.pictures import draw_scores, draw_yield, waterfall
from qa_pipeline_tests.end_to_end import Workspace


@pytest.fixture
def facts(published: Workspace) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((published.out / "releases" / "1" / "facts.json").read_bytes())
    return said


def test_from_each_total_the_losses_lead_to_the_next(facts: dict[str, Any]) -> None:
    steps = waterfall(facts, {"joins_splits": 0})
    left = None
    for name, count, before in steps:
        if before < 0:
            assert left in (None, count) or name == "pairs made", name
            left = count
        else:
            assert (left, count > 0) == (before, True)
            left = before - count
    assert steps[0][0] == "questions planned"
    assert steps[-1] == ("rows released", facts["rows"]["rows"], -1)


def test_of_many_reasons_the_most_frequent_are_drawn_and_the_others_added_up(facts: dict[str, Any]) -> None:
    facts["funnel"] += [
        {"stage": "verdicts", "what": "rejected", "reason": f"r{n}", "count": n + 1} for n in range(12)
    ]
    names = [name for name, _, _ in waterfall(facts, {})]
    assert "rejected: r11" in names
    assert "rejected: r1" not in names
    assert "lost for other reasons" in names


def test_without_questions_the_pairs_come_first(facts: dict[str, Any]) -> None:
    facts["funnel"] = [{**one, "count": 0} if one["stage"] == "questions" else one for one in facts["funnel"]]
    assert waterfall(facts, {})[0][0] == "pairs made"


def test_equal_facts_give_equal_pictures_without_a_date(facts: dict[str, Any]) -> None:
    steps = waterfall(facts, {})
    assert draw_yield(steps) == draw_yield(steps)
    with Image.open(BytesIO(draw_yield(steps))) as picture:
        assert picture.size[0] >= 800
        assert set(picture.info) <= {"dpi"}
    scores = draw_scores(facts["scores"])
    assert scores is not None
    assert scores == draw_scores(facts["scores"])


def test_without_scores_there_is_no_picture_of_them() -> None:
    assert draw_scores({}) is None


def test_names_are_letters_and_no_markup() -> None:
    hostile = [("$\\frac{1}{", 5, -1), ("a\x1b[2Jb", 2, 5), ("x" * 500, 3, -1)]
    assert draw_yield(hostile).startswith(b"\x89PNG")
