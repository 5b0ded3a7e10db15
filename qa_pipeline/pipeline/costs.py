"""What models took: sums by stage and for each accepted pair.

Pure functions on the table `llm_calls`; calls, prices and caps are those of `qa_pipeline.llm`.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

import polars as pl

from qa_pipeline.llm.base import is_fake
from qa_pipeline.llm.calls import TOKENS
from qa_pipeline.records import Role

STAGES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class CostSummary:
    """Hold calls, tokens and cost of model calls, by stage and in all.

    `stages` has a row for each stage that asked, and one that adds them up; where kept questions are counted,
    with calls and tokens for each of them. `cost` is the sum of all costs
    that are known, None where none is, or where they are in several currencies; `calls_without_cost` says how
    many calls are missing in it. `cost_per_accepted_pair` is None without either; `fake_calls` were
    answered by the server of `make serve-fake`.
    """

    stages: pl.DataFrame
    calls: int
    tokens: int
    cost: float | None
    currency: str | None
    accepted: int | None
    cost_per_accepted_pair: float | None
    calls_without_cost: int
    calls_without_tokens: int
    failures: dict[str, int]
    repairs: dict[str, int]
    fake_calls: int = 0

    def message(self) -> list[str]:
        """Return notes on what the figures by stage do not show."""
        lines = []
        if self.fake_calls:
            lines.append(
                f"{self.fake_calls} of {self.calls} replies are fake, from serve-fake: rows made from them "
                "are for trying out, not for training."
            )
        if self.cost_per_accepted_pair is not None:
            per_pair = f"{self.cost_per_accepted_pair:.6f} {self.currency}"
            lines.append(f"Each of {self.accepted} accepted pairs cost {per_pair}, over all runs.")
        if self.repairs:
            lines.append(f"Replies that were repaired: {_counted(self.repairs)}.")
        if self.failures:
            lines.append(f"Calls that failed: {_counted(self.failures)}.")
        if self.calls_without_cost:
            calls = "1 call" if self.calls_without_cost == 1 else f"{self.calls_without_cost} calls"
            lines.append(
                f"The cost of {calls} is not known: no price for the model "
                "(llm.budget.prices), or the provider did not report its tokens."
            )
        return lines

    def document(self) -> dict[str, Any] | None:
        """Return the figures as JSON values; None where nothing was asked."""
        if not self.calls:
            return None
        return asdict(replace(self, stages=pl.DataFrame())) | {"stages": self.stages.to_dicts()}


def cost_summary(
    calls: pl.DataFrame, verdicts: pl.DataFrame | None = None, kept_questions: int | None = None
) -> CostSummary:
    """Add the calls up, by stage and over all.

    Args:
        calls: the llm_calls table, of one or more batches.
        verdicts: the verdicts table of the same batches; pairs whose verdict was known before are left out.
        kept_questions: how many questions of these batches were kept.
    """
    currencies = calls["currency"].drop_nulls().unique()
    currency = currencies.item() if currencies.len() == 1 else None
    costs = calls["cost"].drop_nulls()
    cost = float(costs.sum()) if costs.len() and currency is not None else None
    accepted = None
    if verdicts is not None:
        is_generated = pl.col("expected_verdict").is_null()
        accepted = verdicts.filter(is_generated, pl.col("verdict") == "accepted").height
    unknown = pl.col("input_tokens").is_null() | pl.col("output_tokens").is_null()
    return CostSummary(
        stages=_stages(calls, currency, kept_questions),
        calls=calls.height,
        tokens=sum(int(calls[name].sum()) for name in ("input_tokens", "output_tokens")),
        cost=cost,
        currency=currency,
        accepted=accepted,
        cost_per_accepted_pair=cost / accepted if cost is not None and accepted else None,
        calls_without_cost=calls["cost"].null_count(),
        calls_without_tokens=calls.filter(unknown).height,
        failures=_counts(calls["outcome"], "replied"),
        repairs=_counts(calls["repair"], "none"),
        fake_calls=sum(map(is_fake, calls["replied_model"])),
    )


def _stages(calls: pl.DataFrame, currency: str | None, kept_questions: int | None) -> pl.DataFrame:
    """Return a row for each stage in pipeline order, and one for all together."""
    figures = [*(_per_question(kept_questions) if kept_questions else ()), *_figures(currency)]
    order = pl.col("stage").replace_strict({name: n for n, name in enumerate(STAGES)}, default=len(STAGES))
    by_stage = calls.group_by(stage="role").agg(*figures).sort(order, "stage")
    if not calls.height:
        return by_stage
    return pl.concat([by_stage, calls.select(pl.lit("all").alias("stage"), *figures)])


def _per_question(kept_questions: int) -> list[pl.Expr]:
    tokens = pl.col("input_tokens").sum() + pl.col("output_tokens").sum()
    return [
        (pl.len() / kept_questions).round(2).alias("calls_per_kept_question"),
        (tokens / kept_questions).round(0).cast(pl.Int64).alias("tokens_per_kept_question"),
    ]


def _figures(currency: str | None) -> list[pl.Expr]:
    cost = pl.col("cost")
    total = pl.when(cost.is_not_null().any()).then(cost.sum()) if currency else pl.lit(None, pl.Float64)
    return [
        pl.len().cast(pl.Int64).alias("calls"),
        (pl.col("outcome") != "replied").sum().cast(pl.Int64).alias("failed"),
        *(pl.col(name).sum().alias(name) for name in TOKENS),
        total.alias(f"cost {currency}" if currency else "cost"),
        cost.null_count().cast(pl.Int64).alias("calls_without_cost"),
    ]


def _counts(values: pl.Series, usual: str) -> dict[str, int]:
    """Return the frequency of each value but the usual one, the most frequent first."""
    counted = values.filter(values != usual).value_counts()
    return dict(counted.sort(["count", values.name], descending=[True, False]).iter_rows())


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
