"""Questions and proved answers through the Python API, from texts, a file and a folder."""

from pathlib import Path

import pytest

from qa_pipeline.api.generation import generate
from qa_pipeline.errors import InputError

TEXT = """# Fees of the library of Auental

| Reader | Late fee |
|---|---|
| Adult | 20 euros |
| Child | 5 euros |

The library is a public house of books in the middle of the town.
"""


def test_texts_a_file_and_a_folder_give_proved_answers(tmp_path: Path) -> None:
    file = tmp_path / "text-000001.md"
    file.write_text(TEXT, "utf-8")
    of_text = generate([TEXT])
    accepted = of_text.filter(verdict="accepted")
    assert accepted.height
    for evidence in accepted["evidence"].to_list():
        assert all(piece["quote"] in TEXT or "|" in piece["quote"] for piece in evidence)
    assert of_text["verdict"].to_list() == sorted(
        of_text["verdict"], key=lambda verdict: verdict != "accepted"
    )
    assert generate(file).equals(of_text)
    assert generate(tmp_path).equals(of_text)


@pytest.mark.parametrize("documents", [[], [3], "nowhere"])
def test_what_names_no_document_is_refused(documents: object) -> None:
    with pytest.raises(InputError, match=r"documents should be|does not exist"):
        generate(documents)  # type: ignore[arg-type]


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(InputError, match="nothing could be generated"):
        generate([" "])
