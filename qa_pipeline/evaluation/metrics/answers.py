"""Metrics of answers: relevance, agreement with the reference, refusals, and quality of the evidence."""

import math
from datetime import date
from itertools import chain, combinations, pairwise, product

from qa_pipeline.evaluation.metrics.base import (
    RULES,
    SIMILARITY,
    STATEMENTS_VERSION,
    Row,
    Setup,
    ask,
    entropy,
    judge_request,
    metric,
    share,
    signal,
)
from qa_pipeline.evaluation.metrics.grounding import faithfulness, supporting_contexts
from qa_pipeline.models.vector_cache import TextVectors
from qa_pipeline.records import BackQuestionsReply
from qa_pipeline.text.reading import read
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.deciding import QUOTATION
from qa_pipeline.verification.quotation import one_slot_denial
from qa_pipeline.verification.sources import units_of

QUESTIONS = 3
"""Questions asked back from an answer; their mean is steadier than a single question."""
SAME_MEANING = 0.9
"""Cosine from which two short answers mean the same, unless they deny each other."""
WEIGHTS = {"support": 0.4, "independence": 0.3, "recency": 0.2, "authority": 0.1}
"""Parts of evidence_quality (docs/evaluation.md)."""
HALF_LIFE_DAYS = 365.0
"""Days before the newest context of the row after which evidence counts half. A year fits rules and
handbooks; news ages faster."""
MOST_FALL = 0.05
"""Allowed loss of confidence, as large as the difference of two replies of one model."""


@signal("answer", decided_by=RULES)
def find_refused(rows: list[Row], _setup: Setup) -> list[bool | None]:
    """Return for each answer True if it is only a refusal; None if it is empty."""
    return [is_refusal(row["answer"]) if row["answer"].strip() else None for row in rows]


@signal("answer", "refused", decided_by=SIMILARITY, judged=True)
def find_relevance(rows: list[Row], setup: Setup) -> list[float | None]:
    """Return the mean cosine of the question to the questions that the judge asks back from the answer.

    Without a judge, to the sentences of the answer. A noncommittal answer (without a judge, a refusal) has 0.
    """
    # of each row, to compare with its question: [] for a noncommittal answer, None if unknown
    texts: list[list[str] | None] = []
    if setup.judge is None:
        for row in rows:
            answer = "" if row["refused"] else without_marks(row["answer"])
            texts.append([answer[start:end] for start, end in sentence_spans(answer, row["language"])])
    else:
        requests = [judge_request(row, "back_questions", BackQuestionsReply, setup) for row in rows]
        for reply in ask(requests, setup):
            compared: list[str] | None = None
            if reply is not None:
                questions = [question for question in reply.questions if question.strip()]
                compared = [] if reply.noncommittal else questions[:QUESTIONS] or None
            texts.append(compared)
    queries = (row["query"] for row in rows)
    vectors = TextVectors(chain(queries, *filter(None, texts)), setup.resources.embedder)
    relevances: list[float | None] = []
    for row, row_texts in zip(rows, texts, strict=True):
        cosines = vectors.cosines(row["query"], row_texts or ())
        mean = sum(cosines) / max(1, len(cosines))
        relevances.append(None if row_texts is None else min(1.0, max(-1.0, mean)))  # within rounding
    return relevances


@signal("answer", "reference", decided_by=SIMILARITY)
def find_reference_similarity(rows: list[Row], setup: Setup) -> list[float]:
    """Return the cosine of each answer to its reference, at least 0."""
    pairs = [(row["answer"], row["reference"]) for row in rows]
    vectors = TextVectors(chain(*pairs), setup.resources.embedder)
    return [min(1.0, max(0.0, *vectors.cosines(answer, [reference]))) for answer, reference in pairs]


@signal("samples", decided_by=SIMILARITY)
def find_meanings(rows: list[Row], setup: Setup) -> list[list[int]]:
    """Return for each sample of an answer the index of the first sample of the same meaning."""
    samples_of_rows = [[" ".join(sample.casefold().split()) for sample in row["samples"]] for row in rows]
    vectors = TextVectors(chain(*samples_of_rows), setup.resources.embedder)
    return [
        _meanings(samples, row["language"], vectors)
        for row, samples in zip(rows, samples_of_rows, strict=True)
    ]


def _meanings(samples: list[str], language: str, vectors: TextVectors) -> list[int]:
    """Return for each sample the index of the first sample of the same meaning, such as [0, 0, 2]."""
    first_of_meaning: list[int] = []
    readings = [read(sample, language) for sample in samples]
    for index, sample in enumerate(samples):
        cosines = vectors.cosines(sample, samples)
        meaning = index  # a new meaning, unless an earlier sample is similar and does not deny this sample
        for earlier in sorted({*first_of_meaning}):
            denial = one_slot_denial(readings[index], readings[earlier], stated=frozenset())
            if cosines[earlier] >= SAME_MEANING and denial is None:
                meaning = earlier
                break
        first_of_meaning.append(meaning)
    return first_of_meaning


@signal("answer", "contexts", "refused", decided_by=QUOTATION)
def find_conflicts(rows: list[Row], _setup: Setup) -> list[list[bool]]:
    """Return a flag for each contradiction between two contexts: True if the answer handles it well."""
    return [_conflicts(row) for row in rows]


def _conflicts(row: Row) -> list[bool]:
    """Return for each contradiction True if the answer of a row refuses or states both sides.

    Its sentences differ in a single number, date, unit, name or negation. The sides of "Wait 14 days." and
    "Wait 30 days." are 14 and 30.
    """
    language = row["language"]
    answer_tokens = {*read(row["answer"], language).tokens}
    sentences_of_contexts = []  # without rows of tables
    for context in row["contexts"]:
        units = units_of("", context["text"] or "", language)
        sentences_of_contexts.append([unit.reading for unit in units if not unit.is_row])
    is_handled = []
    for sentences, other_sentences in combinations(sentences_of_contexts, 2):
        for sentence, other in product(sentences, other_sentences):
            denial = one_slot_denial(sentence, other, stated=frozenset())
            if denial is not None:
                sides = {denial.claimed, denial.stated} - {""}  # a negation that a sentence lacks is ""
                is_handled.append(row["refused"] or sides <= answer_tokens)
    return is_handled


@metric("relevance", range=(-1.0, 1.0))
def answer_relevance(row: Row) -> float | None:
    """Return the similarity of the question to questions that the answer would answer."""
    return row["relevance"]  # type: ignore[no-any-return]


@metric("reference_statements", "reference_similarity", version=STATEMENTS_VERSION)
def answer_correctness(row: Row) -> float | None:
    """Return 0.6 of the statements that the right answer supports, and 0.4 of the cosine to it."""
    supported = share(statement["supported"] for statement in row["reference_statements"])
    if supported is None:
        return None
    return 0.6 * supported + 0.4 * float(row["reference_similarity"])


@metric("meanings", range=(0.0, None), direction="lower")
def answer_uncertainty(row: Row) -> float | None:
    """Return the entropy, in bits, over the meanings of several answers to the same question."""
    return entropy(row["meanings"])


@metric("refused", "must_refuse")
def refusal_correct(row: Row) -> float | None:
    """Return 1 if the answer refuses exactly when it should, else 0."""
    return float(row["refused"] == row["must_refuse"])


@metric("covered", "statements", "true_claims", "contexts", version=STATEMENTS_VERSION)
def information_integration(row: Row) -> float | None:
    """Return 0.6 of the right statements that the answer makes, and 0.4 of their sources."""
    coverage = share(claim["supported"] for claim in row["covered"])
    sources = {claim["source"] for claim in row["true_claims"]}
    if coverage is None or not sources or None in sources or faithfulness(row) is None:
        return None
    proving = {context["document"] for context in supporting_contexts(row)}
    return 0.6 * coverage + 0.4 * len(sources & proving) / len(sources)


@metric("conflicts")
def contradiction_handling(row: Row) -> float | None:
    """Return the share of contradictions between passages that the answer names or leaves open."""
    return share(row["conflicts"])


def _evidence_parts(row: Row) -> dict[str, float | None]:
    """Return the four parts of evidence_quality, each None if unknown.

    support is the share of supported statements. Of the contexts that prove a statement, independence is
    documents / contexts, and recency the mean of 0.5 ** (years before the newest context of the row).
    """
    proving = supporting_contexts(row)
    documents = [context["document"] for context in proving]
    newest = max((day for context in row["contexts"] if (day := _day(context["date"]))), default=None)
    days = [_day(context["date"]) for context in proving]
    ages = [None if newest is None or day is None else newest - day for day in days]
    return {
        "support": faithfulness(row),
        "independence": len({*documents}) / len(proving) if proving and None not in documents else None,
        "recency": share(None if age is None else 2.0 ** (-age / HALF_LIFE_DAYS) for age in ages),
        "authority": share(context["authority"] for context in proving),
    }


def _day(text: str | None) -> int | None:
    """Return the number of the day of an ISO date, which may have a time."""
    try:
        return date.fromisoformat((text or "")[:10]).toordinal()
    except ValueError:
        return None


def _unknown_parts(row: Row) -> list[str]:
    return [f"without {name}" for name, part in _evidence_parts(row).items() if part is None]


@metric("statements", "contexts", without=_unknown_parts, version=STATEMENTS_VERSION)
def evidence_quality(row: Row) -> float | None:
    """Return the weighted mean of support, independence of sources, recency and authority."""
    parts = {name: part for name, part in _evidence_parts(row).items() if part is not None}
    if "support" not in parts:
        return None
    weighted_sum = math.fsum(WEIGHTS[name] * part for name, part in parts.items())
    return weighted_sum / math.fsum(WEIGHTS[name] for name in parts)


@metric("confidences", version=2)
def chain_integrity(row: Row) -> float | None:
    """Return the share of the steps of evidence with a loss of confidence of at most 0.05."""
    confidences = row["confidences"]
    if None in confidences or not all(map(math.isfinite, confidences)):
        return None
    # a rounding error is no loss
    return share(before - after <= MOST_FALL + 1e-9 for before, after in pairwise(confidences))
