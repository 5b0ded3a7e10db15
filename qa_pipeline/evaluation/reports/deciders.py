"""Who decided a figure: rules, likeness, a model or people, and the share of each."""

from collections import Counter
from collections.abc import Mapping

LIKENESS = "likeness"
MOSTLY = 0.5
"""Share of its decisions from which a figure is said to rest on likeness: it is then no proof of anything."""
_FAMILIES = {
    "quotation": "rules",
    "citation": "rules",
    "rules": "rules",
    "similarity": LIKENESS,
    "similarity_only": LIKENESS,
    "entailment": "model",
    "llm": "model",
    "person": "people",
}
_WITHOUT = "without "
"""A metric may also count the parts that it had to do without."""


def decision_counts(decided_by: Mapping[str, int]) -> dict[str, int]:
    """Return how many decisions each step took, without what a metric had to do without."""
    return {step: count for step, count in decided_by.items() if not step.startswith(_WITHOUT) and count}


def decider_shares(decided_by: Mapping[str, int]) -> dict[str, float]:
    """Return the share of rules, likeness, model and people in a figure, the largest first.

    Args:
        decided_by: decisions by step, as reports count them; empty for arithmetic alone.
    """
    counts = Counter[str]()
    for step, count in decision_counts(decided_by).items():
        counts[_FAMILIES.get(step, step)] += count
    total = sum(counts.values())
    return {
        name: count / total for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    }


def rests_on_likeness(decided_by: Mapping[str, int]) -> bool:
    """Return whether likeness alone decided most of a figure."""
    return decider_shares(decided_by).get(LIKENESS, 0.0) > MOSTLY


def has_model(decided_by: Mapping[str, int]) -> bool:
    """Return True if a model or a person took one of the decisions."""
    return bool({"model", "people"} & {*decider_shares(decided_by)})


def is_undecided(decided_by: Mapping[str, int]) -> bool:
    """Return True if likeness took most decisions, or any where no model and no person took one."""
    likeness = decider_shares(decided_by).get(LIKENESS, 0.0)
    return likeness > MOSTLY or (likeness > 0 and not has_model(decided_by))


def describe_deciders(decided_by: Mapping[str, int]) -> str:
    """Return who decided a figure in words, such as "rules 71 %, likeness 29 %"."""
    shares = decider_shares(decided_by)
    if not shares:
        return "arithmetic"
    return ", ".join(f"{name} {_percent(share)}" for name, share in shares.items())


def _percent(share: float) -> str:
    """Return a share in percent; neither none nor all where it is neither."""
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"
