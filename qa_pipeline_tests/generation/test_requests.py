from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.generation.multihop import LINKS
from qa_pipeline.generation.requests import PLAN, plan_questions
from qa_pipeline.records import HOP_SCOPES
from qa_pipeline.settings.generation import MIX, GenerationSettings

PROSE = "A sentence of a passage that says something about a subject of the batch. " * 8
TABLE = "Valve: A | Pressure: 4 bar\nValve: B | Pressure: 6 bar"
STEPS = "1. Open the valve.\n2. Wait.\n3. Close it."
UNLINKED = LINKS.to_frame()
NOTHING = pl.DataFrame(schema={"chunk_id": pl.String(), "planned_type": pl.String()})


def batch(sections: list[list[str]]) -> pl.DataFrame:
    """One document; a list of texts for each section."""
    rows = [
        (f"{number}-{place}", "d", number, text)
        for number, texts in enumerate(sections)
        for place, text in enumerate(texts)
    ]
    names = {"chunk_id": pl.String(), "document_id": pl.String(), "section_start": pl.Int64(),
        "text": pl.String()}  # fmt: skip
    return pl.DataFrame(rows, schema=names, orient="row")


def plan(
    chunks: pl.DataFrame,
    taken: pl.DataFrame = NOTHING,
    mix: dict[str, float] | None = None,
    links: pl.DataFrame = UNLINKED,
    **settings: int,
) -> pl.DataFrame:
    made = GenerationSettings.model_validate({**({"mix": mix} if mix else {}), **settings})
    return plan_questions(chunks, made, taken, links)


texts = st.sampled_from([PROSE, TABLE, STEPS, "Short."])
shapes = st.lists(st.lists(texts, min_size=1, max_size=4), max_size=8)
weights = st.dictionaries(st.sampled_from(sorted(set(MIX) - set(HOP_SCOPES))), st.floats(0.01, 5), min_size=1)


@given(shapes, weights, st.integers(1, 4))
def test_every_chunk_gets_its_questions_and_only_of_types_in_the_mix(
    sections: list[list[str]], mix: dict[str, float], each: int
) -> None:
    chunks = batch(sections)
    planned = plan(chunks, mix=mix, questions_per_chunk=each)
    assert planned.schema == PLAN
    assert Counter(planned["chunk_id"]) == dict.fromkeys(chunks["chunk_id"], each)
    assert set(planned["planned_type"]) <= set(mix)


@given(shapes, st.integers(1, 20))
def test_no_section_is_asked_twice_before_every_section_is_asked_once(
    sections: list[list[str]], limit: int
) -> None:
    planned = plan(batch(sections), max_questions=limit, questions_per_chunk=2)
    counts = Counter(chunk_id.split("-")[0] for chunk_id in planned["chunk_id"])
    total = sum(2 * len(texts) for texts in sections)
    assert planned.height == min(limit, total)
    full = {str(number): 2 * len(texts) for number, texts in enumerate(sections)}
    waiting = [counts[number] for number, most in full.items() if counts[number] < most]
    assert all(count <= min(waiting) + 1 for count in counts.values()) if waiting else True


@given(shapes, st.randoms())
def test_the_plan_does_not_depend_on_the_order_of_the_chunks(
    sections: list[list[str]], random: st.DataObject
) -> None:
    chunks = batch(sections)
    places = list(range(chunks.height))
    random.shuffle(places)  # type: ignore[attr-defined]
    assert plan(chunks[places], questions_per_chunk=2).equals(plan(chunks, questions_per_chunk=2))


def test_a_chunk_without_a_table_or_steps_is_asked_for_neither() -> None:
    chunks = batch([[TABLE], [STEPS], *([[PROSE]] * 18)])
    planned = plan(chunks, mix={"fact_single": 0.5, "table": 0.25, "procedure": 0.25})
    types = dict(planned.select("chunk_id", "planned_type").iter_rows())
    assert (types["0-0"], types["1-0"]) == ("table", "procedure")
    assert set(types.values()) == {"table", "procedure", "fact_single"}
    assert Counter(types.values())["fact_single"] == 18


def test_questions_there_are_already_count_in_the_mix_and_in_the_limit() -> None:
    taken = pl.DataFrame({"chunk_id": ["x"] * 10, "planned_type": ["fact_single"] * 10})
    planned = plan(batch([[PROSE]] * 10), taken, mix={"fact_single": 1, "reasoning": 1}, max_questions=15)
    assert Counter(planned["planned_type"]) == {"reasoning": 5}


def links(*paths: tuple[str, str, str]) -> pl.DataFrame:
    """Edges as their chunks and the scope."""
    return pl.DataFrame(
        [
            {"chunk_id": first, "other_chunk_id": second, "scope": scope, "kind": "name",
             "bridge": "x", "weight": 1.0, "shared": 1}
            for first, second, scope in paths
        ],
        schema=LINKS,
    )  # fmt: skip


def test_two_hops_are_asked_only_along_an_edge_of_their_scope() -> None:
    chunks = batch([["One."], ["Two."], ["Three."], ["Four."]])
    edges = links(("0-0", "1-0", "within"), ("2-0", "3-0", "across"))
    planned = plan(chunks, mix={"multi_hop": 1, "cross_document": 1, "fact_single": 1}, links=edges)
    hops = planned.filter(pl.col("other_chunk_id").is_not_null()).sort("chunk_id")
    assert hops.select("chunk_id", "planned_type", "other_chunk_id").rows() == [
        ("0-0", "multi_hop", "1-0"),
        ("2-0", "cross_document", "3-0"),
    ]
    assert planned.filter(pl.col("other_chunk_id").is_null())["planned_type"].to_list() == ["fact_single"] * 2


def test_two_slots_of_one_chunk_take_different_partners_while_there_are_others() -> None:
    edges = links(("0-0", "1-0", "within"), ("0-0", "2-0", "within"))
    planned = plan(batch([["One."]]), mix={"multi_hop": 1}, links=edges, questions_per_chunk=3)
    assert sorted(planned["other_chunk_id"].to_list()) == ["1-0", "1-0", "2-0"]
