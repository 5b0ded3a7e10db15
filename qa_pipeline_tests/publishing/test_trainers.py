"""Trainers read the formats as they are: TRL and MLX-LM by their own code, others by published rules."""

import importlib.util
import json
import sys
from copy import deepcopy
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from datasets import Dataset, load_dataset

from qa_pipeline.publishing.formats import format_writer
from qa_pipeline_tests.publishing.hostile_batch import ANSWER, QUESTION, WORSE, rows, tables, write_all

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Row = dict[str, Any]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] + ':' + m['content'] + eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"
)
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*gradient_checkpointing.* is deprecated:FutureWarning",  # TRL's own use of it
    "ignore:'pin_memory' argument is set:UserWarning",
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formats")
    write_all(folder)
    return folder


@pytest.fixture(scope="module")
def tokenizer() -> "PreTrainedTokenizerFast":
    """A tokenizer of bytes, so that every text can be had back from its tokens."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    of_bytes = Tokenizer(BPE({sign: place for place, sign in enumerate(signs)}, []))
    of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    of_bytes.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=of_bytes, eos_token="</s>", pad_token="<pad>", chat_template=TEMPLATE
    )


@pytest.fixture
def model(tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedModel":
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes: dict[str, Any] = {
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
    }
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes))


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def read(path: Path, tmp_path: Path) -> Dataset:
    return load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))


@pytest.mark.parametrize("name", ["chat", "messages", "prompt_completion"])
def test_trl_fine_tunes_on_conversations(
    written: Path, tmp_path: Path, tokenizer: "PreTrainedTokenizerFast", model: "PreTrainedModel", name: str
) -> None:
    from trl import SFTConfig, SFTTrainer  # type: ignore[attr-defined]

    data = read(written / name / "train.jsonl", tmp_path)
    options = SFTConfig(str(tmp_path), use_cpu=True, report_to="none", max_steps=1, max_length=None)
    trainer = SFTTrainer(model, options, train_dataset=data, processing_class=tokenizer)
    row = next(iter(trainer.train_dataset))  # type: ignore[arg-type]
    text = f"system:Be brief.</s>user:{QUESTION}</s>assistant:{ANSWER}</s>"
    assert tokenizer.decode(row["input_ids"]) == text
    if name == "prompt_completion":
        learnt = [label for label in row["labels"] if label >= 0]
        assert tokenizer.decode(learnt) == f"{ANSWER}</s>"
    assert trainer.train().training_loss > 0


def test_trl_prefers_the_chosen_answer(
    written: Path, tmp_path: Path, tokenizer: "PreTrainedTokenizerFast", model: "PreTrainedModel"
) -> None:
    from trl import DPOConfig, DPOTrainer  # type: ignore[attr-defined]

    data = read(written / "preference" / "train.jsonl", tmp_path)
    options = DPOConfig(str(tmp_path), use_cpu=True, report_to="none", max_steps=1, max_length=None)
    trainer = DPOTrainer(model, deepcopy(model), options, train_dataset=data, processing_class=tokenizer)
    row = next(iter(trainer.train_dataset))  # type: ignore[arg-type]
    texts = {name: tokenizer.decode(ids) for name, ids in row.items() if name.endswith("_ids")}
    assert texts == {
        "prompt_ids": f"system:Be brief.</s>user:{QUESTION}</s>assistant:",
        "chosen_ids": f"{ANSWER}</s>",
        "rejected_ids": f"{WORSE}</s>",
    }
    assert trainer.train().training_loss > 0


@pytest.fixture(scope="module")
def mlx_datasets() -> ModuleType:
    """MLX-LM's module that reads data sets, without its package, which needs MLX."""
    package = importlib.util.find_spec("mlx_lm")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "tuner" / "datasets.py"
    parent = ModuleType("mlx_lm_reading")
    parent.cli_ui = SimpleNamespace(rprint=print)  # type: ignore[attr-defined]
    for name, module in {
        "mlx_lm_reading": parent,
        "mlx_lm_reading.cli_ui": parent.cli_ui,
        "mlx_lm_reading.tuner": ModuleType("mlx_lm_reading.tuner"),
    }.items():
        sys.modules[name] = module
    spec = importlib.util.spec_from_file_location("mlx_lm_reading.tuner.datasets", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mlx_reads_training_validation_and_test(
    tmp_path: Path, mlx_datasets: ModuleType, tokenizer: "PreTrainedTokenizerFast"
) -> None:
    splits = {"p": "train", "apart": "validation", "held": "test"}
    released = rows().filter(pl.col("pair_id").is_in(list(splits)))
    with format_writer(tmp_path, "messages", tuple(splits.values()), "closed_book") as write:
        write(tables(), released.with_columns(split=pl.col("pair_id").replace_strict(splits)))
    options = SimpleNamespace(data=str(tmp_path / "messages"), train=True, test=True, mask_prompt=True)
    parts = mlx_datasets.load_dataset(options, tokenizer)
    assert [len(part) for part in parts] == [1, 1, 1]
    tokens, offset = parts[0].process(parts[0][0])
    assert tokenizer.decode(tokens[offset:]) == f"{ANSWER}</s>"


OPENAI_ROLES = {"system", "user", "assistant"}


def is_openai_conversation(messages: list[Row]) -> bool:
    """Whether messages have the fields, roles and texts that OpenAI's guide to fine-tuning asks for."""
    return bool(messages) and all(
        message.keys() == {"role", "content"}
        and message["role"] in OPENAI_ROLES
        and isinstance(message["content"], str)
        and message["content"]
        for message in messages
    )


def test_conversations_keep_the_rules_of_openai(written: Path) -> None:
    """Nothing but messages, and an assistant's at the end."""
    found = lines(written / "messages" / "train.jsonl")
    assert len(found) == 3
    for row in found:
        assert row.keys() == {"messages"}
        assert is_openai_conversation(row["messages"])
        assert row["messages"][-1]["role"] == "assistant"


def test_preferences_keep_the_rules_of_openai(written: Path) -> None:
    """A prompt that no assistant ends, and one message of an assistant for each answer."""
    (row,) = lines(written / "openai_preference" / "train.jsonl")
    assert row.keys() == {"input", "preferred_output", "non_preferred_output"}
    assert row["input"].keys() == {"messages"}
    assert is_openai_conversation(row["input"]["messages"])
    assert row["input"]["messages"][-1] == {"role": "user", "content": QUESTION}
    assert row["preferred_output"] == [{"role": "assistant", "content": ANSWER}]
    assert row["non_preferred_output"] == [{"role": "assistant", "content": WORSE}]


def aligned(row: Row, description: Row) -> tuple[list[tuple[str, str]], list[str]]:
    """Prompt and answers of a row as LLaMA-Factory's documentation says that its description is read."""
    columns, tags = description["columns"], description["tags"]
    role, content = tags["role_tag"], tags["content_tag"]
    messages = [(message[role], message[content]) for message in row[columns["messages"]]]
    speakers = [speaker for speaker, _ in messages if speaker != tags["system_tag"]]
    expected = [tags["user_tag"], tags["assistant_tag"]]
    if not description.get("ranking"):
        assert speakers == expected
        return messages[:-1], [messages[-1][1]]
    assert speakers == expected[:1]
    answers = [row[columns[name]] for name in ("chosen", "rejected")]
    assert [answer[role] for answer in answers] == expected[1:] * 2
    return messages, [answer[content] for answer in answers]


def test_llama_factory_is_told_its_files_columns_and_roles(written: Path, tmp_path: Path) -> None:
    folder = written / "llama_factory"
    descriptions = json.loads((folder / "dataset_info.json").read_bytes())
    names = [f"{kind}_{split}" for split in ("empty", "test", "train") for kind in ("chat", "preference")]
    assert list(descriptions) == names
    assert all((folder / description["file_name"]).is_file() for description in descriptions.values())
    prompt = [("system", "Be brief."), ("user", QUESTION)]
    for name, answers in {"chat_train": [ANSWER], "preference_train": [ANSWER, WORSE]}.items():
        data = read(folder / descriptions[name]["file_name"], tmp_path)
        assert aligned(next(iter(data)), descriptions[name]) == (prompt, answers)


def test_alpaca_has_the_system_prompt_apart(written: Path) -> None:
    row = lines(written / "alpaca" / "train.jsonl")[0]
    assert (row["system"], row["instruction"], row["input"], row["output"]) == (
        "Be brief.",
        QUESTION,
        "",
        ANSWER,
    )
