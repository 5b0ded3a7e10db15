import math
from dataclasses import dataclass, field

import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.evaluation.scorers_unused import SCORERS, available_scorers, build_scorer
from qa_pipeline.evaluation.statements import SCORES, Statement
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.settings.llm import Reviewer
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.verification.entailment.models import CrossEncoder
from qa_pipeline.verification.entailment.spans import SpanDetector
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.entailment.models import word_encoder

PASSAGE = "The pump runs at 40 bar. It was built in 2019."
TRUE = Statement("The pump runs at 40 bar.", (PASSAGE,))
FALSE = Statement("The pump runs at 90 bar.", (PASSAGE,))
BOTH = Statement("The pump runs at 40 bar. The pump runs at 90 bar.", (PASSAGE,))
NO_CLAIM = Statement("Why?", (PASSAGE,))


@dataclass
class Known:
    settings: Settings = field(default_factory=load_settings)
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    entailment: CrossEncoder | None = field(default_factory=word_encoder)
    spans: SpanDetector | None = None
    model: LanguageModel | None = None

    def reviewer(self, role: Reviewer) -> LanguageModel | None:
        return self.model


LOCAL = ("similarity", "consistency", "entailment")


@pytest.mark.parametrize("name", LOCAL)
def test_every_scorer_keeps_the_order_and_gives_equal_scores_to_equal_statements(name: str) -> None:
    scorer = build_scorer(name, Known())
    found = scorer.score([FALSE, TRUE, NO_CLAIM, TRUE])
    assert found.schema == SCORES
    assert scorer.name.startswith(name)
    wrong, right, none, again = found["supported"].to_list()
    assert wrong < right == again
    assert none is None
    assert found["reason"].to_list() == [None, None, "no_claim", None]
    assert scorer.score([TRUE]).row(0) == found.row(1)


@pytest.mark.parametrize("name", LOCAL)
def test_an_answer_is_supported_as_little_as_its_worst_claim(name: str) -> None:
    found = build_scorer(name, Known()).score([FALSE, BOTH])["supported"].to_list()
    assert math.isclose(found[0], found[1], abs_tol=1e-6)


@pytest.mark.parametrize("name", LOCAL)
def test_a_statement_without_a_passage_is_unknown_with_a_reason(name: str) -> None:
    found = build_scorer(name, Known()).score([Statement("The pump runs.", (" ",))])
    assert found["supported"].to_list() == [None]
    assert found["reason"].to_list() == ["no_passage"]


def test_no_statement_has_no_row() -> None:
    assert all(build_scorer(name, Known()).score([]).height == 0 for name in LOCAL)


def test_consistency_finds_the_conflict_and_the_verbatim_claim() -> None:
    found = build_scorer("consistency", Known()).score([TRUE, FALSE])
    assert found["supported"].to_list()[0] == 1.0
    assert found["contradicted"].to_list() == [0.0, 1.0]


def test_an_unknown_scorer_is_an_error_that_lists_them() -> None:
    with pytest.raises(SettingsError, match=f"the scorers are {', '.join(SCORERS)}"):
        build_scorer("guess", Known())


def test_a_scorer_without_its_model_says_what_to_set() -> None:
    known = Known(entailment=None)
    assert available_scorers(known) == ["similarity", "consistency", "combined"]
    settings = ("verification.entailment.model", "verification.spans.model", "llm.verifier.provider")
    for name, setting in zip(("entailment", "spans", "llm"), settings, strict=True):
        with pytest.raises(SettingsError, match=f"set {setting}"):
            build_scorer(name, known)
