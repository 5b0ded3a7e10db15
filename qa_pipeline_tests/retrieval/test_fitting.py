from qa_pipeline.records import Block
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline_tests.retrieval.documents import SENTENCE, chunk, documents, section

MERGING = ChunkingSettings(merge_below_tokens=40)


def paths_and_texts(*blocks: Block) -> list[tuple[list[str], str]]:
    chunks = chunk(documents(blocks), MERGING)
    return [(row["section_path"], row["text"]) for row in chunks.to_dicts()]


def test_tiny_siblings_become_one_chunk_under_their_parent_with_their_heading_lines() -> None:
    blocks = [Block("heading", "Ports", 1), *section("HTTP", "It is 80."), *section("HTTPS", "It is 443.")]
    assert paths_and_texts(*blocks) == [(["Ports"], "## HTTP\n\nIt is 80.\n\n## HTTPS\n\nIt is 443.")]


def test_a_merged_chunk_names_the_span_of_all_its_sections() -> None:
    frame = documents([Block("heading", "P", 1), *section("A", "One."), *section("B", "Two.")])
    (row,) = chunk(frame, MERGING).to_dicts()
    _, first, last = frame["sections"][0]
    assert (row["section_start"], row["section_end"]) == (first["start"], last["end"])
    assert frame["text"][0][row["char_start"] : row["char_end"]] == row["text"]


def test_sections_stop_being_merged_when_they_are_tiny_no_more() -> None:
    blocks = [Block("heading", "P", 1), *(b for n in range(6) for b in section(f"S{n}", SENTENCE))]
    assert [text.count("## ") for _, text in paths_and_texts(*blocks)] == [3, 3]


def test_a_section_that_is_not_tiny_stays_alone_and_parts_its_siblings() -> None:
    blocks = [
        Block("heading", "P", 1),
        *section("A", "One."),
        *section("Long", SENTENCE * 5),
        *section("B", "Two."),
        *section("C", "Three."),
    ]
    assert [text.count("## ") for _, text in paths_and_texts(*blocks)] == [1, 1, 2]


def test_children_and_cousins_are_no_siblings() -> None:
    blocks = [
        *section("One", "Text.", 1),
        *section("A", "Text."),
        *section("Deeper", "Text.", 3),
        *section("B", "Text."),
        *section("Two", "Text.", 1),
        *section("C", "Text."),
    ]
    assert [path[-1] for path, _ in paths_and_texts(*blocks)] == ["One", "A", "Deeper", "B", "Two", "C"]


def test_a_heading_without_text_between_siblings_goes_along() -> None:
    blocks = [
        Block("heading", "P", 1),
        *section("A", "One."),
        Block("heading", "Empty", 2),
        *section("B", "Two."),
    ]
    assert [text for _, text in paths_and_texts(*blocks)] == ["## A\n\nOne.\n\n## Empty\n\n## B\n\nTwo."]


def test_sections_without_a_parent_are_merged_without_a_path() -> None:
    assert [path for path, _ in paths_and_texts(*section("A", "One.", 1), *section("B", "Two.", 1))] == [[]]


def test_nothing_is_merged_beyond_the_bound() -> None:
    settings = ChunkingSettings(max_tokens=32, merge_below_tokens=500)
    blocks = [Block("heading", "P", 1), *(b for n in range(9) for b in section(f"S{n}", SENTENCE))]
    assert max(chunk(documents(blocks), settings)["tokens"]) <= 32


def test_by_default_nothing_is_merged() -> None:
    assert chunk(documents([*section("A", "One."), *section("B", "Two.")])).height == 2
