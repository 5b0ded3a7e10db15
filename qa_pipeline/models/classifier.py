"""Classifiers of texts: loading one, and its logits for token ids."""

import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.devices import GPU_TOKENS, Numbers, Rows, compute_by_length, quiet_transformers

BATCH_TOKENS = 4096
"""Most tokens of a batch on a processor: a core is busy with them, and their activations stay small."""


def load_classifier(folder: Path, refused: Callable[[str], SettingsError]) -> Any:
    """Load a classifier of texts: from safetensors, without code of its own or hub.

    Args:
        folder: its files.
        refused: makes the error from what is wrong.

    Raises:
        SettingsError: it cannot be loaded, or weights of its head are missing, which transformers would
            fill with random numbers.
    """
    from safetensors import SafetensorError
    from transformers import AutoModelForSequenceClassification

    loader: Any = AutoModelForSequenceClassification
    try:
        with quiet_transformers(warnings=False):  # what is missing is raised below
            model, info = loader.from_pretrained(
                str(folder),
                trust_remote_code=False,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                dtype="float32",
            )
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise refused(f"it cannot be loaded ({reason})") from error
    missing = sorted(info["missing_keys"])
    if missing:
        raise refused(f"it has no weights for {', '.join(missing[:3])}; name one whose head was trained")
    return model.eval()


@dataclass(frozen=True, slots=True)
class Input:
    """Token ids of one input, and the segment each belongs to."""

    ids: tuple[int, ...]
    types: tuple[int, ...]


def compute_logits(model: Any, inputs: Sequence[Input], workers: ThreadPoolExecutor) -> list[Numbers]:
    """Return the logits of each input.

    Args:
        model: of `load_classifier`, with weights in float32 or bfloat16.
        inputs: computed in batches of one length, so that no input changes the logits of another.
        workers: of `workers_on` the model's device.
    """
    import torch

    from qa_pipeline.models.torch_blocks import RowBlocks

    typed, device = takes_types(model), model.device
    on_gpu = device.type == "cuda"
    most_tokens = GPU_TOKENS if on_gpu else BATCH_TOKENS

    def compute(rows: Rows) -> Numbers:
        batch = {"input_ids": torch.tensor([inputs[row].ids for row in rows], device=device)}
        if typed:
            batch["token_type_ids"] = torch.tensor([inputs[row].types for row in rows], device=device)
        with torch.inference_mode(), nullcontext() if on_gpu else RowBlocks():
            logits: Numbers = model(**batch).logits.float().cpu().numpy()
        return logits

    lengths = [len(pair.ids) for pair in inputs]
    return compute_by_length(lengths, lambda length: most_tokens // length, compute, workers)


def takes_types(model: Any) -> bool:
    """Return whether a model tells segments apart by an input of their own."""
    takes = "token_type_ids" in inspect.signature(model.forward).parameters
    return takes and getattr(model.config, "type_vocab_size", 0) > 1
