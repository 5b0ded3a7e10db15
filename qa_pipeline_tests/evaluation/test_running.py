import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.evaluation.answered_questions import read_rag_rows
from qa_pipeline.evaluation.metrics.base import Setup
from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.running import evaluate, with_claims_split_by_rules
from qa_pipeline.llm.base import Request
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import SplitClaim, SplitReply, VerifyReply
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import Decision, deciding

SEEDS = Path("docs/examples/suites/seed_examples.jsonl")
SEED_METRICS = ("faithfulness", "citation_precision", "citation_completeness", "context_recall")
SPLIT = {
    "completed in 1889": ("The Eiffel Tower, completed in 1889", "The Eiffel Tower was completed in 1889."),
    "330 meters high": ("is 330 meters high", "The Eiffel Tower is 330 meters high."),
    "made of iron": ("made of iron", "The Eiffel Tower is made of iron."),
    "powerful antioxidants": (
        "It contains powerful antioxidants",
        "Green tea contains powerful antioxidants.",
    ),
    "fight inflammation": ("antioxidants that fight inflammation", "Antioxidants fight inflammation."),
    "caffeine in green tea": ("The caffeine in green tea", "Green tea contains caffeine."),
    "boosts mental": ("caffeine in green tea boosts mental alertness", "Caffeine boosts mental alertness."),
    "Smith (2020)": ("Smith (2020)", "Smith (2020) found positive effects."),
    "Jones (2021)": ("Jones (2021) found positive effects", "Jones (2021) found positive effects."),
}
"""The statements of the seed examples, by words of their sentences: where each is, and its wording."""
STATED = ("1889", "330", "benefits", "antioxidants", "Antioxidants", "affeine", "1.1", "40", "CO2", "glucose")
FALSE = ("iron", "weight", "Solar", "water")
"""Words of statements that the passages state, and that they do not."""


def reads_rightly(request: Request[Any]) -> SplitReply | VerifyReply:
    if request.role == "split":
        sentences = re.findall(r"<sentence-(\d+)-(\w+)>\n(.*?)\n</sentence-\1-\2>", request.prompt, re.DOTALL)
        return SplitReply(
            claims=[
                SplitClaim(sentence=int(number), quote=quote, claim=claim)
                for number, _, text in sentences
                for words, (quote, claim) in SPLIT.items()
                if words in text
            ]
        )
    return deciding(_decision)(request)


def _decision(claim: str) -> Decision:
    is_stated = any(words in claim for words in (*STATED, "sunlight", "Smith (2020)"))
    return "accept" if is_stated and not any(words in claim for words in FALSE) else "reject"


def seed_figures(setup: Setup) -> dict[str, dict[str, float | None]]:
    rows = read_rag_rows([SEEDS]).items
    _, values = evaluate(rows, chosen_metrics(SEED_METRICS), setup)
    rounded = values.select(pl.all().round(2))
    return dict(zip(rows["id"], rounded.iter_rows(named=True), strict=True))


@pytest.mark.parametrize("model", [True, False])
def test_the_seed_examples_come_out_as_the_page_says(tmp_path: Path, *, model: bool) -> None:
    settings = with_claims_split_by_rules(Settings(out=tmp_path))
    setup = Setup(Resources(settings))
    if model:
        verification = settings.verification.model_copy(update={"split_claims": "model"})
        resources = Resources(settings.model_copy(update={"verification": verification}))
        scripted = ScriptedModel(reads_rightly)
        setup = Setup(resources, verifier=scripted, splitter=scripted)
    figures = seed_figures(setup)
    page = Path("docs/evaluation.md").read_text("utf-8")
    said = re.findall(r"^\| `([\w-]+)` \| (\w+) \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert len(said) == 6
    assert {row for row, *_ in said} == {*figures}
    found = {(row, metric): figures[row][metric] for row, metric, *_ in said}
    assert found == {(row, metric): float(values[not model]) for row, metric, *values in said}


SUITES = Path("docs/examples/suites")


def test_what_the_rules_find_in_the_suites_is_what_the_page_says(tmp_path: Path) -> None:
    page = Path("docs/evaluation.md").read_text("utf-8")
    lines = re.findall(r"^\| (\w+), (\w+) \| (\d.+) \|$", page, re.MULTILINE)
    assert len(lines) == 2
    setup = Setup(Resources(with_claims_split_by_rules(Settings(out=tmp_path))))
    for suite, metric, cells in lines:
        rows = read_rag_rows([SUITES / f"{suite}.jsonl"]).items
        _, values = evaluate(rows, chosen_metrics([metric]), setup)
        is_one = (values[metric] == 1).fill_null(value=False)
        is_right = is_one == (rows["category"] == "supported")
        counts = [
            f"{is_right.filter(rows['category'] == kind).sum()} of {(rows['category'] == kind).sum()}"
            for kind in ("supported", "not_supported", "unanswerable")
        ]
        assert cells == " | ".join(counts)
