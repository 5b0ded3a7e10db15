from pathlib import Path

import pytest

from qa_pipeline.documents.masking.masking import text_mask
from qa_pipeline.documents.masking.names import names_version
from qa_pipeline.documents.parsing import parser_version
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.documents import DocumentSettings, MaskingSettings

spacy = pytest.importorskip("spacy")


def pipeline(folder: Path, *people: str, label: str = "PERSON") -> str:
    """A pipeline on disk that knows a few people and a town."""
    made = spacy.blank("xx")
    ruler = made.add_pipe("entity_ruler")
    patterns = [{"label": label, "pattern": name} for name in people]
    ruler.add_patterns([*patterns, {"label": "LOC", "pattern": "Lund"}])
    made.to_disk(folder)
    return str(folder)


def masking(*models: str, action: str = "drop") -> MaskingSettings:
    return MaskingSettings.model_validate(
        {"action": action, "names_models": models, "key": "a key that is long enough"}
    )


@pytest.mark.parametrize("label", ["PERSON", "PER", "PRS"])
def test_persons_are_masked_and_places_stay(tmp_path: Path, label: str) -> None:
    mask = text_mask(masking(pipeline(tmp_path, "Anna Berg", label=label)))
    assert mask("Anna Berg, Lund, anna@example.com") == (
        "[removed], Lund, [removed]",
        {"name": 1, "email": 1},
    )


def test_what_any_of_several_pipelines_finds_is_masked(tmp_path: Path) -> None:
    models = pipeline(tmp_path / "a", "Anna Berg"), pipeline(tmp_path / "b", "Bo Ek", "Anna")
    assert text_mask(masking(*models))("Anna Berg and Bo Ek")[0] == "[removed] and [removed]"


def test_a_name_has_one_token_and_masking_twice_changes_nothing(tmp_path: Path) -> None:
    mask = text_mask(masking(pipeline(tmp_path, "Anna Berg", "ANNA BERG"), action="mask"))
    masked, _ = mask("Anna Berg, ANNA BERG")
    first, second = masked.split(", ")
    assert first == second
    assert mask(masked) == (masked, {})


def test_a_pipeline_that_is_not_there_is_named_before_a_file_is_read() -> None:
    with pytest.raises(SettingsError, match="no_such_pipeline"):
        text_mask(masking("no_such_pipeline"))


def test_another_pipeline_of_the_same_name_reads_the_documents_again(tmp_path: Path) -> None:
    settings = DocumentSettings(masking=masking(pipeline(tmp_path, "Anna Berg")))
    before = parser_version(settings)
    assert names_version(settings.masking.names_models)
    pipeline(tmp_path, "Anna Berg", "Bo Ek")
    (tmp_path / "meta.json").write_text((tmp_path / "meta.json").read_text().replace("0.0.0", "0.0.1"))
    assert parser_version(settings) != before
