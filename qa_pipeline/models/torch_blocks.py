"""Few shapes of matrix, whatever the lengths of the texts, so that a row has one value and memory an end.

Libraries choose their way of multiplying by the number of rows: in float32 a short text computed alone
differed from itself beside others by 1e-7 on some processors. In blocks of at least 16 rows it did not, at
equal speed.

For each shape it sees, oneDNN generates code for bfloat16 products and activations and keeps it: half a
megabyte a shape, of which the capacity of its cache bounds only a part. Texts of exactly their own lengths
gave thousands of shapes, so that memory grew with the texts, to 2.5 times what it is with blocks. These
layers treat each row (a token) on its own: computed in blocks, the last one filled up with zeros, it has
the same value bit for bit.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn.functional import gelu, linear, pad
from torch.overrides import TorchFunctionMode

BLOCK_SIZES = (
    *range(16, 128, 16),
    *range(128, 256, 32),
    *range(256, 512, 64),
    *range(512, 1025, 128),
)
"""Rows of a block: close enough to each other that about a tenth of the rows is filling."""

Layer = Callable[..., torch.Tensor]


class RowBlocks(TorchFunctionMode):
    """A context in which linear layers and GELU are computed in blocks of `BLOCK_SIZES` rows."""

    def __torch_function__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if args and (func is linear or func is gelu):
            rows, *rest = args
            return in_blocks(func, rows, *rest, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def in_blocks(layer: Layer, values: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Apply a layer that treats each row on its own.

    `layer` is called with a block of rows, `args` and `kwargs`; rows run along all axes but the last.
    """
    rows = values.reshape(-1, values.shape[-1])
    done = [layer(block, *args, **kwargs)[:height] for block, height in _blocks(rows)]
    result = done[0] if len(done) == 1 else torch.cat(done)
    return result.view(*values.shape[:-1], result.shape[-1])


def _blocks(rows: torch.Tensor) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield blocks of allowed sizes, each with how many of its rows are not filling."""
    for start in range(0, len(rows), BLOCK_SIZES[-1]):
        block = rows[start : start + BLOCK_SIZES[-1]]
        height = len(block)
        size = BLOCK_SIZES[bisect_left(BLOCK_SIZES, height)]
        yield (block if size == height else pad(block, (0, 0, 0, size - height))), height
