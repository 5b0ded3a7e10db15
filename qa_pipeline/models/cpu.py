"""Which arithmetic this processor is good at.

What belongs here: choosing a precision by what the processor says of itself. What does not: computing in it
(`encoder.py`, `onnx.py`). Read from the kernel rather than from torch, whose import
takes seconds that a fully cached run saves.
"""

import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Literal

TorchPrecision = Literal["float32", "bfloat16"]
IntegerPrecision = Literal["int8", "int7"]

CPUINFO = Path("/proc/cpuinfo")
BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Names under which the kernel lists native bfloat16 arithmetic (x86, x86, ARM)."""
INT8_FLAGS = frozenset({"avx512_vnni", "avx_vnni", "amx_int8", "asimddp"})
"""The same for products of 8-bit integers summed in 32 bits (three of x86, one of ARM)."""
WEIGHT_STEPS: dict[IntegerPrecision, int] = {"int8": 127, "int7": 64}
"""Largest integer a weight becomes. Processors without such instructions add two products in 16 bits, which
255 x 127 twice overflows and 255 x 64 twice does not."""


def choose_precision(wanted: Literal["auto", "float32", "bfloat16"]) -> TorchPrecision:
    """Resolve `auto`: bfloat16 where it is native, because elsewhere it is emulated and slow."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if every_core_has(BFLOAT16_FLAGS, CPUINFO) else "float32"


def integer_precision() -> IntegerPrecision:
    """Full 8-bit weights where the processor adds up their products without overflow, else 7-bit ones."""
    return "int8" if every_core_has(INT8_FLAGS, CPUINFO) else "int7"


def every_core_has(flags: frozenset[str], cpuinfo: Path) -> bool:
    """Whether each core lists at least one of these; False where the kernel does not say."""
    if platform.system() != "Linux" or not cpuinfo.is_file():
        return False
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    listed = [line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features"))]
    return bool(listed) and all(flags & set(names) for names in listed)


def single_threaded_workers() -> ThreadPoolExecutor:
    """One thread a core, within each of which torch computes with that thread alone."""
    import torch

    threads = torch.get_num_threads()
    workers = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    all_started = Barrier(threads)
    list(workers.map(lambda _: all_started.wait(), range(threads)))
    # The setting is a thread's own, but it is also what threads made later begin with.
    torch.set_num_threads(threads)
    return workers
