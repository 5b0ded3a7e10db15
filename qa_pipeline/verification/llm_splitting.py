"""Answers cut into single statements by a language model, one call each.

The model proposes; each statement is held against the words of its sentence by pure code, so that no reply
can make an answer say less, more or anything else than it does:

- the quote of a statement stands in its sentence and begins and ends where a clause may;
- its wording keeps the quote's words in their order; it may leave out others of a row ("A and B"), never a
  number, negation, bound or condition, and adds only words of the question and of the answer so far;
- all statements of a sentence together keep each of its words that says something.
"""

import functools
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import Fenced, load_prompt
from qa_pipeline.records import Passage, ProgressCallback, SplitClaim, SplitReply, no_progress, passages_by_id
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.lexicon.base import words
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.lexicon.shared import PRONOUNS
from qa_pipeline.text.words import Token, tokenize
from qa_pipeline.verification.citations import locate_quote
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.splitting import (
    TOO_MANY,
    Claim,
    is_claim,
    plain,
    split_claims,
    with_references,
    without_marks,
)

_BREAK = re.compile(r"[,;:|()–—\n]")
_DEPENDENT = words(
    """that if when unless whether until lest att om när huruvida ifall såvida tills dass daß wenn falls ob
    sofern bis"""
)
"""Words whose clause states nothing without the one it belongs to: "denies that …", "if …"."""
_FILLERS = words("and or of no not than the eller än inte och und oder als nicht som till från")


def starts_clause(text: str, tokens: Sequence[Token], place: int, language: str) -> bool:
    """Whether a clause may begin with this word: at the start, at or after a joining word, or a comma."""
    if place == 0:
        return True
    before = tokens[place - 1]
    if tokens[place].folded in _DEPENDENT or before.folded in _DEPENDENT:
        return False
    openers = _openers(language)
    gap = text[before.end : tokens[place].start]
    return _BREAK.search(gap) is not None or before.folded in openers or tokens[place].folded in openers


def ends_clause(text: str, tokens: Sequence[Token], place: int, language: str) -> bool:
    """Whether a clause may end with this word."""
    return place + 1 == len(tokens) or (
        tokens[place].folded not in _openers(language) and starts_clause(text, tokens, place + 1, language)
    )


def _openers(language: str) -> Set[str]:
    known = lexicon(language)
    return (known.joiners | known.clause_openers) - _DEPENDENT


def conditions_of(text: str, language: str) -> tuple[str, ...]:
    """The conditions a sentence speaks under, by the phrases that open them; each of its parts does, too."""
    found = _condition_pattern(language).findall(text.casefold())
    return tuple(sorted(" ".join(phrase.split()) for phrase in found))


@functools.cache
def _condition_pattern(language: str) -> re.Pattern[str]:
    phrases = sorted(lexicon(language).conditions, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(re.escape(phrase) for phrase in phrases)})\b")


@functools.cache
def weighty_words(language: str) -> Set[str]:
    """Words that make more, less or the contrary of a statement: bounds, quantifiers, duties, conditions."""
    known = lexicon(language)
    phrases = (*known.lower_bounds, *known.upper_bounds, *known.approximations, *known.conditions)
    bounds = {word for phrase in phrases for word in phrase.split()} - _FILLERS
    return (
        bounds | known.universal | known.partial | known.exclusive | known.strong | known.weak
    ) - known.joiners


TOO_LONG = "too_long_to_split"
_MOST_SENTENCES = 60
_MOST_CHARACTERS = 12_000
_SHORTEST_JOINED = 8
_EACH_SIDE = 2


def too_long(claims: Sequence[Claim]) -> bool:
    """Whether an answer is more than one request should hold."""
    long = sum(len(one.text) for one in claims) > _MOST_CHARACTERS
    return long or len(claims) > _MOST_SENTENCES or any(one.split_reason == TOO_MANY for one in claims)


def worth_splitting(claims: Sequence[Claim], cited: Sequence[str], language: str) -> bool:
    """Whether a finer cut can change anything: some sentence makes several statements or leans on another.

    A sentence that stands word for word in a cited text is proved as it is.
    """
    return any(
        _many(one, language)
        and not any(read(text, language).holds(read(one.text, language)) for text in cited)
        for one in claims
    )


def _many(claim: Claim, language: str) -> bool:
    tokens = read(claim.text, language).words
    return " | " in claim.text or opens_with_pronoun(tokens, language) or joins_clauses(claim.text, language)


def opens_with_pronoun(tokens: Sequence[Token], language: str) -> bool:
    """Whether its first word stands for something mentioned before."""
    return bool(tokens) and tokens[0].folded in PRONOUNS.get(language, PRONOUNS["en"]).leaning


def joins_clauses(text: str, language: str) -> bool:
    """Whether a sentence is long enough for two statements and has a joining word or semicolon in it."""
    tokens = read(text, language).words
    content = [token for token in tokens if token.content]
    if len(content) < _SHORTEST_JOINED // 2 or len(tokens) < _SHORTEST_JOINED:
        return False
    joiners = lexicon(language).joiners
    inner = tokens[_EACH_SIDE:-_EACH_SIDE]
    return re.search(r";\s", text) is not None or any(token.folded in joiners for token in inner)


_MOST_STATEMENTS = 40
_LONGEST_WORDING = 3
_EXACT = 2.0
"""More than every word of a quote would have to agree to repair it: none is repaired."""


class Refused(Exception):  # noqa: N818 - no error, it never leaves this module
    """A statement that is not taken, with the reason code."""


@dataclass(frozen=True)
class Sentence:
    """A claim of the rules, the answer's text in its place, and what a statement of it may say besides."""

    claim: Claim
    piece: str
    language: str
    known: Collection[str]

    @functools.cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Words of the piece."""
        return tokenize(self.piece, self.language)


def taken_statements(sentence: Sentence, proposed: Sequence[SplitClaim]) -> list[Claim]:
    """The statements proposed for a sentence as claims in order, or the sentence itself with a reason.

    Reasons: `not_split` (nothing proposed), `quote_not_found`, `cut_inside_clause`, `new_words`,
    `words_left_out`, `meaning_changed`, `too_many_statements`.
    """
    try:
        return _taken(sentence, proposed)
    except Refused as refused:
        return [replace(sentence.claim, split_reason=str(refused))]


def known_words(texts: Sequence[str], language: str) -> set[str]:
    """What a wording may add: stems and written forms of the words of these texts."""
    tokens = [token for text in texts for token in tokenize(text, language)]
    return {token.stem for token in tokens} | {token.folded for token in tokens}


def _taken(sentence: Sentence, proposed: Sequence[SplitClaim]) -> list[Claim]:
    if not proposed:
        raise Refused("not_split")
    if len(proposed) > _MOST_STATEMENTS:
        raise Refused("too_many_statements")
    claims: dict[Claim, None] = {}
    kept: set[int] = set()
    for one in proposed:
        claim, places = _statement(sentence, one)
        claims[claim] = None
        kept |= places
    telling = {place for place, token in enumerate(sentence.tokens) if _tells(token, sentence.language)}
    if telling - kept:
        raise Refused("words_left_out")
    return sorted(claims, key=lambda claim: (claim.start, claim.end))


def _tells(token: Token, language: str) -> bool:
    return token.content or token.negative or token.folded in weighty_words(language)


def _statement(sentence: Sentence, proposed: SplitClaim) -> tuple[Claim, set[int]]:
    """One statement as a claim, and the places of the sentence's words that its wording keeps."""
    first, last = _place(sentence, proposed.quote)
    words = sentence.tokens[first : last + 1]
    wording = " ".join(proposed.claim.split())
    worded = tokenize(wording, sentence.language)
    if (
        len(worded) > _LONGEST_WORDING * len(sentence.tokens) + len(sentence.known)
        or not wording.isprintable()
    ):
        raise Refused("new_words")
    if conditions_of(wording, sentence.language) != conditions_of(sentence.piece, sentence.language):
        raise Refused("meaning_changed")
    kept = _kept(sentence, words, worded)
    start, end = (0 if first == 0 else words[0].start), words[-1].end
    if last + 1 == len(sentence.tokens):
        end = len(sentence.piece.rstrip())
    text = plain(sentence.piece[start:end])
    if not is_claim(text, sentence.language):
        raise Refused("cut_inside_clause")
    claim = replace(
        sentence.claim,
        text=text,
        start=sentence.claim.start + start,
        end=sentence.claim.start + end,
        self_contained=None if wording.rstrip(".") == text.rstrip(".") else wording,
        split_by="model",
    )
    return claim, {first + place for place in kept}


def _place(sentence: Sentence, quote: str) -> tuple[int, int]:
    """First and last word of a quote within the sentence."""
    located = locate_quote(quote, sentence.piece, _EXACT)
    if located is None:
        raise Refused("quote_not_found")
    inside = [
        place
        for place, token in enumerate(sentence.tokens)
        if located.start <= token.start and token.end <= located.end
    ]
    if not inside:
        raise Refused("quote_not_found")
    first, last = inside[0], inside[-1]
    text, tokens = sentence.piece, sentence.tokens
    if not (
        starts_clause(text, tokens, first, sentence.language)
        and ends_clause(text, tokens, last, sentence.language)
    ):
        raise Refused("cut_inside_clause")
    return first, last


def _kept(sentence: Sentence, words: Sequence[Token], worded: Sequence[Token]) -> set[int]:
    """Places of the quote's words that the wording keeps.

    Raises:
        Refused: it adds a word that stands nowhere, drops one it must not, or changes what limits it.
    """
    language = sentence.language
    matcher = SequenceMatcher(None, [t.folded for t in words], [t.folded for t in worded], autojunk=False)
    blocks = matcher.get_matching_blocks()
    kept = {place for block in blocks for place in range(block.a, block.a + block.size)}
    repeated = {place for block in blocks for place in range(block.b, block.b + block.size)}
    added = [token for place, token in enumerate(worded) if place not in repeated]
    if any(t.content and t.stem not in sentence.known and t.folded not in sentence.known for t in added):
        raise Refused("new_words")
    if _weights(words, language) != _weights(worded, language):
        raise Refused("meaning_changed")
    runs = _runs([place for place in range(len(words)) if place not in kept])
    dropped = [run for run in runs if any(words[place].content for place in run)]
    if any(character.isdigit() for run in dropped for place in run for character in words[place].folded):
        raise Refused("meaning_changed")
    if not _of_one_row(sentence, words, dropped):
        raise Refused("words_left_out")
    return kept


def _weights(tokens: Sequence[Token], language: str) -> Counter[str]:
    """Words that turn or limit a statement."""
    weighty = weighty_words(language)
    return Counter(token.folded for token in tokens if token.negative or token.folded in weighty)


def _runs(places: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] + 1 == place:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _of_one_row(sentence: Sentence, words: Sequence[Token], dropped: Sequence[Sequence[int]]) -> bool:
    """Whether what was left out are the others of one row: parted from what stays by "and" or a comma."""
    joiners = lexicon(sentence.language).joiners
    text = sentence.piece

    def joined_before(run: Sequence[int]) -> bool:
        first = run[0]
        gap = text[words[first - 1].end : words[first].start] if first else ""
        return words[first].folded in joiners or "," in gap

    def joined_after(run: Sequence[int]) -> bool:
        last = run[-1]
        gap = text[words[last].end : words[last + 1].start] if last + 1 < len(words) else ""
        return words[last].folded in joiners or "," in gap

    if len(dropped) > 2:
        return False
    if len(dropped) == 2:
        return joined_after(dropped[0]) and joined_before(dropped[1])
    return all(joined_before(run) or joined_after(run) for run in dropped)


Row = dict[str, Any]


def split_by_model(
    pairs: pl.DataFrame,
    chunks: pl.DataFrame,
    model: LanguageModel,
    settings: VerificationSettings,
    llm: LLMSettings,
    *,
    notify: ProgressCallback = no_progress,
) -> dict[str, list[Claim]]:
    """Claims of the answers that a model was asked to cut, by pair; the others' are the rules'.

    A reply that failed, and a sentence whose statements are not taken, leave the claims of the rules, and
    those say why.

    Raises:
        PermanentModelError: the model can answer no further request.
        RepliesPendingError: replies are awaited from batch jobs.
    """
    if settings.split_claims == "rules":
        return {}
    passages = passages_by_id(chunks)
    asked: dict[str, tuple[Row, list[Claim]]] = {}
    found: dict[str, list[Claim]] = {}
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    for pair in answered.iter_rows(named=True):
        claims = split_claims(pair["answer"], pair["language"])
        if not _wanted(pair, claims, passages, settings):
            continue
        if too_long(claims):
            found[pair["pair_id"]] = _whole(claims, TOO_LONG)
        else:
            asked[pair["pair_id"]] = pair, claims
    replies = _ask(asked, passages, model, settings, llm, notify)
    for pair_id, reply in replies.items():
        pair, claims = asked[pair_id]
        if isinstance(reply, ModelError):
            found[pair_id] = _whole(claims, reply.reason)
        else:
            found[pair_id] = parse_reply(pair, claims, reply.value)
    return found


def _wanted(
    pair: Row, claims: Sequence[Claim], passages: Mapping[str, Passage], settings: VerificationSettings
) -> bool:
    if settings.split_claims == "model":
        return bool(claims)
    cited = [passages[i].text for i in pair["used_chunk_ids"] if i in passages]
    return worth_splitting(claims, cited, pair["language"])


def _whole(claims: Sequence[Claim], reason: str) -> list[Claim]:
    return [replace(one, split_reason=one.split_reason or reason) for one in claims]


def _ask(
    asked: Mapping[str, tuple[Row, list[Claim]]],
    passages: Mapping[str, Passage],
    model: LanguageModel,
    settings: VerificationSettings,
    llm: LLMSettings,
    notify: ProgressCallback,
) -> dict[str, Reply[SplitReply] | ModelError]:
    """A reply for each pair; equal questions are asked once."""
    requests = {
        pair_id: split_request(pair, [one.text for one in claims], passages, settings, llm.seed)
        for pair_id, (pair, claims) in asked.items()
    }
    distinct = {request.key: request for request in requests.values()}
    replies = complete_all(model, list(distinct.values()), workers=llm.workers, notify=notify)
    by_key = dict(zip(distinct, replies, strict=True))
    return {pair_id: by_key[request.key] for pair_id, request in requests.items()}


def split_request(
    pair: Row,
    sentences: Sequence[str],
    passages: Mapping[str, Passage],
    settings: VerificationSettings,
    seed: int,
) -> Request[SplitReply]:
    """What an answer is cut with; `pair` is its row of the pairs table, `sentences` its claims by the rules.

    The passages are not shown. They are named, because the answer was drafted from them: who has their
    document forgotten has this reply forgotten too.
    """
    prompt = load_prompt(pair["language"], "split")
    numbered = tuple((f"sentence-{n}", text) for n, text in enumerate(sentences, start=1))
    return Request(
        role="split",
        system=prompt.system,
        prompt=prompt.fill(question=Fenced((("question", pair["question"]),)), sentences=Fenced(numbered)),
        reply_model=SplitReply,
        temperature=settings.temperature,
        seed=seed,
        language=pair["language"],
        passages=tuple(passages[i] for i in pair["used_chunk_ids"] if i in passages),
        question=pair["question"],
        answer=pair["answer"],
        batch=pair["batch"],
        prompt_hash=prompt.hash,
    )


def parse_reply(pair: Row, claims: Sequence[Claim], reply: SplitReply) -> list[Claim]:
    """The claims of the rules, each in pieces where the reply's statements of it are taken.

    Args:
        pair: row of the pairs table.
        claims: claims of the rules, in order, as they were shown.
        reply: what the model proposes.
    """
    words, language = without_marks(pair["answer"]), pair["language"]
    finer: list[Claim] = []
    for number, claim in enumerate(claims, start=1):
        known = known_words([pair["question"], words[: claim.end]], language)
        sentence = Sentence(claim, words[claim.start : claim.end], language, known)
        finer += taken_statements(sentence, [one for one in reply.claims if one.sentence == number])
    return with_references(finer, pair["answer"])
