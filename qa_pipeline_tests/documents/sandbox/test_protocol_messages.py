import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.sandbox.protocol import Message, MessageError, MessageReader, framed

HEADS = st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3)


def arrived(reader: MessageReader, pieces: list[bytes]) -> list[Message]:
    return [message for piece in pieces if (message := reader.add(piece)) is not None]


@given(HEADS, st.binary(max_size=300), st.lists(st.integers(0, 400), max_size=5))
def test_a_message_arrives_whole_however_it_is_cut(
    head: dict[str, str], body: bytes, cuts: list[int]
) -> None:
    sent = b"".join(framed(head, body))
    places = sorted({0, len(sent), *(min(cut, len(sent)) for cut in cuts)})
    pieces = [sent[start:end] for start, end in pairwise(places)]
    (message,) = arrived(MessageReader(1000, 1000), pieces)
    assert (json.loads(message.head), message.body) == (head, body)


def test_one_reader_puts_one_message_after_the_other_together() -> None:
    reader = MessageReader(100, 100)
    for body in (b"first", b"", b"third"):
        (message,) = arrived(reader, [b"".join(framed({}, body))])
        assert message == Message(b"{}", body)


@pytest.mark.parametrize(("head", "body"), [("x" * 101, b""), ("", b"x" * 101)])
def test_a_message_too_long_is_refused_before_it_is_held(head: str, body: bytes) -> None:
    sent = b"".join(framed({"": head}, body))
    with pytest.raises(MessageError, match="longer than allowed"):
        MessageReader(100, 100).add(sent[:12])


def test_what_follows_a_message_unasked_is_refused() -> None:
    with pytest.raises(MessageError, match="more follows"):
        MessageReader(100, 100).add(b"".join(framed({}, b"a")) + b"b")
