"""Plays over HTTP: replies, and what can go wrong with a line.

What belongs here: aiohttp. What does not: which play it is (`service.py`).
"""

import asyncio
import json
import socket
import struct
from contextlib import suppress

from aiohttp import web

from qa_pipeline.llm.fake_server.play import ServerPlay
from qa_pipeline.llm.fake_server.service import Service

MOST_BYTES = 64 * 2**20
"""The longest request that is read."""

_RESET = struct.pack("ii", 1, 0)  # linger on, for no time: closing resets the connection
_DRIPS = 20
_REPORTED = 100


def build_app(service: Service) -> web.Application:
    """An application that answers every path as the service says; /stats and /asked tell what it saw."""

    async def handle(request: web.Request) -> web.StreamResponse:
        content = await request.read()
        play = service.answer(request.method, request.path, request.headers, request.query, content)
        service.stats.enters()
        try:
            return await _play(request, play)
        finally:
            service.stats.leaves()

    async def stats(request: web.Request) -> web.Response:
        return web.json_response(service.stats.as_dict())

    async def asked(request: web.Request) -> web.Response:
        last = list(service.stats.last)[-_REPORTED:]
        told = [{"model": one.model, "protocol": one.protocol, "body": one.body} for one in last]
        return web.json_response(told, dumps=lambda value: json.dumps(value, ensure_ascii=False))

    app = web.Application(client_max_size=MOST_BYTES)
    app.router.add_get("/stats", stats)
    app.router.add_get("/asked", asked)
    app.router.add_route("*", "/{path:.*}", handle)
    return app


async def _play(request: web.Request, play: ServerPlay) -> web.StreamResponse:
    if play.delay_seconds:
        await asyncio.sleep(play.delay_seconds)
    if play.body is None:
        return _reset(request)
    headers = {"Content-Type": "application/json", **dict(play.headers)}
    if play.cut or play.drip_seconds:
        return await _trickle(request, play, play.body, headers)
    return web.Response(status=play.status, body=play.body, headers=headers)


def _reset(request: web.Request) -> web.Response:
    transport = request.transport
    if transport is not None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        transport.abort()
    return web.Response()


async def _trickle(
    request: web.Request, play: ServerPlay, body: bytes, headers: dict[str, str]
) -> web.StreamResponse:
    """Send half of the body and close, or all of it a few bytes at a time."""
    response = web.StreamResponse(status=play.status, headers={**headers, "Content-Length": str(len(body))})
    await response.prepare(request)
    if play.cut:
        await response.write(body[: len(body) // 2])
        if request.transport is not None:
            request.transport.close()
        return response
    step = max(1, -(-len(body) // _DRIPS))
    with suppress(ConnectionResetError):  # the client may have waited long enough
        for start in range(0, len(body), step):
            await asyncio.sleep(play.drip_seconds / _DRIPS)
            await response.write(body[start : start + step])
    return response
