"""The people who use the review app: how they sign in, and how a request is known to be theirs.

Without a file of users there is one person and one token, which is printed at the start and works once. The
session is a random cookie that no script can read and no other site can send; a form carries a token of its
session besides, since a cookie alone does not show that its owner sent the form.
"""

import hmac
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.hashes import hash_text

COOKIE = "qa_pipeline_review"
_TOKEN_BYTES = 32
"""As many as the secrets module takes to be safe from guessing."""
_WRONG_TOKENS_A_MINUTE = 10
"""Of all senders together, since behind a proxy all have one address. A token of `add_user` is never guessed;
a word that somebody hashed in its place could be."""


@dataclass(frozen=True, slots=True)
class Session:
    """A person who is signed in.

    Args:
        who: the name that their decisions carry.
        ends: when they are signed out, by the clock of `Sessions`.
        form_token: what their forms carry.
    """

    who: str
    ends: float
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


def add_user(path: Path, name: str) -> str:
    """Add a person to a file of users, which is made where there is none, and return their token.

    Raises:
        InputError: the file cannot be used, or has the name.
        StorageError: it cannot be written.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    users = read_users(path) if path.exists() else []
    if any(user.name == name for user in users):
        raise InputError(f"{path} has a user {name} already; remove the line for a new token")
    try:
        users.append(User(name=name, token_sha256=hash_text(token)))
    except ValidationError as error:
        raise InputError(f"{name[:200]!r} is no name of a user: it has 1 to 200 characters") from error
    lines = ",\n".join(json.dumps(user.model_dump(), ensure_ascii=False) for user in users)
    write_bytes(path, f"[\n{lines}\n]\n".encode())
    return token


class Sessions:
    """Sign people in; nothing of it is written down, so that a restart signs everybody out.

    Args:
        who: the only person, where there is no file of users.
        users: those of the file; their tokens work more than once.
        seconds: how long a person stays signed in.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        who: str,
        users: list[User] | None = None,
        seconds: float = 12 * 3600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.token = None if users else secrets.token_urlsafe(_TOKEN_BYTES)
        """The token that signs in once; None where people have tokens of their own."""
        self.seconds = seconds
        self._names = {user.token_sha256: user.name for user in users or ()}
        if self.token is not None:
            self._names[hash_text(self.token)] = who
        self._sessions: dict[str, Session] = {}
        self._clock = clock
        self._wrong: deque[float] = deque(maxlen=_WRONG_TOKENS_A_MINUTE)
        self._lock = Lock()  # of two requests with a token that works once, one is late

    def sign_in(self, token: str) -> str | None:
        """Return a new cookie for a token; None where it is wrong or was used up.

        Raises:
            InputError: there were too many wrong tokens in the last minute.
        """
        hashed, now = hash_text(token), self._clock()
        with self._lock:
            if len(self._wrong) == _WRONG_TOKENS_A_MINUTE and now - self._wrong[0] < 60:
                raise PhrasedError("There were too many wrong tokens. Wait a minute, then try again.")
            matching = (who for digest, who in self._names.items() if hmac.compare_digest(digest, hashed))
            name = next(matching, None)
            if name is None:
                self._wrong.append(now)
                return None
            if self.token is not None:
                self._names.clear()
            self._sessions = {key: value for key, value in self._sessions.items() if value.ends > now}
            cookie = secrets.token_urlsafe(_TOKEN_BYTES)
            self._sessions[cookie] = Session(name, now + self.seconds)
        return cookie

    def sign_out(self, cookie: str | None) -> None:
        """End the session of a cookie."""
        with self._lock:
            self._sessions.pop(cookie or "", None)

    def session(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie while it lasts."""
        session = self._sessions.get(cookie or "")
        return session if session is not None and session.ends > self._clock() else None

    @property
    def people(self) -> list[str]:
        """Return the names of those who may sign in or have."""
        return sorted({*self._names.values(), *(session.who for session in self._sessions.values())})
