"""`qa-pipeline sample`: rows as a person reads them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from qa_pipeline.cli.arguments import RUN_FIRST, Json, Out, check_exists
from qa_pipeline.cli.exit_codes import errors_as_exit_codes
from qa_pipeline.errors import InputError


def sample(
    out: Out = Path("data"),
    count: Annotated[int, typer.Option("--rows", min=1, max=100_000, help="Rows to draw.")] = 10,
    language: Annotated[str, typer.Option(help="Only rows of this language, such as sv.")] = "",
    question_type: Annotated[str, typer.Option("--type", help="Only rows of this question type.")] = "",
    batch: Annotated[str, typer.Option(help="Only rows of this batch.")] = "",
    document: Annotated[str | None, typer.Option(help="Only rows of this document, by its path.")] = None,
    verdict: Annotated[str, typer.Option(help="Verdict of the rows.")] = "accepted",
    seed: Annotated[str, typer.Option(help="Another one draws other rows.")] = "0",
    to: Annotated[Path | None, typer.Option(help="JSONL file to write the rows to.")] = None,
    as_json: Json = False,
) -> None:
    """Show a random sample of rows, spread over languages, types and documents.

    Write the label of a row into `rating` of the file that --to wrote: good (would train on it), thin (true,
    and teaches next to nothing) or bad, with a reason in `why`. `qa-pipeline eval raters` reads them.
    """
    with errors_as_exit_codes():
        check_exists(out, advice=RUN_FIRST)
        from qa_pipeline.cli.console import print_line, show
        from qa_pipeline.review.queue import Filters
        from qa_pipeline.review.sample import draw_rows
        from qa_pipeline.storage.files import write_bytes
        from qa_pipeline.storage.layout import Layout

        if to is not None and to.exists():
            raise InputError(f"{to}: --to names a new file")
        filters = Filters("all", batch, language, question_type, verdict)
        rows = draw_rows(Layout(out), count, filters, document, seed)
        if to is not None:
            write_bytes(to, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode())
            print_line(f"{to}: {len(rows)} rows to label")
        elif as_json:
            show({"rows": rows}, as_json=True)
        else:
            _print_rows(rows)


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    from qa_pipeline.cli.console import print_block, print_line
    from qa_pipeline.text.rendering import words

    for number, row in enumerate(rows, start=1):
        described = (row["language"], words(row["question_type"]), words(row["verdict"]))
        print_line(f"{number} of {len(rows)}, {', '.join(filter(None, described))}", "cyan")
        print_block(row["question"] or "(no question)", "bold")
        print_block(row["answer"] or "(no answer)")
        for statement in row["statements"]:
            where = " › ".join(filter(None, [row["batch"], statement["document"], statement["section"]]))
            page = f", page {statement['page']}" if statement["page"] else ""
            print_block(f"“{statement['quote']}”", "dim")
            print_block(f"{where}{page}", "dim")
        print_line("")
