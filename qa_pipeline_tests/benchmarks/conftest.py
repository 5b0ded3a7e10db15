import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

RunMain = Callable[..., dict[str, Any]]


@pytest.fixture
def run_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunMain:
    """Return a function that runs the `main` of a benchmark with arguments and returns what it prints."""

    def run(main: Callable[[], None], *arguments: object) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, arguments)])
        main()
        return dict(json.loads(capsys.readouterr().out))

    return run
