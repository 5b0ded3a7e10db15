from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.layout import check_batch_name


@pytest.mark.parametrize("name", ["handbok 2024", "lagar-sv", "Größe", "a.b", "100%", "q&a"])
def test_ordinary_names_are_batch_names(name: str) -> None:
    check_batch_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "../x",
        "a/b",
        "a\\b",
        ".hidden",
        "a ",
        "a\nb",
        "a\u202eb",
        "a,b",
        "c:",
        "x" * 201,
        "a\udcff",
        "fo\u0308",
    ],
)
def test_names_that_are_no_plain_folder_are_refused(name: str) -> None:
    with pytest.raises(CorpusError):
        check_batch_name(name)


@given(st.text(max_size=30))
def test_an_accepted_name_stays_inside_its_parent_folder(name: str) -> None:
    try:
        check_batch_name(name)
    except CorpusError:
        return
    assert (Path("/corpus") / name).resolve().parent == Path("/corpus")
