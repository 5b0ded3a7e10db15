"""Each format is what its readers look for, and trainers read it back."""

import json
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import polars as pl
import pytest
from datasets import Dataset, load_dataset

from qa_pipeline.publishing.rows import FORMATS, ORIGIN
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline_tests.curation.rows import sha
from qa_pipeline_tests.publishing.hostile_batch import ANSWER, QUESTION, WORSE, rows, tables, write_all
from qa_pipeline_tests.publishing.hostile_batch import lines as lines_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Row = dict[str, Any]
SAID = {"system": "Be brief.", "user": QUESTION, "assistant": ANSWER}
MESSAGES = [{"role": role, "content": content} for role, content in SAID.items()]
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


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def read(path: Path, tmp_path: Path) -> Dataset:
    return load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("messages", {"messages": MESSAGES}),
        ("prompt_completion", {"prompt": MESSAGES[:2], "completion": MESSAGES[2:]}),
        ("alpaca", {"system": "Be brief.", "instruction": QUESTION, "input": "", "output": ANSWER}),
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
def test_each_format_has_the_columns_its_readers_look_for_and_says_where_a_row_is_from(
    written: Path, tmp_path: Path, name: str, columns: dict[str, Any]
) -> None:
    origin = {
        "pair_id": "p", "batch": "b", "language": "en", "question_type": "fact_single",
        "documents": [sha("d")], "licences": ["CC0-1.0"],
        "grounding": 1.0, "composite": 0.75,
    }  # fmt: skip
    assert tuple(origin) == ORIGIN
    path = written / name / "train.jsonl"
    assert lines(path)[0] == columns | origin
    assert list(read(path, tmp_path)) == lines(path)
    assert (written / name / "empty.jsonl").read_bytes() == b""
    ids = {
        split: [row["pair_id"] for row in lines(written / name / f"{split}.jsonl")]
        for split in ("train", "test")
    }
    assert ids == (
        {"train": ["p"], "test": []} if name == "preference" else {"train": ["p", "apart"], "test": ["held"]}
    )


def test_every_format_can_be_set() -> None:
    (values,) = get_args(ReleaseSettings.model_fields["formats"].annotation)
    assert set(get_args(values)) == {*FORMATS}


@pytest.mark.parametrize("name", FORMATS)
def test_a_score_that_no_row_has_is_in_no_line(name: str) -> None:
    assert b"composite" not in lines_of(name, rows().drop("composite"))


def test_an_alternative_is_rejected_with_its_reason() -> None:
    own = tables()
    own["pairs"] = own["pairs"].with_columns(
        answer=pl.when(pl.col("pair_id") == "same").then(pl.lit("Else [source:d.md].")).otherwise("answer")
    )
    found = [json.loads(line) for line in lines_of("preference", rows(), own).splitlines()]
    assert [(one["rejected_pair_id"], one["rejected_reason"]) for one in found] == [
        ("worse", "contradicted"),
        ("same", "alternative"),
    ]
    assert found[1]["rejected"] == [{"role": "assistant", "content": "Else."}]


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["messages", "prompt_completion"])
def test_trl_fine_tunes_on_conversations(
    written: Path, tmp_path: Path, tokenizer: "PreTrainedTokenizerFast", model: "PreTrainedModel", name: str
) -> None:
    from trl import SFTConfig, SFTTrainer

    data = read(written / name / "train.jsonl", tmp_path)
    options = SFTConfig(str(tmp_path), use_cpu=True, report_to="none", max_steps=1, max_length=None)
    trainer = SFTTrainer(model, options, train_dataset=data, processing_class=tokenizer)
    row = next(iter(trainer.train_dataset))
    text = f"system:Be brief.</s>user:{QUESTION}</s>assistant:{ANSWER}</s>"
    assert tokenizer.decode(row["input_ids"]) == text
    if name == "prompt_completion":
        learnt = [label for label in row["labels"] if label >= 0]
        assert tokenizer.decode(learnt) == f"{ANSWER}</s>"
    assert trainer.train().training_loss > 0


@pytest.mark.slow
def test_trl_prefers_the_chosen_answer(
    written: Path, tmp_path: Path, tokenizer: "PreTrainedTokenizerFast", model: "PreTrainedModel"
) -> None:
    from trl import DPOConfig, DPOTrainer

    data = read(written / "preference" / "train.jsonl", tmp_path)
    options = DPOConfig(str(tmp_path), use_cpu=True, report_to="none", max_steps=1, max_length=None)
    trainer = DPOTrainer(model, deepcopy(model), options, train_dataset=data, processing_class=tokenizer)
    row = next(iter(trainer.train_dataset))
    texts = {name: tokenizer.decode(ids) for name, ids in row.items() if name.endswith("_ids")}
    assert texts == {
        "prompt_ids": f"system:Be brief.</s>user:{QUESTION}</s>assistant:",
        "chosen_ids": f"{ANSWER}</s>",
        "rejected_ids": f"{WORSE}</s>",
    }
    assert trainer.train().training_loss > 0
