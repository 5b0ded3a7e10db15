from typing import Any

import pytest

from qa_pipeline_tests.benchmarks.quality.accounted_text import Account, account


def of(name: str, content: str, text: str, **left_out: int) -> Account:
    parts: list[dict[str, Any]] = [{"what": what, "characters": count} for what, count in left_out.items()]
    found = account(name, content.encode(), {"text": text, "left_out": parts})
    assert found is not None
    assert found.found == found.kept + found.markup + found.left_out + found.unexplained
    return found


@pytest.mark.parametrize("name", ["text", "markdown", "rst", "html", "table"])
def test_words_that_are_nowhere_are_unexplained(name: str) -> None:
    found = of(name, "One lost word, and word again.", "One word, and word again.")
    assert (found.unexplained, found.words, found.share) == (4, ("lost",), 4 / 23)


def test_what_was_left_out_explains_as_many_characters_as_it_holds() -> None:
    found = of("html", "<p>One<!-- two three --><img alt=four>", "One", comment=8, image=9)
    assert (found.left_out, found.unexplained, found.spare) == (12, 0, 5)


def test_markup_is_no_text_and_words_it_parts_are_whole() -> None:
    found = of("markdown", "**b**old ![x](pic.png)\n\n```python\nrun\n```", "bold x\n\n```\nrun\n```")
    assert (found.markup, found.unexplained) == (len("picpngpython"), 0)
    found = of("rst", ".. code:: sh\n\n   run\n\n:ref:`one` `two <http://x>`_", "run one two", link_target=8)
    assert (found.markup, found.unexplained) == (len("codeshref"), 0)


def test_a_word_that_our_text_repeats_hides_no_other() -> None:
    found = of("table", "name;size\npump;2\nvalve;3", "name: pump | size: 2\nname: pump | size: 3")
    assert found.words == ("valve",)


def test_a_format_without_a_reader_of_its_own_has_no_account() -> None:
    assert account("epub", b"", {"text": "", "left_out": []}) is None
