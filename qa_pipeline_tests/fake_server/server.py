"""The loopback server, running on 127.0.0.1."""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

from aiohttp import web

from qa_pipeline_tests.fake_server.responses import ServerResponse
from qa_pipeline_tests.fake_server.service import Service

MOST_BYTES = 64 * 2**20
"""The longest request that is read."""

_RESET = struct.pack("ii", 1, 0)  # linger on, for no time: closing resets the connection
_DRIPS = 20


def build_app(service: Service) -> web.Application:
    """Return an application that answers every path as the service does; /stats shows its counts."""

    async def handle(request: web.Request) -> web.StreamResponse:
        content = await request.read()
        response = service.answer(request.method, request.path, request.headers, content)
        service.stats.in_flight += 1
        try:
            return await _send(request, response)
        finally:
            service.stats.in_flight -= 1

    async def counts(request: web.Request) -> web.Response:
        return web.json_response(service.stats.as_dict())

    app = web.Application(client_max_size=MOST_BYTES)
    app.router.add_get("/stats", counts)
    app.router.add_route("*", "/{path:.*}", handle)
    return app


async def _send(request: web.Request, response: ServerResponse) -> web.StreamResponse:
    if response.delay_seconds:
        await asyncio.sleep(response.delay_seconds)
    if response.body is None:
        return _reset(request)
    headers = {"Content-Type": "application/json", **dict(response.headers)}
    if response.cut or response.drip_seconds:
        return await _trickle(request, response, response.body, headers)
    return web.Response(status=response.status, body=response.body, headers=headers)


def _reset(request: web.Request) -> web.Response:
    transport = request.transport
    if transport is not None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        transport.abort()
    return web.Response()


async def _trickle(
    request: web.Request, planned: ServerResponse, body: bytes, headers: dict[str, str]
) -> web.StreamResponse:
    """Send half of the body and close, or all of it a few bytes at a time."""
    response = web.StreamResponse(
        status=planned.status, headers={**headers, "Content-Length": str(len(body))}
    )
    await response.prepare(request)
    if planned.cut:
        await response.write(body[: len(body) // 2])
        if request.transport is not None:
            request.transport.close()
        return response
    step = max(1, -(-len(body) // _DRIPS))
    with suppress(ConnectionResetError):  # the client may have waited long enough
        for start in range(0, len(body), step):
            await asyncio.sleep(planned.drip_seconds / _DRIPS)
            await response.write(body[start : start + step])
    return response


LOOPBACK_KEY = "loopback-key"
_BACKLOG = 4096
_GRACE = 0.05  # seconds for replies under way; aiohttp takes 0 for no limit


async def serve(service: Service, port: int, until: asyncio.Event, ready: Callable[[int], None]) -> None:
    """Serve on 127.0.0.1 until the event is set; `ready` gets the port once the server listens."""
    runner = web.AppRunner(build_app(service), access_log=None, handle_signals=False, shutdown_timeout=_GRACE)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, backlog=_BACKLOG).start()
        ready(runner.addresses[0][1])
        await until.wait()
    finally:
        await runner.cleanup()
