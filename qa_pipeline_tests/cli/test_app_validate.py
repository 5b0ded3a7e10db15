import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace

QUESTION = "How is the boiler drained?"
ANSWER = "To drain the boiler, open the lower valve and wait 10 minutes."
FILLING = ANSWER


def chat(answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer}]


def parquet(row: dict[str, Any]) -> bytes:
    pl.DataFrame([row]).write_parquet(buffer := io.BytesIO())
    return buffer.getvalue()


MARKED = f"{ANSWER} [source:guide.md#filling]"
FILES: dict[str, tuple[str, str | bytes]] = {
    "question and answer": ("p.jsonl", json.dumps({"question": QUESTION, "answer": MARKED})),
    "chat, [1]": ("p.jsonl", json.dumps({"messages": chat(f"{ANSWER} [1]"), "sources": ["guide.md"]})),
    "chat, [c1]": ("p.jsonl", json.dumps({"messages": chat(f"{ANSWER} [c1]"), "contexts": [FILLING]})),
    "parquet": ("p.parquet", parquet({"question": QUESTION, "answer": MARKED})),
    "CSV": ("p.csv", f'question,answer,citations\n"{QUESTION}","{ANSWER}",guide.md#filling\n'),
    "CSV of semicolons": ("p.csv", f"\ufeffQuestion;Answer\r\n{QUESTION};{MARKED}\r\n"),
    "CSV of tabs": ("p.tsv", f"question\tanswer\n{QUESTION}\t{MARKED}\n"),
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"b/guide.md": GUIDE})
    return made


def validated(workspace: Workspace, name: str, content: str | bytes) -> Ran:
    file = workspace.corpus.parent / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
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


@pytest.mark.parametrize("kind", FILES)
def test_a_pair_of_every_layout_is_rejected_for_what_its_source_does_not_say(
    workspace: Workspace, kind: str
) -> None:
    name, content = FILES[kind]
    wrong = ANSWER.replace("10 minutes", "25 minutes")
    if isinstance(content, bytes):
        row = pl.read_parquet(io.BytesIO(content)).to_dicts()[0]
        content = parquet(
            {name: json.loads(json.dumps(value).replace(ANSWER, wrong)) for name, value in row.items()}
            | ({"context": FILLING} if "context" in row else {})
        )
    else:
        content = content.replace(ANSWER, wrong)
        content = content.replace(f'"contexts": ["{wrong}', f'"contexts": ["{ANSWER}')
    assert validated(workspace, name, content).code in (OK, FAILED)
    assert workspace.table("verdicts", "b")["verdict"].to_list() == ["rejected"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("p.jsonl", "", "p.jsonl holds no pair"),
        ("p.csv", "", "p.csv holds no pair"),
        ("p.csv", "question,answer\n", "p.csv holds no pair"),
        ("p.json", "[]", "p.json holds no pair"),
        (
            "p.json",
            "[{",
            "p.json is not JSON (Expecting property name enclosed in double quotes: line 1 column 3",
        ),
        ("p.csv", "frage,antwort\na,b\n", "p.csv row 1: found frage, antwort; expected question + answer"),
        ("p.xlsx", b"PK\x03\x04", "p.xlsx: unknown format; rows come as .jsonl"),
        ("p.csv", b"PK\x03\x04", "p.csv is no text file"),
    ],
)
def test_a_file_that_holds_no_pairs_says_why(
    workspace: Workspace, name: str, content: str | bytes, told: str
) -> None:
    ran = validated(workspace, name, content)
    assert ran.code in (BAD_INPUT, FAILED)
    assert told in " ".join((ran.stdout + ran.stderr).split())


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.tsv", "pairs.json"])
def test_pairs_of_any_format_may_lie_beside_the_documents(workspace: Workspace, name: str) -> None:
    row = {"question": QUESTION, "answer": MARKED}
    text = json.dumps([row]) if name.endswith("json") else f"question;answer\n{QUESTION};{MARKED}\n"
    workspace.write({f"b/{name}": text})
    assert workspace.run("--provider", "none").code == OK
    assert workspace.reasons("documents", "b", "path") == {"guide.md": None}
    assert workspace.table("verdicts", "b")["verdict"].to_list() == ["accepted"]
