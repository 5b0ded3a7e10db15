"""Pairs that several people rate apart from each other, so that it is known how far they agree.

The rule. A share of the waiting pairs, drawn by their ids, goes to two people. Each gives a verdict without
seeing the other's. Where both say the same, that is the decision, in both names; where they differ, a third
person decides. A gold pair goes to everybody and decides nothing: its right verdict is known. Ratings lie in
files of their own, as `eval annotators` reads them, so that a decision is a decision as ever.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from qa_pipeline.errors import InputError, TableError
from qa_pipeline.review.annotations import GOLD, RATINGS, read_ratings
from qa_pipeline.review.consensus import annotation_figures
from qa_pipeline.storage.files import locked, write_bytes
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.row_files import Limits, json_lines

CRITERION = "verdict"
VERDICTS = ("accepted", "rejected")
"""Verdicts that can be compared: of edits no two are the same."""
RATERS = 2
LEAST_PAIRS = 10
"""Pairs that two people rated, below which no kappa is shown: over 40 simulated sets in which two people say
the same of 85 % of the pairs, its interval is 0.8 wide for 10 pairs, and 1.1 for 5."""


class Rating(BaseModel):
    """A person's verdict on a pair, a line of a file that `eval annotators` reads."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: str
    annotator: str
    rating: Literal["accepted", "rejected"]
    criterion: str = CRITERION
    group: str | None = None
    why: str | None = None
    content_sha256: str
    rated_at: str


@dataclass(frozen=True, slots=True)
class Stand:
    """Say how far the people are with a pair.

    Args:
        open_for: who may give a verdict on it now; None: anybody may decide.
        is_disputed: whether two people differ, so that `open_for` decide.
        is_gold: whether its right verdict is known, so that no verdict decides.
        ratings: of the pair as it is now, by person.
    """

    open_for: tuple[str, ...] | None = None
    is_disputed: bool = False
    is_gold: bool = False
    ratings: Mapping[str, Rating] = field(default_factory=dict)

    def is_rated_by(self, who: str) -> bool:
        """Return whether a person's verdict is a rating, given without seeing that of others."""
        return who in (self.open_for or ()) and not self.is_disputed

    def shown_to(self, who: str) -> list[Rating]:
        """Return the ratings that a person may see: others' only once nobody is to rate any more."""
        is_rated = not self.is_gold and (self.open_for is None or self.is_disputed)
        return [rating for rating in self.ratings.values() if is_rated or rating.annotator == who]


class RatingPanel:
    """The people who rate the pairs of an output folder.

    Args:
        layout: the output folder.
        people: all who may sign in.
        overlap: share of the waiting pairs that goes to two people.
        gold: file of ratings that are known to be right, by id of the pair.

    Raises:
        InputError: the file cannot be read, or has a verdict that cannot be compared.
    """

    def __init__(
        self, layout: Layout, people: Sequence[str], overlap: float = 0, gold: Path | None = None
    ) -> None:
        self._layout = layout
        self.people = sorted(people)
        self._overlap = overlap
        self.gold = _right_verdicts(gold) if gold else {}
        self._orders: dict[str, list[str]] = {}

    def ratings(self, batch: str) -> dict[str, dict[tuple[str, str], Rating]]:
        """Return the ratings of a batch by pair, then by content and person: what changed is rated anew.

        Raises:
            TableError: their file is damaged.
        """
        of_pairs: dict[str, dict[tuple[str, str], Rating]] = {}
        path = self._layout.ratings(batch)
        try:
            for line in json_lines(path, Limits()) if path.is_file() else ():
                rating = Rating.model_validate(line.value)
                of_pairs.setdefault(rating.id, {})[rating.content_sha256, rating.annotator] = rating
        except (InputError, ValidationError) as error:
            raise TableError(f"{path} cannot be read; repair it or restore it from a backup") from error
        return of_pairs

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold off other verdicts, so that of two people who end together one is the second.

        Raises:
            StorageError: the folder of ratings cannot be used.
        """
        with locked(self._layout.rating_folder, wait=True):
            yield

    def add(self, batch: str, rating: Rating) -> None:
        """Record a rating, on the disk when this returns; the caller holds the lock.

        Raises:
            StorageError: it cannot be written; the recorded ones are untouched.
        """
        path = self._layout.ratings(batch)
        line = f"{json.dumps(rating.model_dump(), ensure_ascii=False)}\n"
        write_bytes(path, (path.read_bytes() if path.is_file() else b"") + line.encode())

    def stands(
        self, rows: pl.DataFrame, ratings: Mapping[tuple[str, str], Mapping[str, Rating]]
    ) -> dict[tuple[str, str], Stand]:
        """Return how far people are, by batch and pair; of pairs that are not here anybody may decide.

        Args:
            rows: the queue (`QUEUE`).
            ratings: of pairs as they are now, by batch and pair, and by person.
        """
        is_drawn = pl.col("lot") < round(self._overlap * 2**64) if self._overlap < 1 else pl.lit(value=True)
        waits = (pl.col("verdict") == "needs_review") & pl.col("decision").is_null()
        rated = [f"{batch}\n{pair_id}" for batch, pair_id in ratings]
        candidates = rows.filter(
            pl.col("expected_verdict").is_null(),
            pl.col("pair_id").is_in([*self.gold])
            | pl.concat_str("batch", pl.lit("\n"), "pair_id").is_in(rated)
            | (waits & is_drawn & (len(self.people) >= RATERS)),
        )
        return {
            (batch, pair_id): self._stand(pair_id, ratings.get((batch, pair_id), {}), is_waiting=is_waiting)
            for batch, pair_id, is_waiting in candidates.select("batch", "pair_id", waits).iter_rows()
        }

    def seen_by(self, who: str, rows: pl.DataFrame, stands: Mapping[tuple[str, str], Stand]) -> pl.DataFrame:
        """Return the queue as a person sees it: a gold pair that they have not rated waits like others."""
        keys = {"batch": pl.String(), "pair_id": pl.String()}
        flags = {"is_disputed": pl.Boolean(), "is_for_others": pl.Boolean(), "is_blind": pl.Boolean()}
        of_pairs = pl.DataFrame(
            [
                (
                    *key,
                    stand.is_disputed,
                    stand.open_for is not None and who not in stand.open_for,
                    stand.is_gold and stand.is_rated_by(who),
                )
                for key, stand in stands.items()
            ],
            schema={**keys, **flags},
            orient="row",
        )
        joined = rows.drop("is_disputed", "is_for_others").join(
            of_pairs, on=list(keys), how="left", maintain_order="left"
        )
        masks = {
            "verdict": pl.lit("needs_review"),
            **dict.fromkeys(("reason", "decision", "who"), pl.lit(None)),
        }
        filled = joined.with_columns(pl.col(*flags).fill_null(value=False))
        return filled.with_columns(
            pl.when("is_blind").then(mask).otherwise(name).alias(name) for name, mask in masks.items()
        ).select(rows.columns)

    def _stand(self, pair_id: str, ratings: Mapping[str, Rating], *, is_waiting: bool) -> Stand:
        if pair_id in self.gold:
            rest = tuple(who for who in self.people if who not in ratings)
            return Stand(rest, is_gold=True, ratings=ratings)
        if not is_waiting:
            return Stand(ratings=ratings)
        if pair_id not in self._orders:
            self._orders[pair_id] = sorted(self.people, key=lambda who: hash_parts(CRITERION, pair_id, who))
        # who has rated it stays its rater, whoever joins or leaves
        others = tuple(who for who in self._orders[pair_id] if who not in ratings)
        missing = max(0, RATERS - len(ratings))
        if missing and others:
            return Stand(others[:missing], ratings=ratings)
        if len({rating.rating for rating in ratings.values()}) < 2:
            return Stand(ratings=ratings)  # they agree, and their decision was taken back
        return Stand(others or tuple(self.people), is_disputed=True, ratings=ratings)

    def figures(self, stands: Mapping[tuple[str, str], Stand]) -> dict[str, Any] | None:
        """Return the figures of `eval annotators` about what was rated; None where nothing can be shown yet.

        A first rating is left out until the second is there, so that no figure tells it. `kappa` is an
        estimate, with `unknown` where it is null.
        """
        rows = [
            {**rating.model_dump(), "file": batch, "item": rating.id}
            for (batch, _), stand in stands.items()
            if stand.is_gold or len(stand.ratings) >= RATERS
            for rating in stand.ratings.values()
        ]
        if not rows:
            return None
        items = {row["item"] for row in rows}
        right = [
            {"item": item, "annotator": GOLD, "criterion": CRITERION, "rating": verdict}
            for item, verdict in self.gold.items()
            if item in items
        ]
        figures, _ = annotation_figures(pl.DataFrame([*rows, *right], schema=RATINGS, strict=False))
        kappa = next(row for row in figures["agreement"] if row["name"] == "fleiss_kappa")
        both = sum(len(stand.ratings) >= RATERS for stand in stands.values())
        if both < LEAST_PAIRS:
            kappa |= {"value": None, "low": None, "high": None, "unknown": "too few ratings"}
        return {**figures, "kappa": kappa, "both": both}


def _right_verdicts(path: Path) -> dict[str, str]:
    rows = read_ratings([path]).items
    if others := sorted({*rows["rating"]} - {*VERDICTS}):
        raise InputError(f"{path}: {others[0]!r} is no verdict; write {' or '.join(VERDICTS)}")
    return dict(rows.select("item", "rating").iter_rows())
