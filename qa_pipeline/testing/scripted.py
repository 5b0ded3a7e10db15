"""A language model that replies from a script: for tests, examples and dry runs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.replies import parse_reply
from qa_pipeline.records import ReplyModel, Role, Usage

ScriptedReply = ReplyModel | ModelError | str
"""What one request gets: a reply, an error to raise, or raw reply text that is read like a provider's."""
Script = (
    Sequence[ScriptedReply] | Mapping[Role, Sequence[ScriptedReply]] | Callable[[Request[Any]], ScriptedReply]
)


class ScriptedModel:
    """Replies from a script and remembers every request in `asked`.

    Args:
        script: replies in the order of the requests; or one such list for each role; or a function from the
            request.
            A function keeps a test independent of the order in which concurrent requests arrive.
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
        if not isinstance(reply, request.reply_model):
            raise TypeError(
                f"request {len(self.asked)} (role {request.role}) asks for {request.reply_model.__name__}, "
                f"the script has {type(reply).__name__}"
            )
        return self._reply(reply, reply.model_dump_json())

    def _reply(self, value: ReplyT, raw: str) -> Reply[ReplyT]:
        return Reply(value=value, raw=raw, model=self._name, usage=Usage())


def _as_function(script: Script) -> Callable[[Request[Any]], ScriptedReply]:
    if callable(script):
        return script
    by_role = script if isinstance(script, Mapping) else None
    in_order: Sequence[ScriptedReply] = () if isinstance(script, Mapping) else script
    played: Counter[Role | None] = Counter()

    def next_reply(request: Request[Any]) -> ScriptedReply:
        role = None if by_role is None else request.role
        replies = in_order if by_role is None else by_role.get(request.role, ())
        if played[role] == len(replies):
            share = f" for {role}" if role else ""
            raise LookupError(
                f"the script had {len(replies)} replies{share} and is asked for one more ({request.role})"
            )
        played[role] += 1
        return replies[played[role] - 1]

    return next_reply
