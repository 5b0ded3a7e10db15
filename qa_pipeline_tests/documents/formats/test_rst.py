from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats import rst
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, outline, source, unaccounted
from qa_pipeline_tests.documents.formats.office.builders import left_out

_MARKS = st.sampled_from(
    [
        "- ", "\n\n* ", "``", "*", "**", "`", "`_", "|", "\n", "\n\n", "   ", "\n====\n", "\n----\n", "_",
        "|x|", " [1]_ ", "\n\n.. [1] ", "\n\n.. a b ", "\n\n.. |", "\n\n== ==\n", "\n== ==\n", "\n\n:f: ",
        "\n\n.. |x| replace:: ", "\n\n.. csv-table::\n\n   ", "\n\n.. list-table::\n\n   * - ", "\n     - ",
        "\n\n.. raw:: html\n\n   ", "\n\n.. code::\n\n   ", "\n\n.. toctree::\n\n   ",
        "\n\n.. only:: a\n\n   ", ":sup:`", ":ref:`", "\n\n+-+-+\n| ", "\n\n-a  ", "\n\n>>> ", "\n   -- ",
        "\n   :o: x\n",
        *(f"\n\n.. {name}:: " for name in ("note", "topic", "rubric", "title", "math", "table")),
        *(f"\n\n.. {name}:: x\n" for name in ("image", "include", "figure", "header", "function")),
    ]
)  # fmt: skip


def parse(text: str) -> ParsedFile:
    return rst.parse(source(text), SETTINGS)


def blocks(text: str) -> list[tuple[str, str]]:
    return outline(parse(text))


@given(st.lists(st.one_of(st.text("ABC ", min_size=1, max_size=4), _MARKS), max_size=12))
@example(["\n\n.. note:: ", "\n   :o: x\n", "    A"])
@example(["\n\n.. |", "A", "\n\n* "])
@example(["\n\n.. note:: ", "\n   :o: x\n", "    A", "\n   :o: x\n"])
def test_every_letter_of_any_soup_of_marks_is_in_the_text_or_counted(soup: list[str]) -> None:
    text = "x" + "".join(soup)
    parsed = None
    with suppress(DocumentFailure):
        parsed = parse(text)
    assert parsed is None or unaccounted(text, parsed) <= 0


def test_a_title_in_the_header_lines_is_above_all_sections() -> None:
    parsed = parse("PEP: 1\nTitle: On\n  Purpose\nLicense: CC0\n\nAbstract\n========\n\nText.\n")
    assert [(block.kind, block.level, block.text) for block in parsed.blocks] == [
        ("heading", 1, "On Purpose"),
        ("list_item", 0, "PEP: 1"),
        ("list_item", 0, "License: CC0"),
        ("heading", 2, "Abstract"),
        ("paragraph", 0, "Text."),
    ]


def test_code_is_verbatim_however_it_is_written() -> None:
    text = (
        "Run::\n\n    if x:\n        *go*\n\n"
        ".. code-block:: python\n   :unknown-option: 3\n   :caption: Listing\n\n"
        "   a  =  1\n\n   b\n\n>>> 1 + 1\n2\n"
    )
    parsed = parse(text)
    assert [(block.kind, block.text.strip("\n")) for block in parsed.blocks] == [
        ("paragraph", "Run:"),
        ("code", "if x:\n    *go*"),
        ("paragraph", "Listing"),
        ("code", "a  =  1\n\nb"),
        ("code", ">>> 1 + 1\n2"),
    ]


@pytest.mark.parametrize(
    "table",
    [
        "==== =====\nName Value\n==== =====\na    1\n\nb    2\n==== =====\n",
        "+----+-----+\n|Name|Value|\n+====+=====+\n|a   |1    |\n+----+-----+\n|b   |2    |\n+----+-----+\n",
        (
            ".. list-table:: \n   :header-rows: 1\n\n   * - Name\n     - Value\n"
            "   * - a\n     - 1\n   * - b\n     - 2\n"
        ),
        '.. csv-table::\n   :header: "Name", "Value"\n   :widths: 1, 2, 3\n\n   a, 1\n   b, 2\n',
    ],
)
def test_every_kind_of_table_becomes_rows_with_their_header(table: str) -> None:
    assert blocks(table) == [("table_row", "Name: a | Value: 1"), ("table_row", "Name: b | Value: 2")]
    unnamed = "====  =====\n      Power\n====  =====\nA     3 kW\n====  =====\n"
    assert blocks(unnamed) == [("table_row", "A | Power: 3 kW")]


def test_notes_stay_where_they_are_written_and_their_marks_go() -> None:
    text = (
        "A\n=\n\nSaid [1]_. Proved [#x]_ in [CIT]_.\n\n"
        ".. [1] First note.\n.. [#x] Second.\n.. [CIT] Book.\n\nRest.\n\nB\n=\n\nEnd.\n"
    )
    assert blocks(text) == [
        ("heading", "A"),
        ("paragraph", "Said. Proved in [CIT]."),
        ("paragraph", "First note."),
        ("paragraph", "Second."),
        ("paragraph", "[CIT]: Book."),
        ("paragraph", "Rest."),
        ("heading", "B"),
        ("paragraph", "End."),
    ]
    assert left_out(parse(text)) == {"footnote_mark": (3, 10)}


def test_roles_keep_their_text_and_its_meaning() -> None:
    text = (
        ":func:`~os.path.join` :doc:`the title <page>` :pep:`8#names` :ref:`here` :made-up:`text` "
        "10\\ :sup:`6` :math:`a_b`\n\n.. _here:\n\nTitle\n=====\n\n"
    )
    assert blocks(text)[0] == ("paragraph", "os.path.join the title PEP 8 Title text 10^6 a_b")
    text = "4 m\\ :sup:`2` of H\\ :sub:`2`\\ O, x\\ :sub:`1`, 30 dB\\ :sup:`a)`, fee :strike:`30` 45."
    assert blocks(text) == [("paragraph", "4 m^2 of H2O, x_1, 30 dB, fee 45.")]
    assert left_out(parse(text)) == {"deleted_text": (1, 2), "footnote_mark": (1, 2)}


def test_substitutions_are_resolved_and_never_explode() -> None:
    assert blocks(
        "The |name| of |n|, |Name| and |none|.\n\n.. |name| replace:: *real* thing\n.. |n| unicode:: 0xA9\n"
    ) == [("paragraph", "The real thing of ©, real thing and |none|.")]
    assert (
        blocks("|a| |b|\n\n.. |a| replace:: see |c|\n.. |b| replace:: |b|\n.. |c| replace:: C\n")[0][1]
        == "see |c| |b|"
    )
    levels = "".join(f".. |a{i}| replace:: {f'|a{i + 1}| ' * 10}\n" for i in range(30))
    assert len(blocks(f"|a0|\n\n{levels}")[0][1]) < 100_000


def test_what_is_left_out_is_counted_by_kind() -> None:
    text = (
        "Text |p| `link <http://a.b>`_.\n\n.. A comment.\n\n.. raw:: html\n\n   <b>x</b>\n\n.. _t: http://c.d\n\n"
        ".. image:: i.png\n   :alt: a bee\n\n.. figure:: f.png\n\n   The caption.\n\n.. contents::\n\n"
        ".. |p| image:: p.png\n\n.. toctree::\n\n   one\n   two\n"
    )
    assert [said for _, said in blocks(text)] == ["Text link.", "The caption."]
    assert left_out(parse(text)) == {
        "comment": (1, 9),
        "directive": (2, 18),
        "link_target": (2, 20),
        "image": (3, 5),
    }


def test_includes_are_counted_and_no_file_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret text")
    text = (
        f".. include:: {secret}\n\n.. literalinclude:: {secret}\n   :language: c\n\n.. csv-table:: Numbers\n"
        f"   :file: {secret}\n\n.. raw:: text\n   :file: {secret}\n"
    )
    parsed = parse(text)
    assert outline(parsed) == []
    assert left_out(parsed)["include"][0] == 4


@pytest.mark.parametrize(
    "text",
    [
        "- " * 300 + "a",
        "\n\n".join("   " * depth + ".. note::" for depth in range(200)) + "\n\n" + "   " * 200 + "x",
    ],
)
def test_depth_no_writer_means_is_a_failure(text: str) -> None:
    with pytest.raises(DocumentFailure) as refused:
        parse(text)
    assert refused.value.reason == "nested_too_deep"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("3. three\n4. four\n\nSee step 4.", "- 3. three\n- 4. four\n\nSee step 4."),
        ("#. one\n#. two", "- 1. one\n- 2. two"),
        ("(a) x\n(b) y", "- a) x\n- b) y"),
        ("iv. x\nv. y", "- iv) x\n- v) y"),
        ("1. one\n\n   - inner\n\n2. ::\n\n     code", "- 1. one\n  - inner\n- 2.\n\n```\ncode\n```"),
    ],
)
def test_items_of_ordered_lists_keep_their_numbers(written: str, text: str) -> None:
    assert assemble(parse(written).blocks).text == text
