"""What this processor is good at: the arithmetic to compute in, and threads that each use one core.

Flags are read from the kernel rather than from torch, whose import takes seconds that a fully cached run
saves.
"""

import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Literal

TorchPrecision = Literal["float32", "bfloat16"]

CPUINFO = Path("/proc/cpuinfo")
BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Names under which the kernel lists native bfloat16 arithmetic (x86, x86, ARM)."""


def choose_precision(wanted: Literal["auto", "float32", "bfloat16"]) -> TorchPrecision:
    """Resolve `auto`: bfloat16 where it is native, because elsewhere it is emulated and slow."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if every_core_has(BFLOAT16_FLAGS, CPUINFO) else "float32"


def every_core_has(flags: frozenset[str], cpuinfo: Path) -> bool:
    """Whether each core lists at least one of these; False where the kernel does not say."""
    if platform.system() != "Linux" or not cpuinfo.is_file():
        return False
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    listed = [line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features"))]
    return bool(listed) and all(flags & set(names) for names in listed)


def single_threaded_workers() -> ThreadPoolExecutor:
    """One thread a core, within each of which torch computes with that thread alone.

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
