"""How many calls the loopback server answers: python -m qa_pipeline_tests.benchmarks.speed.bench_fake_server.

The server is a process of its own, asked over bare aiohttp by this one. Prints one JSON line: calls a second
at zero latency and at one second with 500 in flight, and the server's CPU time a call.
"""

import asyncio
import json
import time
from pathlib import Path

from aiohttp import ClientSession, TCPConnector

from qa_pipeline.llm.gemini.wire import response_schema
from qa_pipeline.prompts.loading import delimit_all, load_prompt, render_passages
from qa_pipeline.records import Passage, VerifyReply
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.server_process import serving

TEXT = "To drain the boiler, open the lower valve and wait 10 minutes. " * 10


def main() -> None:
    """Measure both, one after the other."""
    parser = parser_of(__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    calls = parser.parse_args().calls
    fast, cpu = measured(calls, 64, "0")
    slow, _ = measured(2000, 500, "1")
    print_json(
        {
            "calls": calls,
            "zero_latency": round(fast),
            "one_second_500": round(slow),
            "cpu_ms": round(cpu, 3),
        }
    )


def measured(calls: int, in_flight: int, latency: str) -> tuple[float, float]:
    """Calls a second, and milliseconds of the server's CPU a call."""
    with serving(latency=float(latency)) as server:
        before = cpu_seconds(server.process)
        rate = asyncio.run(asked(server.url, server.key, calls, in_flight))
        used = cpu_seconds(server.process) - before
    return rate, 1000 * used / calls


async def asked(url: str, key: str, calls: int, in_flight: int) -> float:
    """Calls a second of so many calls, so many of them at once."""
    bodies = [body(number) for number in range(calls)]
    gate = asyncio.Semaphore(in_flight)
    headers = {"x-goog-api-key": key, "Content-Type": "application/json"}
    async with ClientSession(connector=TCPConnector(limit=0), headers=headers) as session:

        async def one(content: bytes) -> None:
            async with (
                gate,
                session.post(f"{url}/v1/models/m:generateContent", data=content) as response,
            ):
                response.raise_for_status()
                await response.read()

        started = time.perf_counter()
        await asyncio.gather(*[one(content) for content in bodies])
        return calls / (time.perf_counter() - started)


def body(number: int) -> bytes:
    """A verifier's request as the adapter sends it, about 4 KB."""
    prompt = load_prompt("en", "verify")
    passages = [Passage(str(n), "Manual", ("Filling",), TEXT, "en") for n in range(2)]
    claims = delimit_all([f"Open valve {number}."], "claim")
    text = prompt.fill(passages=render_passages(passages), claims=claims)
    config = {
        "temperature": 0.0,
        "responseMimeType": "application/json",
        "responseJsonSchema": response_schema(VerifyReply),
    }
    request = {
        "contents": [{"role": "user", "parts": [{"text": text}]}],
        "systemInstruction": {"parts": [{"text": prompt.system}]},
        "generationConfig": config,
    }
    return json.dumps(request).encode()


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().split()
    return (int(fields[13]) + int(fields[14])) / 100


if __name__ == "__main__":
    main()
