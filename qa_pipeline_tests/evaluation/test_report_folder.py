import hashlib
from pathlib import Path

import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.answered_questions import RAG_ROWS
from qa_pipeline.evaluation.report_folder import dataset_sha256, new_report
from qa_pipeline_tests.evaluation.reported import asked, framed, stored

ROWS = [asked(number, category="ab"[number % 2], faithfulness=number / 5) for number in range(6)]


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def sha(*rows: dict[str, object]) -> str:
    return dataset_sha256(framed(rows, RAG_ROWS))


def test_who_answers_and_the_order_of_rows_do_not_change_the_data_set() -> None:
    first, second = asked(0, reference="Ann"), asked(1, must_refuse=True)
    other = {**first, "answer": "Eve.", "seconds": 1.0, "contexts": [], "language": "de", "group": "x"}
    assert sha(first, second) == sha(second, first) == sha(other, second)


def _stopped(place: Path) -> None:
    with new_report(place, replace=True) as folder:
        stored(folder, ROWS[:2])
        raise KeyboardInterrupt


def test_a_report_takes_its_name_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "report"
    with pytest.raises(KeyboardInterrupt):
        _stopped(place)
    assert list((tmp_path / "deep").iterdir()) == []
    with new_report(place) as folder:
        stored(folder, ROWS)
        assert not place.exists()
    assert [one.name for one in (tmp_path / "deep").iterdir()] == ["report"]


def test_a_report_is_replaced_only_if_that_is_wanted_and_only_whole(tmp_path: Path) -> None:
    place = tmp_path / "report"
    stored(place, ROWS)
    before = contents(place)
    with pytest.raises(InputError, match="--replace"), new_report(place):
        pass
    with pytest.raises(KeyboardInterrupt):
        _stopped(place)
    assert contents(place) == before
    with new_report(place, replace=True) as folder:
        stored(folder, ROWS[:2])
    assert contents(place) != before
    assert [one.name for one in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize("content", [None, "{"])
def test_what_is_no_report_is_never_replaced(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    with pytest.raises(InputError), new_report(tmp_path, replace=True):
        pass
    assert (tmp_path / "notes.txt").read_text() == "mine"
