"""The form of decisions: what was decided about a pair, what can be undone, what the tables lack."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from qa_pipeline.curation.decisions import APPLIED, REOPENED, content_hashes, decision_states
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import TableError
from qa_pipeline.pipeline.applying import VerifiedEdit
from qa_pipeline.review.decision_forms import REJECTIONS, why_in_words
from qa_pipeline.review.pair_view import (
    AnswerPiece,
    ClaimView,
    PairView,
    Support,
    answer_pieces,
    claim_views,
    support_of,
)
from qa_pipeline.review.panel import Rating, Stand
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.rows import ChunkRow, DecisionRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, DECISIONS, DOCUMENTS, PAIRS
from qa_pipeline.verification.outcomes import SUPPORTED

FIELDS = (
    *("why", "edited_question", "edited_answer", "evidence_quote"),
    *("evidence_document_id", "evidence_start", "evidence_end"),
)
"""Fields of the form that a person fills."""
KEYS: Mapping[str, str] = {
    "a": "Accept, or save an edit that was verified",
    "1 2 3 4 5 6 7 8 9": "Reject for the reason of that number",
    "r": "Look at the reasons and write a note",
    "0": "Reject for the reason in the note",
    "e": "Edit the question or the answer",
    "v": "Verify the edit",
    "c": "Decide claim by claim",
    "s n j": "Next pair, without a decision",
    "k p": "Previous pair",
    "u": "Undo",
    "/": "Search in the queue",
    "?": "This list",
}
"""Keys of a pair's page, and what they do."""


@dataclass(frozen=True, slots=True)
class DecidedPair:
    """The decisions about a pair that stand, and what a form carries that takes one of them back.

    Args:
        batch: the batch.
        pair_id: the pair.
        question: of it.
        content_sha256: of its present content.
        seen: number of the last decision about it; -1 without one.
        last: the last decision, whether it stands or not; None without one.
        standing: decisions that apply, the latest last.
    """

    batch: str
    pair_id: str
    question: str
    content_sha256: str
    seen: int
    last: DecisionRow | None
    standing: list[DecisionRow]

    @property
    def is_taken_back(self) -> bool:
        """Return whether the last thing that happened was to take a decision back."""
        return self.last is not None and self.last["decision"] == REOPENED


def decided_pair(tables: StoredTables, batch: str, pair_id: str) -> DecidedPair | None:
    """Return what was decided about a pair; None where the batch has no such pair.

    Raises:
        TableError: tables or decisions cannot be read.
    """
    own = pl.col("pair_id") == pair_id
    pairs, claims = (tables.frame(table, batch).filter(own) for table in (PAIRS, CLAIMS))
    if not pairs.height:
        return None
    decisions = decision_states(tables.decisions(batch).filter(own), pairs, claims)
    rows = list(typed_rows(decisions, DecisionRow))
    return DecidedPair(
        batch=batch,
        pair_id=pair_id,
        question=pairs["question"][0] or "(no question)",
        content_sha256=content_hashes(pairs, claims)[pair_id],
        seen=rows[-1]["sequence"] if rows else -1,
        last=rows[-1] if rows else None,
        standing=[
            {**row, "why": why_in_words(row["why"])}
            for row in typed_rows(decisions.filter(pl.col("state") == APPLIED), DecisionRow)
        ],
    )


def decided_before(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Return batch and id of the pair that was decided before this page was opened, by its address."""
    return (query["decided_in"], query["decided"]) if {"decided_in", "decided"} <= query.keys() else None


@dataclass(frozen=True, slots=True)
class EditView:
    """A pair as an edit makes it: marked answer, claims, and the verdict it will have."""

    question: str
    answer: list[AnswerPiece]
    claims: list[ClaimView]
    support: Support
    verdict: str
    reason: str


def edit_view(tables: StoredTables, batch: str, edit: VerifiedEdit) -> EditView:
    """Return a verified edit as its page shows it."""
    pair, verdict = edit.pair.row(0, named=True), edit.verdict.row(0, named=True)
    evidence = pl.concat([edit.claims["evidence_chunk_id"], edit.claims["second_evidence_chunk_id"]])
    near = tables.frame(CHUNKS, batch).filter(pl.col("chunk_id").is_in(evidence.drop_nulls().implode()))
    chunks = {chunk["chunk_id"]: chunk for chunk in typed_rows(near, ChunkRow)}
    paths = dict(tables.frame(DOCUMENTS, batch).select("document_id", "path").iter_rows())
    claims = list(claim_views(edit.claims.sort("position"), edit.claim_verdicts, chunks, paths))
    return EditView(
        question=pair["question"],
        answer=list(answer_pieces(pair["answer"], claims)),
        claims=claims,
        support=support_of(sum(claim.verdict == SUPPORTED for claim in claims), len(claims)),
        verdict=verdict["verdict"],
        reason=in_words(verdict["reason"], verdict["detail"]),
    )


@dataclass(frozen=True, slots=True)
class Attempt:
    """A form that was sent and not taken: what it holds goes back into the page.

    Args:
        fields: what the person filled in.
        problem: why it was not taken.
        edit: the edit as it would be, not saved yet.
        checked: what the form carries once `edit` was shown.
    """

    fields: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(FIELDS, ""))
    problem: str | None = None
    edit: EditView | None = None
    checked: str = ""


def sent_fields(form: Mapping[str, str]) -> dict[str, str]:
    """Return what a person filled in of a form."""
    return {name: form.get(name, "") for name in FIELDS}


@dataclass(frozen=True, slots=True)
class DecisionPanel:
    """Everything that the form of decisions shows besides the pair.

    Args:
        view: the pair.
        now: what was decided about it.
        before: what was decided about the pair whose decision led to this page; None without one.
        attempt: a form that was sent and not taken.
        pending: decisions about the batch that are not in its tables.
        stand: how far several people are with the pair.
        who: the person who looks.
    """

    view: PairView
    now: DecidedPair
    before: DecidedPair | None
    attempt: Attempt
    pending: int
    stand: Stand
    who: str
    reasons: Mapping[str, str] = field(default_factory=lambda: REJECTIONS)
    keys: Mapping[str, str] = field(default_factory=lambda: KEYS)

    def claim_label(self, claim_id: str) -> str:
        """Return the name of a claim in the answer."""
        return next((f"c{claim.number}" for claim in self.view.claims if claim.claim_id == claim_id), "claim")

    @property
    def is_for_others(self) -> bool:
        """Return whether others decide about the pair, or are to."""
        return self.stand.open_for is not None and self.who not in self.stand.open_for

    @property
    def can_edit(self) -> bool:
        """Return whether the person decides alone, and so may decide an edit or a single claim."""
        return not self.stand.is_rated_by(self.who) and not self.is_for_others

    @property
    def ratings(self) -> list[tuple[Rating, str | None]]:
        """Return the ratings that the person may see, with their reasons in words."""
        return [(rating, why_in_words(rating.why)) for rating in self.stand.shown_to(self.who)]

    @property
    def is_editing(self) -> bool:
        """Return whether the person edits: a text was changed, or evidence named."""
        fields, pair = self.attempt.fields, self.view.pair
        texts = {"edited_question": pair["question"], "edited_answer": pair["answer"]}
        return bool(fields["evidence_quote"]) or any(
            fields[name] and fields[name].split() != (text or "").split() for name, text in texts.items()
        )


def decision_panel(
    tables: StoredTables,
    view: PairView,
    batch: str,
    attempt: Attempt,
    before: tuple[str, str] | None,
    stand: Stand,
    who: str,
) -> DecisionPanel:
    """Gather what the form of decisions shows about a pair.

    Raises:
        TableError: tables or decisions cannot be read.
    """
    now = decided_pair(tables, batch, view.pair["pair_id"])
    assert now is not None  # noqa: S101 - the pair is shown
    if stand.is_gold and stand.is_rated_by(who):
        now = replace(now, standing=[])
    decided = decided_pair(tables, *before) if before else None
    return DecisionPanel(
        view,
        now,
        decided if decided and decided.last else None,
        attempt,
        pending_decisions(tables, batch),
        stand,
        who,
    )


def pending_decisions(tables: StoredTables, batch: str) -> int:
    """Return how many decisions about a batch no run has taken into its tables.

    Raises:
        TableError: tables or decisions cannot be read.
    """
    recorded = tables.decisions(batch)
    return recorded.join(tables.optional(DECISIONS, batch), on="decision_id", how="anti").height


@dataclass(frozen=True, slots=True)
class PendingBatch:
    """A batch with decisions that are not in its tables, and the command that takes them in."""

    pending: int
    command: str
    problem: str | None = None


def pending_batches(tables: StoredTables, layout: Layout) -> dict[str, PendingBatch]:
    """Return the batches with decisions that are not in their tables, or whose decisions cannot be read."""
    batches = {}
    for path in sorted((layout.out / "decisions").glob("*.jsonl")):
        try:
            pending, problem = pending_decisions(tables, path.stem), None
        except TableError as error:
            pending, problem = 0, str(error)
        if pending or problem:
            batches[path.stem] = PendingBatch(pending, run_command(layout, path.stem), problem)
    return batches


def run_command(layout: Layout, batch: str) -> str:
    """Return the command that takes decisions in; words in capitals stand for what nobody recorded."""
    origin = layout.origin(batch)
    if origin.is_file():
        corpus = origin.read_text(encoding="utf-8")
        return shlex.join(["qa-pipeline", "run", corpus, "--batch", batch, "--out", str(layout.out)])
    return shlex.join(["qa-pipeline", "validate", "PAIRS", "--corpus", "CORPUS", "--out", str(layout.out)])
