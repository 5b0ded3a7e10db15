"""File formats that trainers read, as one table: what their files are, and the rows a batch gives them.

`format_writer` writes the files of one, batch by batch.

Each row also says where it comes from (`ORIGIN`), so that a consumer can split, cite and forget; trainers
leave fields alone that they do not know. `messages` and `openai_preference` are for OpenAI, which documents
no further fields, and say nothing else.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from qa_pipeline.curation.duplicates import ALTERNATIVE
from qa_pipeline.curation.exports import json_lines
from qa_pipeline.curation.training import unmarked_answer
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.storage.tables import MESSAGE_COLUMNS

Tables = Mapping[str, pl.DataFrame]

ORIGIN = ("pair_id", "batch", "language", "question_type", "documents", "licences", "version")
"""The columns that every row about a pair carries; `version` is the release that first held it."""

_ROLES = {"system": "system", "user": "human", "assistant": "gpt"}
_ANSWERED = pl.col("coverage") != "none"
_OF_OWN_SPLIT = pl.col("placed").is_null() | (pl.col("placed") == pl.col("split"))


@dataclass(frozen=True, slots=True)
class File:
    """A file of a format.

    Args:
        name: below the folder of the format; one with {split} is a file of each split.
        head: bytes before the first row.
        between: bytes after each row but the last; None where a row is a line of its own.
        tail: bytes after the last row.
        once: whether a row is left out whose first field an earlier batch had.
        validation: what the split of that name is called in the name of the file.
        names_pairs: whether each row has the pair_id of the pair it is about.
        index: gives the bytes of a file without rows, which describes the files of these splits.
    """

    name: str = "{split}.jsonl"
    head: bytes = b""
    between: bytes | None = None
    tail: bytes = b""
    once: bool = False
    validation: str = "validation"
    names_pairs: bool = True
    index: Callable[[Sequence[str]], bytes] | None = None

    def path(self, split: str | None, splits: Collection[str]) -> str:
        """Return its path below the folder of the format for a split of these."""
        renamed = split == "validation" and self.validation not in splits
        return self.name.format(split=self.validation if renamed else split)


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its files, and the rows of each (but an index) that a batch gives.

    They come from the tables of the batch, its released rows and the layout.

    Rows of a file of each split have the column split, which is not written. Of `whole` formats the released
    rows say everything, so that the bytes of the files can be checked.
    """

    rows: Callable[[Tables, pl.DataFrame, str], Sequence[pl.DataFrame]]
    files: tuple[File, ...] = (File(),)
    is_whole: bool = False

    def paths(self, splits: Collection[str]) -> list[tuple[File, str, str | None]]:
        """Return each file, its path below the folder of the format, and the split it is of, or None."""
        return [
            (file, file.path(split, splits), split)
            for file in self.files
            for split in (splits if "{split}" in file.name else (None,))
        ]


def _of_messages(
    columns: Callable[[pl.Expr], list[pl.Expr]], origin: Sequence[str] = ORIGIN, file: File = File()
) -> Format:
    """Return a format whose rows are those of a layout; rows without that layout are left out."""

    def rows(_: Tables, released: pl.DataFrame, layout: str) -> list[pl.DataFrame]:
        messages = pl.col(MESSAGE_COLUMNS[layout])
        return [released.filter(messages.is_not_null()).select(*columns(messages), *origin, "split")]

    return Format(rows, (file,), is_whole=True)


def _content(place: int, messages: pl.Expr) -> pl.Expr:
    return messages.list.get(place).struct.field("content")


def _chat(messages: pl.Expr) -> list[pl.Expr]:
    """Return the columns of OpenAI's fine-tuning format, which most chat trainers read."""
    return [messages.alias("messages")]


def _sharegpt(messages: pl.Expr) -> list[pl.Expr]:
    turn = pl.struct(
        pl.element().struct.field("role").replace_strict(_ROLES).alias("from"),
        pl.element().struct.field("content").alias("value"),
    )
    return [messages.list.eval(turn).alias("conversations")]


def _gemini(messages: pl.Expr) -> list[pl.Expr]:
    """Return the columns of Vertex AI's tuning format: the system prompt apart, the model's answer last."""

    def parts(text: pl.Expr) -> pl.Expr:
        return pl.concat_list(pl.struct(text=text))

    content = pl.struct(
        pl.element().struct.field("role").replace({"assistant": "model"}).alias("role"),
        parts(pl.element().struct.field("content")).alias("parts"),
    )
    return [
        pl.struct(role=pl.lit("system"), parts=parts(_content(0, messages))).alias("systemInstruction"),
        messages.list.slice(1).list.eval(content).alias("contents"),
    ]


def _alpaca(messages: pl.Expr) -> list[pl.Expr]:
    """Return Stanford Alpaca's columns and the system prompt; passages are part of the instruction."""
    return [
        _content(0, messages).alias("system"),
        _content(1, messages).alias("instruction"),
        pl.lit("").alias("input"),
        _content(-1, messages).alias("output"),
    ]


def _prompt_completion(messages: pl.Expr) -> list[pl.Expr]:
    """Return the columns of TRL's prompt-completion format, in which only the answer is learnt."""
    return [_asked(messages).alias("prompt"), messages.list.tail(1).alias("completion")]


def _asked(messages: pl.Expr) -> pl.Expr:
    return messages.list.slice(0, messages.list.len() - 1)


def _squad(tables: Tables, released: pl.DataFrame, _: str) -> list[pl.DataFrame]:
    """Return the rows of SQuAD 2.0 (Rajpurkar et al. 2018), one row a document.

    An answer is the quotes of the proof, where they stand one after another in one chunk, which is the
    context; rows whose proof lies in several places have no such answer and are left out. A refusal is
    impossible to answer from the best passage it was shown.
    """
    places = tables["chunks"].select(
        "chunk_id",
        "document_id",
        "position",
        "char_start",
        title=pl.col("title").fill_null(""),
        context="text",
    )
    extracted = (
        _spans(released)
        .join(places.drop("document_id"), on="chunk_id", how="left")
        .with_columns(at=pl.col("start") - pl.col("char_start"), until=pl.col("end") - pl.col("char_start"))
        .sort("pair_id", "at", "until")
        .with_columns(before=pl.col("until").cum_max().shift(1).over("pair_id"))
        .with_columns(
            stands=(pl.col("at") >= 0) & (_between("at", "until") == pl.col("quote")),
            adjoins=pl.col("before").is_null() | (_between("before", "at").str.strip_chars() == ""),
        )
        .group_by("pair_id")
        .agg(
            pl.col("chunk_id", "context").first(),
            pl.col("at").min(),
            pl.col("until").max(),
            fits=(pl.col("stands") & pl.col("adjoins")).fill_null(value=False).all()
            & (pl.col("chunk_id").n_unique() == 1),
        )
        .filter("fits")
        .select(
            "pair_id",
            "chunk_id",
            answers=pl.concat_list(pl.struct(text=_between("at", "until"), answer_start="at")),
        )
    )
    context = (
        _passages(tables, released.filter(~_ANSWERED))
        .join(places, on="chunk_id", how="semi", maintain_order="left")
        .unique("pair_id", keep="first", maintain_order=True)
        .select("pair_id", "chunk_id", answers=pl.lit([], extracted.schema["answers"]))
    )
    question = pl.struct(
        pl.col("pair_id").alias("id"),
        "question",
        (~_ANSWERED).alias("is_impossible"),
        "answers",
        pl.lit([], extracted.schema["answers"]).alias("plausible_answers"),
        *ORIGIN,
    )
    return [
        released.join(pl.concat([extracted, context]), on="pair_id")
        .join(places, on="chunk_id")
        .sort("split", "document_id", "position", "pair_id")
        .group_by("split", "document_id", "title", "chunk_id", "context", maintain_order=True)
        .agg(qas=question)
        .group_by("split", "document_id", "title", maintain_order=True)
        .agg(paragraphs=pl.struct("context", "qas"))
        .drop("document_id")
    ]


def _between(start: str, end: str) -> pl.Expr:
    return pl.col("context").str.slice(start, (pl.col(end) - pl.col(start)).clip(0))


def _beir(tables: Tables, released: pl.DataFrame, _: str) -> list[pl.DataFrame]:
    """Return the files of BEIR (Thakur et al. 2021): corpus, queries, qrels, and triples with negatives.

    The corpus is every chunk of the batch. Relevant are the chunks of the proof, passages that hold a whole
    quote of it in place, and those that the round trip found to hold all of it. Negatives are passages the
    search found for the question that hold no part of the proof, in place or word for word, say not the
    same as a relevant chunk, and are of no document that a row of another split rests on. Refusals, for
    which nothing is relevant, are left out.
    """
    documents = tables["documents"].select("document_id", "content_sha256", "licence")
    chunks = tables["chunks"].join(documents, on="document_id", maintain_order="left")
    corpus = chunks.select(
        pl.col("title").fill_null(""),
        "text",
        "batch",
        "language",
        _id="chunk_id",
        documents=pl.concat_list("content_sha256"),
        licences=pl.concat_list("licence").list.drop_nulls(),
    ).select("_id", pl.exclude("_id"))
    answered = released.filter(_ANSWERED)
    proof = _spans(answered)
    passages = _passages(tables, answered).join(
        chunks.select("chunk_id", "placed", "char_start", "char_end", "text", in_document="document_id"),
        on="chunk_id",
        maintain_order="left",
    )
    proved = passages.join(proof.drop("chunk_id"), on="pair_id")
    in_place = pl.col("in_document") == pl.col("document_id")
    begins, ends = pl.col("char_start"), pl.col("char_end")
    holding = proved.filter(in_place, begins <= pl.col("start"), pl.col("end") <= ends)
    touching = proved.filter(
        (in_place & (begins < pl.col("end")) & (pl.col("start") < ends))
        | pl.col("text").str.contains(pl.col("quote"), literal=True)
    )
    further = (
        tables["round_trips"]
        .select("pair_id", chunk_id="further_chunk_ids")
        .explode("chunk_id", empty_as_null=True)
        .drop_nulls()
    )
    key = ["pair_id", "chunk_id"]
    relevant = (
        pl.concat([proof.select(key), holding.select(key), further])
        .unique(maintain_order=True)
        .join(chunks, on="chunk_id", how="semi", maintain_order="left")
    )
    alike = relevant.join(chunks.select("chunk_id", "text"), on="chunk_id").select("pair_id", "text")
    judged = answered.join(relevant, on="pair_id", maintain_order="left_right")
    positive = proof.unique("pair_id", keep="first", maintain_order=True).join(
        chunks.select("chunk_id", positive="text"), on="chunk_id"
    )
    triples = (
        passages.join(pl.concat([relevant, touching.select(key)]), on=key, how="anti", maintain_order="left")
        .join(alike, on=["pair_id", "text"], how="anti", maintain_order="left")
        .join(positive.select("pair_id", "positive"), on="pair_id", maintain_order="left")
        .join(answered, on="pair_id", maintain_order="left")
        .filter(_OF_OWN_SPLIT)
        .unique(key, keep="first", maintain_order=True)
    )
    return [
        corpus,
        answered.join(relevant, on="pair_id", how="semi", maintain_order="left").select(
            pl.col("pair_id").alias("_id"), pl.col("question").alias("text"), *ORIGIN
        ),
        judged.select("pair_id", "chunk_id", pl.lit(1).alias("score"), "split"),
        triples.select(
            pl.col("question").alias("query"),
            "positive",
            pl.col("text").alias("negative"),
            "rank",
            *ORIGIN,
            "split",
        ),
    ]


def _preference(tables: Tables, released: pl.DataFrame, layout: str) -> list[pl.DataFrame]:
    """Return conversations as TRL's preference trainers read them: prompt, chosen, rejected.

    A released row is chosen over each draft of its question that was rejected, or is only an alternative;
    drafts that say the same, or that repeat a row of another question, teach no preference.
    """
    messages = pl.col(MESSAGE_COLUMNS[layout])
    drafts = tables["pairs"].filter(
        pl.col("question_id").is_not_null(),
        pl.col("answer").is_not_null(),
        pl.col("expected_verdict").is_null(),
    )
    worse = tables["verdicts"].filter(
        pl.col("verdict") == "rejected",
        (pl.col("stage") != "deduplication") | (pl.col("reason") == ALTERNATIVE),
    )
    rejected = drafts.join(
        worse.select("pair_id", rejected_reason="reason"), on="pair_id", maintain_order="left"
    ).select("question_id", "rejected_reason", rejected_pair_id="pair_id", said=unmarked_answer())
    both = (
        released.filter(messages.is_not_null())
        .join(drafts.select("pair_id", "question_id"), on="pair_id", maintain_order="left")
        .join(rejected, on="question_id", maintain_order="left_right")
        .with_columns(same=normalised(pl.col("said")))
        .filter(pl.col("same") != "", pl.col("same") != normalised(_content(-1, messages)))
        .unique(["pair_id", "same"], keep="first", maintain_order=True)
    )
    refused = pl.concat_list(pl.struct(role=pl.lit("assistant"), content="said"))
    return [
        both.select(
            _asked(messages).alias("prompt"),
            messages.list.tail(1).alias("chosen"),
            refused.alias("rejected"),
            "rejected_reason",
            "rejected_pair_id",
            *ORIGIN,
            "split",
        )
    ]


def _openai_preference(tables: Tables, released: pl.DataFrame, layout: str) -> list[pl.DataFrame]:
    """Return the fields of OpenAI's preference fine-tuning, which has no others."""
    return [
        preferences.select(
            pl.struct(messages="prompt").alias("input"),
            pl.col("chosen").alias("preferred_output"),
            pl.col("rejected").alias("non_preferred_output"),
            "split",
        )
        for preferences in _preference(tables, released, layout)
    ]


def _llama_factory(tables: Tables, released: pl.DataFrame, layout: str) -> list[pl.DataFrame]:
    """Return conversations and preferences of LLaMA-Factory, where what is chosen is one message."""
    answers = pl.col("chosen", "rejected").list.first()
    return [
        *FORMATS["chat"].rows(tables, released, layout),
        *(
            preferences.with_columns(answers).rename({"prompt": "messages"})
            for preferences in _preference(tables, released, layout)
        ),
    ]


def _dataset_info(splits: Sequence[str]) -> bytes:
    """Return LLaMA-Factory's description of the files: names of data sets, columns and roles."""
    tags = {
        "role_tag": "role",
        "content_tag": "content",
        "user_tag": "user",
        "assistant_tag": "assistant",
        "system_tag": "system",
    }
    conversations: dict[str, Any] = {
        "formatting": "sharegpt",
        "columns": {"messages": "messages"},
        "tags": tags,
    }
    names = {name: name for name in ("messages", "chosen", "rejected")}
    kinds = {"chat": conversations, "preference": {**conversations, "ranking": True, "columns": names}}
    info = {
        f"{kind}_{split}": {"file_name": f"{kind}_{split}.jsonl", **description}
        for split in sorted(splits)
        for kind, description in kinds.items()
    }
    return json.dumps(info, indent=2).encode() + b"\n"


def _evaluation(tables: Tables, released: pl.DataFrame, _: str) -> list[pl.DataFrame]:
    """Return the fields that evaluators of retrieval and answers read; documents are named by path."""
    paths = tables["documents"].select("document_id", document="path")
    headings = pl.concat_list(pl.concat_list(pl.col("title").fill_null("")), "section_path")
    texts = (
        tables["chunks"]
        .select("chunk_id", "document_id", "text", "placed", headings=headings)
        .join(paths, on="document_id")
    )
    contexts = (
        _passages(tables, released)
        .join(texts, on="chunk_id", maintain_order="left")
        .join(released.select("pair_id", "split"), on="pair_id", maintain_order="left")
        .filter(_OF_OWN_SPLIT)
        .group_by("pair_id", maintain_order=True)
        .agg(contexts=pl.struct("text", "document", "rank", "score", "headings"))
    )
    citations = (
        tables["pairs"]
        .join(released, on="pair_id", how="semi", maintain_order="left")
        .select("pair_id", "citations")
        .explode("citations", empty_as_null=True)
        .drop_nulls("citations")
        .unnest("citations")
        .join(paths, on="document_id", maintain_order="left")
        .group_by("pair_id", maintain_order=True)
        .agg(citations=pl.struct("raw", "document", "chunk_id", "quote"))
    )
    proof, piece = pl.col("evidence"), pl.element().struct
    claim = pl.struct(piece.field("claim"), source=piece.field("path"), quote=piece.field("quote"))
    truth = pl.struct(
        answer=_content(-1, pl.col("messages")),
        relevant_documents=proof.list.eval(piece.field("path")).list.unique(maintain_order=True),
        claims=proof.list.eval(claim),
    )
    joined = released.join(contexts, on="pair_id", how="left", maintain_order="left").join(
        citations, on="pair_id", how="left", maintain_order="left"
    )
    return [
        joined.select(
            pl.col("pair_id").alias("id"),
            pl.col("question").alias("query"),
            "answer",
            pl.col("contexts", "citations").fill_null([]),
            truth.alias("ground_truth"),
            pl.col("question_type").alias("category"),
            "difficulty",
            *ORIGIN,
            "split",
        )
    ]


def _spans(released: pl.DataFrame) -> pl.DataFrame:
    """Return each place of a proof once, in the order of its claims, with pair_id."""
    return (
        released.select("pair_id", "evidence")
        .explode("evidence", empty_as_null=True)
        .drop_nulls("evidence")
        .unnest("evidence")
        .select("pair_id", "chunk_id", "document_id", "start", "end", "quote")
        .unique(maintain_order=True)
    )


def _passages(tables: Tables, released: pl.DataFrame) -> pl.DataFrame:
    """Return the passages of each row, best first: pair_id, chunk_id, rank from 1, score (or null)."""
    numbers = pl.int_ranges(1, pl.col("passage_ids").list.len() + 1, dtype=pl.Int32)
    return (
        released.select("pair_id")
        .join(
            tables["pairs"].select("pair_id", "passage_scores", chunk_id="passage_ids", rank=numbers),
            on="pair_id",
            maintain_order="left",
        )
        .explode("chunk_id", "rank", empty_as_null=True)
        .drop_nulls("chunk_id")
        .with_columns(score=pl.col("passage_scores").list.get(pl.col("rank") - 1, null_on_oob=True))
        .drop("passage_scores")
    )


SQUAD = File("{split}.json", b'{"version":"v2.0","data":[\n', b",\n", b"\n]}\n")
FORMATS: Mapping[str, Format] = {
    "chat": _of_messages(_chat),
    "messages": _of_messages(_chat, (), File(validation="valid", names_pairs=False)),  # as MLX-LM names it
    "prompt_completion": _of_messages(_prompt_completion),
    "sharegpt": _of_messages(_sharegpt),
    "gemini": _of_messages(_gemini),
    "alpaca": _of_messages(_alpaca),
    "squad": Format(_squad, (SQUAD,)),
    "beir": Format(
        _beir,
        (
            File("corpus.jsonl", once=True, names_pairs=False),
            File("queries.jsonl"),
            File("qrels/{split}.tsv", b"query-id\tcorpus-id\tscore\n"),
            File("triples/{split}.jsonl"),
        ),
    ),
    "preference": Format(_preference),
    "openai_preference": Format(_openai_preference, (File(names_pairs=False),)),
    "llama_factory": Format(
        _llama_factory,
        (
            File("chat_{split}.jsonl"),
            File("preference_{split}.jsonl"),
            File("dataset_info.json", names_pairs=False, index=_dataset_info),
        ),
    ),
    "evaluation": Format(_evaluation),
}
"""Every format by its name, which is a value of `release.formats`."""


@contextmanager
def format_writer(
    folder: Path, name: str, splits: Iterable[str], layout: str
) -> Iterator[Callable[[Tables, pl.DataFrame], None]]:
    """Yield a function that writes a batch into the files of a format, after the batches before.

    It takes all tables of the batch by name, and its released rows: the columns of TRAINING_EXAMPLES,
    documents, licences, version and split. Every split has its files, without rows too. Nothing is held of
    the rows that were written, but for the ids of a file whose rows stand in it once.

    Args:
        folder: where the format's folder is made.
        name: of the format.
        splits: of the release.
        layout: closed_book, with_context or with_distractors, for formats with messages.
    """
    form, names, written_ids = FORMATS[name], tuple(splits), set[str]()
    with ExitStack() as opened:
        outputs: dict[str, BinaryIO] = {}
        for file, path, _ in form.paths(names):
            place = folder / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            outputs[path] = opened.enter_context(place.open("xb"))
            outputs[path].write(file.head if file.index is None else file.index(names))

        def write(tables: Tables, released: pl.DataFrame) -> None:
            if released.is_empty():  # else its chunks would be in a corpus of which no query asks
                return
            files = [file for file in form.files if file.index is None]
            frames = dict(zip(files, form.rows(tables, released, layout), strict=True))
            for file, path, split in form.paths(names):
                if file.index is not None:
                    continue
                rows = frames[file]
                if split is not None:
                    rows = rows.filter(pl.col("split") == split).drop("split")
                elif file.once:
                    rows = rows.filter([row_id not in written_ids for row_id in rows.to_series(0)])
                    written_ids.update(rows.to_series(0))
                _append(outputs[path], file, rows)

        yield write
        for file, path, _ in form.paths(names):
            outputs[path].write(file.tail)


def _append(output: BinaryIO, file: File, rows: pl.DataFrame) -> None:
    """Write rows in the form of a file, behind those that it has."""
    if file.name.endswith(".tsv"):
        output.write(rows.write_csv(include_header=False, separator="\t", quote_style="never").encode())
        return
    for block in json_lines(rows):
        if file.between is None:
            output.write(block)
        else:
            output.write(file.between if output.tell() > len(file.head) else b"")
            output.write(block.removesuffix(b"\n").replace(b"\n", file.between))
