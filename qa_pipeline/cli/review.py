"""`qa-pipeline review`: a web app on this machine in which people look at pairs and decide."""

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import Out
from qa_pipeline.cli.common import errors_as_exit_codes


def review(
    out: Out = Path("data"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any that is free.")] = 8787,
    who: Annotated[
        str | None, typer.Option(help="The name that your decisions carry.", show_default="your login name")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the address in the browser.")] = False,
) -> None:
    """Serve a page where pairs are read beside their sources and decided, for a browser on this machine."""
    import webbrowser

    import uvicorn

    from qa_pipeline.people.review.server import build_app, listen
    from qa_pipeline.people.review.sessions import Sessions
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        load_settings(out=out)  # files are private unless a setting says otherwise
        sessions = Sessions(who or getpass.getuser())
        socket = listen("127.0.0.1", port)
        address = f"http://127.0.0.1:{socket.getsockname()[1]}/enter?token={sessions.token}"
        sys.stdout.write(f"Review {out} at {address}\nThe address signs in once. Ctrl-C stops the server.\n")
        sys.stdout.flush()
        if open_browser:
            webbrowser.open(address)
        config = uvicorn.Config(build_app(Layout(out), sessions), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[socket])
