"""The scorer that has a detector look for unsupported words.

What belongs here: statements as what `entailment/spans.py` reads. What does not: reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.evaluation.answers_unused import claim_scores, scores_of_answers
from qa_pipeline.evaluation.statements import Statement
from qa_pipeline.records import Notify, silent
from qa_pipeline.verification.entailment.spans import Answer, SpanDetector, Words, support
from qa_pipeline.verification.splitting import split_claims


@dataclass(frozen=True, eq=False)
class SpanScorer:
    """Scores of statements: 1 less the largest probability of a word of a claim to be unsupported."""

    detector: SpanDetector

    @property
    def name(self) -> str:
        """Scorer, model and revision."""
        return f"spans {self.detector.name}"

    def words(self, statements: Sequence[Statement], notify: Notify = silent) -> list[Words]:
        """The words of each statement with their probabilities, for spans."""
        return self.detector.read(
            [Answer(one.question or "", one.passages, one.claim) for one in statements], notify
        )

    def score(self, statements: Sequence[Statement], notify: Notify = silent) -> pl.DataFrame:
        """Scores (`SCORES`), one row for each statement, in order; nothing is said of contradiction."""
        keys: list[str] = []
        columns: dict[str, list[Any]] = {"supported": [], "reason": []}
        for place, (statement, words) in enumerate(
            zip(statements, self.words(statements, notify), strict=True)
        ):
            for claim in split_claims(statement.claim, statement.language):
                share = None if words.reason else support(words, claim.start, claim.end)
                keys.append(str(place))
                columns["supported"].append(share)
                columns["reason"].append(words.reason or ("empty_claim" if share is None else None))
        return scores_of_answers(claim_scores(keys, columns), [str(i) for i in range(len(statements))])
