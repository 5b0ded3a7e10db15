"""Which words of an answer its passages do not support, by a classifier of tokens.

As LettuceDetect does (Kovács and Recski 2025, arXiv 2502.17125): question and passages before, the answer
behind, and for each token of the answer the probability that nothing supports it.

Passages that do not fit are read in groups. LettuceDetect then takes the largest probability of a token
over the groups, so that every group must support it; here the smallest counts: one group suffices.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.entailment.files import (
    SPAN_DETECTORS,
    Logits,
    Scores,
    class_shares,
    places_of_meanings,
)
from qa_pipeline.models.entailment.models import Network, load_network
from qa_pipeline.models.entailment.tokens import PairReader
from qa_pipeline.models.vector_cache import VectorCache
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.verification import SpanSettings
from qa_pipeline.storage.rows import FlaggedStruct
from qa_pipeline.text.references import without_marks

SETTING = "verification.spans"
_PLAIN = "{question}\n\n{passages}"
_PLACES = re.compile(r"\{(question|passages|numbered|count)\}")
_GROUP = 64  # answers read at once: their tokens stay in memory, and a caller sees progress
_SPARE = 8
"""Tokens kept free for the number and line break of each passage."""
_UNSUPPORTED = re.compile(r"halluc|unsupport|not.?support|ungrounded|inconsistent")
_SUPPORTED = re.compile(r"o|ok|supported|grounded|consistent|faithful")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with what it was drawn from."""

    question: str
    passages: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """Tokens of an answer: their characters, and how probably each is unsupported.

    `reason` names why there are none: `empty_claim`, `claim_too_long`, `no_passage` or `model_nan`.
    """

    offsets: tuple[tuple[int, int], ...] = ()
    unsupported: tuple[float, ...] = ()
    reason: str | None = None

    def flagged(self, start: int, end: int, flag_from: float) -> list[FlaggedStruct]:
        """Return spans between two characters of the answer whose words are unsupported from `flag_from`.

        Returns:
            start, end and score, the largest probability among its words, of each run of such words.
        """
        flagged_words: list[FlaggedStruct] = []
        last = -2
        for place, ((first, behind), share) in enumerate(zip(self.offsets, self.unsupported, strict=True)):
            if share < flag_from or behind <= start or first >= end or first == behind:
                continue
            if place == last + 1:
                flagged_words[-1]["end"] = min(behind, end)
                flagged_words[-1]["score"] = max(flagged_words[-1]["score"], share)
            else:
                flagged_words.append({"start": max(first, start), "end": min(behind, end), "score": share})
            last = place
        return flagged_words

    def support(self, start: int, end: int) -> float | None:
        """Return 1 less the largest probability of a word between two characters; None without words."""
        tokens = zip(self.offsets, self.unsupported, strict=True)
        shares = [share for (first, behind), share in tokens if first < end and start < behind]
        return 1.0 - max(shares) if shares else None


@dataclass(frozen=True, eq=False)
class SpanDetector:
    """A classifier of tokens, the places of its classes that mean unsupported, and how it is given texts."""

    network: Network
    classes: int
    unsupported: tuple[int, ...]
    reader: PairReader
    template: str | None = None

    def read(self, answers: Sequence[Answer], notify: ProgressCallback = no_progress) -> list[Words]:
        """Return the words of each answer, in order."""
        words: list[Words] = []
        for start in range(0, len(answers), _GROUP):
            words += self._read_group(answers[start : start + _GROUP])
            self.reader.clear()
            notify(len(words), len(answers))
        return words

    def _read_group(self, answers: Sequence[Answer]) -> list[Words]:
        texts = [without_marks(answer.text) for answer in answers]
        prompts = [self._prompts(answer, text) for answer, text in zip(answers, texts, strict=True)]
        inputs = [
            self.reader.join_for_tokens(prompt, text)
            for text, answer_prompts in zip(texts, prompts, strict=True)
            if not isinstance(answer_prompts, str)
            for prompt in answer_prompts
        ]
        logits = iter(self.network.run(inputs))
        return [
            Words(reason=answer_prompts)
            if isinstance(answer_prompts, str)
            else self._words(text, [self._shares(next(logits)) for _ in answer_prompts])
            for text, answer_prompts in zip(texts, prompts, strict=True)
        ]

    def _words(self, text: str, groups: Sequence[Scores]) -> Words:
        least = np.min(np.stack(groups), axis=0)
        if np.isnan(least).any():
            return Words(reason="model_nan")
        return Words(tuple(self.reader.offsets(text)), tuple(least.tolist()))

    def _shares(self, logits: Logits) -> Scores:
        """Return each answer token's probability to be unsupported; NaN where a number is none."""
        shares = class_shares(logits.reshape(-1, self.classes)[: -self.reader.behind or None])
        return np.asarray(shares[:, list(self.unsupported)].sum(axis=1))

    def _prompts(self, answer: Answer, text: str) -> list[str] | str:
        """Return the text before the answer, one for each group of passages; else why there is none."""
        if not text.strip():
            return "empty_claim"
        room = self.reader.room_beside(text, _filled(self.template, answer.question, [" "]))
        if room is None:
            return "claim_too_long"
        groups = self._groups(answer.passages, room)
        return [_filled(self.template, answer.question, group) for group in groups] or "no_passage"

    def _groups(self, passages: Sequence[str], room: int) -> list[list[str]]:
        """Return passages packed in order into few groups, cut where one alone is too long."""
        groups: list[list[str]] = []
        remaining = 0
        for passage in passages:
            for start, end in self.reader.windows(passage, max(1, room - _SPARE)):
                piece = passage[start:end]
                size = self.reader.count(piece) + _SPARE
                if not groups or size > remaining:
                    groups.append([])
                    remaining = room
                groups[-1].append(piece)
                remaining -= size
        return groups


def load_span_detector(settings: SpanSettings, store: VectorCache) -> SpanDetector:
    """Find and check the detector; its weights are read at the first input that must be computed.

    Raises:
        SettingsError: there is no model, or it cannot be used; the message tells what to do.
    """
    settings, network, reader = load_network(settings, "tokens", SETTING, SPAN_DETECTORS, store)
    names, model = network.files.labels, network.files.name
    places = unsupported_classes(names, settings.labels, model=model, setting=f"{SETTING}.labels")
    return SpanDetector(network, len(names), places, reader, settings.template)


def unsupported_classes(
    names: Sequence[str], labels: Mapping[str, str] | None, *, model: str, setting: str
) -> tuple[int, ...]:
    """Return the places of the classes that mean unsupported.

    Raises:
        SettingsError: as `places_of_meanings`.
    """
    usual = ("supported", *["unsupported"] * (len(names) - 1))
    places = places_of_meanings(names, labels, _meaning, usual, "supported", model=model, setting=setting)
    if "unsupported" not in places:
        raise SettingsError(f"{model} has no label for unsupported words; set {setting}")
    return tuple(places["unsupported"])


def _meaning(name: str) -> str | None:
    plain = name.casefold()
    if _UNSUPPORTED.search(plain):
        return "unsupported"
    return "supported" if _SUPPORTED.fullmatch(plain) else None


def _filled(template: str | None, question: str, passages: Sequence[str]) -> str:
    """Return the template filled at once: a passage that holds `{question}` stays as it is."""
    values = {
        "question": question,
        "passages": "\n".join(passages),
        "numbered": "\n".join(f"passage {place}: {text}" for place, text in enumerate(passages, 1)),
        "count": str(len(passages)),
    }
    return _PLACES.sub(lambda place: values[place[1]], _PLAIN if template is None else template)
