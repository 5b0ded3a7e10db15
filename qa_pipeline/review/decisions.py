"""Decisions of people: read from a form, compared with the pairs they are about, recorded and listed."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from qa_pipeline.curation.decisions import (
    APPLIED,
    EDITED,
    REOPENED,
    add_decisions,
    content_hashes,
    decision_states,
    read_decisions,
    standing,
)
from qa_pipeline.errors import DecidedMeanwhileError, InputError, QAPipelineError
from qa_pipeline.review.decision_files import (
    DecisionLine,
    ReadFile,
    about_pair,
    clean_text,
    coded_reason,
    decision_line,
    why_in_words,
)
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.table_schema import DecisionColumns, DecisionRow, PairRow, typed_rows
from qa_pipeline.storage.tables import CLAIMS, PAIRS
from qa_pipeline.verification.outcomes import fabricated_citations

FIELDS = ("why", "edited_question", "edited_answer", "evidence_quote")
"""Fields of the form that a person fills."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The problem of a refused decision, and the HTTP status of its page."""

    problem: str | None = None
    status: int = 200


def decide(layout: Layout, batch: str, pair_id: str, form: Mapping[str, str], who: str) -> Outcome:
    """Record the decision of a form. It is on the disk when this returns."""
    try:
        line = _line(batch, pair_id, form, who)
        seen = form.get("seen", "")
        # -1: the person saw no decision; [:9]: `int` refuses numbers of thousands of digits
        last_seen = int(seen[:9]) if seen.isdecimal() else -1
        taken = take_decisions(layout, ReadFile({1: line}, {}), last_seen)  # as a file of a single line
    except DecidedMeanwhileError as error:
        return Outcome(str(error), 409)
    except InputError as error:
        return Outcome(str(error), 400)
    except QAPipelineError as error:  # a folder that cannot be written, a full disk, damaged tables
        return Outcome(str(error), 500)
    problem = taken.problems.get(1)
    return Outcome(problem, 409) if problem else Outcome()


def _line(batch: str, pair_id: str, form: Mapping[str, str], who: str) -> DecisionLine:
    """Return the decision of a form."""
    names = ("content_sha256", "decision", "claim_id", *FIELDS)
    values = {name: form[name] for name in names if form.get(name)}
    if form.get("code"):  # a button that rejects for a reason
        values["decision"] = "rejected"
        values["why"] = coded_reason(form["code"], form.get("why", "").strip())
    if form.get("of_claim"):  # a button of a claim, such as "accepted 5f3a…"
        values["decision"], _, values["claim_id"] = form["of_claim"].partition(" ")
    origin = {"batch": batch, "pair_id": pair_id, "who": who, "decided_at": datetime.now(UTC).isoformat()}
    return decision_line(values | origin)


class DecisionWithState(DecisionRow):
    """A row of decisions with its state, such as applied or stale."""

    state: str


@dataclass(frozen=True, slots=True)
class DecidedPair:
    """The decisions about a pair, with the values that a form needs to take the last decision back."""

    batch: str
    pair_id: str
    question: str
    content_sha256: str
    last_sequence: int  # of the last decision, or -1; the form sends it back, to notice later decisions
    last: DecisionWithState | None
    standing: list[DecisionWithState]  # the decisions that count, in order

    @property
    def is_taken_back(self) -> bool:
        """Return True if the last decision took another back."""
        return self.last is not None and self.last["decision"] == REOPENED


def decided_pair(tables: StoredTables, batch: str, pair_id: str) -> DecidedPair | None:
    """Return the decisions about a pair; None if the batch lacks it."""
    pairs, claims = (tables.frame(table, batch).filter(pair_id=pair_id) for table in (PAIRS, CLAIMS))
    if not pairs.height:
        return None
    decisions = decision_states(tables.decisions(batch).filter(pair_id=pair_id), pairs, claims)
    rows = list(typed_rows(decisions, DecisionWithState))
    return DecidedPair(
        batch=batch,
        pair_id=pair_id,
        question=pairs["question"][0] or "(no question)",
        content_sha256=content_hashes(pairs, claims)[pair_id],
        last_sequence=rows[-1]["sequence"] if rows else -1,
        last=rows[-1] if rows else None,
        standing=[{**row, "why": why_in_words(row["why"])} for row in rows if row["state"] == APPLIED],
    )


@dataclass(frozen=True, slots=True)
class Taken:
    """Newly recorded decisions by batch, the number of repeats, and the problem of each refused line."""

    rows: dict[str, list[DecisionColumns]]
    already_recorded: int  # lines that repeat a recorded decision
    problems: dict[int, str]

    @property
    def recorded(self) -> Counter[str]:
        """Return the number of decisions by batch."""
        return Counter({name: len(rows) for name, rows in self.rows.items()})


@dataclass(frozen=True)
class _BatchState:
    """The state of a batch that decisions are compared with."""

    pairs: dict[str, PairRow]
    pair_of_claim: dict[str, str]
    content_sha256: dict[str, str]  # by pair; see `content_hashes`
    unproved_claims: set[str]  # ids of claims without evidence
    unproved_pairs: set[str]  # ids of pairs with such a claim
    fabricated: set[str]  # ids of pairs that cite a missing source
    current: dict[tuple[str, str | None], DecisionRow]  # the decision that counts, by pair and claim
    recorded_ids: set[str]  # of all decisions, even if they no longer count


def take_decisions(layout: Layout, file: ReadFile, last_seen: int | None = None) -> Taken:
    """Record the decisions of a file that fit the stored pairs, and report a problem for each other line.

    Raises:
        DecidedMeanwhileError: a pair was decided after `last_seen`, the last decision that the person saw.
        TableError: recorded decisions or tables cannot be read.
        StorageError: a decision cannot be recorded.
    """
    problems, repeats = dict(file.problems), 0  # problems by number of the line
    taken: dict[str, list[DecisionColumns]] = {}
    for batch, lines in _by_batch(layout, file, problems).items():
        state = _read_state(layout, batch, {line.pair_id or "" for line in lines.values()})
        fitting = _fitting_rows(batch, lines, state, problems)
        line_counts = Counter((row["pair_id"], row["claim_id"]) for row in fitting.values())
        rows: list[DecisionColumns] = []
        for number, row in fitting.items():
            pair = dict(state.pairs[row["pair_id"]])
            target = row["pair_id"], row["claim_id"]  # the claim is None if the whole pair is decided
            current = state.current.get(target)
            is_current = current is not None and row["decision_id"] == current["decision_id"]
            is_undo, is_recorded = row["decision"] == REOPENED, row["decision_id"] in state.recorded_ids
            if line_counts[target] > 1:
                several = f"several {file.unit}s decide the same pair or claim; none is recorded"
                problems[number] = about_pair(pair, several)
            elif is_current or (is_undo and is_recorded):  # recorded before; an undo is never current
                repeats += 1
            elif problem := _outdated(row, current, is_recorded=is_recorded):
                problems[number] = about_pair(pair, problem)
            else:
                rows.append({**row, "takes_back": current["decision_id"] if current and is_undo else None})
        if rows:
            taken[batch] = rows
    for batch, rows in taken.items():
        add_decisions(layout.decisions(batch), rows, last_seen)
    return Taken(taken, repeats, dict(sorted(problems.items())))


def _fitting_rows(
    batch: str, lines: Mapping[int, DecisionLine], state: _BatchState, problems: dict[int, str]
) -> dict[int, DecisionColumns]:
    """Return the lines that fit the present pairs as rows, and add a problem for each other line."""
    fitting: dict[int, DecisionColumns] = {}
    for number, line in lines.items():
        pair = state.pairs.get(line.pair_id or "")
        has_wrong_claim = bool(line.claim_id) and state.pair_of_claim.get(line.claim_id or "") != line.pair_id
        if pair is None or has_wrong_claim:
            problems[number] = about_pair(line.model_dump(), "its batch has no such pair or claim")
            continue
        row = _row(_with_new_texts(line, pair), batch)
        problem = _misfit(row, state) or _changed_text(line, pair)
        if problem:
            problems[number] = about_pair(dict(pair), problem)
        else:
            fitting[number] = row
    return fitting


def _by_batch(layout: Layout, file: ReadFile, problems: dict[int, str]) -> dict[str, dict[int, DecisionLine]]:
    """Return the lines by batch, and add a problem for each line of an unknown batch."""
    stored = {path.stem for path in layout.tables(PAIRS.name)}
    batches: dict[str, dict[int, DecisionLine]] = defaultdict(dict)
    for number, line in file.lines.items():
        if line.batch in stored:
            batches[line.batch][number] = line
        else:
            problem = f"there is no batch {line.batch!r}; copy it from the template"
            problems[number] = about_pair(line.model_dump(), problem)
    return batches


def _read_state(layout: Layout, batch: str, pair_ids: set[str]) -> _BatchState:
    """Read the pairs of a batch with these ids, their claims, and the recorded decisions."""
    has_id = pl.col("pair_id").is_in([*pair_ids])
    pairs = read_table(layout.table(PAIRS.name, batch), PAIRS).filter(has_id)
    claims = read_table(layout.table(CLAIMS.name, batch), CLAIMS).filter(has_id)
    recorded = read_decisions(layout.decisions(batch))
    unproved = claims.filter(pl.col("evidence_quote").is_null())
    decisions = typed_rows(standing(recorded), DecisionRow)
    return _BatchState(
        pairs={row["pair_id"]: row for row in typed_rows(pairs, PairRow)},
        pair_of_claim=dict(claims.select("claim_id", "pair_id").iter_rows()),
        content_sha256=content_hashes(pairs, claims),
        unproved_claims=set(unproved["claim_id"]),
        unproved_pairs=set(unproved["pair_id"]),
        fabricated=set(fabricated_citations(pairs, claims)["pair_id"]),
        current={(row["pair_id"], row["claim_id"]): row for row in decisions},
        recorded_ids=set(recorded["decision_id"]),
    )


def _row(line: DecisionLine, batch: str) -> DecisionColumns:
    """Return a decision as stored, with an id that hashes its columns."""
    row: DecisionColumns = {
        "batch": batch,
        "pair_id": line.pair_id or "",
        "claim_id": line.claim_id,
        "content_sha256": line.content_sha256,
        "decision": line.decision,
        "question": line.edited_question,
        "answer": line.edited_answer,
        "evidence_quote": line.evidence_quote,
        "evidence_document_id": line.evidence_document_id,
        "who": line.who,
        "why": line.why,
        "decided_at": line.decided_at,
    }
    filled_columns = (f"{name}={value}" for name, value in sorted(row.items()) if value is not None)
    return {**row, "decision_id": hash_parts(*filled_columns)[:32]}


def _with_new_texts(line: DecisionLine, pair: PairRow) -> DecisionLine:
    """Return a line without edited texts that equal the present ones."""
    present = {"edited_answer": pair["answer"], "edited_question": pair["question"]}
    unchanged = [name for name, text in present.items() if getattr(line, name) == clean_text(text)]
    return line.model_copy(update=dict.fromkeys(unchanged))


def _changed_text(line: DecisionLine, pair: PairRow) -> str | None:
    """Return a problem if the column of a present text was changed."""
    texts = {"question": (line.question, pair["question"]), "answer": (line.answer, pair["answer"])}
    for name, (cell, text) in texts.items():
        if cell is not None and cell.split() != (text or "").split():
            return f"its {name} was changed; write a new one in edited_{name} with the decision edited"
    return None


def _misfit(row: DecisionColumns, state: _BatchState) -> str | None:
    """Return the reason why the decision does not fit the present pair."""
    pair = state.pairs[row["pair_id"]]
    new_texts = {
        "an edited answer": row["answer"],
        "an edited question": row["question"],
        "a quote as evidence": row["evidence_quote"],
    }
    given_texts = [name for name, text in new_texts.items() if text is not None]
    if pair["expected_verdict"] is not None:
        return "it is a known-answer pair, which takes no decision"
    if state.content_sha256[row["pair_id"]] != row["content_sha256"]:
        return "question, answer or evidence have changed since; decide on the present pair"
    if row["decision"] == EDITED:
        return _cannot_edit(row, pair, has_new_text=bool(given_texts))
    if given_texts:
        return f"it has {given_texts[0]} and the decision {row['decision']}; an edit has the decision edited"
    return _cannot_accept(row, pair, state) if row["decision"] == "accepted" else None


def _cannot_accept(row: DecisionColumns, pair: PairRow, state: _BatchState) -> str | None:
    """Return the reason why a pair or claim cannot be accepted."""
    pair_id, claim_id = row["pair_id"], row["claim_id"]
    if pair["status"] != "drafted":
        return f"the pair failed ({pair['reason']}): there is no answer to accept"
    is_unproved = pair_id in state.unproved_pairs if claim_id is None else claim_id in state.unproved_claims
    if is_unproved:
        return "one of its claims has no evidence in the documents"
    if claim_id is not None:  # the other rules are about the whole answer
        return None
    if pair_id in state.fabricated:
        return "it cites a source that does not exist; edit the answer, which drops that citation"
    makes_claims = pair["coverage"] != "none"  # a refusal makes none
    if makes_claims and pair_id not in state.pair_of_claim.values():
        return "the answer makes no claim that can be proved"
    return None


def _cannot_edit(row: DecisionColumns, pair: PairRow, *, has_new_text: bool) -> str | None:
    """Return the reason why a pair cannot be edited."""
    if row["claim_id"] is not None:
        return "only a pair can be edited; leave claim_id empty"
    if not has_new_text:
        return "the new text is missing (column edited_answer, edited_question or evidence_quote)"
    if pair["question"] is None:
        return "the pair has no question"
    if pair["answer"] is None and row["answer"] is None:
        return "the pair has no answer; write one in edited_answer"
    return None


def _outdated(row: DecisionColumns, current: DecisionRow | None, *, is_recorded: bool) -> str | None:
    """Return the reason why a decision cannot replace `current`, the decision that counts.

    A recorded decision no longer counts: it is neither `current` nor an undo, which would be repeats.
    """
    if current is None and row["decision"] == REOPENED:
        return "there is no decision to take back"
    if current and row["decided_at"] and current["decided_at"] and row["decided_at"] < current["decided_at"]:
        return (
            f"it was made before the decision that counts ({current['decision']} by {current['who'][:40]!r})"
        )
    return "it was recorded before and undone; change decided_at to repeat it" if is_recorded else None
