"""How the loopback server behaves: its speed, its models and what they can do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline_tests.fake_server.chat import ChatAbilities

INPUT_LIMIT = 1_048_576
_CONFIG = ConfigDict(extra="forbid")
_ABLE = ChatAbilities()


@dataclass(frozen=True)
class ServerPlan:
    """Set the behaviour of a server.

    Args:
        latency: seconds until the first byte of a reply.
        models: names of its models with the tokens that each reads; None knows every name.
        input_limit: tokens that a model reads if `models` does not say.
        chat: abilities of its chat completions.
    """

    __pydantic_config__ = _CONFIG
    latency: float = 0.0
    models: Mapping[str, int] | None = None
    input_limit: int = INPUT_LIMIT
    chat: ChatAbilities = _ABLE


def load_plan(path: Path) -> ServerPlan:
    """Read a plan from a YAML file.

    Raises:
        InputError: the file does not exist or contains no plan.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return TypeAdapter(ServerPlan).validate_python(content)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise InputError(f"{path}: cannot be used: {error}") from error
