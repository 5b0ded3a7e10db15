import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline.evaluation.scorers_unused import build_scorer
from qa_pipeline.evaluation.statements import SCORES, Statement
from qa_pipeline_tests.evaluation.test_scorers_unused import Known
from qa_pipeline_tests.verification.entailment.test_spans import detector

NAMES = ("similarity", "consistency", "combined", "entailment", "spans")
PASSAGE = "The pump runs at 40 bar. It was built in 2019."
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
statements = st.builds(
    Statement,
    claim=texts,
    passages=st.lists(texts, max_size=3).map(tuple),
    language=st.sampled_from(["en", "sv", "de", "xx"]),
    question=st.none() | texts,
)


def known() -> Known:
    return Known(spans=detector())


def held(scores: object) -> None:
    assert scores is None or (isinstance(scores, float) and 0.0 <= scores <= 1.0)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(given_statements=st.lists(statements, max_size=3))
def test_any_text_gets_a_share_or_a_reason(name: str, given_statements: list[Statement]) -> None:
    found = build_scorer(name, known()).score(given_statements)
    assert found.schema == SCORES
    assert found.height == len(given_statements)
    for row in found.iter_rows(named=True):
        for score in ("supported", "contradicted", "neutral"):
            held(row[score])
        assert (row["supported"] is None) == (row["reason"] is not None)


BAD = {
    "a claim of 5,000 characters": Statement("pump " * 1000 + ".", (PASSAGE,)),
    "a passage of 100,000 characters": Statement("The pump runs.", ("The tank is cold. " * 5556,)),
    "an empty passage": Statement("The pump runs.", ("", PASSAGE, " ")),
    "look-alike letters": Statement("Тhе рumр runs at 40 bar.", (PASSAGE,)),
    "right-to-left text": Statement(
        "המשאבה פועלת בלחץ של 40 בר.", ("המשאבה פועלת בלחץ של 40 בר.", "\u202eabc")
    ),
    "special tokens": Statement("[SEP] The pump runs. [CLS]", ("[CLS] [SEP] [MASK] </s> <s>",)),
    "one endless word": Statement("x" * 3000 + ".", ("y" * 20_000,)),
    "control characters": Statement("The \x00pump\x1f runs.", ("The pump\x00 runs.\ufeff",)),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", BAD)
def test_bad_input_gets_a_row_like_any_other(name: str, what: str) -> None:
    beside = Statement("The pump runs at 40 bar.", (PASSAGE,))
    scorer = build_scorer(name, known())
    found = scorer.score([BAD[what], beside])
    held(found["supported"][0])
    assert found.row(1) == scorer.score([beside]).row(0)


def test_look_alike_letters_are_supported_less_than_the_letters_they_look_like() -> None:
    honest = Statement("The pump runs at 40 bar.", (PASSAGE,))
    for name in ("similarity", "consistency", "entailment", "spans"):
        fake, real = build_scorer(name, known()).score([BAD["look-alike letters"], honest])["supported"]
        assert fake < real
