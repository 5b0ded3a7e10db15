"""Whatever text is put before all local steps, each of its claims gets scores or the reason for none."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline.verification.verify import Statement, VerificationModels, verify
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.models.cross_encoders import WordModel

PASSAGE = "The pump runs at 40 bar. It was built in 2019."
HONEST = Statement("The pump runs at 40 bar.", (PASSAGE,))
SCORES = ("entailment", "contradiction")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
statements = st.builds(
    Statement,
    text=texts,
    passages=st.lists(texts, max_size=3).map(tuple),
    language=st.sampled_from(["en", "sv", "de", "xx"]),
    question=texts,
)


def scored(*given_statements: Statement) -> pl.DataFrame:
    """The claims of statements with every local score, in the order given."""
    models = VerificationModels(VerificationSettings(), HashEmbedder(), WordModel())
    return verify(given_statements, models).claims


def hold(claims: pl.DataFrame) -> None:
    assert claims.schema == CLAIMS.schema
    for row in claims.iter_rows(named=True):
        assert all(row[name] is None or 0.0 <= row[name] <= 1.0 for name in SCORES)


@given(given_statements=st.lists(statements, max_size=3))
def test_any_text_gets_a_share_or_a_reason(given_statements: list[Statement]) -> None:
    hold(scored(*given_statements))


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


@pytest.mark.parametrize("what", BAD)
def test_bad_input_gets_rows_like_any_other_and_hurts_none_beside_it(what: str) -> None:
    together, alone = scored(BAD[what], HONEST), scored(HONEST)
    hold(together)
    assert together.row(-1) == alone.row(0)
