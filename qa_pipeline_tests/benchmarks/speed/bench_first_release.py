"""The first quarter of an hour: seconds from `git clone` to a reviewed release, step by step of the tutorial.

    python -m qa_pipeline_tests.benchmarks.speed.bench_first_release [--repository .]

Clones the repository as it is committed, installs it into an environment of its own, and runs the blocks of
docs/tutorial.md in the clone, as a reader would who types fast. Prints a JSON line for each section, and one
with the seconds in all, and to the release of the reader's own folder without the sections before it.
"""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now
from qa_pipeline_tests.support.page_blocks import blocks, missing_lines, run_block

OWN_FOLDER = "Your own folder"
_PASSED_ON = re.compile(r"PATH|HOME|LANG|PIP_\w+")
"""Variables of the environment that the installation sees."""


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--repository", type=Path, default=Path())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name, "qa_pipeline")
        seconds = {
            "git clone": _timed(["git", "clone", "-q", str(arguments.repository.resolve()), str(clone)]),
            "make install": _timed(["make", "-C", str(clone), "install"]),
        }
        for step, taken in seconds.items():
            print_json({"step": step, "seconds": taken, "load": load_now()})
        seconds |= _sections(clone)
    to_own = [seconds[step] for step in seconds if step.endswith(OWN_FOLDER) or not step[0].isdigit()]
    print_json(
        {"all": round(sum(seconds.values()), 1), "to_the_release_of_ones_own_folder": round(sum(to_own), 1)}
    )


def _timed(command: list[str]) -> float:
    environment = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return round(time.perf_counter() - start, 1)


def _sections(clone: Path) -> dict[str, float]:
    """Run the blocks of the tutorial; return the seconds of each section that has any."""
    page = (clone / "docs" / "tutorial.md").read_text(encoding="utf-8")
    seconds = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, printed, start = section.partition("\n")[0], "", time.perf_counter()
        run = [block for block in blocks(section) if not block[0]]
        for _, language, text in run:
            if language == "text":
                assert missing_lines(text, printed) == [], title
            else:
                printed = run_block(language, text, clone, clone / ".venv" / "bin" / "python")
        if run:
            seconds[title] = round(time.perf_counter() - start, 1)
            print_json({"step": title, "seconds": seconds[title], "load": load_now()})
    return seconds


if __name__ == "__main__":
    main()
