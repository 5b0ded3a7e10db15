"""Assign splits without leakage: rows that share a key stay together and keep their split.

Rows that share a key, or whose documents are near duplicates, form a component that goes into a single split.
Keys of the previous release keep their split, so that rows do not move as the corpus grows. A new row that
would join two splits is left out. New components are assigned in random order (by a hash of their least key),
language by language.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from qa_pipeline.publishing.keys import codes

ITEM_KEYS = pl.Schema({"item": pl.UInt32(), "key": pl.UInt64(), "known": pl.Int8()})
LARGEST_DOCUMENT_SHARE = 0.5
"""Largest share of a split's rows that may come from one document; above it the split mostly trains or
measures that document."""
FEWEST_ROWS = 20
"""Fewest rows for which a split gets no warning. For a share of a half Wilson's interval is then 0.3 to 0.7;
fewer rows hardly distinguish two models."""
FEWEST_COMPONENTS = 2
MOST_HELD_OUT = 0.4
"""Largest share of rows for splits other than the largest when each takes two documents. So a corpus of
similar documents has a validation split from five documents, and a test split from ten."""


def assign_splits(keys: pl.DataFrame, languages: pl.Series, shares: Sequence[float]) -> pl.Series:
    """Return the split number of each row; null for a row without a key, or that would join two splits.

    Items that share a key never end in different splits.

    Args:
        keys: an ITEM_KEYS frame. Items below the number of languages are rows, and further items keep keys
            together. `known` is the key's split in an earlier release, or null.
        languages: language of each row.
        shares: relative share of each split; a split with 0 gets no new rows.
    """
    of_components = keys.with_columns(component=_components(keys))
    items = of_components.group_by("item", "component").agg(
        low=pl.col("known").min(), high=pl.col("known").max(), is_new=pl.col("known").has_nulls()
    )
    rows_by_language = pl.DataFrame(
        {"item": pl.Series(range(len(languages)), dtype=pl.UInt32()), "language": languages}
    )
    of_rows = items.join(rows_by_language, on="item").group_by("component")
    sizes = of_rows.agg(rows=pl.len(), language=pl.col("language").mode().min())
    components = (
        of_components.group_by("component")
        .agg(first=pl.col("known").min(), last=pl.col("known").max(), least=pl.col("key").min())
        .join(sizes, on="component")
        .sort("least")
    )
    drawn = pl.Series("drawn", _draw(components, shares), pl.Int8())
    only, same_split = pl.col("first") == pl.col("last"), pl.col("low") == pl.col("high")
    split = (
        pl.when(pl.col("first").is_null()).then("drawn")
        .when(only).then("first")
        .when(same_split & ~pl.col("is_new")).then("low")
        .alias("split")
    )  # fmt: skip
    placed = items.join(components.with_columns(drawn), on="component").select("item", split)
    return rows_by_language.join(placed, on="item", how="left", maintain_order="left")["split"]


def _components(keys: pl.DataFrame) -> pl.Series:
    """Return the component number of each line of an ITEM_KEYS frame."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, items = np.unique(keys["item"].to_numpy(), return_inverse=True)
    names, ends = np.unique(keys["key"].to_numpy(), return_inverse=True)
    count = int(items.max(initial=-1)) + 1
    edges = (np.ones(len(items), dtype=np.int8), (items, ends + count))
    size = count + len(names)
    _, labels = connected_components(coo_array(edges, shape=(size, size)), directed=False)
    return pl.Series(labels[items])


def _draw(components: pl.DataFrame, shares: Sequence[float]) -> list[int]:
    """Return the split of each component: its known split, or a split that lacks rows of its language.

    A component that would fill half of another split goes to the largest split. A split with too few
    components returns its new ones to the largest split.
    """
    rows, main = int(components["rows"].sum()), int(np.argmax(shares))
    strata = dict(components.group_by("language").agg(pl.col("rows").sum()).iter_rows()) | {None: rows}
    usual = float(np.median(components["rows"].to_numpy())) if components.height else 0.0
    targets = {
        split: max(share / sum(shares) * rows, FEWEST_COMPONENTS * usual)
        for split, share in enumerate(shares)
        if share and split != main
    }
    most = max(MOST_HELD_OUT, 1 - shares[main] / sum(shares)) * rows
    while sum(targets.values()) > most + 1e-6:
        targets.popitem()
    splits: list[int | None] = components["first"].to_list()
    table = list(components.select("rows", "language").iter_rows())
    rows_of, parts = Counter[tuple[int, str | None]](), Counter[int]()

    def put(index: int, split: int) -> None:
        size, language = table[index]
        splits[index] = split
        parts[split] += 1
        rows_of[split, language] += size
        rows_of[split, None] += size

    for index, split in enumerate(splits):
        if split is not None:
            put(index, split)
    new = [index for index, split in enumerate(splits) if split is None]
    lots = codes(str(key) for key in components["least"].gather(new)).to_list()
    order = [index for _, index in sorted(zip(lots, new, strict=True))]
    for by_language in (True, False):  # the second round is for splits with too few components
        for index in order:
            size, language = table[index]
            stratum = language if by_language else None
            lacks = {
                split: goal * strata[stratum] / rows - rows_of[split, stratum]
                for split, goal in targets.items()
                if splits[index] is None
                and size * FEWEST_COMPONENTS <= goal
                and (by_language or parts[split] < FEWEST_COMPONENTS)
            }
            neediest = max(lacks, key=lambda split: lacks[split] / targets[split], default=main)
            if neediest != main and 2 * lacks[neediest] >= size:
                put(index, neediest)
    fallen = {split for split in targets if parts[split] < FEWEST_COMPONENTS}
    is_new = set(new)
    return [
        main if split is None or (index in is_new and split in fallen) else split
        for index, split in enumerate(splits)
    ]


def shortcomings(documents: pl.DataFrame, splits: Iterable[str]) -> list[str]:
    """Return a sentence, with a remedy, for each rule that the splits break.

    Args:
        documents: split, path of a row's main document, and number of rows.
        splits: names of the splits in the settings.
    """
    counts = dict(documents.group_by("split").agg(pl.col("rows").sum()).iter_rows())
    problems = []
    if lacking := [name for name in splits if not counts.get(name)]:
        problems.append(
            f"there is no {' and no '.join(lacking)} split: rows of {documents.height} documents are too few "
            "or too unequal, since no split may rest on one document; add documents, or remove it from "
            "release.splits"
        )
    largest = documents.sort("rows", "path", descending=[True, False], nulls_last=True)
    largest = largest.unique("split", keep="first").sort("split").select("split", "path", "rows")
    for name, path, most in largest.iter_rows():
        if counts[name] < FEWEST_ROWS:
            problems.append(
                f"{name} has {counts[name]} rows: a share measured on fewer than {FEWEST_ROWS} is uncertain "
                "by more than 0.2; add documents, or raise its share in release.splits"
            )
        if path is not None and most / counts[name] > LARGEST_DOCUMENT_SHARE:
            problems.append(
                f"{most} of {counts[name]} rows of {name} rest on {path}: "
                "add documents, or set training.max_examples_per_document"
            )
    return problems
