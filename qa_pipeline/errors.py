"""The exceptions this package raises on purpose, drawn as one tree.

What belongs here: errors a caller may want to catch, at the level they mean. What does not: a
document that cannot be parsed or a pair that fails verification; those are rows with a reason code.

    QAPipelineError
    ├── InputError                 the user's files or arguments; says which, and what to do
    │   ├── CorpusError            a corpus or batch folder that cannot be used
    │   └── PairsFileError         a pairs file that cannot be read as a whole
    ├── SettingsError              a setting that is missing, unknown or contradictory
    ├── TableError                 a frame or file that breaks the schema of its table
    ├── ContainmentError           no process can be started to parse files in
    ├── StorageError               a file that could not be written; the old one is untouched
    ├── IndexMismatchError         a FAISS shard of another model, dimension or set of chunks, or damaged
    ├── ReplyStoreError            the store of paid replies cannot be used
    └── ModelError                 a language model did not give a reply
        ├── TransientModelError    worth another try: rate limit, server fault, lost connection
        ├── PermanentModelError    no later call can succeed: stop the run
        │   ├── KeyRejectedError   key missing, wrong or revoked
        │   └── BudgetExhaustedError  the call or spending cap is reached
        └── UnreadableReplyError   a reply came and cannot be used; carries a reason code
"""


class QAPipelineError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(QAPipelineError):
    """The user's files or arguments cannot be used."""


class CorpusError(InputError):
    """A corpus or batch folder cannot be used."""


class PairsFileError(InputError):
    """A file of existing pairs cannot be read as a whole."""


class SettingsError(QAPipelineError):
    """A setting is missing, unknown or contradicts another."""


class TableError(QAPipelineError):
    """A frame breaks the schema of its table."""


class TableVersionError(TableError):
    """A stored table was written by a release with another schema."""


class StorageError(QAPipelineError):
    """A file could not be written: disk full, no right, no such place. The old one is untouched."""


class ContainmentError(QAPipelineError):
    """No process can be started to parse files in; parsing them here instead would not be safe."""


class IndexMismatchError(QAPipelineError):
    """A FAISS shard belongs to another model, dimension or set of chunks, or its file is damaged."""


class ReplyStoreError(QAPipelineError):
    """The store of paid replies cannot be used; going on without it would pay twice."""


class ModelError(QAPipelineError):
    """A language model did not give a usable reply."""

    reason = "model_error"


class TransientModelError(ModelError):
    """Worth another try; raised only after the adapter's own tries are spent."""

    reason = "model_unavailable"


class PermanentModelError(ModelError):
    """No later call can succeed, so the run stops."""

    reason = "model_refused"


class KeyRejectedError(PermanentModelError):
    """The provider's key is missing, wrong or revoked."""

    reason = "key_rejected"


class BudgetExhaustedError(PermanentModelError):
    """The cap on calls or spending is reached; a later run resumes from the stored replies."""

    reason = "budget_exhausted"


class UnreadableReplyError(ModelError):
    """A reply came and cannot be used.

    Args:
        reason: one of `not_json`, `truncated`, `schema_breach`, `blocked`, `empty`.
        detail: what was wrong, short and free of the reply's own markup.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
