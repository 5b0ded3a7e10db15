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
        f"a: {'9' * 4401}",
        f"a: 1{':59' * 15_000}.5",
        "a: !!int ''",
        "a: !!bool x",
        "a: !!timestamp x",
        "a: 2024-13-45",
        "? &a [*a]\n: 1",
        "a: !!python/object/apply:os.getcwd []",
    ],
)
def test_yaml_over_the_limits_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        read_yaml(text)


def test_yaml_within_the_limits_is_read() -> None:
    assert read_yaml("[" * 50 + "]" * 50)
    assert read_yaml("a: {k: 1, n: 0x1f}") == {"a": {"k": 1, "n": 31}}
