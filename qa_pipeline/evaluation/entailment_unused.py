"""The scorer that has a cross-encoder read passages and claim.

What belongs here: statements as what `searching.py` asks. What does not: reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.evaluation.answers_unused import claim_scores, scores_of_answers
from qa_pipeline.evaluation.statements import Statement
from qa_pipeline.records import Notify, silent
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.entailment.claims import Asked, search, stated
from qa_pipeline.verification.entailment.models import CrossEncoder
from qa_pipeline.verification.splitting import is_fragment, split_claims


@dataclass(frozen=True, eq=False)
class EntailmentScorer:
    """Scores of statements by a cross-encoder; it reads all passages of each."""

    model: CrossEncoder
    settings: VerificationSettings

    @property
    def name(self) -> str:
        """Scorer, model and revision."""
        return f"entailment {self.model.name}"

    def score(self, statements: Sequence[Statement], notify: Notify = silent) -> pl.DataFrame:
        """Scores (`SCORES`), one row for each statement, in order."""
        keys, asked = [], []
        for place, statement in enumerate(statements):
            for claim in claim_texts(statement, self.settings):
                keys.append(str(place))
                asked.append(Asked(claim, statement.passages))
        found = search(asked, self.model, self.settings.entailment, notify)
        columns: dict[str, list[Any]] = {
            "supported": [one.entailment for one in found],
            "contradicted": [one.contradiction for one in found],
            "neutral": [one.neutral for one in found],
            "reason": [one.reason for one in found],
        }
        return scores_of_answers(claim_scores(keys, columns), [str(i) for i in range(len(statements))])


def claim_texts(statement: Statement, settings: VerificationSettings) -> list[str]:
    """The claims of a statement as they are read; a fragment together with its question."""
    texts = []
    for claim in split_claims(statement.claim, statement.language):
        terms = len(set(read(claim.text, statement.language).terms))
        fragment = is_fragment(claim.text, terms, settings.fragment_words)
        texts.append(stated({"question": statement.question, "text": claim.text, "fragment": fragment}))
    return texts
