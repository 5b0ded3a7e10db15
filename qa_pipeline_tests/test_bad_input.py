"""Bad input end to end: a clear message or a row with a reason, and nothing else touched."""

import io
import json
import os
import socket
import unicodedata
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest

from qa_pipeline.cli.app import app
from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.storage.tables import SCHEMA_VERSION
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.end_to_end import GUIDE, Files, Workspace, invoke, new_workspace

DRAIN = "To drain the boiler, open the lower valve and wait 10 minutes."
PAIR = {"question": "How is the boiler drained?", "answer": DRAIN, "citations": ["[source:guide.md#filling]"]}


SECRET = "The safe opens with 4711."


def lines(*values: Any) -> str:
    return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def holds(workspace: Workspace, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in workspace.out.rglob("*") if path.is_file())


def part(number: int) -> bytes:
    """The head of a part of a message, inside the one before it."""
    return b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (number, number)


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty.md": (b"", "empty_file"),
    "blank.txt": (b" \n\t\n", "empty_file"),
    "zeros.txt": (b"\0" * 10_000, "binary_content"),
    "zero.md": (b"# Pumps\n\nText of a pump.\n" * 1000 + b"\0", "undecodable"),
    "binary.md": (b"\x89PNG\r\n\x1a\n\0\0\0", "binary_content"),
    "noise.txt": (bytes(range(1, 256)) * 20, "undecodable"),
    "cut.pdf": (pdf_bytes("A pump moves water.", "It weighs 12 kg.")[:-200], "damaged"),
    "locked.pdf": (pdf_bytes("A pump moves water.", password="closed"), "encrypted"),
    "deep.html": (b"<div>" * 9000, "nested_too_deep"),
    "deep.jsonl": (b"[" * 100_000, "damaged"),
    "deep.eml": (b"From: a\n" + b"".join(map(part, range(3000))), "nested_too_deep"),
    "line.txt": (b"The pump weighs 12 kg. " * 500_000, "too_long"),
    "rows.csv": (b"id;weight\n" + b"1;12 kg\n" * 200_001, "too_many_rows"),
    "hidden.html": (b"<script>alert(1)</script><form><select><option>One</select></form>", "no_text"),
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    return new_workspace(tmp_path, monkeypatch)


def parquet(*rows: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(list(rows)).write_parquet(buffer)
    return buffer.getvalue()


def test_bad_files_are_rows_and_lines_on_the_screen_and_change_nothing_of_the_good_ones(
    finished_workspace: Workspace,
) -> None:
    workspace = finished_workspace
    good = {name: workspace.table(name, "b") for name in ("chunks", "pairs", "training_examples")}
    workspace.write({f"b/{name}": content for name, (content, _) in BAD_FILES.items()})
    ran = workspace.run()
    assert ran.code == OK
    assert workspace.reasons("documents", "b", "path") == {
        **{name: reason for name, (_, reason) in BAD_FILES.items()},
        "guide.md": None,
    }
    assert all(f"b/{name}" in ran.stdout for name in BAD_FILES)
    details = workspace.table("documents", "b").drop_nulls("reason")["detail"]
    assert not details.str.contains("alert|pump|From").any()
    assert all(frame.equals(workspace.table(name, "b")) for name, frame in good.items())


NAMES = (
    "with space.md",
    "hash#1.md",
    "100%20 sure.md",
    "åäö ß.md",
    unicodedata.normalize("NFD", "Förändring.md"),
    "😀.md",
    "[red]x[-red].md",
)


def test_a_file_of_any_name_is_read_and_can_be_cited(workspace: Workspace) -> None:
    composed = [unicodedata.normalize("NFC", name) for name in NAMES]
    things = ("boiler", "ladder", "piano", "statue", "printer", "mirror", "tractor")
    said = [f"The {thing} stands in room {n} of house {thing}." for n, thing in enumerate(things)]
    pairs = [
        {"question": f"Where is the {thing}?", "answer": text, "citations": [f"[source:{quote(name)}]"]}
        for thing, text, name in zip(things, said, composed, strict=True)
    ]
    files = {f"b/{name}": f"# Places\n\n{text}\n" for name, text in zip(NAMES, said, strict=True)}
    workspace.write({**files, "b/pairs.jsonl": lines(*pairs)})
    assert workspace.verify().code == OK
    assert sorted(workspace.table("documents", "b")["path"]) == sorted(composed)
    assert workspace.table("verdicts", "b")["verdict"].to_list() == ["accepted"] * len(NAMES)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "/", "b/"])
def test_a_batch_of_another_name_than_a_folder_is_refused_and_nothing_is_written(
    workspace: Workspace, name: str
) -> None:
    workspace.write({"b/guide.md": GUIDE})
    ran = workspace.run("--batch", name)
    assert (ran.code, ran.stdout) == (BAD_INPUT, "")
    assert repr(name) in ran.stderr
    assert not workspace.out.exists()


HOPELESS: dict[str, tuple[Files, str]] = {
    "a, b": ({"guide.md": GUIDE}, "'a, b'"),
    "[red]x[-red]": ({"guide.md": GUIDE}, "'[red]x[-red]'"),
    "locked": ({"locked.pdf": BAD_FILES["locked.pdf"][0]}, "1 encrypted"),
    "letters": (
        {"guide.md": GUIDE, "pairs.csv": "question,answer\nGebühr?,5".encode("cp1252")},
        "pairs.csv",
    ),
    "linked": ({}, "link"),
    "far": ({"guide.md": GUIDE}, "link"),
}


def test_a_batch_that_cannot_be_used_fails_alone_and_says_why(workspace: Workspace, tmp_path: Path) -> None:
    workspace.write({"good/guide.md": GUIDE, "loose.md": GUIDE})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "pairs.jsonl").write_text(lines({**PAIR, "answer": SECRET}))
    (workspace.corpus / "linked").symlink_to(tmp_path / "outside")
    for batch, (files, _) in HOPELESS.items():
        workspace.write({os.path.normpath(f"{batch}/{name}"): content for name, content in files.items()})
    (workspace.corpus / "far" / "pairs.jsonl").symlink_to(tmp_path / "outside" / "pairs.jsonl")
    ran = workspace.run()
    assert ran.code == FAILED
    assert "good succeeded" in ran.stdout
    assert "loose.md" in ran.stderr
    for batch, (_, told) in HOPELESS.items():
        assert told in ran.stdout.partition(f"{batch} failed")[2]
    assert not holds(workspace, SECRET)
    assert workspace.run("--batch", "a, b").code == workspace.run("--batch", "linked").code == BAD_INPUT


def test_links_what_is_no_file_and_names_of_any_bytes_are_rows_and_stop_nothing(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "å" * 126 + ".md"
    workspace.write({"b/guide.md": GUIDE, f"b/{long}": "# Long\n\nA name of 255 bytes.\n"})
    folder = workspace.corpus / "b"
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("# Café\n\nIt opens at 9.\n")
    os.mkfifo(folder / "pipe.md")
    (folder / "again").symlink_to(folder)
    (folder / "loop.md").symlink_to("loop.md")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text(f"# Secret\n\n{SECRET}\n")
    (folder / "secret.md").symlink_to(tmp_path / "outside" / "secret.md")
    (folder / "folder").symlink_to(tmp_path / "outside")
    monkeypatch.chdir(folder)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        ran = workspace.run()
    assert ran.code == OK
    assert workspace.reasons("documents", "b", "path") == {
        **dict.fromkeys(("guide.md", long, "caf\\xe9.md")),
        "again": "linked_folder",
        "folder": "outside_corpus",
        "loop.md": "unreadable",
        "pipe.md": "not_a_file",
        "secret.md": "outside_corpus",
        "socket.md": "not_a_file",
    }
    assert "b/again" in ran.stdout
    assert not holds(workspace, SECRET)


def test_of_two_equal_files_one_is_read_and_either_can_be_cited(workspace: Workspace) -> None:
    asked = {"a": "How is the boiler drained?", "b": "What opens to drain the boiler?"}
    both = [{**PAIR, "question": asked[n], "citations": [f"[source:{n}.md]"]} for n in asked]
    workspace.write({"b/a.md": GUIDE, "b/b.md": GUIDE, "b/pairs.jsonl": lines(*both)})
    assert workspace.verify().code == OK
    assert workspace.reasons("documents", "b", "path") == {"a.md": None, "b.md": "equal_bytes"}
    assert workspace.table("verdicts", "b")["verdict"].to_list() == ["accepted"] * 2


def test_pairs_that_cannot_be_used_and_equal_ones_are_rows_beside_the_good_ones(
    workspace: Workspace,
) -> None:
    rows: list[Any] = [
        {**PAIR, "answer": None},
        {**PAIR, "question": "Which valve is unknown?", "citations": ["[source:nowhere.md]"]},
        PAIR,
        '{"question": "Broken',
        "",
        "[1]",
    ]
    content = b"\xef\xbb\xbf" + lines(*rows).replace("\n", "\r\n").encode()
    workspace.write({"b/guide.md": GUIDE, "b/pairs.jsonl": content, "b/pairs.parquet": parquet(PAIR)})
    assert workspace.verify().code == OK
    pairs = workspace.table("pairs", "b")
    found = workspace.table("verdicts", "b").join(pairs.select("pair_id", "question"), on="pair_id")
    assert sorted(found.select("question", "verdict", "reason").rows(), key=str) == sorted(
        [
            (None, "failed", "missing_field"),
            ("Which valve is unknown?", "rejected", "fabricated_citation"),
            (PAIR["question"], "accepted", "unjudged"),
            (PAIR["question"], "rejected", "duplicate"),
            *[(None, "failed", "broken_line")] * 2,
        ],
        key=str,
    )
    details = pairs.filter(pl.col("status") == "failed")["detail"].to_list()
    assert all(detail.startswith("pairs.jsonl line ") for detail in details)


@pytest.mark.parametrize("folder", ["nowhere", "/"])
def test_validating_against_no_folder_is_refused_rather_than_rejecting_every_pair(
    workspace: Workspace, tmp_path: Path, folder: str
) -> None:
    workspace.write({"b/guide.md": GUIDE})
    (tmp_path / "mine.jsonl").write_text(lines(PAIR))
    ran = invoke("validate", tmp_path / "mine.jsonl", "--corpus", tmp_path / folder, "--out", workspace.out)
    assert ran.code == BAD_INPUT
    assert not (workspace.out / "tables" / "verdicts").exists()


def test_an_output_folder_that_cannot_be_is_refused_before_any_work(workspace: Workspace) -> None:
    workspace.write({"b/guide.md": GUIDE})
    workspace.out.write_text("in the way")
    ran = workspace.run()
    assert (ran.code, ran.stdout) == (BAD_INPUT, "")
    assert str(workspace.out) in ran.stderr


@pytest.mark.parametrize(
    "damaged", ["tables/pairs/b.parquet", "cache/replies.sqlite", "cache/vectors.sqlite"]
)
def test_a_damaged_file_of_an_earlier_run_is_named(finished_workspace: Workspace, damaged: str) -> None:
    workspace = finished_workspace
    for path in (workspace.out / damaged).parent.glob(
        f"{Path(damaged).name}*"
    ):  # with the database's own log
        path.write_bytes(b"no such format" * 999)
    workspace.write({"b/guide.md": GUIDE.replace("10 minutes", "20 minutes")})
    ran = workspace.run()
    assert ran.code == FAILED
    assert str(workspace.out / damaged) in ran.stdout


def test_tables_of_another_release_are_named_and_made_again(
    finished_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = finished_workspace
    made, other = workspace.contents("b"), SCHEMA_VERSION - 1
    with monkeypatch.context() as patch:
        for module in ("storage.parquet", "pipeline.fingerprint"):
            patch.setattr(f"qa_pipeline.{module}.SCHEMA_VERSION", other)
        assert workspace.run().code == OK
    assert workspace.contents("b") != made
    refused = invoke("release", "--out", workspace.out)
    assert refused.code == BAD_INPUT
    assert f"version {other}, " in refused.stderr
    assert workspace.run().code == OK
    assert workspace.contents("b") == made


def test_a_damaged_table_of_one_batch_hides_no_other_from_the_report(finished_workspace: Workspace) -> None:
    workspace = finished_workspace
    workspace.write({"a/guide.md": GUIDE})
    (workspace.out / "tables" / "pairs" / "b.parquet").write_bytes(b"")
    assert workspace.run("--batch", "a").code == OK
    told = invoke("status", "--out", workspace.out)
    assert (told.code, "b.parquet" in told.stdout, "a" in told.stdout.split()) == (OK, True, True)


def test_documents_nobody_foresaw_are_read_and_stop_nothing(workspace: Workspace) -> None:
    workspace.write(
        {
            "b/français.md": "# La chaudière\n\nPour vidanger la chaudière, ouvrez la vanne inférieure.\n",
            "b/headings.md": "\n".join(f"# Heading {n}" for n in range(2000)),
            "b/line.txt": "The pump weighs 12 kg. " * 3000,
            "b/" + "d/" * 60 + "deep.md": GUIDE,
            "b/nested.html": "<div>" * 4000 + "<p>Deep text of a page.</p>",
            "b/pairs.jsonl": lines({**PAIR, "question": "Why " * 2500 + "?"}),
        }
    )
    assert workspace.verify().code == FAILED  # the pair is not proved, so there is no row
    assert workspace.table("documents", "b")["status"].to_list() == ["parsed"] * 5


def test_a_screen_that_lacks_a_letter_ends_no_run(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    screen = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr("sys.stdout", screen)
    workspace.write({"å/😀.md": GUIDE})
    with pytest.raises(SystemExit) as ended:
        app(["run", str(workspace.corpus), "--out", str(workspace.out), "--provider", "none"])
    screen.flush()
    assert ended.value.code == FAILED  # there is no row
    assert b"\\xe5 empty" in written.getvalue()
