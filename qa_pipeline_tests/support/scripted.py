"""A language model that replies from a script: for tests, examples and dry runs."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.replies import parse_reply
from qa_pipeline.records import ReplyModel, Usage

ScriptedReply = ReplyModel | ModelError | str
"""What one request gets: a reply, an error to raise, or raw reply text that is read like a provider's."""
Script = Sequence[ScriptedReply] | Callable[[Request[Any]], ScriptedReply]


class ScriptedModel:
    """Replies from a script and remembers every request in `asked`.

    Args:
        script: replies in the order of the requests, or a function from the request, which keeps a test
            independent of the order in which concurrent requests arrive.
        name: identity, for tests in which two models must differ.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._name = name
        self._script = _as_function(script)
        self.asked: list[Request[Any]] = []

    @property
    def name(self) -> str:
        """Stable identity."""
        return self._name

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Give the next reply.

        Raises:
            LookupError: the script is out of replies.
            TypeError: the scripted reply is of another model than the request asks for.
        """
        self.asked.append(request)
        reply = self._script(request)
        if isinstance(reply, ModelError):
            raise reply
        if isinstance(reply, str):
            return self._reply(parse_reply(reply, request.reply_model), reply)
        if not issubclass(request.reply_model, type(reply)):
            raise TypeError(
                f"request {len(self.asked)} (role {request.role}) asks for {request.reply_model.__name__}, "
                f"the script has {type(reply).__name__}"
            )
        return self._reply(request.reply_model.model_validate(reply.model_dump()), reply.model_dump_json())

    def _reply(self, value: ReplyT, raw: str) -> Reply[ReplyT]:
        return Reply(value=value, raw=raw, model=self._name, usage=Usage())


def _as_function(script: Script) -> Callable[[Request[Any]], ScriptedReply]:
    if callable(script):
        return script
    left = deque(script)

    def next_reply(request: Request[Any]) -> ScriptedReply:
        if not left:
            raise LookupError(
                f"the script had {len(script)} replies, and got one more request ({request.role})"
            )
        return left.popleft()

    return next_reply
