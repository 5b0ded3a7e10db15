"""A hosted model: a provider's text becomes a reply, after the least repair that works.

What belongs here: reading, repairing, asking once more for a reply that cannot be read. What does not: how a
request is sent and paid for (`sending.py`), how text is read (`replies.py`, `recovery.py`).
"""

from dataclasses import replace
from typing import Any, Protocol

from qa_pipeline.errors import ModelError, UnreadableReplyError
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.provider import RawReply
from qa_pipeline.llm.replies import read_reply, recover
from qa_pipeline.llm.sending import REPLIED
from qa_pipeline.prompts.loading import ask_again
from qa_pipeline.records import CallRecord

REASKED = frozenset({"not_json", "schema_breach", "empty"})
"""Reason codes of replies worth asking for once more; one that was cut or blocked would be so again."""


class Sends(Protocol):
    """Gets the reply to a request, in whatever way; `sending.Sender` sends it at once."""

    @property
    def name(self) -> str:
        """The provider's."""
        ...

    async def send(self, request: Request[Any], request_key: str, calls: list[CallRecord]) -> RawReply:
        """See `Sender.send`."""
        ...

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        ...


class HostedModel:
    """A language model behind a provider; the records of its calls tell how each reply became readable."""

    def __init__(self, sender: Sends) -> None:
        self._sender = sender

    @property
    def name(self) -> str:
        """The provider's."""
        return self._sender.name

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._sender.aclose()

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask until a reply can be read; see `LanguageModel.complete`. Errors carry the calls they took."""
        calls: list[CallRecord] = []
        try:
            return await self._readable(request, calls)
        except ModelError as error:
            error.calls = tuple(calls)
            raise

    async def _readable(self, request: Request[ReplyT], calls: list[CallRecord]) -> Reply[ReplyT]:
        try:
            return await self._read(request, request.key, calls)
        except UnreadableReplyError as error:
            if error.reason not in REASKED:
                raise
            first = error
        prompt = ask_again(request.prompt, request.language, str(first))
        try:
            return await self._read(replace(request, prompt=prompt), request.key, calls)
        except UnreadableReplyError as error:
            last = error
        for unread in (last, first):
            value = recover(unread.raw, request)
            if value is not None:
                calls[-1] = replace(calls[-1], outcome=REPLIED, repair="recovered")
                return _reply(value, unread.raw, calls)
        raise last

    async def _read(self, request: Request[ReplyT], key: str, calls: list[CallRecord]) -> Reply[ReplyT]:
        """Send, and read what comes; the record of the call says how that went."""
        asked_again = bool(calls)
        raw = await self._sender.send(request, key, calls)
        try:
            value, repair = read_reply(raw.text, request.reply_model)
        except UnreadableReplyError as error:
            error.model, error.usage = raw.model, raw.usage
            calls[-1] = replace(calls[-1], outcome=error.reason)
            raise
        if asked_again or repair != "none":
            calls[-1] = replace(calls[-1], repair="reasked" if asked_again else repair)
        return _reply(value, raw.text, calls)


def _reply(value: ReplyT, raw: str, calls: list[CallRecord]) -> Reply[ReplyT]:
    last = calls[-1]
    return Reply(value, raw, last.replied_model or "", last.usage, repair=last.repair, calls=tuple(calls))
