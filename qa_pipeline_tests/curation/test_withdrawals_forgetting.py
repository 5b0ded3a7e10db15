import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.curation import withdrawals
from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace
from qa_pipeline_tests.publishing.plants import guide

FORGOTTEN = "b0/pbrt.md"
SECRET = "A pbrt valve is a part that takes 3 bar in the pbrt plant."
DECIDED = {True: "pbrt.md", False: "pigments.md"}
SHARED = "Every plant of the company is inspected by an engineer once a year."


COLOURS = "# Handbook of crimson pigments\n\n" + "\n".join(
    f"## Crimson {one}\n\nCrimson {one} is a mineral that painters of {one} grind for {n + 2} hours.\n"
    for n, one in enumerate(("lake", "ochre", "umber", "sienna", "vermilion", "madder", "cochineal"))
)
"""A document so unlike the others that its questions are shown none of them."""


def leaves(frame: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
    """Every string of a frame, by the name of the column or field that holds it."""

    def below(name: str, values: pl.Series) -> Iterator[tuple[str, pl.Series]]:
        if isinstance(values.dtype, pl.List):
            yield from below(name, values.explode())
        elif isinstance(values.dtype, pl.Struct):
            for one in values.struct.fields:
                yield from below(one, values.struct.field(one))
        elif values.dtype == pl.String():
            yield name, values.drop_nulls()

    for name in frame.columns:
        yield from below(name, frame[name])


def holding(out: Path, words: str) -> list[str]:
    """The files below a folder that hold these words, releases aside; tables and stores unpacked."""
    found = []
    for path in out.rglob("*"):
        if not path.is_file() or "releases" in path.parts:
            continue
        content = path.read_bytes()
        if path.suffix == ".parquet":
            texts = leaves(pl.read_parquet(io.BytesIO(content)))
            content += "\n".join(text for _, part in texts for text in part).encode()
        if words.encode() in b" ".join(content.split()):
            found.append(path.relative_to(out).as_posix())
    return sorted(found)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Two batches that share a document; pairs of others were shown it, and people decided about some."""
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("erasure"), patch)
        names = ["part", "pbrt", "pcrt", "pdrt"]
        files: dict[str, str | bytes] = {f"b0/{name}.md": f"{guide(name)}\n{SHARED}\n" for name in names}
        files |= {"b1/copy of it.md": files[FORGOTTEN], "b1/pert.md": guide("pert")}
        made.write(files | {"b2/pfrt.md": guide("pfrt"), "b0/pigments.md": COLOURS})
        assert made.run().code == OK
        record(made)
        assert made.run().code == OK
        assert invoke("release", "--out", made.out).code == OK
        yield made


def record(made: Workspace) -> None:
    lines = (made.out / "exports" / "passed" / "b0.jsonl").read_text().splitlines()
    told = [row for row in map(json.loads, lines) if row["evidence"]]
    rows = [
        {
            "batch": "b0",
            "pair_id": row["pair_id"],
            "content_sha256": row["content_sha256"],
            "decision": "rejected",
            "who": "me",
            "why": SECRET if theirs else "no",
        }
        for theirs in (True, False)
        for row in [row for row in told if row["evidence"][0]["path"] == DECIDED[theirs]][:2]
    ]
    file = made.out.parent / "decided.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ran = invoke("decide", file, "--out", made.out)
    assert ran.code == OK, ran.stderr


@pytest.fixture
def copied(made: Workspace, tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "corpus", tmp_path / "out").fill_from(made)


def forget(workspace: Workspace) -> dict[str, Any]:
    ran = invoke("forget", FORGOTTEN, "--out", workspace.out, "--json", "--yes")
    assert ran.code == OK, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


def ids_of(workspace: Workspace, batch: str, path: str) -> dict[str, set[str]]:
    """Ids of a document, its chunks, and the pairs and questions that were shown one of them."""
    documents, chunks = workspace.table("documents", batch), workspace.table("chunks", batch)
    own = documents.filter(pl.col("path") == path)
    held = set(chunks.join(own, on="document_id", how="semi")["chunk_id"])
    shown, asked = (
        pl.col(name).list.eval(pl.element().is_in(list(held))).list.any()
        for name in ("passage_ids", "target_chunk_ids")
    )
    return {
        "document": {*own["document_id"], *own["content_sha256"]},
        "chunk": held,
        "pair": set(workspace.table("pairs", batch).filter(shown)["pair_id"]),
        "question": set(workspace.table("questions", batch).filter(shown | asked)["question_id"]),
    }


def ids_in(workspace: Workspace, batch: str) -> set[str]:
    """Every string of the stored tables of a batch."""
    paths = (workspace.out / "tables" / name / f"{batch}.parquet" for name in STORED)
    frames = [pl.read_parquet(path) for path in paths if path.is_file()]
    return {value for frame in frames for _, values in leaves(frame) for value in values}


def test_nothing_of_a_forgotten_document_is_left_but_in_releases(copied: Workspace) -> None:
    assert len(holding(copied.out, SECRET)) > 10
    gone = [ids_of(copied, "b0", "pbrt.md"), ids_of(copied, "b1", "copy of it.md")]
    assert all(gone[0].values())
    said = forget(copied)
    assert said["documents"] == ["b0/pbrt.md", "b1/copy of it.md"]
    assert said["releases"] == [f"{copied.out}/releases/1"]
    assert holding(copied.out, SECRET) == []
    for batch, ids in zip(("b0", "b1"), gone, strict=True):
        named = set().union(*ids.values())
        assert not named & ids_in(copied, batch)
        assert not (copied.out / "indexes" / f"{batch}.faiss").exists()
    assert not list(copied.out.rglob(".*.tmp"))
    left = {row["why"] for row in read_decisions(Layout(copied.out).decisions("b0")).iter_rows(named=True)}
    assert left == {"no"}


@pytest.mark.slow
def test_the_next_run_reads_no_forgotten_file_and_changes_nothing_else(copied: Workspace) -> None:
    forget(copied)
    assert copied.run().code == OK
    assert holding(copied.out, SECRET) == []
    row = copied.table("documents", "b1").filter(pl.col("path") == "copy of it.md").row(0, named=True)
    assert (row["status"], row["reason"], row["text"]) == ("failed", "forgotten", None)
    for file in ("b0/pbrt.md", "b1/copy of it.md"):
        (copied.corpus / file).unlink()
    assert copied.run().code == OK
    assert "pbrt.md" not in set(copied.table("documents", "b0")["path"])


@pytest.mark.slow
def test_a_killed_command_is_finished_by_running_it_again(
    copied: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untouched = Path(shutil.copytree(copied.out, tmp_path / "untouched"))
    steps = 0

    def counted(work: Any) -> Any:
        def step(*arguments: Any, **options: Any) -> None:
            nonlocal steps
            work(*arguments, **options)
            steps -= 1
            if steps == 0:
                raise KeyboardInterrupt

        return step

    monkeypatch.setattr(withdrawals, "write_bytes", counted(write_bytes))
    monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
    killed = 0
    for tried in (1, 3, 10, 20, 30, 40, 50, 60):
        shutil.rmtree(copied.out)
        shutil.copytree(untouched, copied.out)
        steps = tried
        if invoke("forget", FORGOTTEN, "--out", copied.out, "--yes").code == OK:
            break
        steps, killed = -1, killed + 1
        forget(copied)
        assert holding(copied.out, SECRET) == []
    assert killed > 4


def test_without_yes_nothing_is_changed(copied: Workspace) -> None:
    before = copied.contents()
    assert invoke("forget", FORGOTTEN, "--out", copied.out).code == OK
    assert copied.contents() == before


def test_a_document_is_named_by_path_id_or_hash(copied: Workspace) -> None:
    row = copied.table("documents", "b0").filter(pl.col("path") == "pbrt.md").row(0, named=True)
    for name in ("pbrt.md", "b1/copy of it.md", row["document_id"], row["content_sha256"]):
        assert json.loads(invoke("forget", name, "--out", copied.out, "--json").stdout)["documents"] == [
            "b0/pbrt.md",
            "b1/copy of it.md",
        ]
    ran = invoke("forget", "pbrtt.md", "--out", copied.out)
    assert ran.code == BAD_INPUT
    assert "pbrtt.md" in ran.stderr


def test_a_damaged_list_of_forgotten_documents_is_never_taken_for_an_empty_one(copied: Workspace) -> None:
    Layout(copied.out).forgotten.write_text("{")
    ran = copied.run()
    assert (ran.code, "forgotten.jsonl" in ran.stdout + ran.stderr) == (FAILED, True)


def test_no_release_holds_a_forgotten_document_even_where_tables_still_do(copied: Workspace) -> None:
    row = copied.table("documents", "b0").filter(pl.col("path") == "pbrt.md").row(0, named=True)
    line = json.dumps({"content_sha256": row["content_sha256"]})
    Layout(copied.out).forgotten.write_text(f"{line}\n")
    said = json.loads(invoke("release", "--out", copied.out, "--json").stdout)
    assert said["rows_left_out"]["forgotten"] > 0
    release = copied.out / "releases" / "2"
    left_out = pl.read_parquet(release / "left_out.parquet").filter(pl.col("reason") == "forgotten")
    rows = pl.concat(pl.read_parquet(path) for path in (release / "data").iterdir())
    assert rows.join(left_out, on="pair_id", how="semi").is_empty()
    proved = rows.select(pl.col("evidence").explode().struct.field("content_sha256")).to_series()
    assert row["content_sha256"] not in {
        *proved,
        *pl.read_parquet(release / "sources.parquet")["content_sha256"],
    }
    assert invoke("verify", release).code == OK
