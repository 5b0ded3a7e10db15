import pytest

from qa_pipeline.documents.masking.masking import bare_mask, mask_path, reference_mask
from qa_pipeline.settings.documents import MaskingSettings
from qa_pipeline.text.references import normalise_path, split_reference

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
    assert mask_path(path, bare_mask(DROP))[0] == shown


@pytest.mark.parametrize(
    "reference",
    [
        "letters/anna@example.com.md",
        "[source:letters/anna@example.com.md]",
        "source: ./letters/ANNA@example.com.md#Contact",
        "letters/anna%40example.com.md",
        "letters\\anna@example.com.md",
    ],
)
def test_a_reference_still_names_the_document_whose_path_was_masked(reference: str) -> None:
    stored = mask_path("letters/anna@example.com.md", bare_mask(MASK))[0]
    path, _ = split_reference(reference_mask(MASK)(reference))
    assert normalise_path(path) == normalise_path(stored)
