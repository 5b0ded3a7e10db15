"""The exceptions this package raises on purpose, one tree below `QAPipelineError`."""

from qa_pipeline.records import CallRecord, Usage


class QAPipelineError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(QAPipelineError):
    """The user's files or arguments cannot be used."""


class DecidedMeanwhileError(InputError):
    """A person decides about a pair that somebody else has decided since they looked at it."""


class CorpusError(InputError):
    """A corpus or batch folder cannot be used."""


class SettingsError(QAPipelineError):
    """A setting is missing, unknown or contradicts another."""


class TableError(QAPipelineError):
    """A frame breaks the schema of its table."""


class TableVersionError(TableError):
    """A stored table was written by a release with another schema."""


class StorageError(QAPipelineError):
    """A file could not be written: disk full, no right, no such place. The old one is untouched."""


class ReleaseError(QAPipelineError):
    """A release cannot be made or read: nothing to publish, a damaged folder, or one of a newer layout."""


class SandboxError(QAPipelineError):
    """The error that no process can be started for parsing; parsing here instead would not be safe."""


class IndexMismatchError(QAPipelineError):
    """A FAISS shard belongs to another model, dimension or set of chunks, or its file is damaged."""


class ReplyStoreError(QAPipelineError):
    """The store of paid replies cannot be used; going on without it would pay twice."""


class DeliveryError(QAPipelineError):
    """A message reached nobody."""


class ModelError(QAPipelineError):
    """A language model did not give a usable reply. `calls` are those it took all the same."""

    reason = "model_error"
    calls: tuple[CallRecord, ...] = ()


class TransientModelError(ModelError):
    """A failure worth another try; it leaves the adapter only after its own tries are spent.

    Args:
        message: what went wrong.
        limited: whether the server says that it is asked too much, and not that it is at fault.
        wait_seconds: how long the server asks to wait; 0 where it does not say.
        maybe_charged: whether the request may have been worked on and charged, as after a lost connection.
        is_away: whether the server, and not the request, seems to be at fault: it refuses connections, loads
            its model, or drops connections as it restarts.
        is_final: whether another try would most likely end the same way.
    """

    reason = "model_unavailable"

    def __init__(
        self,
        message: str,
        *,
        limited: bool = False,
        wait_seconds: float = 0.0,
        maybe_charged: bool = False,
        is_away: bool = False,
        is_final: bool = False,
    ) -> None:
        super().__init__(message)
        self.limited = limited
        self.wait_seconds = wait_seconds
        self.maybe_charged = maybe_charged
        self.is_away = is_away
        self.is_final = is_final


class PermanentModelError(ModelError):
    """A failure that no later call can mend, so the run stops."""

    reason = "model_refused"


class KeyRejectedError(PermanentModelError):
    """The provider's key is missing, wrong or revoked."""

    reason = "key_rejected"


class ServerUnavailableError(PermanentModelError):
    """The server was waited for in vain, or fails call after call; a later run goes on from here."""

    reason = "model_unavailable"


class BudgetExhaustedError(PermanentModelError):
    """A cap on calls, tokens or cost is reached; a later run resumes from the stored replies."""

    reason = "budget_exhausted"


class UnreadableReplyError(ModelError):
    """A reply came and cannot be used. It was paid for, so it is stored like any other.

    Args:
        reason: one of `not_json`, `schema_breach`, `truncated`, `blocked_safety`, `blocked_recitation`,
            `blocked`, `empty`, `refused`, `context_too_long`.
        detail: what was wrong, short and free of the reply's own markup.
        raw: the reply's text as far as there is one.
        model: the model that says it replied.
        usage: what it took.
    """

    def __init__(
        self, reason: str, detail: str, *, raw: str = "", model: str | None = None, usage: Usage | None = None
    ) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.raw = raw
        self.model = model
        self.usage = usage or Usage()


class OversizedRequestError(UnreadableReplyError):
    """The request is longer than the model reads; other requests may fit. Nothing was charged."""

    def __init__(self, detail: str) -> None:
        super().__init__("context_too_long", detail)
