"""A cap on the calls of a run.

What belongs here: counting calls and refusing the one too many. What does not: prices, rate limits, and
the store of replies, which wraps this wrapper so that stored replies cost nothing.
"""

import threading

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request, close_connections


class CappedModel:
    """Lets `max_calls` calls through to the wrapped model and refuses every later one.

    A call counts when it starts, failed ones included: a provider may charge for them too. The wrapped
    model's own retries of a call are not counted.
    """

    def __init__(self, model: LanguageModel, max_calls: int) -> None:
        if max_calls < 1:
            raise ValueError(f"max_calls must be at least 1, not {max_calls}")
        self._model = model
        self._lock = threading.Lock()
        self.max_calls = max_calls
        self.calls = 0
        self.input_tokens = 0
        self.output_tokens = 0

    @property
    def name(self) -> str:
        """The wrapped model's identity: a cap changes no reply."""
        return self._model.name

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask the wrapped model while calls are left.

        Raises:
            BudgetExhaustedError: the cap is reached.
        """
        self._spend_one()
        reply = await self._model.complete(request)
        with self._lock:
            self.input_tokens += reply.usage.input_tokens or 0
            self.output_tokens += reply.usage.output_tokens or 0
        return reply

    async def aclose(self) -> None:
        """Pass on to the wrapped model."""
        await close_connections(self._model)

    def _spend_one(self) -> None:
        with self._lock:
            if self.calls < self.max_calls:
                self.calls += 1
                return
        raise BudgetExhaustedError(
            f"all {self.max_calls} calls of this run to {self.name} are spent "
            f"({self.input_tokens} tokens read, {self.output_tokens} written, as far as replies have come). "
            "Every reply received is stored: run again to go on from here, with a higher "
            "QA_PIPELINE_LLM__BUDGET__MAX_CALLS (llm.budget.max_calls) if one run shall get further"
        )
