"""Files of users, tokens, and how long a session lasts."""

import json
from pathlib import Path

import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.review.sessions import Sessions, User, add_user, read_users
from qa_pipeline.storage.hashes import hash_text


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_users_that_were_added_sign_in_with_their_tokens_again_and_again(tmp_path: Path) -> None:
    file = tmp_path / "users.json"
    tokens = {name: add_user(file, name) for name in ("Ada", "Åke", "ד\u202eor")}
    assert not any(token in file.read_text() for token in tokens.values())
    sessions = Sessions("nobody", read_users(file))
    assert sessions.token is None
    for name, token in [*tokens.items(), *tokens.items()]:
        session = sessions.session(sessions.sign_in(token))
        assert session is not None
        assert session.who == name
    assert sessions.people == sorted(tokens)


def test_a_name_is_added_once(tmp_path: Path) -> None:
    file = tmp_path / "users.json"
    add_user(file, "Ada")
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"users.json has a user Ada already; remove the line"):
        add_user(file, "Ada")
    with pytest.raises(InputError, match="1 to 200 characters"):
        add_user(file, "")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "file: Invalid JSON"),
        ("[]", "must name users"),
        ('{"name": "Ada"}', "file: Input should be a valid (array|list)"),
        ('[{"name": "Ada"}]', "0.token_sha256: Field required"),
        ('[{"name": "Ada", "token_sha256": "secret"}]', "0.token_sha256: String should match"),
        (
            json.dumps([{"name": name, "token_sha256": "0" * 64} for name in ("Ada", "Bo")]),
            "no name or token twice",
        ),
    ],
)
def test_a_file_of_users_that_cannot_be_used_is_refused_by_name(
    tmp_path: Path, content: str, problem: str
) -> None:
    file = tmp_path / "users.json"
    file.write_text(content)
    with pytest.raises(InputError, match=problem) as raised:
        read_users(file)
    assert "users.json" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_missing_file_of_users_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none.json: No such file"):
        read_users(tmp_path / "none.json")


def test_a_session_ends_when_its_time_is_over_and_when_its_owner_leaves() -> None:
    clock = Clock()
    sessions = Sessions("", [User(name="Ada", token_sha256=hash_text("a token"))], 60, clock)
    first, second = sessions.sign_in("a token"), sessions.sign_in("a token")
    sessions.sign_out(second)
    assert sessions.session(second) is None
    clock.now = 59
    assert sessions.session(first) is not None
    clock.now = 60
    assert sessions.session(first) is None


def test_after_ten_wrong_tokens_in_a_minute_even_the_right_one_waits() -> None:
    clock = Clock()
    sessions = Sessions("Ada", clock=clock)
    token = sessions.token
    assert token is not None
    for _ in range(10):
        assert sessions.sign_in("guess") is None
    for guess in ("guess", token):
        with pytest.raises(InputError, match="too many wrong tokens"):
            sessions.sign_in(guess)
    clock.now = 60
    assert sessions.sign_in(token) is not None
