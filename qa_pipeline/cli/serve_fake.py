"""The command `qa-pipeline serve-fake`: the loopback server as a process of its own.

What belongs here: its options, and its life from start to signal. What does not: anything it replies.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.errors import InputError

if TYPE_CHECKING:
    from qa_pipeline.testing.fake_server.plan import ServerPlan

_REMEMBERED = 1000


def serve_fake(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    host: Annotated[
        str, typer.Option(help="An address of this machine that no other one reaches.")
    ] = "127.0.0.1",
    plan: Annotated[
        Path | None, typer.Option(help="YAML file: seed, latency, faults, quota, models.")
    ] = None,
    quota: Annotated[
        float | None, typer.Option(min=0.001, help="Requests let in a minute; instead of the plan's.")
    ] = None,
    burst: Annotated[int | None, typer.Option(min=1, help="Requests the quota lets in at once.")] = None,
    latency: Annotated[
        float | None, typer.Option(min=0, help="Seconds until each reply; instead of the plan's.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of faults and latencies; instead of the plan's.")] = None,
) -> None:
    """Serve Gemini and OpenAI chat completions on this machine, for trying things out at no cost.

    Replies are made from the prompts alone, so that the same prompt always gets the same one. The key it
    prints is the only one it lets in. GET /stats counts what was asked, GET /asked shows the
    last requests.
    """
    chosen = _chosen(plan, quota, burst, latency, seed)
    _check_loopback(host)
    _serve(chosen, host, port)


def _chosen(
    path: Path | None, quota: float | None, burst: int | None, latency: float | None, seed: int | None
) -> "ServerPlan":
    from dataclasses import replace

    from qa_pipeline.testing.fake_server.plan import ServerPlan, load_plan

    changes = {
        "requests_per_minute": quota,
        "burst": burst,
        "latency": latency,
        "seed": seed,
    }
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    return replace(load_plan(path) if path else ServerPlan(), **given)


def _check_loopback(host: str) -> None:
    """Refuse to serve other machines: the server has no secrets and no manners."""
    import ipaddress

    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise InputError(
            f"--host {host}: serve-fake only serves this machine; give 127.0.0.1, ::1 or localhost"
        )


def _serve(plan: "ServerPlan", host: str, port: int) -> None:
    import asyncio
    import signal

    from qa_pipeline.testing.fake_server.server import LOOPBACK_KEY, serve
    from qa_pipeline.testing.fake_server.service import Service

    def tell(bound: int) -> None:
        place = f"http://[{host}]:{bound}" if ":" in host else f"http://{host}:{bound}"
        sys.stdout.write(f"url {place}\nopenai {place}/v1\nkey {LOOPBACK_KEY}\n")
        sys.stdout.flush()

    async def run() -> None:
        ends = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ends.set)
        service = Service(None, key=LOOPBACK_KEY, plan=plan, remember=_REMEMBERED)
        await serve(service, host, port, ends, tell)

    try:
        asyncio.run(run())
    except OSError as error:
        raise InputError(f"--port {port}: cannot serve on {host}: {error.strerror}") from error
