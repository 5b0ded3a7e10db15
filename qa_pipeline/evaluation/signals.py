"""Signals: what the texts of an answered question were found to say, each found out once for all metrics.

A signal is a column beside those of the data set, and a second one, NAME_by, that tells who found it out: the
local verifier's steps, a cosine, a cross-encoder, or a language model. A row without the texts it takes has
neither.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.evaluation.statements import Statement, statement_tables
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.models.base import Vectors
from qa_pipeline.resources import Resources
from qa_pipeline.stages import score_claims
from qa_pipeline.tables import EMBEDDINGS
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.verification.deciding import borderline, decide_claims
from qa_pipeline.verification.evidence import TextVectors
from qa_pipeline.verification.llm_verifier import ask_verifier

Row = dict[str, Any]
Floats = npt.NDArray[np.float64]
Undecided = Literal["similarity", "unknown"]
ENOUGH_ALONE = 0.8
"""Score of the best single passage from which no pairs of passages are looked at."""
ENTAILED = 0.5
SIMILARITY, ENTAILMENT = "similarity", "entailment"

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
        "scored_by": pl.String(),
    }
)
"""One statement of an answer: its place there, the verdict (supported, unsupported, contradicted or
undecided), the context of its evidence (from 0), its cosine to the question, and its scores against the best
single context and the best pair of contexts, and what these scores are."""
CONTRADICTION = pl.Struct({"contradicted": pl.Boolean()})


@dataclass(frozen=True)
class Means:
    """What signals are found with.

    Args:
        resources: embedder, cross-encoder and thresholds.
        verifier: decides statements that no local step does; None without a model.
        judge: reads answers and contexts where a signal asks for judgement; None without a model.
        undecided: what becomes of a statement that nothing decides and no verifier is asked about: held to
            the cosine (or the cross-encoder, where there is one), or unknown.
    """

    resources: Resources
    verifier: LanguageModel | None = None
    judge: LanguageModel | None = None
    undecided: Undecided = "similarity"


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal: its type, the columns it is made of, signals among them, and how."""

    type: pl.DataType
    needs: tuple[str, ...]
    of: Callable[[pl.DataFrame, Means], tuple[Sequence[Any], Sequence[Any]]]


def add_signals(rows: pl.DataFrame, names: Iterable[str], means: Means) -> pl.DataFrame:
    """The rows with the signals named, those they are made of, and who found them out.

    Raises:
        PermanentModelError: a model can answer no further request.
        SettingsError: a model cannot be used.
    """
    for name in names:
        if name not in SIGNALS or name in rows.columns:
            continue
        signal = SIGNALS[name]
        rows = add_signals(rows, signal.needs, means)
        usable = pl.all_horizontal(pl.col(one).is_not_null() for one in signal.needs)
        taken = rows.with_row_index("row").filter(usable)
        values, by = signal.of(taken, means)
        found = pl.DataFrame(
            {"row": taken["row"], name: pl.Series(values, dtype=signal.type), f"{name}_by": by},
            schema_overrides={f"{name}_by": pl.List(pl.String)},
        )
        rows = rows.with_row_index("row").join(found, on="row", how="left", maintain_order="left").drop("row")
    return rows


def find_refusals(rows: pl.DataFrame, means: Means) -> tuple[list[bool], list[list[str]]]:
    """Whether each answer only says that it cannot be answered, as the refusals of its language read."""
    del means
    said = [
        is_refusal(answer, language) for answer, language in rows.select("answer", "language").iter_rows()
    ]
    return said, [["rules"]] * len(said)


def find_statements(
    rows: pl.DataFrame, means: Means
) -> tuple[list[list[Row] | None], list[list[str] | None]]:
    """The statements of each answer, verified against its contexts; None for refusals and rows without text.

    The local steps of verification decide first, then the verifier, where there is one. Equal rows share
    their statements.
    """
    texts = [_context_texts(row) for row in rows.iter_rows(named=True)]
    places = [place for place, found in enumerate(texts) if found]
    asked = rows.select("answer", "language", "query").rows()
    tables = statement_tables(
        [Statement(asked[place][0], tuple(texts[place]), *asked[place][1:]) for place in places]
    )
    claims, verdicts = _decided(tables.pairs, tables.documents, tables.chunks, means)
    by_pair = claims.join(
        verdicts.select("claim_id", "verdict", "decided_by", "reason"), on="claim_id", maintain_order="left"
    ).partition_by("pair_id", as_dict=True)
    own = {
        place: by_pair[(pair_id,)].rows(named=True)
        for place, pair_id in zip(places, tables.pair_ids, strict=True)
        if (pair_id,) in by_pair
    }
    scored = _Scorer(own, texts, asked, means)
    found: list[list[Row] | None] = [None] * rows.height
    for place, statements in own.items():
        found[place] = scored.rows(place, statements)
    return found, [None if one is None else [s["decided_by"] for s in one] for one in found]


def _context_texts(row: Row) -> list[str]:
    """The texts of a row's contexts, blank ones too; none for a refusal, or where a text is unknown."""
    texts = [one["text"] for one in row["contexts"]]
    unusable = row["refused"] or not row["answer"].strip() or any(one is None for one in texts)
    return [] if unusable or not any(one.strip() for one in texts) else texts


def _decided(
    pairs: pl.DataFrame, documents: pl.DataFrame, chunks: pl.DataFrame, means: Means
) -> tuple[pl.DataFrame, pl.DataFrame]:
    settings = means.resources.settings
    claims = score_claims(means.resources, pairs, documents, chunks, EMBEDDINGS.empty(), one_corpus=False)
    verdicts = decide_claims(claims, pairs, settings.verification)
    if means.verifier is None:
        return claims, verdicts
    asked = borderline(claims, verdicts)
    replies = ask_verifier(asked, pairs, chunks, means.verifier, settings.verification, settings.llm)
    return claims, decide_claims(claims, pairs, settings.verification, replies)


class _Scorer:
    """Scores of statements against each context: entailment where there is a model, else cosines.

    The cosine to a context is the best of its sentences and of the whole. That to a pair of contexts is the
    cosine to the sum of the best sentence of each, two unit vectors: (a + b) / sqrt(2 + 2 cos(a, b)).
    """

    def __init__(
        self, own: Mapping[int, list[Row]], texts: Sequence[list[str]], asked: Sequence[Any], means: Means
    ) -> None:
        self._texts, self._asked, self._means = texts, asked, means
        self._pieces = {
            place: [[*dict.fromkeys(_pieces(text, asked[place][1]))] for text in texts[place]]
            for place in own
        }
        wanted = [
            *(_compared(one) for statements in own.values() for one in statements),
            *(asked[place][2] for place in own),
            *(piece for contexts in self._pieces.values() for one in contexts for piece in one),
        ]
        self._vectors = TextVectors(wanted, means.resources.embedder)

    def rows(self, place: int, statements: Sequence[Row]) -> list[Row]:
        """The statements (`STATEMENT`) of the row at a place."""
        question = self._vectors.of(self._asked[place][2])
        contexts = [place for place, text in enumerate(self._texts[place]) if text.strip()]
        vectors = [np.stack([self._vectors.of(one) for one in self._pieces[place][at]]) for at in contexts]
        found = []
        for position, one in enumerate(statements):
            vector = self._vectors.of(_compared(one))
            single, pair = self._scores(place, contexts, vectors, vector, _compared(one))
            found.append(
                {
                    "position": position,
                    **{name: one[name] for name in ("start", "end", "text")},
                    **self._verdict(one, single),
                    "context": _context_of(one, contexts),
                    "quote": one["evidence_quote"],
                    "relevance": float(vector @ question),
                    "score": single,
                    "pair_score": pair,
                    "scored_by": SIMILARITY if self._means.resources.entailment is None else ENTAILMENT,
                }
            )
        return found

    def _scores(
        self, place: int, contexts: Sequence[int], pieces: Sequence[Vectors], vector: Vectors, stated: str
    ) -> tuple[float, float]:
        """Of the best single context, and of the best pair where that one is not enough."""
        model = self._means.resources.entailment
        if model is not None:
            own = [self._texts[place][at] for at in contexts]
            single = _entailed(model.probabilities([(text, stated) for text in own]))
            best = float(single.max())
            if best >= ENOUGH_ALONE or len(own) < 2:
                return best, best
            first, second = np.sort(np.argsort(-single, kind="stable")[:2])
            joined = _entailed(model.probabilities([(f"{own[first]}\n\n{own[second]}", stated)]))
            return best, max(best, float(joined.max()))
        cosines = [one @ vector for one in pieces]
        best = max(0.0, *(float(one.max()) for one in cosines))
        if best >= ENOUGH_ALONE or len(pieces) < 2:
            return best, best
        tops = np.stack([one[int(of.argmax())] for one, of in zip(pieces, cosines, strict=True)])
        along, between = tops @ vector, tops @ tops.T
        pairs = [
            float((along[a] + along[b]) / np.sqrt(max(2 + 2 * between[a, b], 1e-9)))
            for a, b in combinations(range(len(tops)), 2)
        ]
        return best, min(1.0, max(best, *pairs))

    def _verdict(self, one: Row, score: float) -> Row:
        verdict, by, reason = one["verdict"], one["decided_by"], one["reason"]
        if verdict not in ("undecided", "failed"):
            return {"verdict": verdict, "decided_by": by, "reason": reason}
        if self._means.verifier is not None or self._means.undecided == "unknown" or verdict == "failed":
            return {"verdict": "undecided", "decided_by": by, "reason": reason}
        local = self._means.resources.entailment is not None
        limit = ENTAILED if local else self._means.resources.settings.verification.similarity_pass
        return {
            "verdict": "supported" if score >= limit else "unsupported",
            "decided_by": ENTAILMENT if local else SIMILARITY,
            "reason": None,
        }


def _pieces(text: str, language: str) -> list[str]:
    return (
        [*(text[start:end] for start, end in split_sentences(text, language)), text] if text.strip() else []
    )


def _compared(claim: Row) -> str:
    return str(claim["self_contained"] or claim["text"])


def _context_of(claim: Row, contexts: Sequence[int]) -> int | None:
    """The context of a claim's evidence; blank contexts are no chunks."""
    chunk = claim["evidence_chunk_id"]
    return None if chunk is None else contexts[int(chunk.rpartition("-")[2])]


def _entailed(probabilities: Floats) -> Floats:
    return np.nan_to_num(probabilities[:, 0], nan=0.0)


def find_contradictions(
    rows: pl.DataFrame, means: Means
) -> tuple[list[list[Row] | None], list[list[str] | None]]:
    """Whether each context contradicts the answer: where a statement denies what the context says.

    The local steps find a number, unit, date, name, negation or quantifier in another's place, and nothing
    else: what they find is a lower bound.
    """
    del means
    found: list[list[Row] | None] = []
    for contexts, statements in rows.select("contexts", "statements").iter_rows():
        denied = {one["context"] for one in statements if one["verdict"] == "contradicted"}
        found.append([{"contradicted": at in denied} for at in range(len(contexts))])
    return found, [["alignment"]] * len(found)


SIGNALS: Mapping[str, Signal] = {
    "refused": Signal(pl.Boolean(), ("answer",), find_refusals),
    "statements": Signal(pl.List(STATEMENT), ("answer", "contexts", "refused"), find_statements),
    "contradictions": Signal(pl.List(CONTRADICTION), ("contexts", "statements"), find_contradictions),
}
"""By name; each has its column, and NAME_by with who found it out."""
