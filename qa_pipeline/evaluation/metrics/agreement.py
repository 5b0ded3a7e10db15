"""How far each metric agrees with people, as measured once and packaged (`meta_evaluation.json`).

`python -m qa_pipeline_tests.benchmarks.quality.measure_metrics` measures it and writes the file.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from qa_pipeline.errors import InputError

PACKAGED = Path(__file__).with_name("meta_evaluation.json")


@cache
def metric_agreement(path: Path = PACKAGED) -> dict[str, Any]:
    """Read the agreement with people's labels by metric and language; empty for an unmeasured metric.

    Raises:
        InputError: the file is damaged.
    """
    try:
        return dict(json.loads(path.read_bytes())["metrics"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read; install qa-pipeline again") from error
