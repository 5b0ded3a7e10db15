"""Ratings of several annotators as tests write them: one text an annotator or item."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from qa_pipeline.review.annotations import RATINGS, Panel, panel

FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)
"""The table of ten subjects by which textbooks show the kappa of Fleiss (1971): it is 0.210."""
KRIPPENDORFF = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
"""Four observers, twelve units: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), part C."""
ANAESTHETISTS = """
    1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111
    2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111
    2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432
    1111111 1111111 1212111 2322222 1211111 2222222
"""
"""Table 1 of Dawid and Skene (1979): 45 patients; the first anaesthetist rated three times, four once."""


def rows(*ratings: tuple[str, str, str], criterion: str = "rating") -> pl.DataFrame:
    """Ratings (`RATINGS`) from item, annotator and rating; an item's name up to a slash is its group."""
    return pl.DataFrame(
        [
            ("file", place, item, annotator, criterion, rating, item.partition("/")[0])
            for place, (item, annotator, rating) in enumerate(ratings)
        ],
        schema=RATINGS,
        orient="row",
    )


def columns(texts: Sequence[str], order: Sequence[str] = ()) -> Panel:
    """One text an annotator, one sign an item; blank and dot are no rating."""
    said = [
        (f"u{place}", f"a{number}", sign)
        for number, text in enumerate(texts)
        for place, sign in enumerate(text)
        if sign not in " ."
    ]
    return panel(rows(*sorted(said)), order)
