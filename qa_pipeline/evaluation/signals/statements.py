"""Signals of statements: those of answers, references and true claims, verified against other texts."""

import functools
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.evaluation.signals.base import ENTAILMENT, SIMILARITY, Means, Row
from qa_pipeline.models.entailment.models import CrossEncoder
from qa_pipeline.models.text_vectors import TextVectors
from qa_pipeline.text.reading import read
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification import verify as verification
from qa_pipeline.verification.binding import without_polar_word
from qa_pipeline.verification.deciding import QUOTATION
from qa_pipeline.verification.model_quotes import missing_figures
from qa_pipeline.verification.verify import Statement

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Scores = tuple[Floats, float, Flags]
"""The score of each context, that of the best pair of them, and which contexts are support."""
ENOUGH_ALONE = 0.8
"""Score of the best context from which no pairs are looked at: each costs a reading."""
LONGEST_WINDOW = 3
"""Neighbouring sentences in which the words of a statement are looked for."""
ENTAILED = 0.5  # the probability from which a text is likelier to say it than not
SCORES_DECIDE = (SIMILARITY, ENTAILMENT, "similarity_only")
"""Deciders that hold a score against a threshold."""
STATED = 0.64
"""Mean of cosine and share of terms from which a context supports a statement that is no fragment.

The best of 0.40, 0.42 … 0.84 for the verdicts of five sets that people labelled (docs/metrics.md).
"""

STATEMENT = pl.Struct(
    {
        "position": pl.Int64(),
        "start": pl.Int64(),
        "end": pl.Int64(),
        "text": pl.String(),
        "verdict": pl.String(),
        "decided_by": pl.String(),
        "reason": pl.String(),
        "context": pl.Int64(),
        "quote": pl.String(),
        "relevance": pl.Float64(),
        "score": pl.Float64(),
        "pair_score": pl.Float64(),
        "scores": pl.List(pl.Float64()),
        "holds": pl.List(pl.Boolean()),
        "scored_by": pl.String(),
    }
)
"""One statement of an answer: its place there, the verdict (supported, unsupported, contradicted or
undecided), the context of its evidence (from 0), its cosine to the question, its scores against the best
single context, the best pair of contexts and each context (null for a blank one), which contexts score enough
to support it, and what the scores are."""
VERDICT = pl.Struct({"verdict": pl.String(), "decided_by": pl.String()})
"""A statement of an answer, held against its reference."""
HELD = pl.Struct({"supported": pl.Boolean(), "decided_by": pl.String()})
"""Whether a text holds a true claim, or a statement of the reference; null where that is undecided."""


def find_statements(rows: pl.DataFrame, means: Means) -> list[list[Row] | None]:
    """Verify each answer against its contexts; None for a refusal or an unknown text."""
    answers = [
        _against_contexts(row["answer"], {**row, "contexts": [] if row["refused"] else row["contexts"]})
        for row in rows.iter_rows(named=True)
    ]
    verified = verify(answers, means)
    return [verified[answer] for answer in answers]


def find_reference_statements(rows: pl.DataFrame, means: Means) -> list[list[Row] | None]:
    """Verify each answer against its reference alone; None for a refusal."""
    answers = [
        _against(row["answer"], row, () if row["refused"] else (without_marks(row["reference"]),))
        for row in rows.iter_rows(named=True)
    ]
    verified = verify(answers, means)
    return [verified[answer] for answer in answers]


def find_attributed(rows: pl.DataFrame, means: Means) -> list[list[Row] | None]:
    """Look for each true claim, or else each statement of the reference, in the contexts (`HELD`)."""
    claims = [
        [_against_contexts(claim, row) for claim in _true_claims(row)] for row in rows.iter_rows(named=True)
    ]
    return _find_held(rows, claims, means)


def find_covered(rows: pl.DataFrame, means: Means) -> list[list[Row] | None]:
    """Look for each true claim in the answer (`HELD`); None for a refusal."""
    claims = [
        [
            _against(claim, row, () if row["refused"] else (without_marks(row["answer"]),))
            for claim in _true_claims(row)
        ]
        for row in rows.iter_rows(named=True)
    ]
    return _find_held(rows, claims, means)


def _true_claims(row: Row) -> list[str]:
    claims = row["true_claims"]
    return [row["reference"] or ""] if claims is None else [claim["claim"] for claim in claims]


def _against(text: str, row: Row, passages: tuple[str, ...]) -> Statement:
    return Statement(text, passages, row["language"], row["query"])


def _against_contexts(text: str, row: Row) -> Statement:
    """Return a text held against the contexts of its row; against none if the text of one is unknown."""
    passages = tuple(context["text"] for context in row["contexts"])
    headings = tuple(tuple(context["headings"] or ()) for context in row["contexts"])
    if None in passages:
        return _against(text, row, ())
    return Statement(text, passages, row["language"], row["query"], headings if any(headings) else ())


def _find_held(
    rows: pl.DataFrame, claims_of_rows: Sequence[Sequence[Statement]], means: Means
) -> list[list[Row] | None]:
    verified = verify(chain.from_iterable(claims_of_rows), means)
    held_claims: list[list[Row] | None] = []
    for true_claims, claims in zip(rows["true_claims"].to_list(), claims_of_rows, strict=True):
        statements_of_claims = [verified[claim] for claim in claims]
        if statements_of_claims and all(statements is None for statements in statements_of_claims):
            held_claims.append(None)
        elif true_claims is None:
            held_claims.append([as_one([statement]) for statement in statements_of_claims[0] or ()])
        else:
            held_claims.append([as_one(statements or ()) for statements in statements_of_claims])
    return held_claims


def as_one(statements: Sequence[Row]) -> Row:
    """Return a claim of several statements (`HELD`): supported if all are, unknown if it has none."""
    undecided = [statement for statement in statements if statement["verdict"] == "undecided"]
    lost = [statement for statement in statements if statement["verdict"] not in ("supported", "undecided")]
    telling = next(chain(lost, undecided, statements), None)
    if telling is None:
        return {"supported": None, "decided_by": None}
    supported = None if undecided and not lost else not lost
    return {"supported": supported, "decided_by": telling["decided_by"]}


def verify(statements: Iterable[Statement], means: Means) -> dict[Statement, list[Row] | None]:
    """Return the verified statements (`STATEMENT`) of each text; None if it, or all its passages, are blank.

    The local steps of verification decide first, then the verifier, where there is one. What both leave open
    is decided by scores, unless `means` wants it unknown.
    """
    statements_of_texts: dict[Statement, list[Row] | None] = dict.fromkeys(statements)
    texts = [text for text in statements_of_texts if text.text.strip() and any(map(str.strip, text.passages))]
    settings = means.resources.settings
    verified = verification.verify(
        texts,
        verification.Means(
            settings.verification,
            entailment=means.resources.entailment,
            verifier=means.verifier,
            splitter=means.splitter,
            llm=settings.llm,
        ),
        to_the_question=False,  # whether an answer is to the question is another metric's concern
    )
    failures = verified.failures if settings.verification.split_claims == "model" else {}
    verdicts = verified.verdicts.select("claim_id", "verdict", "decided_by", "reason")
    claims_by_id: dict[str, list[Row]] = {}
    for claim in verified.claims.join(verdicts, on="claim_id", maintain_order="left").iter_rows(named=True):
        claims_by_id.setdefault(claim["pair_id"], []).append(claim)
    claims_of_texts = {}
    for text in texts:
        if text.statement_id in failures:
            means.unsplit[text.question, text.text] = failures[text.statement_id]
        elif text.statement_id in claims_by_id:
            claims_of_texts[text] = claims_by_id[text.statement_id]
    scorer = _Scorer(claims_of_texts, means)
    for text, claims in claims_of_texts.items():
        statements_of_texts[text] = [
            scorer.scored(text, claim, position) for position, claim in enumerate(claims)
        ]
    return statements_of_texts


class _Scorer:
    """Scores of statements against each context: entailment where there is a model, else words and meaning.

    Without a model the score is the mean of two figures from 0 to 1; a statement without terms has the first.
    The cosine to a context is the best of its sentences and of the whole. That to a pair of contexts is the
    cosine to the sum of the best sentence of each, two unit vectors: (a + b) / sqrt(2 + 2 cos(a, b)).
    The share of terms is that of the statement's own (`Reading.stems`) which stand in `LONGEST_WINDOW`
    neighbouring sentences of a context; of a pair, in those of either.

    The words of a fragment stand in many places: it is supported by its cosine, the question included, alone.
    """

    def __init__(self, claims_of_texts: Mapping[Statement, Sequence[Row]], means: Means) -> None:
        self._means = means
        pieces = {
            (statement.language, text): list(dict.fromkeys([*sentences(text, statement.language), text]))
            for statement in claims_of_texts
            for text in statement.passages
            if text.strip()
        }
        compared = [
            _compared(claim, statement) for statement, claims in claims_of_texts.items() for claim in claims
        ]
        questions = [statement.question for statement in claims_of_texts]
        self._vectors = TextVectors(
            [*compared, *questions, *chain.from_iterable(pieces.values())], means.resources.embedder
        )
        self._pieces = {key: np.stack([*map(self._vectors.of, texts)]) for key, texts in pieces.items()}

    def scored(self, statement: Statement, claim: Row, position: int) -> Row:
        """Return a claim as a row of `STATEMENT`."""
        contexts = [at for at, text in enumerate(statement.passages) if text.strip()]
        texts = [statement.passages[at] for at in contexts]
        chunk_id = claim["evidence_chunk_id"]
        context = None if chunk_id is None else int(chunk_id.rpartition("-")[2])
        entailment = self._means.resources.entailment
        if entailment is None:
            scored_by = SIMILARITY
            single, pair, enough = self._likeness(claim, statement, texts)
        else:
            scored_by = ENTAILMENT
            single, pair, enough = _entailment(_compared(claim, statement), texts, entailment)
        decision = self._decision(claim, statement, is_supported=bool(enough.any()))
        if decision["verdict"] != "undecided" and decision["decided_by"] not in SCORES_DECIDE:
            # what a step proved or denied is no question of scores any more
            scored_by = decision["decided_by"]
            if decision["verdict"] == "supported":
                proof = int(single.argmax()) if context is None else contexts.index(context)
                single[proof], enough[proof] = 1.0, True
            else:
                single, enough = np.zeros_like(single), np.zeros_like(enough)
            pair = float(single.max())
        scores = dict(zip(contexts, single.tolist(), strict=True))
        holds = dict(zip(contexts, enough.tolist(), strict=True))
        relevance = self._vectors.of(_compared(claim, statement)) @ self._vectors.of(statement.question)
        return {
            **{name: claim[name] for name in ("start", "end", "text")},
            **decision,
            "position": position,
            "context": context,
            "quote": claim["evidence_quote"],
            "relevance": float(relevance),
            "score": float(single.max()),
            "pair_score": pair,
            "scores": [scores.get(at) for at in range(len(statement.passages))],
            "holds": [holds.get(at) for at in range(len(statement.passages))],
            "scored_by": scored_by,
        }

    def _likeness(self, claim: Row, statement: Statement, texts: Sequence[str]) -> Scores:
        language, vector = statement.language, self._vectors.of(_compared(claim, statement))
        pieces = [self._pieces[language, text] for text in texts]
        cosines = [of_text @ vector for of_text in pieces]
        alike = np.clip([float(of_text.max()) for of_text in cosines], 0.0, 1.0)
        terms = read(claim["self_contained"] or claim["text"], language).stem_set
        held_terms = [max((terms & window for window in _windows(text, language)), key=len) for text in texts]
        single = np.array(
            [_mean(cosine, of_text, terms) for cosine, of_text in zip(alike, held_terms, strict=True)]
        )
        is_alike = alike >= self._means.resources.settings.verification.similarity_pass
        enough = is_alike if claim["fragment"] else single >= STATED
        best = float(single.max())
        if best >= ENOUGH_ALONE or len(texts) < 2:
            return single, best, enough
        tops = np.stack([of_text[of.argmax()] for of_text, of in zip(pieces, cosines, strict=True)])
        along, between = tops @ vector, tops @ tops.T
        for a, b in combinations(range(len(texts)), 2):
            cosine = float((along[a] + along[b]) / np.sqrt(max(2 + 2 * between[a, b], 1e-9)))
            best = max(best, _mean(min(1.0, cosine), held_terms[a] | held_terms[b], terms))
        return single, best, enough

    def _decision(self, claim: Row, statement: Statement, *, is_supported: bool) -> Row:
        """Return verdict, decided_by and reason: those of verification, else by the scores."""
        verdict, by, reason = claim["verdict"], claim["decided_by"], claim["reason"]
        if verdict not in ("undecided", "failed"):
            return {"verdict": verdict, "decided_by": by, "reason": reason}
        is_left_open = self._means.verifier is not None or self._means.undecided == "unknown"
        # a score does not see what yes and no turn round
        is_polar = without_polar_word(claim["text"], statement.language)[1] is not None
        if is_left_open or verdict == "failed" or is_polar:
            return {"verdict": "undecided", "decided_by": by, "reason": reason}
        if is_supported and (reason := _refutation(claim, statement)) is not None:
            return {"verdict": "unsupported", "decided_by": QUOTATION, "reason": reason}
        scored_by = SIMILARITY if self._means.resources.entailment is None else ENTAILMENT
        verdict = "supported" if is_supported else "unsupported"
        return {"verdict": verdict, "decided_by": scored_by, "reason": None}


def _entailment(stated: str, texts: Sequence[str], model: CrossEncoder) -> Scores:
    single = np.nan_to_num(model.probabilities([(text, stated) for text in texts])[:, 0], nan=0.0)
    best = float(single.max())
    if best < ENOUGH_ALONE and len(texts) > 1:
        first, second = np.sort(np.argsort(-single, kind="stable")[:2])
        joined = model.probabilities([(f"{texts[first]}\n\n{texts[second]}", stated)])[:, 0]
        best = max(best, float(np.nan_to_num(joined, nan=0.0).max()))
    return single, best, single >= ENTAILED


def _refutation(claim: Row, statement: Statement) -> str | None:
    """Return why a statement that scores well is wrong: a score hardly moves with figures and negations.

    No context, heading or question has a figure of it, or it denies where its evidence does not.
    """
    language = statement.language
    reading = read(claim["self_contained"] or claim["text"], language)
    texts = [*statement.passages, statement.question, *chain.from_iterable(statement.headings)]
    if missing_figures(reading, [read(text, language) for text in texts]):
        return "number_not_in_passages"
    evidence = read(claim["evidence_quote"] or "", language)
    if evidence.tokens and bool(reading.negations) != bool(evidence.negations):
        return "negation_mismatch"
    return None


def sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in sentence_spans(text, language)]


@functools.lru_cache(maxsize=1024)
def _windows(text: str, language: str) -> tuple[Set[str], ...]:
    """Return the terms of each `LONGEST_WINDOW` neighbouring sentences of a text, or of all if fewer."""
    terms = [read(sentence, language).stem_set for sentence in sentences(text, language)]
    last = max(1, len(terms) - LONGEST_WINDOW + 1)
    return tuple(frozenset().union(*terms[first : first + LONGEST_WINDOW]) for first in range(last))


def _mean(cosine: float, held_terms: Set[str], terms: Set[str]) -> float:
    return (cosine + len(held_terms) / len(terms)) / 2 if terms else cosine


def _compared(claim: Row, statement: Statement) -> str:
    """Return the compared text of a claim: as understood alone, or a fragment with its question."""
    if claim["fragment"] and claim["self_contained"] is None and statement.question:
        return f"{statement.question} {claim['text']}"
    return str(claim["self_contained"] or claim["text"])
