"""Signals of texts without verification: refusals, relevance, meanings, contradictions, likeness.

Each is found by rules and cosines, or asked of the judge where there is one.
"""

from collections.abc import Sequence
from itertools import chain, combinations, product

import numpy as np
import polars as pl

from qa_pipeline.evaluation.signals import asked
from qa_pipeline.evaluation.signals.base import Means, Row
from qa_pipeline.evaluation.signals.statements import sentences
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.models.text_vectors import TextVectors
from qa_pipeline.text.reading import read
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.verification.quotation import one_slot_denial
from qa_pipeline.verification.sources import units_of

SAME_MEANING = 0.9
"""Cosine from which two short answers mean the same, if neither denies the other: lower ones join answers
that differ in a word, higher ones part those in other words."""
CONTRADICTION = pl.Struct({"contradicted": pl.Boolean()})
CONFLICT = pl.Struct({"handled": pl.Boolean()})
"""A contradiction between two contexts, and whether the answer names both sides or leaves it open."""
RELEVANCE = pl.Struct({"cosines": pl.List(pl.Float64()), "noncommittal": pl.Boolean()})
"""Cosines of the question to the questions that an answer answers, or else to its sentences; and whether the
answer commits itself to nothing."""


def find_refusals(rows: pl.DataFrame, means: Means) -> list[bool | None]:
    """Return True for each answer that only says that there is none; None for an empty one."""
    del means
    return [is_refusal(answer) if answer.strip() else None for answer in rows["answer"]]


def find_contradictions(rows: pl.DataFrame, means: Means) -> list[list[Row] | None]:
    """Find the contexts that contradict the answer (`CONTRADICTION`); None if no statement is decided.

    Without a judge: those that a statement denies. The local steps find a number, unit, date, name, negation
    or quantifier in another's place, and nothing else: what they find is a lower bound.
    """
    if means.judge is not None:
        return [*asked.ask_contradictions(rows, means.judge, means.resources.settings.llm)]
    contradictions: list[list[Row] | None] = []
    for contexts, statements in rows.select("contexts", "statements").iter_rows():
        denied = {statement["context"] for statement in statements if statement["verdict"] == "contradicted"}
        is_known = {statement["verdict"] for statement in statements} != {"undecided"}
        flags = [{"contradicted": at in denied} for at in range(len(contexts))]
        contradictions.append(flags if is_known else None)
    return contradictions


def find_groundedness(rows: pl.DataFrame, means: Means) -> list[float | None]:
    """Return the judge's rating of how far the contexts ground each answer; None without a judge."""
    if means.judge is None:
        return [None] * rows.height
    return asked.ask_groundedness(rows, means.judge, means.resources.settings.llm)


def find_relevances(rows: pl.DataFrame, means: Means) -> list[Row | None]:
    """Return the similarity of the question to the questions each answer answers (`RELEVANCE`)."""
    if means.judge is not None:
        answered = asked.ask_back_questions(rows, means.judge, means.resources.settings.llm)
    else:
        answered = [
            (sentences(without_marks(answer), language), refused)
            for answer, language, refused in rows.select("answer", "language", "refused").iter_rows()
        ]
    queries = rows["query"].to_list()
    texts = chain.from_iterable(of_row[0] for of_row in answered if of_row is not None)
    vectors = TextVectors([*queries, *texts], means.resources.embedder)
    return [
        None if of_row is None else {"cosines": vectors.cosines(query, of_row[0]), "noncommittal": of_row[1]}
        for query, of_row in zip(queries, answered, strict=True)
    ]


def find_relevant_sentences(rows: pl.DataFrame, means: Means) -> list[list[list[bool | None]]]:
    """Find the sentences of each context that help to answer the question; [None] without a text.

    Without a judge: where its cosine to the question, or to the reference, is that of texts about one thing.
    """
    settings = means.resources.settings
    texts = [
        [sentences(context["text"] or "", language) for context in contexts]
        for contexts, language in rows.select("contexts", "language").iter_rows()
    ]
    flags: list[list[list[bool | None]]]
    if means.judge is not None:
        flags = asked.ask_relevance(rows, texts, means.judge, settings.llm)
    else:
        aims_of_rows = [
            [text for text in pair if text and text.strip()]
            for pair in rows.select("query", "reference").iter_rows()
        ]
        every_text = chain.from_iterable([*aims_of_rows, *chain.from_iterable(texts)])
        vectors = TextVectors(every_text, means.resources.embedder)
        flags = [
            [_near(of_context, aims, vectors, settings.verification.similarity_fail) for of_context in of_row]
            for of_row, aims in zip(texts, aims_of_rows, strict=True)
        ]
    for contexts, of_row in zip(rows["contexts"].to_list(), flags, strict=True):
        for at, context in enumerate(contexts):
            if context["text"] is None:
                of_row[at] = [None]
    return flags


def _near(texts: Sequence[str], aims: Sequence[str], vectors: TextVectors, limit: float) -> list[bool | None]:
    if not texts:
        return []
    cosines = np.array([vectors.cosines(aim, texts) for aim in aims])
    return [bool(cosine) for cosine in cosines.max(axis=0) >= limit]


def find_meanings(rows: pl.DataFrame, means: Means) -> Sequence[list[int] | None]:
    """Return the group of same meaning, from 0, of each sample of an answer, in order of appearance.

    Each sample joins the first group whose first sample means the same: equal texts but for case, spacing
    and punctuation, or the judge's word; without a judge near vectors where neither text denies the other.
    """
    if means.judge is not None:
        return asked.ask_meanings(rows, means.judge, means.resources.settings.llm)
    folded = rows["samples"].list.eval(normalised(pl.element())).to_list()
    vectors = TextVectors(chain.from_iterable(folded), means.resources.embedder)
    return [
        _groups(samples, language, vectors)
        for samples, language in zip(folded, rows["language"], strict=True)
    ]


def _groups(texts: Sequence[str], language: str, vectors: TextVectors) -> list[int]:
    leaders: list[str] = []
    groups = []
    for text in texts:
        near = (at for at, leader in enumerate(leaders) if _same_meaning(text, leader, language, vectors))
        group = leaders.index(text) if text in leaders else next(near, len(leaders))
        if group == len(leaders):
            leaders.append(text)
        groups.append(group)
    return groups


def _same_meaning(text: str, leader: str, language: str, vectors: TextVectors) -> bool:
    if vectors.cosines(text, [leader])[0] < SAME_MEANING:
        return False
    return one_slot_denial(read(text, language), read(leader, language), frozenset()) is None


def find_conflicts(rows: pl.DataFrame, means: Means) -> Sequence[list[Row] | None]:
    """Return the contradictions between contexts (`CONFLICT`), and whether the answer deals with each.

    Without a judge: sentences that differ in one slot alone. The answer deals with them if it is a refusal,
    or holds what both sides have in that place.
    """
    if means.judge is not None:
        return asked.ask_conflicts(rows, means.judge, means.resources.settings.llm)
    return [_conflicts(row) for row in rows.iter_rows(named=True)]


def _conflicts(row: Row) -> list[Row]:
    language, stated = row["language"], {*read(row["answer"], row["language"]).tokens}
    units = [
        [unit for unit in units_of("", context["text"] or "", language) if not unit.is_row]
        for context in row["contexts"]
    ]
    conflicts = []
    for first, second in combinations(units, 2):
        for unit, other in product(first, second):
            denial = one_slot_denial(unit.reading, other.reading, frozenset())
            if denial is not None:
                sides = {side for side in (denial.claimed, denial.stated) if side}
                conflicts.append({"handled": row["refused"] or sides <= stated})
    return conflicts


def find_reference_similarity(rows: pl.DataFrame, means: Means) -> list[float]:
    """Return the cosine of each answer to its reference, at least 0."""
    pairs = rows.select("answer", "reference").rows()
    vectors = TextVectors(chain.from_iterable(pairs), means.resources.embedder)
    return [min(1.0, max(0.0, *vectors.cosines(answer, [reference]))) for answer, reference in pairs]
