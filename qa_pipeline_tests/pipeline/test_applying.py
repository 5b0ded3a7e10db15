"""Decisions applied to stored tables: the same as a run would make of them, without files and models."""

import json
import shutil
from typing import Any

import polars as pl
import pytest

from qa_pipeline.curation.decisions import content_hashes
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.models import encoder
from qa_pipeline.pipeline.applying import apply_decisions, recorded_resources, verify_edit
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import PAIRS, VERBATIM, Workspace, invoke
from qa_pipeline_tests.fakes import HashEmbedder

GOOD, WRONG, LOOSE = (str(pair["question"]) for pair in PAIRS[:3])
EDITS = [
    {"question": GOOD, "decision": "rejected", "why": "low_relevance: nobody asks so"},
    {"question": WRONG, "decision": "edited", "edited_answer": VERBATIM},
    {
        "question": LOOSE,
        "decision": "edited",
        "edited_question": "What is to be done to drain the boiler?",
        "edited_answer": "To drain the boiler, open the lower valve and wait 10 minutes.",
        "evidence_quote": "open the lower valve and wait 10 minutes",
    },
]


@pytest.fixture
def workspace(verified_workspace: Workspace) -> Workspace:
    return verified_workspace


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


def test_applying_gives_the_bytes_that_a_run_gives(workspace: Workspace) -> None:
    decide(workspace, *EDITS)

    apply(workspace)

    applied = workspace.contents("b")
    assert workspace.table("decisions", "b").height == len(EDITS)
    pairs = workspace.table("pairs", "b").filter(pl.col("question") == EDITS[2]["edited_question"])
    assert pairs["citations"][0].to_list()[-1]["quote"] == EDITS[2]["evidence_quote"]
    assert verdicts(workspace)[pairs["question"][0], pairs["answer"][0]] == "person_edited"
    assert workspace.verify().code == 0
    assert workspace.contents("b") == applied


def test_decisions_that_are_taken_back_leave_the_bytes_from_before(workspace: Workspace) -> None:
    before = {path: content for path, content in workspace.contents("b").items() if "decisions" not in path}
    decide(workspace, *EDITS)
    apply(workspace)
    assert verdicts(workspace)[WRONG, VERBATIM] == "person_edited"

    decide(workspace, *({"question": row["question"], "decision": "reopened"} for row in EDITS))
    apply(workspace)

    after = {path: content for path, content in workspace.contents("b").items() if "decisions" not in path}
    assert after == before


@pytest.mark.parametrize(
    ("changes", "verdict", "reason"),
    [
        ({"answer": VERBATIM, "question": GOOD}, "accepted", "person_edited"),
        ({"answer": "The safety valve opens at 4 bar."}, "rejected", "number_mismatch"),
        (
            {
                "answer": VERBATIM,
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
