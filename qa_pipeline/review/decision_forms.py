"""Decisions made on a page: they take the way of decision files, and are refused in the same words."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl
from pydantic import ValidationError

from qa_pipeline.calibration.rows import QUALITY
from qa_pipeline.curation.decisions import EDITED
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import DecidedMeanwhileError, InputError, QAPipelineError
from qa_pipeline.review.decision_files import (
    DecisionLine,
    ReadFile,
    fitting_decisions,
    take_decisions,
)
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.review.panel import RATERS, VERDICTS, Rating
from qa_pipeline.review.queue import Queue
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.rows import DecisionColumns
from qa_pipeline.storage.tables import CLAIMS, DOCUMENTS, PAIRS
from qa_pipeline.text.rendering import shorten

OF_SOURCES = ("no_evidence_found", "low_correctness", "wrong_citation", "one_sided")
"""Reasons for which a person rejects because of the sources; they count against verification."""
OF_QUALITY = (
    "low_completeness",
    "low_relevance",
    "unclear_question",
    "dangling_reference",
    "low_question_quality",
)
"""Reasons for which a person rejects what is proved: nine in all, so that each has a key."""
REJECTIONS: Mapping[str, str] = {code: in_words(code) for code in (*OF_SOURCES, *OF_QUALITY)}
"""Reason codes that a person gives by the keys 1 to 9, with their words."""
_LONGEST_WHO, _LONGEST_WHY = 200, 2_000
"""Characters of names and reason in a decision."""
_EDITED_TEXTS = {"edited_question": "question", "edited_answer": "answer"}
_EVIDENCE = ("evidence_quote", "evidence_document_id")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a decision.

    Args:
        problem: why it was not taken; None where it was recorded, or is an edit to be looked at first.
        edit: an edit that fits and is not recorded yet, a row of decisions.
        checked: what the form of that edit carries once its verification was shown.
        status: of the page that shows it, by HTTP.
        is_rating: whether it is on the disk, and decides nothing alone.
    """

    problem: str | None = None
    edit: DecisionColumns | None = None
    checked: str = ""
    status: int = 409
    is_rating: bool = False


def decide_or_rate(
    queue: Queue, tables: StoredTables, batch: str, pair_id: str, form: Mapping[str, str], who: str
) -> Outcome:
    """Take the form of a person: as a rating where two people rate the pair apart, else as a decision."""
    panel = queue.panel
    if panel is None:
        return decide(tables, batch, pair_id, form, who)
    try:
        with panel.locked():
            stand = queue.stand(batch, pair_id)
            if stand.open_for is not None and who not in stand.open_for:
                return Outcome(
                    "you have given your verdict, or other people decide this pair; go on to the next"
                )
            if not stand.is_rated_by(who):
                return decide(tables, batch, pair_id, form, who)
            line = _line(tables, batch, pair_id, form, who)
            if line.decision not in VERDICTS or line.claim_id:
                return Outcome(
                    "several people rate this pair apart: accept or reject it as a whole", status=400
                )
            fitting = fitting_decisions(tables.layout, ReadFile({1: line}, [], 0, "decision"))
            if fitting.problems:
                return Outcome(fitting.problems[0].text)
            rating = _rating(tables, batch, pair_id, line)
            panel.add(batch, rating)
            ratings = [*stand.ratings.values(), rating]
            if stand.is_gold or len(ratings) < RATERS or len({each.rating for each in ratings}) > 1:
                return Outcome(is_rating=True)
            return decide(tables, batch, pair_id, _agreed(form, ratings), _names(ratings))
    except InputError as error:
        return Outcome(str(error), status=400)
    except QAPipelineError as error:
        return Outcome(str(error), status=500)


def _rating(tables: StoredTables, batch: str, pair_id: str, line: DecisionLine) -> Rating:
    claims = tables.frame(CLAIMS, batch).filter(pl.col("pair_id") == pair_id)
    documents = claims.sort("position")["evidence_document_id"].drop_nulls()
    return Rating(
        id=pair_id,
        annotator=line.who,
        rating="accepted" if line.decision == "accepted" else "rejected",
        group=documents[0] if documents.len() else None,
        why=line.why,
        content_sha256=line.content_sha256,
        rated_at=line.decided_at or "",
    )


def _names(ratings: Sequence[Rating]) -> str:
    return shorten(" and ".join(rating.annotator for rating in ratings), _LONGEST_WHO)


def _agreed(form: Mapping[str, str], ratings: Sequence[Rating]) -> dict[str, str]:
    """Return the form of a decision that several people agree on, with the reasons of all.

    A reason that says nothing about the sources comes first: where only one person doubts them, the row is
    none to calibrate with.
    """
    reasons = dict.fromkeys(rating.why for rating in ratings if rating.why)
    ordered = sorted(reasons, key=lambda why: not why.startswith(QUALITY))
    return {
        "content_sha256": form.get("content_sha256", ""),
        "seen": form.get("seen", ""),
        "decision": ratings[0].rating,
        "why": shorten("; ".join(ordered), _LONGEST_WHY),
    }


def decide(tables: StoredTables, batch: str, pair_id: str, form: Mapping[str, str], who: str) -> Outcome:
    """Record the decision of a form, on the disk when this returns.

    An edit is recorded once its form says that it was shown verified.

    Args:
        tables: of the output folder.
        batch: the pair's batch.
        pair_id: the pair.
        form: its fields; `seen` is the number of the last decision about the pair that its page showed.
        who: the person.
    """
    try:
        line = _line(tables, batch, pair_id, form, who)
        file = ReadFile({1: line}, [], 0, "decision")
        checked = hash_json([getattr(line, name) for name in (*_EDITED_TEXTS, *_EVIDENCE)])
        if line.decision == EDITED and form.get("checked") != checked:
            fitting = fitting_decisions(tables.layout, file)
            if fitting.problems:
                return Outcome(fitting.problems[0].text)
            return Outcome(edit=fitting.rows[batch][0], checked=checked, status=200)
        seen = form.get("seen", "")
        taken = take_decisions(tables.layout, file, int(seen) if seen.isdecimal() else -1)
    except DecidedMeanwhileError as error:
        return Outcome(str(error))
    except InputError as error:
        return Outcome(str(error), status=400)
    except QAPipelineError as error:  # a folder that cannot be written, a full disk, damaged tables
        return Outcome(str(error), status=500)
    return Outcome(taken.problems[0].text if taken.problems else None)


def _line(tables: StoredTables, batch: str, pair_id: str, form: Mapping[str, str], who: str) -> DecisionLine:
    """Return the decision of a form; texts that stand in it unchanged are no part of it.

    Raises:
        InputError: a field cannot be used.
    """
    fields = {name: value.replace("\r\n", "\n").strip() for name, value in form.items()}
    pair = tables.frame(PAIRS, batch).filter(pl.col("pair_id") == pair_id)
    values = {name: fields[name] for name in ("content_sha256", "decision", "why") if fields.get(name)}
    for name, column in _EDITED_TEXTS.items():
        if fields.get(name) and fields[name] not in pair[column].str.strip_chars():
            values[name] = fields[name]
    values |= _evidence(tables, batch, fields, is_edit=values.get("decision") == EDITED)
    if code := fields.get("code"):
        values |= {"decision": "rejected", "why": _why(code, fields.get("why", ""))}
    if fields.get("of_claim"):
        values["decision"], _, values["claim_id"] = fields["of_claim"].partition(" ")
    signature = {"batch": batch, "pair_id": pair_id, "who": who, "decided_at": datetime.now(UTC).isoformat()}
    try:
        return DecisionLine.model_validate(values | signature)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputError(f"{problem['loc'][0]}: {problem['msg']}") from error


def why_in_words(why: str | None) -> str | None:
    """Return a reason as a page shows it, a code of `REJECTIONS` in its words."""
    code, colon, note = (why or "").removeprefix(f"{QUALITY}: ").partition(": ")
    return f"{REJECTIONS[code]}{colon}{note}" if code in REJECTIONS else why


def _why(code: str, note: str) -> str:
    """Return a reason code and a note as exports and decision files hold them.

    Raises:
        InputError: the code is none that a person gives.
    """
    if code not in REJECTIONS:
        raise InputError(f"{code[:40]!r} is no reason to reject; they are {', '.join(REJECTIONS)}")
    return ": ".join(filter(None, [QUALITY if code in OF_QUALITY else "", code, note]))


def _evidence(
    tables: StoredTables, batch: str, fields: Mapping[str, str], *, is_edit: bool
) -> dict[str, str]:
    """Return the words named as evidence, those of the document where they were selected in it.

    Who only decides may have selected words to read or copy them; words that were written are refused there.

    Raises:
        InputError: the selection is not in the document.
    """
    quote, document_id = fields.get("evidence_quote", ""), fields.get("evidence_document_id", "")
    start, end = (fields.get(name, "") for name in ("evidence_start", "evidence_end"))
    if document_id and start.isdecimal() and end.isdecimal():
        texts = tables.frame(DOCUMENTS, batch).filter(pl.col("document_id") == document_id)["text"]
        selected = (texts[0] or "")[int(start) : int(end)].strip() if texts.len() else ""
        if not selected and is_edit:
            raise PhrasedError("the document has changed: select the words that are evidence again")
        if not quote or _letters(quote) == _letters(selected):
            return {"evidence_quote": selected, "evidence_document_id": document_id} if is_edit else {}
    return {"evidence_quote": quote} if quote else {}


def _letters(text: str) -> str:
    """Return letters and digits alone: a page shows words without their markup and line ends."""
    return re.sub(r"[\W_]", "", text)
