"""What replacing a sentence's opening pronoun does to the scores that tell supported from unsupported.

Each item of a Parquet file is a sentence with its context and label (1 = supported), and in `extra` the
sentences before it (`preceding_sentences`). All are scored as they stand, and those whose pronoun the rules
resolve once more, resolved:

    python -m qa_pipeline_tests.benchmarks.quality.measure_self_contained --data FILE

Prints one JSON object: how many sentences open with a pronoun, how many are resolved, and of each score the
area under the ROC curve and the mean by label, before and after.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.evaluation.signals.statement_tables import Statement, statement_tables
from qa_pipeline.models.base import Encoder
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.settings.tree import Settings
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import tokenize
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.splitting import Claim, resolved
from qa_pipeline_tests.benchmarks.support.command_line import parser_of

SCORES = ("similarity", "token_recall")


def measure(items: pl.DataFrame, encoder: Encoder) -> dict[str, Any]:
    """Score every sentence as it is, and again those whose pronoun is resolved."""
    rows = items.to_dicts()
    wordings = [_wording(row) for row in rows]
    stand = _scores(rows, [None] * len(rows), encoder)
    chosen = [place for place, wording in enumerate(wordings) if wording]
    again = _scores([rows[place] for place in chosen], [wordings[place] for place in chosen], encoder)
    others = stand.filter(~pl.col("id").is_in(again["id"].to_list()))
    of_them = stand.filter(pl.col("id").is_in(again["id"].to_list()))
    return {
        "sentences": len(rows),
        "open_with_a_pronoun": sum(_leans(row["answer"], row["language"]) for row in rows),
        "resolved": len(chosen),
        "supported": int(again["label"].sum()),
        "resolved_as_they_stand": _told(of_them),
        "resolved_self_contained": _told(again),
        "all_as_they_stand": _told(stand),
        "all_self_contained": _told(pl.concat([others, again])),
    }


def _wording(row: dict[str, Any]) -> str | None:
    before = json.loads(row["extra"])["preceding_sentences"]
    return resolved(row["answer"], before, row["question"] or "", row["language"])


def _leans(text: str, language: str) -> bool:
    tokens = tokenize(text, language)
    return bool(tokens) and tokens[0].folded in lexicon(language).pronouns.leaning


def _scores(rows: list[dict[str, Any]], wordings: Sequence[str | None], encoder: Encoder) -> pl.DataFrame:
    statements = [
        Statement(row["answer"], tuple(row["context"]), row["language"], row["question"]) for row in rows
    ]
    made = statement_tables(statements)
    model_claims = {
        pair_id: [Claim(row["answer"], 0, len(row["answer"]), self_contained=wording, split_by="model")]
        for pair_id, row, wording in zip(made.pair_ids, rows, wordings, strict=True)
    }
    found = find_claims(made.pairs, made.documents, made.chunks, encoder, model_claims=model_claims)
    ids = {"id": [row["id"] for row in rows], "label": [row["label"] for row in rows]}
    return pl.DataFrame({**ids, "pair_id": made.pair_ids}).join(
        found.select("pair_id", *SCORES), on="pair_id", maintain_order="left"
    )


def _told(frame: pl.DataFrame) -> dict[str, dict[str, float]]:
    return {name: _of(frame.drop_nulls(name), name) for name in SCORES}


def _of(frame: pl.DataFrame, name: str) -> dict[str, float]:
    means = dict(frame.group_by("label").agg(pl.col(name).mean()).iter_rows())
    return {
        "auroc": round(_auroc(frame["label"] == 1, frame[name]), 4),
        "supported": round(means.get(1, float("nan")), 4),
        "unsupported": round(means.get(0, float("nan")), 4),
    }


def _auroc(positive: pl.Series, score: pl.Series) -> float:
    """Chance that a positive scores above a negative, ties counting half (Mann and Whitney 1947)."""
    count = int(positive.sum())
    below = float(score.rank("average").filter(positive).sum()) - count * (count + 1) / 2
    return below / (count * (len(score) - count))


def main(argv: list[str] | None = None) -> None:
    """Measure one file."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args(argv)
    encoder = load_embedder(Settings().embedding)
    json.dump(measure(pl.read_parquet(args.data), encoder), sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
