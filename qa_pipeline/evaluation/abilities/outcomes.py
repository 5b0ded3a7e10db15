"""What a model under test is able to: its answers to the rows of a suite, judged and counted.

An answer states a claim where it holds the claim's own words; else where the verifier, reading the answer
as the passage, proves the claim from it; else where what the claim adds to the question is in a sentence of
it or two, figures and changed words all of it. What the verifier finds denied is not stated. All of that is
rules, but for a verifying model, where one is given, that decides what they leave open.
"""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict

from qa_pipeline.evaluation.abilities.sources import fold_text
from qa_pipeline.evaluation.abilities.suites import ABILITIES, COUNTERFACTUAL, INTEGRATION, NOISE, REJECTION
from qa_pipeline.evaluation.datasets.answered_questions import RAG_ROWS, RagRow
from qa_pipeline.evaluation.datasets.labelled_files import LIMITS, Labelled, Row, read_file
from qa_pipeline.evaluation.reports.summaries import group_sums
from qa_pipeline.evaluation.signals.statement_tables import Statement, decide_statements, statement_tables
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.statistics import mean_bounds, number
from qa_pipeline.storage.row_files import Fault
from qa_pipeline.text.refusals import disputes, is_refusal
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import content_stems, folded_words, recall, tokenize
from qa_pipeline.verification.canaries.material import numerals

ENOUGH_WORDS = 0.6
"""Share of what a claim adds to its question that an answer has to hold: more would miss right answers in
other words, fewer would take those that repeat the question."""
PLANTED = pl.Struct(dict.fromkeys(("true", "false", "kind", "document"), pl.String()))
SUITE_ROWS = pl.Schema({**RAG_ROWS, "planted": PLANTED})
OUTCOMES = pl.Schema(
    {
        "id": pl.String(),
        "ability": pl.String(),
        "difficulty": pl.String(),
        "language": pl.String(),
        "group": pl.String(),
        "answered": pl.Boolean(),
        "refused": pl.Boolean(),
        "right": pl.Boolean(),
        "coverage": pl.Float64(),
        "noticed": pl.Boolean(),
        "corrected": pl.Boolean(),
        "fooled": pl.Boolean(),
        "decided_by": pl.List(pl.String()),
    }
)
"""One row for each row of the suite; what does not concern its ability, or has no answer, is null.

`right` is the truth stated (noise, integration), a refusal (rejection), or the truth stated and the error
not, unless it is disputed (counterfactual); `coverage` the share of the true claims stated. `fooled` is the
planted statement given as the answer. `decided_by` says what decided each statement looked for: quote, a step
of the verifier, or words.
"""
FIGURES: dict[str, tuple[tuple[str, str], ...]] = {
    NOISE: (("accuracy", "right"), ("refused", "refused")),
    REJECTION: (("rejection", "right"),),
    INTEGRATION: (("accuracy", "right"), ("coverage", "coverage"), ("refused", "refused")),
    COUNTERFACTUAL: (
        ("detection", "noticed"),
        ("correction", "corrected"),
        ("accuracy", "right"),
        ("fooled", "fooled"),
        ("refused", "refused"),
    ),
}
"""Figures of each ability, and the column each is the mean of; correction is over the noticed rows."""


class Planted(BaseModel):
    """A statement of a planted document, what it denies, what was changed, and the document."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")
    true: str
    false: str
    kind: str | None = None
    document: str | None = None


class SuiteRow(RagRow):
    """A row of a suite: a row of any data set with what was planted."""

    columns = SUITE_ROWS
    planted: Planted | None = None

    def row(self) -> Row | Fault:
        """Return the row of an ability with its contexts and what they deny, or what is wrong with it."""
        planted = self.planted is not None or self.category != COUNTERFACTUAL
        if self.category not in ABILITIES or not self.contexts or not planted:
            return Fault("no_row_of_a_suite", "it has no ability, no contexts, or nothing planted")
        return super().row()


def read_suite(path: Path, limits: PairsFileSettings = LIMITS) -> Labelled:
    """Read a suite (`SUITE_ROWS`); a row of another category, or without contexts, is left out and counted.

    Raises:
        InputError: the file cannot be read, or holds no row that can be used.
    """
    return read_file(path, lambda _: SuiteRow, limits)


@dataclass(frozen=True, slots=True)
class _ClaimOfAnswer:
    """A claim to look for in an answer; `other` is a statement that must not be taken for it."""

    claim: str
    answer: str
    question: str
    language: str
    other: str = ""


Stated = tuple[bool, str]
"""A flag whether a claim is stated, and its decider."""


def judge_answers(
    rows: pl.DataFrame, resources: Resources, verifier: LanguageModel | None = None
) -> pl.DataFrame:
    """Return the outcome of each row (`OUTCOMES`), in order.

    Args:
        rows: `SUITE_ROWS`, answered; those without an answer have no outcome.
        resources: with `evaluation_settings`; what the verifier's steps need.
        verifier: decides what the local steps leave open; None leaves it to the words.

    Raises:
        PermanentModelError: the verifier can answer no further request.
    """
    answer_rows = rows.rows(named=True)
    claims_wanted = [_to_look_for(row) for row in answer_rows]
    stated = iter(_stated([claim for of_row in claims_wanted for claim in of_row], resources, verifier))
    outcomes = [
        _outcome(row, list(islice(stated, len(of_row))))
        for row, of_row in zip(answer_rows, claims_wanted, strict=True)
    ]
    return pl.DataFrame(outcomes, schema=OUTCOMES)


def _to_look_for(row: Row) -> list[_ClaimOfAnswer]:
    """Return the claims whose place in the answer decides; none where there is no answer, or a refusal."""
    if row["answer"] is None or is_refusal(row["answer"], row["language"]):
        return []
    common = (row["answer"], row["query"], row["language"])
    if row["category"] == COUNTERFACTUAL:
        true, false = row["planted"]["true"], row["planted"]["false"]
        return [_ClaimOfAnswer(true, *common, other=false), _ClaimOfAnswer(false, *common, other=true)]
    return [
        _ClaimOfAnswer(claim["claim"], *common)
        for claim in row["true_claims"] or []
        if row["category"] != REJECTION
    ]


def _outcome(row: Row, statements: Sequence[Stated]) -> Row:
    answered = row["answer"] is not None
    base = {"id": row["id"], "ability": row["category"], "answered": answered, "decided_by": []}
    base |= {name: row[name] for name in ("difficulty", "language", "group")}
    if not answered:
        return base
    refused = is_refusal(row["answer"], row["language"])
    base |= {"refused": refused, "decided_by": [by for _, by in statements] or ["rules"]}
    if row["category"] == REJECTION:
        return base | {"right": refused}
    if row["category"] == COUNTERFACTUAL:
        return base | _of_planted(row, [stated for stated, _ in statements], refused=refused)
    stated = [statement for statement, _ in statements]
    share = sum(stated) / len(stated) if stated else 0.0
    return base | {"right": bool(stated) and all(stated), "coverage": share}


def _of_planted(row: Row, stated: Sequence[bool], *, refused: bool) -> Row:
    """Return the columns noticed and corrected of an answer with a planted statement.

    Noticed: the answer disputes a source in its own words, or says what each of two states.

    Corrected: it states the truth, and the planted statement not at all or as disputed.
    """
    true, false = (False, False) if refused else stated
    disputed = not refused and disputes(_own_words(row), row["language"])
    noticed = disputed or (true and false)
    corrected = noticed and true and (disputed or not false)
    fooled = false and not noticed
    return {
        "noticed": noticed,
        "corrected": corrected,
        "fooled": fooled,
        "right": (true and not false) or corrected,
    }


def _own_words(row: Row) -> str:
    """Return the sentences of an answer that are in no context."""
    contexts = [fold_text(context["text"] or "") for context in row["contexts"]]
    spans = split_sentences(row["answer"], row["language"])
    written = (row["answer"][start:end] for start, end in spans)
    return " ".join(part for part in written if not any(fold_text(part) in context for context in contexts))


def _stated(
    sought: Sequence[_ClaimOfAnswer], resources: Resources, verifier: LanguageModel | None
) -> list[Stated]:
    """Return whether each claim is stated; the verifier reads in one call all that are not quoted."""
    quoted = [fold_text(claim.claim) in fold_text(claim.answer) for claim in sought]
    rest = [claim for claim, quote in zip(sought, quoted, strict=True) if not quote]
    read = iter(_verified(rest, resources, verifier))
    stated = []
    for claim, quote in zip(sought, quoted, strict=True):
        verdict = None if quote else next(read)
        stated.append((True, "quote") if quote else verdict or (_in_words(claim), "words"))
    return stated


def _verified(
    sought: Sequence[_ClaimOfAnswer], resources: Resources, verifier: LanguageModel | None
) -> list[Stated | None]:
    """Return what the verifier decides of each claim with the answer as its passage; None where unsure."""
    tables = statement_tables(
        [Statement(claim.claim, (claim.answer,), claim.language, claim.question) for claim in sought]
    )
    _, verdicts = decide_statements(tables, resources, verifier)
    of_pair: dict[str, list[tuple[str, str]]] = {}
    for pair_id, verdict, by in verdicts.select("pair_id", "verdict", "decided_by").iter_rows():
        of_pair.setdefault(pair_id, []).append((verdict, by))
    return [_decided(of_pair.get(pair_id, [])) for pair_id in tables.pair_ids]


def _decided(verdicts: Sequence[tuple[str, str]]) -> Stated | None:
    """Return whether a claim is stated, and by whose verdict: not if a part is denied; None if open."""
    for verdict, by in verdicts:
        if verdict == "contradicted" or (verdict == "unsupported" and by == "llm"):
            return False, by
    if verdicts and all(verdict == "supported" for verdict, _ in verdicts):
        return True, verdicts[0][1]
    return None


def _in_words(sought: _ClaimOfAnswer) -> bool:
    """Return whether a sentence of the answer, or two in a row, have what a claim adds to its question.

    They have to have its figures all, and the words that tell it from the other statement. The sentence that
    has most of its words must be negated as the claim is.
    """
    language = sought.language
    claim, question = (
        set(content_stems(sought.claim, language)),
        set(content_stems(sought.question, language)),
    )
    spans = split_sentences(sought.answer, language) or [(0, len(sought.answer))]
    singles = [sought.answer[start:end] for start, end in spans]
    pairs = [sought.answer[first:last] for (first, _), (_, last) in pairwise(spans)]
    nearest = _nearest(claim, [*singles, *pairs], language)
    if (recall(claim - question or claim, content_stems(nearest, language)) or 0.0) < ENOUGH_WORDS:
        return False
    if not numerals(sought.claim) - numerals(sought.question) <= numerals(nearest):
        return False
    if sought.other:
        mine, others = (Counter(folded_words(text, language)) for text in (sought.claim, sought.other))
        if not set(mine - others) <= set(folded_words(nearest, language)):
            return False
    return _negated(_nearest(claim, singles, language), language) == _negated(sought.claim, language)


def _nearest(claim: Set[str], texts: Sequence[str], language: str) -> str:
    """Return the text that has most of the claim's words, the first of equals."""
    return max(texts, key=lambda text: recall(claim, content_stems(text, language)) or 0.0)


def _negated(text: str, language: str) -> bool:
    return any(token.negative for token in tokenize(text, language))


def ability_figures(outcomes: pl.DataFrame) -> list[Row]:
    """Return the figures of each ability by language and difficulty, with 95 % intervals.

    Rows of one document rise and fall together (`statistics.mean_bounds`); one document has no interval.

    Returns:
        language (all, and each), ability, difficulty (all but of noise: also all together), figure, rows it
        is over, groups, errors (rows without an answer), value, low, high.
    """
    languages = ["all", *sorted(set(outcomes["language"]))]
    figures = []
    for language in languages:
        of_language = outcomes if language == "all" else outcomes.filter(pl.col("language") == language)
        for ability in ABILITIES:
            rows = of_language.filter(pl.col("ability") == ability)
            for difficulty in sorted(set(rows["difficulty"].drop_nulls())):
                part = rows.filter(pl.col("difficulty") == difficulty)
                place = {"language": language, "ability": ability, "difficulty": difficulty}
                figures += [
                    {**place, "figure": figure, **_mean(part, figure, column)}
                    for figure, column in FIGURES[ability]
                ]
    return figures


def _mean(rows: pl.DataFrame, figure: str, column: str) -> Row:
    answered = rows.filter("answered")
    counted = answered.filter("noticed") if figure == "correction" else answered
    sums = group_sums(counted.select("group", pl.col(column).cast(pl.Float64)), [column])
    bounds = mean_bounds(sums, np.zeros(1), np.ones(1))
    value, low, high = (number(values[0]) for values in (sums.means, *bounds))
    about = {"rows": counted.height, "groups": len(sums.totals), "errors": rows.height - answered.height}
    return {**about, "value": value, "low": low, "high": high}
