import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.review.annotations import Panel, panel
from qa_pipeline.review.consensus import annotation_figures, consensus, dawid_skene
from qa_pipeline_tests.evaluation.ratings import ANAESTHETISTS, columns, rows


def simulated(accuracies: list[float], items: int, seed: int = 0) -> tuple[Panel, list[str]]:
    """Annotators right with these probabilities, of three categories, and the right ones."""
    drawn = np.random.default_rng(seed)
    truth = drawn.integers(0, 3, items)
    texts = []
    for accuracy in accuracies:
        wrong = (truth + drawn.integers(1, 3, items)) % 3
        texts.append("".join(map(str, np.where(drawn.random(items) < accuracy, truth, wrong))))
    return columns(texts), [str(one) for one in truth]


def test_the_estimates_that_dawid_and_skene_published() -> None:
    """Of one anaesthetist who rated three times and four who rated once, their table 1."""
    said = [
        (f"p{patient:02}", f"o{max(0, place - 2)}", sign)
        for patient, signs in enumerate(ANAESTHETISTS.split())
        for place, sign in enumerate(signs)
    ]
    found = dawid_skene(panel(rows(*said)), smoothing=0, tolerance=1e-9)
    assert found.converged
    assert found.prior == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.006)
    assert found.confusion[0, 0] == pytest.approx([0.89, 0.11, 0, 0], abs=0.006)
    assert found.confusion[0, 1] == pytest.approx([0.07, 0.88, 0.05, 0], abs=0.006)


tables = st.lists(st.text("123.", min_size=3, max_size=3), min_size=2, max_size=12).filter(
    lambda items: any(sign != "." for item in items for sign in item)
)


@given(tables, st.sampled_from([0.0, 0.01, 1.0]))
def test_each_step_gains_and_everything_is_a_probability(items: list[str], smoothing: float) -> None:
    found = dawid_skene(columns(["".join(signs) for signs in zip(*items, strict=True)]), smoothing=smoothing)
    assert (np.diff(found.objectives) >= -1e-8).all()
    for shares in (found.posterior, found.confusion, found.prior):
        assert shares.min() >= 0
        assert shares.sum(axis=-1) == pytest.approx(1)


@given(tables)
def test_a_label_has_a_majority_of_two_ratings_at_least_and_else_there_is_a_reason(items: list[str]) -> None:
    rated = columns(["".join(signs) for signs in zip(*items, strict=True)])
    for fitted in (None, dawid_skene(rated)):
        found = consensus(rated, fitted)
        assert (found["label"].is_null() == found["reason"].is_not_null()).all()
        for row in found.iter_rows(named=True):
            said = items[int(row["item"].removeprefix("u"))].replace(".", "")
            assert row["ratings"] == len(said)
            assert row["label"] is None or row["ratings"] > 1
            if fitted is None and row["label"] is not None:
                assert said.count(row["label"]) * 2 > len(said)


def test_ties_and_single_ratings_have_no_label() -> None:
    found = consensus(columns(["1122", "1211", "12.."]))
    assert found.select("item", "label", "reason").rows() == [
        ("u0", "1", None), ("u1", "2", None), ("u2", None, "no_majority"), ("u3", None, "no_majority"),
    ]  # fmt: skip
    assert consensus(columns(["1.", ".2"]))["reason"].to_list() == ["one_rating", "one_rating"]


def test_two_good_annotators_outweigh_three_careless_ones() -> None:
    rated, truth = simulated([0.95, 0.95, 0.45, 0.45, 0.45], 1500)
    of_item = dict(zip((f"u{place}" for place in range(len(truth))), truth, strict=True))

    def correct(found: pl.DataFrame) -> int:
        return sum(of_item[item] == label for item, label in found.select("item", "label").iter_rows())

    fitted = dawid_skene(rated)
    assert fitted.converged
    by_model, by_majority = consensus(rated, fitted), consensus(rated)
    assert correct(by_model) > correct(by_majority) + 0.1 * len(truth)
    skill = np.einsum("t,att->a", fitted.prior, fitted.confusion)
    assert skill == pytest.approx([0.95, 0.95, 0.45, 0.45, 0.45], abs=0.04)


def test_an_annotator_who_always_says_the_same_decides_nothing() -> None:
    rated, _ = simulated([0.9, 0.9, 0.9], 300, seed=3)
    said = list(zip(rated.item, rated.annotator, rated.category, strict=True))
    three = [(rated.items[i], rated.annotators[a], rated.categories[c]) for i, a, c in said]
    always = [(item, "a9", "0") for item in rated.items]
    before, after = (dawid_skene(panel(rows(*which))) for which in (three, three + always))
    assert before.posterior == pytest.approx(after.posterior, abs=1e-2)


def test_equal_ratings_give_equal_estimates_to_the_last_bit() -> None:
    rated, _ = simulated([0.8, 0.7, 0.6], 200)
    first, second = dawid_skene(rated), dawid_skene(rated)
    assert (first.posterior == second.posterior).all()


def test_it_says_when_it_did_not_converge() -> None:
    rated, _ = simulated([0.8, 0.7, 0.6], 200)
    assert not dawid_skene(rated, most=2).converged


def test_unlikely_labels_are_set_aside() -> None:
    rated, _ = simulated([0.6, 0.6, 0.6], 300)
    found = consensus(rated, dawid_skene(rated), least=0.999)
    assert "unlikely" in found["reason"].to_list()
    assert (found.filter(pl.col("label").is_null())["share"] < 0.999).all()


def test_gold_ratings_are_compared_with_and_no_part_of_agreement_or_consensus() -> None:
    said = [(f"u{n}", who, "yes" if n < 6 else "no") for n in range(8) for who in ("anna", "ben")]
    gold = [(f"u{n}", "gold", "yes" if n < 5 else "unclear") for n in range(8)]
    figures, agreed = annotation_figures(rows(*said, *gold), resamples=20)
    assert figures["categories"] == ["no", "yes"]
    assert figures["annotators"].select("annotator", "gold", "gold_compared").rows() == [
        ("anna", 5 / 8, 8), ("ben", 5 / 8, 8),
    ]  # fmt: skip
    assert agreed["ratings"].to_list() == [2] * 8
    with pytest.raises(InputError, match="all ratings are of 'gold'"):
        annotation_figures(rows(*gold))


def test_figures_say_how_often_each_annotator_says_what_of_each_label() -> None:
    texts = ["112", "112", "211"]
    said = [(f"u{place}", f"a{n}", sign) for n, text in enumerate(texts) for place, sign in enumerate(text)]
    figures, _ = annotation_figures(rows(*said), "dawid-skene", resamples=0, least_kappa=-1)
    assert figures["consensus"]["converged"] is True
    assert figures["consensus"]["confusion"].filter(annotator="a2").rows() == [
        ("a2", "1", "1", 1), ("a2", "1", "2", 1), ("a2", "2", "1", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "least", "reasons"),
    [
        (["1122", "1122", "1122"], 0.6, [None] * 4),
        (["1122", "1122", "1221"], 0.6, ["low_agreement"] * 4),  # kappa 1/3
        (["1122", "1122", "1221"], 0.3, [None] * 4),
        (["1111", "1111", "1111"], 0.6, ["low_agreement"] * 4),  # kappa is unknown
        (["1.22", "1122", "2.11"], 0.6, ["low_agreement", "one_rating", "low_agreement", "low_agreement"]),
    ],
)
def test_a_consensus_is_used_only_above_the_kappa_asked_for(
    texts: list[str], least: float, reasons: list[str | None]
) -> None:
    said = [
        (f"u{place}", f"a{n}", sign)
        for n, text in enumerate(texts)
        for place, sign in enumerate(text)
        if sign != "."
    ]
    figures, agreed = annotation_figures(rows(*sorted(said)), resamples=0, least_kappa=least)
    assert agreed["reason"].to_list() == reasons
    assert figures["consensus"]["is_used"] is (reasons[0] is None)
    assert figures["consensus"]["labelled"] == reasons.count(None)
    assert agreed["label"].null_count() == 4 - reasons.count(None)


def test_one_item_and_one_annotator_have_ratings_and_nothing_else() -> None:
    figures, agreed = annotation_figures(rows(("i", "anna", "yes")), "dawid-skene")
    assert {one["unknown"] for one in figures["agreement"]} == {"there is one annotator"}
    assert agreed.select("label", "reason").row(0) == (None, "one_rating")
    assert figures["pairs"].is_empty()
