"""The data card of a release (`README.md`), rendered from its manifest alone.

Its front matter is the metadata for `datasets.load_dataset` and the Hugging Face hub.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from qa_pipeline.llm.base import is_fake
from qa_pipeline.pipeline.report import masked_counts
from qa_pipeline.publishing.manifest import CARD, DATA, MANIFEST, File, Manifest, file_of
from qa_pipeline.publishing.rows import released_table
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.text.rendering import ranked, render_markdown, share
from qa_pipeline.verification.deciding import SIMILARITY_ONLY

_COLUMNS = ("language", "question_type", "coverage", "difficulty", "origin", "judge")
_FACT_VALUES = {name: pl.col(name) for name in _COLUMNS} | {
    "decided_by": pl.when(pl.col("decided_by").list.len() > 0)
    .then(pl.col("decided_by").list.join(" and "))
    .otherwise(pl.lit("refusal")),  # only a refusal has no claims to decide
    "words of the question": pl.col("question").str.count_matches(r"\S+"),
    "words of the answer": pl.col("answer").str.count_matches(r"\S+"),
    "characters of the messages": pl.col("messages")
    .list.eval(pl.element().struct.field("content").str.len_chars())
    .list.sum(),
}  # fmt: skip
"""Expressions whose values are counted per row, by name."""
LENGTHS = ("words of the question", "words of the answer", "characters of the messages")
"""The facts that are numbers; the card shows their quantiles."""
QUANTILES = {"least": 0.0, "median": 0.5, "95 %": 0.95, "most": 1.0}
_PROMPT, _NO_PROMPT = pl.col("prompt_hash"), pl.lit(None, pl.String())
_MAKERS = (
    ("questions", "questions", pl.col("model"), _PROMPT),
    ("answers", "pairs", pl.col("generator"), _PROMPT),
    ("embeddings", "embeddings", pl.format("{} @ {}", "model", "model_revision"), _NO_PROMPT),
    ("entailment of claims", "claims", pl.col("entailment_model"), _NO_PROMPT),
    ("verified by a model", "claim_verdicts", pl.col("model"), _PROMPT),
    ("round trip", "round_trips", pl.col("model"), _NO_PROMPT),
    ("judged", "assessments", pl.col("judge"), _PROMPT),
)
"""Tasks of models: role, table, and expressions of the table's columns for model and prompt."""


class CardFacts:
    """Counts across the batches of a release."""

    def __init__(self) -> None:
        self._values = {name: Counter[Any]() for name in _FACT_VALUES}  # rows by value
        # by the keys of a line of the card, such as ("judged", MODEL, PROMPT) for made_by
        self._counts = {name: Counter[tuple[Any, ...]]() for name in ("canaries", "made_by", "masked")}
        self._licences = Counter[str]()  # documents by licence
        self._prompts: set[str] = set()

    def add(self, tables: Mapping[str, pl.DataFrame], rows: pl.DataFrame, sources: pl.DataFrame) -> None:
        """Count the tables of a batch, its released rows, and its documents."""
        for name, expression in _FACT_VALUES.items():
            columns = set(expression.meta.root_names())  # that the expression reads
            if columns <= {*rows.columns}:  # a release omits empty columns
                self._values[name].update(dict(rows.group_by(expression.alias("value")).len().iter_rows()))
        self._licences.update(sources["licence"].fill_null("unknown"))
        system = pl.col("messages").list.first().struct.field("content")
        self._prompts.update(rows.select(system.unique()).to_series())
        replied = tables["canaries"].filter(pl.col("verdict") != "failed")
        self._count("canaries", replied, "asks", "expected", "verdict")
        for kind, documents, matches in masked_counts(tables["documents"]).iter_rows():
            self._counts["masked"][kind, "documents"] += documents
            self._counts["masked"][kind, "count"] += matches
        for role, table, model, prompt in _MAKERS:
            made = tables[table].select(role=pl.lit(role), model=model, prompt=prompt)
            self._count("made_by", made.drop_nulls("model"), "role", "model", "prompt")

    def _count(self, name: str, frame: pl.DataFrame, *keys: str) -> None:
        """Add the number of rows of a frame for each combination of these columns."""
        for *key, count in frame.group_by(keys).len().iter_rows():
            self._counts[name][tuple(key)] += count

    def document(self) -> dict[str, Any]:
        """Return all facts as JSON values; unknown values are counted under "unknown"."""
        values = {
            name: {"unknown" if value is None else str(value): count for value, count in counts.items()}
            for name, counts in self._values.items()
            if name not in LENGTHS
        }
        return {
            "rows": sum(self._values["language"].values()),
            "values": values,
            "lengths": {name: _quantiles(self._values[name]) for name in LENGTHS},
            "documents": self._licences.total(),  # each has a licence, maybe "unknown"
            "licences": dict(sorted(self._licences.items())),
            "system_prompts": sorted(self._prompts),
            "canaries": self._lines("canaries", "asks", "expected", "verdict"),
            "made_by": self._lines("made_by", "role", "model", "prompt"),
            "masked": self._lines("masked", "kind", "what"),
        }

    def _lines(self, name: str, *keys: str) -> list[dict[str, Any]]:
        """Return counts as objects, such as {"kind": "email", "what": "documents", "count": 2}."""
        counted = sorted(self._counts[name].items(), key=lambda item: [str(part) for part in item[0]])
        return [{**dict(zip(keys, key, strict=True)), "count": count} for key, count in counted]


def _quantiles(counts: Counter[int]) -> dict[str, int]:
    """Return the quantiles of numbers, given the frequency of each."""
    # the number of a rank is the first whose cumulative frequency reaches the rank
    frame = pl.DataFrame({"length": [*counts], "rows": [*counts.values()]}).sort("length")
    cumulative = frame["rows"].cum_sum()
    ranks = {name: 1 + round(level * (counts.total() - 1)) for name, level in QUANTILES.items()}
    return {name: frame["length"][int(cumulative.search_sorted(rank))] for name, rank in ranks.items()}


_MOST_VALUES = 20
"""Most values of a column that the card lists; the others are summed in a last line."""
_LICENCES = frozenset(
    (
        "agpl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc-by-3.0", "cc-by-4.0", "cc-by-nc-4.0",
        "cc-by-nc-nd-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0",
        "gfdl", "gpl-2.0", "gpl-3.0", "isc", "lgpl-3.0", "mit", "mpl-2.0", "odbl", "odc-by", "pddl",
        "unlicense",
    )
)  # fmt: skip
"""Licence names that the hub accepts."""
_TITLES = {
    "language": "language",
    "question_type": "type of question",
    "coverage": "coverage of the question",
    "difficulty": "difficulty of retrieval",
    "origin": "origin",
    "decided_by": "decided by",
}
"""Columns whose values the card counts, with their titles."""
_EXPLAINED = {"none": "none (a verified refusal)"}
"""Values that the card explains."""


def write_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """Write card and manifest, and return the manifest with the card's hash; equal input gives equal bytes.

    Raises a StorageError if a file cannot be written.
    """
    write_bytes(folder / CARD, data_card(manifest).encode())
    files = dict(sorted({**manifest.files, CARD: file_of(folder / CARD)}.items()))
    sealed = manifest.model_copy(update={"files": files})
    content = json.dumps(sealed.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False)
    write_bytes(folder / MANIFEST, f"{content}\n".encode())
    return sealed


def data_card(manifest: Manifest) -> str:
    """Return the card as Markdown; the manifest's entry for the card itself is ignored."""
    facts = manifest.facts
    # a maker is {"role": "judged", "model": MODEL, "prompt": HASH, "count": 9}
    models_by_role = {
        role: {maker["model"] for maker in facts["made_by"] if maker["role"] == role}
        for role in ("answers", "verified by a model", "judged")
    }
    checkers = models_by_role["verified by a model"] | models_by_role["judged"]
    decided_by = facts["values"]["decided_by"]  # rows by steps, such as "llm and quotation"
    return render_markdown(
        "publishing/card.md.j2",
        facts=facts,
        manifest=manifest,
        front_matter=_front_matter(manifest),
        splits=_splits(manifest),
        files=[(name, _megabytes(file)) for name, file in manifest.files.items() if name != CARD],
        values=_values(facts),
        columns=[(column.name, column.description) for column in released_table(facts["lacking"]).columns],
        lengths=[(name, *(facts["lengths"][name][quantile] for quantile in QUANTILES)) for name in LENGTHS],
        quantiles=["", *QUANTILES],
        most=_MOST_VALUES,
        is_fake=any(is_fake(maker["model"]) for maker in facts["made_by"]),
        checks_itself=bool(models_by_role["answers"] & checkers),  # a model checks its own answers
        rows_by_model=sum(rows for steps, rows in decided_by.items() if "llm" in steps.split(" and ")),
        is_similarity_only=any("similarity_only" in steps for steps in decided_by),
        similarity_only=SIMILARITY_ONLY,
    )


def _front_matter(manifest: Manifest) -> str:
    """Return the YAML head of the card, by which the hub finds files, languages and licence."""
    files = [{"split": split, "path": f"{DATA}/{split}.parquet"} for split, _ in ranked(manifest.splits)]
    licences = [licence.lower() for licence in manifest.facts["licences"]]
    has_one_licence = len(licences) == 1 and licences[0] in _LICENCES
    head = {
        "configs": [
            {"config_name": "default", "data_files": files, "default": True},
            {"config_name": "chat", "data_files": files, "columns": ["messages"]},
        ],
        "language": sorted({*manifest.facts["values"]["language"]} - {"unknown"}),
        **({"license": licences[0]} if has_one_licence else {}),
        "size_categories": [_size(manifest.facts["rows"])],
        "task_categories": ["question-answering", "text-generation"],
    }
    return str(yaml.safe_dump(json.loads(json.dumps(head)), sort_keys=False))  # avoids YAML anchors


def _splits(manifest: Manifest) -> Iterator[Sequence[Any]]:
    """Yield name, rows, share of all rows and file size of each split."""
    total = sum(manifest.splits.values())
    for name, count in ranked(manifest.splits):
        yield name, count, share(count, total), _megabytes(manifest.files[f"{DATA}/{name}.parquet"])


def _megabytes(file: File) -> str:
    return f"{file.size / 1e6:.2f} MB"


def _values(facts: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    """Yield the most frequent values of each column, and the sum of the others.

    The lines of a column are such as ("language", "en", 80, "80.0%") and ("", "sv", 20, "20.0%").
    """
    for name, title in _TITLES.items():
        values = ranked(facts["values"].get(name, {}))
        lines = [(_EXPLAINED.get(value, value), count) for value, count in values[:_MOST_VALUES]]
        if others := values[_MOST_VALUES:]:
            lines.append((f"{len(others)} more", sum(count for _, count in others)))
        for index, (value, count) in enumerate(lines):
            yield title if index == 0 else "", value, count, share(count, facts["rows"])


def _size(rows: int) -> str:
    """Return the hub's size category for a number of rows."""
    limits = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
    return next((name for limit, name in limits.items() if rows < limit), "1M<n<10M")
