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


def lines(*values: Any) -> str:
    return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def parquet(*rows: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(list(rows)).write_parquet(buffer)
    return buffer.getvalue()


def test_bad_files_are_rows_and_lines_on_the_screen_and_change_nothing_of_the_good_ones(
    workspace: Workspace,
) -> None:
    workspace.write({"boilers/guide.md": GUIDE, "pumps/guide.md": GUIDE.replace("boiler", "pump")})
    assert workspace.run().code == OK
    before = workspace.contents("pumps")
    good = {name: workspace.table(name, "boilers") for name in ("chunks", "pairs", "training_examples")}
    workspace.write({f"boilers/{name}": content for name, (content, _) in BAD_FILES.items()})
    ran = workspace.run()
    assert ran.code == OK
    assert workspace.reasons("documents", "boilers", "path") == {
        **{name: reason for name, (_, reason) in BAD_FILES.items()},
        "guide.md": None,
    }
    assert all(f"boilers/{name}" in ran.stdout for name in BAD_FILES)
    details = workspace.table("documents", "boilers").drop_nulls("reason")["detail"]
    assert not details.str.contains("alert|pump|From").any()
    assert all(frame.equals(workspace.table(name, "boilers")) for name, frame in good.items())
    assert workspace.contents("pumps") == before


def test_a_file_in_another_charset_is_read_letter_by_letter(workspace: Workspace) -> None:
    text = "# Gebühren\n\nDie Ausweisgebühr für Schüler beträgt 5 Euro.\n"
    encodings = ("cp1252", "mac_roman", "utf-16")
    workspace.write({f"de/{encoding}.md": text.encode(encoding) for encoding in encodings})
    assert workspace.run().code == OK
    assert workspace.table("documents", "de")["text"].to_list() == [text.strip()] * 3


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
    assert workspace.run("--provider", "none").code == OK
    assert sorted(workspace.table("documents", "b")["path"]) == sorted(composed)
    assert workspace.table("verdicts", "b")["verdict"].to_list() == ["accepted"] * len(NAMES)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "/", "b/"])
def test_a_batch_of_another_name_than_a_folder_is_refused_and_nothing_is_written(
    workspace: Workspace, name: str
) -> None:
    workspace.write({"b/guide.md": GUIDE})
    ran = workspace.run("--batch", name)
    assert (ran.code, ran.stdout) == (BAD_INPUT, "")
    assert f"no batch {name!r}; it has b" in ran.stderr
    assert not workspace.out.exists()


def test_a_folder_that_can_be_no_batch_fails_alone(workspace: Workspace) -> None:
    workspace.write(
        {"good/guide.md": GUIDE, "a, b/guide.md": GUIDE, "[red]x[-red]/guide.md": GUIDE, "loose.md": GUIDE}
    )
    ran = workspace.run()
    assert ran.code == FAILED
    assert "good succeeded" in ran.stdout
    assert "[red]x[-red] failed: batch name '[red]x[-red]' cannot be used" in ran.stdout
    assert "rename the folder" in ran.stdout
    assert "loose.md" in ran.stderr
    assert workspace.run("--batch", "good").code == OK
    assert workspace.run("--batch", "a, b").code == BAD_INPUT


HOLLOW: dict[str, tuple[Files, str]] = {
    "empty": ({}, "the batch holds no files; put documents into its folder"),
    "drawings": (
        {f"{n}.png": b"\x89PNG\r\n\x1a\n" for n in range(7)},
        "nothing was read of 7 files: 7 unsupported_format",
    ),
    "locked": ({"locked.pdf": BAD_FILES["locked.pdf"][0]}, "nothing was read of 1 file: 1 encrypted"),
    "large": ({"big.md": b"A pump moves water. " * 1000}, "nothing was read of 1 file: 1 too_large"),
}


def test_a_batch_of_which_nothing_was_read_fails_with_the_reason_and_the_others_run(
    workspace: Workspace,
) -> None:
    workspace.write({"good/guide.md": GUIDE})
    for batch, (files, _) in HOLLOW.items():
        (workspace.corpus / batch).mkdir()
        workspace.write({f"{batch}/{name}": content for name, content in files.items()})
    ran = workspace.run("--set", "documents.max_bytes=10000")
    assert ran.code == FAILED
    assert "good succeeded" in ran.stdout
    for batch, (files, reason) in HOLLOW.items():
        assert f"{batch} failed" in ran.stdout
        assert f"documents_read: {reason}" in ran.stdout
        assert workspace.table("documents", batch).height == len(files)


def test_what_a_link_out_of_the_corpus_leads_to_reaches_no_file(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("# Secret\n\nThe safe opens with 4711.\n")
    workspace.write({"b/guide.md": GUIDE})
    (workspace.corpus / "b" / "secret.md").symlink_to(tmp_path / "outside" / "secret.md")
    (workspace.corpus / "b" / "folder").symlink_to(tmp_path / "outside")
    assert workspace.run().code == OK
    found = workspace.reasons("documents", "b", "path")
    assert found == {"folder": "outside_corpus", "guide.md": None, "secret.md": "outside_corpus"}
    assert not any(b"4711" in path.read_bytes() for path in workspace.out.rglob("*") if path.is_file())


def test_what_is_no_file_and_names_of_any_bytes_are_rows_and_stop_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "å" * 126 + ".md"
    workspace.write({"b/guide.md": GUIDE, f"b/{long}": "# Long\n\nA name of 255 bytes.\n"})
    folder = workspace.corpus / "b"
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("# Café\n\nIt opens at 9.\n")
    os.mkfifo(folder / "pipe.md")
    (folder / "again").symlink_to(folder)
    (folder / "loop.md").symlink_to("loop.md")
    monkeypatch.chdir(folder)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        ran = workspace.run()
    assert ran.code == OK
    assert workspace.reasons("documents", "b", "path") == {
        **dict.fromkeys(("guide.md", long, "caf\\xe9.md")),
        "again": "linked_folder",
        "loop.md": "unreadable",
        "pipe.md": "not_a_file",
        "socket.md": "not_a_file",
    }
    assert "1 file was not read, it is a link to a folder: b/again" in ran.stdout


def test_a_file_written_to_while_it_is_read_is_a_row_and_is_read_by_the_next_run(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write({"b/guide.md": GUIDE, "b/log.md": "# Log\n\nThe pump started.\n"})
    sizes = iter(range(99))

    def growing(descriptor: int) -> os.stat_result:
        found = list(os.stat(descriptor))
        return os.stat_result([*found[:6], next(sizes), *found[7:]])

    with monkeypatch.context() as patch:
        patch.setattr("qa_pipeline.documents.corpus.folders.os.fstat", growing)
        assert workspace.run().code == FAILED
    assert set(workspace.reasons("documents", "b", "path").values()) == {"unreadable"}
    assert workspace.run().code == OK
    assert workspace.table("documents", "b")["status"].to_list() == ["parsed"] * 2


def test_of_two_equal_files_one_is_read_and_either_can_be_cited(workspace: Workspace) -> None:
    asked = {"a": "How is the boiler drained?", "b": "How long is the wait at the lower valve?"}
    both = [{**PAIR, "question": asked[n], "citations": [f"[source:{n}.md]"]} for n in asked]
    workspace.write({"b/a.md": GUIDE, "b/b.md": GUIDE, "b/pairs.jsonl": lines(*both)})
    assert workspace.run("--provider", "none").code == OK
    assert workspace.reasons("documents", "b", "path") == {"a.md": None, "b.md": "equal_bytes"}
    assert workspace.table("verdicts", "b")["verdict"].to_list() == ["accepted"] * 2


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_lines_of_a_pairs_file_that_cannot_be_used_are_rows_beside_the_good_ones(
    workspace: Workspace, kind: str
) -> None:
    rows: list[dict[str, Any]] = [
        {**PAIR, "answer": None},
        {**PAIR, "question": "Which valve is unknown?", "citations": ["[source:nowhere.md]"]},
        PAIR,
    ]
    content: str | bytes = parquet(*rows)
    if kind == "jsonl":
        content = (
            b"\xef\xbb\xbf" + lines(*rows, '{"question": "Broken', "", "[1]").replace("\n", "\r\n").encode()
        )
    workspace.write({"b/guide.md": GUIDE, f"b/pairs.{kind}": content, "other/guide.md": GUIDE})
    assert workspace.run("--provider", "none").code == OK
    found = workspace.table("verdicts", "b").join(
        workspace.table("pairs", "b").select("pair_id", "question"), on="pair_id"
    )
    reasons = found.select("question", "verdict", "reason").rows()
    broken = [(None, "failed", "broken_line")] * 2 if kind == "jsonl" else []
    assert sorted(reasons, key=str) == sorted(
        [
            (None, "failed", "missing_field"),
            ("Which valve is unknown?", "rejected", "fabricated_citation"),
            (PAIR["question"], "accepted", "unjudged"),
            *broken,
        ],
        key=str,
    )
    details = workspace.table("pairs", "b").filter(pl.col("status") == "failed")["detail"].to_list()
    assert all(
        detail.startswith(f"pairs.{kind} {'row' if kind == 'parquet' else 'line'} ") for detail in details
    )


PAIRS_FILES: dict[str, tuple[str, bytes, str]] = {
    "letters": ("pairs.jsonl", lines(PAIR).encode() + "\nGebühr".encode("cp1252"), "is not UTF-8 (line 2)"),
    "kind": ("pairs.parquet", b"PAR1", "is not a Parquet file"),
    "column": ("pairs.parquet", parquet({"question": "Q?", "svar": "A."}), "has no column answer"),
    "folder": ("pairs.jsonl/x", b"", "cannot be read"),
}


def test_a_pairs_file_that_cannot_be_read_fails_its_own_batch_and_says_why(workspace: Workspace) -> None:
    workspace.write({f"{batch}/guide.md": GUIDE for batch in (*PAIRS_FILES, "linked", "good")})
    workspace.write({f"{batch}/{name}": content for batch, (name, content, _) in PAIRS_FILES.items()})
    outside = workspace.corpus.parent / "pairs.jsonl"
    outside.write_text(lines(PAIR))
    (workspace.corpus / "linked" / "pairs.jsonl").symlink_to(outside)
    ran = workspace.run()
    assert ran.code == FAILED
    for batch, (name, _, told) in PAIRS_FILES.items():
        assert f"{batch} failed: {name.partition('/')[0]} {told}" in ran.stdout
    assert "linked failed: pairs.jsonl is a link out of the batch folder" in ran.stdout
    assert "good succeeded" in ran.stdout


def test_the_same_pair_in_both_pairs_files_is_two_rows_of_which_one_trains(workspace: Workspace) -> None:
    workspace.write({"b/guide.md": GUIDE, "b/pairs.jsonl": lines(PAIR), "b/pairs.parquet": parquet(PAIR)})
    assert workspace.run("--provider", "none").code == OK
    assert sorted(workspace.table("verdicts", "b")["reason"].to_list()) == ["duplicate", "unjudged"]


@pytest.mark.parametrize("folder", ["nowhere", "corpus/b/guide.md", "/"])
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
    assert "move it" in ran.stderr


@pytest.mark.parametrize(
    ("damaged", "advice"),
    [
        ("tables/pairs/b.parquet", "delete it"),
        ("cache/replies.sqlite", "restore it from a copy"),
        ("cache/vectors.sqlite", "delete it"),
    ],
)
def test_a_damaged_file_of_an_earlier_run_is_named_with_the_way_out(
    finished_workspace: Workspace, damaged: str, advice: str
) -> None:
    workspace = finished_workspace
    for path in (workspace.out / damaged).parent.glob(
        f"{Path(damaged).name}*"
    ):  # with the database's own log
        path.write_bytes(b"no such format" * 999)
    workspace.write({"b/guide.md": GUIDE.replace("10 minutes", "20 minutes")})
    ran = workspace.run()
    assert ran.code == FAILED
    assert str(workspace.out / damaged) in ran.stdout
    assert advice in ran.stdout


def test_tables_of_another_release_are_named_and_made_again(
    finished_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = finished_workspace
    made, other = workspace.contents("b"), SCHEMA_VERSION - 1
    with monkeypatch.context() as patch:
        for module in ("storage.parquet", "pipeline.freshness"):
            patch.setattr(f"qa_pipeline.{module}.SCHEMA_VERSION", other)
        assert workspace.run().code == OK
    assert workspace.contents("b") != made
    refused = invoke("release", "--out", workspace.out)
    assert refused.code == BAD_INPUT
    assert f"schema version {other}, this release reads {SCHEMA_VERSION}" in refused.stderr
    assert workspace.run().code == OK
    assert workspace.contents("b") == made


def test_a_damaged_table_of_one_batch_hides_no_other_from_the_report(finished_workspace: Workspace) -> None:
    workspace = finished_workspace
    workspace.write({"a/guide.md": GUIDE})
    assert workspace.run().code == OK
    (workspace.out / "tables" / "pairs" / "b.parquet").write_bytes(b"")
    for ran in (workspace.run(), invoke("status", "--out", workspace.out)):
        assert "b.parquet is not a readable Parquet file; delete it" in ran.stdout
        assert workspace.table("pairs", "a").height > 0
    assert ran.code == OK


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
    assert workspace.run("--provider", "none").code == OK
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
    assert ended.value.code == OK
    assert b"\\xe5 succeeded" in written.getvalue()
