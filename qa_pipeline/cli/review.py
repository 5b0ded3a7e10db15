"""`qa-pipeline review`: a web app on this machine in which people look at pairs and decide."""

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import Out
from qa_pipeline.cli.exit_codes import GRACE_SECONDS, errors_as_exit_codes
from qa_pipeline.errors import InputError


def review(
    out: Out = Path("data"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any that is free.")] = 8787,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    who: Annotated[
        str | None,
        typer.Option(help="The name of your decisions.", show_default="your login name"),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the address in the browser.")] = False,
) -> None:
    """Serve a page where people decide pairs beside their sources.

    The printed address signs in whoever opens it, until the server stops. With the setting
    review.user_header a proxy before the server names who is signed in.
    """
    import webbrowser

    import uvicorn

    from qa_pipeline.review.responses import Access
    from qa_pipeline.review.server import build_app, check_reachable, listen
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        settings = load_settings(out=out)  # files are private unless a setting says otherwise
        url = settings.review.url
        name = who or getpass.getuser()
        if not name.isprintable() or len(name) > 200:
            raise InputError("--who is a name of at most 200 characters")
        if warning := check_reachable(host, url):
            sys.stderr.write(f"{warning}\n")
        access = Access(name, settings.review.user_header)
        socket = listen(host, port)
        address = url or f"http://{f'[{host}]' if ':' in host else host}:{socket.getsockname()[1]}"
        if access.user_header is None:
            address += f"/enter?token={access.token}"
        sys.stdout.write(f"Review {out} at {address}\nCtrl-C stops the server.\n")
        sys.stdout.flush()
        if open_browser:
            webbrowser.open(address)
        config = uvicorn.Config(
            build_app(Layout(out), access, settings, host),
            log_level="warning",
            access_log=False,
            proxy_headers=False,  # nothing but the setting review.url says how people reach the server
            server_header=False,
            timeout_graceful_shutdown=int(GRACE_SECONDS) - 2,
        )
        uvicorn.Server(config).run(sockets=[socket])
