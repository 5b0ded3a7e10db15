import json
from pathlib import Path

import pytest

from qa_pipeline_tests.benchmarks.quality.measure_careless_model import main

GUIDE = """# Kestrel guide

## Draining

A drain valve is a valve that empties the boiler. To drain it, open the lower valve and wait 10 minutes.

## Weight

A load cell is a sensor that weighs the boiler. The boiler weighs 80 kg without its water and its front door.
"""


def test_no_wrong_row_of_a_careless_model_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = tmp_path / "corpus" / "boilers" / "guide.md"
    guide.parent.mkdir(parents=True)
    guide.write_text(GUIDE, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["measure", "--corpus", str(tmp_path / "corpus"), "--rows", "4"])

    main()

    *groups, asked, judge = map(json.loads, capsys.readouterr().out.splitlines())
    verified = {group["group"]: group["verified"] for group in groups}
    assert verified["own"] > 0
    assert verified["document"] == 0
    assert asked["calls"] <= asked["claims asked about"]
    assert judge["judge trusted"] is False
    assert {group["accepted"] for group in groups} == {0}
