"""A model that asks only while its budget leaves room.

What belongs here: taking room around a whole model. What does not: the budget itself, and providers that take
room for every single try.
"""

from qa_pipeline.calls import Usage
from qa_pipeline.errors import PermanentModelError, UnreadableReplyError
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request, close_connections
from qa_pipeline.llm.money.budget import Budget
from qa_pipeline.llm.money.tokens import MOST_OUTPUT, most_request_tokens


class BudgetedModel:
    """Takes room before each call, and counts after it what the call took.

    A call that failed counts as well, since a provider may charge for it, unless it was refused outright.
    The wrapped model's own retries of a call are not counted.
    """

    def __init__(self, model: LanguageModel, budget: Budget, *, most_output: int | None = None) -> None:
        self.budget = budget
        self._model = model
        self._most_output = most_output or MOST_OUTPUT

    @property
    def name(self) -> str:
        """The wrapped model's identity: a cap changes no reply."""
        return self._model.name

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask the wrapped model while there is room.

        Raises:
            BudgetExhaustedError: a cap is reached.
        """
        tokens = most_request_tokens(request)
        reservation = await self.budget.reserve(request, self.name, tokens, self._most_output)
        try:
            reply = await self._model.complete(request)
        except UnreadableReplyError as error:
            reservation.settle(error.usage)
            raise
        except PermanentModelError:
            reservation.cancel()
            raise
        except BaseException:  # cancelled ones too: the provider may have worked on it
            reservation.settle(Usage())
            raise
        reservation.settle(reply.usage)
        return reply

    async def aclose(self) -> None:
        """Pass on to the wrapped model."""
        await close_connections(self._model)
