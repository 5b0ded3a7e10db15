import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.entailment.files import Labels, PairModelFiles, read_labels

any_number = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 5), st.just(3)), elements=any_number))
def test_probabilities_are_shares_or_unknown_and_never_warn(logits: np.ndarray) -> None:
    found = Labels((0,), (1,), (2,)).probabilities(logits)
    finite = np.isfinite(logits).all(axis=1)
    assert np.isnan(found[~finite]).all()
    assert np.allclose(found[finite].sum(axis=1), 1.0)
    assert ((found[finite] >= 0) & (found[finite] <= 1)).all()


def named(folder: Path, *labels: str) -> PairModelFiles:
    (folder / "config.json").write_text(json.dumps({"id2label": dict(enumerate(labels))}))
    return PairModelFiles("m", folder, setting="verification.entailment")


def test_classes_are_told_by_their_names_in_any_order(tmp_path: Path) -> None:
    assert read_labels(named(tmp_path, "NEUTRAL", "Entailment", "contradiction")) == Labels((1,), (0,), (2,))


def test_two_classes_tell_nothing_of_contradiction(tmp_path: Path) -> None:
    found = read_labels(named(tmp_path, "not_entailment", "entailment"))
    assert found == Labels((1,))
    assert np.isnan(found.probabilities(np.array([[0.0, 1.0]], dtype=np.float32))[0, 1:]).all()


@pytest.mark.parametrize("names", [("LABEL_0", "LABEL_1"), ("neutral", "contradiction"), ("entailment", "x")])
def test_classes_without_a_known_meaning_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(SettingsError, match=", ".join(names)):
        read_labels(named(tmp_path, *names))
