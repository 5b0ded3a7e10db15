"""Devices and arithmetic of models: CPU or GPU, threads, batches of equal length.

CPU flags are read from the kernel, since importing torch takes seconds that a fully cached run saves.
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
"""Arithmetic, and the device if it is not a CPU. Vectors of two devices differ in their last digits, so they
are stored and compared separately."""
Rows = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float32]

GPU_TOKENS = 65_536
"""Maximum tokens of a batch on a GPU: enough to keep it busy, in a few GB with models of 300 million
weights."""
CPUINFO = Path("/proc/cpuinfo")
_BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Kernel names of native bfloat16 arithmetic (x86, x86, ARM)."""


def choose_precision(
    precision: Literal["auto", "float32", "bfloat16"], device: Device = "cpu"
) -> TorchPrecision:
    """Resolve `auto`: bfloat16 if the CPU supports it natively, since emulation is slow, else float32.

    On a GPU `auto` means float32, which is more exact and fast enough there.
    """
    if device == "cuda":
        return "cuda bfloat16" if precision == "bfloat16" else "cuda float32"
    if precision != "auto":
        return precision
    lines = CPUINFO.read_text(errors="replace").splitlines() if CPUINFO.is_file() else []
    # a line per core, such as "flags : fpu avx512_bf16" or, on ARM, "Features : bf16"
    cores = [line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features"))]
    is_native = bool(cores) and all(_BFLOAT16_FLAGS.intersection(flags) for flags in cores)
    return "bfloat16" if is_native else "float32"


def device_of(precision: str) -> Device:
    """Return the device of a precision."""
    return "cuda" if precision.startswith("cuda") else "cpu"


def check_device(precision: str) -> None:
    """Raise SettingsError if torch cannot use the device of a precision."""
    if device_of(precision) == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        raise SettingsError(
            f"embedding.device is cuda, but torch {torch.__version__} sees no CUDA device; check nvidia-smi "
            "and whether torch was built for CUDA, or set it to cpu"
        )


def single_threaded_workers() -> ThreadPoolExecutor:
    """Return a pool with a thread per core, in which torch computes with that thread alone.

    Threads that share a batch wait for each other after every operation. With two other processes on the same
    two cores, encoding was 26 times slower.
    """
    import torch

    threads = torch.get_num_threads()
    workers = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    all_started = Barrier(threads)  # threads wait here, so that the pool starts all of them
    list(workers.map(lambda _: all_started.wait(), range(threads)))
    # The workers keep their single thread; this restores the number that later threads inherit.
    torch.set_num_threads(threads)
    return workers


def batches_of_one_length(lengths: Rows, batch_size: Callable[[int], int]) -> Iterator[Rows]:
    """Yield row numbers in batches of inputs with equal length, shortest first, in stable order.

    `batch_size` returns the maximum number of inputs of a given length in a batch.
    """
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1  # where the next length begins
    groups = np.split(order, edges) if len(order) else []  # rows of equal length
    for group in groups:
        size = max(1, batch_size(int(lengths[group[0]])))
        for start in range(0, len(group), size):
            yield group[start : start + size]


def compute_by_length(
    lengths: Sequence[int],
    batch_size: Callable[[int], int],
    compute: Callable[[Rows], Numbers],
    workers: ThreadPoolExecutor,
) -> list[Numbers]:
    """Return the results of inputs in order; a worker computes each batch of equal length.

    Without padding a result does not depend on the other inputs. With padding, bfloat16 vectors moved by up
    to 1e-3. `compute` takes the row numbers of a batch, whose maximum size is `batch_size` of its length.
    """
    batches = list(batches_of_one_length(np.array(lengths, dtype=np.int64), batch_size))
    batches.sort(key=lambda rows: len(rows) * lengths[rows[0]], reverse=True)  # so workers end together
    results: dict[int, Numbers] = {}  # by row
    for rows, part in zip(batches, workers.map(compute, batches), strict=True):
        results.update(zip(rows.tolist(), part, strict=True))
    return [results[row] for row in range(len(lengths))]


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence progress bars and warnings of transformers."""
    from transformers.utils import logging as messages

    verbosity = messages.get_verbosity()
    messages.disable_progress_bar()  # type: ignore[no-untyped-call]
    messages.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        messages.set_verbosity(verbosity)
        messages.enable_progress_bar()  # type: ignore[no-untyped-call]
