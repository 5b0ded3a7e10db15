"""Signals of texts without verification: refusals, relevance, meanings, contradictions, likeness.

Each is found by rules and cosines, or asked of the judge where there is one.
"""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import polars as pl

from qa_pipeline.evaluation.signals import asked
from qa_pipeline.evaluation.signals.base import MODEL, RULES, SIMILARITY, Means, Row, SignalValues
from qa_pipeline.evaluation.signals.statements import sentences
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.models.text_vectors import TextVectors
from qa_pipeline.text.reading import read
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.verification.deciding import QUOTATION
from qa_pipeline.verification.quotation import one_slot_denial
from qa_pipeline.verification.units import units_of

SAME_MEANING = 0.9
"""Cosine from which two short answers mean the same, if neither denies the other: lower ones join answers
that differ in a word, higher ones part those in other words."""
QUESTIONS = 3
"""Questions asked back from an answer: their mean is steadier than one, and all come with one call."""
CONTRADICTION = pl.Struct({"contradicted": pl.Boolean()})
CONFLICT = pl.Struct({"handled": pl.Boolean()})
"""A contradiction between two contexts, and whether the answer names both sides or leaves it open."""
RELEVANCE = pl.Struct({"cosines": pl.List(pl.Float64()), "noncommittal": pl.Boolean()})
"""Cosines of the question to the questions that an answer answers, or else to its sentences; and whether the
answer commits itself to nothing."""


def find_refusals(rows: pl.DataFrame, means: Means) -> SignalValues:
    """Return whether each answer only says that there is none; unknown of an empty answer."""
    del means
    refusals_said = [
        is_refusal(answer, language) if answer.strip() else None
        for answer, language in rows.select("answer", "language").iter_rows()
    ]
    return refusals_said, [[RULES]] * len(refusals_said)


def find_contradictions(rows: pl.DataFrame, means: Means) -> SignalValues:
    """Return whether each context contradicts the answer: where a statement denies what the context says.

    It is unknown of an answer of which every statement is undecided.

    The local steps find a number, unit, date, name, negation or quantifier in another's place, and nothing
    else: what they find is a lower bound.
    """
    if means.judge is not None:
        contradictions = asked.ask_contradictions(rows, means.judge, means.resources.settings.llm)
        return contradictions, [[MODEL]] * rows.height
    local: list[list[Row] | None] = []
    for contexts, statements in rows.select("contexts", "statements").iter_rows():
        verdicts = {statement["verdict"] for statement in statements}
        denied = {statement["context"] for statement in statements if statement["verdict"] == "contradicted"}
        known = verdicts != {"undecided"}
        local.append([{"contradicted": at in denied} for at in range(len(contexts))] if known else None)
    return local, [None if found is None else [QUOTATION] for found in local]


def find_groundedness(rows: pl.DataFrame, means: Means) -> SignalValues:
    """Return the judge's rating of how far the contexts ground each answer; None without a judge."""
    if means.judge is None:
        return [None] * rows.height, [None] * rows.height
    ratings = asked.ask_groundedness(rows, means.judge, means.resources.settings.llm)
    return ratings, [None if rating is None else [MODEL] for rating in ratings]


def find_relevances(rows: pl.DataFrame, means: Means) -> SignalValues:
    """Return the similarity of the question to the questions each answer answers (`RELEVANCE`)."""
    committed: list[bool | None]
    if means.judge is not None:
        replies = asked.ask_back_questions(rows, means.judge, means.resources.settings.llm)
        texts = [
            None if reply is None else [q for q in reply.questions if q.strip()][:QUESTIONS]
            for reply in replies
        ]
        committed = [None if reply is None else not reply.noncommittal for reply in replies]
    else:
        texts = [
            list(sentences(without_marks(answer), language))
            for answer, language in rows.select("answer", "language").iter_rows()
        ]
        committed = [not refused for refused in rows["refused"]]
    queries = rows["query"].to_list()
    every_text = [text for texts_of_row in texts if texts_of_row for text in texts_of_row]
    vectors = TextVectors([*queries, *every_text], means.resources.embedder)
    relevances = [
        None
        if texts_of_row is None
        else {"cosines": vectors.cosines(query, texts_of_row), "noncommittal": not commits}
        for query, texts_of_row, commits in zip(queries, texts, committed, strict=True)
    ]
    by = MODEL if means.judge is not None else SIMILARITY
    return relevances, [None if relevance is None else [by] for relevance in relevances]


def find_relevant_sentences(rows: pl.DataFrame, means: Means) -> SignalValues:
    """Return whether each sentence of each context helps to answer the question; a list for each context.

    Without a judge: where its cosine to the question, or to the reference, is that of texts about one thing.
    """
    texts = [
        [sentences(context["text"] or "", language) for context in contexts]
        for contexts, language in rows.select("contexts", "language").iter_rows()
    ]
    if means.judge is not None:
        relevant = asked.ask_relevance(rows, texts, means.judge, means.resources.settings.llm)
        return _where_known(rows, relevant), [[MODEL]] * rows.height
    sentences_wanted = [
        [text for text in pair if text and text.strip()]
        for pair in rows.select("query", "reference").iter_rows()
    ]
    vectors = TextVectors(
        [
            *(text for sentences_of_row in sentences_wanted for text in sentences_of_row),
            *(sentence for row in texts for sentences_of_row in row for sentence in sentences_of_row),
        ],
        means.resources.embedder,
    )
    local = [
        [_near(sentences_of_context, aims, vectors, means.related) for sentences_of_context in of_row]
        for of_row, aims in zip(texts, sentences_wanted, strict=True)
    ]
    return _where_known(rows, local), [[SIMILARITY]] * rows.height


def _where_known(
    rows: pl.DataFrame, flags_by_row: Sequence[Sequence[Sequence[bool | None]] | None]
) -> list[list[Sequence[bool | None]] | None]:
    """Return the flags by row, with one unknown in the place of each context whose text is unknown."""
    return [
        None
        if of_row is None
        else [
            [None] if context["text"] is None else flags
            for context, flags in zip(contexts, of_row, strict=True)
        ]
        for contexts, of_row in zip(rows["contexts"].to_list(), flags_by_row, strict=True)
    ]


def _near(texts: Sequence[str], aims: Sequence[str], vectors: TextVectors, limit: float) -> list[bool]:
    if not texts:
        return []
    cosines = np.array([vectors.cosines(aim, texts) for aim in aims])
    return [bool(cosine) for cosine in cosines.max(axis=0) >= limit]


def find_meanings(rows: pl.DataFrame, means: Means) -> SignalValues:
    """Return the group of same meaning, from 0, of each sample of an answer, in order of appearance.

    Each sample joins the first group whose first sample means the same: equal texts but for case, spacing
    and punctuation, or the judge's word; without a judge near vectors where neither text denies the other.
    """
    if means.judge is not None:
        meanings = asked.ask_meanings(rows, means.judge, means.resources.settings.llm)
        return meanings, [None if group_numbers is None else [MODEL] for group_numbers in meanings]
    folded = rows["samples"].list.eval(normalised(pl.element())).to_list()
    vectors = TextVectors([text for of_row in folded for text in of_row], means.resources.embedder)
    groups = [
        _groups(samples, language, vectors)
        for samples, language in zip(folded, rows["language"], strict=True)
    ]
    return groups, [[SIMILARITY]] * rows.height


def _groups(texts: Sequence[str], language: str, vectors: TextVectors) -> list[int]:
    leaders: list[str] = []
    groups = []
    for text in texts:
        near = (at for at, leader in enumerate(leaders) if _same_meaning(text, leader, language, vectors))
        place = leaders.index(text) if text in leaders else next(near, len(leaders))
        if place == len(leaders):
            leaders.append(text)
        groups.append(place)
    return groups


def _same_meaning(text: str, leader: str, language: str, vectors: TextVectors) -> bool:
    if vectors.cosines(text, [leader])[0] < SAME_MEANING:
        return False
    return one_slot_denial(read(text, language), read(leader, language), frozenset()) is None


def find_conflicts(rows: pl.DataFrame, means: Means) -> SignalValues:
    """Return the contradictions between contexts (`CONFLICT`), and whether the answer deals with each.

    Without a judge: sentences that differ in one slot alone. The answer
    deals with them if it is a refusal, or holds what both sides have in that place.
    """
    if means.judge is not None:
        conflicts = asked.ask_conflicts(rows, means.judge, means.resources.settings.llm)
        return conflicts, [None if conflicts_of_row is None else [MODEL] for conflicts_of_row in conflicts]
    columns = rows.select("answer", "contexts", "language", "refused")
    local = [_conflicts(row) for row in columns.iter_rows(named=True)]
    return local, [[QUOTATION]] * rows.height


def _conflicts(row: Row) -> list[Row]:
    language, stated = row["language"], {*read(row["answer"], row["language"]).tokens}
    units = [
        [unit for unit in units_of("", context["text"] or "", language) if not unit.is_row]
        for context in row["contexts"]
    ]
    conflicts = []
    for first, second in combinations(units, 2):
        for one, other in product(first, second):
            denial = one_slot_denial(one.reading, other.reading, frozenset())
            if denial is not None:
                sides = {side for side in (denial.claimed, denial.stated) if side}
                conflicts.append({"handled": row["refused"] or sides <= stated})
    return conflicts


def find_reference_similarity(rows: pl.DataFrame, means: Means) -> SignalValues:
    """Return the cosine of each answer to its reference, at least 0."""
    pairs = rows.select("answer", "reference").rows()
    vectors = TextVectors([text for pair in pairs for text in pair], means.resources.embedder)
    similarities = [
        min(1.0, max(0.0, vectors.cosines(*(answer, [reference]))[0])) for answer, reference in pairs
    ]
    return similarities, [[SIMILARITY]] * rows.height
