from pathlib import Path

import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics.agreement import metric_agreement
from qa_pipeline.evaluation.metrics.registry import METRICS


def test_the_packaged_file_names_metrics_that_exist() -> None:
    assert set(metric_agreement()) <= set(METRICS)
    assert metric_agreement()["faithfulness"]


@pytest.mark.parametrize("content", [None, "[", "[]", "{}"])
def test_a_damaged_file_is_an_error_that_says_what_to_do(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "agreement.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="install qa-pipeline again"):
        metric_agreement(path)
