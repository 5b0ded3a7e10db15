"""The data card of a release: `README.md`, from counts of its rows and manifest alone.

Its front matter is the metadata that `datasets.load_dataset` and the Hugging Face hub read.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
import yaml

from qa_pipeline.verification.deciding import SIMILARITY_ONLY

_PROMISE = (
    "Every claim of every answer has a quote that stands in its document at the place given in `evidence`. "
    "Nothing here says how many rows are wrong all the same: no person has audited this release."
)
_LIMITS = (
    "Rows that share a document, a question or a long answer are in one split, and so are rows of documents "
    "that are nearly the same; splits are no random samples of rows. Questions were made from the documents, "
    "and are no sample of what people ask."
)
CARD_COLUMNS = ("language", "question_type", "coverage", "difficulty", "tokens", "provenance")
"""Columns of the rows that are counted."""
_LAYOUTS = ("closed_book", "with_context", "with_distractors")


def data_card(
    rows: pl.DataFrame,
    splits: Mapping[str, int],
    left_out: Mapping[str, Mapping[str, Any]],
    sources: pl.DataFrame,
) -> str:
    """The card as Markdown.

    Args:
        rows: split and `CARD_COLUMNS` of every row.
        splits: rows of each.
        left_out: `batches` with the reason of each, and `rows` with the count of each reason.
        sources: batch and licence of the documents.
    """
    languages = sorted(set(rows["language"]))
    licences = sorted(set(sources["licence"].drop_nulls()))
    unlicensed = sources["licence"].null_count()
    head = {
        "configs": [
            {
                "config_name": "default",
                "data_files": [
                    {"split": one, "path": f"data/{one}.parquet"} for one, n in splits.items() if n
                ],
            }
        ],
        "language": languages,
        "size_categories": [_size(rows.height)],
        "task_categories": ["question-answering", "text-generation"],
    }
    provenance = rows["provenance"].struct
    parts = [
        f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n",
        "# Question-answer pairs, proved from their sources\n",
        f"{rows.height} pairs from {sources.height} documents. {_PROMISE}\n",
        _table(("split", "rows", "share"), ((one, n, _share(n, rows.height)) for one, n in splits.items())),
        *(_counted(title, rows[name]) for title, name in _COUNTED.items()),
        _tokens(rows),
        _counted("Thresholds that decided", provenance.field("thresholds_id")),
        _counted("Written by", provenance.field("generator")),
        _counted("Judged by", provenance.field("judge").fill_null("nobody")),
        _counted("Prompt", provenance.field("prompt_hash").fill_null("none")),
        "## Sources\n",
        _table(("batch", "documents"), sources.group_by("batch").len().sort("batch").iter_rows()),
        f"Licences: {', '.join(licences) or 'none is known'}; {unlicensed} documents give none.\n",
        "## Left out\n",
        _table(("batch", "reason"), left_out["batches"].items()) if left_out["batches"] else "No batch.\n",
        _table(("rows left out because", "rows"), left_out["rows"].items())
        if left_out["rows"]
        else "No row.\n",
        "## Limits\n",
        f"{_LIMITS}\n",
        f"{SIMILARITY_ONLY}\n",
    ]
    return "\n".join(parts)


_COUNTED = {
    "Types of question": "question_type",
    "Languages": "language",
    "Answered": "coverage",
    "Difficulty": "difficulty",
}


def _counted(title: str, values: pl.Series) -> str:
    known = values.fill_null("unknown").alias("value")
    counts = known.value_counts().sort(["count", "value"], descending=[True, False])
    shares = ((value, count, _share(count, len(values))) for value, count in counts.iter_rows())
    return f"## {title}\n\n{_table(('value', 'rows', 'share'), shares)}"


def _tokens(rows: pl.DataFrame) -> str:
    """Tokens of an example in each layout, as the embedding model counts them."""
    lines = []
    for layout in _LAYOUTS:
        known = rows["tokens"].struct.field(layout).drop_nulls()
        quantiles = [known.quantile(part, "nearest") for part in (0.0, 0.5, 0.95, 1.0)]
        lines.append((layout, known.len(), *("–" if one is None else int(one) for one in quantiles)))
    return f"## Tokens\n\n{_table(('layout', 'rows', 'least', 'median', '95 %', 'most'), lines)}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(one) for one in line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    """What documents and batches are called comes from outside: no cell may end its row or make markup."""
    text = " ".join(str(value).split())
    return "".join(f"\\{one}" if one in "\\|`*_[]<>#" else one for one in text) if text != "---" else text


def _share(count: int, of: int) -> str:
    return f"{count / of:.3f}" if of else "–"


def _size(rows: int) -> str:
    """The hub's name for an order of size."""
    limits = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
    return next((name for limit, name in limits.items() if rows < limit), "1M<n<10M")
