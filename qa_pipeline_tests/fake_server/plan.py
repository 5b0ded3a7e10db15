"""How the loopback server behaves: speed, faults, quota and models.

The same seed, request and number of arrival always draw the same fault.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline_tests.fake_server.chat import ChatAbilities

Fault = Literal["rate_limit", "server_error", "unavailable", "reset", "drip", "wrong_json", "cut_json"]
"""429, 500 and 503; a connection reset; a slow body; JSON that can be repaired; JSON that ends too early."""
INPUT_LIMIT = 1_048_576
_CONFIG = ConfigDict(extra="forbid")
_ABLE = ChatAbilities()


@dataclass(frozen=True)
class ServerPlan:
    """What a server does beside replying.

    Args:
        seed: of everything drawn.
        latency: seconds until the first byte of a reply.
        faults: share of the requests that meet each fault.
        requests_per_minute: quota for all models together; None is no quota.
        burst: requests the quota lets in at once.
        revoke_key_after: requests that are let in before the key is revoked.
        models: names of the models there are, with the tokens each reads; None knows every name.
        input_limit: tokens that a model reads where `models` does not say.
        chat: what the chat completions lack.
    """

    __pydantic_config__ = _CONFIG
    seed: int = 0
    latency: float = 0.0
    faults: Mapping[Fault, float] = field(default_factory=dict)
    requests_per_minute: float | None = None
    burst: int = 1
    revoke_key_after: int | None = None
    models: Mapping[str, int] | None = None
    input_limit: int = INPUT_LIMIT
    chat: ChatAbilities = _ABLE

    def __post_init__(self) -> None:
        """Refuse shares that are none.

        Raises:
            ValueError: an unknown fault, or shares below 0 or above 1 together.
        """
        unknown = set(self.faults) - set(get_args(Fault))
        if unknown:
            raise ValueError(f"no fault is named {sorted(unknown)}; there are {', '.join(get_args(Fault))}")
        if any(share < 0 for share in self.faults.values()) or sum(self.faults.values()) > 1:
            raise ValueError("the shares of faults are 0 or more each, and at most 1 together")

    def draw(self, request: bytes, arrival: int) -> Fault | None:
        """Return the fault that the given arrival of a request meets; `request` tells it from others."""
        content = f"{self.seed} {arrival} ".encode() + request
        point = random.Random(blake2b(content, digest_size=16).digest()).random()
        for fault, share in self.faults.items():
            point -= share
            if point < 0:
                return fault
        return None


def load_plan(path: Path) -> ServerPlan:
    """Read a plan from a YAML file.

    Raises:
        InputError: there is no such file, or it is no plan.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return TypeAdapter(ServerPlan).validate_python(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "plan"
        raise InputError(f"{path}: {place}: {first['msg']}") from error
