"""Taking people's decisions: each line is held against the tables it is about, and recorded if it fits."""

import csv
import io
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from qa_pipeline.calibration.rows import QUALITY
from qa_pipeline.curation.decisions import (
    EDITED,
    REOPENED,
    add_decisions,
    content_hashes,
    read_decisions,
    standing,
)
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import InputError
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.row_files import Fault, Limits, open_rows, unit_of
from qa_pipeline.storage.rows import ClaimRow, DecisionColumns, DecisionRow, PairRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, DOCUMENTS, PAIRS, VERDICTS
from qa_pipeline.verification.outcomes import fabricated_citations

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
LIMITS = Limits(max_bytes=200_000_000, max_line_bytes=4_000_000)
"""A row holds an answer, its new text, and claims with their evidence."""
MAX_TEXT = 100_000
"""Characters of an edited answer: far more than any answer has; it bounds a row of decisions."""
SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
TEMPLATE = (
    "batch", "pair_id", "claim_id", "content_sha256", "reason", "detail", "question", "answer", "claims",
    "evidence", "source", "decision", "edited_answer", "edited_question", "evidence_quote", "who", "why",
    "decided_at",
)  # fmt: skip
"""Columns of the template; those behind `source` are for the person to fill."""
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")
"""The signs at the beginning of a cell that a spreadsheet takes for a formula."""
_CONVERTED = re.compile(
    r"[\d\s.,:;/%€$£()e+-]+|[\d.]{1,3}[\s.-]+[^\W\d_]{3,9}[\s.,\d-]*|[^\W\d_]{3,9}[\s.-]+[\d\s,.:-]+"
    r"|true|false|sant|falskt|wahr|falsch",
    re.IGNORECASE,
)
"""Cells that a spreadsheet reads as a number, a date or a truth value, and saves in its own way."""
_LONGEST_CELL = 32_767
"""Characters of a cell in Excel; it drops what comes after them."""
_NAMELESS = re.compile(r"column \d+")
"""The reader's name for a column without a name."""


def _blank_is_none(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = unicodedata.normalize("NFC", value).strip()
    text.encode()  # half a character is no text
    return text or None


def _one_line(value: object) -> object:
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", value).split()) if isinstance(value, str) else value


def _utc(value: object) -> object:
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _as_text(value: object) -> object:
    """Return the text of a cell with the line ends of one system; spreadsheets exchange them."""
    if not isinstance(value, str):
        return value
    return unicodedata.normalize("NFC", value.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _small(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


_Id = Annotated[str | None, Field(max_length=200), BeforeValidator(_blank_is_none)]
_Note = Annotated[
    str | None, Field(max_length=2_000), BeforeValidator(_one_line), BeforeValidator(_blank_is_none)
]

_Text = Annotated[str | None, Field(max_length=MAX_TEXT), BeforeValidator(_blank_is_none)]


class DecisionLine(BaseModel):
    """A decision as its file has it; `question` and `answer` are compared with the pair's."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    batch: _Id = None
    pair_id: _Id = None
    claim_id: _Id = None
    content_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$"), BeforeValidator(_blank_is_none)]
    decision: Annotated[
        Literal["accepted", "rejected", "edited", "reopened"],
        BeforeValidator(_small),
        BeforeValidator(_blank_is_none),
    ]
    question: Annotated[str | None, BeforeValidator(_as_text)] = None
    answer: Annotated[str | None, BeforeValidator(_as_text)] = None
    edited_answer: _Text = None
    edited_question: _Text = None
    evidence_quote: _Text = None
    evidence_document_id: _Id = None
    who: Annotated[str, Field(max_length=200), BeforeValidator(_one_line), BeforeValidator(_blank_is_none)]
    why: _Note = None
    decided_at: Annotated[str | None, BeforeValidator(_utc), BeforeValidator(_blank_is_none)] = None


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why the decision of a line is not taken."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The decisions of a file by line number, lines that cannot be read, and how many are not filled in."""

    lines: dict[int, DecisionLine]
    problems: list[Problem]
    blank: int
    unit: str
    """The unit of the numbers: rows of a spreadsheet, its header being row 1, or lines."""


def read_decision_file(path: Path) -> ReadFile:
    """Read a file of decisions; a line without a decision is one that nobody has filled in yet.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    file = open_rows(path, LIMITS, SUFFIXES, columns_known=TEMPLATE, short_rows=True)
    unit = unit_of(path.name)
    if unit == "row":
        _check_header(file.columns, path)
    lines, problems, blank = {}, [], 0
    for row in file.rows():
        read = _line(row.value, unit)
        if isinstance(read, DecisionLine):
            lines[row.place] = read
        elif read is None:
            blank += 1
        else:
            problems.append(Problem(row.place, read))
    return ReadFile(lines, problems, blank, unit)


def _about(pair: Mapping[str, Any], text: str) -> str:
    """Return what is wrong, after the pair and the question it is about."""
    pair_id, question = (_one_line(pair.get(name)) for name in ("pair_id", "question"))
    names = [f"pair {str(pair_id)[:_SHOWN_ID]}"] if pair_id else []
    names += [f'"{str(question)[:_SHOWN_QUESTION]}"'] if question else []
    return f"{', '.join(names)}: {text}" if names else text


def _check_header(header: Sequence[str], path: Path) -> None:
    missing = [column for column in ("content_sha256", "decision", "who") if column not in header]
    unknown = sorted(name for name in {*header} - {*TEMPLATE} if not _NAMELESS.fullmatch(name))
    if unknown:  # one of them may be the renamed column of a text that was edited
        missing += [column for column in ("question", "answer") if column not in header]
    if missing:
        others = f" (it has {', '.join(unknown)[:200]})" if unknown else ""
        raise InputError(f"{path} has no column {', '.join(missing)}{others}; make one with --template")


def _line(value: Any, unit: str) -> DecisionLine | str | None:
    """Return the decision of a row, what is wrong with it, or None where there is none yet."""
    if not isinstance(value, dict):
        return value.detail if isinstance(value, Fault) else "expected a JSON object"
    # a blank cell is a text that was deleted
    row = {name: _as_written(cell or "") for name, cell in value.items()} if unit == "row" else value
    if _blank_is_none(row.get("decision")) is None:
        return None
    try:
        return DecisionLine.model_validate({name: value for name, value in row.items() if value is not None})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = str(problem["loc"][0])
        return _about(row, _ADVICE.get(field, f"{field}: {problem['msg']}"))


_ADVICE = {
    "decision": "the decision must be accepted, rejected, edited or reopened",
    "who": "column who must name who decided, in 1 to 200 characters",
    "content_sha256": "it has no content_sha256 of 64 hexadecimal digits; copy it from the template",
    "decided_at": "decided_at is no date and time such as 2026-03-01T14:00:00+01:00",
}


def template_bytes(rows: Sequence[Mapping[str, Any]], suffix: str) -> bytes:
    """Return a file with empty columns for decisions: JSON lines, or CSV opened as text."""
    if suffix == ".jsonl":
        lines = (json.dumps({name: row.get(name) for name in TEMPLATE}, ensure_ascii=False) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode()
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(TEMPLATE)
    writer.writerows([_safe(row.get(name)) for name in TEMPLATE] for row in rows)
    return buffer.getvalue().encode("utf-8-sig")


def _safe(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if _needs_mark(text) else text


def _needs_mark(text: str) -> bool:
    """Return whether a spreadsheet would compute or convert a cell without a sign of text."""
    return text.startswith((*_COMPUTED, "'")) or bool(text and _CONVERTED.fullmatch(text[:_SHOWN_ID]))


def _as_written(cell: str) -> str:
    """Undo `_safe`: someone who copies an answer to edit it copies the sign in front of it too."""
    return cell[1:] if cell[:1] == "'" and _needs_mark(cell[1:]) else cell


_SHOWN_ID, _SHOWN_QUESTION = 40, 80
"""Characters of an id and of a question in a message, which stays one line."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The decisions of a file that fit, by batch; how many were recorded before; refused lines."""

    rows: dict[str, list[DecisionColumns]]
    already_recorded: int
    problems: list[Problem]

    @property
    def recorded(self) -> Counter[str]:
        """Return the number of decisions by batch."""
        return Counter({name: len(rows) for name, rows in self.rows.items()})


@dataclass(frozen=True)
class _Batch:
    """The tables of a batch that decisions are compared with."""

    name: str
    pairs: dict[str, PairRow]
    claimed: set[str]  # pairs that make a claim
    content: dict[str, str]
    unproved: set[str]  # pairs and claims that have, or are, a claim without evidence
    fabricated: set[str]
    standing: dict[tuple[str, str | None], DecisionRow]
    ids: set[str]  # decisions recorded before


def take_decisions(layout: Layout, file: ReadFile, seen: int | None = None) -> Taken:
    """Record the decisions of a file that fit the tables of now; the other lines are named.

    Args:
        layout: the output folder.
        file: the decisions.
        seen: as `add_decisions` has it.

    Raises:
        DecidedMeanwhileError: as `add_decisions` raises it.
        TableError: recorded decisions or tables cannot be read.
        StorageError: a decision cannot be recorded.
    """
    taken = fitting_decisions(layout, file)
    for name, rows in taken.rows.items():
        add_decisions(layout.decisions(name), rows, seen)
    return taken


def fitting_decisions(layout: Layout, file: ReadFile) -> Taken:
    """Compare the decisions of a file with the tables of now; nothing is recorded."""
    problems = list(file.problems)
    repeats = 0
    rows_of_batches: dict[str, list[DecisionColumns]] = {}
    for name, lines in _by_batch(layout, file, problems).items():
        batch = _read(layout, name, {line.pair_id for line in lines.values()})
        rows, repeated = _fitting(lines, batch, problems, file.unit)
        repeats += repeated
        if rows:
            rows_of_batches[name] = rows
    return Taken(rows_of_batches, repeats, sorted(problems, key=lambda problem: problem.line))


def _by_batch(layout: Layout, file: ReadFile, problems: list[Problem]) -> dict[str, dict[int, DecisionLine]]:
    """Return the lines by the batch that holds their pair or claim, the pair's id filled in."""
    ids = {line.claim_id or line.pair_id for line in file.lines.values()} - {None}
    batches_named = {line.batch for line in file.lines.values()}
    places: dict[str, dict[str, str]] = defaultdict(dict)
    """Of each pair or claim, the batches that hold it, each with the pair."""
    for path in layout.tables(PAIRS.name):
        if None not in batches_named and path.stem not in batches_named:
            continue
        pairs = read_table(path, PAIRS)["pair_id"]
        ids_and_pairs = list(zip(pairs, pairs, strict=True))
        claims = layout.table(CLAIMS.name, path.stem)
        if claims.is_file() and any(line.claim_id for line in file.lines.values()):
            ids_and_pairs += read_table(claims, CLAIMS).select("claim_id", "pair_id").iter_rows()
        for content_id, pair_id in ids_and_pairs:
            if content_id in ids:
                places[content_id][path.stem] = pair_id
    batches: dict[str, dict[int, DecisionLine]] = defaultdict(dict)
    for number, line in file.lines.items():
        places_of_target = places.get(line.claim_id or line.pair_id or "", {})
        found_in = {name: pair_id for name, pair_id in places_of_target.items() if line.batch in (None, name)}
        if problem := _misplaced(line, found_in):
            problems.append(Problem(number, _about(line.model_dump(), problem)))
        else:
            ((name, pair_id),) = found_in.items()
            batches[name][number] = line.model_copy(update={"pair_id": pair_id})
    return batches


def _misplaced(line: DecisionLine, found_in: Mapping[str, str]) -> str | None:
    target_id = line.claim_id or line.pair_id
    if target_id is None:
        return "it names neither a pair_id nor a claim_id"
    kind = "claim" if line.claim_id else "pair"
    if not found_in:
        where = f" in batch {line.batch[:_SHOWN_ID]!r}" if line.batch else ""
        return f"no {kind} has the id {target_id[:_SHOWN_ID]!r}{where}"
    if line.pair_id and line.pair_id not in found_in.values():
        return f"the claim {target_id[:_SHOWN_ID]!r} is not one of the pair {line.pair_id[:_SHOWN_ID]!r}"
    if len(found_in) > 1:
        return f"{kind} {target_id!r} is in the batches {', '.join(found_in)}; say which in column batch"
    return None


def _read(layout: Layout, name: str, pair_ids: set[str | None]) -> _Batch:
    is_wanted = pl.col("pair_id").is_in([pair_id for pair_id in pair_ids if pair_id])
    pairs = read_table(layout.table(PAIRS.name, name), PAIRS).filter(is_wanted)
    claims = read_table(layout.table(CLAIMS.name, name), CLAIMS).filter(is_wanted)
    recorded = read_decisions(layout.decisions(name))
    counting = typed_rows(standing(recorded), DecisionRow)
    bare = claims.filter(pl.col("evidence_quote").is_null())
    return _Batch(
        name=name,
        pairs={row["pair_id"]: row for row in typed_rows(pairs, PairRow)},
        claimed=set(claims["pair_id"]),
        content=content_hashes(pairs, claims),
        unproved={*bare["pair_id"], *bare["claim_id"]},
        fabricated=set(fabricated_citations(pairs, claims)["pair_id"]),
        standing={(row["pair_id"], row["claim_id"]): row for row in counting},
        ids=set(recorded["decision_id"]),
    )


def _fitting(
    lines: Mapping[int, DecisionLine], batch: _Batch, problems: list[Problem], unit: str
) -> tuple[list[DecisionColumns], int]:
    """Return the rows to record, and how many were recorded before."""
    fitting: dict[int, DecisionColumns] = {}
    about: dict[tuple[str, str | None], list[int]] = defaultdict(list)

    def refuse(number: int, row: DecisionColumns, problem: str) -> None:
        problems.append(Problem(number, _about(batch.pairs[row["pair_id"]], problem)))

    for number, line in lines.items():
        pair = batch.pairs[line.pair_id or ""]
        row = _row(_with_new_texts(line, pair), batch.name)
        if problem := _unfit(row, batch) or _changed_cell(line, pair):
            refuse(number, row, problem)
        else:
            fitting[number] = row
            about[row["pair_id"], row["claim_id"]].append(number)
    rows: list[DecisionColumns] = []
    repeats = 0
    for number, row in fitting.items():
        target = (row["pair_id"], row["claim_id"])
        before = batch.standing.get(target)
        counts = before is not None and before["decision_id"] == row["decision_id"]
        if problem := _repeated(number, fitting, about[target], unit):
            refuse(number, row, problem)
        elif counts or (row["decision"] == REOPENED and row["decision_id"] in batch.ids):
            repeats += 1
        elif problem := _outdated(row, before, batch):
            refuse(number, row, problem)
        else:
            takes_back = before["decision_id"] if before and row["decision"] == REOPENED else None
            rows.append({**row, "takes_back": takes_back})
    return rows, repeats


def _row(line: DecisionLine, batch: str) -> DecisionColumns:
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
    content = "\x1f".join(f"{name}={value}" for name, value in sorted(row.items()) if value is not None)
    return {**row, "decision_id": hash_text(content)[:32]}


def _is_changed(cell: str | None, text: str | None) -> bool:
    """Return whether a cell differs from the pair's text; a sign of text in front may be missing."""
    stored = str(_as_text(text or ""))
    return cell is not None and cell not in (stored, _as_written(stored))


def _with_new_texts(line: DecisionLine, pair: PairRow) -> DecisionLine:
    """Return an edit with the texts that are new; an answer may also stand in the column `answer`."""
    if line.decision != EDITED:
        return line
    answer, question = line.edited_answer, line.edited_question
    if answer is None and _is_changed(line.answer, pair["answer"]):
        answer = line.answer or None
    if question == pair["question"]:
        question = None
    if answer == pair["answer"] and (question or line.evidence_quote):
        answer = None
    return line.model_copy(update={"edited_answer": answer, "edited_question": question})


def _changed_cell(line: DecisionLine, pair: PairRow) -> str | None:
    """Return the reason why a changed question or answer is no decision about the present pair."""
    for name in ("question", "answer"):
        cell, text = getattr(line, name), pair[name] or ""
        if cell and len(cell) >= _LONGEST_CELL - 1 and len(text) > len(cell) and text.startswith(cell):
            return f"a spreadsheet cut its {name} at {_LONGEST_CELL} characters; decide it in a .jsonl file"
    if _is_changed(line.question, pair["question"]):
        return (
            "its question was changed; put back the question of the template, and write a new one in "
            "edited_question with the decision edited"
        )
    is_edit = line.decision == EDITED and line.edited_answer in (None, line.answer)
    if not is_edit and _is_changed(line.answer, pair["answer"]):
        return (
            f"its answer was changed and the decision is {line.decision}; put back the answer of the "
            "template, and write a new one in edited_answer with the decision edited"
        )
    return None


_NEW_TEXTS: Mapping[str, str] = {
    "answer": "an edited answer",
    "question": "an edited question",
    "evidence_quote": "a quote as evidence",
}
"""Columns of an edit, and their names in messages."""
_SAME = ("decision", "question", "answer", "evidence_quote", "evidence_document_id")
"""Columns in which two decisions are alike that decide the same."""


def _repeated(number: int, rows: Mapping[int, DecisionColumns], same: Sequence[int], unit: str) -> str | None:
    """Return the fault of a line whose pair or claim other lines decide too."""
    decisions = {tuple(dict(rows[number_of_row])[name] for name in _SAME) for number_of_row in same}
    if len(decisions) > 1:
        others = ", ".join(str(other_row) for other_row in same if other_row != number)
        return f"{unit} {others} decides the same pair or claim otherwise; none of them is taken"
    return f"it repeats {unit} {same[0]}" if number != same[0] else None


def _unfit(row: DecisionColumns, batch: _Batch) -> str | None:
    """Return the reason why the decision does not fit the present pair."""
    pair = batch.pairs[row["pair_id"]]
    if pair["expected_verdict"] is not None:
        return "it is a known-answer pair, whose verdict is only compared"
    if batch.content[row["pair_id"]] != row["content_sha256"]:
        return "question, answer or evidence have changed since; decide on the pair as it is now"
    checks = {"accepted": _cannot_accept, EDITED: _cannot_edit}
    new = next((words for name, words in _NEW_TEXTS.items() if dict(row)[name] is not None), None)
    if row["decision"] != EDITED and new is not None:
        return f"it has {new} and the decision {row['decision']}; an edit has the decision edited"
    return checks[row["decision"]](row, pair, batch) if row["decision"] in checks else None


def _cannot_accept(row: DecisionColumns, pair: PairRow, batch: _Batch) -> str | None:
    if pair["status"] != "drafted":
        return f"the pair failed ({pair['reason']}): there is no answer to accept"
    if (row["claim_id"] or row["pair_id"]) in batch.unproved:
        return "a claim of it has no evidence in the documents; only what can be proved is accepted"
    if row["claim_id"] is None and row["pair_id"] in batch.fabricated:
        return "it cites what does not exist; edit the answer, which drops that citation"
    if row["claim_id"] is None and pair["coverage"] != "none" and row["pair_id"] not in batch.claimed:
        return "the answer makes no claim that can be proved"
    return None


def _cannot_edit(row: DecisionColumns, pair: PairRow, batch: _Batch) -> str | None:
    if row["claim_id"] is not None:
        return "only a pair can be edited and no claim of it; leave claim_id empty"
    if not any(dict(row)[name] for name in _NEW_TEXTS):
        return "the edited answer is missing (column edited_answer; or edited_question, evidence_quote)"
    if pair["question"] is None:
        return "the pair has no question"
    if pair["answer"] is None and row["answer"] is None:
        return "the pair has no answer; write one in edited_answer"
    return "the edited answer is the answer as it is" if row["answer"] == pair["answer"] else None


def _outdated(row: DecisionColumns, before: DecisionRow | None, batch: _Batch) -> str | None:
    """Return the reason why a decision does not come after the one that counts."""
    again = "to decide so again give another decided_at or why"
    if before is None:
        if row["decision"] == REOPENED:
            return "no decision about it counts, so there is none to take back"
        return f"it was taken back; {again}" if row["decision_id"] in batch.ids else None
    counting = f"the decision that counts ({before['decision']} by {before['who'][:_SHOWN_ID]!r})"
    if row["decided_at"] and before["decided_at"] and row["decided_at"] < before["decided_at"]:
        return f"it was made before {counting}"
    if row["decision_id"] in batch.ids:
        return f"it was recorded before {counting}; {again}"
    return None


def undecided(layout: Layout, batches: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the template: the pairs of the batches that wait for a person.

    Raises:
        InputError: a batch has no verdicts.
        TableError: tables cannot be read.
    """
    for name in batches:
        if not layout.table(VERDICTS.name, name).is_file():
            raise InputError(f"batch {name!r} has no verdicts in {layout.out}")
        verdicts = read_table(layout.table(VERDICTS.name, name), VERDICTS)
        waiting = verdicts.filter(pl.col("verdict") == "needs_review", pl.col("expected_verdict").is_null())
        pairs = read_table(layout.table(PAIRS.name, name), PAIRS).join(waiting, on="pair_id", how="semi")
        claims = read_table(layout.table(CLAIMS.name, name), CLAIMS).join(waiting, on="pair_id", how="semi")
        content = content_hashes(pairs, claims)
        claims_of_pairs = _claims_by_pair(claims, _sources(layout, name))
        why = {row["pair_id"]: row for row in waiting.iter_rows(named=True)}
        for pair in pairs.iter_rows(named=True):
            pair_id = pair["pair_id"]
            claim_texts, quotes, sources = claims_of_pairs.get(pair_id, ([], [], []))
            yield {
                **{column: pair[column] for column in ("batch", "pair_id", "question", "answer")},
                **{column: why[pair_id][column] for column in ("reason", "detail")},
                "content_sha256": content[pair_id],
                "claims": "\n".join(claim_texts),
                "evidence": "\n".join(quotes),
                "source": "\n".join(sources),
            }


def _sources(layout: Layout, name: str) -> dict[str, tuple[str, str]]:
    """Return the path and section of each chunk."""
    documents = read_table(layout.table(DOCUMENTS.name, name), DOCUMENTS).select("document_id", "path")
    chunks = read_table(layout.table(CHUNKS.name, name), CHUNKS).join(documents, on="document_id")
    section = pl.col("section_path").list.join(" > ")
    return {row[0]: row[1:] for row in chunks.select("chunk_id", "path", section).iter_rows()}


def _claims_by_pair(
    claims: pl.DataFrame, sources: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[list[str], list[str], list[str]]]:
    """Return the claims, their quotes, and path, page and section of these, numbered alike."""
    by_pair: dict[str, tuple[list[str], list[str], list[str]]] = defaultdict(lambda: ([], [], []))
    for row in typed_rows(claims.sort("pair_id", "position"), ClaimRow):
        claim_texts, quotes, places = by_pair[row["pair_id"]]
        claim_texts.append(f"{len(claim_texts) + 1}. {row['self_contained'] or row['text']}")
        quotes.append(f"{len(claim_texts)}. {row['evidence_quote'] or 'none'}")
        place = _place(row["evidence_chunk_id"], row["evidence_page"], sources)
        places.append(f"{len(claim_texts)}. {place or 'none'}")
    return by_pair


def _place(chunk_id: str | None, page: int | None, sources: Mapping[str, tuple[str, str]]) -> str | None:
    if chunk_id is None:
        return None
    path, section = sources[chunk_id]
    return ", ".join(filter(None, [path, f"page {page}" if page is not None else "", section]))


def why_in_words(why: str | None) -> str | None:
    """Return a reason as a page shows it, a code of `REJECTIONS` in its words."""
    code, colon, note = (why or "").removeprefix(f"{QUALITY}: ").partition(": ")
    return f"{REJECTIONS[code]}{colon}{note}" if code in REJECTIONS else why


def coded_reason(code: str, note: str) -> str:
    """Return a reason code and a note as exports and decision files hold them.

    Raises:
        InputError: the code is none that a person gives.
    """
    if code not in REJECTIONS:
        raise InputError(f"{code[:40]!r} is no reason to reject; they are {', '.join(REJECTIONS)}")
    return ": ".join(filter(None, [QUALITY if code in OF_QUALITY else "", code, note]))
