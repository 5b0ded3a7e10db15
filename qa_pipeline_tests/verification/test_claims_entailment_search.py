from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.verification.claims import score_claims
from qa_pipeline_tests.models.cross_encoders import WINDOW, WordModel

VOCABULARY = ["pump", "valve", "runs", "no", "bar", "warm", "cold", "tank"]
words = st.lists(st.sampled_from(VOCABULARY), max_size=120).map(" ".join)
asked_ones = st.tuples(words, st.lists(words, max_size=4))


@given(st.lists(asked_ones, max_size=5))
def test_scores_do_not_depend_on_what_is_scored_beside(asked: list[tuple[str, list[str]]]) -> None:
    together = score_claims(asked, WordModel())
    alone = [score_claims([one], WordModel())[0] for one in asked]
    assert together == alone


def test_the_window_that_entails_most_counts_wherever_it_is() -> None:
    long = "cold tank " * 100 + "the pump runs warm " + "cold tank " * 100
    score, _ = score_claims([("The pump runs warm", ("cold", long))], WordModel())[0]
    assert score is not None
    assert score > 0.9


def test_a_contradiction_in_any_window_counts() -> None:
    score, contradiction = score_claims([("pump runs", ("pump runs", "no pump"))], WordModel())[0]
    assert contradiction is not None
    assert contradiction > 0.5
    assert score is not None
    assert score > 0.8


def test_a_claim_that_takes_too_much_of_the_window_is_unknown() -> None:
    assert score_claims([("pump " * 1000, ("pump runs",))], WordModel()) == [(None, None)]


def test_a_number_that_is_none_leaves_the_claim_unknown() -> None:
    asked = [("pump runs", ("pump runs", "poison")), ("pump runs", ("pump runs",))]
    poisoned, (sound, _) = score_claims(asked, WordModel())
    assert poisoned == (None, None)
    assert sound is not None


def test_empty_passages_and_claims_have_no_score() -> None:
    assert score_claims([("pump", ("", " \n")), (" ", ("pump",))], WordModel()) == [(None, None)] * 2


def test_a_passage_of_100000_characters_is_read_to_its_end() -> None:
    network = WordModel()
    long = "cold tank " * 10_000 + "pump runs warm"
    score, _ = score_claims([("pump runs warm", (long,))], network)[0]
    assert score is not None
    assert score > 0.9
    assert len(network.seen) < 700
    lengths = [len(encoding.ids) for encoding in network.tokenizer.encode_batch(network.seen)]
    assert max(lengths) <= WINDOW
