"""Results and specifications of gates."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from qa_pipeline.settings.verification import QualitySettings, ReleaseSettings
from qa_pipeline.storage.tables import STORED
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of a gate.

    `value` is compared with `threshold`. Both are None if the gate counts breaches of a law. `value` is also
    None without rows to measure. `n` is the number of checked rows. A gate that is not `blocking` only warns.
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
    """Return a blocking gate that passes if all counts of breaches are 0. The detail lists the breaches."""
    broken = ", ".join(f"{count} {kind}" for kind, count in breaches.items() if count)
    message = "; ".join(part for part in (broken, detail) if part) or "holds"
    return Gate(name, not broken, True, value=None, threshold=None, n=n, detail=message, counts=breaches)


@dataclass(frozen=True)
class GateSpec:
    """The specification of a gate.

    Args:
        asset: the table after which the gate runs.
        name: name of the gate, unique for its asset.
        function: the check; its parameters are names of tables, and optionally `settings`.
        blocking: if True, a batch that fails the gate is not published.
    """

    asset: str
    name: str
    function: Callable[..., Gate]
    blocking: bool = True

    @cached_property
    def _parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.function).parameters)

    @property
    def description(self) -> str:
        """Return the first line of the function's docstring, shown at its asset check."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the names of the tables that the function takes."""
        return tuple(name for name in self._parameters if name in STORED)

    def check(self, frames: Mapping[str, pl.DataFrame], settings: QualitySettings) -> Gate:
        """Run the gate over the tables of a batch.

        Raises:
            KeyError: a table that the function takes is missing.
        """
        more = {"settings": settings} if "settings" in self._parameters else {}
        return self.function(**{name: frames[name] for name in self.reads}, **more)


def release_floor(
    *, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, verdicts: pl.DataFrame, settings: ReleaseSettings
) -> list[Gate]:
    """Return blocking gates over the accepted pairs of a batch. A measure without rows passes.

    `faithfulness` is the share of supported claims over all accepted pairs. `grounding` is the mean share of
    supported claims per pair. `citation_accuracy` is the mean share of citations that support a claim.
    """
    # a pair with an expected verdict tests the pipeline and is never released
    accepted = verdicts.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    decided = decided_claims(claims, claim_verdicts).join(accepted, on="pair_id", how="semi")
    # by measure: a value per claim or pair, and the lower limit of their mean
    measured = {
        "faithfulness": ((decided["verdict"] == SUPPORTED).cast(pl.Float64), settings.min_faithfulness),
        "grounding": (accepted["grounding"], settings.min_grounding),
        "citation_accuracy": (accepted["citation_accuracy"], settings.min_citation_accuracy),
    }
    return [_at_least(name, values.drop_nulls(), limit) for name, (values, limit) in measured.items()]


def _at_least(name: str, values: pl.Series, limit: float) -> Gate:
    if values.is_empty():
        return Gate(name, True, blocking=True, value=None, threshold=limit, n=0, detail="nothing to measure")
    mean = float(values.sum()) / values.len()
    message = f"{name} {mean:.3f} over {values.len()}, the release floor is {limit}"
    return Gate(name, mean >= limit, True, value=mean, threshold=limit, n=values.len(), detail=message)
