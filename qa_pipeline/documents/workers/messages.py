"""The messages between this process and its parsing workers: a head in JSON and a body of plain bytes.

What belongs here: how a message is framed, and putting one together from bytes as they arrive. What does not:
what a message means (`worker` and `replies`) and the pipes it goes through (`process`).

Nothing is ever unpickled, and no length is believed beyond a limit.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_LENGTHS = struct.Struct(">IQ")

READ_AT_ONCE = 1 << 20
"""Bytes asked of a pipe at a time; it gives what it holds."""


class MessageError(ValueError):
    """What arrived is no message, or one longer than allowed."""


@dataclass(frozen=True, slots=True)
class Message:
    """A head, still JSON, and a body."""

    head: bytes
    body: bytes


def framed(head: Mapping[str, Any], body: bytes = b"") -> list[bytes]:
    """A message as the pieces to be written one after another; the body is not copied."""
    written = json.dumps(head).encode()
    return [_LENGTHS.pack(len(written), len(body)) + written, body]


@dataclass(slots=True)
class MessageReader:
    """Puts one message at a time together; its sides take turns, so nothing may follow a message."""

    longest_head: int
    longest_body: int
    _arrived: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> Message | None:
        """Take what has arrived; the message once it is whole.

        Raises:
            MessageError: it is too long, or something follows it.
        """
        self._arrived += data
        if len(self._arrived) < _LENGTHS.size:
            return None
        head, body = _LENGTHS.unpack_from(self._arrived)
        if head > self.longest_head or body > self.longest_body:
            raise MessageError(f"a message of {head} and {body} bytes is longer than allowed")
        end = _LENGTHS.size + head + body
        if len(self._arrived) > end:
            raise MessageError("more follows a message before it was answered")
        return self._take(_LENGTHS.size + head) if len(self._arrived) == end else None

    def _take(self, body_from: int) -> Message:
        arrived, self._arrived = self._arrived, bytearray()
        with memoryview(arrived) as view:
            return Message(bytes(view[_LENGTHS.size : body_from]), bytes(view[body_from:]))
