"""Front matter from anybody's documents."""

import pytest

from qa_pipeline.documents.formats.text import split_front_matter


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("1.10", "1.10"),
        ("2024-13-45", "2024-13-45"),
        ("1e1000000", "1e1000000"),
        ("!!int ''", None),
        ("[a, b]", None),
        ("!!python/object/apply:os.getcwd []", None),
    ],
)
def test_a_title_is_what_it_reads_as(written: str, title: str | None) -> None:
    front, about, text = split_front_matter(f"---\ntitle: {written}\nlang: sv\n---\nText.\n")
    assert (front, text) == (f"title: {written}\nlang: sv\n", "Text.\n")
    assert (about["title"], about["language"]) == (title, "sv")


@pytest.mark.parametrize(
    "fields",
    [
        f"title: {'[' * 49_000}",
        "title: &a [*a]",
        f"title: {'[' * 20_000}{']' * 20_000}",
        "a: &a {k: 1}\n" + "".join(f"a{i}:\n  <<: [{','.join(['*a'] * 9)}]\n" for i in range(9)) + "title: T",
    ],
)
def test_front_matter_over_the_limits_says_nothing_and_is_no_text(fields: str) -> None:
    front, about, text = split_front_matter(f"---\n{fields}\n---\nText.\n")
    assert (front, set(about.values()), text) == (f"{fields}\n", {None}, "Text.\n")


@pytest.mark.parametrize(
    ("front", "status"),
    [("status: repealed", "repealed"), ("draft: true", "draft"), ("draft: false", None), ("title: A", None)],
)
def test_front_matter_says_in_which_state_a_document_is(front: str, status: str | None) -> None:
    assert split_front_matter(f"---\n{front}\n---\nText.")[1]["status"] == status
