"""Guides to plants, whose rows are many and of their documents alone."""

from qa_pipeline_tests.end_to_end import Ran, Workspace, invoke

SUBJECTS = ("boiler", "valve", "pump", "filter", "meter", "panel", "sensor", "switch", "drain", "cable")


def guide(name: str, subjects: tuple[str, ...] = SUBJECTS) -> str:
    parts = [
        f"## The {name} {one}\n\nA {name} {one} is a part that takes {n + 2} bar in the {name} plant.\n"
        for n, one in enumerate(subjects)
    ]
    return f"# Guide to the {name} plant\n\n" + "\n".join(parts)


NAMES = [f"p{letter}rt" for letter in "abcdefghijklmnop"]


def release(workspace: Workspace, *options: str) -> Ran:
    return invoke("release", "--out", workspace.out, *options)
