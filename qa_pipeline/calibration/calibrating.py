"""From labelled files to a thresholds artefact."""

from collections.abc import Callable, Sequence
from datetime import date

import polars as pl

from qa_pipeline.calibration.fitting import fit_bands, fixed_settings
from qa_pipeline.calibration.rows import LabelledFile, LabelledRows, score_rows, together
from qa_pipeline.errors import InputError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.thresholds import (
    Bands,
    DataFile,
    Figures,
    Fit,
    Interval,
    Measured,
    Models,
    Thresholds,
    with_id,
)
from qa_pipeline.settings.tree import Settings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.verification.deciding import borderline, decide_claims

_ORDER = ("quotation", "entailment")
"""Steps that accept, in order: a row is accepted by the last one that one of its claims needed."""


def measure(
    labelled: LabelledRows, settings: VerificationSettings, thresholds: Thresholds, fits: tuple[Fit, ...]
) -> Measured:
    """Decide all rows and count, over all and for each set."""
    verdicts = decide_claims(labelled.claims, None, settings, thresholds=thresholds)
    outcomes = _outcomes(verdicts)
    drawn = labelled.rows.sort("order").unique("group", keep="first", maintain_order=True)
    rows = drawn.join(outcomes, on="pair_id", how="left", maintain_order="left").with_columns(
        pl.col("accepted", "rejected", "passed_on").fill_null(value=False)
    )
    sets = {
        name: _figures(rows.filter(pl.col("set") == name)) for name in sorted(rows["set"].unique().to_list())
    }
    precisions = [
        measured.precision.value for measured in sets.values() if measured.precision.value is not None
    ]
    return Measured(
        fits=fits,
        overall=_figures(rows),
        macro_precision=sum(precisions) / len(precisions) if precisions else None,
        accepted_by={step: _precision(rows.filter(pl.col("accepted_by") == step)) for step in _ORDER},
        sets=sets,
        claims=labelled.claims.height,
        claims_passed_on=borderline(labelled.claims, verdicts).height,
    )


def _outcomes(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the outcome of each pair, by its claims, without a model."""
    verdict = pl.col("verdict")
    step = pl.col("decided_by").replace_strict({name: place for place, name in enumerate(_ORDER)}, default=-1)
    rejected = verdict.is_in(["unsupported", "contradicted"]).any()
    is_open = (verdict == "undecided").any()
    return verdicts.group_by("pair_id", maintain_order=True).agg(
        accepted=(verdict == "supported").all(),
        rejected=rejected,
        passed_on=is_open & ~rejected,
        accepted_by=pl.when((verdict == "supported").all()).then(
            step.max().replace_strict(dict(enumerate(_ORDER)), default=None, return_dtype=pl.String())
        ),
    )


def _figures(rows: pl.DataFrame) -> Figures:
    accepted, supported = pl.col("accepted"), pl.col("label")
    rejected = rows.filter("rejected")
    return Figures(
        precision=_precision(rows),
        coverage=Interval.of_counts(rows.filter(accepted).height, rows.height),
        recall=Interval.of_counts(rows.filter(accepted & supported).height, rows.filter(supported).height),
        reject_precision=Interval.of_counts(rejected.filter(~supported).height, rejected.height),
        rejected=Interval.of_counts(rejected.height, rows.height),
        passed_on=Interval.of_counts(rows.filter("passed_on").height, rows.height),
    )


def _precision(rows: pl.DataFrame) -> Interval:
    accepted = rows.filter("accepted")
    return Interval.of_counts(accepted.filter("label").height, accepted.height)


def calibrate_files(
    resources: Resources,
    files: Sequence[LabelledFile],
    *,
    target: float,
    confidence: float,
    name: str,
    created: date,
    watch: Callable[[str], object],
) -> Thresholds:
    """Score labelled files, fit bands and measure what they do.

    Args:
        resources: settings and models; other passages than a row's own must be switched off.
        files: labelled files, each a set of its own.
        target: share of accepted rows that must be right, and of rejected ones.
        confidence: of that share.
        name: of the artefact.
        created: its date.
        watch: called with which file is being scored.

    Raises:
        InputError: the data is too little, of one label or scored by several models, two sets share a name,
            or no model is configured.
        SettingsError: the model cannot be used.
    """
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise InputError(f"two files hold a set of one name: {', '.join(sorted(names))}; rename one")
    if resources.entailment is None:
        raise InputError(
            "there is nothing to calibrate without a model: set verification.entailment.model to a folder, "
            "or to a name of the hub (and verification.entailment.revision to its commit)"
        )
    scored = []
    for file in files:
        watch(f"{file.name}: {file.items.height} rows")
        scored.append(score_rows(resources, file))
    labelled = together(scored)
    read = labelled.claims.filter(pl.col("entailment").is_not_null())["entailment_model"]
    models = read.drop_nulls().unique().sort().to_list()
    if len(models) > 1:
        raise InputError(
            f"scores of entailment are of several models: {', '.join(models)}; score the rows anew"
        )
    blank = Thresholds(
        schema=2,
        name=name,
        id="0" * 12,
        created=created,
        target_precision=target,
        confidence=confidence,
        models=Models(embedding=resources.settings.embedding.model, entailment=models[0] if models else None),
        data=tuple(
            DataFile(
                name=file.path.name,
                sha256=file.sha256,
                rows=file.items.height,
                groups=file.items["group_id"].n_unique(),
            )
            for file in files
        ),
        bands=Bands(),
        measured=Measured(),
    )
    return fit_artefact(labelled, resources.settings, blank)


def fit_artefact(labelled: LabelledRows, settings: Settings, blank: Thresholds) -> Thresholds:
    """Fit bands on scored rows and measure them.

    Raises:
        InputError: the data is too little or of one label.
    """
    thresholds, fits = fit_bands(labelled, settings.verification, blank)
    measured = measure(labelled, fixed_settings(settings.verification), thresholds, fits)
    return with_id(thresholds.model_copy(update={"measured": measured}))
