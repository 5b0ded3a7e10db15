"""Token ids to logits with torch: one logit for each class of a text, or of each of its tokens.

As in `models/encoder.py`, batches hold inputs of exactly one length: nothing is padded, no mask is needed,
and scores do not depend on what is scored beside. Each batch is computed by one thread.
"""

import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from qa_pipeline.models.cpu import TorchPrecision, single_threaded_workers
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.verification.entailment.files import PairModelFiles
from qa_pipeline.verification.entailment.tokens import Input

Logits = npt.NDArray[np.float32]
Kind = Literal["texts", "tokens"]
"""What a model classifies."""
BATCH_TOKENS = 4096
"""Most tokens of a batch: a core is busy with them, and their activations stay small."""


class Network(Protocol):
    """A model that gives logits for inputs."""

    @property
    def files(self) -> PairModelFiles:
        """The model it computes."""

    @property
    def precision(self) -> str:
        """float32 or bfloat16: the arithmetic of the weights."""

    def run(self, inputs: Sequence[Input], notify: ProgressCallback = no_progress) -> list[Logits]:
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
    batch_tokens: int = BATCH_TOKENS

    def run(self, inputs: Sequence[Input], notify: ProgressCallback = no_progress) -> list[Logits]:
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


def load_classifier(files: PairModelFiles, kind: Kind) -> Any:
    """Load a model onto the CPU: from safetensors, without code of its own, hub or progress bar.

    Args:
        files: the model.
        kind: what it classifies.

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
        model, info = _loaded(files, lambda: loader.from_pretrained(str(files.folder), **_SAFE))
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
