"""Results of runs and contents of output folders, on the screen or as JSON."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import polars as pl

from qa_pipeline.cli.console import print_block, print_line, show
from qa_pipeline.cli.exit_codes import FAILED, OK
from qa_pipeline.curation.batch_gates import VERDICT_WORDS
from qa_pipeline.curation.ledger import in_words
from qa_pipeline.pipeline.fingerprint import NO_ROWS, BatchOutcome
from qa_pipeline.pipeline.report import Report, report
from qa_pipeline.review.pair import PairView, draw_pairs
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import first_names, plural, words
from qa_pipeline.verification.deciding import SIMILARITY_ONLY

SAMPLES = 5
"""Accepted and other pairs that a run shows, each."""
_MOST_SEARCHED = 5
"""Batches in which a planted error is looked for."""
MOST_BATCHES = 20
"""Most batches on the screen. Batches that need a person come first."""
STYLES = {"failed": "red", "waiting": "yellow", "empty": "yellow", "succeeded": "green", "unchanged": "green"}


def show_outcomes(
    layout: Layout, outcomes: Sequence[BatchOutcome], *, as_json: bool, is_trial: bool = False
) -> int:
    """Print the result of a run and return its exit code: 1 if a batch failed or all rows are missing.

    A run whose pairs wait for people has succeeded.
    """
    summary = report(layout, [outcome.batch for outcome in outcomes])
    all_passed = all(outcome.passed for outcome in outcomes)
    # a batch that passed has no error, NO_ROWS, or the reason why its pairs wait; so has an unchanged batch
    is_any_waiting = any(outcome.passed and outcome.error not in (None, NO_ROWS) for outcome in outcomes)
    has_rows = _sum(summary, "examples") > 0
    code = OK if all_passed and (has_rows or is_any_waiting) else FAILED
    if as_json:
        results = [asdict(outcome) for outcome in outcomes]
        show(_document(summary, layout) | {"outcomes": results}, as_json=True)
        return code
    _show_samples(summary, layout, "Accepted", VERDICT_WORDS[:1])
    _show_samples(summary, layout, "Not accepted", VERDICT_WORDS[1:])
    _show_known_error(summary, layout)
    _show_sentences(summary, outcomes)
    if is_trial:
        print_line("Run the same command without --try to continue: stored replies cost nothing again.")
    else:
        _show_next_commands(summary, layout)
    _explain_no_rows(summary, layout)
    return code


def _show_samples(summary: Report, layout: Layout, title: str, verdicts: Sequence[str]) -> None:
    """Print a few pairs with these verdicts."""
    rows = summary.batches.to_dicts()
    counts = {row["batch"]: sum(row[verdict] for verdict in verdicts) for row in rows}  # pairs by batch
    batches = [batch for batch, count in counts.items() if count]
    if not batches:
        return
    pairs = draw_pairs(layout, batches[:SAMPLES], SAMPLES, verdicts)  # few batches: few tables to read
    print_line(f"{title}, {len(pairs)} of {sum(counts.values())}\n", "bold cyan")
    for pair in pairs:
        _show_pair(pair)


def _show_known_error(summary: Report, layout: Layout) -> None:
    """Print a rejected pair that the author of the corpus planted as wrong."""
    is_rejected = (pl.col("expected_verdict") == "rejected") & (pl.col("verdict") == "rejected")
    count = int(summary.known_answers.filter(is_rejected)["pairs"].sum())
    if not count:
        return
    batches = summary.batches["batch"].to_list()[:_MOST_SEARCHED]
    for pair in draw_pairs(layout, batches, 1, ["rejected"], planted=True):
        print_line(f"Known wrong pairs that were rejected, 1 of {count}\n", "bold cyan")
        _show_pair(pair)


def show_report(summary: Report, layout: Layout, *, as_json: bool) -> None:
    """Print the state of an output folder."""
    if as_json:
        show(_document(summary, layout), as_json=True)
        return
    _show_sentences(summary)
    _show_next_commands(summary, layout)
    _explain_no_rows(summary, layout)
    tables = {
        "Yield": summary.steps.with_columns(pl.col("what", "reason").fill_null("")),
        "Known-answer pairs": summary.known_answers,
        "Canaries: claims and pairs of known verdict": summary.canaries.select(
            "asks", "expected", "kind", "canaries", "rejected", "accepted"
        ),
        "Left out of the texts, by kind": summary.left_out,
        "Personal data found": summary.masked,
        "Files that were not read": summary.unread,
    }
    show(tables, as_json=False, all_rows=True)


def show_coverage(outcomes: pl.DataFrame, *, as_json: bool) -> None:
    """Print the sections without a row, and their reasons."""
    missing = outcomes.filter(accepted=0)
    by_reason = missing["reason"].value_counts(name="sections").sort("sections", "reason", descending=True)
    meaning = pl.col("reason").map_elements(in_words, pl.String, skip_nulls=True)
    section = pl.col("section_path").list.join(" › ").alias("section")
    screen = {
        "Sections without a row, by reason": by_reason.with_columns(meaning=meaning),
        "Sections without a row": missing.select("batch", "path", section, "reason"),
    }
    show({"by_reason": by_reason, "sections": outcomes}, as_json=as_json, screen=screen)


def _show_pair(view: PairView) -> None:
    """Print a pair with its verdict and the quotes that prove it."""
    verdict = view.verdict
    print_block(view.question or "(no question)", "bold")
    print_block(view.pair["answer"] or "(no answer)")
    if verdict["verdict"] != "accepted":
        print_block(f"{words(verdict['verdict'])}: {view.reason}", "yellow")
    quotes = [claim.evidence for claim in view.claims if claim.evidence]
    for quote in quotes:
        print_block(f"“{quote.text}”", "cyan")
        page = f", page {quote.page}" if quote.page else ""
        source = " › ".join(filter(None, [f"{verdict['batch']}/{quote.path}", quote.section]))
        print_block(source + page, "dim")
    print_line("")


def _show_sentences(summary: Report, outcomes: Sequence[BatchOutcome] = ()) -> None:
    """Print a sentence for each batch, batches that need a person first, then notes on all of them."""
    sentences = _batch_sentences(summary, outcomes)
    for state, text in sentences[:MOST_BATCHES]:
        print_line(text, STYLES[state])
    for state, count in Counter(state for state, _ in sentences[MOST_BATCHES:]).items():
        print_line(f"and {count} more {state}", STYLES[state])
    for (reason,), files in summary.unread.group_by("reason", maintain_order=True):
        paths = [f"{row['batch']}/{row['path']}" for row in files.to_dicts()]
        problem = f"reason: {in_words(str(reason))} ({first_names(paths)})"
        print_line(f"{plural(files.height, 'file')} not read; {problem}", "yellow")
    unjudged, unproved = _sum(summary, "accepted_not_judged"), _sum(summary, "accepted_unproved")
    if unjudged:
        print_line(
            f"Accepted, not judged: {unjudged}. Each sentence is verified against its source; no model "
            "judged relevance and completeness. Choose a judge with --provider or llm.judge.provider",
            "yellow",
        )
    if unproved:
        print_line(f"Accepted by similarity alone: {unproved}. {SIMILARITY_ONLY}", "yellow")
    if summary.decisions:
        names = {"stale": "outdated, since their pair changed or is gone", "taken_back": "undone"}
        states = [f"{count} {names.get(state, state)}" for state, count in sorted(summary.decisions.items())]
        print_line(f"Decisions of people: {', '.join(states)}")
    cost = summary.cost
    if cost.calls:
        money = "" if cost.cost is None else f", {cost.cost:.2f} {cost.currency}"
        print_line(f"Model calls: {cost.calls:,}, {cost.tokens:,} tokens{money}")
        for note in cost.notes():
            print_line(note)


def _batch_sentences(summary: Report, outcomes: Sequence[BatchOutcome]) -> list[tuple[str, str]]:
    """Return state and text of each batch, of a run or, without `outcomes`, as stored.

    A state is a key of `STYLES`, whose order they follow, and a text may have several lines.
    """
    rows = {row["batch"]: row for row in summary.batches.iter_rows(named=True)}
    sentences: list[tuple[str, str]] = []
    for outcome in outcomes:
        contents = _counts_in_words(rows[outcome.batch]) if outcome.batch in rows else None
        result = "; ".join(filter(None, [outcome.error, contents]))
        lines = [f"{outcome.batch} {outcome.outcome}: {result}", *outcome.failed_gates]
        sentences.append((outcome.outcome, "\n  ".join(lines)))
    if not outcomes:
        sentences += [("failed", f"{batch}: {why}") for batch, why in summary.incomplete.items()]
        for batch, tombstone in summary.withdrawn.items():
            of_pairs = f" of {plural(rows[batch]['pairs'], 'pair')}" if batch in rows else ""
            reason = tombstone.message()
            sentences.append(("failed", f"{batch}: 0 rows{of_pairs}, withdrawn: {reason}"))
        for batch, row in rows.items():
            if batch not in summary.withdrawn:
                state = "succeeded" if row["examples"] else "empty"
                sentences.append((state, f"{batch}: {_counts_in_words(row)}"))
    urgency = {state: index for index, state in enumerate(STYLES)}
    return sorted(sentences, key=lambda state_and_text: urgency[state_and_text[0]])


def _counts_in_words(row: Mapping[str, Any]) -> str:
    """Return a row of `Report.batches` in words: "2 rows of 3 pairs (2 accepted, 1 rejected), …"."""
    verdicts = ", ".join(f"{row[verdict]} {words(verdict)}" for verdict in VERDICT_WORDS if row[verdict])
    rates = {"pass rate": row["pass_rate"], "average score": row["average_score"]}
    parts = [
        f"{plural(row['examples'], 'row')} of {plural(row['pairs'], 'pair')} ({verdicts or 'none asked'})",
        *(f"{name} {rate:.2f}" for name, rate in rates.items() if rate is not None),
        f"{row['parsed']} of {plural(row['documents'], 'document')} read",
        f"{row['covered']} of {plural(row['sections'], 'section')} with an accepted pair",
    ]
    if row["needs_review"]:
        parts.append(f"{plural(row['needs_review'], 'pair')} for a person to decide")
    return ", ".join(parts)


def _show_next_commands(summary: Report, layout: Layout) -> None:
    """Print the next commands for this output folder."""
    out = f"--out {shlex.quote(str(layout.out))}"
    review, uncovered = _sum(summary, "needs_review"), _sum(summary, "sections") - _sum(summary, "covered")
    commands: dict[str, str] = {}  # purpose by command
    if _sum(summary, "examples"):
        commands[f"qa-pipeline release {out}"] = "publish accepted rows for training"
    if review:
        commands[f"qa-pipeline review {out}"] = f"decide {plural(review, 'pair')}"
    if uncovered:
        sections = plural(uncovered, "section")
        commands[f"qa-pipeline status --coverage {out}"] = f"see why {sections} gave no accepted pair"
    commands[f"qa-pipeline status {out}"] = "see all counts"
    print_line("\nNext", "bold cyan")
    for command, purpose in commands.items():
        print_line(f"  {command:<{max(map(len, commands))}}  # {purpose}")


def _explain_no_rows(summary: Report, layout: Layout) -> None:
    """Print the reason and the remedy for batches without a row."""
    if _sum(summary, "examples"):
        return
    out = f"--out {shlex.quote(str(layout.out))}"
    if summary.incomplete:
        why = f"{first_names(list(summary.incomplete))} stopped early; fix the problem above and run again"
    elif summary.withdrawn:  # their examples are deleted
        why = f"the batches are withdrawn, often by a gate; qa-pipeline status {out} names the reason"
    else:
        has_pairs = _sum(summary, "pairs") > 0
        to_decide = f"decide the pairs with qa-pipeline review {out}, or use a larger model"
        advice = to_decide if has_pairs else "name a model with --provider, which asks more than rules"
        losses = summary.steps.drop_nulls("reason")  # a row per stage, state and reason; stages in order
        at_last_stage = losses.filter(pl.col("stage") == pl.col("stage").last())
        most_first = at_last_stage.sort("count", descending=True, maintain_order=True).to_dicts()
        reasons = [f"{in_words(row['reason'])} ({row['count']})" for row in most_first[:3]]
        why = f"{'; '.join(reasons) or 'the documents have no text to ask about'}; {advice}"
    print_line(f"\n0 rows: {why}", "yellow")


def _sum(summary: Report, column: str) -> int:
    return int(summary.batches[column].sum()) if summary.batches.height else 0


def _document(summary: Report, layout: Layout) -> dict[str, Any]:
    """Return the report as values for JSON."""
    values = {field.name: getattr(summary, field.name) for field in fields(summary)}
    steps = values.pop("steps")
    return {
        "out": str(layout.out),
        "yield": steps,
        **values,
        "withdrawn": {batch: tombstone.model_dump() for batch, tombstone in summary.withdrawn.items()},
        "cost": summary.cost.document(),
    }
