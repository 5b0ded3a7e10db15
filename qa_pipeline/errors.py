"""The exceptions of this package; all derive from `QAPipelineError`."""

from qa_pipeline.records import CallRecord, Usage


class QAPipelineError(Exception):
    """Base of all exceptions of this package."""


class InputError(QAPipelineError):
    """The user's files or arguments are invalid."""


class DecidedMeanwhileError(InputError):
    """Another person has decided about the pair since it was opened."""


class CorpusError(InputError):
    """A corpus or batch folder is unusable."""


class SettingsError(QAPipelineError):
    """A setting is missing, unknown or contradicts another."""


class TableError(QAPipelineError):
    """A frame breaks the schema of its table."""


class TableVersionError(TableError):
    """A stored table was written by a version of this package with another schema."""


class StorageError(QAPipelineError):
    """A file or database of this package cannot be written, or is damaged or outdated.

    A failed write leaves the old file unchanged.
    """


class ReleaseError(QAPipelineError):
    """A release cannot be made or read: it would be empty, is damaged, or has a newer format."""


class SandboxError(QAPipelineError):
    """A sandboxed process for parsing cannot be started. Parsing in this process would be unsafe."""


class ModelError(QAPipelineError):
    """A language model failed to give a usable reply. `calls` are the calls that were made for it."""

    reason = "model_error"
    calls: tuple[CallRecord, ...] = ()


class PermanentModelError(ModelError):
    """A failure that later calls cannot mend, so the run stops."""

    reason = "model_refused"


class KeyRejectedError(PermanentModelError):
    """The provider's key is missing, wrong or revoked."""

    reason = "key_rejected"


class ServerUnavailableError(PermanentModelError):
    """The server did not return, or fails on every call. A later run resumes from here."""

    reason = "model_unavailable"


class BudgetExhaustedError(PermanentModelError):
    """A cap on calls, tokens or cost is reached. A later run resumes from the stored replies."""

    reason = "budget_exhausted"


class UnreadableReplyError(ModelError):
    """A reply arrived but is unusable. It was paid for, so it is stored like any other.

    Args:
        reason: `not_json`, `schema_breach`, `truncated`, `blocked_safety`, `blocked_recitation`, `blocked`,
            `empty`, `refused` or `context_too_long`.
        detail: a short description of the fault, without the reply's own markup.
        raw: the reply's text, as far as it was received.
        model: name of the model, as given in the reply.
        usage: tokens of the call.
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
    """The request is longer than the model accepts; shorter requests may fit. It was not charged."""

    def __init__(self, detail: str) -> None:
        super().__init__("context_too_long", detail)
