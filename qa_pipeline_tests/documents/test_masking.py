from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.documents.corpus.corpora import open_folder
from qa_pipeline.documents.corpus.files import read_description
from qa_pipeline.documents.masking import (
    check_name,
    mask_path,
    reference_mask,
    text_mask,
)
from qa_pipeline.documents.parsing import parser_version
from qa_pipeline.errors import CorpusError, SettingsError
from qa_pipeline.pipeline.fingerprint import code_version
from qa_pipeline.settings.documents import DocumentSettings, MaskingAction, MaskingSettings
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.text.references import normalise_path, split_reference
from qa_pipeline_tests.documents.builders import write_files

KEY = "a key that is long enough"


def masking(action: MaskingAction, **more: Any) -> MaskingSettings:
    return MaskingSettings.model_validate({"action": action, "key": KEY, **more})


def test_a_batch_whose_name_holds_an_item_is_refused_without_telling_it() -> None:
    with pytest.raises(CorpusError, match="personnummer") as raised:
        check_name("kund 811218-9876", masking("drop"))
    assert "9876" not in str(raised.value)
    check_name("kund 811218-9876", masking("flag"))


def masked(**chosen: Any) -> DocumentSettings:
    return DocumentSettings.model_validate({"masking": chosen})


@pytest.mark.parametrize("chosen", [{}, {"key": "short"}])
def test_tokens_need_a_key_and_the_message_names_the_variable_and_not_the_key(chosen: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="QA_PIPELINE_DOCUMENTS__MASKING__KEY") as raised:
        load_settings(documents={"masking": {"action": "mask", **chosen}})
    assert "short'" not in str(raised.value)


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


DROP = MaskingSettings(action="drop")
MASK = MaskingSettings.model_validate({"action": "mask", "key": "a key that is long enough"})


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("letters/anna@example.com.md", "letters/removed.md"),
        ("kunder/cv_811218-9876_2.pdf", "kunder/cv_removed_2.pdf"),
        ("2024-01-15/sfs-2010-800.md", "2024-01-15/sfs-2010-800.md"),
        ("anna\u00ad@example.com.md", "removed.md"),
    ],
)
def test_each_name_of_a_path_is_masked_and_its_suffix_stays(path: str, shown: str) -> None:
    assert mask_path(path, text_mask(DROP, bare=True))[0] == shown


@pytest.mark.parametrize(
    "reference",
    [
        "letters/anna@example.com.md",
        "source: ./letters/ANNA@example.com.md#Contact",
        "letters/anna%40example.com.md",
        "letters\\anna@example.com.md",
    ],
)
def test_a_reference_still_names_the_document_whose_path_was_masked(reference: str) -> None:
    stored = mask_path("letters/anna@example.com.md", text_mask(MASK, bare=True))[0]
    path, _ = split_reference(reference_mask(MASK)(reference))
    assert normalise_path(path) == normalise_path(stored)


def test_a_mistake_in_the_description_is_reported_without_what_it_quotes(tmp_path: Path) -> None:
    write_files(tmp_path, {"batch.yaml": "documents:\n  anna@example.com.md: {license: bo@example.com}\n"})
    with pytest.raises(CorpusError, match="license") as raised:
        read_description(open_folder(tmp_path), text_mask(masking("drop"), bare=True))
    assert "example.com" not in f"{raised.value} {raised.value.__cause__}"
