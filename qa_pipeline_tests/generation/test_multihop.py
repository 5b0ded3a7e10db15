import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.generation.multihop import LINKS, LINKS_EACH, MOST_CHUNKS, link_chunks
from qa_pipeline_tests.curation import rows

WORDS = st.sampled_from(["the valve", "Lindqvist", "mod_alias", "Radio Tower", "opens", "at nine.", "\n"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=8)


def linked(*texts: str, document: str | None = None, **values: object) -> pl.DataFrame:
    """Links of chunks, each of a document of its own, or all of one and each in a section of its own."""
    made = []
    for n, text in enumerate(texts):
        place = {"document_id": document or f"d{n}", "section_start": n, "title": f"Title{n}"}
        made.append(rows.chunk(f"c{n}", text, **{"section_path": [f"Section{n}"], **place, **values}))
    return link_chunks(rows.chunks(*made))


@given(TEXTS, st.sampled_from([None, "d"]))
def test_an_edge_stands_once_under_its_first_chunk_and_its_bridge_is_in_the_text(
    texts: list[str], document: str | None
) -> None:
    links = linked(*texts, document=document)
    assert links.schema == LINKS
    assert (links["chunk_id"] < links["other_chunk_id"]).all()
    assert links.select("chunk_id", "other_chunk_id").is_duplicated().sum() == 0
    assert set(links["scope"]) <= {"across" if document is None else "within"}
    for chunk_id, bridge in links.select("chunk_id", "bridge").iter_rows():
        assert bridge in texts[int(chunk_id[1:])]
    assert (links.group_by("chunk_id", "scope").len()["len"] <= LINKS_EACH).all()


@pytest.mark.parametrize(
    ("language", "first", "second", "bridge"),
    [
        ("en", "The plant is by Elsa Lindqvist.", "In 1950 Elsa Lindqvist moved.", "Elsa Lindqvist"),
        ("en", "Set it in httpd_conf before.", "The file httpd_conf holds rules.", "httpd_conf"),
        ("sv", "Huset ritades av Elsa Lindqvist.", "År 1950 flyttade Elsa Lindqvist.", "Elsa Lindqvist"),
        ("de", "Das Haus entwarf Elsa Lindqvist.", "Im Jahr 1950 zog Elsa Lindqvist um.", "Elsa Lindqvist"),
    ],
)
def test_two_chunks_that_name_the_same_are_linked(
    language: str, first: str, second: str, bridge: str
) -> None:
    (found,) = linked(first, second, "Nothing else is said.", language=language).to_dicts()
    assert (found["chunk_id"], found["other_chunk_id"], found["kind"]) == ("c0", "c1", "name")
    assert found["bridge"] == bridge


def test_a_chunk_is_linked_to_the_section_whose_heading_it_writes_out() -> None:
    chunks = rows.chunks(
        rows.chunk("a", "This depends on the default relief pressure.", document_id="d1"),
        rows.chunk("b", "It is four bar.", document_id="d2", section_path=["Default relief pressure"]),
        rows.chunk("c", "Anything else.", document_id="d3", section_path=["Other"]),
    )
    (found,) = link_chunks(chunks).filter(pl.col("kind") == "heading").to_dicts()
    assert (found["chunk_id"], found["other_chunk_id"]) == ("a", "b")
    assert found["bridge"] == "default relief pressure"


@pytest.mark.parametrize(
    "texts",
    [
        ["The pump of Lindqvist runs."] * (MOST_CHUNKS + 1),
        ["The Radio Tower in Malmö was built by Karl Berg for Sten Lind."] * 2,
        ["It costs 700 euros.", "It weighs 700 kilos."],
        ["The first step is easy.", "This is the first step."],
        ["It is kept, e.g. cold.", "It is served, e.g. warm."],
    ],
    ids=["a name in every chunk", "two that say the same", "a number", "everyday words", "an abbreviation"],
)
def test_what_joins_nothing_in_particular_makes_no_edge(texts: list[str]) -> None:
    assert linked(*texts).is_empty()


def test_chunks_of_one_section_or_of_two_languages_are_not_linked() -> None:
    texts = ["It was designed by Lindqvist.", "In 1950 the firm of Lindqvist moved."]
    assert linked(*texts, document="d", section_start=0).is_empty()
    two = [
        rows.chunk(language, text, document_id=language, language=language, title="", section_path=[])
        for text, language in zip(texts, ("en", "sv"), strict=True)
    ]
    assert link_chunks(rows.chunks(*two)).is_empty()


def test_a_list_of_references_names_everybody_and_joins_nothing() -> None:
    texts = ["It was designed by Lindqvist.", "Lindqvist, E. (1950). Towers."]
    made = [
        rows.chunk(f"c{n}", text, document_id=f"d{n}", title="", section_path=[heading])
        for n, (text, heading) in enumerate(zip(texts, ("Design", "References"), strict=True))
    ]
    assert link_chunks(rows.chunks(*made)).is_empty()
