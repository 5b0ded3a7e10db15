"""Compute layers in blocks of a few fixed sizes, for reproducible values and bounded memory.

Libraries choose a matrix product by the number of rows. In float32 a short text alone differed from the same
text in a batch by 1e-7 on some CPUs. In blocks of at least 16 rows it did not, at equal speed.

For each shape oneDNN generates and caches code for bfloat16 products and activations, about half a megabyte
per shape. The capacity of its cache limits only a part of that. Texts of thousands of lengths made memory
grow to 2.5 times its size with blocks. These layers treat each row (a token) separately, so that blocks
padded with zero rows give bit-identical values.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn.functional import gelu, linear, pad
from torch.overrides import TorchFunctionMode

BLOCK_SIZES = (*range(16, 128, 16), *range(128, 256, 32), *range(256, 512, 64), *range(512, 1025, 128))
"""Rows of a block, spaced so that only about a tenth of the rows is padding."""

Layer = Callable[..., torch.Tensor]


class RowBlocks(TorchFunctionMode):
    """A context that computes linear layers and GELU in blocks of `BLOCK_SIZES` rows."""

    def __torch_function__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch, and split the rows of linear layers and GELU into blocks."""
        if args and (func is linear or func is gelu):
            rows, *rest = args
            return in_blocks(func, rows, *rest, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def in_blocks(layer: Layer, values: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Apply a layer that treats each row separately.

    `layer` is called with a block of rows, `args` and `kwargs`. All axes of `values` but the last are rows.
    """
    rows = values.reshape(-1, values.shape[-1])
    outputs = [layer(block, *args, **kwargs)[:height] for block, height in _blocks(rows)]  # without padding
    result = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
    return result.view(*values.shape[:-1], result.shape[-1])


def _blocks(rows: torch.Tensor) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield blocks of allowed sizes, each with its number of rows before padding."""
    for start in range(0, len(rows), BLOCK_SIZES[-1]):
        block = rows[start : start + BLOCK_SIZES[-1]]
        height = len(block)
        size = BLOCK_SIZES[bisect_left(BLOCK_SIZES, height)]  # the smallest that is large enough
        # (0, 0) is the padding of the last axis, and the other numbers that of the rows
        yield (block if size == height else pad(block, (0, 0, 0, size - height))), height
