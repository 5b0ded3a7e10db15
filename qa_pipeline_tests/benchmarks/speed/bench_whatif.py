"""How long deciding anew takes: claims made up, three a pair, some with a stored reply.

    python -m qa_pipeline_tests.benchmarks.speed.bench_whatif [--claims 100000] [--repeats 5]

Prints one JSON line: milliseconds of the whole (claims, pairs, ledger), of deciding the claims alone, and of
writing the same claims as Parquet in memory, all best of the repeats.
"""

import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.calibration.what_if import Models, redecide
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.calibration.stored import Frames, run, tables

OTHER = VerificationSettings(entailment_accept=0.9, entailment_reject=0.1)
OF_A_PAIR = 3


def made_up(claims: int) -> Frames:
    """A batch of so many claims, every score drawn."""
    generator = np.random.default_rng(0)
    few = tables([[{}] * OF_A_PAIR])
    pairs = claims // OF_A_PAIR
    ids = pl.Series([f"pair-{number}" for number in range(pairs)])
    rows = pl.concat([few["pairs"]] * pairs).with_columns(
        pair_id=ids, question=pl.format("Question {}?", ids), answer=pl.format("Answer {}.", ids)
    )
    scores: dict[str, Any] = {
        name: generator.random(pairs * OF_A_PAIR) for name in ("similarity", "token_recall", "entailment")
    }
    stated = pl.concat([few["claims"]] * pairs).with_columns(
        claim_id=pl.Series([f"claim-{number}" for number in range(pairs * OF_A_PAIR)]),
        pair_id=ids.repeat_by(OF_A_PAIR).explode(),
        entailment_model=pl.lit("small"),
        **{name: pl.Series(values) for name, values in scores.items()},
    )
    return {"pairs": rows, "claims": stated, "scored": few["scored"]}


def best(work: Callable[[], object], repeats: int) -> float:
    """Milliseconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return round(min(times) * 1000, 1)


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    made, judging = made_up(arguments.claims), JudgingSettings()
    replies = dict.fromkeys(made["claims"]["claim_id"], "accept")
    frames = run(made, VerificationSettings(), judging, verifier=replies)
    alone = Models(verifier=False, judge=False)
    whole = best(lambda: redecide(frames, OTHER, judging, alone), arguments.repeats)
    claims = best(lambda: decide_claims(made["claims"], made["pairs"], OTHER), arguments.repeats)
    copied = best(lambda: made["claims"].write_parquet(io.BytesIO()), arguments.repeats)
    found = {"claims": made["claims"].height, "what_if_ms": whole, "claims_ms": claims, "parquet_ms": copied}
    print_json(found)


if __name__ == "__main__":
    main()
