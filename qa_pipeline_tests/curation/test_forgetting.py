import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.curation import forgetting
from qa_pipeline.curation.decisions import add_decisions, read_decisions
from qa_pipeline.curation.forgetting import forgotten_documents
from qa_pipeline.evaluation.corpus_refusals import updated_index
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import CHUNKS, STORED
from qa_pipeline_tests.end_to_end import Workspace, invoke
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
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two batches that share a document; pairs of others were shown it, and people decided about some."""
    folder = tmp_path_factory.mktemp("erasure")
    made = Workspace(folder / "corpus", folder / "out")
    names = ["part", "pbrt", "pcrt", "pdrt"]
    files: dict[str, str | bytes] = {f"b0/{name}.md": f"{guide(name)}\n{SHARED}\n" for name in names}
    files |= {"b1/copy of it.md": files[FORGOTTEN], "b1/pert.md": guide("pert"), "b2/pfrt.md": guide("pfrt")}
    made.write(files | {"b0/pigments.md": COLOURS})
    assert made.run().code == OK
    record(made)
    assert made.run().code == OK
    assert invoke("release", "--out", made.out).code == OK
    return made


def record(made: Workspace) -> None:
    lines = (made.out / "exports" / "passed" / "b0.jsonl").read_text().splitlines()
    told = [row for row in map(json.loads, lines) if row["evidence"]]
    rows = [
        {
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


def forget(workspace: Workspace, name: str = FORGOTTEN, *options: str) -> dict[str, Any]:
    ran = invoke("forget", name, "--out", workspace.out, "--json", *(options or ("--yes",)))
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
    assert {batch: rows["documents"] for batch, rows in said["rows"].items()} == {"b0": 1, "b1": 1}
    assert holding(copied.out, SECRET) == []
    for batch, ids in zip(("b0", "b1"), gone, strict=True):
        named = set().union(*ids.values())
        assert not named & ids_in(copied, batch)
        assert not (copied.out / "indexes" / f"{batch}.faiss").exists()
    assert not list(copied.out.rglob(".*.tmp"))
    assert not Layout(copied.out).forgetting.exists()


def test_the_index_over_all_batches_goes_and_is_built_again_without_the_document(copied: Workspace) -> None:
    layout = Layout(copied.out)
    before = updated_index(layout).rows
    forget(copied, FORGOTTEN, "--yes")
    assert not layout.corpus_index.exists()
    index = updated_index(layout)
    assert 0 < index.rows < before
    assert set(index.manifest.parts) == {path.stem for path in layout.tables("embeddings")}


def test_rows_of_other_documents_are_what_they_were_once_their_batch_is_made_again(
    copied: Workspace, made: Workspace
) -> None:
    gone = ids_of(copied, "b0", "pbrt.md")
    forget(copied)
    assert copied.contents("b2") == made.contents("b2")
    assert copied.run().code == OK
    for name in ("documents", "chunks", "embeddings", "questions", "pairs", "claims", "claim_verdicts",
                 "assessments", "refusals"):  # fmt: skip
        before, after = (workspace.table(name, "b0") for workspace in (made, copied))
        known = "document_id" if name == "documents" else STORED[name].key[0]
        named = gone["document"] | gone["chunk"] | gone["question"] | gone["pair"]
        about = [
            column
            for column in ("document_id", "chunk_id", "question_id", "pair_id")
            if column in before.columns
        ]
        others = before.filter(~pl.any_horizontal(pl.col(about).is_in(list(named)).fill_null(value=False)))
        lost = others.join(after, on=known, how="anti")
        assert lost.is_empty(), (name, lost)
    drafted = made.table("pairs", "b0").filter(~pl.col("pair_id").is_in(list(gone["pair"])))
    answers = copied.table("pairs", "b0").select("pair_id", "answer", "passage_ids")
    assert drafted.height > 0
    assert drafted.select(answers.columns).join(answers, on=answers.columns, how="anti").is_empty()


def test_drafts_that_were_shown_other_documents_alone_are_kept_and_not_paid_again(copied: Workspace) -> None:
    gone = ids_of(copied, "b0", "pbrt.md")
    before = copied.table("pairs", "b0")
    forget(copied)
    assert copied.table("pairs", "b0").equals(before.filter(~pl.col("pair_id").is_in(list(gone["pair"]))))


def test_the_laws_hold_over_what_is_made_again(copied: Workspace) -> None:
    forget(copied)
    assert copied.run().code == OK
    for batch in ("b0", "b1"):
        pairs, verdicts = copied.table("pairs", batch), copied.table("verdicts", batch)
        assert sorted(pairs["pair_id"]) == sorted(verdicts["pair_id"])
        kept = verdicts["duplicate_of"].drop_nulls()
        assert set(kept) <= set(verdicts["pair_id"])
        examples = copied.table("training_examples", batch)
        accepted = verdicts.filter(pl.col("verdict") == "accepted")
        assert set(examples["pair_id"]) <= set(accepted["pair_id"])
        chunks = set(copied.table(CHUNKS.name, batch)["chunk_id"])
        for name in STORED:
            for column, values in leaves(copied.table(name, batch)):
                if column in ("chunk_id", "other_chunk_id", "passage_ids", "used_chunk_ids"):
                    assert set(values) <= chunks, (name, column)
    assert invoke("status", "--out", copied.out).code == OK
    ran = invoke("release", "--out", copied.out, "--json")
    assert ran.code == OK, ran.stderr
    assert json.loads(ran.stdout)["version"] == 2
    assert invoke("verify", copied.out / "releases").code == OK
    sources = pl.read_parquet(copied.out / "releases" / "2" / "sources.parquet")
    assert not {"pbrt.md", "copy of it.md"} & set(sources["path"])


def test_a_batch_that_is_not_made_again_yet_is_named_by_status_and_releases(copied: Workspace) -> None:
    ran = invoke("forget", FORGOTTEN, "--out", copied.out, "--yes")
    assert f"qa-pipeline run {copied.corpus} --batch b1 --out {copied.out}" in ran.stdout
    assert "b0: withdrawn since" in invoke("status", "--out", copied.out).stdout
    released = json.loads(invoke("release", "--out", copied.out, "--json").stdout)
    assert (list(released["batches"]), list(released["batches_left_out"])) == (["b2"], ["b0", "b1"])
    assert "a document of it was forgotten" in released["batches_left_out"]["b0"]


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


def without_times(workspace: Workspace) -> dict[str, str]:
    """Hashes of all files but tombstones, which say since when."""
    files = workspace.contents()
    return {path: digest for path, digest in files.items() if not path.endswith("tombstone.json")}


@pytest.mark.slow
def test_forgetting_ends_the_same_wherever_it_was_killed(
    copied: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untouched = Path(shutil.copytree(copied.out, tmp_path / "untouched"))
    forget(copied)
    whole = without_times(copied)
    steps = 0

    def counted(work: Any) -> Any:
        def step(*arguments: Any, **options: Any) -> None:
            nonlocal steps
            work(*arguments, **options)
            steps -= 1
            if steps == 0:
                raise KeyboardInterrupt

        return step

    monkeypatch.setattr(forgetting, "write_bytes", counted(write_bytes))
    monkeypatch.setattr(forgetting, "write_table", counted(write_table))
    monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
    tried = 0
    while True:
        tried += 5
        shutil.rmtree(copied.out)
        shutil.copytree(untouched, copied.out)
        steps = tried
        killed = invoke("forget", FORGOTTEN, "--out", copied.out, "--yes").code != OK
        steps = -1
        if not killed:
            break
        assert forgotten_documents(Layout(copied.out))
        forget(copied)
        assert without_times(copied) == whole, tried
        assert holding(copied.out, SECRET) == []
    assert tried > 40


def test_without_yes_nothing_is_changed(copied: Workspace) -> None:
    before = copied.contents()
    assert not forget(copied, FORGOTTEN, "--dry-run", "--yes")["done"]
    ran = invoke("forget", FORGOTTEN, "--out", copied.out)
    assert "Nothing is changed; add --yes to do it" in ran.stdout
    assert copied.contents() == before


def test_a_document_is_named_by_path_id_or_hash_and_only_if_one_is_meant(copied: Workspace) -> None:
    row = copied.table("documents", "b0").filter(pl.col("path") == "pbrt.md").row(0, named=True)
    for name in ("pbrt.md", "b1/copy of it.md", row["document_id"], row["content_sha256"][:8]):
        assert forget(copied, name, "--dry-run")["documents"] == ["b0/pbrt.md", "b1/copy of it.md"]
    ran = invoke("forget", "pbrtt.md", "--out", copied.out)
    assert ran.code == BAD_INPUT
    assert "no document is called 'pbrtt.md'; did you mean" in ran.stderr
    assert "pbrt.md" in ran.stderr
    copied.write({"b1/pcrt.md": "# Another\n\nIt has the path of one of b0.\n"})
    copied.run("--batch", "b1")
    ran = invoke("forget", "pcrt.md", "--out", copied.out)
    assert (ran.code, "2 documents are called 'pcrt.md': b0/pcrt.md, b1/pcrt.md" in ran.stderr) == (
        BAD_INPUT,
        True,
    )


def test_releases_that_hold_it_and_files_that_are_still_there_are_named(copied: Workspace) -> None:
    ran = invoke("forget", FORGOTTEN, "--out", copied.out)
    assert f"qa-pipeline yank {copied.out}/releases/1 --reason" in ran.stdout
    assert f"The file is still there: {copied.corpus}/b0/pbrt.md" in ran.stdout
    (copied.corpus / "b0/pbrt.md").write_text("# Another text\n")
    said = forget(copied)
    assert said["still_in_corpus"] == [f"{copied.corpus}/b1/copy of it.md"]
    assert list(said["releases"]) == ["1"]


def test_what_was_moved_aside_is_forgotten_too(copied: Workspace) -> None:
    shutil.rmtree(copied.corpus / "b1")
    copied.run()
    assert [one for one in holding(copied.out, SECRET) if one.startswith("withdrawn/b1/")]
    forget(copied)
    assert holding(copied.out, SECRET) == []
    assert [path.name for path in (copied.out / "withdrawn" / "b1").rglob("*.*")] == ["tombstone.json"]


def test_an_earlier_version_that_only_a_release_has_is_forgotten_with_it(copied: Workspace) -> None:
    old = copied.table("documents", "b0").filter(pl.col("path") == "pbrt.md")["content_sha256"].item()
    copied.write({FORGOTTEN: guide("pbrt", ("boiler",))})
    assert copied.run("--batch", "b0").code in (OK, FAILED)
    said = forget(copied)
    assert old in said["contents"]
    assert len(said["contents"]) == 2
    assert said["unlinked_decisions"]["b0"] >= 1
    assert holding(copied.out, SECRET) == ["decisions/b0.jsonl"]


def test_a_damaged_list_of_forgotten_documents_is_never_taken_for_an_empty_one(copied: Workspace) -> None:
    Layout(copied.out).forgotten.write_text("{")
    ran = copied.run()
    assert (ran.code, "forgotten.jsonl is damaged" in ran.stdout + ran.stderr) == (FAILED, True)


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


def test_ratings_of_several_people_go_with_the_document_they_are_about(copied: Workspace) -> None:
    layout = Layout(copied.out)
    ids = {path: min(ids_of(copied, "b0", path)["pair"]) for path in DECIDED.values()}
    documents = {path: min(ids_of(copied, "b0", path)["document"]) for path in DECIDED.values()}
    rows = [
        {"id": ids["pbrt.md"], "group": None, "why": None},
        {"id": "of an earlier run", "group": documents["pbrt.md"], "why": None},
        {"id": ids["pigments.md"], "group": documents["pigments.md"], "why": f"Compare: {SECRET}"},
        {"id": ids["pigments.md"], "group": documents["pigments.md"], "why": "too short"},
    ]
    write_bytes(layout.ratings("b0"), "".join(f"{json.dumps(row)}\n" for row in rows).encode())
    assert forget(copied)["rows"]["b0"]["ratings"] == 3
    assert layout.ratings("b0").read_text() == f"{json.dumps(rows[3])}\n"
    assert holding(copied.out, SECRET) == []


def test_decisions_that_are_left_keep_their_order_and_later_ones_come_after_them(copied: Workspace) -> None:
    forget(copied)
    path = Layout(copied.out).decisions("b0")
    left = read_decisions(path)
    assert left["sequence"].to_list() == [2, 3]
    for _ in range(2):  # another process may take the same file meanwhile
        add_decisions(path, [left.row(0, named=True) | {"decision_id": "another"}])
    assert read_decisions(path)["sequence"].to_list() == [2, 3, 4]
