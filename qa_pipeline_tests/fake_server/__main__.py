"""Serve replies that are made from the prompts alone: python -m qa_pipeline_tests.fake_server."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.exit_codes import errors_as_exit_codes
from qa_pipeline.errors import InputError

if TYPE_CHECKING:
    from qa_pipeline_tests.fake_server.plan import ServerPlan


def serve_fake(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    plan: Annotated[Path | None, typer.Option(help="YAML file: latency, models, input_limit, chat.")] = None,
) -> None:
    """Serve Gemini and OpenAI chat completions on this machine, for trying things out at no cost.

    Replies are made from the prompts alone, so the same prompt always gets the same one. The key it prints is
    the only one it accepts. GET /stats shows its counts of requests.
    """
    from qa_pipeline_tests.fake_server.plan import ServerPlan, load_plan

    _serve(load_plan(plan) if plan else ServerPlan(), port)


def _serve(plan: "ServerPlan", port: int) -> None:
    import asyncio
    import signal

    from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY, serve
    from qa_pipeline_tests.fake_server.service import Service

    def report(bound: int) -> None:
        place = f"http://127.0.0.1:{bound}"
        sys.stdout.write(f"url {place}\nopenai {place}/v1\nkey {LOOPBACK_KEY}\n")
        sys.stdout.flush()

    async def run() -> None:
        ends = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ends.set)
        await serve(Service(None, key=LOOPBACK_KEY, plan=plan), port, ends, report)

    try:
        asyncio.run(run())
    except OSError as error:
        raise InputError(f"--port {port}: cannot serve on 127.0.0.1: {error.strerror}") from error


if __name__ == "__main__":
    typer.run(errors_as_exit_codes()(serve_fake))
