"""The worked examples of the documentation run, and do what they say."""

import importlib.util
import math
import re
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from qa_pipeline.cli.exit_codes import OK
from qa_pipeline.publishing.manifest import read_manifest
from qa_pipeline_tests.defs.project import GUIDE, Project
from qa_pipeline_tests.end_to_end import Workspace, invoke

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
MOST_LINES = 145


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_imports_what_users_may_import(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert "qa_pipeline.load_release(" in text
    assert "from qa_pipeline" not in text


@pytest.fixture
def one_thread() -> Iterator[None]:
    """More threads wait for each other where tests run side by side."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def largest_held_out(releases: Path) -> str:
    splits = read_manifest(releases / "1").splits
    return max(splits.keys() - {"train"}, key=lambda name: splits[name])


@pytest.mark.usefixtures("one_thread")
def test_the_training_loop_lowers_the_loss_of_rows_it_has_not_seen(published: Workspace) -> None:
    releases = published.out / "releases"
    before, after = example("train").train(releases, largest_held_out(releases), epochs=2)
    assert 0 < after < before < math.inf


class Consumer:
    """The downstream location beside the real one, as one daemon sees both."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.module = example("downstream")
        self.module.RELEASES = project.settings.out / "releases"
        self._cursor: Any = None

    @property
    def definitions(self) -> dg.Definitions:
        own = dg.Definitions(assets=[self.module.training_mix])
        return dg.Definitions.merge(self.project.definitions, own)

    def publish(self) -> dg.ExecuteInProcessResult:
        job = self.project.definitions.resolve_job_def("publish_release")
        return job.execute_in_process(instance=self.project.instance, raise_on_error=False)

    def requested(self, *, succeeds: bool = True) -> int:
        """How many runs one tick of the daemon asks for; they are run."""
        ticked = dg.evaluate_automation_conditions(
            self.definitions,
            self.project.instance,
            dg.AssetSelection.assets("training_mix"),
            cursor=self._cursor,
        )
        self._cursor = ticked.cursor
        for _ in range(ticked.total_requested):
            assets = [self.module.release, self.module.training_mix]
            result = dg.materialize(assets, instance=self.project.instance, raise_on_error=False)
            assert result.success == succeeds
        return int(ticked.total_requested)


@pytest.fixture(scope="module")
def released_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("released"))
    made.write("b1")
    made.launch("b1")
    assert Consumer(made).publish().success
    return made


@pytest.fixture
def consumer(released_once: Project, tmp_path: Path) -> Consumer:
    """A location beside a project that has released its one batch, to be changed at will."""
    return Consumer(released_once.copy(tmp_path))


def test_a_downstream_location_runs_once_for_each_new_release_and_never_for_an_unchanged_one(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    project.write("b1")
    consumer = Consumer(project)
    assert consumer.requested() == 0
    project.launch("b1")
    consumer.publish()
    assert [consumer.requested(), consumer.requested()] == [1, 0]
    consumer.publish()
    assert [consumer.requested(), consumer.requested()] == [0, 0]
    project.write("b1", GUIDE.format(name="b1").replace("10 minutes", "20 minutes"))
    project.launch("b1")
    assert consumer.requested() == 0
    consumer.publish()
    assert [consumer.requested(), consumer.requested()] == [1, 0]
    event = project.instance.get_latest_materialization_event(dg.AssetKey("training_mix"))
    assert event is not None
    assert event.asset_materialization is not None
    rows = read_manifest(project.settings.out / "releases" / "2").splits["train"]
    assert event.asset_materialization.metadata["dagster/row_count"].value == rows


def test_a_release_from_before_the_first_look_is_used_where_nothing_was_made_yet(consumer: Consumer) -> None:
    assert [consumer.requested(), consumer.requested()] == [1, 0]


def test_a_downstream_run_that_failed_is_not_asked_for_again_before_the_next_release(
    consumer: Consumer,
) -> None:
    consumer.module.RELEASES = consumer.project.folder / "nowhere"
    assert [consumer.requested(succeeds=False), consumer.requested()] == [1, 0]


def test_a_downstream_location_uses_no_release_that_does_not_verify(consumer: Consumer) -> None:
    (consumer.project.settings.out / "releases" / "1" / "README.md").write_text("# Better\n")
    consumer.publish()
    assert consumer.requested() == 0


def test_the_downstream_location_loads_by_itself_and_starts_nothing_unasked() -> None:
    definitions = example("downstream").defs
    dg.Definitions.validate_loadable(definitions)
    (sensor,) = definitions.get_repository_def().sensor_defs
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED


def tiny_chat_model(folder: Path) -> None:
    """Save a model that knows nothing, and a tokenizer of bytes with a chat template."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(
        models.BPE(vocab={sign: n for n, sign in enumerate([*alphabet, "<end>"])}, merges=[])
    )
    bytewise.pre_tokenizer, bytewise.decoder = pre_tokenizers.ByteLevel(False), decoders.ByteLevel()
    tokenizer: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bytewise, eos_token="<end>", pad_token="<end>"
    )
    tokenizer.chat_template = (
        "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    tokenizer.save_pretrained(folder)
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder)


@pytest.mark.usefixtures("one_thread")
def test_fine_tuning_lowers_the_loss_and_writes_answers_that_the_evaluation_reads(
    published: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_chat_model(tmp_path / "model")
    held_out = largest_held_out(published.out / "releases")
    options = {"language": None, "layers": 1, "device": "cpu", "seeds": 2, "epochs": 1, "size": 4}
    made = {
        "releases": published.out / "releases",
        "model": str(tmp_path / "model"),
        "to": tmp_path / "answers",
    }
    example("finetune").main(
        Namespace(**made, **options, column="messages", held_out=held_out, rows=None, rate=3e-3)
    )
    *seeds, gain = capsys.readouterr().out.splitlines()
    first, second = (re.findall(r"loss ([\d.]+)", line) for line in seeds)
    fell, low, high = map(float, re.findall(r"-?\d+\.\d+", gain))
    assert 0 < low <= fell <= high
    assert first[0] == second[0]
    assert all(float(after) < float(before) for before, after in (first, second))
    files = [tmp_path / "answers" / f"{name}.jsonl" for name in ("untuned", "tuned")]
    for path in files:
        report = tmp_path / path.stem
        ran = invoke("eval", "run", path, "--metric", "exact_match", "--metric", "token_f1", "--out", report)
        assert ran.code == OK, ran.stderr
        rows = pl.read_parquet(report / "rows.parquet")
        assert rows.height == 2 * read_manifest(published.out / "releases" / "1").splits[held_out]
        assert rows["exact_match"].null_count() == 0
    ran = invoke("eval", "compare", tmp_path / "untuned", tmp_path / "tuned")
    assert ran.code == OK, ran.stderr
