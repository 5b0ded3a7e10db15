"""Signals of statements: those of answers, references and true claims, verified against other texts."""

import functools
from collections.abc import Mapping, Sequence, Set
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.evaluation.signals.base import ENTAILMENT, SIMILARITY, Means, Row, SignalValues, Verified
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
ENOUGH_ALONE = 0.8
"""Score of the best single passage from which no pairs of passages are looked at, which cost a reading
each."""
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
BEST_OF_PASSAGES = pl.Struct({"supported": pl.Boolean(), "context": pl.Int64(), "decided_by": pl.String()})
"""Whether a text holds one true claim, or statement of the reference; null where that is undecided."""


def state_answers(rows: pl.DataFrame) -> list[list[Statement]]:
    """Return each answer, to be verified against its contexts; none for a refusal or an unknown text."""
    answers = rows.select("answer", _TEXTS, _HEADINGS, "language", "query", "refused").iter_rows()
    return [
        [Statement(answer, *_stated_against(() if refused else texts, headings, language, query))]
        for answer, texts, headings, language, query, refused in answers
    ]


def state_answers_for_reference(rows: pl.DataFrame) -> list[list[Statement]]:
    """Return each answer, to be verified against the reference alone; against nothing for a refusal."""
    answers = rows.select("answer", "reference", "language", "query", "refused").iter_rows()
    return [
        [Statement(answer, () if refused else (without_marks(reference),), language, query)]
        for answer, reference, language, query, refused in answers
    ]


def state_claims(rows: pl.DataFrame) -> list[list[Statement]]:
    """Return each true claim, or else the reference, to be verified against known contexts."""
    return _claims(rows, rows.select(_TEXTS, _HEADINGS).rows())


def state_claims_for_answer(rows: pl.DataFrame) -> list[list[Statement]]:
    """Return each true claim, to be verified against the answer; against nothing for a refusal."""
    answers = rows.select("answer", "refused").iter_rows()
    answers_as_passages = [
        ([] if refused else [without_marks(answer)], [None]) for answer, refused in answers
    ]
    return _claims(rows, answers_as_passages)


_TEXTS = pl.col("contexts").list.eval(pl.element().struct.field("text")).alias("texts")
_HEADINGS = pl.col("contexts").list.eval(pl.element().struct.field("headings")).alias("headings")


def _stated_against(
    texts: Sequence[str | None], headings: Sequence[Sequence[str] | None], language: str, query: str
) -> tuple[tuple[str, ...], str, str, tuple[tuple[str, ...], ...]]:
    """Return the last fields of a `Statement`; no passages where the text of one is unknown."""
    passages = tuple(text for text in texts if text is not None)
    if len(passages) < len(texts) or not passages:
        return (), language, query, ()
    above = tuple(tuple(headings_of_text or ()) for headings_of_text in headings) if any(headings) else ()
    return passages, language, query, above


def _claims(
    rows: pl.DataFrame,
    passages_of_rows: Sequence[tuple[Sequence[str | None], Sequence[Sequence[str] | None]]],
) -> list[list[Statement]]:
    """Return each row's true claims, or else its reference, to be verified against texts and headings."""
    claims_of_rows = rows.select("true_claims", "reference", "language", "query").iter_rows()
    return [
        [
            Statement(claim, *_stated_against(texts, headings, language, query))
            for claim in ([reference or ""] if claims is None else [claim["claim"] for claim in claims])
        ]
        for (claims, reference, language, query), (texts, headings) in zip(
            claims_of_rows, passages_of_rows, strict=True
        )
    ]


def read_statements(rows: pl.DataFrame, verified: Verified) -> SignalValues:
    """Return the statements of each answer; None for refusals and rows without text."""
    del rows
    return _with_deciders([statements_of_row for (statements_of_row,) in verified])


def read_held(rows: pl.DataFrame, verified: Verified) -> SignalValues:
    """Return whether each true claim, or statement of the reference, is supported; None without texts."""
    held_by_row: list[list[Row] | None] = []
    for claims, of_row in zip(rows["true_claims"].to_list(), verified, strict=True):
        if of_row and all(statement_rows is None for statement_rows in of_row):
            held_by_row.append(None)
        elif claims is None:
            held_by_row.append([as_one([statement]) for statement in of_row[0] or ()])
        else:
            held_by_row.append([as_one(statements or ()) for statements in of_row])
    return _with_deciders(held_by_row)


def as_one(statements: Sequence[Row]) -> Row:
    """Return a claim of several statements: supported if all of them are, unknown if it has none."""
    verdicts = [statement["verdict"] for statement in statements]
    if not verdicts:
        return {"supported": None, "context": None, "decided_by": None}
    lost = next(
        (statement for statement in statements if statement["verdict"] not in ("supported", "undecided")),
        None,
    )
    telling = lost or next(
        (statement for statement in statements if statement["verdict"] == "undecided"), statements[0]
    )
    is_decided = lost is not None or "undecided" not in verdicts
    return {
        "supported": lost is None if is_decided else None,
        "context": telling["context"],
        "decided_by": telling["decided_by"],
    }


def _with_deciders(statements_by_row: list[list[Row] | None]) -> SignalValues:
    return statements_by_row, [
        None if statements is None else [s["decided_by"] for s in statements if s["decided_by"] is not None]
        for statements in statements_by_row
    ]


def verify(statements: Mapping[Statement, bool], means: Means) -> dict[Statement, list[Row] | None]:
    """Return the verified statements of each text; None for one that is blank or has no passages.

    The local steps of verification decide first, then the verifier, where there is one. What is found of a
    statement is a row of `STATEMENT`, or, for a text of which every statement is decided and none is wanted
    with its scores, verdict, decided_by and context alone.

    Args:
        statements: texts, equal ones once, and whether scores are wanted.
        means: what statements are verified with.
    """
    texts = [
        statement
        for statement in statements
        if statement.text.strip() and any(passage.strip() for passage in statement.passages)
    ]
    settings = means.resources.settings
    # whether an answer is to the question is another metric's concern
    verified = verification.verify(
        texts,
        verification.Means(
            settings.verification,
            entailment=means.resources.entailment,
            verifier=means.verifier,
            splitter=means.splitter,
            llm=settings.llm,
        ),
        to_the_question=False,
    )
    failures = verified.failures if settings.verification.split_claims == "model" else {}
    for statement in texts:
        if statement.statement_id in failures:
            means.unsplit[statement.question, statement.text] = failures[statement.statement_id]
    by_statement: dict[str, list[Row]] = {}
    decided = verified.claims.join(
        verified.verdicts.select("claim_id", "verdict", "decided_by", "reason"),
        on="claim_id",
        maintain_order="left",
    )
    for row in decided.select(_TAKEN).iter_rows(named=True):
        by_statement.setdefault(row["pair_id"], []).append(row)
    rows_by_statement = {
        statement: by_statement[statement.statement_id]
        for statement in texts
        if statement.statement_id in by_statement and statement.statement_id not in failures
    }
    scored = {
        statement: rows
        for statement, rows in rows_by_statement.items()
        if statements[statement] or not all(map(_is_decided, rows))
    }
    scorer = _Scorer(scored, means)
    found: dict[Statement, list[Row] | None] = dict.fromkeys(statements)
    for statement, rows in rows_by_statement.items():
        found[statement] = scorer.rows(statement, rows) if statement in scored else _unscored(rows)
    return found


def _unscored(rows: Sequence[Row]) -> list[Row]:
    return [
        {"verdict": row["verdict"], "decided_by": row["decided_by"], "context": _context_of(row)}
        for row in rows
    ]


def _is_decided(row: Row) -> bool:
    """Return whether a step, or a model, decided a statement."""
    return row["verdict"] not in ("undecided", "failed")


def _proved_scores(
    row: Row, contexts: Sequence[int], single: Floats, enough: npt.NDArray[np.bool_]
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the scores of a decided statement: 1 for the context that proves it; 0 for all if none does."""
    if row["verdict"] != "supported":
        return np.zeros_like(single), np.zeros_like(enough)
    proves = _context_of(row)
    at = contexts.index(proves) if proves is not None else int(single.argmax())
    single, enough = single.copy(), enough.copy()
    single[at], enough[at] = 1.0, True
    return single, enough


def _not_blank(statement: Statement) -> list[int]:
    """Return the places of the passages that have text."""
    return [at for at, text in enumerate(statement.passages) if text.strip()]


_TAKEN = (
    *("pair_id", "text", "self_contained", "fragment", "start", "end", "evidence_chunk_id"),
    *("evidence_quote", "verdict", "decided_by", "reason"),
)


class _Scorer:
    """Scores of statements against each context: entailment where there is a model, else words and meaning.

    Without a model the score is the mean of two figures from 0 to 1; a statement without terms has the first.
    The cosine to a context is the best of its sentences and of the whole. That to a pair of contexts is the
    cosine to the sum of the best sentence of each, two unit vectors: (a + b) / sqrt(2 + 2 cos(a, b)).
    The share of terms is that of the statement's own (`Reading.stems`) which stand in `LONGEST_WINDOW`
    neighbouring sentences of a context; of a pair, in those of either.

    The words of a fragment stand in many places: it is supported by its cosine, the question included, alone.
    """

    def __init__(self, rows_by_statement: Mapping[Statement, Sequence[Row]], means: Means) -> None:
        self._means = means
        self._scored_by = SIMILARITY if means.resources.entailment is None else ENTAILMENT
        pieces = {
            (statement.language, text): ()
            for statement in rows_by_statement
            for text in statement.passages
            if text.strip()
        }
        self._pieces = {
            (language, text): tuple(dict.fromkeys([*sentences(text, language), text]))
            for language, text in pieces
        }
        texts_to_embed = [
            *(_compared(row, statement) for statement, rows in rows_by_statement.items() for row in rows),
            *(statement.question or "" for statement in rows_by_statement),
            *(piece for of_text in self._pieces.values() for piece in of_text),
        ]
        self._vectors = TextVectors(texts_to_embed, means.resources.embedder)
        self._stacked = {
            key: np.stack([self._vectors.of(text) for text in of_text])
            for key, of_text in self._pieces.items()
        }

    def rows(self, statement: Statement, statements: Sequence[Row]) -> list[Row]:
        """Return the statements (`STATEMENT`) of a text."""
        question = self._vectors.of(statement.question or "")
        contexts = _not_blank(statement)
        decided = []
        for position, row in enumerate(statements):
            vector = self._vectors.of(_compared(row, statement))
            single, pair, enough = self._scores(row, statement, contexts)
            decision = self._verdict(row, statement, supported=bool(enough.any()))
            is_proof = _is_decided(decision) and decision["decided_by"] not in SCORES_DECIDE
            if is_proof:
                # what a step proved or denied is no question of scores any more
                single, enough = _proved_scores({**row, **decision}, contexts, single, enough)
                pair = float(single.max())
            best = float(single.max())
            scores: list[float | None] = [None] * len(statement.passages)
            holds: list[bool | None] = [None] * len(statement.passages)
            for at, score, is_enough in zip(contexts, single, enough, strict=True):
                scores[at], holds[at] = float(score), bool(is_enough)
            decided.append(
                {
                    "position": position,
                    **{name: row[name] for name in ("start", "end", "text")},
                    **decision,
                    "context": _context_of(row),
                    "quote": row["evidence_quote"],
                    "relevance": float(vector @ question),
                    "score": best,
                    "pair_score": pair,
                    "scores": scores,
                    "holds": holds,
                    "scored_by": decision["decided_by"] if is_proof else self._scored_by,
                }
            )
        return decided

    def _scores(
        self, row: Row, statement: Statement, contexts: Sequence[int]
    ) -> tuple[Floats, float, npt.NDArray[np.bool_]]:
        """Return the scores of each context and of the best pair, and which contexts are support."""
        texts, stated = [statement.passages[at] for at in contexts], _compared(row, statement)
        model = self._means.resources.entailment
        if model is not None:
            single = _entailed(model.probabilities([(text, stated) for text in texts]))
            best = float(single.max())
            if best >= ENOUGH_ALONE or len(texts) < 2:
                return single, best, single >= ENTAILED
            first, second = np.sort(np.argsort(-single, kind="stable")[:2])
            joined = _entailed(model.probabilities([(f"{texts[first]}\n\n{texts[second]}", stated)]))
            return single, max(best, float(joined.max())), single >= ENTAILED
        vector, pieces = self._vectors.of(stated), [self._stacked[statement.language, text] for text in texts]
        cosines = [piece @ vector for piece in pieces]
        alike = np.clip([float(cosine.max()) for cosine in cosines], 0.0, 1.0)
        terms = read(row["self_contained"] or row["text"], statement.language).stem_set
        terms_of_texts = [_held_terms(terms, text, statement.language) for text in texts]
        single = np.array(
            [
                _mean(cosine, terms, terms_of_text)
                for cosine, terms_of_text in zip(alike, terms_of_texts, strict=True)
            ]
        )
        enough = alike >= self._means.alike if row["fragment"] else single >= STATED
        best = float(single.max())
        if best >= ENOUGH_ALONE or len(texts) < 2:
            return single, best, enough
        tops = np.stack(
            [vectors_of_text[int(of.argmax())] for vectors_of_text, of in zip(pieces, cosines, strict=True)]
        )
        along, between = tops @ vector, tops @ tops.T
        pairs = [
            _mean(
                min(1.0, float((along[a] + along[b]) / np.sqrt(max(2 + 2 * between[a, b], 1e-9)))),
                terms,
                terms_of_texts[a] | terms_of_texts[b],
            )
            for a, b in combinations(range(len(texts)), 2)
        ]
        return single, max(best, *pairs), enough

    def _verdict(self, row: Row, statement: Statement, *, supported: bool) -> Row:
        verdict, by, reason = row["verdict"], row["decided_by"], row["reason"]
        if _is_decided(row):
            return {"verdict": verdict, "decided_by": by, "reason": reason}
        if self._means.verifier is not None or self._means.undecided == "unknown" or verdict == "failed":
            return {"verdict": "undecided", "decided_by": by, "reason": reason}
        if without_polar_word(row["text"], statement.language)[1] is not None:
            # a score does not see what yes and no turn round
            return {"verdict": "undecided", "decided_by": by, "reason": reason}
        if supported and (refuted := _refuted(row, statement)) is not None:
            return refuted
        return {
            "verdict": "supported" if supported else "unsupported",
            "decided_by": self._scored_by,
            "reason": None,
        }


def _refuted(row: Row, statement: Statement) -> Row | None:
    """Return the verdict on a statement with a figure that no context, heading or question holds.

    So is a statement that denies where its evidence does not, or the other way round: a score hardly moves
    with figures and negations.
    """
    claim = read(row["self_contained"] or row["text"], statement.language)
    texts = [*statement.passages, statement.question or ""]
    texts += [heading for headings_of_text in statement.headings for heading in headings_of_text]
    if missing_figures(claim, [read(text, statement.language) for text in texts]):
        return {"verdict": "unsupported", "decided_by": QUOTATION, "reason": "number_not_in_passages"}
    evidence = read(row["evidence_quote"] or "", statement.language)
    if evidence.tokens and bool(claim.negations) != bool(evidence.negations):
        return {"verdict": "unsupported", "decided_by": QUOTATION, "reason": "negation_mismatch"}
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


def _held_terms(terms: Set[str], text: str, language: str) -> Set[str]:
    """Return the terms that one window of a text holds, the one with most of them."""
    return max((terms & window for window in _windows(text, language)), key=len)


def _mean(cosine: float, terms: Set[str], text_terms: Set[str]) -> float:
    return (cosine + len(text_terms) / len(terms)) / 2 if terms else cosine


def _compared(claim: Row, statement: Statement) -> str:
    """Return the compared text of a claim: as understood alone, or a fragment with its question."""
    if claim["fragment"] and claim["self_contained"] is None and statement.question:
        return f"{statement.question} {claim['text']}"
    return str(claim["self_contained"] or claim["text"])


def _context_of(claim: Row) -> int | None:
    """Return the context of a claim's evidence, from 0."""
    chunk: Any = claim["evidence_chunk_id"]
    return None if chunk is None else int(chunk.rpartition("-")[2])


def _entailed(probabilities: Floats) -> Floats:
    return np.nan_to_num(probabilities[:, 0], nan=0.0)
