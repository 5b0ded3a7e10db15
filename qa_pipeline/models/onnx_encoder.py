"""Texts to vectors with ONNX Runtime in 8-bit integers, without torch.

What belongs here: finding or making a model's graph, and running it on all cores. What does not: the graph
itself (`graph.py`) and its making (`export.py`). For the packaged model the vectors are
about 0.999 in cosine to those of float32, which is why they never meet in one shard or cache: the
precision they are stored under is part of their key.
"""

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.cpu import WEIGHT_STEPS, IntegerPrecision
from qa_pipeline.models.embedding_files import ModelFiles, token_counter
from qa_pipeline.models.encoder import LocalEncoder
from qa_pipeline.models.encoder import Vectors as OnnxVectors
from qa_pipeline.models.graph_cache import GraphCache, GraphKey

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = npt.NDArray[np.float32]

INPUT = "input_ids"
OUTPUT = "sentence_embedding"
_ERRORS_ONLY = 3


class TextGraph:
    """A graph with the tokenizer it goes with; many threads may run it at once.

    Args:
        files: the model the graph was made of.
        content: the graph as a serialised ONNX model, without external data.
    """

    def __init__(self, files: ModelFiles, content: bytes) -> None:
        self._session = open_session(content)
        self._tokenizer = _cutting_tokenizer(files)
        self._prompt = files.prompt

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, cut to the window, with the prompt the model asks for."""
        return [found.ids for found in self._tokenizer.encode_batch([self._prompt + text for text in texts])]

    def vector(self, token_ids: Sequence[int]) -> Vectors:
        """The model's own vector of one text, computed by the calling thread alone.

        One text at a time: then no neighbour can have a part in it, and it is no slower than in batches.
        """
        rows = self._session.run([OUTPUT], {INPUT: np.array([token_ids], dtype=np.int64)})[0]
        vector: Vectors = rows[0]
        return vector

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The vectors of a few texts."""
        return np.stack([self.vector(ids) for ids in self.tokenize(texts)])


def open_session(content: bytes) -> Any:
    """A graph ready to run, by each thread that runs it alone."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _cutting_tokenizer(files: ModelFiles) -> Tokenizer:
    counter = token_counter(files)  # loaded for this graph alone, so that the cut leaks nowhere
    counter.tokenizer.enable_truncation(counter.window)
    return counter.tokenizer


ARCHITECTURES = frozenset(
    {"bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"}
)  # fmt: skip
POOLINGS = frozenset({"mean", "cls"})
LARGEST_WEIGHTS = 1_900_000_000
"""Bytes; the format in which a graph is one file ends at two gigabytes."""
VERSION = "1"
"""Raised when this module or `integers.py` makes another graph of the same model."""
OPSET = 17
SAME_COSINE = 0.9999
"""Below it, the exported graph is another model before anything is rounded."""
LEAST_COSINE = 0.95
"""Below it, rounding to integers has cost more than a faster model is worth."""
TRIAL = (
    "How many workers start by default?",
    "The server starts five workers unless told otherwise, and restarts each after 10,000 requests.",
    "",
    "A",
    "Die Prüfung des Kessels dauert 40 Minuten und wird nach jeder Änderung wiederholt.",
    "Hur ofta ska filtret bytas enligt underhållsplanen?",
    "def main() -> None:\n    print({'timeout': 30}['timeout'])",
    "Name: pump 7 | Pressure: 4.5 bar | Since: 2019-03-01\n" * 3,
    "データベースの接続は30秒後に閉じられます。 Καλημέρα κόσμε 🙂",
    "Before the valve is opened, the tank must be drained and the sensor switched off. " * 60,
)
_ADVICE = "set embedding.backend to torch, or choose another model"


@dataclass(frozen=True)
class Export:
    """A graph and how close its vectors of the trial texts came to the model's."""

    content: bytes
    mean_cosine: float
    min_cosine: float


def check_exportable(files: ModelFiles) -> None:
    """Refuse what the graph could not reproduce, as far as the model's files tell.

    Raises:
        SettingsError: naming what it is.
    """
    kinds = list(files.modules)
    if kinds[0] != "Transformer" or set(kinds) - {"Transformer", "Pooling", "Normalize"}:
        raise _refused(files, f"it consists of {', '.join(kinds)}")
    architecture = (files.read_json(files.modules["Transformer"], "config.json") or {}).get("model_type")
    if architecture not in ARCHITECTURES:
        raise _refused(files, f"its architecture is {architecture!r}, not of {sorted(ARCHITECTURES)}")
    pooling = files.pooling
    if pooling is not None and (len(pooling.modes) != 1 or set(pooling.modes) - POOLINGS):
        raise _refused(files, f"it pools by {' and '.join(pooling.modes)}, not by {sorted(POOLINGS)}")
    if pooling is not None and files.prompt and not pooling.with_prompt:
        raise _refused(files, "it leaves the prompt out of pooling")
    if sum(path.stat().st_size for path in files.folder.rglob("*.safetensors")) > LARGEST_WEIGHTS:
        raise _refused(files, f"its weights have more than {LARGEST_WEIGHTS} bytes")


def made_with() -> tuple[str, ...]:
    """Versions of everything that has a part in a graph."""
    packages = ("onnxruntime", "torch", "transformers")
    return (f"export {VERSION}", *(f"{name} {metadata.version(name)}" for name in packages))


def export_graph(files: ModelFiles, precision: IntegerPrecision) -> Export:
    """Make the graph of a model.

    Raises:
        SettingsError: the graph, or its rounded form, is too far from the model.
    """
    from qa_pipeline.models.encoder import load_quietly
    from qa_pipeline.models.quantisation import in_integers

    model = load_quietly(files.folder, attn_implementation="eager").float().eval()
    wanted = _unit(model.encode(list(TRIAL), batch_size=1, show_progress_bar=False))
    exact = _traced(files, model)
    least = _trial(files, exact, wanted).min()
    if not least >= SAME_COSINE:  # a NaN is no cosine either
        raise _refused(files, f"its exported graph gives other vectors (cosine {least:.4f})")
    rounded = in_integers(exact, WEIGHT_STEPS[precision])
    cosines = _trial(files, rounded, wanted)
    if not cosines.min() >= LEAST_COSINE:
        raise _refused(files, f"8-bit integers move its vectors too far (cosine {cosines.min():.4f})")
    return Export(rounded, round(float(cosines.mean()), 6), round(float(cosines.min()), 6))


def _traced(files: ModelFiles, model: "SentenceTransformer") -> bytes:
    import torch
    from torch.onnx import errors

    class Vector(torch.nn.Module):
        """From token ids to the vector, through all modules of the model."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            vector: torch.Tensor = self.model({INPUT: input_ids})[OUTPUT]
            return vector

    example = torch.arange(1, 8).reshape(1, 7)
    try:
        with TemporaryDirectory() as folder, torch.no_grad(), warnings.catch_warnings():
            # The older exporter is deprecated, and warns of each branch that a trace takes for good: the
            # trial tells whether a branch mattered.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Vector().eval(),
                (example,),
                f"{folder}/model.onnx",
                input_names=[INPUT],
                output_names=[OUTPUT],
                dynamic_axes={INPUT: {0: "texts", 1: "tokens"}, OUTPUT: {0: "texts"}},
                opset_version=OPSET,
                dynamo=False,
            )
            return Path(folder, "model.onnx").read_bytes()
    except errors.OnnxExporterError as error:
        reason = str(error).partition("\n")[0]
        raise _refused(files, f"it cannot be exported ({reason})") from error


def _trial(files: ModelFiles, content: bytes, wanted: Vectors) -> npt.NDArray[np.float32]:
    """Cosines between the vectors of a graph and those wanted."""
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    try:
        found = TextGraph(files, content).vectors(TRIAL)
    except (
        failures.Fail,
        failures.InvalidArgument,
        failures.InvalidGraph,
        failures.NotImplemented,
        failures.RuntimeException,
    ) as error:
        raise _refused(files, "its exported graph does not run") from error
    return np.asarray((_unit(found) * wanted).sum(axis=1), dtype=np.float32)


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _refused(files: ModelFiles, what: str) -> SettingsError:
    return SettingsError(f"embedding.backend onnx_int8 cannot take the model {files.name}: {what}; {_ADVICE}")


EXTRA = ("onnx", "onnxruntime")


@dataclass(frozen=True, eq=False)
class OnnxEncoder(LocalEncoder):
    """A model's graph on the CPU; it is found, or made, at the first text."""

    precision: IntegerPrecision
    cache: GraphCache

    way_out: ClassVar[str] = "set embedding.backend to torch"

    def check(self) -> None:
        """Refuse early what would be refused at the first text.

        Raises:
            SettingsError: the extra is not installed, or the model cannot be exported.
        """
        missing = [name for name in EXTRA if find_spec(name) is None]
        if missing:
            raise SettingsError(
                f"embedding.backend is onnx_int8, but {' and '.join(missing)} is not installed; "
                f"run: pip install 'qa-pipeline[onnx]', or set embedding.backend to torch"
            )
        self.files.check()
        check_exportable(self.files)

    def _encode_distinct(self, texts: list[str]) -> OnnxVectors:
        tokens = self._graph.tokenize(texts)
        # Long texts first, so that all workers end at about the same time.
        order = sorted(range(len(texts)), key=lambda place: -len(tokens[place]))
        found = list(self._workers.map(self._graph.vector, [tokens[place] for place in order]))
        vectors = np.empty((len(texts), len(found[0])), dtype=np.float32)
        vectors[order] = found
        return vectors

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        """One thread a core, each computing texts of its own."""
        return ThreadPoolExecutor(cores())

    @cached_property
    def _graph(self) -> TextGraph:
        self.check()
        key = GraphKey(self.model, self.revision, self.precision, made_with())
        content = self.cache.get(key)
        if content is None:
            made = export_graph(self.files, self.precision)
            self.cache.put(key, made.content, mean_cosine=made.mean_cosine, min_cosine=made.min_cosine)
            content = self.cache.get(key) or made.content  # another process may have been first
        return TextGraph(self.files, content)


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
