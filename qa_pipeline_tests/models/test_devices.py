from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.models import devices
from qa_pipeline.models.devices import (
    batches_of_one_length,
    choose_precision,
)


@pytest.mark.parametrize(
    ("cpuinfo", "wanted"),
    [
        ("flags : fpu sse avx512_bf16\nflags : fpu sse avx512_bf16\n", "bfloat16"),
        ("flags\t\t: fpu amx_bf16 amx_int8\n", "bfloat16"),
        ("Features\t: fp asimd bf16\n", "bfloat16"),
        ("Features\t: fp asimd asimddp\n", "float32"),
        ("flags : fpu avx512_bf16\nflags : fpu sse\n", "float32"),
        ("model name : bf16 avx_vnni\n", "float32"),
        ("", "float32"),
    ],
)
def test_a_precision_is_taken_only_where_every_core_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpuinfo: str, wanted: str
) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo)
    monkeypatch.setattr(devices, "CPUINFO", path)
    assert choose_precision("auto") == wanted


@given(lengths=st.lists(st.integers(1, 6), max_size=40), batch_size=st.integers(1, 5))
def test_batches_hold_one_length_and_every_row_once(lengths: list[int], batch_size: int) -> None:
    batches = list(batches_of_one_length(np.array(lengths, dtype=np.int64), lambda _: batch_size))
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    assert all(len({lengths[row] for row in batch}) == 1 for batch in batches if len(batch))
    assert all(len(batch) <= batch_size for batch in batches)
