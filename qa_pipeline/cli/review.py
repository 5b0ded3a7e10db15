"""Commands that look at pairs and record decisions: status, show, review and decide."""

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.console import print_line
from qa_pipeline.cli.console import show as show_result
from qa_pipeline.cli.exit_codes import FAILED, GRACE_SECONDS, OK
from qa_pipeline.cli.options import RUN_FIRST, Json, OnlyBatch, Out, check_exists
from qa_pipeline.errors import InputError
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout

if TYPE_CHECKING:
    from qa_pipeline.review.decision_files import ReadFile


def status(
    out: Out = Path("data"),
    coverage: Annotated[bool, typer.Option("--coverage", help="Show why sections have no row.")] = False,
    as_json: Json = False,
) -> None:
    """Show the state of each batch and the next commands."""
    check_exists(out, advice=RUN_FIRST)
    from qa_pipeline.cli.report import show_coverage, show_report
    from qa_pipeline.pipeline.report import finished_batches, read_outcomes, report

    layout = Layout(out)
    if coverage:
        show_coverage(read_outcomes(layout), as_json=as_json)
        return
    summary = report(layout, finished_batches(layout))
    if not (summary.batches.height or summary.incomplete or summary.withdrawn):
        raise InputError(f"{out} has no tables; run qa-pipeline run CORPUS --out {out} first")
    show_report(summary, layout, as_json=as_json)


def show(
    document: Annotated[str, typer.Argument(help="Its path or id; BATCH/PATH if needed.")],
    out: Out = Path("data"),
    as_json: Json = False,
) -> None:
    """Show the text of a document as it was read."""
    check_exists(out, advice=RUN_FIRST)
    from qa_pipeline.review.source import find_by_name, split_at_borders

    row, chunks = find_by_name(Layout(out), document)
    if as_json:
        show_result({"document": row, "chunks": chunks}, as_json=True)
        return
    long_fields = ("text", "sections", "pages", "declared")
    facts = {name: value for name, value in row.items() if name not in long_fields and value}
    show_result(facts, as_json=False)
    for kind, text in split_at_borders(row, chunks):
        if text.strip():
            print_line(text.strip("\n") if kind == "text" else f"─── {text}")


def review(
    out: Out = Path("data"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 8787,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    who: Annotated[
        str | None, typer.Option(help="Name on your decisions.", show_default="your login name")
    ] = None,
) -> None:
    """Start a web app for reviewing pairs next to their sources.

    The printed address signs in everyone who opens it. With review.user_header a proxy names users instead.
    """
    import uvicorn

    from qa_pipeline.review.app import Access
    from qa_pipeline.review.server import build_app, check_reachable, listen

    settings = load_settings(out=out)  # also makes new files private
    url = settings.review.url
    name = who or getpass.getuser()
    if not name.isprintable() or len(name) > 200:
        raise InputError("--who must be a name of at most 200 characters")
    if warning := check_reachable(host, url):
        sys.stderr.write(f"{warning}\n")
    access = Access(name, settings.review.user_header)
    socket = listen(host, port)
    shown_host = f"[{host}]" if ":" in host else host  # IPv6 needs brackets
    _, actual_port, *_ = socket.getsockname()  # differs from `port` if that is 0
    address = url or f"http://{shown_host}:{actual_port}"
    if access.user_header is None:
        address += f"/enter?token={access.token}"
    sys.stdout.write(f"Review {out} at {address}\nCtrl-C stops the server.\n")
    sys.stdout.flush()
    config = uvicorn.Config(
        build_app(Layout(out), access, settings, host),
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # only review.url says how people reach the server
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS - 2,  # before the process is ended
    )
    uvicorn.Server(config).run(sockets=[socket])


def decide(
    file: Annotated[
        Path | None, typer.Argument(help="CSV or JSONL with a decision per line, as --template writes it.")
    ] = None,
    out: Out = Path("data"),
    template: Annotated[
        Path | None, typer.Option(help="Write the undecided pairs to this new .csv or .jsonl file.")
    ] = None,
    accepted: Annotated[
        bool, typer.Option("--accepted", help="Write the accepted pairs to the template too.")
    ] = False,
    batch: OnlyBatch = None,
) -> None:
    """Record people's decisions on pairs.

    Start with --template: it writes the pairs that need review, with claims and evidence. Fill in decision
    and who (and edited_answer, why, decided_at), then record the file. The next run applies the decisions.
    They stay valid while question, answer and evidence are unchanged.
    """
    check_exists(out, advice=RUN_FIRST)
    load_settings(out=out)  # also makes new files private
    if template is not None and file is None:
        _write_template(Layout(out), template, batch, with_accepted=accepted)
        return
    if file is None or template is not None:
        raise InputError("give a FILE of decisions, or --template FILE to create one")
    if batch or accepted:
        raise InputError("--batch and --accepted can only be used with --template")
    check_exists(file)
    from qa_pipeline.review.decision_files import read_decision_file

    raise typer.Exit(_record(Layout(out), file, read_decision_file(file)))


def _write_template(layout: Layout, path: Path, batches: list[str] | None, *, with_accepted: bool) -> None:
    """Write undecided pairs, and on request accepted pairs, to a new file."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise InputError(f"{path.name}: a template must end in .csv or .jsonl")
    if path.exists():
        raise InputError(f"{path} exists and may contain decisions; choose another name")
    from qa_pipeline.review.decision_files import template_bytes, template_rows
    from qa_pipeline.storage.tables import VERDICTS

    batches = batches or [table.stem for table in layout.tables(VERDICTS.name)]
    verdicts = ["needs_review", "accepted"] if with_accepted else ["needs_review"]
    rows = list(template_rows(layout, batches, verdicts))
    write_bytes(path, template_bytes(rows, suffix))
    sys.stdout.write(f"Pairs in {path}: {len(rows)}\n")


def _record(layout: Layout, path: Path, read: "ReadFile") -> int:
    """Record the decisions of a file and return the exit code."""
    from qa_pipeline.review.decisions import take_decisions

    taken = take_decisions(layout, read)
    for line, problem in taken.problems.items():
        sys.stderr.write(f"{path.name} {read.unit} {line}: {problem}\n")
    for name, count in taken.recorded.items():
        sys.stdout.write(f"{name}: {count} recorded in {layout.decisions(name)}\n")
    counts = {
        "recorded": taken.recorded.total(),
        "refused": len(taken.problems),
        "recorded before": taken.already_recorded,
        "without a decision": read.blank,
    }
    sys.stdout.write(", ".join(f"{count} {name}" for name, count in counts.items()) + "\n")
    if taken.recorded:
        sys.stdout.write(f"Run the batches again to apply them: qa-pipeline run CORPUS --out {layout.out}\n")
    return FAILED if taken.problems else OK
