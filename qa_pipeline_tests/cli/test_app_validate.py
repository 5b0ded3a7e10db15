import json
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace

QUESTION = "How is the boiler drained?"
ANSWER = "To drain the boiler, open the lower valve and wait 10 minutes."


def chat(answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer}]


MARKED = f"{ANSWER} [source:guide.md#filling]"
FILES: dict[str, tuple[str, str]] = {
    "chat": ("p.jsonl", json.dumps({"messages": chat(f"{ANSWER} [c1]"), "sources": [{"quote": ANSWER}]})),
    "CSV of semicolons": ("p.csv", f"\ufeffQuestion;Answer\r\n{QUESTION};{MARKED}\r\n"),
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"b/guide.md": GUIDE})
    return made


def validated(workspace: Workspace, name: str, content: str) -> Ran:
    file = workspace.corpus.parent / name
    file.write_text(content, encoding="utf-8", newline="")
    options = ("--corpus", workspace.corpus / "b", "--out", workspace.out, "--accept-unjudged")
    return invoke("validate", file, *options)


@pytest.mark.parametrize("kind", FILES)
def test_a_pair_of_every_layout_is_accepted_for_what_it_cites(workspace: Workspace, kind: str) -> None:
    ran = validated(workspace, *FILES[kind])
    assert ran.code == OK, ran.stderr
    pair = workspace.table("pairs", "b").row(0, named=True)
    assert (pair["question"], pair["reason"]) == (QUESTION, None)
    assert [one["document_id"] is not None for one in pair["citations"]] == [True]
    assert workspace.table("verdicts", "b")["verdict"].to_list() == ["accepted"]


def test_each_row_comes_back_as_it_is_with_its_validation(workspace: Workspace) -> None:
    given = [
        {"kategori": {"nivå": [1, None]}, "question": QUESTION, "answer": MARKED, "confidence": "high"},
        {"question": QUESTION, "answer": "To drain the boiler, wait 99 minutes. [source:guide.md]"},
    ]
    lines = [*map(json.dumps, given), "no JSON"]
    validated(workspace, "p.jsonl", "".join(f"{line}\n" for line in lines))
    written = (workspace.out / "exports" / "validated" / "b.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in written]
    validations = [row.pop("validation") for row in rows]
    assert rows == [*given, {}]
    assert [validation["verdict"] for validation in validations] == ["accepted", "needs_review", "failed"]
    assert validations[0]["evidence"][0]["path"] == "guide.md"
    assert validations[0]["composite"] is None


def test_a_file_that_holds_no_pairs_is_named(workspace: Workspace) -> None:
    ran = validated(workspace, "p.csv", "question,answer\n")
    assert (ran.code, "p.csv" in ran.stderr + ran.stdout) == (BAD_INPUT, True)


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.json"])
def test_pairs_of_any_format_may_lie_beside_the_documents(workspace: Workspace, name: str) -> None:
    row = {"question": QUESTION, "answer": MARKED}
    text = json.dumps([row]) if name.endswith("json") else f"question;answer\n{QUESTION};{MARKED}\n"
    workspace.write({f"b/{name}": text})
    assert workspace.verify().code == OK
    assert workspace.reasons("documents", "b", "path") == {"guide.md": None}
    assert workspace.table("verdicts", "b")["verdict"].to_list() == ["accepted"]
