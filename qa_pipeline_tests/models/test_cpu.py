from pathlib import Path

import pytest

from qa_pipeline.models import cpu as embedding_precision
from qa_pipeline.models.cpu import BFLOAT16_FLAGS, choose_precision, every_core_has


def test_a_wish_for_a_precision_is_granted() -> None:
    assert choose_precision("float32") == "float32"
    assert choose_precision("bfloat16") == "bfloat16"


@pytest.mark.parametrize(
    ("cpuinfo", "wanted"),
    [
        ("flags : fpu sse avx512_bf16\nflags : fpu sse avx512_bf16\n", "bfloat16"),
        ("flags\t\t: fpu amx_bf16 amx_int8\n", "bfloat16"),
        ("Features\t: fp asimd bf16\n", "bfloat16"),
        ("Features\t: fp asimd asimddp\n", "float32"),
        ("flags : fpu avx512_bf16\nflags : fpu sse\n", "float32"),
        ("flags : fpu avx_vnni\nflags : fpu avx2\n", "float32"),
        ("flags : fpu avx512f avx512_vnni\n", "float32"),
        ("flags : fpu avx2 avx_vnni\n", "float32"),
        ("model name : bf16 avx_vnni\n", "float32"),
        ("", "float32"),
    ],
)
def test_a_precision_is_taken_only_where_every_core_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpuinfo: str, wanted: str
) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo)
    monkeypatch.setattr(embedding_precision, "CPUINFO", path)
    assert choose_precision("auto") == wanted


def test_a_system_that_does_not_list_its_processor_gets_what_is_safe(tmp_path: Path) -> None:
    assert not every_core_has(BFLOAT16_FLAGS, tmp_path / "absent")
