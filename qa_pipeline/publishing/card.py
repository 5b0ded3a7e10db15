"""The data card of a release: `README.md`, from its facts and its manifest.

Its front matter is the metadata that `datasets.load_dataset` and the Hugging Face hub read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from qa_pipeline.llm.base import is_fake
from qa_pipeline.publishing.candidates import RELEASED
from qa_pipeline.publishing.facts import LENGTHS, SHOWN_SOURCES, SOURCE_COLUMNS
from qa_pipeline.publishing.manifest import CARD, File, Manifest
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.text.rendering import ranked, render_markdown, share
from qa_pipeline.verification.deciding import SIMILARITY_ONLY

_COLUMNS = tuple((column.name, column.description) for column in RELEASED.columns)
_MOST_VALUES = 20
"""Values of a column that are listed, so that the card stays a page to read; the others are added up."""
_LICENCES = frozenset(
    (
        "agpl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc-by-3.0", "cc-by-4.0", "cc-by-nc-4.0",
        "cc-by-nc-nd-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0",
        "gfdl", "gpl-2.0", "gpl-3.0", "isc", "lgpl-3.0", "mit", "mpl-2.0", "odbl", "odc-by", "pddl",
        "unlicense",
    )
)  # fmt: skip
"""Licences that the hub knows by these names."""


def write_card(folder: Path, facts: Mapping[str, Any], manifest: Manifest) -> Manifest:
    """Write the card; return the manifest, which then names it too.

    Args:
        folder: of the release.
        facts: of `CardFacts.document`.
        manifest: of the release, without the card.

    Raises:
        StorageError: it cannot be written.
    """
    content = data_card(facts, manifest).encode()
    write_bytes(folder / CARD, content)
    card = File(sha256=hash_file(folder / CARD), size=len(content))
    files = dict(sorted({**manifest.files, CARD: card}.items()))
    return manifest.model_copy(update={"files": files})


def headline(rows: int, documents: int) -> str:
    """Return the sentence of the card with its counts."""
    return f"{rows:,} pairs from {documents:,} documents."


def data_card(facts: Mapping[str, Any], manifest: Manifest) -> str:
    """Return the card as Markdown, the same for the same facts and manifest without its own entry."""
    rows = facts["rows"]
    sections = {section["status"]: section["count"] for section in facts["sections"]}
    return render_markdown(
        "publishing/card.md.j2",
        facts=facts,
        manifest=manifest,
        front_matter=_front_matter(facts, manifest),
        headline=headline(rows["rows"], facts["sources"]["documents"]),
        splits=_splits(manifest),
        # the size of the card itself is not known while it is written
        files=[(name, _megabytes(file)) for name, file in manifest.files.items() if name != CARD],
        values=_values(rows),
        columns=_COLUMNS,
        lengths=[{"": title, **rows["lengths"][title]} for title in LENGTHS],
        sections=[(*item, share(item[1], sum(sections.values()))) for item in sections.items()],
        claims=_claims(facts["claims"]),
        canaries=_canaries(facts["canaries"]),
        models=_made_by(facts["made_by"]),
        shown_sources=SHOWN_SOURCES,
        documents=[
            (f"{batch}/{path}", licence, address, sha256[:12])
            for batch, path, sha256, licence, address in (
                map(source.__getitem__, SOURCE_COLUMNS) for source in facts["sources"]["first"]
            )
        ],
        is_fake=any(is_fake(maker["model"]) for maker in facts["made_by"]),
        deciders=_totals(
            (claim["decided_by"], claim["count"]) for claim in facts["claims"] if claim["released"]
        ),
        similarity_only=SIMILARITY_ONLY,
    )


def _front_matter(facts: Mapping[str, Any], manifest: Manifest) -> str:
    files = [{"split": split, "path": f"data/{split}.parquet"} for split, n in ranked(manifest.splits) if n]
    licences = [licence.lower() for licence in facts["sources"]["licences"]]
    one_licence = len(licences) == 1 and licences[0] in _LICENCES
    head = {
        "configs": [{"config_name": "default", "data_files": files}],
        "language": [language for language in facts["rows"]["language"] if language != "unknown"],
        **({"license": licences[0]} if one_licence else {}),
        "size_categories": [_size(facts["rows"]["rows"])],
        "task_categories": ["question-answering", "text-generation"],
    }
    return str(yaml.safe_dump(head, sort_keys=False))


def _splits(manifest: Manifest) -> Iterator[Sequence[Any]]:
    total = sum(manifest.splits.values())
    for name, count in ranked(manifest.splits):
        file = manifest.files.get(f"data/{name}.parquet")
        yield name, count, share(count, total), None if file is None else _megabytes(file)


def _megabytes(file: File) -> str:
    return f"{file.size / 1e6:.2f} MB"


_VALUES = {
    "language": "language",
    "question_type": "type of question",
    "coverage": "how far the documents answer it",
    "difficulty": "difficulty for the search",
    "origin": "origin",
    "decided_by": "who decided of the claims",
}
_ANSWERED = {"none": "none (a proved refusal)"}


def _values(rows: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    """Yield the most frequent values of each column, with the sum of the others."""
    for name, title in _VALUES.items():
        if set(rows[name]) == {"unknown"}:
            yield title, "unknown", rows["rows"], share(rows["rows"], rows["rows"])
            continue
        values = ranked(rows[name])
        first = [(_ANSWERED.get(value, value), count) for value, count in values[:_MOST_VALUES]]
        if more := values[_MOST_VALUES:]:
            first.append((f"{len(more)} more", sum(count for _, count in more)))
        for place, (value, count) in enumerate(first):
            yield title if place == 0 else "", value, count, share(count, rows["rows"])


def _totals(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for name, count in counted:
        totals[name] = totals.get(name, 0) + count
    return totals


def _claims(claims: Iterable[Mapping[str, Any]]) -> list[Sequence[Any]]:
    """Return claims in released rows and in all pairs by verdict and decider, the most frequent first."""
    counts: dict[tuple[str, str], list[int]] = {}
    for claim in claims:
        released_and_all = counts.setdefault((claim["verdict"], claim["decided_by"]), [0, 0])
        released_and_all[0] += claim["count"] if claim["released"] else 0
        released_and_all[1] += claim["count"]
    return [(*key, *pair) for key, pair in sorted(counts.items(), key=lambda item: -item[1][1])]


def _canaries(kinds: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return counts of canaries with their shares in words."""
    shares = ("rejected_share", "accepted_share")
    return [{**kind, **{name: _interval(kind[name]) for name in shares}} for kind in kinds]


def _interval(bounds: Mapping[str, Any]) -> str:
    if bounds["value"] is None:
        return "–"
    return f"{bounds['value']:.1%} ({100 * bounds['low']:.1f}–{100 * bounds['high']:.1f})"


def _made_by(makers: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    ranked = sorted(makers, key=lambda maker: -maker["count"])
    for maker in sorted(ranked[: 2 * _MOST_VALUES], key=lambda maker: (maker["role"], -maker["count"])):
        yield maker["role"], maker["model"], maker["prompt"], maker["count"]
    if more := ranked[2 * _MOST_VALUES :]:
        yield "", f"{len(more)} more", None, sum(maker["count"] for maker in more)


def _size(rows: int) -> str:
    """Return the hub's name for an order of size."""
    limits = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
    return next((name for limit, name in limits.items() if rows < limit), "1M<n<10M")
