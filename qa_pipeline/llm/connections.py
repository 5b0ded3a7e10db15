"""Connections to providers: HTTP whose bodies have a size limit, before and after they are decompressed.

The limit holds while a body arrives, so that neither a stream that never ends nor a small one that would
decompress to gigabytes takes more memory than it. How long a body may take, the timeout of a call limits.
"""

import zlib
from functools import cache
from typing import Any

from aiohttp import ClientPayloadError, ClientResponse, ClientSession, TCPConnector

from qa_pipeline.errors import UnreadableReplyError

_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_ENCODINGS = {"": None, "identity": None, "gzip": _GZIP_OR_ZLIB, "deflate": _GZIP_OR_ZLIB}
"""Encodings of bodies that are read, with the window that `zlib` wants for each."""


def open_session(most_bytes: int, **options: Any) -> ClientSession:
    """Open a session without a limit of connections, since callers bound what is in flight.

    Args:
        most_bytes: of a body; reading a longer one raises UnreadableReplyError (`truncated`).
        options: further ones of `ClientSession`.
    """
    return ClientSession(
        connector=TCPConnector(limit=0),
        response_class=_bounded_response(most_bytes),
        auto_decompress=False,
        headers={"Accept-Encoding": "gzip, deflate"},
        **options,
    )


@cache
def _bounded_response(most_bytes: int) -> type[ClientResponse]:
    class BoundedResponse(ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                try:
                    received = bytearray()
                    async for part in self.content.iter_any():
                        received += part
                        _check_length(received, most_bytes)
                    encoding = self.headers.get("Content-Encoding", "").strip().lower()
                    self._body = _decompressed(bytes(received), encoding, most_bytes)
                except BaseException:
                    self.close()
                    raise
            return await super().read()

    return BoundedResponse


def _decompressed(body: bytes, encoding: str, most_bytes: int) -> bytes:
    """Return the body as it was before it was encoded.

    Raises:
        UnreadableReplyError: it is longer than the limit.
        ClientPayloadError: it is damaged, or encoded in a way that was not asked for.
    """
    if encoding not in _ENCODINGS:
        raise ClientPayloadError("the body has a Content-Encoding that was not asked for")
    window = _ENCODINGS[encoding]
    if window is None or not body:
        return body
    decompressor = zlib.decompressobj(window)
    try:
        plain = decompressor.decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise ClientPayloadError(f"the body is no {encoding}: {error}") from error
    _check_length(plain, most_bytes)
    if not decompressor.eof:
        raise ClientPayloadError(f"the {encoding} body is cut off")
    return plain


def _check_length(body: bytes | bytearray, most_bytes: int) -> None:
    if len(body) > most_bytes:
        raise UnreadableReplyError("truncated", f"the reply is longer than {most_bytes / 2**20:g} MiB")
