"""Metrics and signals: their definitions, the registry of each, and the models that they are computed with.

A metric is a function of one row, a dictionary of the columns of a data set (`RAG_ROWS`) and of signals.
A signal is a fact about the texts of a row that several metrics share, such as its verified statements.
A value is unknown if the row lacks a column or signal that the metric needs.
"""

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, ReplyT, Request, complete_all
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.prompts.loading import PromptName, delimit, delimit_all, load_prompt, render_passages
from qa_pipeline.records import Passage
from qa_pipeline.text.injection import hold_injections, is_injection, redact_injections

Row = dict[str, Any]
"""A row of a data set (`RAG_ROWS`) with its signals, or an object in a column of the row."""
Undecided = Literal["similarity", "unknown"]
SIMILARITY, ENTAILMENT, RULES, MODEL = "similarity", "entailment", "rules", "llm"
"""Deciders in addition to the steps of verification."""
STATEMENTS_VERSION = 3
"""Version of metrics over statements: 3 since verification computes the scores."""


@dataclass(frozen=True)
class Setup:
    """The models and settings that metrics are computed with.

    Args:
        resources: settings and local models.
        verifier: decides statements that the local steps leave open.
        judge: reads answers and contexts.
        undecided: decides the remaining statements by similarity, or leaves them unknown.
        splitter: splits answers into statements as `verification.split_claims` says.
        unsplit: collects the reason, by question and answer, if the splitter failed.
    """

    resources: Resources
    verifier: LanguageModel | None = None
    judge: LanguageModel | None = None
    undecided: Undecided = "similarity"
    splitter: LanguageModel | None = None
    unsplit: dict[tuple[str | None, str], str] = field(default_factory=dict)


Direction = Literal["higher", "lower"]
Value = Callable[[Row], float | None]
Find = Callable[[list[Row], Setup], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure of an answered question.

    Args:
        name: column of the values, and name in reports.
        of: computes the value of a complete row.
        needs: columns and signals that the metric reads.
        meaning: a sentence for readers of reports.
        range: least and greatest value; the greatest is None if unbounded.
        direction: "higher" if more is better.
        decided_by: signals whose deciders are counted, or a field of their elements, such as
            "statements.scored_by"; by default all signals that the metric needs.
        without: names the parts that the value of a row omits.
        version: increases with each change of the formula; reports of two versions are not compared.
    """

    name: str
    of: Value
    needs: tuple[str, ...]
    meaning: str
    range: tuple[float, float | None] = (0.0, 1.0)
    direction: Direction = "higher"
    decided_by: tuple[str, ...] = ()
    without: Callable[[Row], list[str]] | None = None
    version: int = 1

    def scores(self, rows: Sequence[Row], setup: Setup) -> list[float | None]:
        """Return the value of each row, None if unknown. Signals are stored in the rows."""
        add_signals(rows, self.needs, setup)
        values = (None if self.lacking(row) else self.of(row) for row in rows)
        return [None if value is None or not math.isfinite(value) else float(value) for value in values]

    def lacking(self, row: Row) -> list[str]:
        """Return the columns and signals of `needs` that a row lacks, such as ["reference"]."""
        return [name for name in self.needs if row.get(name) is None]

    def deciders(self, row: Row) -> list[str]:
        """Return the parts that a value omits, then its deciders, such as ["without recency", "llm"].

        A decider is the step that decided a signal, as in {"refused": True, "refused_by": "rules"}, or an
        element of it, as in {"statements": [{"decided_by": "llm", "scored_by": "entailment"}]}.
        """
        deciders: list[Any] = [] if self.without is None else self.without(row)
        for path in self.decided_by or [need for need in self.needs if need in SIGNALS]:
            name, _, field_name = path.partition(".")  # such as "statements.scored_by"
            if f"{name}_by" in row:
                deciders.append(row[f"{name}_by"])
            elif isinstance(row.get(name), list):
                deciders += [element[field_name or "decided_by"] for element in row[name]]
        return [decider for decider in deciders if decider is not None]


METRICS: dict[str, Metric] = {}
"""All metrics by name, in the order of reports."""


def metric(*needs: str, **fields: Any) -> Callable[[Value], Value]:
    """Register a function as the metric of its name; its docstring becomes the meaning.

    `fields` are further fields of the `Metric`.
    """

    def register(function: Value) -> Value:
        name, meaning = function.__name__, inspect.getdoc(function) or ""
        meaning = meaning.removeprefix("Return ").removeprefix("the ")
        METRICS[name] = Metric(name, function, needs, meaning[:1].upper() + meaning[1:], **fields)
        return function

    return register


@dataclass(frozen=True, slots=True)
class Signal:
    """A fact about the texts of rows.

    Args:
        needs: columns and signals that a row must have.
        find: returns a value for each complete row, None if unknown.
        decided_by: the decider of every value; None if the elements of a value name theirs.
        judged: True if the judge decides where it exists.
    """

    needs: tuple[str, ...]
    find: Find
    decided_by: str | None
    judged: bool


SIGNALS: dict[str, Signal] = {}
"""All signals by name."""


def signal(*needs: str, decided_by: str | None = None, judged: bool = False) -> Callable[[Find], Find]:
    """Register a function `find_NAME` as the signal NAME."""

    def register(find: Find) -> Find:
        SIGNALS[find.__name__.removeprefix("find_")] = Signal(needs, find, decided_by, judged)
        return find

    return register


def add_signals(rows: Sequence[Row], names: Iterable[str], setup: Setup) -> None:
    """Add the named signals to rows, with the signals they need; existing values are kept.

    A signal with a single decider has a second field, NAME_by. Raises `PermanentModelError` if a model
    refuses all further requests, and `SettingsError` if it cannot be used.
    """
    for name in names:
        new = [row for row in rows if name not in row]
        if name not in SIGNALS or not new:  # a column of the data set, or known in all rows
            continue
        definition = SIGNALS[name]
        add_signals(new, definition.needs, setup)
        complete = [row for row in new if all(row.get(need) is not None for need in definition.needs)]
        values = definition.find(complete, setup)
        decider = MODEL if definition.judged and setup.judge is not None else definition.decided_by
        for row in new:  # incomplete rows keep None
            row[name] = None
            if decider is not None:
                row[f"{name}_by"] = None
        for row, value in zip(complete, values, strict=True):
            row[name] = value
            if decider is not None and value is not None:
                row[f"{name}_by"] = decider


def share(values: Iterable[float | None]) -> float | None:
    """Return the mean of flags or numbers; None if the list is empty or an element is unknown."""
    numbers = list(values)
    if not numbers or None in numbers:
        return None
    return math.fsum(value for value in numbers if value is not None) / len(numbers)


def entropy(values: Sequence[Any]) -> float | None:
    """Return the Shannon entropy in bits; None if the list is empty or an element is unknown."""
    if not values or None in values:
        return None
    shares = (count / len(values) for count in Counter(values).values())
    return abs(math.fsum(-part * math.log2(part) for part in shares))


def judge_request(
    row: Row,
    name: PromptName,
    reply_model: type[ReplyT],
    setup: Setup,
    contexts: Sequence[Row] = (),
    sentences: Sequence[str] = (),
) -> Request[ReplyT]:
    """Fill a prompt with the texts of a row, and with contexts or the sentences of a context.

    If a text has an injection, `ask` drops the reply, so sentences are not redacted. Contexts are, as in all
    prompts with passages.
    """
    language, llm = row["language"], setup.resources.settings.llm
    prompt = load_prompt(language, name, llm)
    texts = {"question": row["query"], "answer": row["answer"], "reference": row["reference"] or ""}
    asked = {label: text for label, text in texts.items() if label in prompt.placeholders}
    values = {label: delimit(text, label) for label, text in asked.items()}
    originals: list[Passage] = []  # in which `ask` looks for injections, to drop the reply
    if contexts:
        originals = [
            Passage(f"context-{index}", context["document"] or "", (), context["text"] or "", language)
            for index, context in enumerate(contexts)
        ]
        values["passages"] = render_passages([redact_injections(passage) for passage in originals])
    elif sentences:
        originals = [Passage("context", "", (), "\n".join(sentences), language)]
        values["sentences"] = delimit_all(sentences, "sentence")
    return Request(
        role="evaluate",
        system=prompt.system,
        prompt=prompt.fill(**values),
        reply_model=reply_model,
        temperature=0.0,
        language=language,
        passages=tuple(originals),
        question=asked.get("question"),
        answer=asked.get("answer"),
        prompt_hash=prompt.hash,
    )


def ask(requests: Sequence[Request[ReplyT]], setup: Setup) -> Iterator[ReplyT | None]:
    """Yield the judge's reply to each request; equal requests are sent once.

    The reply is None if the request failed, or if its texts contain an injection.
    """
    if setup.judge is None:
        return  # signals ask only if there is a judge
    distinct = {request.key: request for request in requests}
    workers = setup.resources.settings.llm.workers
    outcomes = complete_all(setup.judge, [*distinct.values()], workers=workers)
    outcome_by_key = dict(zip(distinct, outcomes, strict=True))  # a reply, or the error of the model
    for request in requests:
        outcome = outcome_by_key[request.key]
        texts = (request.question or "", request.answer or "")
        is_injected = hold_injections(request.passages) or any(map(is_injection, texts))
        yield None if isinstance(outcome, ModelError) or is_injected else outcome.value
