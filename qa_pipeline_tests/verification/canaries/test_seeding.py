"""A batch is seeded the same way every time, with no more than asked for, and never padded."""

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.storage.tables import CHUNKS, PAIRS
from qa_pipeline.verification.canaries.material import gather
from qa_pipeline.verification.canaries.seeding import EVERY, KINDS, canary_pairs, seed_canaries
from qa_pipeline_tests.verification.canaries.sentences import chunks_of, material


def ids(chunks: pl.DataFrame, per_kind: int = 3, seed: int = 0) -> list[str]:
    return sorted(one.canary_id for one in seed_canaries(gather(chunks, seed), per_kind))


@given(st.integers(1, 6))
def test_no_kind_gets_more_than_asked_for_and_no_sentence_twice(per_kind: int) -> None:
    drawn = seed_canaries(material(), per_kind)
    assert max(Counter(one.generator.kind for one in drawn).values()) <= per_kind
    used = Counter((one.generator.kind, one.sentence.text) for one in drawn)
    assert max(used.values()) == 1
    assert len({one.canary_id for one in drawn}) == len(drawn)


@given(st.randoms(use_true_random=False))
def test_the_order_of_chunks_changes_nothing(random: object) -> None:
    chunks = chunks_of()
    rows = chunks.to_dicts()
    random.shuffle(rows)  # type: ignore[attr-defined]
    assert ids(CHUNKS.frame(rows)) == ids(chunks)


def test_another_seed_draws_others() -> None:
    assert ids(chunks_of(), per_kind=1, seed=1) != ids(chunks_of(), per_kind=1, seed=2)


def test_more_asked_for_than_there_is_gives_what_there_is() -> None:
    assert ids(chunks_of(), per_kind=1000) == ids(chunks_of(), per_kind=2000)


def test_both_families_are_drawn_from() -> None:
    drawn = seed_canaries(material(), 4)
    assert {one.generator.kind for one in drawn} == set(KINDS)
    assert {one.generator.family for one in drawn} == {"known", "foreign"}


def test_a_kind_belongs_to_one_family_and_expects_one_verdict() -> None:
    assert len({(one.kind, one.family, one.expected) for one in EVERY}) == len(KINDS)
    names = [(one.kind, one.mechanism) for one in EVERY]
    assert len(names) == len(set(names))


def test_a_batch_without_prose_has_no_canaries() -> None:
    assert seed_canaries(gather(CHUNKS.empty()), 20) == []


def test_what_repeats_another_document_is_no_material() -> None:
    chunks = chunks_of().with_columns(repeats=pl.lit("near_duplicate"))
    assert gather(chunks).sentences == ()


def test_canaries_are_pairs_that_cite_one_chunk() -> None:
    among = material("en")
    drawn = seed_canaries(among, 2)
    frame = canary_pairs(drawn, among, "b")
    assert PAIRS.problems(frame) == []
    assert frame["used_chunk_ids"].list.len().unique().to_list() == [1]
    assert set(frame["generator"]) == {"canary"}
