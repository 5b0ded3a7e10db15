from pathlib import Path

import numpy as np
import polars as pl
import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.classifier import Input
from qa_pipeline.models.entailment.files import Logits
from qa_pipeline.models.entailment.spans import (
    Answer,
    SpanDetector,
    load_span_detector,
    unsupported_classes,
)
from qa_pipeline.models.entailment.tokens import PairReader
from qa_pipeline.settings.verification import SpanSettings
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.entailment import fill_spans
from qa_pipeline_tests.fakes import HashEmbedder, memory_cache
from qa_pipeline_tests.models.entailment.models import CountingNetwork, tokenizer, write_classifier
from qa_pipeline_tests.verification import rows

SETTING = "verification.spans"


class AbsentWords(CountingNetwork):
    """Tokens of the second text that the first does not hold are unsupported; `poison` gives no number."""

    def __init__(self) -> None:
        super().__init__("absent")

    def logits(self, one: Input) -> Logits:
        poison = tokenizer().token_to_id("poison")
        held = {i for i, kind in zip(one.ids, one.types, strict=True) if not kind}
        shares = [4.0 if i not in held else -4.0 for i in one.ids[-one.tail :]]
        table = np.array([[0.0, share] for share in shares], dtype=np.float32)
        return np.full_like(table, np.nan) if poison in one.ids else table


def detector(network: AbsentWords | None = None, template: str | None = None) -> SpanDetector:
    reader = PairReader(tokenizer(), 128, None, SETTING)
    return SpanDetector(network or AbsentWords(), 2, (1,), reader, template)


def spans_of(answer: str, *passages: str, one: SpanDetector | None = None) -> list[str]:
    words = (one or detector()).read([Answer("How?", passages, answer)])[0]
    return [answer[span["start"] : span["end"]] for span in words.flagged(0, len(answer), 0.5)]


def test_words_that_nothing_supports_are_flagged_in_runs() -> None:
    assert spans_of("The pump runs at ninety bar daily.", "The pump runs at forty bar.") == [
        "ninety",
        "daily",
    ]
    assert spans_of("Cold water leaks.", "The pump runs.") == ["Cold water leaks"]


def test_one_passage_that_supports_a_word_suffices_however_many_are_read() -> None:
    filler = "Nothing about it at all. " * 12
    network = AbsentWords()
    found = spans_of("The pump runs.", filler, "The pump runs.", filler, one=detector(network))
    assert found == []
    assert len(network.seen) > 1
    assert max(len(one.ids) for one in network.seen) <= 128


def test_citation_marks_are_never_flagged_and_offsets_stay() -> None:
    answer = "The pump [source: a.md] runs [1] warm."
    assert spans_of(answer, "The pump runs.") == ["warm"]


def test_a_passage_that_looks_like_the_template_stays_as_it_is() -> None:
    one = detector(template="{question} {numbered} {count}")
    assert spans_of("{question} is passage 1", "see {question}", one=one) == ["is"]


@pytest.mark.parametrize(
    ("answer", "passages", "reason"),
    [
        (" ", ("The pump.",), "empty_claim"),
        ("The pump.", (" ", ""), "no_passage"),
        ("pump " * 1000, ("The pump.",), "claim_too_long"),
        ("The pump.", ("poison",), "model_nan"),
    ],
)
def test_an_answer_that_cannot_be_read_says_why(answer: str, passages: tuple[str, ...], reason: str) -> None:
    beside = Answer("How?", ("The pump.",), "The pump.")
    unread, read = detector().read([Answer("How?", passages, answer), beside])
    assert (unread.reason, unread.offsets) == (reason, ())
    assert read.reason is None


def test_each_claim_gets_the_flagged_words_within_it() -> None:
    documents = rows.documents({"a.md": "# Pump\nThe pump runs at forty bar."})
    chunks = rows.chunks(documents)
    pairs = rows.pairs(rows.pair("The pump runs at forty bar. It leaks oil.", cites="a.md"))
    claims = find_claims(pairs, documents, chunks, HashEmbedder())
    network = AbsentWords()
    filled = fill_spans(claims, pairs, chunks, detector(network))
    first, second = filled.sort("position").iter_rows(named=True)
    assert first["flagged_spans"] == []
    assert first["span_support"] > 0.9 > 0.1 > second["span_support"]
    answer = pairs["answer"][0]
    assert [answer[span["start"] : span["end"]] for span in second["flagged_spans"]] == ["It leaks oil"]
    assert filled["span_model"].unique().to_list() == [f"absent@{'0' * 40} float32"]
    assert len(network.seen) == 1
    assert fill_spans(claims, pairs, chunks, None) is claims


def test_a_detector_of_any_labels_loads_and_reads(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "d", ("supported", "hallucinated"), kind="tokens")
    one = load_span_detector(SpanSettings(model=str(folder), precision="float32"), memory_cache())
    answer = Answer("How?", ("The pump runs.",), "It runs at 40 bar.")
    words = one.read([answer])[0]
    assert [answer.text[start:end] for start, end in words.offsets] == ["It", "runs", "at", "40", "bar", "."]
    assert words.support(0, 2) == pytest.approx(1 - words.unsupported[0])
    assert one.read([answer, answer])[1] == words


def test_labels_that_say_nothing_are_shown_with_the_setting_to_use() -> None:
    with pytest.raises(SettingsError, match=r"0: LABEL_0, 1: LABEL_1.*set verification\.spans\.labels"):
        unsupported_classes(("LABEL_0", "LABEL_1"), None, model="m", setting="verification.spans.labels")
    wanted = {"0": "supported", "LABEL_1": "unsupported"}
    assert unsupported_classes(("LABEL_0", "LABEL_1"), wanted, model="m", setting="s") == (1,)


def test_an_empty_table_stays_empty() -> None:
    claims = pl.DataFrame(schema={"claim_id": pl.String()})
    assert fill_spans(claims, claims, claims, detector()).height == 0
