"""What faults cost: the same calls against a server without faults and one that fails a tenth of them.

    python -m qa_pipeline_tests.benchmarks.robustness.bench_llm_faults --latency 1.0
        --concurrency 128 --calls 5120

Nothing may be lost (a request whose tries were spent) or counted twice: calls and tokens of the journal are
held against what the server says it answered.
"""

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from qa_pipeline.errors import ModelError, UnreadableReplyError
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.factory import Models
from qa_pipeline_tests.benchmarks.speed.bench_llm_speed import settings_for, verifications
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.server_process import Served, serving

FAULTS = {"server_error": 0.02, "unavailable": 0.02, "reset": 0.02, "wrong_json": 0.02, "cut_json": 0.02}
DRIPS = {"drip": 0.01}


def measure(server: Served, calls: int, workers: int) -> dict[str, Any]:
    """Ask all, and hold the journal against the server's own count."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for(server, workers)
        environ = {"GEMINI_API_KEY": server.key}
        models = Models(settings, place=Path(folder) / "replies.sqlite", environ=environ, run="bench")
        model = models.of(settings.generator)
        assert model is not None
        complete_all(model, verifications(workers, start=10_000_000), workers=workers)
        before = server.stats()
        began = time.perf_counter()
        outcomes = complete_all(model, verifications(calls), workers=workers)
        took = time.perf_counter() - began
        after = server.stats()
        models.close()
    records = [call for outcome in outcomes for call in outcome.calls]
    answered = [call for call in records if call.usage.input_tokens is not None]
    return {
        "calls_a_second": round(calls / took, 1),
        "lost": sum(isinstance(outcome, ModelError) and not _typed(outcome) for outcome in outcomes),
        "unreadable_twice": sum(map(_typed, outcomes)),
        "recorded": len(answered),
        "answered_by_server": after["answered"] - before["answered"],
        "tokens_recorded": sum(call.usage.input_tokens or 0 for call in answered),
        "tokens_of_server": after["prompt_tokens"] - before["prompt_tokens"],
        "outcomes": dict(Counter(call.outcome for call in records)),
        "repairs": dict(Counter(call.repair for call in records)),
        "most_in_flight": after["most_in_flight"],
        "faults": after["faults"],
    }


def _typed(outcome: object) -> bool:
    """Whether a reply came, and another when it was asked for again, and neither could be read."""
    return isinstance(outcome, UnreadableReplyError)


def main() -> None:
    """Print one JSON line."""
    parser = parser_of(__doc__)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--calls", type=int, default=5120)
    parser.add_argument(
        "--drips", action="store_true", help="a slow body in a hundredth of the calls as well"
    )
    options = parser.parse_args()
    faults = FAULTS | (DRIPS if options.drips else {})
    measured = {}
    for name, share in (("fault_free", {}), ("faulty", faults)):
        with serving(latency=options.latency, faults=share) as server:
            measured[name] = measure(server, options.calls, options.concurrency)
    rate = measured["faulty"]["calls_a_second"] / measured["fault_free"]["calls_a_second"]
    print_json({"latency": options.latency, "of_fault_free": round(rate, 3), **measured})


if __name__ == "__main__":
    main()
