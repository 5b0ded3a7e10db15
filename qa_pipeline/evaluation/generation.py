"""How well questions and answers were generated: figures of a run, of two runs side by side, and of repeats.

Pure functions on the tables of batches; what the report of a run counts is counted by the same functions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from qa_pipeline.curation.coverage import count_shortfalls, count_types
from qa_pipeline.curation.duplicates import find_duplicates
from qa_pipeline.pipeline.costs import cost_summary
from qa_pipeline.pipeline.funnel import stage_counts, summarise
from qa_pipeline.statistics import Floats, Resamples, estimate, mcnemar_p, ratio
from qa_pipeline.text.references import RESOLVED

Document = dict[str, Any]
Frames = Mapping[str, pl.DataFrame]

IDENTITY = ("batch", "target_chunk_ids", "question")
"""The columns by which a question of one run is the same as one of another."""
SCORES = ("grounding", "relevance", "correctness", "completeness", "question_quality", "composite")
_DECIDED = ("twins", "claims", "verdicts", "round_trips")
"""Tables with rows about pairs."""
_QUOTES = {
    "exact": ("exact",),
    "written_otherwise": ("spelling", "ellipsis"),
    "repaired": ("edited", "misplaced"),
    "failed": ("missing",),
}


def generated_only(frames: Frames) -> dict[str, pl.DataFrame]:
    """Return the tables without imported and edited pairs, and without the results of those."""
    pairs = frames["pairs"].filter(pl.col("origin") == "generated")
    about = {
        name: frames[name].join(pairs, on="pair_id", how="semi", maintain_order="left") for name in _DECIDED
    }
    return {**frames, "pairs": pairs, **about}


def generation_figures(frames: Frames, mix: Mapping[Any, float]) -> Document:
    """Return the figures of one batch, or of the concatenated tables of several.

    Args:
        frames: chunks, questions, pairs, twins, claims, round_trips, verdicts, coverage and llm_calls.
        mix: the weight of each type that was asked for.

    Returns:
        `verdicts` of generated pairs; `types`, the mix as asked and as delivered, and `shortfalls`, why
        planned questions are no accepted pairs of their type; `questions` by status and reason, and those
        `rewritten`; `citations` by resolution; `quotes` by how they agree with their source; `guard` and
        `round_trips` by what was said; `cost`; and `shares`, each a count of a whole, with how many are
        unknown and stand outside both. A share is None where there is nothing to divide by.
    """
    generated = generated_only(frames)
    questions, pairs, verdicts = generated["questions"], generated["pairs"], generated["verdicts"]
    types = _mix(count_types(questions, pairs, verdicts), mix)
    citations = pairs.select(pl.col("citations").explode(empty_as_null=True).drop_nulls().struct.unnest())
    quotes = _quotes(generated["claims"])
    summary = summarise(verdicts)
    return {
        "verdicts": asdict(summary),
        "types": types.to_dicts(),
        "shortfalls": count_shortfalls(questions, pairs, verdicts).to_dicts(),
        "questions": stage_counts("questions", "planned or passed over", questions, "status").to_dicts(),
        "rewritten": {
            "questions": questions["rewritten_from"].count(),
            "kept": questions.filter(pl.col("status") == "kept")["rewritten_from"].count(),
        },
        "citations": _counted(citations["resolution"]),
        "quotes": _counted(quotes),
        "guard": pairs.group_by("guarded_by", "guard_passed")
        .agg(pairs=pl.len())
        .sort("guarded_by", "guard_passed", nulls_last=True)
        .to_dicts(),
        "round_trips": stage_counts("round_trips", "made", generated["round_trips"], "status").to_dicts(),
        "cost": cost_summary(generated["llm_calls"], verdicts).document(),
        "shares": [
            *_of_questions(types),
            *(_part(name, getattr(summary, name), summary.pairs) for name in _VERDICTS),
            *_of_sections(generated["coverage"]),
            *_of_duplicates(verdicts, generated["twins"]),
            *_of_quotes(citations, quotes),
            _of_flags("guard_refused", ~pairs["guard_passed"]),
            _of_flags("solver_agrees", generated["round_trips"]["agrees"]),
            _of_flags("memorised", generated["round_trips"]["memorised"]),
        ],
    }


_VERDICTS = ("accepted", "rejected", "needs_review", "failed")


def _part(what: str, count: int, of: int, unknown: int = 0) -> Document:
    return {"what": what, "share": count / of if of else None, "count": count, "of": of, "unknown": unknown}


def _of_flags(what: str, flags: pl.Series) -> Document:
    """Return the number of flags that are set, of those that are known."""
    return _part(what, int(flags.sum()), flags.count(), flags.null_count())


def _counted(values: pl.Series) -> dict[str, int]:
    return dict(values.value_counts().sort(["count", values.name], descending=[True, False]).iter_rows())


def _mix(types: pl.DataFrame, mix: Mapping[Any, float]) -> pl.DataFrame:
    """Return the counts by type, with the wanted and the delivered share of each."""
    question_rows = pl.DataFrame(
        {"question_type": list(mix), "weight": list(mix.values())},
        schema={"question_type": pl.String(), "weight": pl.Float64()},
    ).filter(pl.col("weight") > 0)
    joined = question_rows.join(types, on="question_type", how="full", coalesce=True).fill_null(0)

    def share(column: str) -> pl.Expr:
        return pl.when(pl.col(column).sum() > 0).then(pl.col(column) / pl.col(column).sum())

    return joined.sort("question_type").select(
        "question_type",
        "planned",
        "written",
        "kept",
        "accepted",
        asked_share=share("weight"),
        planned_share=share("planned"),
        accepted_share=share("accepted"),
    )


def _of_questions(types: pl.DataFrame) -> list[Document]:
    """Return how far planned questions came, and how much of the mix is missed.

    `mix_missed` is the total variation distance: the share of accepted questions that would have to be of
    another type for the mix to be as it was asked for.
    """
    planned = int(types["planned"].sum())
    shares = [
        _part(f"questions_{name}", int(types[name].sum()), planned)
        for name in ("written", "kept", "accepted")
    ]
    missed = None
    if types["accepted"].sum():
        missed = float((types["asked_share"] - types["accepted_share"]).abs().sum()) / 2
    accepted_in_all = int(types["accepted"].sum())
    return [
        *shares,
        {"what": "mix_missed", "share": missed, "count": None, "of": accepted_in_all, "unknown": 0},
    ]


def _of_sections(coverage: pl.DataFrame) -> list[Document]:
    said_once = coverage.filter(pl.col("status") != "repeated")
    return [_part("sections_covered", int((said_once["status"] == "covered").sum()), said_once.height)]


def _of_duplicates(verdicts: pl.DataFrame, twins: pl.DataFrame) -> list[Document]:
    """Return the pairs that repeat another: of all that could train, and of the accepted ones."""
    candidates = verdicts.join(twins, on="pair_id", how="semi")
    accepted = candidates.filter(pl.col("verdict") == "accepted")
    return [
        _part(name, find_duplicates(some, twins).height, some.height)
        for name, some in (("duplicate_pairs", candidates), ("duplicates_accepted", accepted))
    ]


def _quotes(claims: pl.DataFrame) -> pl.Series:
    """Return the agreement of each quote that was looked for with its source."""
    return claims["quotes"].explode(empty_as_null=True).drop_nulls().struct.field("kind")


def _of_quotes(citations: pl.DataFrame, quotes: pl.Series) -> list[Document]:
    """Return figures of citations that name something, and of quotes; unknown where none was checked."""
    resolved = int(citations["resolution"].is_in(RESOLVED).sum())
    unknown = citations["quote"].count() - quotes.len()
    return [
        _part("citations_resolved", resolved, citations.height),
        *(
            _part(f"quotes_{name}", int(quotes.is_in(kinds).sum()), quotes.len(), unknown)
            for name, kinds in _QUOTES.items()
        ),
    ]


def question_ends(frames: Frames) -> pl.DataFrame:
    """Return the end of each written question: `IDENTITY`, document_id, outcome and `SCORES`.

    The outcome is the verdict of its pair (the accepted one of several drafts), or question_dropped or
    question_failed where no answer was drafted.
    """
    generated = generated_only(frames)
    decided = (
        generated["pairs"]
        .select("question_id", "pair_id")
        .join(generated["verdicts"].select("pair_id", "verdict", *SCORES), on="pair_id")
        .sort(pl.col("verdict") != "accepted", "pair_id")
        .unique("question_id", keep="first", maintain_order=True)
    )
    owners = generated["chunks"].select("document_id", target="chunk_id")
    return (
        generated["questions"]
        .filter(pl.col("question").is_not_null())
        .with_columns(target=pl.col("target_chunk_ids").list.first())
        .join(owners, on="target", how="left", maintain_order="left")
        .join(decided.drop("pair_id"), on="question_id", how="left", maintain_order="left")
        .with_columns(
            pl.col("target_chunk_ids").list.join(" "),
            outcome=pl.coalesce("verdict", pl.format("question_{}", "status")),
        )
        .sort(pl.col("verdict").is_null(), maintain_order=True)
        .unique(IDENTITY, keep="first", maintain_order=True)
        .select(*IDENTITY, "document_id", "outcome", *SCORES)
        .sort(IDENTITY)
    )


def compare_ends(without: pl.DataFrame, changed: pl.DataFrame, *, resamples: int) -> Document:
    """Return the comparison of two runs over their common questions, from frames of `question_ends`.

    Returns:
        questions: how many both wrote, and how many one alone did.
        accepted: in both runs, in one alone, in neither.
        mcnemar_p: that a change of settings loses as often as it gains (`statistics.mcnemar_p`).
        moves: questions by their outcome in both runs, where these differ.
        differences: of the share accepted and of each score known in both, with 95 % intervals by document.
    """
    both = without.join(changed, on=IDENTITY, suffix="_changed", maintain_order="left")
    accepted = {name: both[f"outcome{suffix}"] == "accepted" for name, suffix in _SIDES.items()}
    gained = int((accepted["changed"] & ~accepted["without"]).sum())
    lost = int((accepted["without"] & ~accepted["changed"]).sum())
    both_accepted = int((accepted["without"] & accepted["changed"]).sum())
    different = both.filter(pl.col("outcome") != pl.col("outcome_changed"))
    return {
        "questions": {
            "both": both.height,
            "without_only": without.height - both.height,
            "changed_only": changed.height - both.height,
        },
        "accepted": {
            "both": both_accepted,
            "without_only": lost,
            "changed_only": gained,
            "neither": both.height - both_accepted - lost - gained,
        },
        "mcnemar_p": mcnemar_p(gained, lost),
        "moves": different.group_by("outcome", "outcome_changed")
        .agg(questions=pl.len())
        .sort("questions", "outcome", "outcome_changed", descending=[True, False, False])
        .to_dicts(),
        "differences": _differences(both, resamples),
    }


_SIDES = {"without": "", "changed": "_changed"}


def _differences(both: pl.DataFrame, resamples: int) -> list[Document]:
    """Return mean differences, changed less without, over questions scored in both runs."""
    columns = {
        f"accepted{suffix}": (pl.col(f"outcome{suffix}") == "accepted").cast(pl.Float64)
        for suffix in _SIDES.values()
    }
    scored = both.with_columns(**columns)
    groups = scored.select(pl.format("{}/{}", "batch", pl.col("document_id").fill_null(""))).to_series()
    draws = Resamples(groups.to_list(), "comparison", resamples)
    differences = []
    for name in ("accepted", *SCORES):
        is_measured = scored.select(pl.col(name, f"{name}_changed").is_not_null()).to_numpy().all(axis=1)
        first, second = (scored[f"{name}{suffix}"].to_numpy()[is_measured] for suffix in _SIDES.values())

        def mean(
            weights: Floats, values: Floats = second - first, used: Any = is_measured
        ) -> dict[str, Floats]:
            return {"mean": ratio(weights[:, used] @ values, weights[:, used].sum(axis=1))}

        differences.append(
            {
                "score": name,
                "questions": int(is_measured.sum()),
                "unknown": int((~is_measured).sum()),
                "without": float(first.mean()) if len(first) else None,
                "changed": float(second.mean()) if len(second) else None,
                "difference": estimate(draws.over(mean)["mean"]),
            }
        )
    return differences


def repeat_figures(figures: Sequence[Document], ends: Sequence[pl.DataFrame]) -> Document:
    """Return the differences between runs of the same settings that differ only in the seed.

    Args:
        figures: `generation_figures` of each run.
        ends: `question_ends` of each run.

    Returns:
        runs; shares, each with the number of runs in which it is known, and over those mean, sample standard
        deviation (None for fewer than two), least and most; and questions: how many any and all runs wrote,
        and the share of the latter that ended the same way in all.
    """
    shares = pl.DataFrame(
        [(figure_row["what"], figure_row["share"]) for run in figures for figure_row in run["shares"]],
        schema={"what": pl.String(), "share": pl.Float64()},
        orient="row",
    )
    share = pl.col("share")
    spread = shares.group_by("what", maintain_order=True).agg(
        known=share.count(), mean=share.mean(), deviation=share.std(), least=share.min(), most=share.max()
    )
    together = (
        pl.concat(list(ends)).group_by(IDENTITY).agg(runs=pl.len(), outcomes=pl.col("outcome").n_unique())
    )
    in_all = together.filter(pl.col("runs") == len(ends))
    return {
        "runs": len(figures),
        "shares": spread.to_dicts(),
        "questions": {
            "in_any": together.height,
            "in_all": in_all.height,
            "same_outcome": in_all.select((pl.col("outcomes") == 1).mean()).item(),
        },
    }
