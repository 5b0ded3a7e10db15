from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnx import TensorProto, helper, numpy_helper

from qa_pipeline.models.quantisation import in_integers

Matrix = npt.NDArray[np.float32]

INNER = 12
VALUES = st.floats(-50, 50, width=32)
ROWS = arrays(np.float32, st.tuples(st.integers(1, 6), st.just(INNER)), elements=VALUES)
WEIGHTS = arrays(np.float32, (INNER, 5), elements=st.floats(-2, 2, width=32))


def graph(*weights: Matrix) -> bytes:
    """One product of the input with each matrix, side by side."""
    made = helper.make_graph(
        [helper.make_node("MatMul", ["x", f"w{place}"], [f"y{place}"]) for place in range(len(weights))],
        "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", INNER])],
        [
            helper.make_tensor_value_info(f"y{place}", TensorProto.FLOAT, ["rows", weight.shape[1]])
            for place, weight in enumerate(weights)
        ],
        [numpy_helper.from_array(weight, f"w{place}") for place, weight in enumerate(weights)],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def run(content: bytes, rows: Matrix) -> list[Matrix]:
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found: list[Matrix] = session.run(None, {"x": rows})
    return found


@pytest.mark.parametrize("steps", [127, 64])
@given(rows=ROWS, weight=WEIGHTS)
@settings(max_examples=40)
def test_a_product_is_off_by_no_more_than_half_a_step_of_each_factor(
    steps: int, rows: Matrix, weight: Matrix
) -> None:
    (found,) = run(in_integers(graph(weight), steps), rows)
    exact = rows.astype(np.float64) @ weight
    of_rows = np.ptp(rows, axis=1, keepdims=True).astype(np.float64) / 255 / 2
    of_columns = np.abs(weight).max(axis=0).astype(np.float64) / steps / 2
    width = np.abs(rows).sum(axis=1, keepdims=True) * of_columns
    bound = width + of_rows * (np.abs(weight) + of_columns).sum(axis=0)
    assert (np.abs(found - exact) <= 1.01 * bound + 1e-3).all()


@given(rows=ROWS, weight=WEIGHTS)
@settings(max_examples=40)
def test_a_row_of_a_product_does_not_depend_on_the_rows_beside_it(rows: Matrix, weight: Matrix) -> None:
    content = in_integers(graph(weight), 127)
    (together,) = run(content, rows)
    alone = np.vstack([run(content, rows[place : place + 1])[0] for place in range(len(rows))])
    assert together.tobytes() == alone.tobytes()


@given(value=VALUES)
def test_rows_of_one_value_lose_nothing_but_what_the_weights_lose(value: float) -> None:
    weight = np.array([[float(place % 3 - 1)] * 5 for place in range(INNER)], dtype=np.float32)
    rows = np.full((2, INNER), value, dtype=np.float32)
    (found,) = run(in_integers(graph(weight), 127), rows)
    assert np.allclose(found, rows @ weight, atol=1e-3)


@pytest.mark.parametrize("value", [0, 1e-45, 1e-38])
def test_a_column_of_nothing_or_next_to_nothing_comes_to_zero(value: float) -> None:
    weight = np.full((INNER, 5), value, dtype=np.float32)
    (found,) = run(in_integers(graph(weight), 127), np.ones((1, INNER), dtype=np.float32))
    assert not found.any()


def test_the_largest_sums_do_not_overflow() -> None:
    weight = np.full((INNER, 5), -1, dtype=np.float32)
    rows = np.array([[0.0] + [255.0] * (INNER - 1)], dtype=np.float32)
    for steps in (127, 64):
        (found,) = run(in_integers(graph(weight), steps), rows)
        assert np.allclose(found, rows @ weight, rtol=1e-5)


def test_products_that_share_rows_round_them_once_and_the_float_weights_are_gone() -> None:
    weights = [np.eye(INNER, dtype=np.float32), np.ones((INNER, 3), dtype=np.float32)]
    model = onnx.load_from_string(in_integers(graph(*weights), 127))
    kinds = [node.op_type for node in model.graph.node]
    assert (kinds.count("Round"), kinds.count("MatMulInteger"), kinds.count("MatMul")) == (1, 2, 0)
    names = {tensor.name for tensor in model.graph.initializer}
    assert not names & {"w0", "w1"}


def test_products_of_two_activations_are_left_alone() -> None:
    x: Any = helper.make_tensor_value_info("x", TensorProto.FLOAT, [INNER, INNER])
    y: Any = helper.make_tensor_value_info("y", TensorProto.FLOAT, [INNER, INNER])
    made = helper.make_graph([helper.make_node("MatMul", ["x", "x"], ["y"])], "square", [x], [y])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    rounded = onnx.load_from_string(in_integers(bytes(model.SerializeToString()), 127))
    assert [node.op_type for node in rounded.graph.node] == ["MatMul"]


def test_equal_graphs_give_equal_bytes() -> None:
    content = graph(np.eye(INNER, dtype=np.float32))
    assert in_integers(content, 127) == in_integers(content, 127) != in_integers(content, 64)
