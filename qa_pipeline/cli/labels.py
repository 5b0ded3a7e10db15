"""`qa-pipeline labels`: files that people label, to Label Studio or Argilla and back."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from qa_pipeline.cli.exit_codes import errors_as_exit_codes
from qa_pipeline.errors import InputError

labels = typer.Typer(
    name="labels",
    no_args_is_help=True,
    help="Have files labelled in Label Studio or Argilla, and take the labels back.",
)
Drawn = Annotated[
    Path,
    typer.Argument(
        help="JSON lines of decide --template, sample, eval sheet or audit sample.", metavar="FILE"
    ),
]


@labels.command("export")
def export_tasks(
    file: Drawn,
    tool: Annotated[Literal["label-studio", "argilla"], typer.Option(help="Where people label.")],
    to: Annotated[Path, typer.Option(help="New folder for tasks and the page to label them on.")],
) -> None:
    """Write the rows of a file as tasks, without labels, verdicts and scores.

    Label Studio: config.xml is the labelling interface of a project, tasks.json is imported into it. Argilla:
    argilla.Dataset.from_disk reads the folder.
    """
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.review.labelling_tools import read_label_file, tool_files
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.files import write_bytes
    from qa_pipeline.text.rendering import plural

    with errors_as_exit_codes():
        load_settings()  # files are private unless a setting says otherwise
        if to.exists():
            raise InputError(f"{to} exists; name a new folder with --to")
        read = read_label_file(file)
        for name, content in tool_files(read, tool).items():
            write_bytes(to / name, content)
        print_line(f"{to}: {plural(len(read.items()), 'task')} for {tool}")


@labels.command("import")
def import_labels(
    file: Drawn,
    exports: Annotated[
        list[Path], typer.Argument(help="JSON exports of Label Studio, or records.json of Argilla.")
    ],
    to: Annotated[Path, typer.Option(help="New file for the rows with their labels, .jsonl.")],
    person: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=NAME", help="Name of a person by the tool's id; repeatable."),
    ] = None,
) -> None:
    """Write the rows of a file with the labels that people gave in Label Studio or Argilla.

    The result is read by the command that reads the file: decide, sample, eval annotators or audit certify.
    Further labels of an item are further rows.
    """
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.review.labelling_tools import read_label_file, read_labels, with_labels
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.files import write_bytes
    from qa_pipeline.text.rendering import plural

    with errors_as_exit_codes():
        load_settings()
        if to.exists():
            raise InputError(f"{to} exists, and may hold labels; name another file with --to")
        read = read_label_file(file)
        new = [label for path in exports for label in read_labels(path, read, _people(person or []))]
        rows = with_labels(read, new)
        write_bytes(to, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode())
        people = len({label.who for label in new})
        print_line(f"{to}: {plural(len(new), 'label')} of {people} {'person' if people == 1 else 'people'}")


def _people(assignments: list[str]) -> dict[str, str]:
    people = {}
    for text in assignments:
        tool_id, sign, name = text.partition("=")
        if not (tool_id and sign and name.strip()):
            raise InputError(f"--person {text}: give the id in the tool and a name, such as 3=Ada")
        people[tool_id] = name.strip()
    return people
