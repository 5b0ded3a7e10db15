"""Decisions made in the app: read from a form, recorded, and listed for the page of a pair."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from qa_pipeline.curation.decisions import APPLIED, REOPENED, content_hashes, decision_states
from qa_pipeline.errors import DecidedMeanwhileError, InputError, QAPipelineError
from qa_pipeline.review.decision_files import DecisionLine, ReadFile, decision_line
from qa_pipeline.review.decision_taking import coded_reason, take_decisions, why_in_words
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.rows import DecisionRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CLAIMS, DECISIONS, PAIRS

_EDITED_TEXTS = {"edited_question": "question", "edited_answer": "answer"}
FIELDS = ("why", *_EDITED_TEXTS, "evidence_quote")
"""Fields of the form that a person fills."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The problem of a refused decision, and the HTTP status of its page."""

    problem: str | None = None
    status: int = 200


def decide(tables: StoredTables, batch: str, pair_id: str, form: Mapping[str, str], who: str) -> Outcome:
    """Record the decision of a form. It is on the disk when this returns."""
    try:
        line = _line(tables, batch, pair_id, form, who)
        seen = form.get("seen", "")
        file = ReadFile({1: line}, {})
        taken = take_decisions(tables.layout, file, int(seen) if seen.isdecimal() else -1)
    except DecidedMeanwhileError as error:
        return Outcome(str(error), 409)
    except InputError as error:
        return Outcome(str(error), 400)
    except QAPipelineError as error:  # a folder that cannot be written, a full disk, damaged tables
        return Outcome(str(error), 500)
    return Outcome(taken.problems.get(1), 409)


def _line(tables: StoredTables, batch: str, pair_id: str, form: Mapping[str, str], who: str) -> DecisionLine:
    """Return the decision of a form, without texts that are unchanged."""
    fields = {name: value.replace("\r\n", "\n").strip() for name, value in form.items()}
    pair = tables.frame(PAIRS, batch).filter(pair_id=pair_id)
    names = ("content_sha256", "decision", "claim_id", "why", "evidence_quote")
    values = {name: fields[name] for name in names if fields.get(name)}
    for name, column in _EDITED_TEXTS.items():
        if fields.get(name) and fields[name] not in pair[column].str.strip_chars():
            values[name] = fields[name]
    if code := fields.get("code"):
        values |= {"decision": "rejected", "why": coded_reason(code, fields.get("why", ""))}
    if fields.get("of_claim"):
        values["decision"], _, values["claim_id"] = fields["of_claim"].partition(" ")
    signature = {"batch": batch, "pair_id": pair_id, "who": who, "decided_at": datetime.now(UTC).isoformat()}
    return decision_line(values | signature)


class StatedRow(DecisionRow):
    """A row of decisions with its state."""

    state: str


@dataclass(frozen=True, slots=True)
class DecidedPair:
    """The decisions about a pair, with the values that a form needs to take one back.

    Args:
        batch: batch of the pair.
        pair_id: its id.
        question: its question.
        content_sha256: hash of the present pair.
        seen: number of the last decision about it; -1 without decisions.
        last: the last decision.
        standing: the decisions that count, the latest last.
    """

    batch: str
    pair_id: str
    question: str
    content_sha256: str
    seen: int
    last: StatedRow | None
    standing: list[StatedRow]

    @property
    def is_taken_back(self) -> bool:
        """Return True if the last decision took another back."""
        return self.last is not None and self.last["decision"] == REOPENED


def decided_pair(tables: StoredTables, batch: str, pair_id: str) -> DecidedPair | None:
    """Return the decisions about a pair, if the batch has it."""
    pairs, claims = (tables.frame(table, batch).filter(pair_id=pair_id) for table in (PAIRS, CLAIMS))
    if not pairs.height:
        return None
    decisions = decision_states(tables.decisions(batch).filter(pair_id=pair_id), pairs, claims)
    rows = list(typed_rows(decisions, StatedRow))
    return DecidedPair(
        batch=batch,
        pair_id=pair_id,
        question=pairs["question"][0] or "(no question)",
        content_sha256=content_hashes(pairs, claims)[pair_id],
        seen=rows[-1]["sequence"] if rows else -1,
        last=rows[-1] if rows else None,
        standing=[{**row, "why": why_in_words(row["why"])} for row in rows if row["state"] == APPLIED],
    )


def pending_decisions(tables: StoredTables, batch: str) -> int:
    """Return the number of recorded decisions that wait for a run."""
    applied = tables.optional(DECISIONS, batch)
    return tables.decisions(batch).join(applied, on="decision_id", how="anti").height
