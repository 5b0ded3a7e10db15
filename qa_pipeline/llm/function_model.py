"""Use a caller's function as a language model."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

from qa_pipeline.errors import TransientModelError
from qa_pipeline.llm.base import Reply, ReplyT, Request, json_schema
from qa_pipeline.llm.replies import read_reply

Function = Callable[[str], str]
PATIENCE = 120.0
"""Seconds to wait for a function's reply, enough for a slow model on a CPU."""


@dataclass(frozen=True)
class FunctionModel:
    """Wrap a function as a language model.

    The function takes the prompt, which ends with the JSON schema of the reply, and returns the reply's text.
    """

    function: Function

    @property
    def name(self) -> str:
        """Return the name of the function."""
        return f"function/{getattr(self.function, '__qualname__', type(self.function).__qualname__)}"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Call the function in a new thread, which is abandoned on a timeout.

        Raises:
            TransientModelError: the function raises, times out, or returns something other than a string.
            UnreadableReplyError: its reply cannot be parsed.
        """
        schema = json.dumps(json_schema(request.reply_model))
        prompt = f"{request.system}\n\n{request.prompt}\n\nReply with JSON of this schema:\n{schema}"
        try:
            raw = await asyncio.wait_for(self._call(prompt), PATIENCE)
        except TimeoutError:
            raw = TimeoutError(f"no reply in {PATIENCE:g} s")
        if isinstance(raw, Exception):
            raise self._failure(f"raised {type(raw).__name__}: {raw}")
        if not isinstance(raw, str):
            raise self._failure(f"returned {raw!r:.80}")
        value, repair = read_reply(raw, request.reply_model)
        return Reply(value, raw, self.name, repair=repair)

    def _call(self, prompt: str) -> asyncio.Future[object]:
        """Start the function in a thread, and return the future of its result or exception."""
        loop = asyncio.get_running_loop()
        replied: asyncio.Future[object] = loop.create_future()

        def settle(value: object) -> None:
            if not replied.done():  # a timeout has cancelled it
                replied.set_result(value)

        def ask() -> None:
            try:
                value: object = self.function(prompt)
            except Exception as error:  # noqa: BLE001 a caller's function may raise anything
                value = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, value)

        # at exit the interpreter would wait for a pool's thread, even if it hangs
        threading.Thread(target=ask, daemon=True).start()
        return replied

    def _failure(self, problem: str) -> TransientModelError:
        return TransientModelError(f"{self.name} {problem}; it should return a str", is_final=True)
