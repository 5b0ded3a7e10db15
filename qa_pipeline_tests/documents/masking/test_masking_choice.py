from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.documents.corpus.folders import open_folder
from qa_pipeline.documents.masking.masking import description_and_masking, masking_of
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.documents import MaskingAction, MaskingSettings
from qa_pipeline_tests.documents.builders import write_files

KEY = "a key that is long enough"


def masking(action: MaskingAction, **more: Any) -> MaskingSettings:
    return MaskingSettings.model_validate({"action": action, "key": KEY, **more})


@pytest.mark.parametrize(("action", "wanted"), [("off", "flag"), ("flag", "mask"), ("mask", "mask")])
def test_a_batch_may_ask_for_more_than_the_settings(action: MaskingAction, wanted: MaskingAction) -> None:
    assert masking_of(masking(action), wanted, "b") == masking(wanted)


@pytest.mark.parametrize(("action", "wanted"), [("drop", "mask"), ("mask", "flag"), ("flag", "off")])
def test_a_batch_may_ask_for_less_only_where_the_settings_let_it(
    action: MaskingAction, wanted: MaskingAction
) -> None:
    with pytest.raises(CorpusError, match="batches_may_loosen"):
        masking_of(masking(action), wanted, "b")
    loose = masking(action, batches_may_loosen=True)
    assert masking_of(loose, wanted, "b").action == wanted


def test_tokens_are_not_made_without_a_key() -> None:
    with pytest.raises(CorpusError, match="QA_PIPELINE_DOCUMENTS__MASKING__KEY"):
        masking_of(MaskingSettings(), "mask", "b")


@pytest.mark.parametrize(("line", "action"), [("off", "off"), ("mask", "mask")])
def test_the_description_of_a_batch_names_the_action(tmp_path: Path, line: str, action: str) -> None:
    write_files(tmp_path, {"batch.yaml": f"masking: {line}\n"})
    loose = masking("off", batches_may_loosen=True)
    assert description_and_masking("b", open_folder(tmp_path), loose)[1].action == action


def test_what_the_description_says_is_masked_and_still_looked_up_by_the_path_on_disk(tmp_path: Path) -> None:
    said = "licence: by anna@example.com\ndocuments:\n  anna@example.com.md: {source_uri: 'https://x.se/?m=bo@x.se'}"
    write_files(tmp_path, {"batch.yaml": said})
    description, _ = description_and_masking("b", open_folder(tmp_path), masking("drop"))
    assert description.licence == "by removed"
    assert description.stated_of("anna@example.com.md").source_uri == "https://x.se/?m=removed"


def test_a_batch_whose_name_holds_an_item_is_refused_without_telling_it(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="personnummer") as raised:
        description_and_masking("kund 811218-9876", open_folder(tmp_path), masking("drop"))
    assert "9876" not in str(raised.value)
    assert description_and_masking("kund 811218-9876", open_folder(tmp_path), masking("flag"))


def test_a_mistake_in_the_description_is_reported_without_what_it_quotes(tmp_path: Path) -> None:
    write_files(tmp_path, {"batch.yaml": "documents:\n  anna@example.com.md: {license: bo@example.com}\n"})
    with pytest.raises(CorpusError, match="license") as raised:
        description_and_masking("b", open_folder(tmp_path), masking("drop"))
    assert "example.com" not in f"{raised.value} {raised.value.__cause__}"
