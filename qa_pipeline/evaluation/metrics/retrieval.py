"""Metrics of retrieval: rankings against the relevant documents, and contexts against the question.

Rankings are of documents: a document at several ranks counts at its first. `ir-measures` computes them as
trec_eval does: precision at k divides by k even if fewer documents were retrieved.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice

from qa_pipeline.evaluation.metrics.base import (
    METRICS,
    SIMILARITY,
    STATEMENTS_VERSION,
    Metric,
    Row,
    Setup,
    ask,
    entropy,
    judge_request,
    metric,
    share,
    signal,
)
from qa_pipeline.models.vector_cache import TextVectors
from qa_pipeline.records import RelevanceReply
from qa_pipeline.text.references import normalise_path
from qa_pipeline.text.sentences import sentence_spans

CUTOFFS = (5, 10)
"""Depths of the registry; `metric_at` has the metrics of any other depth."""
_RANKED_NAME = re.compile(r"(precision|recall|f1|ndcg)_at_([1-9]\d{0,3})")
_NEEDS = ("contexts", "relevant_documents")
_FAMILIES = {
    "precision": ("P", "Share of the first {} passages that are relevant."),
    "recall": ("R", "Share of the relevant documents that are among the first {} passages."),
    "f1": ("F1", "Harmonic mean of precision and recall among the first {} passages."),
    "ndcg": ("nDCG", "How near the order of the first {} passages is to the best one."),
}
"""Name in ir-measures and meaning of each family of metrics with a depth."""
Contexts = list[tuple[Row, list[str] | None]]
"""The row of each context with its sentences; None if the context has no text, so that all is unknown."""


def _ranking(row: Row) -> tuple[dict[str, int], list[str]] | None:
    """Return grades by document, and the documents in order; None if unknown or if none is relevant."""
    relevant, contexts = row["relevant_documents"], row["contexts"]
    if not relevant or contexts is None or any(context["document"] is None for context in contexts):
        return None
    grades = zip(map(normalise_path, relevant), row["relevance_grades"] or [1] * len(relevant), strict=True)
    documents = [normalise_path(context["document"]) for context in contexts]
    return dict(grades), list(dict.fromkeys(documents))


def _measured(row: Row, measure: str) -> float | None:
    """Return a measure of ir-measures, such as "P@5", for the ranking of a row."""
    import ir_measures  # loads SciPy

    if (ranking := _ranking(row)) is None:
        return None
    grades, documents = ranking
    # ranks as scores, since ir-measures breaks ties by name
    scores = {document: float(-rank) for rank, document in enumerate(documents)}
    # ir-measures takes grades and scores by query; "row" is the only query
    values = ir_measures.iter_calc([ir_measures.parse_measure(measure)], {"row": grades}, {"row": scores})
    return float(next(iter(values)).value)


def _f1(row: Row, k: str) -> float | None:
    precision, recall = _measured(row, f"P@{k}"), _measured(row, f"R@{k}")
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def metric_at(name: str) -> Metric | None:
    """Return the metric of a ranking at any depth, such as `recall_at_3`; None for another name."""
    if (match := _RANKED_NAME.fullmatch(name)) is None:
        return None
    family, k = match.groups()
    measure, meaning = _FAMILIES[family]
    function = partial(_f1, k=k) if measure == "F1" else partial(_measured, measure=f"{measure}@{k}")
    return Metric(name, function, _NEEDS, meaning.format(k))


_AT_CUTOFFS = (metric_at(f"{family}_at_{k}") for k in CUTOFFS for family in _FAMILIES)
METRICS |= {ranked.name: ranked for ranked in _AT_CUTOFFS if ranked is not None}


@metric(*_NEEDS)
def reciprocal_rank(row: Row) -> float | None:
    """Return 1 divided by the rank of the first relevant passage; its mean is the MRR."""
    return _measured(row, "RR")


def micro_f1_parts(row: Row, k: int) -> tuple[int, int]:
    """Count the relevant documents among the first k of a row, and k + all its relevant documents.

    Micro F1 of a data set is 2 * the sum of the first / the sum of the second. Macro F1 is the mean of
    `f1_at_K`.
    """
    if (ranking := _ranking(row)) is None:
        return 0, 0
    grades, documents = ranking
    return sum(document in grades for document in documents[:k]), k + len(grades)


@signal("contexts", decided_by=SIMILARITY, judged=True)
def find_relevant_sentences(rows: list[Row], setup: Setup) -> list[list[list[bool | None]]]:
    """Return for each sentence of each context True if it helps to answer; [None] without a text.

    The judge decides, or else the cosine of the sentence to the question or the reference.
    """
    contexts = [(row, _sentences(context["text"], row)) for row in rows for context in row["contexts"]]
    flags = _similar(contexts, setup) if setup.judge is None else _judged(contexts, setup)
    return [[*islice(flags, len(row["contexts"]))] for row in rows]


def _sentences(text: str | None, row: Row) -> list[str] | None:
    if text is None:
        return None
    return [text[start:end] for start, end in sentence_spans(text, row["language"])]


def _similar(contexts: Contexts, setup: Setup) -> Iterator[list[bool | None]]:
    """Yield for each context flags of its sentences: True if similar to the question or the reference."""
    targets = [(row["query"], row["reference"] or row["query"]) for row, _ in contexts]
    texts = chain(*targets, *(sentences or () for _, sentences in contexts))
    vectors = TextVectors(texts, setup.resources.embedder)
    # below this cosine, the policy `similarity_only` rejects a claim
    limit = setup.resources.settings.verification.similarity_fail
    for (_, sentences), (question, reference) in zip(contexts, targets, strict=True):
        if sentences is None:
            yield [None]
            continue
        to_question, to_reference = (vectors.cosines(text, sentences) for text in (question, reference))
        yield [max(cosines) >= limit for cosines in zip(to_question, to_reference, strict=True)]


def _judged(contexts: Contexts, setup: Setup) -> Iterator[list[bool | None]]:
    """Yield for each context flags of its sentences: True if relevant to the judge, None if unknown."""
    requests = [
        judge_request(row, "relevant_sentences", RelevanceReply, setup, sentences=sentences)
        for row, sentences in contexts
        if sentences
    ]
    replies = ask(requests, setup)
    for _, sentences in contexts:
        if sentences is None:
            yield [None]
            continue
        numbers = range(1, len(sentences) + 1)
        reply = next(replies) if sentences else None
        if reply is None or not {*reply.relevant} <= {*numbers}:  # it names sentences that do not exist
            yield [None] * len(sentences)
        else:
            yield [number in reply.relevant for number in numbers]


@metric("relevant_sentences")
def context_precision(row: Row) -> float | None:
    """Return the share of the sentences of the passages that the question needs."""
    return share(chain(*row["relevant_sentences"]))


@metric("relevant_sentences")
def context_precision_ranked(row: Row) -> float | None:
    """Return 1 if the relevant passages come before all others, and less if they do not."""
    flags_of_passages = row["relevant_sentences"]  # for each passage, a flag for each sentence
    if not flags_of_passages or any(None in flags for flags in flags_of_passages):
        return None
    precisions, relevant = [], 0  # precision at the rank of each relevant passage
    for rank, flags in enumerate(flags_of_passages, start=1):
        if any(flags):
            relevant += 1
            precisions.append(relevant / rank)
    return share(precisions) or 0.0  # no passage is relevant


@metric("attributed", version=STATEMENTS_VERSION)
def context_recall(row: Row) -> float | None:
    """Return the share of the statements of the right answer that the passages state."""
    return share(statement["supported"] for statement in row["attributed"])


@metric("contexts", range=(0.0, None))
def context_diversity(row: Row) -> float | None:
    """Return the entropy, in bits, over the documents of the passages."""
    return entropy([context["document"] for context in row["contexts"]])
