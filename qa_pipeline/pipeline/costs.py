"""Cost of model calls: sums by stage, and per accepted pair."""

from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

import polars as pl

from qa_pipeline.llm.base import is_fake
from qa_pipeline.llm.reply_database import TOKENS
from qa_pipeline.records import Role

STAGES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class CostSummary:
    """Number, tokens and cost of model calls, by stage and in total.

    `cost` is the sum of known costs, and unset without any or with several currencies. `fake_calls` were
    answered by the server of `make serve-fake`.
    """

    stages: pl.DataFrame
    calls: int
    tokens: int
    tokens_per_accepted_pair: float | None
    cost: float | None
    currency: str | None
    cost_per_accepted_pair: float | None
    calls_without_cost: int
    fake_calls: int

    def message(self) -> list[str]:
        """Return notes about fake replies and calls without a known cost."""
        notes = []
        if self.fake_calls:
            notes.append(
                f"{self.fake_calls} of {self.calls} replies are fake, from serve-fake: rows made from them "
                "are for trying out, not for training."
            )
        if self.calls_without_cost:
            notes.append(
                f"Calls of unknown cost: {self.calls_without_cost}. Their model has no known price, or its "
                "provider did not report tokens."
            )
        return notes

    def document(self) -> dict[str, Any] | None:
        """Return the figures as JSON values, if there were any calls."""
        if not self.calls:
            return None
        return asdict(replace(self, stages=pl.DataFrame())) | {"stages": self.stages.to_dicts()}


def cost_summary(calls: pl.DataFrame, verdicts: pl.DataFrame) -> CostSummary:
    """Sum the tokens and cost of calls; test pairs with an expected verdict are not counted as accepted."""
    currencies = calls["currency"].drop_nulls().unique()
    currency = currencies.item() if currencies.len() == 1 else None
    costs = calls["cost"].drop_nulls()
    cost = float(costs.sum()) if costs.len() and currency is not None else None
    accepted = verdicts.filter(pl.col("expected_verdict").is_null(), pl.col("verdict") == "accepted").height
    tokens = sum(int(calls[name].sum()) for name in ("input_tokens", "output_tokens"))
    return CostSummary(
        stages=_stages(calls, accepted, currency),
        calls=calls.height,
        tokens=tokens,
        tokens_per_accepted_pair=tokens / accepted if accepted else None,
        cost=cost,
        currency=currency,
        cost_per_accepted_pair=cost / accepted if cost is not None and accepted else None,
        calls_without_cost=calls["cost"].null_count(),
        fake_calls=sum(map(is_fake, calls["replied_model"])),
    )


def _stages(calls: pl.DataFrame, accepted: int, currency: str | None) -> pl.DataFrame:
    """Return a row per stage in pipeline order, and a row for the total."""
    tokens = pl.col("input_tokens").sum() + pl.col("output_tokens").sum()
    cost = pl.col("cost")
    total = pl.when(cost.is_not_null().any()).then(cost.sum()) if currency else pl.lit(None, pl.Float64)
    figures = [
        pl.len().cast(pl.Int64).alias("calls"),
        (pl.col("outcome") != "replied").sum().cast(pl.Int64).alias("failed"),
        *(pl.col(name).sum() for name in TOKENS),
        (tokens / pl.lit(accepted or None, pl.Float64)).alias("tokens_per_accepted_pair"),
        total.alias(f"cost {currency}" if currency else "cost"),
        cost.null_count().cast(pl.Int64).alias("calls_without_cost"),
    ]
    order = pl.col("stage").replace_strict({name: n for n, name in enumerate(STAGES)}, default=len(STAGES))
    by_stage = calls.group_by(stage="role").agg(*figures).sort(order, "stage")
    if not calls.height:
        return by_stage
    return pl.concat([by_stage, calls.select(pl.lit("all").alias("stage"), *figures)])
