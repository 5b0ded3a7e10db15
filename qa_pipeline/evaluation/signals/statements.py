"""Signals of statements: those of answers, references and true claims, verified against other texts."""

from collections.abc import Iterable, Sequence, Set
from itertools import chain, islice

import polars as pl

from qa_pipeline.evaluation.signals.means import ENTAILMENT, SIMILARITY, Means, Row
from qa_pipeline.models.vector_cache import TextVectors
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
"""Deciders that hold a score against a threshold."""
ENTAILED = 0.5
"""Probability from which contexts support a statement."""
STATED = 0.64
"""Likeness from which contexts support a statement that is no fragment."""
Verified = list[Row] | None
"""The statements of a text; None if it has none, or nothing could prove them.

A statement has its `position`, its words in the answer (`text`, `start`, `end`) and as they are understood
alone (`claim`), the verdict (supported, unsupported, contradicted or undecided), `decided_by` and `reason`,
the context of its evidence (from 0) and the quote, its cosine to the question (`relevance`), its scores
against the best context and the best pair of contexts, and who scored. One that is only looked for in a text
has `supported` (None if undecided) and `decided_by`.
"""


def find_statements(rows: list[Row], means: Means) -> list[Verified]:
    """Verify each answer against its contexts; None for a refusal or an unknown text."""
    texts = [None if row["refused"] else by_contexts(row["answer"], row, row["contexts"]) for row in rows]
    return verify(texts, means)


def find_reference_statements(rows: list[Row], means: Means) -> list[Verified]:
    """Look for each statement of the answer in the reference; None for a refusal."""
    texts = [None if row["refused"] else _by_text(row["answer"], row, row["reference"]) for row in rows]
    return [of_row and [_as_one([statement]) for statement in of_row] for of_row in verify(texts, means)]


def find_attributed(rows: list[Row], means: Means) -> list[Verified]:
    """Look for each true claim, or else each statement of the reference, in the contexts."""
    texts = [[by_contexts(claim, row, row["contexts"]) for claim in _true_claims(row)] for row in rows]
    return _find_held(rows, texts, means)


def find_covered(rows: list[Row], means: Means) -> list[Verified]:
    """Look for each true claim in the answer; None for a refusal."""
    texts = [
        [None if row["refused"] else _by_text(claim, row, row["answer"]) for claim in _true_claims(row)]
        for row in rows
    ]
    return _find_held(rows, texts, means)


def _true_claims(row: Row) -> list[str]:
    claims = row["true_claims"]
    return [row["reference"] or ""] if claims is None else [claim["claim"] for claim in claims]


def _by_text(text: str, row: Row, source: str) -> Statement:
    return Statement(text, (without_marks(source),), row["language"], row["query"])


def by_contexts(text: str, row: Row, contexts: Iterable[Row]) -> Statement | None:
    """Return a text with the contexts that should prove it; None if one of these is unknown."""
    passages = tuple(context["text"] for context in contexts)
    headings = tuple(tuple(context["headings"] or ()) for context in contexts)
    if None in passages:
        return None
    return Statement(text, passages, row["language"], row["query"], headings if any(headings) else ())


def _find_held(rows: list[Row], texts: list[list[Statement | None]], means: Means) -> list[Verified]:
    verified = iter(verify([*chain(*texts)], means))
    statements_of_rows: list[Verified] = []
    for row, of_row in zip(rows, texts, strict=True):
        claims = [statements or [] for statements in islice(verified, len(of_row))]
        if row["true_claims"] is None:
            claims = [[statement] for statement in claims[0]]
        statements_of_rows.append([_as_one(claim) for claim in claims] if any(claims) or not of_row else None)
    return statements_of_rows


def _as_one(statements: Sequence[Row]) -> Row:
    """Return a claim of several statements: supported if all are, unknown if it has none."""
    order = {"undecided": 1, "supported": 2}
    telling = min(statements, key=lambda statement: order.get(statement["verdict"], 0), default=None)
    if telling is None:
        return {"supported": None, "decided_by": None}
    supported = {"undecided": None, "supported": True}.get(telling["verdict"], False)
    return {"supported": supported, "decided_by": telling["decided_by"]}


def verify(
    texts: Sequence[Statement | None], means: Means, *, compare_figures: bool = True
) -> list[Verified]:
    """Return the verified statements of each text.

    The steps of verification decide first, the verifier among them. What they leave open is decided by
    scores, unless there is a verifier or `means` wants it unknown. With `compare_figures` no score supports a
    statement that has another figure or negation.
    """
    resources = means.resources
    settings = resources.settings
    checked = (text for text in texts if text and text.text.strip() and "".join(text.passages).strip())
    text_by_id = {text.statement_id: text for text in checked}
    models = (resources.embedder, resources.entailment, means.verifier, means.splitter)
    step_means = verification.Means(settings.verification, *models, settings.llm)
    # whether an answer is to the question is another metric's concern
    verified = verification.verify([*text_by_id.values()], step_means, to_the_question=False)
    if settings.verification.split_claims == "model":
        for statement_id, reason in verified.failures.items():
            text = text_by_id.pop(statement_id)
            means.unsplit[text.question, text.text] = reason
    claims = verified.claims_with_verdicts().filter(pl.col("pair_id").is_in([*text_by_id]))
    claims = claims.with_columns(
        claim=pl.coalesce("self_contained", "text"), context="evidence_passage", quote="evidence_quote"
    )
    questions = [text.question for text in text_by_id.values()]
    vectors = TextVectors([*claims["claim"], *questions], resources.embedder)
    statements_by_id: dict[str, list[Row]] = {}
    for claim in claims.iter_rows(named=True):
        text = text_by_id[claim["pair_id"]]
        claim["relevance"] = vectors.cosines(claim["claim"], [text.question])[0]
        statement = _statement(claim, text, means, compare_figures)
        statements_by_id.setdefault(claim["pair_id"], []).append(statement)
    return [None if text is None else statements_by_id.get(text.statement_id) for text in texts]


def _statement(claim: Row, text: Statement, means: Means, compare_figures: bool) -> Row:
    """Return a claim with its scores, and with the verdict where these decide.

    The score is the probability of entailment, or else likeness: the mean of cosine and share of words. The
    words of a fragment are in many places, so its cosine alone decides. What a step proved has the score 1,
    what it denied 0.
    """
    stated, evidence = (read(words or "", text.language) for words in (claim["claim"], claim["quote"]))
    other = _other_evidence(stated.stem_set - evidence.stem_set, claim, text)
    cosine = min(1.0, max(0.0, claim["similarity"] or 0.0))
    if means.resources.entailment is not None:
        scored_by = ENTAILMENT
        score = pair_score = claim["entailment"] or 0.0
        is_alike = score >= ENTAILED
    else:
        scored_by = SIMILARITY
        score = (cosine + (claim["token_recall"] or 0.0)) / 2
        in_pair = recall(stated.stem_set, evidence.stem_set | other.stem_set) or 0.0
        pair_score = max(score, (cosine + in_pair) / 2)
        similarity_pass = means.resources.settings.verification.similarity_pass
        is_alike = cosine >= similarity_pass if claim["fragment"] else score >= STATED
    # a score hardly moves with yes and no, figures and negations
    is_polar = without_polar_word(claim["text"], text.language)[1] is not None
    is_open = means.verifier is not None or means.undecided == "unknown" or is_polar
    verdict, decided_by, reason = claim["verdict"], claim["decided_by"], claim["reason"]
    if verdict == "failed":
        verdict = "undecided"
    elif verdict == "undecided" and not is_open:
        is_compared = is_alike and compare_figures
        reason = _difference(claim, stated, evidence, other) if is_compared else None
        verdict = "supported" if is_alike and reason is None else "unsupported"
        if is_compared and _direction(stated) == -_direction(evidence) != 0:
            verdict, reason = "contradicted", "direction_mismatch"
        decided_by = scored_by if reason is None else QUOTATION
    if verdict != "undecided" and decided_by not in SCORES_DECIDE:
        scored_by = decided_by
        score = pair_score = float(verdict == "supported")
    decision = {"verdict": verdict, "decided_by": decided_by, "reason": reason}
    return claim | decision | {"score": score, "pair_score": pair_score, "scored_by": scored_by}


def _difference(claim: Row, stated: Reading, evidence: Reading, other: Reading) -> str | None:
    """Return the reason code if a claim has another figure or negation than its evidence."""
    if claim["scope_differs"] and missing_figures(stated, [evidence, other]):
        return "number_not_in_passages"
    is_denial = evidence.tokens and bool(evidence.negations) != bool(stated.negations)
    return "negation_mismatch" if is_denial else None


def _direction(reading: Reading) -> int:
    """Return 1 for a text in which amounts rise, -1 if they fall, 0 if neither or both."""
    words, vocabulary = {*reading.lower_tokens}, lexicon(reading.language)
    return bool(words & vocabulary.rising) - bool(words & vocabulary.falling)


def _other_evidence(stems: Set[str], claim: Row, text: Statement) -> Reading:
    """Return the sentence of another context that holds most of the wanted words."""
    readings = (
        unit.reading
        for index, passage in enumerate(text.passages)
        if index != claim["evidence_passage"]
        for unit in units_of("", passage, text.language)
    )
    nothing = read("", text.language)
    return max(readings, key=lambda reading: len(stems & reading.stem_set), default=nothing)
