"""YAML that a reader would choke on."""

import pytest
import yaml

from qa_pipeline.settings.base import read_yaml


def _nine_of(name: str) -> str:
    return f"[{','.join([f'*{name}'] * 9)}]"


MERGES = "m0: &m0 {k: 1}\n" + "".join(f"m{i}: &m{i}\n  <<: {_nine_of(f'm{i - 1}')}\n" for i in range(1, 10))


@pytest.mark.parametrize(
    "text",
    [
        f"a: {'[' * 49_000}",
        "- " * 40_000,
        f"a: {'{a: ' * 9_000}1{'}' * 9_000}",
        MERGES,
        f"a: &a [x]\nb: {_nine_of('a')}\nc: {_nine_of('a')}",
        "a: 1\na: 2",
        "? &a [*a]\n: 1",
    ],
)
def test_yaml_over_the_limits_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        read_yaml(text)


def test_yaml_within_the_limits_is_read() -> None:
    assert read_yaml("[" * 50 + "]" * 50)
    text = "a: {k: 1.10, n: null, m: }\nb: [no, 'null', !!python/object/apply:os.getcwd []]"
    assert read_yaml(text) == {"a": {"k": "1.10", "n": None, "m": None}, "b": ["no", "null", []]}
