"""Chat messages of a training example in each layout, cut to a length.

What belongs here: which passages a layout shows and in what order, rendering them, and what is left out
when an example is too long. What does not: choosing pairs or distractors (`training.py`).

Passages carry plain marks, as an application would set them, and none of the delimiters of prompts.

closed_book shows the question alone; with_context the passages the proof rests on, or for a refusal those
that were found and do not answer; with_distractors the same passages mixed with others.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from qa_pipeline.records import Passage

Messages = list[dict[str, str]]


class Fitted(NamedTuple):
    """Messages that keep to the length, and how long they are."""

    messages: Messages
    tokens: int


class TokenCounter(Protocol):
    """Counts the tokens of texts."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""


@dataclass(frozen=True, slots=True)
class Example:
    """What the layouts of one pair are made of.

    `context` must be shown unless `context_droppable` (the passages of a refusal prove nothing alone).
    """

    pair_id: str
    system: str
    question: str
    answer: str
    context: tuple[Passage, ...] = ()
    distractors: tuple[Passage, ...] = ()
    context_droppable: bool = False


@dataclass(frozen=True, slots=True)
class _Draft:
    """One layout of one pair; `droppable` passages go from the last to the first."""

    example: Example
    kept: tuple[Passage, ...] = ()
    droppable: tuple[Passage, ...] = ()
    fewest: int = 0
    shuffle_seed: int | None = None


def seeded_hash(seed: int, *parts: str) -> int:
    """A number of 64 bits from a seed and strings: stable across machines and library versions."""
    text = "\x1f".join([str(seed), *parts])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def lay_out(
    examples: Sequence[Example], counter: TokenCounter, *, max_tokens: int, seed: int
) -> dict[str, list[Fitted | None]]:
    """Build every layout of every example; None where a layout cannot be had.

    Args:
        examples: what to lay out.
        counter: counts tokens.
        max_tokens: longest example allowed, all messages together.
        seed: decides the order of passages among distractors.
    """
    return {
        "closed_book": _fit([_closed_book(one) for one in examples], counter, max_tokens),
        "with_context": _fit([_with_context(one) for one in examples], counter, max_tokens),
        "with_distractors": _fit([_with_distractors(one, seed) for one in examples], counter, max_tokens),
    }


def _closed_book(example: Example) -> _Draft | None:
    return _Draft(example) if example.answer else None


def _with_context(example: Example) -> _Draft | None:
    """The proof's passages, all of them; a refusal's passages, at least one."""
    if not (example.answer and example.context):
        return None
    if example.context_droppable:
        return _Draft(example, droppable=example.context, fewest=1)
    return _Draft(example, kept=example.context)


def _with_distractors(example: Example, seed: int) -> _Draft | None:
    """The proof's passages among others: without any other it would be a second copy of with_context."""
    if not (example.answer and example.context and example.distractors):
        return None
    return _Draft(example, kept=example.context, droppable=example.distractors, fewest=1, shuffle_seed=seed)


def _fit(drafts: Sequence[_Draft | None], counter: TokenCounter, max_tokens: int) -> list[Fitted | None]:
    """Drop the last droppable passage of what is too long, and count again, until all fit or give up.

    Counting whole examples again is exact for every tokenizer; sums over parts are not.
    """
    fitted: list[Fitted | None] = [None] * len(drafts)
    waiting = [(place, draft) for place, draft in enumerate(drafts) if draft is not None]
    while waiting:
        rendered = [_messages(draft) for _, draft in waiting]
        tokens = counter.count([_whole(messages) for messages in rendered])
        too_long = []
        for (place, draft), messages, count in zip(waiting, rendered, tokens, strict=True):
            if count <= max_tokens:
                fitted[place] = Fitted(messages, count)
            elif len(draft.droppable) > draft.fewest:
                too_long.append((place, replace(draft, droppable=draft.droppable[:-1])))
        waiting = too_long
    return fitted


def _messages(draft: _Draft) -> Messages:
    example = draft.example
    passages = [*draft.kept, *draft.droppable]
    if draft.shuffle_seed is not None:
        passages = _shuffled(passages, draft.shuffle_seed, example.pair_id)
    user = "\n\n".join([*(_marked(n, one) for n, one in enumerate(passages, 1)), example.question])
    return [
        {"role": "system", "content": example.system},
        {"role": "user", "content": user},
        {"role": "assistant", "content": example.answer},
    ]


def _marked(number: int, passage: Passage) -> str:
    """A passage as an application shows it: number, title and headings on one line, then its text."""
    path = passage.section_path
    head = path if path[:1] == (passage.title,) else (passage.title, *path)
    return f"[{number}] {' '.join(' › '.join(head).split())}\n{passage.text}"


def _shuffled(passages: Iterable[Passage], seed: int, pair_id: str) -> list[Passage]:
    """An order that depends on each passage alone, so that dropping one moves no other."""
    return sorted(passages, key=lambda passage: seeded_hash(seed, pair_id, passage.chunk_id))


def _whole(messages: Messages) -> str:
    return "\n".join(message["content"] for message in messages)
