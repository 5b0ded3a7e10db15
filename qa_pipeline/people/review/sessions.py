"""The people who use the review app: how they sign in, and how a request is known to be theirs.

Without a file of users there is one person and one token, which is printed at the start and works once. The
session is a random cookie that no script can read and no other site can send; a form carries a token of its
session besides, since a cookie alone does not show that its owner sent the form.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.storage.hashes import hash_text

COOKIE = "qa_pipeline_review"
_TOKEN_BYTES = 32
"""As many as the secrets module takes to be safe from guessing."""


@dataclass(frozen=True, slots=True)
class Session:
    """A person who is signed in.

    Args:
        who: the name that their decisions carry.
        form_token: what their forms carry.
    """

    who: str
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(_TOKEN_BYTES))


class User(BaseModel):
    """A line of a file of users: a name, and the SHA-256 of the token that the person signs in with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=200)
    token_sha256: str = Field(pattern="^[0-9a-f]{64}$")


def read_users(path: Path) -> list[User]:
    """Read a file of users: a JSON list of objects with name and token_sha256.

    Raises:
        InputError: it cannot be read, is no such list, is empty, or has a name or token twice.
    """
    try:
        users = TypeAdapter(list[User]).validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, problem["loc"])) or "file"
        raise InputError(
            f'{path}: {place}: {problem["msg"]}; write [{{"name": "Ada", "token_sha256": "64 hex digits"}}]'
        ) from error
    for values in ([user.name for user in users], [user.token_sha256 for user in users]):
        if not users or len(set(values)) < len(values):
            raise InputError(f"{path} must name users, and no name or token twice")
    return users


class Sessions:
    """Sign people in; nothing of it is written down, so that a restart signs everybody out.

    Args:
        who: the only person, where there is no file of users.
        users: those of the file; their tokens work more than once.
    """

    def __init__(self, who: str, users: list[User] | None = None) -> None:
        self.token = None if users else secrets.token_urlsafe(_TOKEN_BYTES)
        """The token that signs in once; None where people have tokens of their own."""
        self._names = {user.token_sha256: user.name for user in users or ()}
        if self.token is not None:
            self._names[hash_text(self.token)] = who
        self._sessions: dict[str, Session] = {}

    def sign_in(self, token: str) -> str | None:
        """Return a new cookie for a token; None where it is wrong or was used up."""
        hashed = hash_text(token)
        name = next((name for known, name in self._names.items() if hmac.compare_digest(known, hashed)), None)
        if name is None:
            return None
        if self.token is not None:
            self._names.clear()
        cookie = secrets.token_urlsafe(_TOKEN_BYTES)
        self._sessions[cookie] = Session(name)
        return cookie

    def session(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie."""
        return self._sessions.get(cookie or "")

    @property
    def people(self) -> list[str]:
        """Return the names of those who may sign in or have."""
        return sorted({*self._names.values(), *(session.who for session in self._sessions.values())})
