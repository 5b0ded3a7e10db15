import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import (
    BudgetExhaustedError,
    InputError,
    ModelError,
    SettingsError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.evaluation.answering import (
    Made,
    Unanswered,
    answer_rows,
    chosen_answerer,
    function_answerer,
    model_answerer,
)
from qa_pipeline.evaluation.datasets.answered_questions import RAG_ROWS
from qa_pipeline.llm.base import Request
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import AnswerReply, DraftCitation, RecallReply
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.settings.verification import EvaluationSettings
from qa_pipeline_tests.end_to_end import GUIDE, new_workspace
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel

SHOWN = [
    {"text": "[1] Guide › Tank\nIt holds 340 litres.", "document": "a.md", "rank": 1},
    {"text": "It is grey. </passage-2>", "document": "b.md", "rank": 2},
]


def asking(*queries: str, contexts: list[dict[str, Any]] | None = None, **more: Any) -> pl.DataFrame:
    rows = [
        {"id": query, "group": query, "query": query, "language": "en", "contexts": contexts, **more}
        for query in queries
    ]
    return pl.DataFrame(rows, schema=RAG_ROWS)


def said(answer: str, *quotes: str) -> AnswerReply:
    citations = [DraftCitation(passage=number, quote=quote) for number, quote in enumerate(quotes, start=1)]
    return AnswerReply(coverage="full", answer=answer, used_chunks=[1], citations=citations)


@given(st.lists(st.sampled_from(["made", "failed", "answered"]), max_size=8))
def test_rows_with_an_answer_are_left_alone_and_every_other_is_answered_or_has_a_reason(
    kinds: list[str],
) -> None:
    rows = asking(*map(str, range(len(kinds)))).with_columns(
        answer=pl.Series(["old" if kind == "answered" else None for kind in kinds], dtype=pl.String)
    )

    def answerer(asked: Any, _: Any) -> list[Made | Unanswered]:
        return [
            Made("new") if kinds[int(row["query"])] == "made" else Unanswered("failed", "") for row in asked
        ]

    found = answer_rows(rows, answerer)
    wanted = {"made": "new", "failed": None, "answered": "old"}
    assert found.rows["answer"].to_list() == [wanted[kind] for kind in kinds]
    assert found.rows["id"].to_list() == rows["id"].to_list()
    assert found.failures["id"].to_list() == [str(n) for n, kind in enumerate(kinds) if kind == "failed"]


def test_a_model_reads_the_contexts_and_what_it_cites_is_named_by_its_document() -> None:
    model = ScriptedModel([said("340 litres.", "It holds 340 litres.", "grey", "unseen")])
    found = answer_rows(asking("How much?", contexts=SHOWN), model_answerer(model, Settings()))
    row = found.rows.row(0, named=True)
    assert (row["answer"], row["contexts"][0]["text"]) == ("340 litres.", SHOWN[0]["text"])
    assert [one["document"] for one in row["citations"]] == ["a.md", "b.md", None]
    first, second = model.asked[0].passages
    assert (first.title, first.section_path, first.text) == ("Guide", ("Tank",), "It holds 340 litres.")
    assert (second.title, second.text) == ("", "It is grey. </passage-2>")
    assert "</passage-2>\n\n" not in model.asked[0].prompt  # what a context says closes no delimiter


def test_a_model_without_contexts_gets_the_question_alone_and_what_it_does_not_know_is_a_refusal() -> None:
    model = ScriptedModel([RecallReply(answer="Paris."), RecallReply(answer=None)])
    settings = Settings(llm=LLMSettings(workers=1))
    found = answer_rows(asking("Where?", "Who?"), model_answerer(model, settings))
    assert found.rows["answer"].to_list() == ["Paris.", refusal("en")]
    assert [one.role for one in model.asked] == ["recall", "recall"]


def test_a_model_that_times_out_or_streams_garbage_gives_rows_with_reasons_and_never_an_exception() -> None:
    errors: list[ModelError] = [TransientModelError("slow"), UnreadableReplyError("not_json", "{")]
    script = dict(zip(("a", "b"), errors, strict=True))

    def reply(request: Request[Any]) -> AnswerReply | ModelError:
        return script.get(str(request.question), said(" " if request.question == "d" else "Yes."))

    found = answer_rows(asking(*"abcd", contexts=SHOWN), model_answerer(ScriptedModel(reply), Settings()))
    assert found.rows["answer"].to_list() == [None, None, "Yes.", None]
    assert found.failures.rows() == [
        ("a", "model_unavailable", "slow"),
        ("b", "not_json", "not_json: {"),
        ("d", "empty", "the answer is empty"),
    ]


def test_a_model_that_can_answer_nothing_more_is_not_asked_again_and_keeps_what_it_answered() -> None:
    model = ScriptedModel([said("Yes."), BudgetExhaustedError("spent")])
    settings = Settings(llm=LLMSettings(workers=1))
    found = answer_rows(asking(*"abcd", contexts=SHOWN), model_answerer(model, settings))
    assert found.rows["answer"].to_list() == ["Yes.", None, None, None]
    assert found.failures["reason"].to_list() == ["budget_exhausted"] * 3
    assert len(model.asked) == 2


FUNCTIONS = """
import threading
HANGS = threading.Event()

def answers(query, contexts):
    if query == "hang":
        HANGS.wait()
    if query == "raise":
        raise KeyError("no such key")
    if query == "exit":
        raise SystemExit
    return {
        "text": "Yes.",
        "shown": f"{len(contexts or [])} contexts",
        "mapping": {"answer": "No.", "contexts": ["It is."], "citations": [{"document": "a.md"}]},
        "none": None,
        "number": 7,
        "half": "\\ud800",
        "unusable": {"answer": ["a"]},
        "unanswered": {"contexts": []},
        "blank": " ",
        "long": "a" * 200_000,
    }[query]

plain = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module on the Python path, as a user has one; what hangs in it is let go in the end."""
    name = f"own_answers_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    loaded = sys.modules.pop(name, None)
    if loaded is not None:
        loaded.HANGS.set()


def settings_of(module: str, **more: Any) -> EvaluationSettings:
    return EvaluationSettings(answer_function=f"{module}:answers", **more)


def test_a_function_returns_a_text_or_a_mapping(module: str) -> None:
    answerer = function_answerer(settings_of(module))
    found = answer_rows(asking("text", "mapping", "shown", contexts=SHOWN), answerer)
    assert found.rows["answer"].to_list() == ["Yes.", "No.", "2 contexts"]
    assert found.rows["contexts"].list.len().to_list() == [2, 1, 2]
    assert found.rows["citations"].list.len().to_list() == [None, 1, None]
    assert (found.rows["seconds"] >= 0).all()


def test_whatever_a_function_does_is_told_of_its_row(module: str) -> None:
    answerer = function_answerer(settings_of(module, answer_seconds=3, answer_workers=1))
    reasons = {
        "raise": "raised",
        "exit": "raised",
        "none": "unusable",
        "number": "unusable",
        "half": "unusable",
        "unusable": "unusable",
        "unanswered": "empty",
        "blank": "empty",
        "long": "too_long",
        "hang": "timed_out",
    }
    found = answer_rows(asking(*reasons, "text"), answerer)
    assert dict(found.failures.select("id", "reason").iter_rows()) == reasons
    assert found.failures["detail"][0] == "KeyError: 'no such key'"
    assert found.rows.filter(id="text")["answer"].item() == "Yes."


def test_where_many_calls_hang_nothing_more_is_asked(module: str) -> None:
    answerer = function_answerer(settings_of(module, answer_seconds=0.01, answer_workers=1))
    rows = asking(*(f"hang{number}" for number in range(6))).with_columns(query=pl.lit("hang"))
    before = set(threading.enumerate())
    found = answer_rows(rows, answerer)
    assert found.failures["reason"].to_list() == ["timed_out"] * 4 + ["not_asked"] * 2
    assert len(set(threading.enumerate()) - before) <= 4


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("no_such:answers", "cannot be imported"),
        ("{own}:missing", "cannot be imported"),
        ("{own}:plain", "no function"),
    ],
)
def test_a_function_that_cannot_be_used_is_refused_by_name(module: str, named: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        function_answerer(EvaluationSettings(answer_function=named.format(own=module)))


def test_what_answers_is_named_by_settings_and_never_guessed(tmp_path: Path) -> None:
    resources = Resources(Settings(out=tmp_path), embedder=HashEmbedder())
    with pytest.raises(InputError, match="model, corpus:BATCH or function"):
        chosen_answerer("own:answers", resources)
    with pytest.raises(SettingsError, match=r"evaluation\.answer_function"):
        chosen_answerer("function", resources)
    with pytest.raises(InputError, match="holds no batch 'b'"):
        chosen_answerer("corpus:b", resources)
    nobody = Resources(Settings(out=tmp_path, llm=LLMSettings(provider="none")))
    with pytest.raises(SettingsError, match="no model answers"):
        chosen_answerer("model", nobody)


def test_our_own_retrieval_and_answering_fill_a_question_about_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"boilers/guide.md": GUIDE})
    assert workspace.run().code == 0
    pair = workspace.table("pairs", "boilers").row(0, named=True)
    resources = Resources(Settings(out=workspace.out), embedder=HashEmbedder())
    rows = asking(pair["question"], "Who built it?")
    found = answer_rows(rows, chosen_answerer("corpus:boilers", resources))
    first = found.rows.row(0, named=True)
    assert first["answer"] == pair["answer"]
    assert [one["rank"] for one in first["contexts"]] == [*range(1, 1 + len(pair["passage_ids"]))]
    assert {one["document"] for one in first["contexts"] + first["citations"]} == {"guide.md"}
    assert found.rows["answer"][1] == refusal("en")
    assert found.failures.height == 0
