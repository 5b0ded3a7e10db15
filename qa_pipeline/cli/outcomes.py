"""Screens for finished runs and output folders: pairs, a sentence for each batch, next commands."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import polars as pl

from qa_pipeline.cli.console import print_block, print_line, show
from qa_pipeline.cli.exit_codes import FAILED, OK
from qa_pipeline.curation.batch_gates import VERDICT_WORDS
from qa_pipeline.curation.coverage import count_outcomes
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.curation.withdrawals import Tombstone
from qa_pipeline.pipeline.outcomes import NO_ROWS, WARNING, BatchOutcome
from qa_pipeline.pipeline.report import Report, read_tables, report
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import first_names, plural, words
from qa_pipeline.verification.deciding import SIMILARITY_ONLY

SAMPLES = 5
"""Pairs of either kind that a run shows: few enough to be read each time."""
MOST_BATCHES = 20
"""Maximum number of batches shown on the screen; batches that need a person come first."""
STYLES = {"failed": "red", "waiting": "yellow", "empty": "yellow", "succeeded": "green", "unchanged": "green"}


def show_outcomes(
    layout: Layout, outcomes: Sequence[BatchOutcome], *, as_json: bool, in_dagster: bool = False
) -> int:
    """Print the result of a run and return its exit code: 1 if a batch failed or the run gave no row.

    Pairs that wait for people are no failure: the next step is theirs.
    """
    summary = report(layout, [outcome.batch for outcome in outcomes])
    is_waiting = any(
        outcome.outcome in ("waiting", "unchanged") and outcome.error not in (None, NO_ROWS)
        for outcome in outcomes
    )
    has_failed = not all(outcome.passed for outcome in outcomes)
    code = FAILED if has_failed or not (_sum(summary, "examples") or is_waiting) else OK
    if as_json:
        document = _document(summary, layout)
        show({**document, "outcomes": [asdict(outcome) for outcome in outcomes]}, as_json=True)
        return code
    for title, is_wanted in {"Accepted": True, "Not accepted": False}.items():
        columns = [word for word in VERDICT_WORDS if (word == "accepted") == is_wanted]
        if count := sum(_sum(summary, column) for column in columns):
            pairs = _sample(layout, summary.batches["batch"].to_list(), accepted=is_wanted)
            of_all = "" if len(pairs) == count else f" of {count}"
            print_line(f"{title}, {len(pairs)}{of_all}\n", "bold cyan")
            for pair in pairs:
                show_pair(pair)
    _show_sentences(summary, layout, outcomes)
    _show_next_commands(summary, layout, has_run=True, in_dagster=in_dagster)
    return code


def show_report(summary: Report, layout: Layout, *, as_json: bool) -> None:
    """Print the state of an output folder."""
    if as_json:
        show(_document(summary, layout), as_json=True)
        return
    _show_sentences(summary, layout)
    _show_next_commands(summary, layout)
    is_first = pl.col("stage").ne_missing(pl.col("stage").shift())
    first = pl.when(is_first).then("stage").fill_null("")
    tables = {
        "Yield": summary.steps.with_columns(first, pl.col("what", "reason").fill_null("")),
        "Known-answer pairs": summary.known_answers,
        "Canaries: claims and pairs of known verdict": summary.canaries.select(
            "asks", "expected", "kind", "canaries", "rejected", "accepted"
        ),
        "Left out of the texts, by kind": summary.left_out,
        "Personal data found": summary.masked,
        "Files that were not read": summary.unread,
    }
    show(tables, as_json=False, every=True)


def show_coverage(outcomes: pl.DataFrame, *, as_json: bool) -> None:
    """Print why sections gave no row, the yield of each format, and the first such sections."""
    by_reason = count_outcomes(outcomes, "reason").select("reason", "sections", "documents")
    by_format = count_outcomes(outcomes, "format")
    meaning = pl.col("reason").map_elements(in_words, pl.String, skip_nulls=True)
    section = pl.col("section_path").list.join(" › ").str.head(60)
    empty = outcomes.filter(pl.col("accepted") == 0).select(
        "batch", "path", section.alias("section"), "reason"
    )
    screen = {
        "Sections that gave no row, by reason": by_reason.drop_nulls("reason").with_columns(meaning=meaning),
        "By format": by_format,
        "Sections that gave none": empty,
    }
    document = {"by_reason": by_reason, "by_format": by_format, "sections": outcomes}
    show(document, as_json=as_json, screen=screen)


def shown_pairs(layout: Layout, batch: str) -> pl.DataFrame:
    """Return the pairs of a batch but known-answer ones, each with its verdict, its quote and its place."""
    tables = read_tables(layout, batch)
    verdicts = tables["verdicts"].filter(pl.col("expected_verdict").is_null())
    evidence = pl.col("evidence_chunk_id", "evidence_quote").drop_nulls().first()
    proofs = tables["claims"].sort("position").group_by("pair_id").agg(evidence)
    passages = tables["chunks"].select("chunk_id", "document_id", "section_path", "page_first")
    places = passages.join(tables["documents"].select("document_id", "path"), on="document_id")
    used, retrieved = pl.col("used_chunk_ids").list.first(), pl.col("passage_ids").list.first()
    return (
        tables["pairs"]
        .select("pair_id", "batch", "question", "answer", "used_chunk_ids", "passage_ids")
        .join(verdicts.select("pair_id", "verdict", "reason", "detail"), on="pair_id")
        .join(proofs, on="pair_id", how="left", maintain_order="left")
        .with_columns(chunk_id=pl.coalesce("evidence_chunk_id", used, retrieved))
        .join(places, on="chunk_id", how="left", maintain_order="left")
        .drop("used_chunk_ids", "passage_ids", "evidence_chunk_id")
        .rename({"evidence_quote": "quote"})
    )


def show_pair(pair: Mapping[str, Any]) -> None:
    """Print a pair beside its source."""
    print_block(pair["question"] or "(no question)", "bold")
    print_block(pair["answer"] or "(no answer)")
    if pair["verdict"] != "accepted":
        print_block(f"{words(pair['verdict'])}: {in_words(pair['reason'], pair['detail'])}", "yellow")
    if pair["quote"]:
        print_block(f"“{pair['quote']}”", "cyan")
    page = "" if pair["page_first"] is None else f", page {pair['page_first']}"
    source = " › ".join([f"{pair['batch']}/{pair['path'] or ''}", *(pair["section_path"] or ())])
    print_block(source + page, "dim")
    print_line("")


def _sample(layout: Layout, batches: Sequence[str], *, accepted: bool) -> list[dict[str, Any]]:
    """Return some pairs, the same each time, of several batches, and in each of several files or reasons."""
    order = pl.int_range(pl.len()).over("path" if accepted else "reason")
    drawn = [
        shown_pairs(layout, batch)
        .filter((pl.col("verdict") == "accepted") == accepted)
        .sort(order, maintain_order=True)
        .head(SAMPLES)
        .with_columns(turn=pl.int_range(pl.len()))
        for batch in batches[:SAMPLES]
    ]
    return pl.concat(drawn).sort("turn", maintain_order=True).head(SAMPLES).to_dicts()


def _show_sentences(summary: Report, layout: Layout, outcomes: Sequence[BatchOutcome] = ()) -> None:
    """Print a sentence for each batch, batches that need a person first, then remarks about all of them."""
    rows = {row["batch"]: row for row in summary.batches.iter_rows(named=True)}
    sentences = [_outcome_sentence(outcome, rows.get(outcome.batch)) for outcome in outcomes]
    if not outcomes:
        blocked = {batch: _blocked(stone, rows.get(batch)) for batch, stone in summary.withdrawn.items()}
        held = {batch: _holds(row) for batch, row in rows.items() if batch not in blocked}
        problems = {**summary.incomplete, **blocked}
        sentences = [("failed", f"{batch}: {why}") for batch, why in problems.items()]
        sentences += [
            ("succeeded" if rows[batch]["examples"] else "empty", f"{batch}: {text}")
            for batch, text in held.items()
        ]
    sentences.sort(key=lambda sentence: list(STYLES).index(sentence[0]))
    for state, text in sentences[:MOST_BATCHES]:
        print_line(text, STYLES[state])
    rest = Counter(state for state, _ in sentences[MOST_BATCHES:])
    for state, count in rest.items():
        print_line(f"and {count} more {state}", STYLES[state])
    for (reason,), files in summary.unread.group_by("reason", maintain_order=True):
        paths = files.select(pl.concat_str("batch", pl.lit("/"), "path")).to_series().to_list()
        problem = f"not read, {in_words(str(reason))}: {first_names(paths)}"
        print_line(f"{plural(files.height, 'file')} {problem}", "yellow")
    if count := _sum(summary, "accepted_not_judged"):
        print_line(
            f"Accepted, not judged: {count}. Each sentence is verified against its source; no model judged "
            "relevance and completeness. Name one with --provider or llm.judge.provider",
            "yellow",
        )
    if count := _sum(summary, "accepted_unproved"):
        print_line(f"Accepted by similarity alone: {count}. {SIMILARITY_ONLY}", "yellow")
    if summary.decisions:
        states = ", ".join(f"{count} {state}" for state, count in sorted(summary.decisions.items()))
        print_line(f"Decisions of people: {states}")
    if (cost := summary.cost).calls:
        money = "" if cost.cost is None else f", {cost.cost:.2f} {cost.currency}"
        print_line(f"Model calls: {cost.calls:,}, {cost.tokens:,} tokens{money}")
        for line in cost.message():
            print_line(line)


def _outcome_sentence(outcome: BatchOutcome, row: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the state and the result of a batch that ran."""
    gates = [gate for gate in outcome.failed_gates if not gate.startswith(WARNING)]
    warnings = plural(len(outcome.failed_gates) - len(gates), "warning")
    parts = [outcome.error, _holds(row) if row else None, None if warnings[0] == "0" else warnings]
    lines = [f"{outcome.batch} {outcome.outcome}: {'; '.join(filter(None, parts))}", *gates]
    return outcome.outcome, "\n  ".join(lines)


def _blocked(stone: Tombstone, row: Mapping[str, Any] | None) -> str:
    pairs = f" of {plural(row['pairs'], 'pair')}" if row else ""
    return f"0 rows{pairs}, withdrawn since {stone.since}: {stone.message()}"


def _holds(row: Mapping[str, Any]) -> str:
    """Return the contents of a batch and the work that waits in it."""
    verdicts = ", ".join(f"{row[word]} {words(word)}" for word in VERDICT_WORDS if row[word])
    rates = {"pass rate": row["pass_rate"], "average score": row["average_score"]}
    parts = [
        f"{plural(row['examples'], 'row')} of {plural(row['pairs'], 'pair')} ({verdicts or 'none asked'})",
        *(f"{name} {rate:.2f}" for name, rate in rates.items() if rate is not None),
        f"{row['parsed']} of {plural(row['documents'], 'document')} read",
        f"{row['covered']} of {plural(row['sections'], 'section')} with an accepted pair",
    ]
    if count := row["needs_review"]:
        parts.append(f"{plural(count, 'pair')} for a person to decide")
    return ", ".join(parts)


def _show_next_commands(
    summary: Report, layout: Layout, *, has_run: bool = False, in_dagster: bool = False
) -> None:
    """Print the commands that come next, with this output folder; without a row, why there is none."""
    out = f"--out {shlex.quote(str(layout.out))}"
    examples, review = _sum(summary, "examples"), _sum(summary, "needs_review")
    uncovered = _sum(summary, "sections") - _sum(summary, "covered")
    commands = {}
    if examples:
        commands[f"qa-pipeline release {out}"] = "the accepted rows for training, in splits"
    if review:
        commands[f"qa-pipeline review {out}"] = f"{plural(review, 'pair')} for a person to decide"
    if uncovered:
        commands[f"qa-pipeline status --coverage {out}"] = (
            f"why {plural(uncovered, 'section')} gave no accepted pair"
        )
    if has_run:
        commands[f"qa-pipeline status {out}"] = "all counts"
    if in_dagster:
        commands["make ui"] = "the same in Dagster, at http://127.0.0.1:3000"
    if commands:
        print_line("\nNext", "bold cyan")
    for command, purpose in commands.items():
        print_line(f"  {command:<{max(map(len, commands))}}  # {purpose}")
    if not examples:
        print_line(f"\n0 rows: {_why_nothing(summary, out)}", "yellow")


def _why_nothing(summary: Report, out: str) -> str:
    """Return the reason why batches gave no row, and the remedy."""
    if summary.incomplete:
        return f"{first_names(list(summary.incomplete))} stopped early; mend what is said above, run again"
    if summary.withdrawn:
        return f"a gate blocks them; qa-pipeline status {out} names it"
    for stage, advice in (
        (
            "verdicts",
            f"qa-pipeline review {out} shows each pair beside its source; a larger model does better",
        ),
        ("questions", "Rules ask only what is plainly stated; a model asks more: --provider"),
        ("documents", "docs/documents.md lists the formats that are read"),
    ):
        lost = summary.steps.filter(pl.col("reason").is_not_null(), stage=stage).head(3)
        if lost.height:
            reasons = "; ".join(f"{in_words(row['reason'])} ({row['count']})" for row in lost.to_dicts())
            return f"{reasons}. {advice}"
    return "no document holds text to ask about; docs/documents.md lists the formats that are read"


def _sum(summary: Report, column: str) -> int:
    return int(summary.batches[column].sum()) if summary.batches.height else 0


def _document(summary: Report, layout: Layout) -> dict[str, Any]:
    """Return the report as values for JSON."""
    document = {field.name: getattr(summary, field.name) for field in fields(summary)}
    return {
        "out": str(layout.out),
        "yield": document.pop("steps"),
        **document,
        "withdrawn": {batch: stone.model_dump() for batch, stone in summary.withdrawn.items()},
        "cost": summary.cost.document(),
    }
