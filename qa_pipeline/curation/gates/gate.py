"""What a gate found, the gate of a law, and what the rest of the package has to know of a gate."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from qa_pipeline.settings.verification import QualitySettings
from qa_pipeline.storage.tables import STORED


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of one gate.

    `value` is held against `threshold`; both are None where the gate counts breaches of a law, and value is
    None where there was nothing to measure. `n` is how many rows were looked at. A gate that is not
    `blocking` warns.
    """

    name: str
    passed: bool
    blocking: bool
    value: float | None
    threshold: float | None
    n: int
    detail: str
    counts: dict[str, int] = field(default_factory=dict)


def law(name: str, n: int, breaches: dict[str, int], detail: str) -> Gate:
    """Return a blocking gate that passes without any breach; the detail names the breaches."""
    broken = ", ".join(f"{count} {what}" for what, count in breaches.items() if count)
    message = "; ".join(part for part in (broken, detail) if part) or "holds"
    return Gate(name, not broken, True, None, None, n, message, breaches)


@dataclass(frozen=True)
class GateSpec:
    """A gate and what the rest of the package has to know of it.

    Args:
        asset: the table whose making it follows.
        name: of the gate; at its asset it is unique.
        function: takes tables by their names, and `settings`.
        blocking: whether a batch that fails it is not published.
        asks_for: its description; else the first line of the function's docstring.
    """

    asset: str
    name: str
    function: Callable[..., Gate]
    blocking: bool = True
    asks_for: str = ""

    @cached_property
    def _parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.function).parameters)

    @property
    def description(self) -> str:
        """Return the requirement of the gate."""
        return self.asks_for or (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the tables it looks at."""
        return tuple(name for name in self._parameters if name in STORED)

    def check(self, frames: Mapping[str, pl.DataFrame], settings: QualitySettings) -> Gate:
        """Run the gate over the tables of a batch; an absent one is an error."""
        more = {"settings": settings} if "settings" in self._parameters else {}
        return self.function(**{name: frames[name] for name in self.reads}, **more)
