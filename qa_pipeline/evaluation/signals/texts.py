"""Signals of whole texts, by rules and cosines, or by the judge where there is one."""

from collections.abc import Iterator
from itertools import chain, combinations, islice, product

from qa_pipeline.evaluation.signals.judge import ask, judge_request
from qa_pipeline.evaluation.signals.means import Means, Row
from qa_pipeline.models.vector_cache import TextVectors
from qa_pipeline.records import BackQuestionsReply, ContextReply, GroundednessReply, RelevanceReply
from qa_pipeline.text.reading import read
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.quotation import one_slot_denial
from qa_pipeline.verification.sources import units_of

QUESTIONS = 3
"""Questions asked back from an answer: their mean is steadier than one, and all come with one call."""
SAME_MEANING = 0.9
"""Cosine from which two short answers mean the same, if neither denies the other.

Lower ones join answers that differ in a word, higher ones part those in other words.
"""

Sentences = tuple[Row, list[str] | None]
"""A row, and the sentences of one of its contexts; None if its text is unknown."""


def find_refusals(rows: list[Row], _means: Means) -> list[bool | None]:
    """Return for each answer True if it only says that there is none; None if it is empty."""
    return [is_refusal(row["answer"]) if row["answer"].strip() else None for row in rows]


def find_relevances(rows: list[Row], means: Means) -> list[float | None]:
    """Return the mean cosine of the question to the questions that the judge asks back from the answer.

    Without a judge to its sentences. An answer that commits to nothing has 0.
    """
    texts: list[list[str] | None]
    if means.judge is None:
        texts = [[] if row["refused"] else _sentences(without_marks(row["answer"]), row) for row in rows]
    else:
        requests = [judge_request(row, "back_questions", BackQuestionsReply, means) for row in rows]
        texts = [_back_questions(reply) for reply in ask(requests, means)]
    vectors = TextVectors(
        chain((row["query"] for row in rows), *filter(None, texts)), means.resources.embedder
    )
    relevances: list[float | None] = []
    for row, of_row in zip(rows, texts, strict=True):
        cosines = vectors.cosines(row["query"], of_row or ())
        mean = sum(cosines) / max(1, len(cosines))
        relevances.append(None if of_row is None else min(1.0, max(-1.0, mean)))
    return relevances


def _back_questions(reply: BackQuestionsReply | None) -> list[str] | None:
    """Return the questions of a reply: none if it is noncommittal, None if unknown."""
    if reply is not None and reply.noncommittal:
        return []
    questions = [] if reply is None else [question for question in reply.questions if question.strip()]
    return questions[:QUESTIONS] or None


def _sentences(text: str, row: Row) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, row["language"])]


def find_relevant_sentences(rows: list[Row], means: Means) -> list[list[list[bool | None]]]:
    """Return for each sentence of each context whether it helps to answer; [None] without a text.

    Without a judge it does if its cosine to the question or the reference is that of texts about one thing.
    """
    contexts = [(row, context["text"]) for row in rows for context in row["contexts"]]
    texts = [(row, None if text is None else _sentences(text, row)) for row, text in contexts]
    flags = _near(texts, means) if means.judge is None else _helpful(texts, means)
    return [[*islice(flags, len(row["contexts"]))] for row in rows]


def _near(texts: list[Sentences], means: Means) -> Iterator[list[bool | None]]:
    aims = [[row["query"], row["reference"] or row["query"]] for row, _ in texts]
    vectors = TextVectors(chain(*aims, *(text or () for _, text in texts)), means.resources.embedder)
    limit = means.resources.settings.verification.similarity_fail
    for (_, text), of_row in zip(texts, aims, strict=True):
        cosines = (vectors.cosines(aim, text or ()) for aim in of_row)
        near = [max(of_sentence) >= limit for of_sentence in zip(*cosines, strict=True)]
        yield [None] if text is None else [*near]


def _helpful(texts: list[Sentences], means: Means) -> Iterator[list[bool | None]]:
    requests = [
        judge_request(row, "relevant_sentences", RelevanceReply, means, sentences=text)
        for row, text in texts
        if text
    ]
    replies = ask(requests, means)
    for _, text in texts:
        numbers = range(1, len(text or ()) + 1)
        reply = next(replies) if text else None
        if reply is None or not {*reply.relevant} <= {*numbers}:
            yield [None] * (1 if text is None else len(text))
        else:
            yield [number in reply.relevant for number in numbers]


def find_likeness(rows: list[Row], means: Means) -> list[float]:
    """Return the cosine of each answer to its reference, at least 0."""
    pairs = [(row["answer"], row["reference"]) for row in rows]
    vectors = TextVectors(chain(*pairs), means.resources.embedder)
    return [min(1.0, max(0.0, *vectors.cosines(answer, [reference]))) for answer, reference in pairs]


def find_meanings(rows: list[Row], means: Means) -> list[list[int]]:
    """Return for each sample of an answer the index of the first sample of the same meaning."""
    samples_of_rows = [[" ".join(sample.casefold().split()) for sample in row["samples"]] for row in rows]
    vectors = TextVectors(chain(*samples_of_rows), means.resources.embedder)
    return [
        _meanings(samples, row["language"], vectors)
        for row, samples in zip(rows, samples_of_rows, strict=True)
    ]


def _meanings(samples: list[str], language: str, vectors: TextVectors) -> list[int]:
    meanings: list[int] = []
    readings = [read(sample, language) for sample in samples]
    for index, sample in enumerate(samples):
        cosines = vectors.cosines(sample, samples)
        same = (
            first
            for first in sorted({*meanings})
            if cosines[first] >= SAME_MEANING
            and one_slot_denial(readings[index], readings[first], frozenset()) is None
        )
        meanings.append(next(same, index))
    return meanings


def find_conflicts(rows: list[Row], _means: Means) -> list[list[bool]]:
    """Return for each contradiction between two contexts True if the answer refuses or states both sides.

    A contradiction is two sentences that differ in one slot alone.
    """
    return [_conflicts(row) for row in rows]


def _conflicts(row: Row) -> list[bool]:
    language = row["language"]
    stated = {*read(row["answer"], language).tokens}
    units = [units_of("", context["text"] or "", language) for context in row["contexts"]]
    conflicts = []
    for first, second in chain(*(product(*pair) for pair in combinations(units, 2))):
        denial = one_slot_denial(first.reading, second.reading, frozenset())
        if denial is not None and not first.is_row and not second.is_row:
            conflicts.append(row["refused"] or {denial.claimed, denial.stated} - {""} <= stated)
    return conflicts


def find_contradictions(rows: list[Row], means: Means) -> list[list[bool | None] | None]:
    """Return for each context whether it contradicts the answer.

    Without a judge it does if a statement denies it: a lower bound, unknown if no statement is decided.
    """
    if means.judge is None:
        return [_denied_contexts(row) for row in rows]
    requests = [
        judge_request(row, "contradicts", ContextReply, means, [context])
        for row in rows
        for context in row["contexts"]
    ]
    verdicts = {"yes": True, "no": False}
    flags = (None if reply is None else verdicts.get(reply.contradicts) for reply in ask(requests, means))
    return [[*islice(flags, len(row["contexts"]))] for row in rows]


def _denied_contexts(row: Row) -> list[bool | None] | None:
    verdicts = [(statement["verdict"], statement["context"]) for statement in row["statements"]]
    if all(verdict == "undecided" for verdict, _ in verdicts):
        return None
    return [("contradicted", index) in verdicts for index in range(len(row["contexts"]))]


def find_groundedness(rows: list[Row], means: Means) -> list[list[float | None] | None]:
    """Return for each statement the judge's best rating of a context that should support it, 0 to 1."""
    if means.judge is None:
        return [None] * len(rows)
    stated = [(row, statement["claim"]) for row in rows for statement in row["statements"]]
    requests = [
        judge_request({**row, "answer": claim}, "groundedness", GroundednessReply, means, [context])
        for row, claim in stated
        for context in row["contexts"]
    ]
    ratings = iter([None if reply is None else reply.groundedness for reply in ask(requests, means)])
    best = iter([_best([*islice(ratings, len(row["contexts"]))]) for row, _ in stated])
    return [[*islice(best, len(row["statements"]))] for row in rows]


def _best(ratings: list[float | None]) -> float | None:
    numbers = [rating for rating in ratings if rating is not None]
    return max(numbers) if numbers and len(numbers) == len(ratings) else None
