from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.documents.parsing import parser_version
from qa_pipeline.errors import SettingsError
from qa_pipeline.pipeline.versions import code_version
from qa_pipeline.settings.documents import DocumentSettings, MaskingSettings
from qa_pipeline.settings.tree import Settings, load_settings

KEY = "a key that is long enough"


def masked(**chosen: Any) -> DocumentSettings:
    return DocumentSettings.model_validate({"masking": chosen})


@pytest.mark.parametrize("chosen", [{}, {"key": "short"}])
def test_tokens_need_a_key_and_the_message_names_the_variable_and_not_the_key(chosen: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="QA_PIPELINE_DOCUMENTS__MASKING__KEY") as raised:
        load_settings(documents={"masking": {"action": "mask", **chosen}})
    assert "short'" not in str(raised.value)


def test_off_in_a_settings_file_is_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("documents: {masking: {action: off}}\n")
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", str(file))
    assert load_settings().documents.masking.action == "off"


@pytest.mark.parametrize(
    "chosen",
    [
        {"action": "hide"},
        {"action": "drop", "kinds": []},
        {"kinds": ["shoe_size"]},
        {"phone_regions": ["Sweden"]},
    ],
)
def test_what_cannot_be_done_is_an_error(chosen: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"documents\.masking"):
        load_settings(documents={"masking": chosen})


def test_the_key_is_in_no_way_to_write_settings_down() -> None:
    settings = Settings(documents=masked(action="mask", key=KEY))
    dumps = (settings.model_dump(), settings.model_dump(mode="json"), settings.model_dump_json())
    written = " ".join(map(str, (settings, repr(settings), *dumps)))
    assert KEY not in written
    assert all(KEY not in code_version(step, settings) for step in ("documents", "pairs"))


def test_another_key_and_another_action_read_the_documents_and_pairs_again() -> None:
    chosen = [{"action": "mask", "key": KEY}, {"action": "mask", "key": KEY + "!"}, {"action": "drop"}, {}]
    assert len({parser_version(masked(**one)) for one in chosen}) == 4
    for step in ("documents", "pairs"):
        assert len({code_version(step, Settings(documents=masked(**one))) for one in chosen}) == 4


def test_a_validation_error_quotes_no_input() -> None:
    with pytest.raises(ValueError, match="key") as raised:
        Settings.model_validate({"documents": {"masking": {"action": "mask", "key": "sesame"}}})
    assert "sesame" not in str(raised.value)
    with pytest.raises(ValueError, match="key") as raised:
        MaskingSettings.model_validate({"action": "mask", "key": "sesame"})
    assert "sesame" not in str(raised.value)
