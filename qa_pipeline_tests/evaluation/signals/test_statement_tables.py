from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.signals.statement_tables import Statement, statement_tables

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
statements = st.builds(
    Statement, claim=texts, passages=st.lists(texts, max_size=3).map(tuple), question=st.none() | texts
)


@given(st.lists(statements, max_size=6))
def test_every_statement_has_a_pair_and_every_chunk_is_a_slice_of_its_document(
    given_statements: list[Statement],
) -> None:
    tables = statement_tables(given_statements)
    held = {row["document_id"]: row["text"] for row in tables.documents.iter_rows(named=True)}
    answers = dict(tables.pairs.select("pair_id", "answer").iter_rows())
    assert [answers[i] for i in tables.pair_ids] == [one.claim for one in given_statements]
    for chunk in tables.chunks.iter_rows(named=True):
        assert held[chunk["document_id"]][chunk["char_start"] : chunk["char_end"]] == chunk["text"]


def test_equal_statements_share_a_pair_and_equal_passages_a_document() -> None:
    one = Statement("It is warm.", ("It is warm.", " "))
    other = Statement("It is cold.", ("It is warm.",))
    tables = statement_tables([one, one, other])
    assert tables.pair_ids[0] == tables.pair_ids[1] != tables.pair_ids[2]
    assert tables.documents.height == tables.chunks.height == 1
