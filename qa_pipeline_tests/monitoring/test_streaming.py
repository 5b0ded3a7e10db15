from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline import stream_verdicts
from qa_pipeline.evaluation.running import with_claims_split_by_rules
from qa_pipeline.monitoring.streaming import WITHDRAWN, Verdict, judge_answer
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline.verification.verify import Statement
from qa_pipeline_tests.fakes import HashEmbedder

CONTEXTS = [
    "The Eiffel Tower is 324 m high. It was completed in 1889.",
    "Gustave Eiffel's company built the tower in Paris.",
]
QUESTION = "How high is the Eiffel Tower?"
ANSWER = (
    "The Eiffel Tower is 330 m high [1]. It was completed in 1889. Gustave Eiffel's company built the tower, "
    "e.g. in Paris. It is made of cheese."
)
PARTS = st.sampled_from(
    [
        "The Eiffel Tower is 324 m high.",
        "It was completed in 1889.",
        "It was completed in 1899!",
        "Is it high?",
        "I hope this helps.",
        "# Height",
        "| a | b |\n| --- | --- |\n| height | 324 m |",
        "- It is 324 m high",
        "Height: 324 m",
        "`it. is. open",
        "closed`",
        "e.g. in Paris",
        "[1]",
        "[Source: tower.md]",
        "…",
        "3.",
        "\U0001f600",
    ]
)
ANSWERS = st.lists(st.tuples(PARTS, st.sampled_from([" ", "\n", "\n\n", ""])), max_size=8).map(
    lambda parts: "".join(text + between for text, between in parts)
)


def whole_verdicts(
    answer: str, contexts: Sequence[str], resources: Resources, question: str = "", language: str = "en"
) -> list[Verdict]:
    return judge_answer(Statement(answer, tuple(contexts), language, question), resources)


def final_verdicts(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The last verdict on each statement of a stream, in the order of the answer."""
    by_place = {(verdict.start, verdict.end): verdict for verdict in verdicts}
    standing = [by_place[place] for place in sorted(by_place) if by_place[place].verdict != WITHDRAWN]
    return [replace(verdict, final=True) for verdict in standing]


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    alone = with_claims_split_by_rules(Settings(out=tmp_path_factory.mktemp("out")))
    return Resources(alone, embedder=HashEmbedder())


def cut(answer: str, places: Sequence[int]) -> list[str]:
    ends = [*sorted(place % (len(answer) + 1) for place in places), len(answer)]
    return [answer[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def streamed(answer: str, resources: Resources, pieces: Sequence[str] | None = None) -> list[Verdict]:
    return list(stream_verdicts([answer] if pieces is None else pieces, CONTEXTS, resources, QUESTION))


@given(answer=ANSWERS, places=st.lists(st.integers(0, 400), max_size=12))
def test_how_an_answer_is_cut_into_pieces_changes_nothing(
    resources: Resources, answer: str, places: list[int]
) -> None:
    assert streamed(answer, resources, cut(answer, places)) == streamed(answer, resources)
    assert streamed(answer, resources, list(answer)) == streamed(answer, resources)


@given(answer=ANSWERS)
def test_what_a_stream_comes_to_is_what_the_whole_answer_gives(resources: Resources, answer: str) -> None:
    whole = whole_verdicts(answer, CONTEXTS, resources, QUESTION)
    assert final_verdicts(streamed(answer, resources)) == sorted(whole, key=lambda one: one.start)


def test_the_first_verdict_comes_before_the_last_piece(resources: Resources) -> None:
    taken: list[str] = []

    def pieces() -> Iterator[str]:
        for word in ANSWER.split(" "):
            taken.append(word)
            yield f"{word} "

    stream = stream_verdicts(pieces(), CONTEXTS, resources, QUESTION)
    first = next(stream)
    assert taken[-1] == "It"
    assert (first.verdict, first.reason, first.final) == ("contradicted", "number_mismatch", False)
    assert ANSWER[first.start : first.end].startswith("The Eiffel Tower is 330 m high")
    rest = list(stream)
    assert [one.final for one in rest] == [False, False, True]
    assert rest[-1].text == "It is made of cheese."


def test_a_statement_that_later_text_undoes_is_withdrawn(resources: Resources) -> None:
    answer = "It is `324 m. That is high. It was built` in 1889. It stands in Paris."
    found = streamed(answer, resources)
    assert {one.verdict for one in found if one.final} >= {"withdrawn"}
    assert final_verdicts(found) == whole_verdicts(answer, CONTEXTS, resources, QUESTION)
