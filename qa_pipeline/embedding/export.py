"""A sentence-transformers model as an ONNX graph in 8-bit integers, and whether it is still that model.

What belongs here: which models can be exported, the export, and the trial that each graph must stand. What
does not: rewriting products (`integers.py`), keeping the graph (`graph_cache.py`). The only step of
the backend `onnx_int8` that needs torch; it is taken once for a model.

The graph reads token ids alone: it computes one text at a time, where no mask is needed. Pooling and
normalising are the model's own modules. Whatever an architecture does that a trace cannot follow shows in
the trial: texts of several lengths, scripts and languages through the whole road, tokenizer included, must
have the vectors that sentence-transformers gives them.
"""

import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from qa_pipeline.embedding.files import ModelFiles
from qa_pipeline.embedding.graph import INPUT, OUTPUT, TextGraph
from qa_pipeline.embedding.precision import WEIGHT_STEPS, IntegerPrecision
from qa_pipeline.errors import SettingsError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = npt.NDArray[np.float32]

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
    from qa_pipeline.embedding.encoder import load_quietly
    from qa_pipeline.embedding.integers import in_integers

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
