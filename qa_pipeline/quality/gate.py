"""What a gate found, and the gate of a law."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Gate:
    """What one gate found.

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
    """A blocking gate that no breach may pass; the detail names the breaches where there are any."""
    broken = ", ".join(f"{count} {what}" for what, count in breaches.items() if count)
    said = "; ".join(part for part in (broken, detail) if part) or "holds"
    return Gate(name, not broken, True, None, None, n, said, breaches)
