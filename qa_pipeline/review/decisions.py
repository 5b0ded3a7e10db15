"""Decisions made in the app: recorded as those of files, an edit verified before, and put into the tables."""

import logging
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import (
    APPLIED,
    EDITED,
    REOPENED,
    content_hashes,
    decision_states,
)
from qa_pipeline.errors import DecidedMeanwhileError, InputError, QAPipelineError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.review.decision_files import DecisionLine, ReadFile, decision_line
from qa_pipeline.review.decision_taking import (
    coded_reason,
    fitting_decisions,
    take_decisions,
    why_in_words,
)
from qa_pipeline.review.edits import VerifiedEdit, recorded_resources, verify_edit
from qa_pipeline.review.pair import answer_pieces, claim_views, support_of
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.files import version_of
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.table_schema import ChunkRow, DecisionColumns, DecisionRow, typed_rows
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, DECISIONS, DOCUMENTS, PAIRS, STORED, VERDICTS

FIELDS = (
    *("why", "edited_question", "edited_answer", "evidence_quote"),
    *("evidence_document_id", "evidence_start", "evidence_end"),
)
"""Fields of the form that a person fills."""
_EDITED_TEXTS = {"edited_question": "question", "edited_answer": "answer"}
_EVIDENCE = ("evidence_quote", "evidence_document_id")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a decision.

    Args:
        problem: why it was not taken; None where it was recorded, or is an edit to be looked at first.
        edit: an edit that fits and is not recorded yet, a row of decisions.
        checked: what the form of that edit carries once its verification was shown.
        status: of the page that shows it, by HTTP.
    """

    problem: str | None = None
    edit: DecisionColumns | None = None
    checked: str = ""
    status: int = 409


def decide(tables: StoredTables, batch: str, pair_id: str, form: Mapping[str, str], who: str) -> Outcome:
    """Record the decision of a form, on the disk when this returns.

    An edit is recorded once its form says that it was shown verified.
    """
    try:
        line = _line(tables, batch, pair_id, form, who)
        file = ReadFile({1: line}, {})
        checked = hash_json([getattr(line, name) for name in (*_EDITED_TEXTS, *_EVIDENCE)])
        if line.decision == EDITED and form.get("checked") != checked:
            fitting = fitting_decisions(tables.layout, file)
            if fitting.problems:
                return Outcome(fitting.problems[1])
            return Outcome(edit=fitting.rows[batch][0], checked=checked, status=200)
        seen = form.get("seen", "")
        taken = take_decisions(tables.layout, file, int(seen) if seen.isdecimal() else -1)
    except DecidedMeanwhileError as error:
        return Outcome(str(error))
    except InputError as error:
        return Outcome(str(error), status=400)
    except QAPipelineError as error:  # a folder that cannot be written, a full disk, damaged tables
        return Outcome(str(error), status=500)
    return Outcome(taken.problems.get(1))


def _line(tables: StoredTables, batch: str, pair_id: str, form: Mapping[str, str], who: str) -> DecisionLine:
    """Return the decision of a form; texts that stand in it unchanged are no part of it."""
    fields = {name: value.replace("\r\n", "\n").strip() for name, value in form.items()}
    pair = tables.frame(PAIRS, batch).filter(pl.col("pair_id") == pair_id)
    values = {name: fields[name] for name in ("content_sha256", "decision", "why") if fields.get(name)}
    for name, column in _EDITED_TEXTS.items():
        if fields.get(name) and fields[name] not in pair[column].str.strip_chars():
            values[name] = fields[name]
    values |= _evidence(tables, batch, fields, is_edit=values.get("decision") == EDITED)
    if code := fields.get("code"):
        values |= {"decision": "rejected", "why": coded_reason(code, fields.get("why", ""))}
    if fields.get("of_claim"):
        values["decision"], _, values["claim_id"] = fields["of_claim"].partition(" ")
    signature = {"batch": batch, "pair_id": pair_id, "who": who, "decided_at": datetime.now(UTC).isoformat()}
    return decision_line(values | signature)


def _evidence(
    tables: StoredTables, batch: str, fields: Mapping[str, str], *, is_edit: bool
) -> dict[str, str]:
    """Return the words named as evidence, those of the document where they were selected in it.

    Who only decides may have selected words to read or copy them; words that were written are refused there.
    """
    quote, document_id = fields.get("evidence_quote", ""), fields.get("evidence_document_id", "")
    start, end = (fields.get(name, "") for name in ("evidence_start", "evidence_end"))
    if document_id and start.isdecimal() and end.isdecimal():
        texts = tables.frame(DOCUMENTS, batch).filter(pl.col("document_id") == document_id)["text"]
        selected = (texts[0] or "")[int(start) : int(end)].strip() if texts.len() else ""
        if not selected and is_edit:
            raise InputError("the document has changed: select the words that are evidence again")
        if not quote or _letters(quote) == _letters(selected):
            return {"evidence_quote": selected, "evidence_document_id": document_id} if is_edit else {}
    return {"evidence_quote": quote} if quote else {}


def _letters(text: str) -> str:
    """Return letters and digits alone: a page shows words without their markup and line ends."""
    return re.sub(r"[\W_]", "", text)


class StatedRow(DecisionRow):
    """A row of decisions with its state."""

    state: str


@dataclass(frozen=True, slots=True)
class DecidedPair:
    """The decisions about a pair that stand, and what a form carries that takes one of them back."""

    batch: str
    pair_id: str
    question: str
    content_sha256: str
    seen: int  # number of the last decision about it; -1 without one
    last: StatedRow | None  # standing or not
    standing: list[StatedRow]  # the latest last

    @property
    def is_taken_back(self) -> bool:
        """Return whether the last thing that happened was to take a decision back."""
        return self.last is not None and self.last["decision"] == REOPENED


def decided_pair(tables: StoredTables, batch: str, pair_id: str) -> DecidedPair | None:
    """Return what was decided about a pair; None where the batch has no such pair."""
    own = pl.col("pair_id") == pair_id
    pairs, claims = (tables.frame(table, batch).filter(own) for table in (PAIRS, CLAIMS))
    if not pairs.height:
        return None
    decisions = decision_states(tables.decisions(batch).filter(own), pairs, claims)
    rows = list(typed_rows(decisions, StatedRow))
    return DecidedPair(
        batch=batch,
        pair_id=pair_id,
        question=pairs["question"][0] or "(no question)",
        content_sha256=content_hashes(pairs, claims)[pair_id],
        seen=rows[-1]["sequence"] if rows else -1,
        last=rows[-1] if rows else None,
        standing=[
            {**row, "why": why_in_words(row["why"])}
            for row, state in zip(rows, decisions["state"], strict=True)
            if state == APPLIED
        ],
    )


def edit_view(tables: StoredTables, batch: str, edit: VerifiedEdit) -> dict[str, Any]:
    """Return a verified edit as its page shows it: marked answer and claims."""
    pair = edit.pair.row(0, named=True)
    evidence = edit.claims["evidence_chunk_id"]
    near = tables.frame(CHUNKS, batch).filter(pl.col("chunk_id").is_in(evidence.drop_nulls().implode()))
    chunks = {chunk["chunk_id"]: chunk for chunk in typed_rows(near, ChunkRow)}
    paths = dict(tables.frame(DOCUMENTS, batch).select("document_id", "path").iter_rows())
    claims = list(claim_views(edit.claims.sort("position"), edit.claim_verdicts, chunks, paths))
    return {
        "question": pair["question"],
        "answer": list(answer_pieces(pair["answer"], claims)),
        "claims": claims,
        "support": support_of(claims),
    }


def pending_decisions(tables: StoredTables, batch: str) -> int:
    """Return how many decisions about a batch no run has taken into its tables."""
    recorded = tables.decisions(batch)
    return recorded.join(tables.optional(DECISIONS, batch), on="decision_id", how="anti").height


class Editing:
    """Models and settings of the batch whose pair was last edited."""

    def __init__(self, tables: StoredTables) -> None:
        self._tables = tables
        self._resources: Resources | None = None
        self._made_for: object = None
        self._models = threading.Lock()
        """Held while models work: they are not made for several threads."""

    def verify(self, batch: str, decision: DecisionColumns) -> VerifiedEdit:
        """Verify the pair that an edit would become; nothing is written."""

        def frame(name: str) -> pl.DataFrame:
            return self._tables.frame(STORED[name], batch)

        with self._models:
            return verify_edit(self._resources_of(batch), frame, {"sequence": 0, **decision})

    def _resources_of(self, batch: str) -> Resources:
        """Return settings and models of a batch; the embedding model is loaded once."""
        layout = self._tables.layout
        made_for = batch, version_of(layout.table(VERDICTS.name, batch))
        if self._resources is None or self._made_for != made_for:
            self._resources = recorded_resources(layout, batch, self._resources)
            self._made_for = made_for
        return self._resources
