"""Where models compute: arithmetic of the processor or of a GPU, threads, batches of one length.

Flags are read from the kernel rather than from torch, whose import takes seconds that a fully cached run
saves.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Literal

import numpy as np
import numpy.typing as npt

from qa_pipeline.errors import SettingsError

Device = Literal["cpu", "cuda"]
TorchPrecision = Literal["float32", "bfloat16", "cuda float32", "cuda bfloat16"]
"""Arithmetic, and the device where it is no processor: vectors of two devices differ in their last digits, so
they are stored and compared apart."""
Rows = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float32]

GPU_TOKENS = 65_536
"""Most tokens of a batch on a GPU: enough to keep it busy, in a few GB with models of 300 million weights."""
CPUINFO = Path("/proc/cpuinfo")
_BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Names under which the kernel lists native bfloat16 arithmetic (x86, x86, ARM)."""


def choose_precision(
    precision: Literal["auto", "float32", "bfloat16"], device: Device = "cpu"
) -> TorchPrecision:
    """Resolve `auto`: bfloat16 where a processor has it natively; elsewhere it is emulated and slow.

    A GPU is fast enough in float32, whose vectors are the more exact ones.
    """
    if device == "cuda":
        return "cuda bfloat16" if precision == "bfloat16" else "cuda float32"
    if precision != "auto":
        return precision
    lines = CPUINFO.read_text(errors="replace").splitlines() if CPUINFO.is_file() else []
    listed = [line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features"))]
    return "bfloat16" if listed and all(map(_BFLOAT16_FLAGS.intersection, listed)) else "float32"


def device_of(precision: str) -> Device:
    """Return the device of an arithmetic."""
    return "cuda" if precision.startswith("cuda") else "cpu"


def check_device(precision: str) -> None:
    """Raise SettingsError unless torch can compute on the device of an arithmetic."""
    if device_of(precision) == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        raise SettingsError(
            f"embedding.device is cuda, but torch {torch.__version__} sees no CUDA device; check nvidia-smi "
            "and whether torch was built for CUDA, or set it to cpu"
        )


def single_threaded_workers() -> ThreadPoolExecutor:
    """Return a pool of one thread a core, within each of which torch computes with that thread alone.

    Threads that share a batch wait for each other after every operation: encoding was 26 times slower when
    two other processes kept the same two cores busy.
    """
    import torch

    threads = torch.get_num_threads()
    workers = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    all_started = Barrier(threads)
    list(workers.map(lambda _: all_started.wait(), range(threads)))
    # The setting is a thread's own, but it is also what threads made later begin with.
    torch.set_num_threads(threads)
    return workers


def batches_of_one_length(lengths: Rows, most: Callable[[int], int]) -> Iterator[Rows]:
    """Yield the row numbers in batches whose inputs all have the same length, shortest first, stable within.

    `most` gives the inputs of a batch by their length.
    """
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, edges):
        size = max(1, most(int(lengths[group[0]]))) if len(group) else 1
        for start in range(0, len(group), size):
            yield group[start : start + size]


def compute_by_length(
    lengths: Sequence[int],
    most: Callable[[int], int],
    compute: Callable[[Rows], Numbers],
    workers: ThreadPoolExecutor,
) -> list[Numbers]:
    """Return the results of inputs in order, each batch of one length computed by one worker.

    Nothing is padded and no attention mask is needed, which alone makes a result independent of the inputs
    computed beside it (with padding, bfloat16 vectors moved by up to 1e-3), and costs nothing: what short
    batches lose, absent padding wins back.
    """
    batches = list(batches_of_one_length(np.array(lengths, dtype=np.int64), most))
    batches.sort(key=lambda rows: len(rows) * lengths[rows[0]], reverse=True)  # even ends for all workers
    results: dict[int, Numbers] = {}
    for rows, part in zip(batches, workers.map(compute, batches), strict=True):
        results.update(zip(rows.tolist(), part, strict=True))
    return [results[row] for row in range(len(lengths))]


@contextmanager
def quiet_transformers(*, warnings: bool = True) -> Iterator[None]:
    """Load a model without progress bars, and on demand without warnings."""
    from transformers.utils import logging as messages

    bars, verbosity = messages.is_progress_bar_enabled(), messages.get_verbosity()
    messages.disable_progress_bar()  # type: ignore[no-untyped-call]
    if not warnings:
        messages.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        messages.set_verbosity(verbosity)
        if bars:
            messages.enable_progress_bar()  # type: ignore[no-untyped-call]
