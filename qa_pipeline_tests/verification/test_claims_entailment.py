import polars as pl
from polars.testing import assert_frame_equal

from qa_pipeline.records import passages_by_id
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline.verification.claims import fill_entailment, find_claims
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.models.cross_encoders import WordModel
from qa_pipeline_tests.verification import rows

TEXT = "# Pump\nThe pump runs at forty bar.\n# Valve\nThe valve is no part of it.\n# Tank\n\nCold water."


def found_claims(answer: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    documents = rows.documents({"a.md": TEXT})
    chunks = rows.chunks(documents)
    pairs = rows.pairs(rows.pair(answer, cites="a.md"))
    return find_claims(pairs, documents, chunks, HashEmbedder()), pairs, chunks


def test_every_claim_gets_its_scores() -> None:
    claims, pairs, chunks = found_claims("The pump runs at forty bar. The valve is a tank.")
    filled = fill_entailment(claims, pairs, passages_by_id(chunks), WordModel())
    assert filled["entailment_model"].unique().to_list() == [f"words@{'0' * 40} float32"]
    first, second = filled["entailment"].to_list()
    assert first > 0.9 > second
    assert filled["contradiction"].to_list()[1] > 0.5
    unchanged = [name for name in CLAIMS.schema if not name.startswith(("entail", "contra"))]
    assert_frame_equal(filled.select(unchanged), claims.select(unchanged))


def test_the_score_of_a_long_claim_is_unknown() -> None:
    claims, pairs, chunks = found_claims("The pump " + "runs " * 200 + "warm.")
    filled = fill_entailment(claims, pairs, passages_by_id(chunks), WordModel())
    row = filled.row(0, named=True)
    assert row["entailment"] is None
    assert row["entailment_model"] is not None
