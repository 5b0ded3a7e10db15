"""How fast calls go: against the ideal of so many in flight, and against the bare client on the same server.

    python -m qa_pipeline_tests.benchmarks.speed.bench_llm_speed --latency 1.0 --concurrency 128 --calls 5120

Ours parses, stores, accounts for and paces every call; the bare client is google-genai with aiohttp in one
gather behind a semaphore. Both run in this process, turn and turn about, against one server in another.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.factory import Models
from qa_pipeline.llm.gemini.wire import request_config
from qa_pipeline.prompts.loading import delimit_all, load_prompt, render_passages
from qa_pipeline.records import Passage, VerifyReply
from qa_pipeline.settings.llm import LLMSettings, ModelSettings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.server_process import Served, serving

_TEXT = "To drain the boiler, open the lower valve and wait 10 minutes. Then close it again by hand. " * 8


def verifications(count: int, start: int = 0) -> list[Request[VerifyReply]]:
    """Distinct requests of the size that verification sends."""
    prompt = load_prompt("en", "verify")
    passage = Passage("c", "Kestrel 4 guide", ("Filling",), _TEXT, "en", "d")
    shown = render_passages([passage])
    return [
        Request(
            role="verify",
            system=prompt.system,
            prompt=prompt.fill(
                passages=shown, claims=delimit_all([f"Boiler {number} takes 10 minutes."], "claim")
            ),
            reply_model=VerifyReply,
            temperature=0.0,
            seed=0,
            passages=(passage,),
            batch="bench",
        )
        for number in range(start, start + count)
    ]


def settings_for(server: Served, workers: int, **changes: object) -> LLMSettings:
    """The real adapter, pointed at the server."""
    chosen = {"provider": "gemini", "base_url": server.url, "workers": workers, **changes}
    return LLMSettings.model_validate(chosen)


def ours(server: Served, requests: list[Request[VerifyReply]], workers: int) -> float:
    """Seconds for all calls through the whole adapter, with an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {"GEMINI_API_KEY": server.key}
        settings = settings_for(server, workers)
        models = Models(settings, place=Path(folder) / "replies.sqlite", environ=environ, run="bench")
        model = models.of(settings.generator)
        assert model is not None
        began = time.perf_counter()
        outcomes = complete_all(model, requests, workers=workers)
        took = time.perf_counter() - began
        models.close()
    assert not any(isinstance(outcome, ModelError) for outcome in outcomes), outcomes[0]
    return took


def bare(server: Served, requests: list[Request[VerifyReply]], workers: int) -> float:
    """Seconds for all calls with the client alone."""
    from google.genai import Client
    from google.genai.types import HttpOptions

    config = request_config(requests[0], ModelSettings())

    async def run() -> float:
        client = Client(api_key=server.key, http_options=HttpOptions(base_url=server.url))
        gate = asyncio.Semaphore(workers)

        async def one(request: Request[VerifyReply]) -> str | None:
            async with gate:
                model = ModelSettings().model
                reply = await client.aio.models.generate_content(
                    model=model, contents=request.prompt, config=config
                )
                return reply.text

        began = time.perf_counter()
        texts = await asyncio.gather(*(one(request) for request in requests))
        took = time.perf_counter() - began
        assert all(texts)
        await client.aio.aclose()
        return took

    return asyncio.run(run())


def main() -> None:
    """Print one JSON line."""
    parser = parser_of(__doc__)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--calls", type=int, default=5120)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    calls, workers = options.calls, options.concurrency
    with serving(latency=options.latency) as server:
        ours(server, verifications(workers), workers)
        bare(server, verifications(workers), workers)
        rates: dict[str, list[float]] = {"ours": [], "bare": []}
        for number in range(options.rounds):
            requests = verifications(calls, start=number * calls)
            rates["ours"].append(calls / ours(server, requests, workers))
            rates["bare"].append(calls / bare(server, requests, workers))
        most = server.stats()
    usual = {name: median(values) for name, values in rates.items()}
    rounded = {name: [round(rate, 1) for rate in values] for name, values in rates.items()}
    ideal = workers / options.latency if options.latency else None
    print_json(
        {
            "latency": options.latency,
            "concurrency": workers,
            "calls": calls,
            "calls_a_second": rounded,
            "of_bare": round(usual["ours"] / usual["bare"], 3),
            "of_ideal": round(usual["ours"] / ideal, 3) if ideal else None,
            "server": most,
        }
    )


if __name__ == "__main__":
    main()
