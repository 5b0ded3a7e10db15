"""The command line."""

import sys


def start() -> None:
    """Run the command of `sys.argv`; Ctrl-C while it is being loaded ends it without a traceback.

    Once a command works, `cli.exit_codes.errors_as_exit_codes` takes signals and says what is kept.
    """
    try:
        from qa_pipeline.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.exit(130)
