import json
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.settings.verification import read_thresholds
from qa_pipeline_tests.settings.artefacts import thresholds, written


def test_an_artefact_is_read_as_it_was_written(tmp_path: Path) -> None:
    artefact = thresholds(entailment={"accept": 0.9, "reject": 0.1, "contradict": 0.8})
    assert read_thresholds(written(tmp_path, artefact)) == artefact


def test_without_a_file_no_score_decides() -> None:
    assert not read_thresholds(None).band.decides


def test_the_id_is_of_the_content() -> None:
    one = thresholds(entailment={"accept": 0.9})
    assert thresholds(entailment={"accept": 0.91}).full_id != one.full_id


def changed(path: Path, **values: Any) -> Path:
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | values))
    return path


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"band": {"accept": "0.9"}}, "band.accept"),
        ({"other": {}}, "other"),
        ({"schema": 3}, "schema"),
        ({"fits": [{"side": "left"}]}, "fits.0.side"),
    ],
)
def test_a_file_that_is_no_artefact_is_refused_and_says_where(
    tmp_path: Path, values: dict[str, Any], told: str
) -> None:
    path = changed(written(tmp_path, thresholds(entailment={"accept": 0.9})), **values)
    with pytest.raises(SettingsError, match=told) as error:
        read_thresholds(path)
    assert str(path) in str(error.value)


def test_a_chosen_artefact_of_another_model_stops_at_load_and_names_both(tmp_path: Path) -> None:
    path = written(tmp_path, thresholds(entailment={"accept": 0.9}))
    fitting = {"thresholds": path, "entailment": {"model": "reader"}}
    settings = load_settings(verification=fitting)
    assert settings.verification.thresholds_id.startswith("test-")
    for other in ("other/reader", None):
        with pytest.raises(SettingsError, match=f"reader, .*{other}"):
            load_settings(verification=fitting | {"entailment": {"model": other}})
