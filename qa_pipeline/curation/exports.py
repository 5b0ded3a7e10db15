"""Export the ledger as JSON lines, for people and for programs that cannot read Parquet.

Every pair is in exactly one of the files passed, rejected, needs_review, failed and known_answers. The order
is the order of `pairs`; imported pairs keep the order of their file. The files are written even if gates
fail. Known-answer pairs have their own file, because half of them are wrong on purpose.
"""

import json
from collections.abc import Iterable, Mapping

import polars as pl

from qa_pipeline.curation.decisions import content_hashes
from qa_pipeline.curation.ledger import SCORES
from qa_pipeline.curation.training import evidence_lists, find_proofs
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.row_files import FileRow
from qa_pipeline.verification.outcomes import join_by_pair

LEDGER_FILES = ("passed", "rejected", "needs_review", "failed", "known_answers")
VALIDATED = "validated"
"""The export of `validate`: the rows of its input file with their validation."""

_DECISION = ("pair_id", "batch", "verdict", "stage", "reason", "detail")
_PAIR = ("question", "answer", "language", "question_type", "difficulty", "answer_style", "draft",
    "origin", "coverage", "citations")  # fmt: skip
_SOURCES = ("passage_ids", "passage_scores", "used_chunk_ids", "generator")
_INPUT = ("source_line", "source_id", "source_fields", "expected_kind")
_PAIR_FIELDS = frozenset({"question", "answer", "citations", "source_fields"})
"""Fields of the ledger that the row of a pairs file already contains."""
_HASHES = {"pair_id": pl.String(), "content_sha256": pl.String()}


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
    reasons = [f"{score}_reason" for score in SCORES]
    hashes = content_hashes(pairs, claims)
    # scores, measures, duplicate_of and so on
    other_columns = [name for name in verdicts.columns if name not in (*_DECISION, "unsupported_spans")]
    decided = join_by_pair(pairs.select("pair_id", *_PAIR, *_SOURCES, *_INPUT), verdicts)
    return join_by_pair(
        decided.drop("unsupported_spans"),  # spans with text replace them
        evidence_lists(find_proofs(claims, claim_verdicts, documents)),
        claims.group_by("pair_id").agg(pl.col("similarity").max()),
        assessments.select("pair_id", *reasons, "judge"),
        pl.DataFrame({"pair_id": [*hashes], "content_sha256": [*hashes.values()]}, schema=_HASHES),
        _spans_with_text(decided),
    ).select(
        *_DECISION, *_PAIR, pl.col("evidence").fill_null([]), "similarity", *other_columns, *reasons, "judge",
        pl.col("unsupported_spans").fill_null([]), *_SOURCES, *_INPUT, "content_sha256",
    )  # fmt: skip


def ledger_files(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the rows of each file of the ledger, by its name."""
    is_known_answer = pl.col("expected_verdict").is_not_null()
    verdict_of = {"passed": "accepted"} | {name: name for name in ("rejected", "needs_review", "failed")}
    tests, others = rows.filter(is_known_answer), rows.filter(~is_known_answer)
    parts = {name: others.filter(pl.col("verdict") == verdict) for name, verdict in verdict_of.items()}
    return {**parts, "known_answers": tests}


def _spans_with_text(rows: pl.DataFrame) -> pl.DataFrame:
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


def write_exports(layout: Layout, batch: str, files: Mapping[str, pl.DataFrame]) -> None:
    """Write the JSONL files of a batch."""
    for name, rows in files.items():
        write_bytes(layout.export(name, batch), rows.write_ndjson().encode())


def write_validated(layout: Layout, batch: str, pair_rows: Iterable[FileRow]) -> None:
    """Write the rows of a pairs file unchanged, and add the ledger row as the field `validation`.

    A row that is not a JSON object has only the field `validation`.
    """
    validations = {}  # the ledger's fields by line of the pairs file
    for name in LEDGER_FILES:
        for line in layout.export(name, batch).read_bytes().splitlines():
            ledger_row = json.loads(line)
            validations[ledger_row["source_line"]] = {
                field: value for field, value in ledger_row.items() if field not in _PAIR_FIELDS
            }
    lines = []
    for row in pair_rows:
        fields = row.value if isinstance(row.value, dict) else {}
        validated = {**fields, "validation": validations.get(row.number)}
        lines.append(json.dumps(validated, ensure_ascii=False, default=str))
    write_bytes(layout.export(VALIDATED, batch), "".join(f"{line}\n" for line in lines).encode())
