"""The command line."""

import sys


def start() -> None:
    """Run the command of `sys.argv`, and end quietly if Ctrl-C comes while it is being loaded."""
    try:
        from qa_pipeline.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.exit(130)
