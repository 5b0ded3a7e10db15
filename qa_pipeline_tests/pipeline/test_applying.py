"""Decisions applied to stored tables: the same as a run would make of them, without files and models."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.curation.decisions import content_hashes
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.models import encoder
from qa_pipeline.pipeline.applying import apply_decisions, recorded_resources, verify_edit
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace
from qa_pipeline_tests.fakes import HashEmbedder

GUIDE = """# Guide

## Filling

To drain the boiler, open the lower valve and wait 10 minutes.

## Safety

The safety valve opens at 3 bar. Do not use softened water.
"""
QUESTIONS = {
    "When does the safety valve open?": "The safety valve opens at 3 bar.",
    "How does the safety valve open?": "The safety valve opens at 5 bar.",
    "How is the boiler drained?": "Opening the lower valve drains everything.",
    "May softened water be used?": "Do not use softened water.",
}
GOOD, WRONG, LOOSE, _ = QUESTIONS
EDITS = [
    {"question": GOOD, "decision": "rejected", "why": "low_relevance: nobody asks so"},
    {"question": WRONG, "decision": "edited", "edited_answer": "The safety valve opens at 3 bar."},
    {
        "question": LOOSE,
        "decision": "edited",
        "edited_question": "What is to be done to drain the boiler?",
        "edited_answer": "To drain the boiler, open the lower valve and wait 10 minutes.",
        "evidence_quote": "open the lower valve and wait 10 minutes",
    },
]


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("apply"), patch)
        rows = [
            {"question": question, "answer": answer, "citations": ["guide.md"]}
            for question, answer in QUESTIONS.items()
        ]
        made.write({"b/guide.md": GUIDE, "b/pairs.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows)})
        assert made.run("--provider", "none").code == 0
    return made


@pytest.fixture
def workspace(run_once: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A batch that was run, to be changed at will."""
    return new_workspace(tmp_path, monkeypatch).fill_from(run_once)


def decide(workspace: Workspace, *rows: dict[str, Any]) -> None:
    pairs, claims = workspace.table("pairs", "b"), workspace.table("claims", "b")
    content = content_hashes(pairs, claims)
    ids = dict(pairs.filter(pl.col("origin") == "imported").select("question", "pair_id").iter_rows())
    lines = [
        row
        | {"question": None, "pair_id": ids[row["question"]], "content_sha256": content[ids[row["question"]]]}
        for row in rows
    ]
    file = workspace.out.parent / "decisions.jsonl"
    file.write_text("".join(f"{json.dumps({'who': 'ada', **line})}\n" for line in lines))
    ran = invoke("decide", file, "--out", workspace.out)
    assert (ran.code, ran.stderr) == (0, "")


def apply(workspace: Workspace) -> None:
    assert apply_decisions(recorded_resources(Layout(workspace.out), "b"), "b").passed


def verdicts(workspace: Workspace) -> dict[tuple[str, str], str]:
    pairs = workspace.table("pairs", "b").select("pair_id", "question", "answer")
    joined = workspace.table("verdicts", "b").join(pairs, on="pair_id")
    return {
        (question, answer): reason
        for question, answer, reason in joined.select("question", "answer", "reason").iter_rows()
    }


@pytest.mark.parametrize("count", range(1, len(EDITS) + 1))
def test_applying_gives_the_bytes_that_a_run_gives(workspace: Workspace, count: int) -> None:
    decide(workspace, *EDITS[:count])

    apply(workspace)

    applied = workspace.contents("b")
    assert workspace.table("decisions", "b").height == count
    assert workspace.run("--provider", "none").code == 0
    assert workspace.contents("b") == applied


def test_decisions_that_are_taken_back_leave_the_bytes_from_before(workspace: Workspace) -> None:
    before = {path: content for path, content in workspace.contents("b").items() if "decisions" not in path}
    decide(workspace, *EDITS)
    apply(workspace)
    assert verdicts(workspace)[WRONG, "The safety valve opens at 3 bar."] == "person_edited"

    decide(workspace, *({"question": row["question"], "decision": "reopened"} for row in EDITS))
    apply(workspace)

    after = {path: content for path, content in workspace.contents("b").items() if "decisions" not in path}
    assert after == before


def test_a_new_question_and_words_named_as_evidence_are_verified_together(workspace: Workspace) -> None:
    decide(workspace, EDITS[2])
    apply(workspace)

    pairs = workspace.table("pairs", "b").filter(pl.col("origin") == "edited")
    assert pairs["question"].to_list() == [EDITS[2]["edited_question"]]
    assert pairs["citations"][0].to_list()[-1]["quote"] == EDITS[2]["evidence_quote"]
    assert verdicts(workspace)[pairs["question"][0], pairs["answer"][0]] == "person_edited"


@pytest.mark.parametrize(
    ("changes", "verdict", "reason"),
    [
        ({"answer": "The safety valve opens at 3 bar.", "question": GOOD}, "accepted", "person_edited"),
        ({"answer": "The safety valve opens at 4 bar."}, "rejected", "number_mismatch"),
        (
            {
                "answer": "The safety valve opens at 3 bar.",
                "evidence_quote": "a sentence that stands nowhere",
            },
            "rejected",
            "fabricated_citation",
        ),
    ],
)
def test_an_edit_is_verified_before_it_is_saved(
    workspace: Workspace, changes: dict[str, str], verdict: str, reason: str
) -> None:
    before = workspace.contents()
    pairs = workspace.table("pairs", "b").filter(pl.col("question") == WRONG)
    decision = {
        "decision_id": "new",
        "batch": "b",
        "sequence": 0,
        "pair_id": pairs["pair_id"][0],
        "content_sha256": "0" * 64,
        "decision": "edited",
        "who": "ada",
    }
    resources = recorded_resources(Layout(workspace.out), "b")

    edit = verify_edit(resources, lambda name: workspace.table(name, "b"), decision | changes)

    assert edit.verdict.select("verdict", "reason").rows() == [(verdict, reason)]
    assert workspace.contents() == before


def test_a_corpus_that_is_gone_is_named_and_the_tables_stay(workspace: Workspace) -> None:
    decide(workspace, *EDITS)
    before = workspace.contents("b")
    shutil.rmtree(workspace.corpus)

    with pytest.raises(QAPipelineError, match=str(workspace.corpus)):
        apply(workspace)

    assert workspace.contents("b") == before


def test_another_embedding_model_than_that_of_the_run_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "load_embedder", lambda *_: HashEmbedder(model="another"))
    with pytest.raises(QAPipelineError, match="hash"):
        recorded_resources(Layout(workspace.out), "b")
