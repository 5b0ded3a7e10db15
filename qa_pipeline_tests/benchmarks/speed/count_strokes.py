"""Keys and clicks for reviewing pairs: in the review app by keys alone and by mouse alone, and in a CSV file.

    python -m qa_pipeline_tests.benchmarks.speed.count_strokes OUT [--pairs 20]

OUT is an output folder with pairs that wait; copies of it are reviewed in Chromium against a server process.
Of ten pairs six are accepted, three rejected for a reason (one of five in turn) and one edited to its
evidence; a pair without evidence is rejected. Chromium counts what happens to its pages, from the first page
of the queue on: `keys` are all but the `letters` of edited answers, `clicks` are presses of the mouse button.

The CSV file is counted by rule for the same decisions, in favour of the spreadsheet, from its first cell on.
It completes a word of a column from the fewest letters that tell it from others there (`completed`), or does
not (`written`). Tab, Enter, arrows and keys that are held, such as Ctrl, are a key each; a name is written
once and filled down; Ctrl+S and Enter save. Reading counts nowhere, though the app has the document open at
the evidence and the spreadsheet has none. `letters` and those of the commands are counted apart.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.review.decision_files import REJECTIONS, TEMPLATE, undecided
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import VERDICTS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.support.review_server import review_server
from qa_pipeline_tests.system.browser import chromium, person

REASONS = 5
"""The first reasons of the list, which people give in turn."""
COUNTER = """(() => {
  const add = (name) => sessionStorage.setItem(name, Number(sessionStorage.getItem(name) ?? 0) + 1);
  addEventListener("pointerdown", (event) => { if (event.isTrusted) add("clicks"); }, true);
  addEventListener("keydown", (event) => {
    if (!event.isTrusted) return;
    const writes = event.target.closest?.("input, textarea") && event.key.length === 1;
    if (!writes || event.ctrlKey) add("keys");
  }, true);
})()"""
COMMANDS = {
    "app": ["qa-pipeline review --out mydata --open"],
    "csv": ["qa-pipeline decide --template w.csv --out mydata", "qa-pipeline decide w.csv --out mydata"],
}


@dataclass(frozen=True)
class Decision:
    """What is decided of a pair: the number of a reason where it is rejected, the text where it is edited."""

    name: str
    reason: int = 0
    answer: str = ""


def planned(place: int, row: dict[str, Any]) -> Decision:
    """The decision about the pair of a place in the queue."""
    has_evidence = ". none" not in row["evidence"] and row["evidence"]
    turn = place % 10
    if turn in (2, 5, 8) or not has_evidence:
        return Decision("rejected", place % REASONS + 1)
    return (
        Decision("edited", answer=row["evidence"].splitlines()[0][3:]) if turn == 6 else Decision("accepted")
    )


Way = Callable[[Page, Decision], None]


def by_keys(page: Page, decision: Decision) -> None:
    """Decide about the pair of a page without the mouse."""
    if decision.name == "edited":
        for key in ("e", "Tab", "Control+a"):
            page.keyboard.press(key)
        page.keyboard.type(decision.answer)
        page.keyboard.press("Escape")
        with page.expect_navigation():
            page.keyboard.press("v")
    with page.expect_navigation():
        page.keyboard.press(str(decision.reason) if decision.reason else "a")


def by_mouse(page: Page, decision: Decision) -> None:
    """Decide about the pair of a page without keys, but for the letters of an edit."""
    if decision.name == "edited":
        page.locator("#edit summary").click()
        page.locator("[name=edited_answer]").click(click_count=3)
        page.keyboard.type(decision.answer)
        with page.expect_navigation():
            page.get_by_role("button", name="Verify the edit").click()
    if decision.reason:
        page.locator("#reasons summary").click()
    button = (
        f"#reasons button[data-key='{decision.reason}']" if decision.reason else "#decide button[data-key=a]"
    )
    with page.expect_navigation():
        page.locator(button).click()


def first_pair_by_keys(page: Page) -> None:
    """Go to the first pair of the queue with the key of the next pair."""
    with page.expect_navigation():
        page.keyboard.press("n")


def first_pair_by_mouse(page: Page) -> None:
    """Go to the first pair of the queue with a click."""
    with page.expect_navigation():
        page.locator("ol.pairs a").first.click()


def recorded(out: Path) -> Counter[str]:
    """How often which decision is recorded in an output folder."""
    return Counter(name for path in out.glob("decisions/*") for name in read_decisions(path)["decision"])


def strokes(
    browser: Browser,
    out: Path,
    rows: dict[str, dict[str, Any]],
    pairs: int,
    start: Callable[[Page], None],
    way: Way,
) -> tuple[dict[str, int], list[Decision]]:
    """What is pressed to review the first pairs of the queue of an output folder, and the decisions."""
    decisions: list[Decision] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(out, Path(folder) / "out"))
        with review_server(copy) as server, person(browser, server.address) as page:
            page.add_init_script(COUNTER)
            page.goto(server.base)
            page.wait_for_load_state()
            start(page)
            while len(decisions) < pairs:
                page.wait_for_load_state()
                decisions.append(planned(len(decisions), rows[page.url.split("?")[0].rpartition("/")[2]]))
                way(page, decisions[-1])
            counts = {name: int(page.evaluate(f"sessionStorage.{name} ?? 0")) for name in ("keys", "clicks")}
        new = recorded(copy) - recorded(out)
    assert new == Counter(decision.name for decision in decisions), new
    return counts, decisions


def completed(words: Sequence[str]) -> int:
    """Letters to write in a column where words that stand above are completed as soon as no other fits."""
    letters, above = 0, set[str]()
    for word in words:
        others = above - {word}
        fewest = next(n for n in range(1, len(word) + 1) if not any(o.startswith(word[:n]) for o in others))
        letters += fewest if word in above else len(word)
        above.add(word)
    return letters


def csv_strokes(decisions: Sequence[Decision], who: str) -> dict[str, int]:
    """Count keys of the same decisions in a spreadsheet, by the rules above."""
    reasons = [list(REJECTIONS)[decision.reason - 1] for decision in decisions if decision.reason]
    words = [decision.name for decision in decisions]
    column = TEMPLATE.index
    to_first = 1 + column("decision")  # Down and Right from the first cell
    keys = to_first + len(decisions)  # Enter in each row, which goes back to the column in which Tab began
    keys += sum((column("why") - column("decision")) for decision in decisions if decision.reason)
    keys += sum((column("edited_answer") - column("decision")) for decision in decisions if decision.answer)
    # Ctrl+Home, to the name, Enter, Up, Shift with Down for each further row, Ctrl+D; Ctrl+S, Enter
    keys += 2 + 1 + column("who") + 2 + 1 + len(decisions) - 1 + 2 + 3
    names = len(who)
    return {
        "completed": keys + completed(words) + completed(reasons) + names,
        "written": keys + sum(map(len, words)) + sum(map(len, reasons)) + names,
    }


def main() -> None:
    """Print one JSON line."""
    parser = parser_of(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=20)
    arguments = parser.parse_args()
    layout = Layout(arguments.out)
    batches = [path.stem for path in layout.tables(VERDICTS.name)]
    rows = {row["pair_id"]: row for row in undecided(layout, batches)}
    with chromium() as browser:
        keys, decisions = strokes(browser, arguments.out, rows, arguments.pairs, first_pair_by_keys, by_keys)
        mouse, others = strokes(browser, arguments.out, rows, arguments.pairs, first_pair_by_mouse, by_mouse)
    assert decisions == others
    print_json(
        {
            "pairs": len(decisions),
            "decisions": Counter(decision.name for decision in decisions),
            "app_by_keys": keys,
            "app_by_mouse": mouse,
            "letters": sum(len(decision.answer) for decision in decisions),
            "csv_keys": csv_strokes(decisions, "Ada"),
            "command_letters": {way: sum(len(line) + 1 for line in lines) for way, lines in COMMANDS.items()},
        }
    )


if __name__ == "__main__":
    main()
