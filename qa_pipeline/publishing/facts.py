"""What a data card rests on: `facts.json`, from counts of tables and rows, never the rows themselves.

`CardFacts` gathers what only the tables know, batch by batch. What the files of a release know is counted
from them by `row_facts` and `source_facts`, when it is made and again when it is verified.
"""

import hashlib
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import SecretStr, ValidationError

from qa_pipeline.curation.exports import json_lines
from qa_pipeline.errors import ReleaseError
from qa_pipeline.pipeline.costs import cost_summary
from qa_pipeline.pipeline.funnel import masked_counts, yield_funnel
from qa_pipeline.publishing.manifest import SOURCES, Manifest, row_groups_of
from qa_pipeline.settings.base import Group
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.settings.thresholds import Interval
from qa_pipeline.settings.tree import PROFILES, Settings
from qa_pipeline.settings.verification import JudgingSettings, ReleaseSettings, VerificationSettings
from qa_pipeline.storage.parquet import row_groups
from qa_pipeline.storage.tables import LAYOUTS
from qa_pipeline.verification.canaries.outcomes import ACCEPTED, REJECTED, replied

FACTS = "facts.json"
FORM = 2
"""Version of these facts and of the card made from them."""
BINS = 20
"""Equal bins of a histogram from 0 to 1; the last one holds 1."""
SHOWN_SOURCES = 50
"""Documents that the card lists; all are in `sources.parquet`."""
PAIR_SCORES = ("composite", "grounding", "relevance", "correctness", "completeness", "question_quality")
CLAIM_SCORES = ("similarity", "entailment")
_COUNTED = ("language", "question_type", "coverage", "difficulty", "memorised")
_PROVENANCE = ("origin", "generator", "judge", "thresholds_id")
LENGTHS = {
    f"{unit} of the {part}": expression
    for part in ("question", "answer")
    for unit, expression in (
        ("characters", pl.col(part).str.len_chars()),
        ("words", pl.col(part).str.count_matches(r"\S+")),
    )
} | {f"tokens, {layout}": pl.col("tokens").struct.field(layout) for layout in LAYOUTS}
REFUSAL = "refusal"
ROW_COLUMNS = (*_COUNTED, "provenance", "question", "answer", "tokens", "claims")
SOURCE_COLUMNS = ("batch", "path", "content_sha256", "licence", "source_uri")
_QUANTILES = {"least": 0.0, "median": 0.5, "95 %": 0.95, "most": 1.0}
_MAKERS = (
    ("questions", "questions", "model", "prompt_hash"),
    ("answers", "pairs", "generator", "prompt_hash"),
    ("embeddings", "embeddings", pl.format("{} @ {}", "model", "model_revision"), None),
    ("entailment of claims", "claims", "entailment_model", None),
    ("verified by a model", "claim_verdicts", "model", "prompt_hash"),
    ("round trip", "round_trips", "model", None),
    ("judged", "assessments", "judge", "prompt_hash"),
)
"""What models did: role, table, and its columns of model and prompt."""


class CardFacts:
    """Counts over the batches of a release."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._counts: dict[str, pl.DataFrame] = {}
        self._costs: Counter[str] = Counter()
        self._calls = {"calls": 0, "tokens": 0, "calls_without_cost": 0, "accepted": 0}

    def add(self, tables: Mapping[str, pl.DataFrame], released: pl.DataFrame) -> None:
        """Count all tables of a batch, and the `pair_id` of its released rows."""
        verdicts = tables["verdicts"].filter(pl.col("expected_verdict").is_null())
        ids = released.select("pair_id", released=True)
        pairs = verdicts.join(ids, on="pair_id", how="left").with_columns(
            pl.col("released").fill_null(value=False)
        )
        claims = tables["claims"].join(pairs.select("pair_id", "released"), on="pair_id")
        decided = tables["claim_verdicts"].join(pairs.select("pair_id", "released"), on="pair_id")
        self._sum("funnel", ("stage", "what", "reason"), yield_funnel(tables))
        self._sum("masked", ("kind",), masked_counts(tables["documents"]))
        self._count("sections", tables["coverage"], "status", "reason")
        self._count("claims", decided, "verdict", "decided_by", "released")
        for name in ("canaries", "judge_canaries"):
            self._count(name, tables[name], "expected", "kind", "verdict")
        for names, frame in ((PAIR_SCORES, pairs), (CLAIM_SCORES, claims)):
            for name in names:
                place = (pl.col(name) * BINS).floor().clip(0, BINS - 1).cast(pl.Int64)
                scored = frame.drop_nulls(name).with_columns(score=pl.lit(name), place=place)
                self._count("scores", scored, "score", "place", "released")
        for role, table, model, prompt in _MAKERS:
            made_by = pl.col(model) if isinstance(model, str) else model
            prompted = pl.lit(None, pl.String()) if prompt is None else pl.col(prompt)
            done = tables[table].select(pl.lit(role).alias("role"), made_by.alias("model"), prompt=prompted)
            self._count("made_by", done.drop_nulls("model"), "role", "model", "prompt")
        calls = tables["llm_calls"]
        for currency, cost in calls.drop_nulls("cost").select("currency", "cost").iter_rows():
            self._costs[currency] += cost
        summary = cost_summary(calls, tables["verdicts"])
        for name in self._calls:
            self._calls[name] += getattr(summary, name) or 0

    def _count(self, name: str, frame: pl.DataFrame, *keys: str) -> None:
        self._sum(name, keys, frame.group_by(keys).agg(count=pl.len().cast(pl.Int64)))

    def _sum(self, name: str, keys: Iterable[str], counts: pl.DataFrame) -> None:
        """Add counts of equal keys, in the order in which they first come up."""
        before = self._counts.get(name, counts.head(0))
        added = pl.concat([before, counts]).group_by(list(keys), maintain_order=True)
        self._counts[name] = added.agg(pl.exclude(list(keys)).sum())

    def document(self, rows: Iterable[pl.DataFrame], sources: Iterable[pl.DataFrame]) -> dict[str, Any]:
        """Return all facts as JSON values.

        Args:
            rows: the released rows, as `row_facts` takes them.
            sources: the documents, as `source_facts` does.
        """
        options, private_settings = changed_settings(self._settings)
        return {
            "form": FORM,
            "package": package_version(),
            "rows": row_facts(rows),
            "sources": source_facts(sources),
            "funnel": self._frame("funnel"),
            "sections": self._frame("sections", "status", "reason"),
            "claims": self._frame("claims", "verdict", "decided_by", "released"),
            "canaries": self._canaries(self._counts["canaries"]),
            "judge_canaries": self._canaries(replied(self._counts["judge_canaries"])),
            "scores": self._scores(),
            "made_by": self._frame("made_by", "role", "model", "prompt"),
            "masked": self._frame("masked", "kind"),
            "masking": self._settings.documents.masking.action,
            "cost": self._cost(),
            "thresholds": _thresholds(self._settings),
            "settings": options,
            "settings_untold": private_settings,
        }

    def _frame(self, name: str, *by: str) -> list[dict[str, Any]]:
        counts = self._counts.get(name, pl.DataFrame())
        if not by:
            # a reason that only a later batch has belongs beside the others of its stage
            order = counts["stage"].unique(maintain_order=True).to_list()
            return counts.sort(pl.col("stage").cast(pl.Enum(order)), maintain_order=True).to_dicts()
        return counts.sort(by, nulls_last=True).to_dicts()

    def _canaries(self, canaries: pl.DataFrame) -> list[dict[str, Any]]:
        """Return counts of canaries by expected verdict: all kinds together (kind null), and each."""
        verdict, count = pl.col("verdict"), pl.col("count")
        counts = {
            "canaries": count.sum(),
            "rejected": count.filter(verdict.is_in(REJECTED)).sum(),
            "accepted": count.filter(verdict.is_in(ACCEPTED)).sum(),
        }
        every = canaries.group_by("expected").agg(kind=pl.lit(None, pl.String()), **counts)
        kinds = canaries.group_by("expected", "kind").agg(**counts)
        rows = pl.concat([every, kinds]).sort("expected", "kind", nulls_last=False).to_dicts()
        for row in rows:
            for name in ("rejected", "accepted"):
                row[f"{name}_share"] = Interval.of_counts(row[name], row["canaries"]).model_dump()
        return rows

    def _scores(self) -> dict[str, dict[str, list[int]]]:
        """Return counts in each bin, of all pairs or claims and of the released; absent without scores."""
        histograms: dict[str, dict[str, list[int]]] = {}
        for score, place, released, count in self._counts["scores"].iter_rows():
            bins = histograms.setdefault(score, {"all": [0] * BINS, "released": [0] * BINS})
            bins["all"][place] += count
            bins["released"][place] += count if released else 0
        return histograms

    def _cost(self) -> dict[str, Any]:
        """Return sums, and the cost of an accepted pair, null with the reason where it is not known."""
        accepted, in_one_currency = self._calls["accepted"], len(self._costs) == 1
        why = None
        if not self._calls["calls"]:
            why = "no hosted model was asked"
        elif not in_one_currency:
            unknown = "no call has a price that is known"
            why = "the costs are in several currencies" if self._costs else unknown
        elif not accepted:
            why = "no pair was accepted"
        currency, cost = next(iter(self._costs.items())) if in_one_currency else (None, None)
        return {
            **self._calls,
            "currency": currency,
            "cost": cost,
            "cost_per_accepted_pair": None if cost is None or why else cost / accepted,
            "why": why,
        }


def counted_parts(
    folder: Path, splits: Iterable[str]
) -> tuple[Iterator[pl.DataFrame], Iterator[pl.DataFrame]]:
    """Return the counted parts of a release for `row_facts` and `source_facts`, by row group."""
    return row_groups_of(folder, splits, ROW_COLUMNS), row_groups(folder / SOURCES, SOURCE_COLUMNS)


_HASHED_COLUMNS = (
    *("pair_id", "batch", "question", "answer", "coverage", "claims", "evidence", "documents", "licences"),
)


def content_hashes(folder: Path, splits: Iterable[str]) -> dict[str, str]:
    """Return hashes of what the rows of each split and the documents say, whatever bytes their files have."""
    parts = {split: row_groups_of(folder, [split], _HASHED_COLUMNS) for split in splits}
    parts[SOURCES] = row_groups(folder / SOURCES, (*SOURCE_COLUMNS, "text_sha256"))
    hashes = {}
    for name, frames in parts.items():
        digest = hashlib.sha256()
        for frame in frames:
            for block in json_lines(frame):
                digest.update(block)
        hashes[name] = digest.hexdigest()
    return hashes


def row_facts(rows: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the facts that the rows alone give.

    Args:
        rows: of all splits, part after part, with `ROW_COLUMNS`.

    Returns:
        `rows`; counts of the values of each counted column, unknown ones as `unknown`; and quantiles of
        `lengths`, which are null where nothing is known.
    """
    provenance = pl.col("provenance").struct
    columns = {name: pl.col(name).cast(pl.String) for name in _COUNTED} | {
        name: provenance.field(name) for name in _PROVENANCE
    }
    decided_by = pl.col("claims").list.eval(pl.element().struct.field("decided_by"))
    steps = decided_by.list.unique().list.sort().list.join(" and ")
    columns["decided_by"] = pl.when(pl.col("claims").list.len() > 0).then(steps).otherwise(pl.lit(REFUSAL))
    values = [column.fill_null("unknown") for column in columns.values()] + list(LENGTHS.values())
    counts = [Counter[Any]() for _ in values]
    for part in rows:
        _count_values(part, values, counts)
    texts, lengths = counts[: len(columns)], counts[len(columns) :]
    return {
        "rows": texts[0].total(),
        **{name: dict(sorted(of_column.items())) for name, of_column in zip(columns, texts, strict=True)},
        "lengths": {name: _quantiles(of_unit) for name, of_unit in zip(LENGTHS, lengths, strict=True)},
    }


def _count_values(part: pl.DataFrame, values: Iterable[pl.Expr], counts: Iterable[Counter[Any]]) -> None:
    for value, counted in zip(values, counts, strict=True):
        counted.update(dict(part.group_by(value.alias("value")).len().iter_rows()))


def _quantiles(counts: Counter[int | None]) -> dict[str, int | None]:
    """Return the quantiles of numbers given with their frequencies; None is unknown."""
    lengths = sorted((length, rows) for length, rows in counts.items() if length is not None)
    values, upto = [length for length, _ in lengths], list(accumulate(rows for _, rows in lengths))
    every = upto[-1] if upto else 0
    quantiles: dict[str, int | None] = {"rows": every, **dict.fromkeys(_QUANTILES)}
    if every:
        ranks = {name: 1 + round(part * (every - 1)) for name, part in _QUANTILES.items()}
        quantiles |= {name: values[bisect_left(upto, rank)] for name, rank in ranks.items()}
    return quantiles


def source_facts(sources: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the number of documents, their batches and licences, and the first by batch and path.

    Args:
        sources: the documents, part after part, with `SOURCE_COLUMNS`.
    """
    counts = {name: Counter[str]() for name in ("batch", "licence")}
    shown_sources = pl.DataFrame(schema=dict.fromkeys(SOURCE_COLUMNS, pl.String()))
    for part in sources:
        _count_values(part, [pl.col(name).fill_null("unknown") for name in counts], counts.values())
        together = pl.concat([shown_sources, part.select(SOURCE_COLUMNS)])
        shown_sources = together.sort("batch", "path", "content_sha256").head(SHOWN_SOURCES)
    return {
        "documents": counts["batch"].total(),
        "batches": dict(sorted(counts["batch"].items())),
        "licences": dict(sorted(counts["licence"].items())),
        "first": shown_sources.to_dicts(),
    }


def _thresholds(settings: Settings) -> dict[str, Any]:
    """Return the fitted thresholds that the settings hold, and what was measured of them."""
    fitted = settings.verification.fitted
    overall = fitted.measured.overall
    return {
        "policy": settings.verification.policy,
        "id": fitted.full_id,
        "target_precision": fitted.target_precision,
        "confidence": fitted.confidence,
        "models": fitted.models.model_dump(mode="json"),
        "data": [dataset.model_dump(mode="json") for dataset in fitted.data],
        "fits": [fit.model_dump(mode="json") for fit in fitted.measured.fits],
        "precision": None if overall is None else overall.precision.model_dump(),
    }


_DECIDING: dict[str, type[Group]] = {
    "release": ReleaseSettings,
    "verification": VerificationSettings,
    "judging": JudgingSettings,
}
"""Groups of settings that the manifest holds."""
_HOW = (
    *("llm.budget.", "llm.store.", "llm.workers", "llm.timeout_", "llm.max_tries", "llm.max_failed_calls"),
    *("llm.wait_minutes", "llm.requests_", "llm.delivery", "release.audits", "release.signing_"),
)
"""How models are asked, and what is in the manifest anyway."""
_PLACES = (
    *("corpus", "out", "llm.vertex_project", "llm.base_url", "llm.verifier.base_url", "llm.judge.base_url"),
)


def changed_settings(settings: Settings) -> tuple[dict[str, str], list[str]]:
    """Return the settings that differ from the profile, as `--set` takes them, and names of hidden ones.

    Secrets and places are not told: a card is public.
    """
    before = dict(_leaves(Settings.model_construct()))
    for group, values in PROFILES[settings.profile].items():
        before |= dict(_leaves(values, f"{group}."))
    public, private_names = {}, []
    for path, value in _leaves(settings):
        if value == before.get(path) or path.startswith(_HOW):
            continue
        if path in _PLACES or _is_private(value):
            private_names.append(path)
        else:
            public[path] = _option(value)
    return public, sorted(set(private_names) - {"corpus", "out"})


def deciding_groups(manifest: Manifest) -> dict[str, Group]:
    """Return the groups of settings that a manifest holds.

    Raises:
        ReleaseError: no release can have them.
    """
    settings = manifest.settings
    try:
        groups = {name: kind.model_validate(settings[name]) for name, kind in _DECIDING.items()}
        groups["documents"] = DocumentSettings(
            near_duplicate_similarity=settings["near_duplicate_similarity"]
        )
        lacking = {"layout", "with_sources"} - {*settings["release"]} or {"thresholds", "evaluation"} - {
            *settings
        }
    except (ValidationError, LookupError, TypeError) as error:
        wrong = error.errors()[0]["loc"] if isinstance(error, ValidationError) else ()
        setting = ".".join(map(str, wrong)) or "one is missing"
        raise ReleaseError(f"the manifest has settings that cannot be: {setting}") from error
    if lacking:
        raise ReleaseError(f"the manifest lacks settings: {', '.join(sorted(lacking))}")
    return groups


def settings_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield settings that contradict each other, or that the card tells otherwise than the manifest."""
    settings, groups = manifest.settings, deciding_groups(manifest)
    ids = f"-{groups['verification'].values_id}/{groups['judging'].thresholds_id}"  # type: ignore[attr-defined]
    shares = groups["release"].splits  # type: ignore[attr-defined]
    try:
        facts = read_facts(folder)
        thresholds_id, options = facts["thresholds"]["id"], dict(facts["settings"])
    except (ReleaseError, LookupError, TypeError, ValueError):
        yield f"{FACTS} cannot be read"
        return
    if settings["thresholds"] != f"{thresholds_id}{ids}":
        yield "the thresholds that the manifest names are not those of its settings"
    if missing := sorted({*shares} - {*manifest.splits}):
        yield f"the manifest has no split {', '.join(missing)}, and its settings do"
    for name, group in groups.items():
        values = group.model_dump(exclude_unset=True)
        default = dict(_leaves(type(group).model_construct(), f"{name}."))
        values_now = {
            path: _option(value)
            for path, value in _leaves(group, f"{name}.")
            if path.split(".")[1] in values and value != default.get(path) and not path.startswith(_HOW)
        }
        same = {
            path: value
            for path, value in options.items()
            if path.startswith(f"{name}.") and path.split(".")[1] in values
        }
        if values_now != same:
            names = ", ".join(sorted({path for path, _ in values_now.items() ^ same.items()}))
            yield f"{FACTS} tells other settings than the manifest: {names}"


def _leaves(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each setting below a group, or a mapping of settings, with its path."""
    of_group = isinstance(values, (Group, Settings))
    for name, value in values if of_group else values.items():
        if isinstance(value, Group) or (not of_group and isinstance(value, dict)):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_private(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(_is_private(part) for part in value)
    if isinstance(value, str):
        return value.startswith(("/", "~", ".")) or "\\" in value or "://" in value
    return isinstance(value, SecretStr | Path)


def _option(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def read_facts(folder: Path) -> dict[str, Any]:
    """Return the facts of a release.

    Raises:
        ReleaseError: they cannot be read.
    """
    try:
        facts = json.loads((folder / FACTS).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ReleaseError(f"{folder / FACTS} cannot be read; restore the release from a copy") from error
    return facts if isinstance(facts, dict) else {}


def package_version() -> str:
    """Return the version of this package."""
    try:
        return metadata.version("qa-pipeline")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return "checkout"
