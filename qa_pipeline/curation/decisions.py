"""Record the decisions of reviewers about pairs and claims, and apply them.

Decisions are only appended. The last decision about a pair or claim counts while the question, answer and
evidence of the pair are unchanged. A new text (`edited`) becomes a separate pair, which is verified like any
other. To undo a decision, append a row that reverts it (`reopened`). Then the decision before it counts.
"""

import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.errors import DecidedMeanwhileError, TableError
from qa_pipeline.storage.files import rewrite
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.table_schema import DecisionRow, typed_rows
from qa_pipeline.storage.tables import CLAIM_VERDICTS, DECISIONS

PERSON = "person"
EDITED = "edited"
REOPENED = "reopened"
WRITTEN = ("question", "answer", "evidence_quote", "why")
"""Columns of a decision with text that a person wrote."""
APPLIED, STALE, REPLACED, TAKEN_BACK = "applied", "stale", "replaced", "taken_back"


def read_decisions(path: Path) -> pl.DataFrame:
    """Return the decisions recorded for a batch, in order. If the file is missing, the frame is empty.

    Raises:
        TableError: the file is damaged. It contains manual work, so it is never treated as empty.
    """
    try:
        return _parsed(path, path.read_bytes())
    except FileNotFoundError:
        return DECISIONS.empty()
    except OSError as error:
        raise _damaged(path, error) from error


def _parsed(path: Path, content: bytes) -> pl.DataFrame:
    try:
        rows = pl.read_ndjson(io.BytesIO(content), schema=DECISIONS.schema) if content else DECISIONS.empty()
        return DECISIONS.conform(rows)
    except (pl.exceptions.PolarsError, TableError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> TableError:
    return TableError(f"{path} cannot be read: {error}; repair it or restore it from a backup")


def add_decisions(path: Path, rows: Sequence[Mapping[str, Any]], last_seen: int | None = None) -> None:
    """Append decisions to a file. Decisions that are already recorded are skipped.

    Args:
        path: the file of the batch.
        rows: the decisions, without their sequence numbers.
        last_seen: sequence number of the last decision about these pairs that the person has seen; -1 if
            there was none. None skips this check.

    Raises:
        DecidedMeanwhileError: a later decision about these pairs exists. The file is unchanged.
        TableError: the file is damaged.
        StorageError: the file cannot be written. It is unchanged.
    """
    rewrite(path, lambda content: _append(_parsed(path, content), rows, last_seen).write_ndjson().encode())


def _append(recorded: pl.DataFrame, rows: Sequence[Mapping[str, Any]], last_seen: int | None) -> pl.DataFrame:
    """Return the recorded decisions, followed by the new decisions of `rows`; see `add_decisions`."""
    recorded_ids = set(recorded["decision_id"])  # another process may have recorded the same file
    new = [row for row in rows if row["decision_id"] not in recorded_ids]
    if last_seen is not None:
        pair_ids = [row["pair_id"] for row in new]
        later = recorded.filter(pl.col("pair_id").is_in(pair_ids), pl.col("sequence") > last_seen)
        if later.height:
            row = later.row(-1, named=True)
            raise DecidedMeanwhileError(
                f"{row['who']} decided about this pair meanwhile ({row['decision']}); look at it as it is now"
            )
    last = recorded["sequence"].max()  # not the count: rows about forgotten documents were deleted
    first = last + 1 if isinstance(last, int) else 0
    numbered = [{**row, "sequence": first + offset} for offset, row in enumerate(new)]
    return pl.concat([recorded, DECISIONS.frame(numbered)])


def standing(decisions: pl.DataFrame) -> pl.DataFrame:
    """Return the last decision about each pair and claim that was not reverted, stale or not."""
    taken_back = decisions["takes_back"].drop_nulls().implode()
    not_reverted = decisions.filter(pl.col("decision") != REOPENED, ~pl.col("decision_id").is_in(taken_back))
    return not_reverted.unique(["pair_id", "claim_id"], keep="last", maintain_order=True)


def content_hashes(pairs: pl.DataFrame, claims: pl.DataFrame) -> dict[str, str]:
    """Return a hash of the question, answer and evidence quotes of each pair, by pair_id."""
    quotes: dict[str, set[str]] = defaultdict(set)
    for pair_id, quote in claims.select("pair_id", "evidence_quote").drop_nulls().iter_rows():
        quotes[pair_id].add(quote)
    return {
        pair_id: hash_json([question, answer, sorted(quotes[pair_id])])
        for pair_id, question, answer in pairs.select("pair_id", "question", "answer").iter_rows()
    }


def decision_states(decisions: pl.DataFrame, pairs: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """Add the column `state` to the decisions.

    Returns:
        The decisions table and `state`:
        taken_back: a later row reverted the decision, or the row itself reverts another.
        replaced: a later decision about the same pair or claim exists.
        stale: the pair was removed or its content changed. An edit is not stale while its pair exists,
        because its new text is verified against the current documents.
        applied: all other decisions.
    """
    decided_pairs = pairs.join(decisions, on="pair_id", how="semi")
    claims_of_pairs = claims.join(decided_pairs, on="pair_id", how="semi")
    hashes = content_hashes(decided_pairs, claims_of_pairs)
    claim_ids = {None, *claims_of_pairs["claim_id"]}  # None: the decision is about the whole pair
    rows = list(typed_rows(decisions, DecisionRow))
    standing_ids = set(standing(decisions)["decision_id"])
    taken_back = {row["takes_back"] for row in rows}

    def state(row: DecisionRow) -> str:
        if row["decision"] == REOPENED or row["decision_id"] in taken_back:
            return TAKEN_BACK
        if row["decision_id"] not in standing_ids:
            return REPLACED
        is_present = row["pair_id"] in hashes and row["claim_id"] in claim_ids
        is_unchanged = row["decision"] == EDITED or hashes.get(row["pair_id"]) == row["content_sha256"]
        return APPLIED if is_present and is_unchanged else STALE

    return decisions.with_columns(pl.Series("state", [state(row) for row in rows], pl.String()))


def applied(decisions: pl.DataFrame, pairs: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """Return the applied decisions (accepted, rejected, edited); `explanation` has author and reason."""
    counting = decision_states(decisions, pairs, claims).filter(pl.col("state") == APPLIED).drop("state")
    why = pl.format(": {}", "why").fill_null("")
    return counting.with_columns(pl.concat_str(pl.lit("by "), "who", why).alias("explanation"))


def overrule_claims(
    claim_verdicts: pl.DataFrame, claims: pl.DataFrame, pairs: pl.DataFrame, decisions: pl.DataFrame
) -> pl.DataFrame:
    """Replace the verdicts of claims with the applied decisions of reviewers.

    If a pair is accepted, all its claims with evidence become supported. If it is rejected, its claims keep
    their verdicts, because the reason may be another. A claim without evidence is never accepted.
    """
    applied_decisions = applied(decisions, pairs, claims)
    is_about_claim = pl.col("claim_id").is_not_null()
    is_accepted, is_rejected = pl.col("decision") == "accepted", pl.col("decision") == "rejected"
    # a row per claim with evidence; select first, since filtering the whole claims table would copy it
    with_evidence = claims.select("claim_id", "pair_id", "evidence_quote").drop_nulls("evidence_quote")
    claim_decisions = applied_decisions.filter(is_about_claim)  # accepted or rejected; only pairs are edited
    accepted_pairs = applied_decisions.filter(~is_about_claim, is_accepted).drop("claim_id")
    pair_decisions = accepted_pairs.join(with_evidence, on="pair_id")  # accepted, a row per claim
    has_evidence = pl.col("claim_id").is_in(with_evidence["claim_id"].to_list())
    last_decisions = (  # a row per claim
        pl.concat([claim_decisions, pair_decisions.select(claim_decisions.columns)])
        .filter(is_rejected | has_evidence)
        .sort("sequence")
        .unique("claim_id", keep="last", maintain_order=True)
        .select("claim_id", "decision", "explanation")
    )
    is_decided = pl.col("decision").is_not_null()
    new_values: dict[str, pl.Expr] = {
        "verdict": pl.when(is_accepted).then(pl.lit("supported")).otherwise(pl.lit("unsupported")),
        "decided_by": pl.lit(PERSON),
        "reason": pl.when(is_rejected).then(pl.lit("person_rejected")),
        "detail": pl.col("explanation"),
    }
    joined = claim_verdicts.join(last_decisions, on="claim_id", how="left", maintain_order="left")
    return CLAIM_VERDICTS.conform(
        joined.with_columns(
            pl.when(is_decided).then(value).otherwise(name).alias(name) for name, value in new_values.items()
        ).drop("decision", "explanation")
    )
