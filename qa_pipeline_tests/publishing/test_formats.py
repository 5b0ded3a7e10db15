"""Each format is what its readers look for, its own library reads it back, and its files are whole."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from datasets import load_dataset

from qa_pipeline import load_release
from qa_pipeline.cli.exit_codes import OK
from qa_pipeline.curation.exports import json_lines
from qa_pipeline.publishing.formats import FORMATS, ORIGIN, format_writer
from qa_pipeline.publishing.manifest import read_manifest, release_folder
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline.storage.tables import LAYOUTS, MESSAGE_COLUMNS
from qa_pipeline_tests.curation.rows import sha
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.publishing.hostile_batch import (
    ANSWER,
    FIRST,
    QUESTION,
    SECOND,
    THIRD,
    WORSE,
    rows,
    tables,
    write_all,
)
from qa_pipeline_tests.publishing.plants import release
from qa_pipeline_tests.publishing.test_release import reseal

Row = dict[str, Any]
SAID = {"system": "Be brief.", "user": QUESTION, "assistant": ANSWER}
MESSAGES = [{"role": role, "content": content} for role, content in SAID.items()]
WITHOUT_ORIGIN = ("messages", "openai_preference")
OF_MESSAGES = ["chat", "messages", "prompt_completion", "sharegpt", "gemini", "alpaca"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formats")
    write_all(folder)
    return folder


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def first(written: Path, name: str) -> Row:
    return lines(written / name / "train.jsonl")[0]


def loaded(tmp_path: Path, *files: Path, **options: str) -> list[Row]:
    paths = [str(path) for path in files]
    read = load_dataset("json", data_files=paths, split="train", cache_dir=str(tmp_path / "cache"), **options)
    return list(read)


def questions(written: Path, split: str) -> Iterator[tuple[str, Row]]:
    """Context and question of a SQuAD file."""
    content = json.loads((written / "squad" / f"{split}.json").read_bytes())
    for article in content["data"]:
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                yield paragraph["context"], asked


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("chat", {"messages": MESSAGES}),
        ("messages", {"messages": MESSAGES}),
        ("prompt_completion", {"prompt": MESSAGES[:2], "completion": MESSAGES[2:]}),
        (
            "sharegpt",
            {
                "conversations": [
                    {"from": "system", "value": "Be brief."},
                    {"from": "human", "value": QUESTION},
                    {"from": "gpt", "value": ANSWER},
                ]
            },
        ),
        (
            "gemini",
            {
                "systemInstruction": {"role": "system", "parts": [{"text": "Be brief."}]},
                "contents": [
                    {"role": "user", "parts": [{"text": QUESTION}]},
                    {"role": "model", "parts": [{"text": ANSWER}]},
                ],
            },
        ),
        (
            "alpaca",
            {"system": "Be brief.", "instruction": QUESTION, "input": "", "output": ANSWER},
        ),
        (
            "openai_preference",
            {
                "input": {"messages": MESSAGES[:2]},
                "preferred_output": MESSAGES[2:],
                "non_preferred_output": [{"role": "assistant", "content": WORSE}],
            },
        ),
        (
            "preference",
            {
                "prompt": MESSAGES[:2],
                "chosen": MESSAGES[2:],
                "rejected": [{"role": "assistant", "content": WORSE}],
                "rejected_reason": "contradicted",
                "rejected_pair_id": "worse",
            },
        ),
    ],
)
def test_each_format_has_the_columns_its_readers_look_for(
    written: Path, name: str, columns: dict[str, Any]
) -> None:
    found = first(written, name)
    assert {key: found[key] for key in found if key not in ORIGIN} == columns


def test_every_format_can_be_set() -> None:
    assert ReleaseSettings(formats=list(FORMATS)).formats == list(FORMATS)


def test_every_row_about_a_pair_says_where_it_comes_from(written: Path) -> None:
    origin = {
        "pair_id": "p", "batch": "b", "language": "en", "question_type": "fact_single",
        "documents": [sha("d")], "licences": ["CC0-1.0"], "version": 3,
    }  # fmt: skip
    found = {
        path: lines(path)[0]
        for path in written.rglob("*.jsonl")
        if "train" in path.name and path.parent.name not in WITHOUT_ORIGIN
    }
    found[Path("squad")] = next(questions(written, "train"))[1]
    found[Path("queries")] = lines(written / "beir" / "queries.jsonl")[0]
    assert len(found) == len(FORMATS) - len(WITHOUT_ORIGIN) + 2  # a second file of BEIR and LLaMA-Factory
    for path, row in found.items():
        assert {name: row[name] for name in origin} == origin, path


@pytest.mark.parametrize("name", [*OF_MESSAGES, "preference"])
def test_a_row_without_a_layout_is_left_out_of_its_files(name: str) -> None:
    for layout in LAYOUTS[1:]:
        with_one = rows().with_columns(
            pl.when(pl.col("pair_id") == "p").then("messages").alias(MESSAGE_COLUMNS[layout])
        )
        (found,) = FORMATS[name].rows(tables(), with_one, layout)
        assert found.height == 1
        assert QUESTION in _texts(found.to_dicts())


def test_openai_and_google_read_the_messages(written: Path) -> None:
    from google.genai.types import Content
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter

    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(first(written, "chat")["messages"])
    row = first(written, "gemini")
    said = [Content.model_validate(one) for one in [row["systemInstruction"], *row["contents"]]]
    assert [one.parts[0].text for one in said if one.parts] == list(SAID.values())


@pytest.mark.parametrize("name", [*OF_MESSAGES, "preference", "openai_preference", "evaluation"])
def test_the_library_of_trainers_reads_every_file_of_lines(written: Path, tmp_path: Path, name: str) -> None:
    path = written / name / "train.jsonl"
    read = loaded(tmp_path, path)
    assert read == lines(path)
    assert QUESTION in _texts(read)


def _texts(value: object) -> set[str]:
    if isinstance(value, str):
        return {value}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for one in inner for text in _texts(one)}


def test_answers_of_squad_stand_where_it_says(written: Path, tmp_path: Path) -> None:
    asked = {
        one["id"]: (context, one) for split in ("train", "test") for context, one in questions(written, split)
    }
    assert set(asked) == {"p", "held", "refused"}
    for context, one in asked.values():
        for answer in one["answers"]:
            start = answer["answer_start"]
            assert context[start : start + len(answer["text"])] == answer["text"]
        assert one["is_impossible"] == (not one["answers"])
    assert [one["text"] for one in asked["p"][1]["answers"]] == [f"{FIRST} {SECOND}"]
    assert asked["refused"][0] == THIRD
    read = loaded(tmp_path, written / "squad" / "train.json", field="data")
    assert read == json.loads((written / "squad" / "train.json").read_bytes())["data"]


@pytest.mark.parametrize(
    ("what", "values"),
    [
        ("a quote that is not there", {"quote": "Another."}),
        ("a place before the chunk", {"start": -5}),
        ("a chunk that is gone", {"chunk_id": "gone"}),
        ("no chunk", {"chunk_id": None}),
    ],
)
def test_a_proof_that_is_not_in_its_chunk_is_no_answer_of_squad(what: str, values: Row) -> None:
    element = pl.element().struct.with_fields(**{name: pl.lit(value) for name, value in values.items()})
    broken = rows().filter(pl.col("pair_id") == "p").with_columns(pl.col("evidence").list.eval(element))
    (found,) = FORMATS["squad"].rows(tables(), broken.cast(rows().schema), "closed_book")
    assert found.is_empty(), what


def test_quotes_with_words_between_them_are_no_answer_of_squad() -> None:
    only = pl.col("evidence").list.eval(
        pl.element().struct.with_fields(
            end=pl.element().struct.field("end") - 3,
            quote=pl.element().struct.field("quote").str.head(-3),
        )
    )
    (found,) = FORMATS["squad"].rows(tables(), rows().with_columns(only), "closed_book")
    ids = found.explode("paragraphs")["paragraphs"].struct.field("qas").explode().struct.field("id")
    assert set(ids) == {"held", "refused"}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Using `tqdm.autonotebook.tqdm`")
def test_beir_reads_and_evaluates_the_corpus_queries_and_qrels(written: Path) -> None:
    from beir.datasets.data_loader import GenericDataLoader
    from beir.retrieval.evaluation import EvaluateRetrieval

    corpus, queries, qrels = GenericDataLoader(str(written / "beir")).load(split="train")
    assert qrels == {"p": {"both": 1, "again": 1}, "apart": {"both": 1, "third": 1}}
    assert queries["p"] == QUESTION
    assert corpus["both"] == {"title": "Library", "text": f"{FIRST} {SECOND}"}
    assert len(corpus) == tables()["chunks"].height
    embedder = HashEmbedder()
    texts = embedder.encode([one["text"] for one in corpus.values()])
    scores = embedder.encode(list(queries.values())) @ texts.T
    found = {
        query: dict(zip(corpus, map(float, row), strict=True))
        for query, row in zip(queries, scores, strict=True)
    }
    _, _, recall, _ = EvaluateRetrieval.evaluate(qrels, found, [1, 8])
    assert recall["Recall@8"] == 1.0


def test_negatives_hold_no_proof_are_best_first_and_of_the_own_split(written: Path) -> None:
    found = lines(written / "beir" / "triples" / "train.jsonl")
    texts = dict(tables()["chunks"].select("text", "chunk_id").iter_rows())
    assert [(one["pair_id"], texts[one["negative"]], one["rank"]) for one in found] == [
        ("p", "third", 1),
        ("p", "away", 5),
    ]
    assert {texts[one["positive"]] for one in found} == {"both"}


def test_sentence_transformers_trains_on_the_triples(written: Path, tmp_path: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    read = loaded(tmp_path, written / "beir" / "triples" / "train.jsonl")
    columns = [[row[name] for row in read] for name in ("query", "positive", "negative")]
    words = ["?", *sorted(set(" ".join(chain(*columns)).split()))]
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token="?"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    torch.manual_seed(0)
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=8)], device="cpu")
    loss = MultipleNegativesRankingLoss(model, scale=1.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def step() -> float:
        value = loss([model.preprocess(texts) for texts in columns], torch.zeros(len(read)))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        return cast("float", value.item())

    assert step() > step()


def test_preferences_are_conversations_of_one_question(written: Path) -> None:
    """As TRL documents them: prompt, chosen and rejected are messages, the last two of an assistant."""
    (found,) = lines(written / "preference" / "train.jsonl")
    assert found["prompt"][-1]["role"] == "user"
    assert [one["role"] for one in found["chosen"] + found["rejected"]] == ["assistant"] * 2
    assert found["chosen"] != found["rejected"]


def test_an_alternative_is_rejected_with_its_reason() -> None:
    own = tables()
    own["pairs"] = own["pairs"].with_columns(
        answer=pl.when(pl.col("pair_id") == "same").then(pl.lit("Else [source:d.md].")).otherwise("answer")
    )
    (found,) = FORMATS["preference"].rows(own, rows(), "closed_book")
    assert found.select("rejected_pair_id", "rejected_reason").rows() == [
        ("worse", "contradicted"),
        ("same", "alternative"),
    ]
    assert found["rejected"].to_list()[1] == [{"role": "assistant", "content": "Else."}]


def test_an_evaluation_row_says_what_is_right_and_what_was_shown(written: Path) -> None:
    found = first(written, "evaluation")
    assert (found["id"], found["query"], found["answer"]) == ("p", QUESTION, ANSWER)
    assert (found["category"], found["difficulty"]) == ("fact_single", "easy")
    about = {"document": "d.md", "rank": 1, "score": 1.0, "headings": ["Library", "Opening hours"]}
    assert found["contexts"][0] == {"text": THIRD, **about}
    assert [one["rank"] for one in found["contexts"]] == [
        1,
        2,
        3,
        4,
        5,
        7,
        8,
    ]  # the sixth is of another split
    assert found["citations"] == [{"raw": "[c1]", "document": "d.md", "chunk_id": "both", "quote": FIRST}]
    assert found["ground_truth"] == {
        "answer": ANSWER,
        "relevant_documents": ["d.md"],
        "claims": [{"claim": f"So: {one}", "source": "d.md", "quote": one} for one in (FIRST, SECOND)],
    }
    refused = next(one for one in lines(written / "evaluation" / "train.jsonl") if one["id"] == "refused")
    assert refused["ground_truth"]["relevant_documents"] == []


def test_lines_are_unescaped_but_for_ends_of_lines() -> None:
    found = b"".join(json_lines(pl.DataFrame({"text": ["å🦅\u2028\u2029\u0085\n\0“"]})))
    assert found == '{"text":"å🦅\\u2028\\u2029\\u0085\\n\\u0000“"}\n'.encode()


LEAVING_OUT = {
    "squad": "proved in one place",
    "beir": "answered",
    "preference": "with a rejected draft",
}
"""Formats that have no place for every row, and the rows they have one for."""


@pytest.fixture(scope="module")
def everything(published: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with every format."""
    copy = Path(shutil.copytree(published.out, tmp_path_factory.mktemp("every") / "out"))
    names = json.dumps(list(FORMATS))
    assert release(Workspace(published.corpus, copy), "--set", f"release.formats={names}").code == OK
    return release_folder(copy / "releases")


def pair_ids(folder: Path, name: str, split: str) -> set[str]:
    """The pairs whose rows a file of a format holds."""
    if name == "llama_factory":
        preferred = lines(folder / name / f"preference_{split}.jsonl")
        found = {row["pair_id"] for row in lines(folder / name / f"chat_{split}.jsonl")}
        assert {row["pair_id"] for row in preferred} <= found
        return found
    if name == "squad":
        content = json.loads((folder / name / f"{split}.json").read_bytes())
        paragraphs = [paragraph for one in content["data"] for paragraph in one["paragraphs"]]
        return {asked["pair_id"] for paragraph in paragraphs for asked in paragraph["qas"]}
    if name == "beir":
        triples = (folder / name / "triples" / f"{split}.jsonl").read_bytes().splitlines()
        qrels = (folder / name / "qrels" / f"{split}.tsv").read_text().splitlines()
        judged = {line.split("\t")[0] for line in qrels[1:]}
        assert {json.loads(line)["pair_id"] for line in triples} <= judged
        return judged
    return {row["pair_id"] for row in lines(folder / name / f"{split}.jsonl")}


NAMING_PAIRS = [name for name in FORMATS if name not in WITHOUT_ORIGIN]


@pytest.mark.parametrize("name", NAMING_PAIRS)
def test_every_row_is_a_released_row_of_its_split(everything: Path, name: str) -> None:
    counts = read_manifest(everything).splits
    assert len(counts) == 3
    seen = 0
    for split in counts:
        released = set(load_release(everything, split).collect()["pair_id"])
        found = pair_ids(everything, name, split)
        assert found <= released if name in LEAVING_OUT else found == released
        seen += len(found)
    assert seen > sum(counts.values()) / 2 or name == "preference"  # whose drafts the rules write alike


def test_no_text_of_a_document_of_another_split_is_a_negative(everything: Path) -> None:
    corpus = [json.loads(line) for line in (everything / "beir" / "corpus.jsonl").read_bytes().splitlines()]
    documents = {one["text"]: one["documents"][0] for one in corpus}
    splits = {split: load_release(everything, split).collect() for split in read_manifest(everything).splits}
    rests_on = {
        split: set(frame["evidence"].explode().struct.field("content_sha256"))
        for split, frame in splits.items()
    }
    seen = 0
    for split in splits:
        elsewhere = set().union(*(rests_on[one] for one in splits if one != split))
        for line in (everything / "beir" / "triples" / f"{split}.jsonl").read_bytes().splitlines():
            assert documents[json.loads(line)["negative"]] not in elsewhere
            seen += 1
    assert seen


def test_a_release_with_every_format_verifies(everything: Path) -> None:
    assert invoke("verify", everything).code == OK


def other_message(folder: Path) -> None:
    for path in (folder / "gemini").iterdir():
        path.write_bytes(path.read_bytes().replace(b"bar", b"bat"))


def question_of_another_split(folder: Path) -> None:
    """A SQuAD file holds the documents of another split."""
    shutil.copy(folder / "squad" / "train.json", folder / "squad" / "test.json")


def judgement_of_another_split(folder: Path) -> None:
    line = (folder / "beir" / "qrels" / "train.tsv").read_bytes().splitlines(keepends=True)[1]
    with (folder / "beir" / "qrels" / "test.tsv").open("ab") as file:
        file.write(line)


def query_of_no_split(folder: Path) -> None:
    with (folder / "beir" / "queries.jsonl").open("ab") as file:
        file.write(b'{"_id":"x","pair_id":"x","text":"What?"}\n')


def row_of_another_split(folder: Path) -> None:
    line = (folder / "evaluation" / "train.jsonl").read_bytes().splitlines(keepends=True)[0]
    with (folder / "evaluation" / "test.jsonl").open("ab") as file:
        file.write(line)


def further_file(folder: Path) -> None:
    (folder / "chat" / "more.txt").write_text("More.")
    path = folder / "manifest.json"
    said = json.loads(path.read_bytes())
    said["files"]["chat/more.txt"] = {"sha256": "0" * 64, "size": 5}
    path.write_text(json.dumps(said))


def answer_of_nobody(folder: Path) -> None:
    with (folder / "messages" / "valid.jsonl").open("ab") as file:
        file.write(b'{"messages":[]}\n')


def roles_of_nobody(folder: Path) -> None:
    path = folder / "llama_factory" / "dataset_info.json"
    path.write_bytes(path.read_bytes().replace(b'"assistant"', b'"user"'))


TAMPERED = {
    "messages/valid.jsonl": answer_of_nobody,
    "llama_factory/dataset_info.json": roles_of_nobody,
    "chat/more.txt": further_file,
    "gemini/train.jsonl": other_message,
    "squad/test.json": question_of_another_split,
    "beir/qrels/test.tsv": judgement_of_another_split,
    "beir/queries.jsonl": query_of_no_split,
    "evaluation/test.jsonl": row_of_another_split,
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_file_of_a_format_that_was_tampered_with_is_named(
    everything: Path, tmp_path: Path, name: str
) -> None:
    copy = Path(shutil.copytree(everything, tmp_path / "copy"))
    TAMPERED[name](copy)
    reseal(copy)
    said = {one.name: one.problems for one in verify_release(copy)}
    assert name in " ".join(said["formats"])


def test_a_split_may_be_called_like_a_file_of_a_format(published: Workspace, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    shutil.rmtree(copy / "releases")
    splits = '{"train": 1, "queries": 1, "corpus": 1}'
    options = ("--set", f"release.splits={splits}", "--set", 'release.formats=["beir"]')
    assert release(Workspace(published.corpus, copy), *options).code == OK


@pytest.mark.parametrize("name", ["evaluation/train.jsonl", "squad/train.json", "beir/qrels/train.tsv"])
def test_a_file_of_a_format_that_is_none_is_named(everything: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(everything, tmp_path / "copy"))
    (copy / name).write_bytes(b"\xff{\n" * 3)
    reseal(copy)
    said = {one.name: one.problems for one in verify_release(copy)}
    assert name in " ".join(said["formats"])


@pytest.mark.parametrize("name", NAMING_PAIRS)
def test_a_split_without_rows_has_readable_files(tmp_path: Path, name: str) -> None:
    write_all(tmp_path)
    assert pair_ids(tmp_path, name, "empty") == set()


def test_messages_alone_are_those_of_chats_under_the_names_of_mlx(everything: Path) -> None:
    for split, file in {"train": "train", "validation": "valid", "test": "test"}.items():
        chats = lines(everything / "chat" / f"{split}.jsonl")
        found = lines(everything / "messages" / f"{file}.jsonl")
        assert found == [{"messages": chat["messages"]} for chat in chats]


def test_a_split_called_as_mlx_calls_another_keeps_its_file(tmp_path: Path) -> None:
    with format_writer(tmp_path, "messages", ("train", "validation", "valid"), "closed_book"):
        pass
    assert {path.name for path in (tmp_path / "messages").iterdir()} == {
        "train.jsonl", "validation.jsonl", "valid.jsonl",
    }  # fmt: skip


def test_equal_rows_give_equal_bytes_whatever_the_order_of_the_tables(tmp_path: Path) -> None:
    def hashes(folder: Path) -> dict[str, str]:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}

    write_all(tmp_path / "first")
    write_all(tmp_path / "second")
    assert hashes(tmp_path / "first") == hashes(tmp_path / "second")
    for seed in range(3):
        apart = tables() | {
            name: frame.sample(fraction=1.0, shuffle=True, seed=seed)
            for name, frame in tables().items()
            if name != "chunks"  # the corpus has their order
        }
        for name in FORMATS:
            if name in {
                "preference",
                "openai_preference",
                "llama_factory",
            }:  # drafts have the order of `pairs`
                continue
            with format_writer(
                tmp_path / str(seed), name, ("train", "test", "empty"), "closed_book"
            ) as write:
                write(apart, rows())
        shuffled = hashes(tmp_path / str(seed))
        assert shuffled.items() <= hashes(tmp_path / "first").items()


def test_batches_are_written_one_after_another_and_a_passage_once(tmp_path: Path) -> None:
    rest = ("apart", "refused", "held")
    for name in FORMATS:
        with format_writer(tmp_path, name, ("train", "test"), "closed_book") as write:
            write(tables(), rows().filter(pl.col("pair_id") == "p"))
            write(tables(), rows().filter(pl.col("pair_id").is_in(rest)))
            write(tables(), rows().clear())
    assert pair_ids(tmp_path, "squad", "train") == {"p", "refused"}
    corpus = (tmp_path / "beir" / "corpus.jsonl").read_bytes().splitlines()
    ids = [json.loads(line)["_id"] for line in corpus]
    assert ids == tables()["chunks"]["chunk_id"].to_list()


def test_files_that_are_there_are_not_written_over(tmp_path: Path) -> None:
    write_all(tmp_path)
    for name in FORMATS:
        with pytest.raises(FileExistsError), format_writer(tmp_path, name, ("train",), "closed_book"):
            pass


def test_an_error_between_batches_comes_through_and_leaves_no_file_open(tmp_path: Path) -> None:
    files = format_writer(tmp_path, "squad", ("train",), "closed_book")
    with pytest.raises(KeyError, match="chunks"), files as write:
        write({}, rows())
    assert not (tmp_path / "squad" / "train.json").read_bytes().endswith(b"]}\n")
