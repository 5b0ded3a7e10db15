import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.base import json_schema
from qa_pipeline.llm.budget import most_request_tokens, request_tokens
from qa_pipeline_tests.llm.requests import Decision, claim

texts = st.text(max_size=300)


@given(texts)
def test_no_request_has_more_tokens_than_bytes(text: str) -> None:
    request = claim(text)
    sent = len((request.system + text).encode("utf-8", "replace")) + len(json.dumps(json_schema(Decision)))
    assert most_request_tokens(request) >= sent


@pytest.mark.parametrize(
    ("language", "text", "counted"),
    [
        ("en", "To drain the boiler, open the lower valve and wait for about ten minutes.", 16),
        ("de", "Zum Entleeren des Kessels öffnen Sie das untere Ventil und warten zehn Minuten.", 19),
        ("sv", "Öppna den nedre ventilen för att tömma pannan och vänta i tio minuter.", 21),
    ],
)
def test_sentences_come_near_what_a_tokenizer_counts(language: str, text: str, counted: int) -> None:
    """The counts are those of o200k."""
    assert request_tokens(claim(text, system="", language=language)) == pytest.approx(counted, rel=0.35)
