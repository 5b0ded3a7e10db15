import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import gelu, linear, relu

from qa_pipeline.models.torch_blocks import BLOCK_SIZES, RowBlocks, in_blocks


@given(texts=st.integers(1, 40), tokens=st.integers(1, 120), shared=st.booleans())
def test_blocks_give_the_values_of_the_whole_in_few_shapes(texts: int, tokens: int, shared: bool) -> None:
    values = torch.arange(texts * tokens * 3, dtype=torch.float32).reshape(texts, tokens, 3)
    values = values if shared else values.flip(0)
    heights = []

    def doubled(block: torch.Tensor, by: float) -> torch.Tensor:
        heights.append(len(block))
        return block * by

    assert torch.equal(in_blocks(doubled, values, by=2.0), values * 2)
    assert set(heights) <= set(BLOCK_SIZES)
    assert sum(heights) < max(texts * tokens * 1.25, texts * tokens + BLOCK_SIZES[0])


@pytest.mark.parametrize("rows", [1, 15, 16, 100, 1024, 2500])
def test_layers_give_the_same_values_inside_and_outside(rows: int) -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(1, rows, 8, generator=generator)
    weight, bias = torch.randn(4, 8, generator=generator), torch.randn(4, generator=generator)
    outside = [linear(values, weight, bias), linear(values, weight), gelu(values, approximate="tanh")]
    with RowBlocks():
        inside = [linear(values, weight, bias), linear(values, weight), gelu(values, approximate="tanh")]
        assert torch.equal(relu(values), values.clamp(min=0))
    for left, right in zip(outside, inside, strict=True):
        assert left.shape == right.shape
        assert torch.allclose(left, right, atol=1e-5)
