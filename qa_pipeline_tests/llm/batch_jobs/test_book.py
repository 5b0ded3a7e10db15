"""What a reply is kept as between collecting and reading."""

from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.batch_jobs.book import Answer
from qa_pipeline.records import Usage
from qa_pipeline_tests.calls import call

HOSTILE = st.text(st.characters(exclude_categories=()))


@given(text=HOSTILE, detail=st.none() | HOSTILE, called=st.booleans())
def test_an_answer_of_whatever_letters_is_kept_exactly_and_in_ascii(
    text: str, detail: str | None, called: bool
) -> None:
    kept = Answer(text, "m", Usage(1, None, 2), "empty", detail, call() if called else None)
    assert kept.written().isascii()
    assert "\0" not in kept.written()
    assert Answer.restored(kept.written()) == kept
