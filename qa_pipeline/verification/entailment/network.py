"""Token ids to logits with torch: one logit for each class of a text, or of each of its tokens.

What belongs here: loading the weights and running them. What does not: making inputs (`tokens.py`) and what
logits mean (`labels.py`, `spans.py`); the same with ONNX Runtime (`onnx.py`).

As in `embedding/encoder.py`, batches hold inputs of exactly one length: nothing is padded, no mask is needed,
and scores do not depend on what is scored beside. Each batch is computed by one thread.
"""

import inspect
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from qa_pipeline.models.cpu import WEIGHT_STEPS, IntegerPrecision, TorchPrecision, single_threaded_workers
from qa_pipeline.models.graph_cache import GraphCache, GraphKey
from qa_pipeline.models.onnx_encoder import EXTRA, LARGEST_WEIGHTS, OPSET, cores, open_session
from qa_pipeline.records import Notify, silent
from qa_pipeline.verification.entailment.files import PairModelFiles
from qa_pipeline.verification.entailment.tokens import Input, PairReader

Logits = npt.NDArray[np.float32]
Kind = Literal["texts", "tokens"]
"""What a model classifies."""


class Network(Protocol):
    """A model that gives logits for inputs."""

    @property
    def files(self) -> PairModelFiles:
        """The model it computes."""

    @property
    def precision(self) -> str:
        """float32, bfloat16, int8 or int7: the arithmetic of the weights."""

    def run(self, inputs: Sequence[Input], notify: Notify = silent) -> list[Logits]:
        """Logits of each input in order: classes, or tokens (of its tail, if it has one) x classes."""


@dataclass(frozen=True, eq=False)
class TorchNetwork:
    """A transformers model on the CPU; the weights are loaded at the first input.

    Args:
        files: the model.
        kind: what it classifies.
        precision: arithmetic of the weights.
        batch_tokens: most tokens of a batch.
    """

    files: PairModelFiles
    kind: Kind
    precision: TorchPrecision
    batch_tokens: int

    def run(self, inputs: Sequence[Input], notify: Notify = silent) -> list[Logits]:
        """Logits of each input in order: classes, or tokens x classes.

        Raises:
            SettingsError: the weights cannot be used.
        """
        batches = list(self.batches(inputs))
        rows: dict[int, Logits] = {}
        parts = self._workers.map(lambda batch: self.run_batch([inputs[row] for row in batch]), batches)
        for batch, part in zip(batches, parts, strict=True):
            rows.update((row, wanted_part(inputs[row], one)) for row, one in zip(batch, part, strict=True))
            notify(len(rows), len(inputs))
        return [rows[row] for row in range(len(inputs))]

    def batches(self, inputs: Sequence[Input]) -> Iterator[list[int]]:
        """Places of inputs in batches of one length, longest first: so all threads end about together."""
        order = sorted(range(len(inputs)), key=lambda row: -len(inputs[row].ids))
        batch: list[int] = []
        for row in order:
            length = len(inputs[row].ids)
            full = (len(batch) + 1) * length > self.batch_tokens
            if batch and (full or len(inputs[batch[0]].ids) != length):
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def run_batch(self, inputs: Sequence[Input]) -> Logits:
        """Logits of inputs of one length, computed by the calling thread."""
        import torch

        from qa_pipeline.models.torch_blocks import RowBlocks

        batch = {"input_ids": torch.tensor([one.ids for one in inputs])}
        if self._takes_types:
            batch["token_type_ids"] = torch.tensor([one.types for one in inputs])
        with torch.inference_mode(), RowBlocks() if self.precision == "bfloat16" else nullcontext():
            logits: Logits = self.model(**batch).logits.float().numpy()
        return logits

    @cached_property
    def model(self) -> Any:
        """The model itself, ready to run."""
        import torch

        model = load_classifier(self.files, self.kind)
        return model.to(torch.bfloat16) if self.precision == "bfloat16" else model

    @cached_property
    def _takes_types(self) -> bool:
        return takes_types(self.model)

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return single_threaded_workers()


def load_classifier(files: PairModelFiles, kind: Kind, **options: Any) -> Any:
    """Load a model onto the CPU: from safetensors, without code of its own, hub or progress bar.

    Args:
        files: the model.
        kind: what it classifies.
        options: handed on to transformers.

    Raises:
        SettingsError: it cannot be loaded, or weights of its head are missing, which transformers would
            fill with random numbers.
    """
    from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification
    from transformers.utils import logging as messages

    loader: Any = AutoModelForSequenceClassification if kind == "texts" else AutoModelForTokenClassification
    bars, verbosity = messages.is_progress_bar_enabled(), messages.get_verbosity()
    messages.disable_progress_bar()  # type: ignore[no-untyped-call]
    messages.set_verbosity(logging.ERROR)  # what is missing is raised below
    try:
        model, info = _loaded(files, lambda: loader.from_pretrained(str(files.folder), **_SAFE, **options))
    finally:
        messages.set_verbosity(verbosity)
        if bars:
            messages.enable_progress_bar()  # type: ignore[no-untyped-call]
    missing = sorted(info["missing_keys"])
    if missing:
        raise files.refused(
            f"it has no weights for {', '.join(missing[:3])}; name one that was trained to classify {kind}"
        )
    return model.eval()


_SAFE: dict[str, Any] = {
    "trust_remote_code": False,
    "local_files_only": True,
    "use_safetensors": True,
    "output_loading_info": True,
    "dtype": "float32",
}


def _loaded(files: PairModelFiles, load: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    from safetensors import SafetensorError

    try:
        model, info = load()
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise files.refused(f"it cannot be loaded ({reason})") from error
    return model, info


def wanted_part(one: Input, logits: Logits) -> Logits:
    """The logits that an input asks for."""
    return logits[-one.tail :] if one.tail else logits


def takes_types(model: Any) -> bool:
    """Whether the model tells segments apart by an input of their own."""
    named = "token_type_ids" in inspect.signature(model.forward).parameters
    return named and getattr(model.config, "type_vocab_size", 0) > 1


INPUT_IDS = "input_ids"
TYPES = "token_type_ids"
LOGITS = "logits"


class LogitGraph:
    """A graph; many threads may run it at once.

    Args:
        content: a serialised ONNX model without external data.
    """

    def __init__(self, content: bytes) -> None:
        self._session = open_session(content)
        self._typed = TYPES in {one.name for one in self._session.get_inputs()}

    def logits(self, one: Input) -> Logits:
        """Classes, or tokens x classes, computed by the calling thread alone."""
        given = {INPUT_IDS: np.array([one.ids], dtype=np.int64)}
        if self._typed:
            given[TYPES] = np.array([one.types], dtype=np.int64)
        logits: Logits = self._session.run([LOGITS], given)[0][0]
        return logits


ARCHITECTURES = frozenset(
    {"albert", "bert", "camembert", "deberta", "deberta-v2"}
    | {"distilbert", "electra", "mpnet", "roberta", "xlm-roberta"}
)
VERSION = "1"
"""Raised when this module or `integers.py` makes another graph of the same model."""
SAME_PROBABILITY = 0.001
"""A graph whose exact form moves a probability further is another model before anything is rounded."""
MOST_MEAN_MOVED = 0.05
"""Rounding that moves probabilities further on the mean costs more than a faster model is worth."""
TRIAL = (
    ("The server starts five workers unless told otherwise.", "Five workers start by default."),
    ("The server starts five workers unless told otherwise.", "Ten workers start by default."),
    ("The server starts five workers unless told otherwise.", "The pump leaks."),
    ("Die Prüfung des Kessels dauert 40 Minuten.", "Der Kessel wird 40 Minuten lang geprüft."),
    ("Filtret ska bytas var tredje månad.", "Filtret behöver aldrig bytas."),
    ("Name: pump 7 | Pressure: 4.5 bar | Since: 2019-03-01\n" * 3, "Pump 7 has a pressure of 4.5 bar."),
    ("def main() -> None:\n    print({'timeout': 30}['timeout'])", "It prints 30."),
    ("データベースの接続は30秒後に閉じられます。 Καλημέρα κόσμε 🙂", "データベース"),
    ("A", "B"),
    ("Before the valve is opened, the tank must be drained. " * 60, "The tank must be drained first."),
)


@dataclass(frozen=True)
class Export:
    """A graph, and how far its probabilities of the trial moved from the model's."""

    content: bytes
    mean_moved: float
    most_moved: float


def check_exportable(files: PairModelFiles) -> None:
    """Refuse what the graph could not reproduce, as far as the model's files tell.

    Raises:
        SettingsError: naming what it is.
    """
    architecture = (files.read_json("config.json") or {}).get("model_type")
    if architecture not in ARCHITECTURES:
        raise _refused(files, f"its architecture is {architecture!r}, not of {sorted(ARCHITECTURES)}")
    if sum(path.stat().st_size for path in files.folder.glob("*.safetensors")) > LARGEST_WEIGHTS:
        raise _refused(files, f"its weights have more than {LARGEST_WEIGHTS} bytes")


def made_with() -> tuple[str, ...]:
    """Versions of everything that has a part in a graph."""
    packages = ("onnxruntime", "torch", "transformers")
    return (f"classifier {VERSION}", *(f"{name} {metadata.version(name)}" for name in packages))


def export_classifier(files: PairModelFiles, kind: Kind, precision: IntegerPrecision) -> Export:
    """Make the graph of a model.

    Raises:
        SettingsError: the graph, or its rounded form, is too far from the model.
    """
    from qa_pipeline.models.quantisation import in_integers

    model = load_classifier(files, kind, attn_implementation="eager")
    inputs = _trial_inputs(files)
    wanted = [_shares(logits) for logits in _model_logits(model, inputs)]
    exact = _traced(files, model)
    moved = _moved(files, exact, inputs, wanted)
    if not moved.max() <= SAME_PROBABILITY:  # a NaN is no distance either
        raise _refused(files, f"its exported graph moves probabilities by {moved.max():.4f}")
    rounded = in_integers(exact, WEIGHT_STEPS[precision])
    moved = _moved(files, rounded, inputs, wanted)
    if not moved.mean() <= MOST_MEAN_MOVED:
        raise _refused(files, f"8-bit integers move its probabilities by {moved.mean():.4f} on the mean")
    return Export(rounded, round(float(moved.mean()), 6), round(float(moved.max()), 6))


def _trial_inputs(files: PairModelFiles) -> list[Input]:
    reader = PairReader(files.tokenizer(), files.window, None, files.setting)
    room = max(1, files.window - reader.overhead - max(reader.count(claim) for _, claim in TRIAL))
    firsts = [(text, reader.windows(text, room, 0)[0], claim) for text, claim in TRIAL]
    return [reader.join(text[one.start : one.end], claim) for text, one, claim in firsts]


def _model_logits(model: Any, inputs: Sequence[Input]) -> list[Logits]:
    import torch

    typed = takes_types(model)
    found = []
    with torch.inference_mode():
        for one in inputs:
            given = {INPUT_IDS: torch.tensor([one.ids])}
            if typed:
                given[TYPES] = torch.tensor([one.types])
            found.append(model(**given).logits[0].numpy())
    return found


def _traced(files: PairModelFiles, model: Any) -> bytes:
    import torch
    from torch.onnx import errors

    names = [INPUT_IDS, TYPES] if takes_types(model) else [INPUT_IDS]

    class Classifier(torch.nn.Module):
        """From token ids, and segments where the model knows them, to logits."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.model(**dict(zip(names, given, strict=True))).logits
            return logits

    example = (torch.arange(1, 8).reshape(1, 7), torch.tensor([[0, 0, 0, 0, 1, 1, 1]]))[: len(names)]
    try:
        with TemporaryDirectory() as folder, torch.no_grad(), warnings.catch_warnings():
            # as for embeddings: the exporter warns of branches that a trace takes for good; the trial tells
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Classifier().eval(),
                example,
                f"{folder}/model.onnx",
                input_names=names,
                output_names=[LOGITS],
                dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names},
                opset_version=OPSET,
                dynamo=False,
            )
            return Path(folder, "model.onnx").read_bytes()
    except errors.OnnxExporterError as error:
        reason = str(error).partition("\n")[0]
        raise _refused(files, f"it cannot be exported ({reason})") from error


def _moved(
    files: PairModelFiles, content: bytes, inputs: Sequence[Input], wanted: Sequence[npt.NDArray[np.float64]]
) -> npt.NDArray[np.float64]:
    """How far each probability of the trial is from the one wanted."""
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    try:
        graph = LogitGraph(content)
        found = [_shares(graph.logits(one)) for one in inputs]
    except (
        failures.Fail,
        failures.InvalidArgument,
        failures.InvalidGraph,
        failures.NotImplemented,
        failures.RuntimeException,
    ) as error:
        raise _refused(files, "its exported graph does not run") from error
    return np.concatenate([np.abs(one - other).ravel() for one, other in zip(found, wanted, strict=True)])


def _shares(logits: Logits) -> npt.NDArray[np.float64]:
    """Probabilities along the last axis; one logit is its own."""
    values = logits.astype(np.float64)
    if values.shape[-1] == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-values)), dtype=np.float64)
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float64)


def _refused(files: PairModelFiles, what: str) -> Exception:
    return files.refused(
        f"the backend onnx_int8 cannot take it: {what}; set {files.setting}.backend to torch"
    )


@dataclass(frozen=True, eq=False)
class OnnxNetwork:
    """A model's graph on the CPU; it is found, or made, at the first input."""

    files: PairModelFiles
    kind: Kind
    precision: IntegerPrecision
    cache: GraphCache

    def check(self) -> None:
        """Refuse early what would be refused at the first input.

        Raises:
            SettingsError: the extra is not installed, or the model cannot be exported.
        """
        missing = [name for name in EXTRA if find_spec(name) is None]
        if missing:
            raise self.files.refused(
                f"the backend onnx_int8 needs {' and '.join(missing)}; run: pip install 'qa-pipeline[onnx]', "
                f"or set {self.files.setting}.backend to torch"
            )
        check_exportable(self.files)

    def run(self, inputs: Sequence[Input], notify: Notify = silent) -> list[Logits]:
        """Logits of each input in order: classes, or tokens (of its tail, if it has one) x classes.

        Raises:
            SettingsError: the model cannot be exported.
            StorageError: the kept graph is damaged.
        """
        # Long inputs first, so that all workers end at about the same time.
        order = sorted(range(len(inputs)), key=lambda row: -len(inputs[row].ids))
        rows: dict[int, Logits] = {}
        found = self._workers.map(self._logits, [inputs[row] for row in order])
        for row, logits in zip(order, found, strict=True):
            rows[row] = logits
            notify(len(rows), len(inputs))
        return [rows[row] for row in range(len(inputs))]

    def _logits(self, one: Input) -> Logits:
        return wanted_part(one, self._graph.logits(one))

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        """One thread a core, each computing inputs of its own."""
        _ = self._graph  # made by one thread, before several ask for it
        return ThreadPoolExecutor(cores())

    @cached_property
    def _graph(self) -> LogitGraph:
        self.check()
        key = GraphKey(self.files.name, self.files.revision, f"{self.kind} {self.precision}", made_with())
        content = self.cache.get(key)
        if content is None:
            made = export_classifier(self.files, self.kind, self.precision)
            self.cache.put(key, made.content, mean_moved=made.mean_moved, most_moved=made.most_moved)
            content = self.cache.get(key) or made.content  # another process may have been first
        return LogitGraph(content)
