"""Forgetting documents: their text leaves an output folder, and the next run makes their batches again.

Everything that is computed or stored elsewhere is deleted with the whole batch. Of what was read, embedded or
paid for, rows of other documents stay, so that the next run asks no model for them.
"""

import difflib
import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.decisions import WRITTEN, read_decisions
from qa_pipeline.curation.withdrawals import files_of_batch, withdraw_forgotten
from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.maintenance import Erased, versions_of
from qa_pipeline.llm.store.maintenance import erase as erase_replies
from qa_pipeline.models.vector_cache import VectorCache, VectorSpace
from qa_pipeline.storage.files import delete, write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, DECISIONS, DOCUMENTS, EMBEDDINGS, PAIRS, QUESTIONS
from qa_pipeline.text.rendering import first_names
from qa_pipeline.text.sentences import split_sentences

SHORTEST_NAME = 6
"""Characters of a hash from which its beginning names it: a shorter one too often names several."""
LEAST_QUOTE = 30
"""Characters from which a sentence is not written twice by chance."""
_MOST_PATHS = 5  # of a message: more fill the screen, and one says how many are left out
_ID_LENGTH = 32  # hex digits: a document's id is the beginning of its content's hash
_PLACE = ("batch", "path")
_RATINGS = "ratings"
"""Ratings of the same pairs: no table, but rows of a batch."""
PLACES = pl.Schema(dict.fromkeys(("content_sha256", "document_id", *_PLACE), pl.String()))


def forgotten_documents(layout: Layout) -> frozenset[str]:
    """Return the hashes of the contents that must not come back, in tables or releases.

    Raises:
        InputError: the list is damaged; nothing goes on as if it were empty.
    """
    if not layout.forgotten.is_file():
        return frozenset()
    try:
        lines = layout.forgotten.read_text(encoding="utf-8").splitlines()
        return frozenset(str(json.loads(line)["content_sha256"]) for line in lines)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{layout.forgotten} is damaged; restore it, or write one line "
            f'{{"content_sha256": "..."}} for each document that must not come back'
        ) from error


def known_places(layout: Layout) -> pl.DataFrame:
    """Return the contents of the tables and their places: PLACES.

    Raises:
        TableError: a table cannot be read.
    """
    aside = sorted(layout.withdrawals.glob("*/tables/documents/*.parquet"))
    tables = (
        read_table(path, DOCUMENTS).select(*PLACES) for path in [*layout.tables(DOCUMENTS.name), *aside]
    )
    return (
        pl.concat([PLACES.to_frame(), *tables])
        .drop_nulls("content_sha256")
        .unique()
        .sort(*_PLACE, "content_sha256")
    )


def find_contents(documents: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows of `documents` with this name, and of earlier contents of the same paths.

    Args:
        documents: PLACES frame.
        name: a path, batch and path, or an id or hash or the beginning of one.

    Returns:
        PLACES; empty where no document is called so.

    Raises:
        InputError: several documents are called so.
    """
    full_path = pl.concat_str("batch", pl.lit("/"), "path")
    begins = [pl.col(column).str.starts_with(name) for column in ("document_id", "content_sha256")]
    by_id = pl.any_horizontal(begins) & (len(name) >= SHORTEST_NAME)
    exact = documents.filter(
        (full_path == name) | pl.any_horizontal(pl.col("document_id", "content_sha256") == name)
    )
    matching = exact if exact.height else documents.filter(by_id | (pl.col("path") == name))
    places, contents = matching.select(*_PLACE).unique(), matching["content_sha256"].unique()
    if len(contents) > 1 and places.height > 1:
        paths = [f"{batch}/{path}" for batch, path in places.sort(*_PLACE).iter_rows()]
        raise InputError(
            f"{len(contents)} documents are called {name!r}: {', '.join(paths[:_MOST_PATHS])}; "
            f"give batch and path, or an id"
        )
    versions = documents.join(places, on=_PLACE, how="semi")["content_sha256"]
    return documents.filter(pl.col("content_sha256").is_in(versions.unique().implode()))


def unknown_document(documents: pl.DataFrame, name: str) -> InputError:
    """Return the message about an unknown name, with names like it, or the first ones."""
    full_paths = documents.select(pl.concat_str("batch", pl.lit("/"), "path")).to_series()
    near = dict.fromkeys(difflib.get_close_matches(name, [*full_paths, *documents["path"]], n=3))
    if near:
        advice = f"did you mean {', '.join(near)}?"
    elif full_paths.len():
        first_paths = first_names(full_paths.to_list(), _MOST_PATHS)
        advice = f"give a path or an id as table documents has it; there are {first_paths}"
    else:
        advice = "there are no documents; run qa-pipeline run CORPUS first, or name its folder with --out"
    return InputError(f"no document is called {name!r}; {advice}")


class Plan(BaseModel):
    """The documents that go, by hashes and ids alone: nothing readable is stored.

    Args:
        contents: hashes of contents.
        documents: ids of documents, those of earlier versions among them.
        batches: the batches that hold one of the contents.
    """

    contents: list[str] = []
    documents: list[str] = []
    batches: list[str] = []


def read_plan(layout: Layout) -> Plan | None:
    """Return the plan that a killed command had begun; None without one.

    Raises:
        InputError: it is damaged.
    """
    if not layout.forgetting.is_file():
        return None
    try:
        return Plan.model_validate_json(layout.forgetting.read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{layout.forgetting} is damaged; delete it and forget the document again"
        ) from error


def plan_erasure(layout: Layout, places: pl.DataFrame, database: Database | None) -> Plan:
    """Return the plan of what goes with these contents.

    Args:
        layout: the output folder.
        places: PLACES frame of the contents, as `find_contents` gives it.
        database: the store of replies, which knows earlier versions; None without one.

    Raises:
        TableError: a table of documents cannot be read.
        ReplyStoreError: the store cannot be used.
    """
    contents = sorted(set(places["content_sha256"]))
    ids = {*places["document_id"], *(content[:_ID_LENGTH] for content in contents)}
    if database is not None:
        for batch, path in places.select(*_PLACE).unique().sort(*_PLACE).iter_rows():
            ids.update(document for document, _, _ in versions_of(database, f"{batch}/{path}"))
    holding = known_places(layout).filter(pl.col("content_sha256").is_in(contents))
    return Plan(contents=contents, documents=sorted(ids), batches=sorted(set(holding["batch"])))


def count_rows(layout: Layout, plan: Plan) -> dict[str, dict[str, int]]:
    """Return the number of rows of the documents themselves, by batch and table.

    Raises:
        TableError: a table cannot be read.
    """
    return {
        batch: {name: rows.height for name, rows in _rows_of(layout, batch, plan.contents).items()}
        for batch in plan.batches
    }


def carry_out(layout: Layout, plan: Plan, database: Database | None) -> Erased:
    """Delete what goes, in an order in which a kill loses nothing: run again, it ends the same.

    Documents come last, because their table tells what is theirs.

    Raises:
        TableError: a table cannot be read; nothing of its batch is deleted.
        ReplyStoreError: the store cannot be used.
        StorageError: a file cannot be written or deleted.
    """
    hashes = sorted({*forgotten_documents(layout), *plan.contents})
    lines = (f"{json.dumps({'content_sha256': content_hash})}\n" for content_hash in hashes)
    write_bytes(layout.forgotten, "".join(lines).encode())
    write_bytes(layout.forgetting, plan.model_dump_json().encode())
    erased = Erased(0, 0) if database is None else erase_replies(database, plan.documents)
    for batch in plan.batches:
        _purge(layout, batch, plan.contents)
    _purge_asked(layout, plan.contents)
    _renew_caches(layout)
    for batch in plan.batches:
        path = layout.table(DOCUMENTS.name, batch)
        if path.is_file():
            _keep(path, DOCUMENTS, ~_is_of(plan.contents))
    _delete(path for path in layout.out.rglob(".*.tmp") if layout.releases not in path.parents)
    _delete([layout.forgetting])
    return erased


def _purge(layout: Layout, batch: str, contents: Collection[str]) -> None:
    """Delete a batch, but for its documents and the other documents' vectors, questions and drafts."""
    rows = _rows_of(layout, batch, contents)
    withdraw_forgotten(layout, batch)
    decisions = layout.decisions(batch)
    if rows[DECISIONS.name].height:
        staying = read_decisions(decisions).join(rows[DECISIONS.name], on="decision_id", how="anti")
        write_bytes(decisions, staying.write_ndjson().encode())
    ratings = layout.ratings(batch)
    if rows[_RATINGS].height:
        lines, theirs = ratings.read_bytes().splitlines(keepends=True), set(rows[_RATINGS]["place"])
        write_bytes(ratings, b"".join(line for place, line in enumerate(lines) if place not in theirs))
    is_theirs = {
        table.name: pl.col(key).is_in(rows[name][key].implode())
        for table, name, key in (
            (EMBEDDINGS, CHUNKS.name, "chunk_id"),
            (QUESTIONS, QUESTIONS.name, "question_id"),
            (PAIRS, PAIRS.name, "pair_id"),
        )
    }
    # imported and edited pairs cost nothing to make again, and may quote a document without naming it
    is_theirs[PAIRS.name] |= pl.col("origin") != "generated"
    aside = layout.tombstone(batch)
    moved = (path for path in aside.parent.rglob("*") if path.is_file() and path != aside)
    kept = {layout.table(table.name, batch): table for table in (PAIRS, QUESTIONS, EMBEDDINGS)}
    last = [layout.table(table.name, batch) for table in (CHUNKS, DOCUMENTS)]
    present = [path for path in files_of_batch(layout, batch) if path.is_file()]
    _delete(path for path in present if path not in kept and path not in last)
    for path, table in kept.items():
        if path.is_file():
            _keep(path, table, ~is_theirs[table.name])
    _delete(moved)
    _delete(last[:1])


def _purge_asked(layout: Layout, contents: Collection[str]) -> None:
    """Delete uploads of the contents, added pairs that cite them, and all checks of files of pairs.

    Such checks hold copies of tables, and are made again from the file.
    """
    uploads = (path for content in contents for path in (layout.asked / "documents").glob(f"{content}*/**/*"))
    checks = (layout.asked / "pairs").rglob("*")
    _delete(path for path in (*uploads, *checks) if path.is_file())
    for path in (*layout.asked.glob("added/*.jsonl"), *layout.asked.glob("documents/*/asked/added/*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        staying = [line for line in lines if not any(content.encode() in line for content in contents)]
        if not staying:
            _delete([path])
        elif len(staying) < len(lines):
            write_bytes(path, b"".join(staying))


def _rows_of(layout: Layout, batch: str, contents: Collection[str]) -> dict[str, pl.DataFrame]:
    """Return the rows that go with the contents, by table: what names them, and what people wrote of them."""
    documents = _read(layout, batch, DOCUMENTS).filter(_is_of(contents))
    chunks = _read(layout, batch, CHUNKS).join(documents, on="document_id", how="semi")
    ids = {*contents, *documents["document_id"], *chunks["chunk_id"]}
    questions = _naming(_read(layout, batch, QUESTIONS), ids)
    ids |= set(questions["question_id"])
    pairs, claims = (_naming(_read(layout, batch, table), ids) for table in (PAIRS, CLAIMS))
    decisions = read_decisions(layout.decisions(batch))
    about = pl.col("pair_id").is_in([*pairs["pair_id"], *claims["pair_id"]])
    about |= pl.col("evidence_document_id").is_in(documents["document_id"].implode()).fill_null(value=False)
    quoting = decisions["decision_id"].is_in(_quoting(decisions, documents, layout, batch, contents))
    ratings = _ratings(layout.ratings(batch))
    of_them = ratings["pair_id"].is_in([*pairs["pair_id"], *claims["pair_id"]])
    of_them |= ratings["evidence_document_id"].is_in([*documents["document_id"]]).fill_null(value=False)
    of_them |= ratings["decision_id"].is_in(_quoting(ratings, documents, layout, batch, contents))
    return {
        DOCUMENTS.name: documents,
        CHUNKS.name: chunks,
        QUESTIONS.name: questions,
        PAIRS.name: pairs,
        DECISIONS.name: decisions.filter(about | quoting),
        _RATINGS: ratings.filter(of_them),
    }


def _ratings(path: Path) -> pl.DataFrame:
    """Return the ratings of a batch as decisions, in which `place` is the number of the line, from 0.

    Raises:
        InputError: the file is damaged. It holds people's work, so nothing goes on as if it were empty.
    """
    lines = path.read_bytes().splitlines() if path.is_file() else []
    try:
        rows = [
            (str(place), place, row["id"], row["group"], row["why"])
            for place, row in enumerate(map(json.loads, lines))
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read; repair it or restore it from a backup") from error
    names = ("decision_id", "place", "pair_id", "evidence_document_id", "why")
    schema = {**dict.fromkeys(names, pl.String()), "place": pl.Int64()}
    empty = {name: pl.lit(None, pl.String()) for name in WRITTEN if name not in names}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(**empty)


def _is_of(contents: Collection[str]) -> pl.Expr:
    return pl.col("content_sha256").is_in(sorted(contents)).fill_null(value=False)


def _read(layout: Layout, batch: str, table: Table) -> pl.DataFrame:
    """Return a table of a batch, in its place or else moved aside; empty without one."""
    folders = (layout, Layout(layout.tombstone(batch).parent))
    paths = (folder.table(table.name, batch) for folder in folders)
    return next((read_table(path, table) for path in paths if path.is_file()), table.empty())


def _naming(frame: pl.DataFrame, ids: Collection[str]) -> pl.DataFrame:
    """Return the rows that hold one of the ids anywhere, in nested columns too."""
    lines = pl.Series(frame.write_ndjson().splitlines(), dtype=pl.String())
    return frame.filter(lines.str.contains_any(sorted(ids)))


def _quoting(
    decisions: pl.DataFrame, documents: pl.DataFrame, layout: Layout, batch: str, contents: Collection[str]
) -> list[str]:
    """Return ids of decisions in which people quote a sentence that no other document of the batch has."""
    written = {
        row["decision_id"]: " ".join(" ".join(row[name] or "" for name in WRITTEN).split())
        for row in decisions.iter_rows(named=True)
    }
    sentences = {
        sentence
        for text, language in documents.drop_nulls("text").select("text", "language").iter_rows()
        for start, end in split_sentences(text, language or "en")
        if len(sentence := " ".join(text[start:end].split())) >= LEAST_QUOTE
    }
    quoted = {sentence for sentence in sentences if any(sentence in text for text in written.values())}
    if quoted:
        others = _read(layout, batch, DOCUMENTS).filter(~_is_of(contents))["text"].drop_nulls()
        shared = others.str.replace_all(r"\s+", " ").str.extract_many(sorted(quoted), overlapping=True)
        quoted -= set(shared.explode(empty_as_null=True).drop_nulls())
    return [
        decision_id for decision_id, text in written.items() if any(sentence in text for sentence in quoted)
    ]


def _keep(path: Path, table: Table, stays: pl.Expr) -> None:
    frame = read_table(path, table)
    staying = frame.filter(stays)
    if staying.height < frame.height:
        write_table(path, staying, table)


def _renew_caches(layout: Layout) -> None:
    """Delete what was computed from texts, by whose hashes nobody can tell whose they are.

    Vectors of the chunks that are left are put back from their tables; others are computed again.
    """
    had_vectors = layout.vectors.is_file()
    for path in (layout.logits, layout.vectors):
        _delete(path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm", ""))
    if not had_vectors:
        return
    cache = VectorCache(layout.vectors)
    try:
        for file in layout.tables(EMBEDDINGS.name):
            embeddings = read_table(file, EMBEDDINGS)
            for key, part in embeddings.partition_by(
                "model", "model_revision", "precision", as_dict=True
            ).items():
                vectors = (vector.to_numpy() for vector in part["vector"])
                space = VectorSpace(*map(str, key))
                cache.put_many(space, dict(zip(part["text_sha256"], vectors, strict=True)))
    finally:
        cache.close()


def _delete(paths: Iterable[Path]) -> None:
    for path in list(paths):
        try:
            delete(path)
        except OSError as error:
            raise StorageError(
                f"cannot delete {path}: {error.strerror or error}; delete it, then run again"
            ) from error


def near_texts(layout: Layout, contents: Sequence[str]) -> list[str]:
    """Return batch and path of remaining documents whose text is nearly that of a forgotten one."""
    near_paths: list[str] = []
    for path in layout.tables(DOCUMENTS.name):
        documents = read_table(path, DOCUMENTS)
        own = documents.filter(_is_of(contents))
        alike = [*own["document_id"], *own["near_duplicate_of"].drop_nulls()]
        is_near = pl.any_horizontal(pl.col("near_duplicate_of", "document_id").is_in(alike))
        near = documents.filter(~_is_of(contents), is_near.fill_null(value=False))
        near_paths += near.select(pl.concat_str("batch", pl.lit("/"), "path")).to_series().to_list()
    return near_paths


def unlinked_decisions(layout: Layout, batches: Iterable[str]) -> dict[str, int]:
    """Return the number of decisions about pairs in no table, by batch: what they rest on is unknown.

    Raises:
        TableError: a file is damaged.
    """
    counts = {
        batch: read_decisions(layout.decisions(batch))
        .join(_read(layout, batch, PAIRS), on="pair_id", how="anti")
        .height
        for batch in batches
    }
    return {batch: count for batch, count in counts.items() if count}
