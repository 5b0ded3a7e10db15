from pathlib import Path

import pytest

from qa_pipeline.models import cpu as embedding_precision
from qa_pipeline.models.cpu import (
    BFLOAT16_FLAGS,
    INT8_FLAGS,
    WEIGHT_STEPS,
    choose_precision,
    every_core_has,
    integer_precision,
)


def test_a_wish_for_a_precision_is_granted() -> None:
    assert choose_precision("float32") == "float32"
    assert choose_precision("bfloat16") == "bfloat16"


@pytest.mark.parametrize(
    ("cpuinfo", "bfloat16", "int8"),
    [
        ("flags : fpu sse avx512_bf16\nflags : fpu sse avx512_bf16\n", "bfloat16", "int7"),
        ("flags\t\t: fpu amx_bf16 amx_int8\n", "bfloat16", "int8"),
        ("Features\t: fp asimd bf16\n", "bfloat16", "int7"),
        ("Features\t: fp asimd asimddp\n", "float32", "int8"),
        ("flags : fpu avx512_bf16\nflags : fpu sse\n", "float32", "int7"),
        ("flags : fpu avx_vnni\nflags : fpu avx2\n", "float32", "int7"),
        ("flags : fpu avx512f avx512_vnni\n", "float32", "int8"),
        ("flags : fpu avx2 avx_vnni\n", "float32", "int8"),
        ("model name : bf16 avx_vnni\n", "float32", "int7"),
        ("", "float32", "int7"),
    ],
)
def test_a_precision_is_taken_only_where_every_core_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpuinfo: str, bfloat16: str, int8: str
) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo)
    monkeypatch.setattr(embedding_precision, "CPUINFO", path)
    assert (choose_precision("auto"), integer_precision()) == (bfloat16, int8)


def test_a_system_that_does_not_list_its_processor_gets_what_is_safe(tmp_path: Path) -> None:
    assert not every_core_has(BFLOAT16_FLAGS | INT8_FLAGS, tmp_path / "absent")


def test_two_products_of_seven_bits_fit_in_sixteen() -> None:
    assert 2 * 255 * WEIGHT_STEPS["int7"] < 2**15 <= 2 * 255 * WEIGHT_STEPS["int8"]
