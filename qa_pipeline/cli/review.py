"""`qa-pipeline review`: a web app on this machine in which people look at pairs and decide."""

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import Out
from qa_pipeline.cli.exit_codes import GRACE_SECONDS, errors_as_exit_codes
from qa_pipeline.errors import InputError

if TYPE_CHECKING:
    from qa_pipeline.review.sessions import Sessions

_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104
"""Addresses that stand for all of a machine, and that nobody opens in a browser."""


def review(
    out: Out = Path("data"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any that is free.")] = 8787,
    host: Annotated[
        str, typer.Option(help="Address to listen on; one that other machines reach takes --users.")
    ] = "127.0.0.1",
    users: Annotated[
        Path | None,
        typer.Option(help="File of those who may sign in, with the SHA-256 of their tokens."),
    ] = None,
    new_user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Add a person to the file of --users, print their token and end."),
    ] = None,
    who: Annotated[
        str | None,
        typer.Option(help="The name of your decisions, without --users.", show_default="your login name"),
    ] = None,
    sheet: Annotated[
        list[Path] | None,
        typer.Option(
            help="File of audit sample or eval sheet to label, besides those in audits/ and sheets/ of the "
            "output folder; repeatable."
        ),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the address in the browser.")] = False,
) -> None:
    """Serve a page where pairs are read beside their sources and decided, for a browser on this machine."""
    import webbrowser

    import uvicorn

    from qa_pipeline.review.server import build_app, is_loopback, listen
    from qa_pipeline.review.sessions import Sessions, add_user, read_users
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        settings = load_settings(out=out)  # files are private unless a setting says otherwise
        if new_user is not None:
            if users is None:
                raise InputError("--new-user adds to a file of users: name it with --users")
            token = add_user(users, new_user)
            sys.stdout.write(f"{new_user} signs in with the token {token}\nIt is stored nowhere.\n")
            return
        if not is_loopback(host):
            check_reachable(host, users, settings.review.url)
        people = read_users(users) if users is not None else None
        sessions = Sessions(who or getpass.getuser(), people, settings.review.session_hours * 3600)
        socket = listen(host, port)
        address = _address(settings.review.url, host, socket.getsockname()[1], sessions)
        sys.stdout.write(f"Review {out} at {address}\n")
        if sessions.token is not None:
            sys.stdout.write("The address signs in once. ")
        sys.stdout.write("Ctrl-C stops the server.\n")
        sys.stdout.flush()
        if open_browser:
            webbrowser.open(address)
        config = uvicorn.Config(
            build_app(Layout(out), sessions, settings, host, sheets=sheet or ()),
            log_level="warning",
            access_log=False,
            proxy_headers=False,  # nobody but the setting review.url says how people reach the server
            server_header=False,
            timeout_graceful_shutdown=int(GRACE_SECONDS) - 2,
        )
        uvicorn.Server(config).run(sockets=[socket])


def check_reachable(host: str, users: Path | None, url: str | None) -> None:
    """Refuse to be reached from other machines unless people are told apart and the name is known.

    Raises:
        InputError: there is no file of users, or no name that browsers use.
    """
    if users is None:
        raise InputError(f"other machines reach --host {host}: name who may sign in with --users FILE")
    if host in _WILDCARDS and url is None:
        raise InputError(f"--host {host} is no address to open: give the one that people open as review.url")
    sys.stderr.write(
        f"Note: other machines reach {host}, and this server sends everything unencrypted, tokens too. Put a "
        "proxy with TLS before it and give its address as the setting review.url.\n"
    )


def _address(url: str | None, host: str, port: int, sessions: "Sessions") -> str:
    """Return the address that people open; the one that signs in leads to this machine, not to a proxy."""
    if sessions.token is None and url is not None:
        return url
    own = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    return own if sessions.token is None else f"{own}/enter?token={sessions.token}"
