import importlib
import sys

import pytest

from qa_pipeline_tests.benchmarks.support.listing import PACKAGE, benchmarks

NAMES = [name for name, _ in benchmarks()]


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_starts_and_says_how_it_is_run(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"{PACKAGE}.{name}").main()
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out
