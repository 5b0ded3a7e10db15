"""Decisions made on a page: they take the way of decision files, and are refused in the same words."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.people.decision_files import DecisionLine, ReadFile, take_decisions
from qa_pipeline.storage.layout import Layout


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a decision: `problem` says why it was not taken, and is None where it was recorded."""

    problem: str | None


def decide(layout: Layout, batch: str, pair_id: str, form: Mapping[str, str], who: str) -> Outcome:
    """Record the decision of a form, on the disk when this returns.

    Args:
        layout: the output folder.
        batch: the pair's batch.
        pair_id: the pair.
        form: decision, content_sha256 and, where there are any, claim_id, edited_answer, why.
        who: the person.

    Raises:
        InputError: a field of the form cannot be used.
        TableError: recorded decisions or tables cannot be read.
        StorageError: the decision cannot be recorded.
    """
    fields = ("claim_id", "content_sha256", "decision", "edited_answer", "why")
    try:
        line = DecisionLine.model_validate(
            {
                **{name: form[name] for name in fields if name in form},
                "batch": batch,
                "pair_id": pair_id,
                "who": who,
                "decided_at": datetime.now(UTC).isoformat(),
            }
        )
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputError(f"{problem['loc'][0]}: {problem['msg']}") from error
    taken = take_decisions(layout, ReadFile({1: line}, [], 0, "decision"))
    return Outcome(taken.problems[0].text if taken.problems else None)
