"""People's decisions from the template to the verdicts of the next run."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.curation.decisions import content_hashes, decision_states, read_decisions
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import (
    LOOSE,
    MANUAL,
    PAIRS,
    VERBATIM,
    WRONG,
    Ran,
    Workspace,
    invoke,
    json_lines,
    new_workspace,
)

Row = dict[str, Any]


def line(answer: str, question: str = "What happens?", cites: str = "guide.md", **more: Any) -> Row:
    return {"question": question, "answer": answer, "citations": [cites], **more}


@pytest.fixture
def workspace(verified_workspace: Workspace) -> Workspace:
    return verified_workspace


def run(workspace: Workspace) -> Ran:
    return workspace.verify()


def verdicts(workspace: Workspace) -> dict[str, tuple[str, str, str]]:
    """Verdict, reason and decider by the answer."""
    pairs = workspace.table("pairs", "b").select("pair_id", "answer")
    joined = (
        workspace.table("verdicts", "b")
        .join(pairs, on="pair_id")
        .filter(pl.col("expected_verdict").is_null())
    )
    return {
        answer: tuple(rest)
        for answer, *rest in joined.select("answer", "verdict", "reason", "decided_by").iter_rows()
    }


def rows_of(workspace: Workspace) -> dict[str, Row]:
    """For each question what a decision needs."""
    pairs, claims = workspace.table("pairs", "b"), workspace.table("claims", "b")
    content = content_hashes(pairs, claims)
    return {
        row["question"]: {
            "batch": "b",
            "pair_id": row["pair_id"],
            "content_sha256": content[row["pair_id"]],
            "who": "anna",
        }
        for row in pairs.iter_rows(named=True)
    }


def decide(workspace: Workspace, *rows: Row, name: str = "decisions.jsonl") -> Ran:
    file = workspace.out.parent / name
    file.write_text(json_lines(list(rows)))
    return invoke("decide", file, "--out", workspace.out)


def test_a_person_overrules_the_verdict_and_equal_files_change_nothing_more(workspace: Workspace) -> None:
    found = rows_of(workspace)
    assert verdicts(workspace)[WRONG] == ("rejected", "number_mismatch", "pipeline")
    rows = [
        found["How does the safety valve open?"] | {"decision": "accepted", "why": "new norm"},
        found["When does the safety valve open?"] | {"decision": "rejected"},
    ]

    ran = decide(workspace, *rows)

    assert (ran.code, ran.stderr) == (OK, "")
    assert run(workspace).code == OK
    assert verdicts(workspace)[WRONG] == ("accepted", "person_accepted", "person")
    assert verdicts(workspace)[VERBATIM] == ("rejected", "person_rejected", "person")
    details = workspace.table("verdicts", "b")["detail"].to_list()
    assert "by anna: new norm" in details
    examples = dict(workspace.table("training_examples", "b").select("answer", "evidence").iter_rows())
    assert VERBATIM not in examples
    assert examples[WRONG][0]["quote"] == VERBATIM
    assert "2 applied" in invoke("status", "--out", workspace.out).stdout
    before = workspace.contents()
    ran = decide(workspace, *rows)
    assert (ran.code, ran.stderr) == (OK, "")
    run(workspace)
    assert workspace.contents() == before


def test_decisions_turn_stale_with_the_evidence_and_survive_deleted_tables(workspace: Workspace) -> None:
    decide(workspace, rows_of(workspace)["How does the safety valve open?"] | {"decision": "accepted"})
    workspace.write({"b/guide.md": MANUAL.replace("3 bar", "4 bar")})
    run(workspace)

    assert verdicts(workspace)[WRONG] == ("rejected", "number_mismatch", "pipeline")
    assert "1 outdated" in invoke("status", "--out", workspace.out).stdout
    shutil.rmtree(workspace.out / "tables")
    workspace.write({"b/guide.md": MANUAL})
    run(workspace)
    assert verdicts(workspace)[WRONG][1] == "person_accepted"


def test_an_edited_answer_becomes_a_pair_that_is_verified(workspace: Workspace) -> None:
    found = rows_of(workspace)
    right = "To drain the boiler, open the lower valve and wait 10 minutes."
    wrong = "The safety valve opens at 7 bar."

    ran = decide(
        workspace,
        found["How long is the boiler drained?"]
        | {"decision": "edited", "edited_answer": f"{right} [source:guide.md]"},
        found["How does the safety valve open?"] | {"decision": "edited", "edited_answer": wrong},
    )

    assert ran.code == OK, ran.stderr
    run(workspace)
    now = verdicts(workspace)
    assert now[f"{right} [source:guide.md]"] == ("accepted", "person_edited", "person")
    assert now["Wait 10 minutes."] == ("rejected", "superseded_by_edit", "person")
    assert now[WRONG] == ("rejected", "superseded_by_edit", "person")
    assert now[wrong][0] in ("rejected", "needs_review")
    edited = workspace.table("pairs", "b").filter(pl.col("origin") == "edited")
    assert edited["generator"].to_list() == ["person:anna"] * 2
    assert set(edited["question"]) == {"How long is the boiler drained?", "How does the safety valve open?"}
    # an edit may be edited again
    last = "The safety valve opens at 3 bar."
    again = rows_of_answer(workspace, wrong) | {"decision": "edited", "edited_answer": last}
    assert decide(workspace, again).code == OK
    run(workspace)
    assert verdicts(workspace)[last][0] == "accepted"
    assert verdicts(workspace)[wrong][1] == "superseded_by_edit"


def rows_of_answer(workspace: Workspace, answer: str) -> Row:
    pairs = workspace.table("pairs", "b").filter(pl.col("answer") == answer)
    content = content_hashes(pairs, workspace.table("claims", "b"))
    pair_id = pairs["pair_id"][0]
    return {"batch": "b", "pair_id": pair_id, "content_sha256": content[pair_id], "who": "anna"}


def test_a_decision_about_one_claim_decides_that_claim(workspace: Workspace) -> None:
    found = rows_of(workspace)["How does the safety valve open?"]
    claims = workspace.table("claims", "b").filter(pl.col("pair_id") == found["pair_id"])
    row = {**found, "claim_id": claims["claim_id"][0], "decision": "accepted", "why": "checked"}

    assert decide(workspace, row).code == OK
    run(workspace)

    decided = workspace.table("claim_verdicts", "b").filter(pl.col("pair_id") == found["pair_id"])
    assert decided.select("verdict", "decided_by", "detail").rows() == [
        ("supported", "person", "by anna: checked")
    ]
    assert verdicts(workspace)[WRONG] == ("accepted", "unjudged", "pipeline")


def test_lines_that_cannot_be_taken_are_named_and_the_others_go_in(workspace: Workspace) -> None:
    found = rows_of(workspace)
    good = found["When does the safety valve open?"] | {"decision": "rejected"}
    pressure, drained = found["How does the safety valve open?"], found["How is the boiler drained?"]
    rows = [
        good,
        {**good, "pair_id": "f" * 32},
        {**good, "pair_id": None, "claim_id": "nobody"},
        {**good, "pair_id": None},
        {**good, "content_sha256": "0" * 64},
        {**good, "decision": "maybe"},
        {**good, "who": " "},
        {**good, "content_sha256": "short"},
        {**good, "claim_id": "nobody"},
        pressure | {"decision": "accepted"},
        pressure | {"decision": "rejected"},
        drained | {"decision": "edited"},
        drained | {"decision": "edited", "edited_answer": LOOSE},
        found["How long is the boiler drained?"] | {"decision": "accepted"},
        found["Known?"] | {"decision": "rejected"},
        drained | {"decision": ""},
        drained | {"decision": "accepted", "decided_at": "yesterday"},
    ]

    ran = decide(workspace, *rows)

    assert ran.code == FAILED
    told = dict(one.split(": ", 1) for one in ran.stderr.splitlines())
    assert list(told) == [f"decisions.jsonl line {n}" for n in (*range(2, 16), 17)]
    for number, text in {
        6: "reopened",
        8: "content_sha256",
        10: "none is recorded",
        11: "none is recorded",
    }.items():
        assert text in told[f"decisions.jsonl line {number}"]
    assert len((workspace.out / "decisions" / "b.jsonl").read_text().splitlines()) == 1


def test_of_two_files_the_later_decision_counts_and_an_older_one_is_refused(workspace: Workspace) -> None:
    row = rows_of(workspace)["How does the safety valve open?"]
    first = row | {"decision": "accepted", "decided_at": "2026-03-01T10:00:00+01:00"}
    second = row | {"decision": "rejected", "decided_at": "2026-03-02T10:00:00"}
    assert decide(workspace, first).code == OK
    assert decide(workspace, second).code == OK

    ran = decide(workspace, first)

    assert ran.code == FAILED
    assert "rejected by 'anna'" in ran.stderr
    run(workspace)
    assert verdicts(workspace)[WRONG][1] == "person_rejected"
    assert "1 applied, 1 replaced" in invoke("status", "--out", workspace.out).stdout
    recorded = (workspace.out / "decisions" / "b.jsonl").read_text().splitlines()
    assert [json.loads(one)["sequence"] for one in recorded] == [0, 1]


def test_the_template_holds_the_undecided_pairs_and_comes_back_from_a_spreadsheet(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.write(
        {"b/pairs.jsonl": json_lines([*PAIRS, line("=1+1; the lower valve drains it.", '=HYPERLINK("x")')])}
    )
    run(workspace)
    template = tmp_path / "review.csv"
    made = invoke("decide", "--template", template, "--out", workspace.out)
    assert made.code == OK, made.stderr
    waiting = [answer for answer, (word, *_) in verdicts(workspace).items() if word == "needs_review"]
    assert LOOSE in waiting

    text = template.read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(waiting)
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@"))]
    assert invoke("decide", "--template", template, "--out", workspace.out).code == BAD_INPUT
    assert invoke("decide", template, "--out", workspace.out).code == OK

    for row in rows:
        row |= {"decision": " Accepted ", "who": "Åsa", "why": "läst"}
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    template.write_bytes(b"\xef\xbb\xbf" + buffer.getvalue().encode())
    ran = invoke("decide", template, "--out", workspace.out)
    assert (ran.code, ran.stderr) == (OK, "")
    recorded = read_decisions(Layout(workspace.out).decisions("b"))
    assert recorded.select("decision", "who").unique().rows() == [("accepted", "Åsa")]
    assert recorded.height == len(rows)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "batch;pair_id;content_sha256;decision;who\nb;x;y;rejected;Åsa\n".encode("cp1252"),
            "line 2",
        ),
        ("a.csv", b"batch,pair_id,decision,who\n", "content_sha256"),
        ("a.xlsx", b"PK", ".csv, .tsv, .txt"),
        ("missing.csv", None, "missing.csv"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)

    ran = invoke("decide", tmp_path / name, "--out", tmp_path)

    assert ran.code == BAD_INPUT
    assert message in ran.stderr


def test_damaged_decisions_stop_the_run_and_are_not_overwritten(workspace: Workspace) -> None:
    found = rows_of(workspace)
    assert decide(workspace, found["When does the safety valve open?"] | {"decision": "rejected"}).code == OK
    file = workspace.out / "decisions" / "b.jsonl"
    file.write_bytes(file.read_bytes()[:-40])

    ran = run(workspace)

    assert (ran.code, "b.jsonl" in ran.stdout) == (FAILED, True)
    more = found["How does the safety valve open?"] | {"decision": "rejected"}
    assert decide(workspace, more).code == BAD_INPUT


def test_what_is_masked_in_documents_is_masked_in_edited_answers(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = {"decision": "edited", "edited_answer": "Ask kim@example.org."}
    assert decide(workspace, rows_of(workspace)["How is the boiler drained?"] | edit).code == OK
    monkeypatch.setenv("QA_PIPELINE_DOCUMENTS__MASKING__ACTION", "drop")
    assert run(workspace).code == OK

    assert "Ask [removed]." in workspace.table("pairs", "b")["answer"].to_list()
    tables = b"".join(file.read_bytes() for file in (workspace.out / "exports").rglob("*.jsonl"))
    assert b"kim@example.org" not in tables


def reviewed(workspace: Workspace, about: str, /, **cells: str) -> tuple[list[str], list[list[str]]]:
    """The cells of the template, its row about a question filled in."""
    template = workspace.out.parent / "template.csv"
    template.unlink(missing_ok=True)
    assert invoke("decide", "--template", template, "--out", workspace.out).code == OK
    header, *rows = csv.reader(io.StringIO(template.read_text(encoding="utf-8-sig"), newline=""))
    for row in rows:
        if row[header.index("question")] == about:
            for name, text in ({"who": "Åsa"} | cells).items():
                row[header.index(name)] = text
    return header, rows


def saved(
    workspace: Workspace,
    header: list[str],
    rows: list[list[str]],
    encoding: str = "utf-8-sig",
    delimiter: str = ",",
    name: str = "review.csv",
) -> Ran:
    """Save cells as a spreadsheet program does, and decide with the file."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows([header, *rows])
    file = workspace.out.parent / name
    file.write_bytes(buffer.getvalue().encode(encoding))
    return invoke("decide", file, "--out", workspace.out)


DRAINED = "How is the boiler drained?"
NEW = "Wait 10 minutes to drain the boiler."


def test_the_template_shows_where_the_evidence_stands(workspace: Workspace) -> None:
    header, rows = reviewed(workspace, DRAINED)
    sources = [row[header.index("evidence")] for row in rows if row[header.index("question")] == DRAINED]
    assert sources
    assert "guide.md, Guide > Filling" in sources[0]


@pytest.mark.parametrize("decision", ["accepted", "rejected"])
@pytest.mark.parametrize("column", ["question", "answer"])
def test_a_changed_cell_is_no_decision_about_the_old_text(
    workspace: Workspace, decision: str, column: str
) -> None:
    header, rows = reviewed(workspace, DRAINED, decision=decision, **{column: NEW})
    ran = saved(workspace, header, rows)
    assert ran.code == FAILED
    number = 2 + [row[header.index("who")] for row in rows].index("Åsa")
    pair_id = rows[number - 2][header.index("pair_id")]
    assert ran.stderr.startswith(f'review.csv row {number}: pair {pair_id}, "{DRAINED}": its {column} ')
    assert not (workspace.out / "decisions" / "b.jsonl").exists()


@pytest.mark.parametrize(
    ("encoding", "delimiter", "name"),
    [
        ("utf-8-sig", ";", "excel-sv-de.csv"),
        ("utf-8", "\t", "google-sheets.tsv"),
    ],
)
def test_what_spreadsheets_save_is_read(
    workspace: Workspace, encoding: str, delimiter: str, name: str
) -> None:
    header, rows = reviewed(workspace, DRAINED, decision="Rejected", why="två rader\r\nännu en; klar")
    order = sorted(range(len(header)), key=lambda place: header[place])
    moved = [[row[place] for place in order] + ["", ""] for row in [header, *rows, [""] * len(header)]]
    ran = saved(workspace, moved[0], moved[1:], encoding, delimiter, name)
    assert (ran.code, ran.stderr) == (OK, "")
    assert json.loads((workspace.out / "decisions" / "b.jsonl").read_text())["decision"] == "rejected"


BOILER = """# Manual of the Fjell 8 boiler

## Filling

The Fjell 8 is a boiler whose water leaves through the lower valve.

## Safety

The safety valve of the boiler opens at 3 bar.

## Warranty

The warranty of the Fjell 8 is 5 years after delivery.
"""


def test_an_edited_word_leaves_pairs_and_decisions_that_rest_on_other_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"b/boiler.md": BOILER})
    assert workspace.run().code == OK
    before, claims = workspace.table("pairs", "b"), workspace.table("claims", "b")
    content = content_hashes(before, claims)
    rows = [
        {"batch": "b", "pair_id": one, "content_sha256": content[one], "decision": "rejected", "who": "anna"}
        for one in before["pair_id"]
    ]
    decisions = tmp_path / "decisions.jsonl"
    decisions.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert invoke("decide", decisions, "--out", workspace.out).code == OK

    workspace.write({"b/boiler.md": BOILER.replace("lower valve", "upper valve")})
    assert workspace.run().code == OK

    chunk_ids = set(workspace.table("chunks", "b")["chunk_id"])
    untouched = {
        row["pair_id"]
        for row in before.iter_rows(named=True)
        if row["used_chunk_ids"] and chunk_ids.issuperset(row["used_chunk_ids"])
    }
    after = workspace.table("pairs", "b")
    retired = set(before["pair_id"]) - set(after["pair_id"])
    assert (len(retired), len(untouched)) == (1, before.height - 1)
    assert untouched <= set(after["pair_id"])
    states = decision_states(
        read_decisions(Layout(workspace.out).decisions("b")), after, workspace.table("claims", "b")
    )
    assert set(states.filter(pl.col("state") == "applied")["pair_id"]) == untouched
    verdicts = workspace.table("verdicts", "b")
    assert set(verdicts["pair_id"]) == set(after["pair_id"])
    assert set(verdicts.filter(pl.col("decided_by") == "person")["pair_id"]) == untouched
    assert untouched.isdisjoint(workspace.table("training_examples", "b")["pair_id"])
    assert chunk_ids.issuperset(after["passage_ids"].explode().drop_nulls())
