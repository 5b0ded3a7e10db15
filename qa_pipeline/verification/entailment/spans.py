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
import numpy.typing as npt

from qa_pipeline.errors import SettingsError
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.verification import SpanSettings
from qa_pipeline.verification.entailment.network import Network
from qa_pipeline.verification.entailment.tokens import CLAIM_SHARE, PairReader
from qa_pipeline.verification.splitting import without_marks

Shares = npt.NDArray[np.float64]

_PLAIN = "{question}\n\n{passages}"
_PLACES = re.compile(r"\{(question|passages|numbered|count)\}")
_LEAST_ROOM = 8
_GROUP = 64
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

    `reason` says why there are none: `empty_claim`, `claim_too_long`, `no_passage` or `model_nan`.
    """

    offsets: tuple[tuple[int, int], ...] = ()
    unsupported: tuple[float, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Flagged:
    """Characters of the answer that nothing supports, with the largest probability among them."""

    start: int
    end: int
    score: float


@dataclass(frozen=True, eq=False)
class SpanDetector:
    """A classifier of tokens, the places of its classes that mean unsupported, and how it is given texts."""

    network: Network
    classes: int
    unsupported: tuple[int, ...]
    reader: PairReader
    settings: SpanSettings

    @property
    def name(self) -> str:
        """Model, revision and arithmetic, as tables show them."""
        files = self.network.files
        return f"{files.name}@{files.revision} {self.network.precision}"

    def read(self, answers: Sequence[Answer], notify: ProgressCallback = no_progress) -> list[Words]:
        """The words of each answer, in order."""
        found: list[Words] = []
        for start in range(0, len(answers), _GROUP):
            found += self._read_group(answers[start : start + _GROUP])
            self.reader.forget()
            notify(len(found), len(answers))
        return found

    def _read_group(self, answers: Sequence[Answer]) -> list[Words]:
        answers = [Answer(one.question, one.passages, without_marks(one.text)) for one in answers]
        prompts = [self._prompts(one) for one in answers]
        inputs = [
            self.reader.join_for_tokens(prompt, one.text)
            for one, asked in zip(answers, prompts, strict=True)
            if not isinstance(asked, str)
            for prompt in asked
        ]
        logits = iter(self.network.run(inputs))
        words = []
        for one, asked in zip(answers, prompts, strict=True):
            if isinstance(asked, str):
                words.append(Words(reason=asked))
            else:
                words.append(self._words(one.text, [self._shares(next(logits)) for _ in asked]))
        return words

    def _words(self, text: str, groups: Sequence[Shares]) -> Words:
        if any(np.isnan(shares).any() for shares in groups):
            return Words(reason="model_nan")
        least = np.min(np.stack(groups), axis=0)
        return Words(tuple(self.reader.offsets(text)), tuple(float(value) for value in least))

    def _shares(self, logits: npt.NDArray[np.float32]) -> Shares:
        """Probability of each token of the answer to be unsupported; NaN where a number is none."""
        values = logits.reshape(-1, self.classes)[: -self.reader.behind or None].astype(np.float64)
        finite = np.asarray(np.isfinite(values).all(axis=1))
        values = np.where(finite[:, np.newaxis], values, 0.0)
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        shares = powers[:, list(self.unsupported)].sum(axis=1) / powers.sum(axis=1)
        return np.where(finite, shares, np.nan)

    def _prompts(self, one: Answer) -> list[str] | str:
        """What is read before the answer, one text for each group of passages; else why there is none."""
        if not one.text.strip():
            return "empty_claim"
        tokens, most = self.reader.count(one.text), self.reader.most_tokens
        frame = self.reader.count(_filled(self._template, one.question, [" "]))
        room = most - self.reader.overhead - tokens - frame
        if tokens > CLAIM_SHARE * most or room < _LEAST_ROOM:
            return "claim_too_long"
        groups = self._groups(one.passages, room)
        return [_filled(self._template, one.question, group) for group in groups] or "no_passage"

    @property
    def _template(self) -> str:
        return _PLAIN if self.settings.template is None else self.settings.template

    def _groups(self, passages: Sequence[str], room: int) -> list[list[str]]:
        """Passages, cut where one alone is too long, packed in order into as few groups as they fit."""
        spare = 8  # number and line break of each passage
        pieces = [
            passage[window.start : window.end]
            for passage in passages
            for window in self.reader.windows(passage, max(1, room - spare))
        ]
        groups: list[list[str]] = []
        left = 0
        for piece in pieces:
            size = self.reader.count(piece) + spare
            if not groups or size > left:
                groups.append([])
                left = room
            groups[-1].append(piece)
            left -= size
        return groups


def flagged(words: Words, start: int, end: int, flag_from: float) -> list[Flagged]:
    """Unsupported spans between two characters of the answer: runs of words from `flag_from` on."""
    found: list[Flagged] = []
    last = -2
    tokens = zip(words.offsets, words.unsupported, strict=True)
    for place, ((first, behind), share) in enumerate(tokens):
        if share < flag_from or behind <= start or first >= end or first == behind:
            continue
        here = Flagged(max(first, start), min(behind, end), share)
        if place == last + 1 and found:
            before = found.pop()
            here = Flagged(before.start, here.end, max(before.score, share))
        found.append(here)
        last = place
    return found


def support(words: Words, start: int, end: int) -> float | None:
    """1 less the largest probability of a word between two characters; None where there is no word."""
    shares = [
        share
        for (first, behind), share in zip(words.offsets, words.unsupported, strict=True)
        if first < end and start < behind
    ]
    return 1.0 - max(shares) if shares else None


def unsupported_classes(
    names: Sequence[str], wanted: Mapping[str, str] | None, *, model: str, setting: str
) -> tuple[int, ...]:
    """Places of the classes that mean unsupported.

    Raises:
        SettingsError: the names do not tell; shows them and the setting that does.
    """
    given = wanted or {}
    meanings = [given.get(name, given.get(str(place), _meaning(name))) for place, name in enumerate(names)]
    places = tuple(place for place, meaning in enumerate(meanings) if meaning == "unsupported")
    known = {*names, *map(str, range(len(names)))}
    if None in meanings or not 0 < len(places) < len(names) or set(given) - known:
        listed = ", ".join(f"{place}: {name}" for place, name in enumerate(names))
        raise SettingsError(
            f"{model} has the labels {listed}, which do not say what they mean; set {setting}, such as "
            f"{{{names[0]}: supported, {names[-1]}: unsupported}}"
        )
    return places


def _meaning(name: str) -> str | None:
    plain = name.casefold()
    if _UNSUPPORTED.search(plain):
        return "unsupported"
    return "supported" if _SUPPORTED.fullmatch(plain) else None


def _filled(template: str, question: str, passages: Sequence[str]) -> str:
    """The template with its places filled at once: a passage that holds `{question}` stays as it is."""
    numbered = [f"passage {place}: {text}" for place, text in enumerate(passages, 1)]
    values = {
        "question": question,
        "passages": "\n".join(passages),
        "numbered": "\n".join(numbered),
        "count": str(len(passages)),
    }
    return _PLACES.sub(lambda place: values[place[1]], template)
