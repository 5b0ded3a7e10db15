"""Answers cut into single statements by a language model, one call each.

The model proposes; each statement is held against the words of its sentence by pure code, so that no reply
can make an answer state less, more or anything else than it does:

- the quote of a statement is in its sentence and begins and ends where a clause may;
- its wording keeps the quote's words in their order; it may leave out others of a row ("A and B"), never a
  number, negation, bound or condition, and adds only words of the question and of the answer so far;
- all statements of a sentence together keep each of its words that matters.
"""

import functools
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import Delimited, delimit, load_prompt
from qa_pipeline.records import Passage, ProgressCallback, SplitClaim, SplitReply, no_progress, passages_by_id
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.rows import DraftedPairRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.text.lexicon.languages import lexicon, of_all
from qa_pipeline.text.reading import read
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.text.words import Token, tokenize
from qa_pipeline.verification.citations import locate_quote
from qa_pipeline.verification.splitting import (
    TOO_MANY,
    Claim,
    is_claim,
    plain,
    split_claims,
    with_references,
)

_BREAK = re.compile(r"[,;:|()–—\n]")
_DEPENDENT = frozenset(of_all("dependent_openers"))
"""Words whose clause states nothing without the one it belongs to: "denies that …", "if …"."""
_TOO_LONG = "too_long_to_split"
_MOST_SENTENCES, _MOST_CHARACTERS = 60, 12_000
"""Sentences and characters of an answer that one request shows; a longer one stays cut by the rules."""
_SHORTEST_JOINED = 8
"""Words of a sentence that may be two, half of them content words: a shorter one hardly holds two clauses."""
_EACH_SIDE = 2
"""Words on either side of a joining word: with fewer it joins no clauses."""
_MOST_STATEMENTS = 40
"""Statements taken of one sentence: a model that finds more repeats itself, and each has to be proved."""
_LONGEST_WORDING = 3
"""Times the words of a sentence that a statement of it may have: names for its pronouns, no essay."""
_EXACT = 2.0
"""More than every word of a quote would have to agree to repair it: none is repaired."""


def split_by_model(
    pairs: pl.DataFrame,
    chunks: pl.DataFrame,
    model: LanguageModel,
    settings: VerificationSettings,
    llm: LLMSettings,
    *,
    notify: ProgressCallback = no_progress,
    failures: dict[str, str] | None = None,
) -> dict[str, list[Claim]]:
    """Return the claims that a model split from answers, by pair; other pairs' claims are those of the rules.

    Equal questions are asked once. A reply that failed, and a sentence whose statements are not taken, leave
    the claims of the rules with the reason; the reasons of failed replies also come into `failures`, by pair.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    if settings.split_claims == "rules":
        return {}
    passages = passages_by_id(chunks)
    pending: list[tuple[DraftedPairRow, list[Claim], Request[SplitReply]]] = []
    claims_by_pair: dict[str, list[Claim]] = {}
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    for pair in typed_rows(answered, DraftedPairRow):
        claims = split_claims(pair["answer"], pair["language"])
        cited = [passages[i].text for i in pair["used_chunk_ids"] if i in passages]
        if not claims or (settings.split_claims == "auto" and not _worth(claims, cited, pair["language"])):
            continue
        if _too_long(claims):
            claims_by_pair[pair["pair_id"]] = _unsplit(claims, _TOO_LONG)
        else:
            texts = [claim.text for claim in claims]
            pending.append((pair, claims, split_request(pair, texts, passages, settings, llm)))
    requests = {request.key: request for _, _, request in pending}
    replies = complete_all(model, list(requests.values()), workers=llm.workers, notify=notify)
    by_key = dict(zip(requests, replies, strict=True))
    for row, claims, request in pending:
        reply = by_key[request.key]
        if failures is not None and isinstance(reply, ModelError):
            failures[row["pair_id"]] = reply.reason
        claims_by_pair[row["pair_id"]] = (
            _unsplit(claims, reply.reason)
            if isinstance(reply, ModelError)
            else parse_reply(row, claims, reply.value)
        )
    return claims_by_pair


def _too_long(claims: Sequence[Claim]) -> bool:
    """Return whether an answer is more than one request should hold."""
    long = sum(len(claim.text) for claim in claims) > _MOST_CHARACTERS
    return long or len(claims) > _MOST_SENTENCES or any(claim.split_reason == TOO_MANY for claim in claims)


def _unsplit(claims: Sequence[Claim], reason: str) -> list[Claim]:
    return [replace(claim, split_reason=claim.split_reason or reason) for claim in claims]


def _worth(claims: Sequence[Claim], cited: Sequence[str], language: str) -> bool:
    """Return whether a finer cut can change anything: a sentence states several things or needs another.

    A sentence that is word for word in a cited text is proved as it is.
    """
    leaning, joiners = lexicon(language).pronouns.leaning, lexicon(language).joiners
    for claim in claims:
        reading = read(claim.text, language)
        tokens = reading.words
        leans = bool(tokens) and tokens[0].folded in leaning
        long = len(tokens) >= _SHORTEST_JOINED and sum(t.content for t in tokens) >= _SHORTEST_JOINED // 2
        joined = long and (
            re.search(r";\s", claim.text) is not None
            or any(token.folded in joiners for token in tokens[_EACH_SIDE:-_EACH_SIDE])
        )
        if (" | " in claim.text or leans or joined) and not any(
            reading.folded == read(text[start:end], language).folded
            for text in cited
            for start, end in sentence_spans(text, language)
        ):
            return True
    return False


def split_request(
    pair: DraftedPairRow,
    sentences: Sequence[str],
    passages: Mapping[str, Passage],
    settings: VerificationSettings,
    llm: LLMSettings,
) -> Request[SplitReply]:
    """Return the request to split an answer; `pair` is its row of pairs, `sentences` its claims by the rules.

    The passages are not shown. They are named, because the answer was drafted from them: the reply is erased
    together with their document.
    """
    prompt = load_prompt(pair["language"], "split", llm)
    numbered = tuple((f"sentence-{n}", text) for n, text in enumerate(sentences, start=1))
    return Request(
        role="split",
        system=prompt.system,
        prompt=prompt.fill(question=delimit(pair["question"], "question"), sentences=Delimited(numbered)),
        reply_model=SplitReply,
        temperature=settings.temperature,
        seed=llm.seed,
        language=pair["language"],
        passages=tuple(passages[i] for i in pair["used_chunk_ids"] if i in passages),
        question=pair["question"],
        answer=pair["answer"],
        batch=pair["batch"],
        prompt_hash=prompt.hash,
    )


def parse_reply(pair: DraftedPairRow, claims: Sequence[Claim], reply: SplitReply) -> list[Claim]:
    """Return the claims of the rules, each in pieces where the reply's statements of it are taken.

    A claim whose statements are not taken has the reason: `not_split` (nothing proposed), `quote_not_found`,
    `cut_inside_clause`, `new_words`, `words_left_out`, `meaning_changed`, `too_many_statements`.

    `claims` are those of the rules, in order, as they were shown.
    """
    answer, language = without_marks(pair["answer"]), pair["language"]
    finer: list[Claim] = []
    for number, claim in enumerate(claims, start=1):
        tokens = [t for text in (pair["question"], answer[: claim.end]) for t in tokenize(text, language)]
        words = {token.stem for token in tokens} | {token.folded for token in tokens}
        sentence = _Sentence(claim, answer[claim.start : claim.end], language, words)
        try:
            finer += sentence.statements(
                [proposal for proposal in reply.claims if proposal.sentence == number]
            )
        except _RefusedError as refused:
            finer.append(replace(claim, split_reason=str(refused)))
    return with_references(finer, pair["answer"])


class _RefusedError(Exception):
    """A statement that is not taken, with the reason code."""


@dataclass(frozen=True)
class _Sentence:
    """A claim of the rules, the answer's text in its place, and what a statement of it may add.

    `known` are the stems and written forms of the words that a wording may add.
    """

    claim: Claim
    piece: str
    language: str
    words: Collection[str]

    @functools.cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Return the words of the piece."""
        return tokenize(self.piece, self.language)

    def statements(self, proposed: Sequence[SplitClaim]) -> list[Claim]:
        """Return the statements proposed for the sentence as claims in order.

        Raises:
            _RefusedError: one of them, or all together, cannot be taken.
        """
        if not proposed:
            raise _RefusedError("not_split")
        if len(proposed) > _MOST_STATEMENTS:
            raise _RefusedError("too_many_statements")
        weighty = _weighty_words(self.language)
        missing = {
            place
            for place, token in enumerate(self.tokens)
            if token.content or token.negative or token.folded in weighty
        }
        claims: dict[Claim, None] = {}
        for proposal in proposed:
            claim, places = self._statement(proposal)
            claims[claim] = None
            missing -= places
        if missing:
            raise _RefusedError("words_left_out")
        return sorted(claims, key=lambda claim: (claim.start, claim.end))

    def _statement(self, proposed: SplitClaim) -> tuple[Claim, set[int]]:
        """Return one statement as a claim, and the places of the sentence's words that its wording keeps."""
        first, last = self._place(proposed.quote)
        quoted = self.tokens[first : last + 1]
        wording = " ".join(proposed.claim.split())
        worded = tokenize(wording, self.language)
        if len(worded) > _LONGEST_WORDING * len(self.tokens) + len(self.words) or not wording.isprintable():
            raise _RefusedError("new_words")
        if _conditions_of(wording, self.language) != _conditions_of(self.piece, self.language):
            raise _RefusedError("meaning_changed")
        places = self._matched_places(quoted, worded)
        start, end = (0 if first == 0 else quoted[0].start), quoted[-1].end
        if last + 1 == len(self.tokens):
            end = len(self.piece.rstrip())
        text = plain(self.piece[start:end])
        if not is_claim(text):
            raise _RefusedError("cut_inside_clause")
        claim = replace(
            self.claim,
            text=text,
            start=self.claim.start + start,
            end=self.claim.start + end,
            self_contained=None if wording.rstrip(".") == text.rstrip(".") else wording,
            split_by="model",
        )
        return claim, {first + place for place in places}

    def _place(self, quote: str) -> tuple[int, int]:
        """Return the first and the last word of a quote within the sentence."""
        located = locate_quote(quote, self.piece, _EXACT)
        inside = [
            place
            for place, token in enumerate(self.tokens)
            if located and located.start <= token.start and token.end <= located.end
        ]
        if not inside:
            raise _RefusedError("quote_not_found")
        if not (self._starts_clause(inside[0]) and self._ends_clause(inside[-1])):
            raise _RefusedError("cut_inside_clause")
        return inside[0], inside[-1]

    @functools.cached_property
    def _openers(self) -> Set[str]:
        vocabulary = lexicon(self.language)
        return (vocabulary.joiners | vocabulary.clause_openers) - _DEPENDENT

    def _starts_clause(self, place: int) -> bool:
        """Return whether a clause may begin here: at the start, at or after a joining word, or at a comma."""
        if place == 0:
            return True
        before, token = self.tokens[place - 1], self.tokens[place]
        if token.folded in _DEPENDENT or before.folded in _DEPENDENT:
            return False
        gap = self.piece[before.end : token.start]
        return _BREAK.search(gap) is not None or not self._openers.isdisjoint((before.folded, token.folded))

    def _ends_clause(self, place: int) -> bool:
        return place + 1 == len(self.tokens) or (
            self.tokens[place].folded not in self._openers and self._starts_clause(place + 1)
        )

    def _matched_places(self, quoted: Sequence[Token], worded: Sequence[Token]) -> set[int]:
        """Return the places of the quote's words that the wording keeps.

        Raises:
            _RefusedError: it adds an unknown word, drops one it must not, or changes what limits it.
        """
        matcher = SequenceMatcher(
            None, [t.folded for t in quoted], [t.folded for t in worded], autojunk=False
        )
        blocks = matcher.get_matching_blocks()
        places = {place for block in blocks for place in range(block.a, block.a + block.size)}
        repeated = {place for block in blocks for place in range(block.b, block.b + block.size)}
        added = [token for place, token in enumerate(worded) if place not in repeated]
        if any(t.content and t.stem not in self.words and t.folded not in self.words for t in added):
            raise _RefusedError("new_words")
        if _weights(quoted, self.language) != _weights(worded, self.language):
            raise _RefusedError("meaning_changed")
        dropped = [
            run
            for run in _runs([place for place in range(len(quoted)) if place not in places])
            if any(quoted[place].content for place in run)
        ]
        if any(character.isdigit() for run in dropped for place in run for character in quoted[place].folded):
            raise _RefusedError("meaning_changed")
        if not self._of_one_row(quoted, dropped):
            raise _RefusedError("words_left_out")
        return places

    def _of_one_row(self, quoted: Sequence[Token], dropped: Sequence[Sequence[int]]) -> bool:
        """Return whether the dropped words are the other items of one list, parted by "and" or a comma."""

        def parted(place: int, neighbour: int) -> bool:
            """Return whether a word is a joining word, or a comma parts it from its neighbour."""
            if quoted[place].folded in lexicon(self.language).joiners:
                return True
            earlier, later = sorted((place, neighbour))
            return (
                earlier >= 0
                and later < len(quoted)
                and "," in self.piece[quoted[earlier].end : quoted[later].start]
            )

        before = [parted(run[0], run[0] - 1) for run in dropped]
        after = [parted(run[-1], run[-1] + 1) for run in dropped]
        if len(dropped) == 2:
            return after[0] and before[1]
        return len(dropped) < 2 and all(map(any, zip(before, after, strict=True)))


def _conditions_of(text: str, language: str) -> list[str]:
    """Return the conditions a sentence is under, by the phrases that open them; its parts share them."""
    return sorted(
        " ".join(phrase.split()) for phrase in _condition_pattern(language).findall(text.casefold())
    )


@functools.cache
def _condition_pattern(language: str) -> re.Pattern[str]:
    phrases = sorted(lexicon(language).conditions, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(re.escape(phrase) for phrase in phrases)})\b")


@functools.cache
def _weighty_words(language: str) -> Set[str]:
    """Return the words that strengthen, weaken or negate: bounds, quantifiers, duties, conditions."""
    vocabulary = lexicon(language)
    phrases = (
        *vocabulary.lower_bounds,
        *vocabulary.upper_bounds,
        *vocabulary.approximations,
        *vocabulary.conditions,
    )
    bounds = {word for phrase in phrases for word in phrase.split()} - {*of_all("linking_words")}
    return (bounds | vocabulary.quantifiers_and_modals) - vocabulary.joiners


def _weights(tokens: Sequence[Token], language: str) -> Counter[str]:
    """Return the words that negate or limit a statement, counted."""
    weighty = _weighty_words(language)
    return Counter(token.folded for token in tokens if token.negative or token.folded in weighty)


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Return the places in runs of consecutive ones."""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] + 1 == place:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs
