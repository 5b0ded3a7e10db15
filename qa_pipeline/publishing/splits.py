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
        item_lowest=pl.col("known").min(), item_highest=pl.col("known").max(),
        is_new=pl.col("known").has_nulls(),
    )  # fmt: skip
    rows = pl.DataFrame({"item": pl.Series(range(len(languages)), dtype=pl.UInt32()), "language": languages})
    rows_by_component = items.join(rows, on="item").group_by("component")
    sizes = rows_by_component.agg(rows=pl.len(), language=pl.col("language").mode().min())
    components = (
        of_components.group_by("component")
        .agg(lowest=pl.col("known").min(), highest=pl.col("known").max(), least_key=pl.col("key").min())
        .join(sizes, on="component")
        .sort("least_key")
    )
    drawn = pl.Series("drawn", _draw(components, shares), pl.Int8())
    has_one_split = pl.col("lowest") == pl.col("highest")
    item_has_one_split = pl.col("item_lowest") == pl.col("item_highest")
    split = (
        pl.when(pl.col("lowest").is_null()).then("drawn")
        .when(has_one_split).then("lowest")
        # the component joins two splits: rows that were in one of them stay there, and new rows are left out
        .when(item_has_one_split & ~pl.col("is_new")).then("item_lowest")
        .alias("split")
    )  # fmt: skip
    split_of_items = items.join(components.with_columns(drawn), on="component").select("item", split)
    return rows.join(split_of_items, on="item", how="left", maintain_order="left")["split"]


def _components(keys: pl.DataFrame) -> pl.Series:
    """Return the component number of each line of an ITEM_KEYS frame; a shared key connects its items."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    distinct_items, item_numbers = np.unique(keys["item"].to_numpy(), return_inverse=True)
    distinct_keys, key_numbers = np.unique(keys["key"].to_numpy(), return_inverse=True)
    # nodes of the graph are the items, then the keys; each line is an edge from its item to its key
    size = len(distinct_items) + len(distinct_keys)
    edges = (np.ones(keys.height, dtype=np.int8), (item_numbers, len(distinct_items) + key_numbers))
    _, component_of_node = connected_components(coo_array(edges, shape=(size, size)), directed=False)
    return pl.Series(component_of_node[item_numbers])


def _draw(components: pl.DataFrame, shares: Sequence[float]) -> list[int]:
    """Return the split of each component: its known split, or a split that lacks rows of its language.

    A component that would fill half of another split goes to the largest split. A split with too few
    components returns its new ones to the largest split.
    """
    main = int(np.argmax(shares))
    targets = _target_rows(components["rows"], shares, main)
    all_rows = int(components["rows"].sum())
    by_language = dict(components.group_by("language").agg(pl.col("rows").sum()).iter_rows())
    strata: dict[str | None, int] = by_language | {None: all_rows}  # None is all languages
    splits: list[int | None] = components["lowest"].to_list()
    sizes = list(components.select("rows", "language").iter_rows())
    rows_in, components_in = Counter[tuple[int, str | None]](), Counter[int]()

    def put(index: int, split: int) -> None:
        rows, language = sizes[index]
        splits[index] = split
        components_in[split] += 1
        rows_in[split, language] += rows
        rows_in[split, None] += rows

    for index, split in enumerate(splits):
        if split is not None:
            put(index, split)
    new = [index for index, split in enumerate(splits) if split is None]
    lots = codes(str(key) for key in components["least_key"].gather(new)).to_list()
    order = [index for _, index in sorted(zip(lots, new, strict=True))]
    for is_second_round in (False, True):  # the second round is for splits with too few components
        for index in order:
            if splits[index] is not None:
                continue
            rows, language = sizes[index]
            stratum = None if is_second_round else language
            lacking_rows = {
                split: target * strata[stratum] / all_rows - rows_in[split, stratum]
                for split, target in targets.items()
                if rows * FEWEST_COMPONENTS <= target
                and not (is_second_round and components_in[split] >= FEWEST_COMPONENTS)
            }
            neediest = max(lacking_rows, key=lambda split: lacking_rows[split] / targets[split], default=main)
            if neediest != main and 2 * lacking_rows[neediest] >= rows:
                put(index, neediest)
    too_small = {split for split in targets if components_in[split] < FEWEST_COMPONENTS}
    is_new = set(new)
    return [
        main if split is None or (index in is_new and split in too_small) else split
        for index, split in enumerate(splits)
    ]


def _target_rows(sizes: pl.Series, shares: Sequence[float], main: int) -> dict[int, float]:
    """Return the number of rows for each split except `main`, given the sizes of all components.

    A target is at least two components of median size. While all targets together are too large, the last
    split gets no rows.
    """
    rows = int(sizes.sum())
    median = float(np.median(sizes.to_numpy())) if len(sizes) else 0.0
    targets = {
        split: max(share / sum(shares) * rows, FEWEST_COMPONENTS * median)
        for split, share in enumerate(shares)
        if share and split != main
    }
    most = max(MOST_HELD_OUT, 1 - shares[main] / sum(shares)) * rows
    while sum(targets.values()) > most + 1e-6:
        targets.popitem()
    return targets


def shortcomings(documents: pl.DataFrame, splits: Iterable[str]) -> list[str]:
    """Return a sentence, with a remedy, for each rule that the splits break.

    Args:
        documents: split, path of a row's main document, and number of rows.
        splits: names of the splits in the settings.
    """
    counts = dict(documents.group_by("split").agg(pl.col("rows").sum()).iter_rows())
    problems = []
    empty = [name for name in splits if not counts.get(name)]
    if empty:
        problems.append(
            f"there is no {' and no '.join(empty)} split: rows of {documents.height} documents are too few "
            "or too unequal, since no split may rest on one document; add documents, or remove it from "
            "release.splits"
        )
    largest = documents.sort("rows", "path", descending=[True, False], nulls_last=True)
    largest = largest.unique("split", keep="first").sort("split").select("split", "path", "rows")
    for name, path, rows in largest.iter_rows():
        if counts[name] < FEWEST_ROWS:
            problems.append(
                f"{name} has {counts[name]} rows: a share measured on fewer than {FEWEST_ROWS} is uncertain "
                "by more than 0.2; add documents, or raise its share in release.splits"
            )
        if path is not None and rows / counts[name] > LARGEST_DOCUMENT_SHARE:
            problems.append(
                f"{rows} of {counts[name]} rows of {name} rest on {path}: "
                "add documents, or set training.max_examples_per_document"
            )
    return problems
