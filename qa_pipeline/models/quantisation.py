"""An ONNX graph whose matrix products with weights are computed in 8-bit integers.

What belongs here: rewriting a graph. What does not: where the graph comes from (`export.py`) and
whether its vectors are still good enough (there as well).

Weights are rounded once, each output column with a step of its own. Activations are rounded while the graph
runs, each row (a token) with a step and an offset of its own, as LLM.int8() (Dettmers et al. 2022) and
ZeroQuant (Yao et al. 2022) do, here with an offset besides. The dynamic quantisation of ONNX Runtime takes
one step for all tokens of all texts of a batch: on the packaged model that left a cosine of 0.993 to the
exact vectors, where this leaves 0.999, and a text's vector depended on the texts beside it.
With x = low + step * codes, where codes are integers of 0 to 255, and W = columns * integers:

    x @ W  =  step * columns * (codes @ integers)  +  low * (columns * sum of each column of integers)
"""

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CODES = 255
SMALLEST_RANGE = 1e-30
"""Instead of 0 where all values of a row are equal: their codes are then 0 and the offset says it all."""


def in_integers(content: bytes, weight_steps: int) -> bytes:
    """Rewrite each product of activations with a constant matrix; everything else stays float32.

    Args:
        content: a serialised ONNX model.
        weight_steps: largest integer a weight becomes: 127, or 64 where the processor needs room.
    """
    model = onnx.load_from_string(content)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    rewriting = _Rewriting(weight_steps)
    nodes = [
        made
        for node in model.graph.node
        for made in (
            rewriting.product(node, weights[node.input[1]]) if _is_product(node, weights) else [node]
        )
    ]
    used = {name for node in nodes for name in node.input}
    tensors = [tensor for name, tensor in weights.items() if name in used] + rewriting.tensors
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(tensors)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _is_product(node: onnx.NodeProto, weights: dict[str, onnx.TensorProto]) -> bool:
    return node.op_type == "MatMul" and node.input[1] in weights and len(weights[node.input[1]].dims) == 2


class _Rewriting:
    """Nodes for products, and the tensors they need; rows that several products share are rounded once."""

    def __init__(self, weight_steps: int) -> None:
        self._weight_steps = weight_steps
        self._rounded: set[str] = set()
        self.tensors = [
            numpy_helper.from_array(np.array(value, dtype=np.float32), name)
            for name, value in (("int8_per_code", 1 / CODES), ("int8_smallest_range", SMALLEST_RANGE))
        ]

    def product(self, node: onnx.NodeProto, weight: onnx.TensorProto) -> Iterator[onnx.NodeProto]:
        """The nodes that stand for a product."""
        rows, out = node.input[0], node.output[0]
        if rows not in self._rounded:
            self._rounded.add(rows)
            yield from _rounding(rows)
        integers, columns, sums = self._keep(out, numpy_helper.to_array(weight))
        yield helper.make_node("MatMulInteger", [f"{rows}_codes", integers], [f"{out}_sum"])
        yield helper.make_node("Cast", [f"{out}_sum"], [f"{out}_float"], to=TensorProto.FLOAT)
        yield helper.make_node("Mul", [f"{out}_float", columns], [f"{out}_scaled"])
        yield helper.make_node("Mul", [f"{out}_scaled", f"{rows}_step"], [f"{out}_product"])
        yield helper.make_node("Mul", [f"{rows}_low", sums], [f"{out}_offset"])
        yield helper.make_node("Add", [f"{out}_product", f"{out}_offset"], [out])

    def _keep(self, name: str, weight: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> list[str]:
        """Round a matrix; names of its integers, its columns' steps, and what an offset of 1 adds."""
        columns = np.abs(weight).max(axis=0) / np.float32(self._weight_steps)
        columns[columns < np.finfo(np.float32).tiny] = 1  # a column of nothing, or of too little to divide by
        integers = np.rint(weight / columns).astype(np.int8)
        sums = integers.sum(axis=0, dtype=np.int32) * columns
        parts = {
            f"{name}_integers": integers,
            f"{name}_columns": columns.astype(np.float32),
            f"{name}_sums": sums.astype(np.float32),
        }
        self.tensors += [numpy_helper.from_array(values, part) for part, values in parts.items()]
        return list(parts)


def _rounding(rows: str) -> Iterator[onnx.NodeProto]:
    """Round each row to codes between its lowest and its highest value."""
    yield helper.make_node("ReduceMin", [rows], [f"{rows}_low"], axes=[-1], keepdims=1)
    yield helper.make_node("ReduceMax", [rows], [f"{rows}_high"], axes=[-1], keepdims=1)
    yield helper.make_node("Sub", [f"{rows}_high", f"{rows}_low"], [f"{rows}_range"])
    yield helper.make_node("Max", [f"{rows}_range", "int8_smallest_range"], [f"{rows}_some_range"])
    yield helper.make_node("Mul", [f"{rows}_some_range", "int8_per_code"], [f"{rows}_step"])
    yield helper.make_node("Sub", [rows, f"{rows}_low"], [f"{rows}_above"])
    yield helper.make_node("Div", [f"{rows}_above", f"{rows}_step"], [f"{rows}_divided"])
    yield helper.make_node("Round", [f"{rows}_divided"], [f"{rows}_whole"])
    yield helper.make_node("Cast", [f"{rows}_whole"], [f"{rows}_codes"], to=TensorProto.UINT8)
