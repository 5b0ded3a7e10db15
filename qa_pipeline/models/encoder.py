"""Texts to vectors with a sentence-transformers model, fast and without neighbours leaking in.

Batches hold texts of exactly one token count, so nothing is padded and no attention mask is needed.
That alone makes a vector independent of the texts embedded beside it (with padding, bfloat16 vectors
moved by up to 1e-3), and costs nothing: what short batches lose, absent padding wins back. With torch each
batch is computed by one thread, and where the processor multiplies bfloat16 natively the weights are of that;
`blocks.py` keeps the many lengths from filling the memory there. Together 35.3 texts/s where plain `encode`
has 19.6. Another backend gets the same batches, one after another, and uses the cores as it likes.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.base import Vectors
from qa_pipeline.models.cpu import single_threaded_workers
from qa_pipeline.models.embedding_files import FileTokenCounter, ModelFiles

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH_SIZE = 32
"""Most texts computed at once: more gain nothing on a CPU, and texts of one length are rarely so many."""


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """A sentence-transformers model on the CPU; the weights are loaded at the first text.

    Args:
        files: the model's folder; names its backend.
        counter: its tokenizer.
        precision: float32 or bfloat16 with torch, else the name of the backend.
        batch_size: most texts computed at once.
    """

    files: ModelFiles
    counter: FileTokenCounter
    precision: str
    batch_size: int = BATCH_SIZE

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.files.name

    @property
    def revision(self) -> str:
        """Commit or hash of its files."""
        return self.files.revision

    @property
    def window(self) -> int:
        """Most tokens it reads."""
        return self.counter.window

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer, without truncation or padding."""
        return self.counter.tokenizer

    @cached_property
    def dimension(self) -> int:
        """Length of a vector; computes one only where the configuration does not say."""
        declared = self.files.dimension
        return self.encode(["?"]).shape[1] if declared is None else declared

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included and nothing cut off."""
        return self.counter.count(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit-length vectors, one row for each text, in the order given.

        Raises:
            SettingsError: the model cannot be loaded, or gives a vector without a direction.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        vectors = self._unit_length(self._encode_distinct(list(places)))
        return vectors[[places[text] for text in texts]]

    def _encode_distinct(self, texts: list[str]) -> Vectors:
        inputs = self._tokenize(texts)
        lengths = np.array([len(row) for row in inputs["input_ids"]])
        batches = list(batches_of_one_length(lengths, self.batch_size))
        batches.sort(key=lambda rows: len(rows) * lengths[rows[0]], reverse=True)  # even ends for all workers
        parts = list(self._workers.map(lambda rows: self._encode_batch(inputs, rows), batches))
        vectors = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
        for rows, part in zip(batches, parts, strict=True):
            vectors[rows] = part
        return vectors

    def _encode_batch(self, inputs: dict[str, list[list[int]]], rows: npt.NDArray[np.int64]) -> Vectors:
        import torch

        from qa_pipeline.models.torch_blocks import RowBlocks

        with torch.inference_mode(), RowBlocks() if self.precision == "bfloat16" else nullcontext():
            batch = {name: torch.tensor([values[row] for row in rows]) for name, values in inputs.items()}
            vectors: Vectors = self._loaded(batch)["sentence_embedding"].float().numpy()
        return vectors

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        """One thread a core, each computing batches of its own; another backend has threads itself."""
        return single_threaded_workers() if self.files.backend == "torch" else ThreadPoolExecutor(1)

    def _tokenize(self, texts: list[str]) -> dict[str, list[list[int]]]:
        """Token ids and masks of each text, cut to the window, with the prompt the model asks for."""
        model = self._loaded
        prompt = model.prompts.get(model.default_prompt_name or "") or ""
        prompted = [prompt + text for text in texts]
        return dict(model.tokenizer(prompted, truncation=True, max_length=self.window, padding=False))

    @cached_property
    def _loaded(self) -> "SentenceTransformer":
        self.files.check()
        if self.files.backend != "torch":
            return load_quietly(self.files)
        import torch

        model = load_quietly(self.files)
        if self.precision == "bfloat16":
            model[0].to(torch.bfloat16)
            model[0].register_forward_hook(_to_float32)
        return model.eval()

    def _unit_length(self, vectors: Vectors) -> Vectors:
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            setting = "precision to float32" if self.files.backend == "torch" else "backend to torch"
            raise SettingsError(
                f"embedding model {self.model} gives vectors without a direction; set embedding.{setting}"
            )
        return np.asarray(vectors / norms, dtype=np.float32)


def batches_of_one_length(lengths: npt.NDArray[np.int64], batch_size: int) -> Iterator[npt.NDArray[np.int64]]:
    """Row numbers in batches whose texts all have the same length, shortest first, stable within."""
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, edges):
        for start in range(0, len(group), batch_size):
            yield group[start : start + batch_size]


def load_quietly(files: ModelFiles) -> "SentenceTransformer":
    """Load a model onto the CPU: from safetensors, without code of its own, hub or progress bar.

    Raises:
        SettingsError: another backend than torch cannot load or export it.
    """
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    options = {"use_safetensors": True} if files.backend == "torch" else {}
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(
            str(files.folder),
            device="cpu",
            backend=files.backend,
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs=options,
        )
    except Exception as error:
        if files.backend == "torch":
            raise
        # Optimum and the runtimes behind it raise what they like, down to a bare Exception.
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise SettingsError(
            f"embedding.backend {files.backend} cannot load {files.name} ({reason}); "
            "set embedding.backend to torch"
        ) from error
    finally:
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _to_float32(_module: Any, _inputs: Any, outputs: dict[str, Any]) -> dict[str, Any]:
    """Leave bfloat16 behind the transformer, so that pooling and normalising do not round again."""
    import torch

    return {
        name: value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for name, value in outputs.items()
    }
