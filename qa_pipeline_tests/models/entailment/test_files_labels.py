import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.entailment.files import Labels, read_labels
from qa_pipeline.settings.verification import Meaning

any_number = st.floats(width=32, allow_nan=True, allow_infinity=True)


def labels(*names: str, wanted: dict[str, Meaning] | None = None) -> Labels:
    return read_labels(names, wanted, model="m", setting="verification.entailment.labels")


@given(st.permutations(["entailment", "neutral", "contradiction"]))
def test_three_classes_are_distinguished_in_any_order(order: list[str]) -> None:
    found = labels(*(name.upper() for name in order))
    places = (found.entailment, found.neutral, found.contradiction)
    assert [order[place] for (place,) in places] == ["entailment", "neutral", "contradiction"]


@pytest.mark.parametrize(
    "names",
    [
        ("not_entailment", "entailment"),
        ("unsupported", "SUPPORTED"),
        ("hallucinated", "consistent"),
        ("Not-Supported", "Supports"),
        ("no", "yes"),
    ],
)
def test_two_classes_tell_nothing_of_contradiction(names: tuple[str, str]) -> None:
    found = labels(*names)
    assert found == Labels((1,))
    assert np.isnan(found.probabilities(np.array([[0.0, 1.0]], dtype=np.float32))[0, 1:]).all()


def test_one_logit_is_a_probability_by_the_sigmoid() -> None:
    found = labels("LABEL_0").probabilities(np.array([[0.0], [100.0], [-3000.0]], dtype=np.float32))
    assert found[:, 0].tolist() == [0.5, 1.0, 0.0]


def test_labels_without_a_meaning_are_shown_with_the_setting_to_use() -> None:
    with pytest.raises(SettingsError) as caught:
        labels("LABEL_0", "LABEL_1", "LABEL_2")
    told = str(caught.value)
    assert "0: LABEL_0, 1: LABEL_1, 2: LABEL_2" in told
    assert "set verification.entailment.labels" in told


@pytest.mark.parametrize("names", [("0", "1"), ("LABEL_0", "LABEL_1")])
def test_labels_are_given_a_meaning_by_name_or_number(names: tuple[str, str]) -> None:
    assert labels("LABEL_0", "LABEL_1", wanted={names[0]: "entailment", names[1]: "contradiction"}) == Labels(
        (0,), (), (1,)
    )


def test_a_meaning_for_a_label_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"names 7, but the labels of m are 0: a, 1: b"):
        labels("a", "b", wanted={"7": "entailment"})


def test_a_model_that_never_entails_is_refused() -> None:
    with pytest.raises(SettingsError, match="whose meaning is unclear"):
        labels("neutral", "contradiction")


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 5), st.just(3)), elements=any_number))
def test_probabilities_are_shares_or_unknown_and_never_warn(logits: np.ndarray) -> None:
    found = labels("entailment", "neutral", "contradiction").probabilities(logits)
    finite = np.isfinite(logits).all(axis=1)
    assert np.isnan(found[~finite]).all()
    assert np.allclose(found[finite].sum(axis=1), 1.0)
    assert ((found[finite] >= 0) & (found[finite] <= 1)).all()
