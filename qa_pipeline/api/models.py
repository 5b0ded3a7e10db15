"""Language models as a caller names them: by name, as a function, or as a model of the package."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

from qa_pipeline.errors import InputError, TransientModelError
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request, json_schema
from qa_pipeline.llm.replies import read_reply

Function = Callable[[str], str]
AnyModel = str | Function | LanguageModel
"""A name, `gemini/NAME` or `openai/NAME`; a function from prompt to reply; or a model of the package."""
PATIENCE = 120.0
"""Seconds that a function has for a reply: as long as a slow model takes on a CPU."""


@dataclass(frozen=True)
class FunctionModel:
    """A function that takes a prompt and returns the text of a reply, as a language model.

    The prompt holds the system prompt, the request and the JSON schema of the reply; after `patience` seconds
    without a reply the request has failed.
    """

    function: Function
    patience: float

    @property
    def name(self) -> str:
        """Return the name of the function."""
        return f"function/{getattr(self.function, '__qualname__', type(self.function).__qualname__)}"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask the function in a thread of its own, which is left behind where it hangs.

        Raises:
            TransientModelError: it raises, hangs, or returns no text.
            UnreadableReplyError: its reply cannot be read.
        """
        schema = json.dumps(json_schema(request.reply_model))
        prompt = f"{request.system}\n\n{request.prompt}\n\nReply with JSON of this schema:\n{schema}"
        raw = await self._reply(prompt)
        value, repair = read_reply(raw, request.reply_model)
        return Reply(value, raw, self.name, repair=repair)

    async def _reply(self, prompt: str) -> str:
        loop = asyncio.get_running_loop()
        replied: asyncio.Future[object] = loop.create_future()

        def settle(value: object, error: Exception | None) -> None:
            if replied.done():
                return
            if error is None:
                replied.set_result(value)
            else:
                replied.set_exception(error)

        def ask() -> None:
            value: object = None
            failure: Exception | None = None
            try:
                value = self.function(prompt)
            except Exception as error:  # noqa: BLE001 what a caller's function raises is anything
                failure = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, value, failure)

        # a thread of a pool would be waited for at the end of the program, however long it hangs
        threading.Thread(target=ask, daemon=True).start()
        try:
            reply = await asyncio.wait_for(replied, self.patience)
        except TimeoutError:
            raise TransientModelError(
                f"{self.name} gave no reply in {self.patience:g} s", is_final=True
            ) from None
        except Exception as error:
            problem = f"{self.name} raised {type(error).__name__}: {error}"
            raise TransientModelError(problem, is_final=True) from error
        if not isinstance(reply, str):
            problem = f"{self.name} returned a {type(reply).__name__}; it should return a str"
            raise TransientModelError(problem, is_final=True)
        return reply


def language_model(model: AnyModel | None) -> LanguageModel | None:
    """Return the language model that a caller means; None for None.

    Raises:
        InputError: it is neither a name, a function nor a model.
        SettingsError: its settings cannot be used.
        KeyRejectedError: its key is missing.
    """
    if model is None or hasattr(model, "complete"):
        return model  # type: ignore[return-value]
    if isinstance(model, str):
        return _named_model(model)
    if callable(model):
        return FunctionModel(model, PATIENCE)
    raise InputError(
        f"model is a {type(model).__name__}; give a name such as gemini/gemini-3-flash-preview, "
        "a function from prompt to reply, or None"
    )


def _named_model(name: str) -> LanguageModel:
    """Return a model of a provider, under the limits and with the stored replies of the settings.

    Raises:
        SettingsError: there is no such provider, or its settings cannot be used.
        KeyRejectedError: its key is missing.
    """
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.llm import HOSTED
    from qa_pipeline.settings.tree import load_settings

    provider, slash, model = name.partition("/")
    if provider not in HOSTED or not slash or not model:
        raise InputError(
            f"model {name!r} names no provider; give PROVIDER/NAME with one of {', '.join(HOSTED)}"
        )
    resources = Resources(load_settings(llm={"provider": provider, "model": model}))
    reviewer = resources.reviewer("verifier")
    if reviewer is None:
        raise InputError(f"model {name!r}: the settings switch the verifier off; set llm.verifier.provider")
    return reviewer
