"""Texts to vectors with a sentence-transformers model, fast and without neighbours leaking in.

What belongs here: loading the weights and running them. What does not: finding and checking the files
(`files.py`) and caching (`vector_cache.py`).

Batches hold texts of exactly one token count, so nothing is padded and no attention mask is needed.
That alone makes a vector independent of the texts embedded beside it (with padding, bfloat16 vectors
moved by up to 1e-3), and costs nothing: what short batches lose, absent padding wins back. Each batch is
computed by one thread: threads that share a batch wait for each other after every operation, which made
encoding 26 times slower when two other processes kept the same two cores busy. The rest of the speed comes
from bfloat16 weights, where the processor multiplies them natively; `blocks.py` keeps the many
lengths from filling the memory there.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.cpu import TorchPrecision, single_threaded_workers
from qa_pipeline.models.embedding_files import FileTokenCounter, ModelFiles

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LocalEncoder(ABC):
    """A model in a folder, and its tokenizer."""

    files: ModelFiles
    counter: FileTokenCounter

    way_out: ClassVar[str] = "set embedding.backend to torch"
    """What to try where the arithmetic is too coarse for the model."""

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
        """Unit-length vectors, one row for each text, in the order given."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        vectors = self._unit_length(self._encode_distinct(list(places)))
        return vectors[[places[text] for text in texts]]

    @abstractmethod
    def _encode_distinct(self, texts: list[str]) -> Vectors:
        """The model's own vectors, one row for each text."""

    def _unit_length(self, vectors: Vectors) -> Vectors:
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise SettingsError(
                f"embedding model {self.model} gives vectors without a direction; {self.way_out}"
            )
        return np.asarray(vectors / norms, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class SentenceEncoder(LocalEncoder):
    """A sentence-transformers model on the CPU; the weights are loaded at the first text."""

    precision: TorchPrecision
    batch_size: int

    way_out: ClassVar[str] = "set embedding.precision to float32"

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
        """One thread a core, each computing batches of its own."""
        return single_threaded_workers()

    def _tokenize(self, texts: list[str]) -> dict[str, list[list[int]]]:
        """Token ids and masks of each text, cut to the window, with the prompt the model asks for."""
        model = self._loaded
        prompt = model.prompts.get(model.default_prompt_name or "") or ""
        prompted = [prompt + text for text in texts]
        return dict(model.tokenizer(prompted, truncation=True, max_length=self.window, padding=False))

    @cached_property
    def _loaded(self) -> "SentenceTransformer":
        import torch

        self.files.check()
        model = load_quietly(self.files.folder)
        if self.precision == "bfloat16":
            model[0].to(torch.bfloat16)
            model[0].register_forward_hook(_to_float32)
        return model.eval()


def batches_of_one_length(lengths: npt.NDArray[np.int64], batch_size: int) -> Iterator[npt.NDArray[np.int64]]:
    """Row numbers in batches whose texts all have the same length, shortest first, stable within."""
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, edges):
        for start in range(0, len(group), batch_size):
            yield group[start : start + batch_size]


def load_quietly(folder: Path, **options: Any) -> "SentenceTransformer":
    """Load a model onto the CPU: from safetensors, without code of its own, hub or progress bar.

    Args:
        folder: the model.
        options: handed on to transformers.
    """
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(
            str(folder),
            device="cpu",
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True, **options},
        )
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
