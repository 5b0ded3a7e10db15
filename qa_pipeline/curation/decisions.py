"""People's decisions about pairs and claims: which of them stand, and what they change.

Decisions are only ever added. The last one recorded about a pair or claim counts, while the pair's question,
answer and evidence are those it was made about; a new text (`edited`) becomes a pair of its own, which is
verified like any other. To undo one, a row is added that takes it back (`reopened`); then the one before
counts.
"""

import io
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.errors import DecidedMeanwhileError, TableError
from qa_pipeline.storage.files import rewrite
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.rows import DecisionRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CLAIM_VERDICTS, DECISIONS

PERSON = "person"
EDITED = "edited"
REOPENED = "reopened"
WRITTEN = ("question", "answer", "evidence_quote", "why")
"""Columns of a decision that hold a person's own words."""
APPLIED, STALE, REPLACED, TAKEN_BACK = "applied", "stale", "replaced", "taken_back"


def read_decisions(path: Path) -> pl.DataFrame:
    """Return the decisions recorded for a batch, in their order; none without a file.

    Raises:
        TableError: the file is damaged. It holds people's work, so nothing goes on as if it were empty.
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


def add_decisions(path: Path, rows: Sequence[Mapping[str, Any]], seen: int | None = None) -> None:
    """Record further decisions; `rows` lack only their sequence number. Those recorded already are left out.

    Args:
        path: the file of the batch.
        rows: the decisions.
        seen: number of the last decision about their pairs that the person has seen, -1 without one; None
            where nobody looks.

    Raises:
        DecidedMeanwhileError: a later one was recorded about one of the pairs; nothing is written.
        TableError: the recorded ones are damaged.
        StorageError: they cannot be written; the recorded ones are untouched.
    """

    def with_rows(content: bytes) -> bytes:
        recorded = _parsed(path, content)
        recorded_ids = set(recorded["decision_id"])  # by another process that took the same file meanwhile
        new = [row for row in rows if row["decision_id"] not in recorded_ids]
        if seen is not None:
            _check_seen(recorded, {row["pair_id"] for row in new}, seen)
        last = recorded["sequence"].max()  # not the count: rows about forgotten documents are gone
        first = last + 1 if isinstance(last, int) else 0
        numbered = [{**row, "sequence": first + place} for place, row in enumerate(new)]
        return pl.concat([recorded, DECISIONS.frame(numbered)]).write_ndjson().encode()

    rewrite(path, with_rows)


def _check_seen(recorded: pl.DataFrame, pair_ids: Collection[str], seen: int) -> None:
    later = recorded.filter(pl.col("pair_id").is_in(list(pair_ids)), pl.col("sequence") > seen)
    if later.height:
        row = later.row(-1, named=True)
        raise DecidedMeanwhileError(
            f"{row['who']} decided about this pair meanwhile ({row['decision']}); look at it as it is now"
        )


def standing(decisions: pl.DataFrame) -> pl.DataFrame:
    """Return the decision that counts about each pair and claim, in order, whatever they were made about."""
    taken_back = decisions["takes_back"].drop_nulls().implode()
    return decisions.filter(pl.col("decision") != REOPENED, ~pl.col("decision_id").is_in(taken_back)).unique(
        ["pair_id", "claim_id"], keep="last", maintain_order=True
    )


def content_hashes(pairs: pl.DataFrame, claims: pl.DataFrame) -> dict[str, str]:
    """Return a hash of what a person reads of each pair: question, answer and the quotes of its evidence."""
    quotes: dict[str, set[str]] = defaultdict(set)
    for pair_id, quote in claims.select("pair_id", "evidence_quote").drop_nulls().iter_rows():
        quotes[pair_id].add(quote)
    return {
        pair_id: hash_json([question, answer, sorted(quotes[pair_id])])
        for pair_id, question, answer in pairs.select("pair_id", "question", "answer").iter_rows()
    }


def decision_states(decisions: pl.DataFrame, pairs: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions with their state.

    Returns:
        The decisions table and `state`: taken_back where a later row takes it back, and of that row;
        replaced where a later decision was recorded about the same pair or claim; stale where the pair is
        gone or its content is another now; else applied. An edit stays applied while its pair is there,
        since the new text is verified against the documents of now.
    """
    about = pairs.join(decisions, on="pair_id", how="semi")
    claims_of_pairs = claims.join(about, on="pair_id", how="semi")
    content, claim_ids = content_hashes(about, claims_of_pairs), {None, *claims_of_pairs["claim_id"]}
    rows = list(typed_rows(decisions, DecisionRow))
    counting = set(standing(decisions)["decision_id"])
    taken_back = {row["takes_back"] for row in rows}

    def state(row: DecisionRow) -> str:
        if row["decision"] == REOPENED or row["decision_id"] in taken_back:
            return TAKEN_BACK
        if row["decision_id"] not in counting:
            return REPLACED
        is_present = row["pair_id"] in content and row["claim_id"] in claim_ids
        same = row["decision"] == EDITED or content.get(row["pair_id"]) == row["content_sha256"]
        return APPLIED if is_present and same else STALE

    return decisions.with_columns(pl.Series("state", [state(row) for row in rows], pl.String()))


def applied(decisions: pl.DataFrame, pairs: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions that stand, with their outcome, author and reason."""
    standing = decision_states(decisions, pairs, claims).filter(pl.col("state") == APPLIED).drop("state")
    why = pl.format(": {}", "why").fill_null("")
    return standing.with_columns(pl.concat_str(pl.lit("by "), "who", why).alias("said"))


def overrule_claims(
    claim_verdicts: pl.DataFrame, claims: pl.DataFrame, pairs: pl.DataFrame, decisions: pl.DataFrame
) -> pl.DataFrame:
    """Put what people decided in place of what was decided of claims.

    An accepted pair has every claim supported; a rejected one keeps its claims as they are, since it may be
    rejected for something else. A claim without evidence is never supported.
    """
    standing = applied(decisions, pairs, claims).filter(
        pl.col("claim_id").is_not_null() | (pl.col("decision") == "accepted")
    )
    # only the columns that are needed: to filter all of the claims table copies it
    proved = (
        claims.select("claim_id", "pair_id", "evidence_quote")
        .drop_nulls("evidence_quote")
        .drop("evidence_quote")
    )
    of_claims = standing.filter(pl.col("claim_id").is_not_null()).join(
        claims.select("claim_id"), on="claim_id", how="semi"
    )
    of_pairs = standing.filter(pl.col("claim_id").is_null()).drop("claim_id").join(proved, on="pair_id")
    detail = (
        pl.concat([of_claims, of_pairs.select(of_claims.columns)])
        .filter((pl.col("decision") == "rejected") | pl.col("claim_id").is_in(proved["claim_id"].to_list()))
        .sort("sequence")
        .unique("claim_id", keep="last", maintain_order=True)
        .select("claim_id", "decision", "said")
    )
    accepted = pl.col("decision") == "accepted"
    decided = pl.col("decision").is_not_null()
    new: dict[str, pl.Expr] = {
        "verdict": pl.when(accepted).then(pl.lit("supported")).otherwise(pl.lit("unsupported")),
        "decided_by": pl.lit(PERSON),
        "reason": pl.when(~accepted).then(pl.lit("person_rejected")),
        "detail": pl.col("said"),
    }
    joined = claim_verdicts.join(detail, on="claim_id", how="left", maintain_order="left")
    return CLAIM_VERDICTS.conform(
        joined.with_columns(
            pl.when(decided).then(value).otherwise(name).alias(name) for name, value in new.items()
        ).drop("decision", "said")
    )
