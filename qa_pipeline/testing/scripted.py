"""A language model that says what it was told to: for tests, examples and dry runs.

What belongs here: playing scripted replies and remembering what was asked. What does not: anything that
reads the passages; that is the extractive provider.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.replies import parse_reply
from qa_pipeline.records import ReplyModel, Role, Usage

Play = ReplyModel | ModelError | str
"""What one request gets: a reply, an error to raise, or raw reply text that is read like a provider's."""
Script = Sequence[Play] | Mapping[Role, Sequence[Play]] | Callable[[Request[Any]], Play]


class ScriptedModel:
    """Replies from a script and remembers every request in `asked`.

    Args:
        script: plays in the order of asking; or one such list for each role; or a function from the request.
            A function keeps a test independent of the order in which concurrent requests arrive.
        name: identity, for tests in which two models must differ.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._name = name
        self._play = _player(script)
        self.asked: list[Request[Any]] = []

    @property
    def name(self) -> str:
        """Stable identity."""
        return self._name

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Play the next reply.

        Raises:
            LookupError: the script is out of replies.
            TypeError: the scripted reply is of another model than the request asks for.
        """
        self.asked.append(request)
        play = self._play(request)
        if isinstance(play, ModelError):
            raise play
        if isinstance(play, str):
            return self._reply(parse_reply(play, request.reply_model), play)
        if not isinstance(play, request.reply_model):
            raise TypeError(
                f"request {len(self.asked)} (role {request.role}) asks for {request.reply_model.__name__}, "
                f"the script has {type(play).__name__}"
            )
        return self._reply(play, play.model_dump_json())

    def _reply(self, value: ReplyT, raw: str) -> Reply[ReplyT]:
        return Reply(value=value, raw=raw, model=self._name, usage=Usage())


def _player(script: Script) -> Callable[[Request[Any]], Play]:
    if callable(script):
        return script
    by_role = script if isinstance(script, Mapping) else None
    in_order: Sequence[Play] = () if isinstance(script, Mapping) else script
    played: Counter[Role | None] = Counter()

    def play(request: Request[Any]) -> Play:
        role = None if by_role is None else request.role
        plays = in_order if by_role is None else by_role.get(request.role, ())
        if played[role] == len(plays):
            share = f" for {role}" if role else ""
            raise LookupError(
                f"the script had {len(plays)} replies{share} and is asked for one more ({request.role})"
            )
        played[role] += 1
        return plays[played[role] - 1]

    return play
