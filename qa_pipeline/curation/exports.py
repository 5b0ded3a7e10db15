"""Export the ledger as JSON lines, for people and for programs that cannot read Parquet.

Every pair is in exactly one of the files passed, rejected, needs_review, failed and known_answers. The order
is the order of `pairs`; imported pairs keep the order of their file. The files are written even if gates
fail. Known-answer pairs have their own file, because half of them are wrong on purpose.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO

import polars as pl

from qa_pipeline.curation.decisions import content_hashes
from qa_pipeline.curation.ledger import SCORES
from qa_pipeline.curation.training import evidence_lists, find_proofs
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.row_files import FileRow
from qa_pipeline.storage.tables import EVIDENCE

LEDGER_FILES = ("passed", "rejected", "needs_review", "failed", "known_answers")
VALIDATED = "validated"
"""The export of `validate`: the rows of its input file with their validation."""

_ROWS_AT_ONCE = 1000  # large enough for speed, small enough for the memory of large batches
_DECISION = ("pair_id", "batch", "verdict", "stage", "reason", "detail")
_WORDS = ("question", "answer", "language", "question_type", "difficulty", "answer_style", "draft",
    "origin", "coverage", "citations")  # fmt: skip
_SOURCES = ("passage_ids", "passage_scores", "used_chunk_ids", "generator")
_INPUT = ("source_line", "source_id", "source_fields", "expected_kind")
_PAIR_FIELDS = frozenset({"question", "answer", "citations", "source_fields"})
"""Fields of the ledger that the row of a pairs file already contains."""
_SPANS = pl.List(
    pl.Struct({"start": pl.Int64(), "end": pl.Int64(), "reason": pl.String(), "text": pl.String()})
)

# Valid in JSON, but some readers split text at every Unicode line end and would split a row there.
_LINE_ENDS = {character.encode(): f"\\u{ord(character):04x}".encode() for character in "\u0085\u2028\u2029"}


def ledger_rows(
    *,
    pairs: pl.DataFrame,
    verdicts: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    assessments: pl.DataFrame,
    documents: pl.DataFrame,
) -> pl.DataFrame:
    """Join every verdict with its question, answer and evidence, in the order of `pairs`.

    A row also contains the best similarity of its claims, and the judge's scores and reasons. Drafted answers
    have their passages with retrieval scores. An imported pair has its line, id and further fields.
    """
    proofs = evidence_lists(find_proofs(claims, claim_verdicts, documents))
    similarity = claims.group_by("pair_id").agg(pl.col("similarity").max())
    reasons = [f"{score}_reason" for score in SCORES]
    judged = assessments.select("pair_id", *reasons, "judge")
    words = pairs.select("pair_id", *_WORDS, *_SOURCES, *_INPUT).with_row_index("place")
    content = pl.DataFrame(
        list(content_hashes(pairs, claims).items()),
        schema={"pair_id": pl.String, "content_sha256": pl.String},
        orient="row",
    )
    scores = [name for name in verdicts.columns if name not in (*_DECISION, "unsupported_spans")]
    rows = verdicts.join(words, on="pair_id", how="left", maintain_order="left").sort(
        "place", nulls_last=True, maintain_order=True
    )
    for more in (proofs, similarity, judged, content, _spans(rows)):
        rows = rows.join(more, on="pair_id", how="left", maintain_order="left", suffix="_with_text")
    spans = pl.col("unsupported_spans_with_text").fill_null(pl.lit([], _SPANS))
    return rows.with_columns(
        pl.col("evidence").fill_null(pl.lit([], pl.List(EVIDENCE))), spans.alias("unsupported_spans")
    ).select(
        *_DECISION, *_WORDS, "evidence", "similarity", *scores, *reasons, "judge", "unsupported_spans",
        *_SOURCES, *_INPUT, "content_sha256",
    )  # fmt: skip


def ledger_files(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the rows of each file of the ledger."""
    is_canary = pl.col("expected_verdict").is_not_null()
    verdicts_of_files = {"passed": "accepted"} | {name: name for name in LEDGER_FILES[1:4]}
    parts = {
        name: rows.filter(~is_canary, pl.col("verdict") == verdict)
        for name, verdict in verdicts_of_files.items()
    }
    return {**parts, "known_answers": rows.filter(is_canary)}


def json_lines(rows: pl.DataFrame) -> Iterator[bytes]:
    """Yield blocks of complete UTF-8 lines, a JSON object per row, with fields in column order."""
    for part in rows.iter_slices(_ROWS_AT_ONCE):
        written = BytesIO()
        part.write_ndjson(written)
        lines = written.getvalue()
        for sign, escape in _LINE_ENDS.items():  # replacing bytes is faster than replacing text
            lines = lines.replace(sign, escape)
        yield lines


def _spans(rows: pl.DataFrame) -> pl.DataFrame:
    """Return pair_id and its unsupported spans, with the text of each span."""
    return (
        rows.select("pair_id", "answer", "unsupported_spans")
        .explode("unsupported_spans", empty_as_null=True)
        .drop_nulls("unsupported_spans")
        .unnest("unsupported_spans")
        .with_columns(pl.col("answer").str.slice("start", pl.col("end") - pl.col("start")).alias("text"))
        .group_by("pair_id", maintain_order=True)
        .agg(pl.struct("start", "end", "reason", "text").alias("unsupported_spans"))
    )


def write_validated(layout: Layout, batch: str, pair_rows: Iterable[FileRow]) -> None:
    """Write the rows of a pairs file unchanged, and add the ledger row as the field `validation`.

    A row that is not a JSON object has only the field `validation`.
    """
    files = (layout.export(name, batch) for name in LEDGER_FILES)
    rows = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    verdicts = {
        row["source_line"]: {name: row[name] for name in row if name not in _PAIR_FIELDS} for row in rows
    }
    numbered = ((row.number, row.value if isinstance(row.value, dict) else {}) for row in pair_rows)
    lines = [
        json.dumps({**fields, "validation": verdicts.get(number)}, ensure_ascii=False, default=str)
        for number, fields in numbered
    ]
    write_bytes(layout.export(VALIDATED, batch), "".join(f"{line}\n" for line in lines).encode())


def write_exports(layout: Layout, batch: str, files: Mapping[str, pl.DataFrame]) -> None:
    """Write the JSONL files of a batch."""
    for name, rows in files.items():
        write_bytes(layout.export(name, batch), b"".join(json_lines(rows)))
