"""Metrics of grounding: verified statements, their support by contexts, and contradictions with contexts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import polars as pl

from qa_pipeline.evaluation.metrics.base import (
    ENTAILMENT,
    MODEL,
    SIMILARITY,
    STATEMENTS_VERSION,
    Row,
    Setup,
    ask,
    judge_request,
    metric,
    share,
    signal,
)
from qa_pipeline.models.vector_cache import TextVectors
from qa_pipeline.records import ContextReply, GroundednessReply
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.words import recall
from qa_pipeline.verification import verify as verification
from qa_pipeline.verification.deciding import QUOTATION, missing_figures
from qa_pipeline.verification.quotation import without_polar_word
from qa_pipeline.verification.sources import units_of
from qa_pipeline.verification.verify import Statement

SCORES_DECIDE = (SIMILARITY, ENTAILMENT, "similarity_only")
"""Deciders that compare a score with a threshold."""
ENTAILED = 0.5
"""Probability from which contexts support a statement."""
LIKE_ENOUGH = 0.64
"""Likeness from which contexts support a statement that is not a fragment."""
_OPPOSITE = "direction_mismatch"
_BY_SCORES = {"decided_by": ("statements.scored_by",), "version": STATEMENTS_VERSION}
StatementRows = list[Row] | None
"""The statements of a text; None if it has none, or if its passages have no text.

A statement has its `position`, its words in the answer (`text`, `start`, `end`) and in a self-contained form
(`claim`), `verdict` (supported, unsupported, contradicted or undecided), `decided_by` and `reason`, the index
of the context of its evidence and the `quote`, its cosine to the question (`relevance`), `score` and
`pair_score` (against the best context and the best pair of contexts) and `scored_by`. A claim that is looked
for in a text has only `supported` (None if undecided) and `decided_by`.
"""


@signal("answer", "contexts", "refused")
def find_statements(rows: list[Row], setup: Setup) -> list[StatementRows]:
    """Verify each answer against its contexts; None for a refusal or an unknown text."""
    texts = [None if row["refused"] else by_contexts(row["answer"], row, row["contexts"]) for row in rows]
    return verify(texts, setup)


@signal("answer", "reference", "refused")
def find_reference_statements(rows: list[Row], setup: Setup) -> list[StatementRows]:
    """Look for each statement of the answer in the reference; None for a refusal."""
    texts = [None if row["refused"] else _by_text(row["answer"], row, row["reference"]) for row in rows]
    verified = verify(texts, setup)
    return [None if claims is None else [_as_one([claim]) for claim in claims] for claims in verified]


@signal("contexts")
def find_attributed(rows: list[Row], setup: Setup) -> list[StatementRows]:
    """Look for each true claim, or else each statement of the reference, in the contexts."""
    texts = [[by_contexts(claim, row, row["contexts"]) for claim in _true_claims(row)] for row in rows]
    return _find_claims(rows, texts, setup)


@signal("answer", "true_claims", "refused")
def find_covered(rows: list[Row], setup: Setup) -> list[StatementRows]:
    """Look for each true claim in the answer; None for a refusal."""
    texts = [
        [None if row["refused"] else _by_text(claim, row, row["answer"]) for claim in _true_claims(row)]
        for row in rows
    ]
    return _find_claims(rows, texts, setup)


def by_contexts(text: str, row: Row, contexts: Iterable[Row]) -> Statement | None:
    """Return a text with the contexts that should support it; None if the text of a context is unknown."""
    passages = tuple(context["text"] for context in contexts)
    headings = tuple(tuple(context["headings"] or ()) for context in contexts)
    if None in passages:
        return None
    return Statement(text, passages, row["language"], row["query"], headings if any(headings) else ())


def _by_text(text: str, row: Row, source: str) -> Statement:
    return Statement(text, (without_marks(source),), row["language"], row["query"])


def _true_claims(row: Row) -> list[str]:
    """Return the texts of the true claims, or else the reference as the only text."""
    claims = row["true_claims"]
    return [row["reference"] or ""] if claims is None else [claim["claim"] for claim in claims]


def _find_claims(
    rows: list[Row], texts_of_rows: list[list[Statement | None]], setup: Setup
) -> list[StatementRows]:
    """Verify the texts of rows (`_true_claims`); a claim is a true claim, or a statement of the reference."""
    verified = iter(verify([*chain(*texts_of_rows)], setup))
    claims_of_rows: list[StatementRows] = []
    for row, texts in zip(rows, texts_of_rows, strict=True):
        # such as [[first, second], [third]] for two true claims, [[first, second, third]] for a reference
        statements_of_texts = [statements or [] for statements in islice(verified, len(texts))]
        if texts and not any(statements_of_texts):
            claims_of_rows.append(None)
        elif row["true_claims"] is None:
            (statements,) = statements_of_texts  # of the reference, the only text
            claims_of_rows.append([_as_one([statement]) for statement in statements])
        else:  # an empty list of true claims stays empty
            claims_of_rows.append([*map(_as_one, statements_of_texts)])
    return claims_of_rows


def _as_one(statements: Sequence[Row]) -> Row:
    """Return a claim of several statements: supported if all are, unknown if there are none."""
    strength = {"undecided": 1, "supported": 2}  # 0 if unsupported or contradicted
    weakest = min(statements, key=lambda statement: strength.get(statement["verdict"], 0), default=None)
    if weakest is None:
        return {"supported": None, "decided_by": None}
    supported = {"undecided": None, "supported": True}.get(weakest["verdict"], False)
    return {"supported": supported, "decided_by": weakest["decided_by"]}


def verify(
    texts: Sequence[Statement | None], setup: Setup, *, compare_figures: bool = True
) -> list[StatementRows]:
    """Return the verified statements of each text, an answer or claim with its contexts; None without any.

    The steps of verification decide first, the verifier among them. Scores decide the rest, unless there is
    a verifier or `setup.undecided` is unknown. With `compare_figures` a score never supports a statement
    whose figures or negations differ from its evidence.
    """
    with_words = (text for text in texts if text and text.text.strip() and "".join(text.passages).strip())
    text_by_id = {text.statement_id: text for text in with_words}  # equal texts are verified once
    claims = _decided_claims(text_by_id, setup)
    questions = (text_by_id[statement_id].question for statement_id in claims["pair_id"])
    vectors = TextVectors([*claims["claim"], *questions], setup.resources.embedder)
    statements_by_id: dict[str, list[Row]] = {}
    for claim in claims.iter_rows(named=True):
        origin = text_by_id[claim["pair_id"]]
        claim["relevance"] = vectors.cosines(claim["claim"], [origin.question])[0]
        scored = _scored(claim, origin, setup, compare_figures)
        statements_by_id.setdefault(claim["pair_id"], []).append(scored)
    return [None if text is None else statements_by_id.get(text.statement_id) for text in texts]


def _decided_claims(text_by_id: Mapping[str, Statement], setup: Setup) -> pl.DataFrame:
    """Return the claims of texts with their verdicts; `pair_id` is the id of the text.

    If the splitter fails, the rules split the text. With `split_claims: model` it has no claims instead, and
    the reason is added to `setup.unsplit`.
    """
    resources, settings = setup.resources, setup.resources.settings
    models = (resources.embedder, resources.entailment, setup.verifier, setup.splitter)
    verification_models = verification.VerificationModels(settings.verification, *models, settings.llm)
    # other metrics measure if the answer is to the question
    verified = verification.verify([*text_by_id.values()], verification_models, must_answer=False)
    claims = verified.claims_with_verdicts()
    if settings.verification.split_claims == "model":
        for statement_id, reason in verified.failures.items():
            unsplit = text_by_id[statement_id]
            setup.unsplit[unsplit.question, unsplit.text] = reason
        claims = claims.filter(~pl.col("pair_id").is_in([*verified.failures]))
    return claims.with_columns(
        claim=pl.coalesce("self_contained", "text"), context="evidence_passage", quote="evidence_quote"
    )


def _scored(claim: Row, origin: Statement, setup: Setup, compare_figures: bool) -> Row:
    """Return a claim with its scores, and with the verdict of its score if the steps did not decide it.

    `origin` is the text of the claim with its contexts. If a step decided, or a difference of words overruled
    the score, the scores become 1 for a supported claim, else 0.
    """
    claim_reading = read(claim["claim"], origin.language)
    evidence = read(claim["quote"] or "", origin.language)  # the best sentence for the claim
    others = [passage for index, passage in enumerate(origin.passages) if index != claim["context"]]
    second = _second_evidence(claim_reading, evidence, others)  # for the score of a pair of contexts
    scores = _scores(claim, claim_reading, evidence, second, setup)
    # a claim that says yes has nearly the score of one that says no
    is_polar = without_polar_word(claim["text"], origin.language)[1] is not None
    may_score_decide = setup.verifier is None and setup.undecided != "unknown" and not is_polar
    decision = {name: claim[name] for name in ("verdict", "decided_by", "reason")}
    if claim["verdict"] == "failed":  # the claim could not be checked, for example without evidence
        decision["verdict"] = "undecided"
    elif claim["verdict"] == "undecided" and may_score_decide:
        is_compared = scores.reaches_threshold and compare_figures
        difference = _difference(claim, claim_reading, evidence, second) if is_compared else None
        decision = _decision_by_score(scores, difference)
    is_decided = decision["verdict"] != "undecided"
    if is_decided and decision["decided_by"] not in SCORES_DECIDE:  # but a step, or a difference of words
        score = float(decision["verdict"] == "supported")
        scores = scores._replace(scored_by=decision["decided_by"], score=score, pair_score=score)
    columns: Row = {"score": scores.score, "pair_score": scores.pair_score, "scored_by": scores.scored_by}
    return claim | decision | columns


class _Scores(NamedTuple):
    """Scores of a claim by its best context and pair of contexts, and if `score` reaches its threshold."""

    scored_by: str
    score: float
    pair_score: float
    reaches_threshold: bool


def _decision_by_score(scores: _Scores, difference: str | None) -> Row:
    """Return verdict, decider and reason; a difference between the words (a code) overrules their score."""
    if difference is not None:
        verdict = "contradicted" if difference == _OPPOSITE else "unsupported"
        return {"verdict": verdict, "decided_by": QUOTATION, "reason": difference}
    verdict = "supported" if scores.reaches_threshold else "unsupported"
    return {"verdict": verdict, "decided_by": scores.scored_by, "reason": None}


def _scores(claim: Row, claim_reading: Reading, evidence: Reading, second: Reading, setup: Setup) -> _Scores:
    """Return scores of entailment, or else of likeness: the mean of cosine and share of claimed words.

    `evidence` is the best sentence for the claim. `pair_score` also counts words of `second`, a sentence of
    another context, and decides nothing. Only the cosine decides a fragment.
    """
    if setup.resources.entailment is not None:
        score = claim["entailment"] or 0.0
        return _Scores(ENTAILMENT, score, pair_score=score, reaches_threshold=score >= ENTAILED)
    cosine = min(1.0, max(0.0, claim["similarity"] or 0.0))
    score = (cosine + (claim["token_recall"] or 0.0)) / 2  # token_recall is of `evidence`
    recall_of_pair = recall(claim_reading.stem_set, evidence.stem_set | second.stem_set) or 0.0
    pair_score = max(score, (cosine + recall_of_pair) / 2)
    similarity_pass = setup.resources.settings.verification.similarity_pass
    is_like_enough = cosine >= similarity_pass if claim["fragment"] else score >= LIKE_ENOUGH
    return _Scores(SIMILARITY, score, pair_score, is_like_enough)


def _difference(claim: Row, claim_reading: Reading, evidence: Reading, second: Reading) -> str | None:
    """Return a reason code if the direction, figures or negations of a claim differ from its evidence."""
    if {_direction(claim_reading), _direction(evidence)} == {1, -1}:
        return _OPPOSITE
    if claim["scope_differs"] and missing_figures(claim_reading, [evidence, second]):
        return "number_not_in_passages"
    is_denial = evidence.tokens and bool(evidence.negations) != bool(claim_reading.negations)
    return "negation_mismatch" if is_denial else None


def _direction(reading: Reading) -> int:
    """Return 1 for a text of rising amounts, -1 for falling amounts, 0 if neither or both."""
    words, vocabulary = {*reading.lower_tokens}, lexicon(reading.language)
    rises, falls = bool(words & vocabulary.rising), bool(words & vocabulary.falling)
    return int(rises) - int(falls)


def _second_evidence(claim_reading: Reading, evidence: Reading, others: Sequence[str]) -> Reading:
    """Return the sentence of other passages with most of the claimed words that the evidence lacks."""
    unproved, language = claim_reading.stem_set - evidence.stem_set, claim_reading.language
    sentences = (unit.reading for passage in others for unit in units_of("", passage, language))
    return max(sentences, key=lambda sentence: len(unproved & sentence.stem_set), default=read("", language))


@signal("contexts", "statements", decided_by=QUOTATION, judged=True)
def find_contradictions(rows: list[Row], setup: Setup) -> list[list[bool | None] | None]:
    """Return for each context True if it contradicts the answer.

    Without a judge, these are the contexts that deny a statement: a lower bound, and None if every statement
    is undecided.
    """
    if setup.judge is None:
        return [_denied_contexts(row) for row in rows]
    requests = [
        judge_request(row, "contradicts", ContextReply, setup, [context])
        for row in rows
        for context in row["contexts"]
    ]
    verdicts = {"yes": True, "no": False}
    flags = (None if reply is None else verdicts.get(reply.contradicts) for reply in ask(requests, setup))
    return [[*islice(flags, len(row["contexts"]))] for row in rows]


def _denied_contexts(row: Row) -> list[bool | None] | None:
    """Return for each context True if it denies a statement; None if every statement is undecided."""
    verdicts = [(statement["verdict"], statement["context"]) for statement in row["statements"]]
    if all(verdict == "undecided" for verdict, _ in verdicts):
        return None
    return [("contradicted", index) in verdicts for index in range(len(row["contexts"]))]


@signal("contexts", "statements", decided_by=MODEL)
def find_groundedness(rows: list[Row], setup: Setup) -> list[list[float | None] | None]:
    """Return for each statement the judge's best rating of a context as its support, from 0 to 1."""
    if setup.judge is None:
        return [None] * len(rows)
    claims = [(row, statement["claim"]) for row in rows for statement in row["statements"]]
    requests = [
        judge_request({**row, "answer": claim}, "groundedness", GroundednessReply, setup, [context])
        for row, claim in claims
        for context in row["contexts"]
    ]
    replies = ask(requests, setup)  # in the order of rows, statements and contexts
    ratings_of_rows: list[list[float | None] | None] = []
    for row in rows:
        best_ratings: list[float | None] = []  # of the statements
        for _ in row["statements"]:
            claim_replies = [*islice(replies, len(row["contexts"]))]
            ratings = [reply.groundedness for reply in claim_replies if reply is not None]
            is_complete = bool(ratings) and len(ratings) == len(claim_replies)  # a failure may be the best
            best_ratings.append(max(ratings) if is_complete else None)
        ratings_of_rows.append(best_ratings)
    return ratings_of_rows


@metric("statements", version=STATEMENTS_VERSION)
def faithfulness(row: Row) -> float | None:
    """Return the share of the statements of an answer that its passages support."""
    return _supported_share(row, [1.0] * len(row["statements"]))


def _supported_share(row: Row, weights: Sequence[float]) -> float | None:
    """Return the weight of supported statements as a share; None with an undecided statement or no weight."""
    verdicts = [statement["verdict"] for statement in row["statements"]]
    total = math.fsum(weights)
    if "undecided" in verdicts or not total > 0:
        return None
    supported = (weight for weight, verdict in zip(weights, verdicts, strict=True) if verdict == "supported")
    return math.fsum(supported) / total


@metric("statements", version=STATEMENTS_VERSION)
def weighted_faithfulness_uniform(row: Row) -> float | None:
    """Return the share of supported statements, every statement counting alike."""
    return faithfulness(row)


@metric("statements", version=STATEMENTS_VERSION)
def weighted_faithfulness_position(row: Row) -> float | None:
    """Return the share of supported statements, the first statements counting most."""
    return _supported_share(row, [1 / (statement["position"] + 1) for statement in row["statements"]])


@metric("statements", version=STATEMENTS_VERSION)
def weighted_faithfulness_semantic(row: Row) -> float | None:
    """Return the share of supported statements, weighted by similarity to the question."""
    return _supported_share(row, [max(0.0, statement["relevance"]) for statement in row["statements"]])


@metric("statements", **_BY_SCORES)
def grounding(row: Row) -> float | None:
    """Return the mean over statements of the score of the best single passage."""
    return share(statement["score"] for statement in row["statements"])


@metric("statements", **_BY_SCORES)
def multi_document_grounding(row: Row) -> float | None:
    """Return the mean over statements of the score of the best passage or pair of passages."""
    return share(statement["pair_score"] for statement in row["statements"])


@metric("contradictions", direction="lower", version=STATEMENTS_VERSION)
def hallucination(row: Row) -> float | None:
    """Return the share of the passages that the answer contradicts, flagged from 0.5."""
    return share(row["contradictions"])


@metric("groundedness", version=2)
def llm_groundedness(row: Row) -> float | None:
    """Return the mean over statements of a model's best rating of one passage as their support."""
    return share(row["groundedness"])


def supporting_contexts(row: Row) -> list[Row]:
    """Return the contexts that prove a statement, in their order."""
    supported = (statement for statement in row["statements"] if statement["verdict"] == "supported")
    indices = {statement["context"] for statement in supported} - {None}
    return [row["contexts"][index] for index in sorted(indices)]
