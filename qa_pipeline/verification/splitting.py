"""Split an answer into claims: its sentences, list items and table rows, with their marked sources."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Request, complete_all
from qa_pipeline.prompts.loading import Delimited, delimit, load_prompt
from qa_pipeline.records import Passage, ProgressCallback, SplitClaim, SplitReply, no_progress
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK, mark_references, without_marks
from qa_pipeline.text.sentences import sentence_spans

_LABEL = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|>\s*|#{1,6}\s+)+")  # "- [x] ", "2. "
_FRAGMENT_TERMS = 1  # a claim of at most this many content words needs its question
MOST_CLAIMS = 500
"""Maximum claims of an answer. An answer with more fails, so that it cannot block a whole run."""
TOO_MANY = "too_many_claims"


class AnswerRow(TypedDict):
    """An answer, its question and the chunks it was drafted from."""

    pair_id: str
    batch: str
    question: str
    answer: str
    language: str
    used_chunk_ids: list[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkable statement. `text` is the answer from start to end without citation marks.

    `self_contained` rewords a claim that is unclear alone. `split_reason` tells why the rules split an answer
    that a model should have split.
    """

    text: str
    start: int
    end: int
    references: tuple[str, ...] = ()
    self_contained: str | None = None
    split_by: Literal["rules", "model"] = "rules"
    split_reason: str | None = None

    @property
    def wording(self) -> str:
        """Return the self-contained wording, by default the text."""
        return self.text if self.self_contained is None else self.self_contained


def split_claims(answer: str, language: str) -> list[Claim]:
    """Return the claims of an answer in order.

    The claims contain every word but list labels and citation marks. A mark gives its sources to the last
    claim that begins before it. A mark before all claims gives them to the first.

    After `MOST_CLAIMS` claims, an extra claim contains the rest, with the reason `too_many_claims`.
    """
    text = without_marks(answer)
    spans = [_trimmed(text, start, end) for start, end in sentence_spans(text, language)]
    claims = [Claim(plain(text[start:end]), start, end) for start, end in spans if is_claim(text[start:end])]
    if len(claims) > MOST_CLAIMS:
        rest = Claim(plain(text[claims[MOST_CLAIMS].start :]), claims[MOST_CLAIMS].start, claims[-1].end)
        claims[MOST_CLAIMS:] = [replace(rest, split_reason=TOO_MANY)]
    return with_references(claims, answer)


def with_references(claims: Sequence[Claim], answer: str) -> list[Claim]:
    """Give each claim the sources marked after its beginning.

    Claims that a model split from a sentence keep the sources of that sentence unless they have their own.
    """
    references: dict[int, list[str]] = {}  # by index of their claim
    owner = 0  # index of the last claim that begins before the mark
    marks = [*SOURCE_MARK.finditer(answer), *NUMBER_MARK.finditer(answer)]
    for mark in sorted(marks, key=lambda match: match.start()):
        while owner + 1 < len(claims) and claims[owner + 1].start < mark.start():
            owner += 1
        # a mark of numbers such as [1] is itself the reference
        references.setdefault(owner, []).extend(mark_references(mark[0]) or [mark[0]])
    return [
        replace(claim, references=tuple(references.get(index, claim.references)))
        for index, claim in enumerate(claims)
    ]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without list labels, heading signs and surrounding blanks."""
    label = _LABEL.match(text, start, end)
    start = label.end() if label else start
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def plain(text: str) -> str:
    """Return the text of a claim on one line, without gaps before punctuation."""
    return re.sub(r" ([.,;:!?])", r"\1", " ".join(text.split()))


def is_claim(text: str) -> bool:
    """Return True if a text contains more than punctuation and spaces."""
    return any(character.isalnum() or unicodedata.category(character) == "So" for character in text)


def is_fragment(text: str, terms: int) -> bool:
    """Return True if a claim needs its question: few content words (`terms`), or an incomplete sentence."""
    is_complete = not text[:1].islower() and text.rstrip("\"'”’»)* ")[-1:] in (".", "!")
    return terms <= _FRAGMENT_TERMS or not is_complete


_JOINT = re.compile(r"[;,]\s|\s[|–—]\s")  # signs that may join two statements
_MOST_CHARACTERS = 12_000  # of an answer in a request; longer answers are split by the rules only
_SHORTEST_JOINED = 8  # minimum words of a sentence that may contain two statements
_LONGEST_WORDING, _ADDED_WORDS = 3, 8
"""Maximum words of a statement: this multiple of its sentence, and words for the names behind pronouns."""


def split_answers(
    pairs: pl.DataFrame,
    passages: Mapping[str, Passage],
    model: LanguageModel,
    settings: VerificationSettings,
    llm: LLMSettings,
    *,
    notify: ProgressCallback = no_progress,
    failures: dict[str, str] | None = None,
) -> dict[str, list[Claim]]:
    """Split the answers of drafted pairs with a model and return the claims by pair.

    Refusals and answers that need not be split are absent. Equal requests are sent once. If a reply fails or
    its statements are not accepted, the claims of the rules are kept with the reason. `failures` collects the
    reasons of failed replies by pair.

    Raises:
        PermanentModelError: the model cannot answer further requests.
    """
    if settings.split_claims == "rules":
        return {}
    pending: list[tuple[AnswerRow, list[Claim], Request[SplitReply]]] = []
    claims_by_pair: dict[str, list[Claim]] = {}
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    for answer in typed_rows(answered, AnswerRow):
        claims = split_claims(answer["answer"], answer["language"])
        cited = [passages[chunk_id].text for chunk_id in answer["used_chunk_ids"] if chunk_id in passages]
        needs_model = settings.split_claims == "model" or _worth_splitting(claims, cited, answer["language"])
        if not claims or not needs_model:
            continue
        if sum(len(claim.text) for claim in claims) > _MOST_CHARACTERS:
            claims_by_pair[answer["pair_id"]] = _unsplit(claims, "too_long_to_split")
        else:
            pending.append((answer, claims, split_request(answer, claims, passages, settings, llm)))
    requests_by_key = {request.key: request for _, _, request in pending}
    replies = complete_all(model, list(requests_by_key.values()), workers=llm.workers, notify=notify)
    replies_by_key = dict(zip(requests_by_key, replies, strict=True))
    for answer, claims, request in pending:
        pair_id, reply = answer["pair_id"], replies_by_key[request.key]
        if isinstance(reply, ModelError):
            claims_by_pair[pair_id] = _unsplit(claims, reply.reason)
            if failures is not None:
                failures[pair_id] = reply.reason
        else:
            claims_by_pair[pair_id] = accept_statements(answer, claims, reply.value)
    return claims_by_pair


def _unsplit(claims: Sequence[Claim], reason: str) -> list[Claim]:
    """Return the claims of the rules with the reason why a model did not split them."""
    return [replace(claim, split_reason=claim.split_reason or reason) for claim in claims]


def _worth_splitting(claims: Sequence[Claim], cited_texts: Sequence[str], language: str) -> bool:
    """Return True for a claim outside the cited sentences that is compound or opens with a pronoun."""
    spans = ((text, span) for text in cited_texts for span in sentence_spans(text, language))
    cited_sentences = {read(text[slice(*span)], language).folded for text, span in spans}
    words = lexicon(language).proof
    for claim in claims:
        reading = read(claim.text, language)
        inner_tokens = reading.lower_tokens[2:-2]  # words at the ends, such as "But", join no clauses
        has_joiner = not words.clause_joiners.isdisjoint(inner_tokens)
        is_long = len(reading.words) >= _SHORTEST_JOINED
        may_be_compound = is_long and (has_joiner or _JOINT.search(claim.text))
        opens_with_pronoun = reading.opens_with(words.pronouns)
        if (may_be_compound or opens_with_pronoun) and reading.folded not in cited_sentences:
            return True
    return False


def split_request(
    answer: AnswerRow,
    claims: Sequence[Claim],
    passages: Mapping[str, Passage],
    settings: VerificationSettings,
    llm: LLMSettings,
) -> Request[SplitReply]:
    """Return the request to split an answer, with its rule-based claims.

    The prompt does not show the passages. The request lists them, so that the stored reply is erased together
    with a document from which the answer was drafted.
    """
    prompt = load_prompt(answer["language"], "split", llm)
    numbered = tuple((f"sentence-{n}", claim.text) for n, claim in enumerate(claims, start=1))
    return Request(
        role="split",
        system=prompt.system,
        prompt=prompt.fill(question=delimit(answer["question"], "question"), sentences=Delimited(numbered)),
        reply_model=SplitReply,
        temperature=settings.temperature,
        language=answer["language"],
        passages=tuple(passages[chunk_id] for chunk_id in answer["used_chunk_ids"] if chunk_id in passages),
        question=answer["question"],
        answer=answer["answer"],
        batch=answer["batch"],
        prompt_hash=prompt.hash,
    )


def accept_statements(answer: AnswerRow, claims: Sequence[Claim], reply: SplitReply) -> list[Claim]:
    """Replace the claims of the rules by the statements of a reply that can be accepted.

    A claim that stays whole has the reason `not_split` (empty reply), `quote_not_found`, `new_words`,
    `words_left_out` or `meaning_changed`.
    """
    written = without_marks(answer["answer"])
    accepted: list[Claim] = []
    for number, claim in enumerate(claims, start=1):
        proposed = [statement for statement in reply.claims if statement.sentence == number]
        said_before = read(f"{answer['question']}\n{written[: claim.end]}", answer["language"])
        try:
            accepted += _split_claim(claim, written[claim.start : claim.end], proposed, said_before)
        except _RefusedError as refused:
            accepted.append(replace(claim, split_reason=str(refused)))
    return with_references(accepted, answer["answer"])


class _RefusedError(Exception):
    """A statement is not accepted. The message is the reason code."""


def _split_claim(claim: Claim, text: str, proposed: list[SplitClaim], said_before: Reading) -> list[Claim]:
    """Return a claim for each proposed statement, in order, or refuse them all.

    Together they cover the words of the sentence (`text`, as in the answer). They may also use other words of
    `said_before`, the question and the answer up to the end of the sentence.
    """
    if not proposed:
        raise _RefusedError("not_split")
    language = said_before.language
    sentence = read(text, language)
    uncovered = {word for word in sentence.words if word.content or word.negative}  # with offsets in `text`
    claims: dict[Claim, None] = {}  # an ordered set: equal statements count once
    for statement in proposed:
        start, end = _quoted_span(text, statement.quote)
        quoted = read(text[start:end], language)
        wording = read(" ".join(statement.claim.split()), language)
        _check_statement(wording, quoted, sentence, said_before)
        quoted_words = {word for word in uncovered if start <= word.start < end}
        # a quoted content word is covered if the wording has its stem; negations were compared by the check
        uncovered -= {word for word in quoted_words if word.negative or word.stem in wording.stem_set}
        quote = plain(quoted.written)
        reworded = None if wording.written.rstrip(".") == quote.rstrip(".") else wording.written
        part = replace(claim, text=quote, start=claim.start + start, end=claim.start + end)
        claims[replace(part, self_contained=reworded, split_by="model")] = None
    if uncovered:
        raise _RefusedError("words_left_out")
    return sorted(claims, key=lambda part: (part.start, part.end))


def _quoted_span(sentence: str, quote: str) -> tuple[int, int]:
    """Return the first span of a quote in a sentence, or refuse it. The last quote includes the full stop."""
    start = sentence.find(quote.strip())
    if start < 0 or not is_claim(quote):
        raise _RefusedError("quote_not_found")
    end = start + len(quote.strip())
    is_last = not sentence[end:].strip(" .!?")
    return start, len(sentence.rstrip()) if is_last else end


def _check_statement(wording: Reading, quoted: Reading, sentence: Reading, said_before: Reading) -> None:
    """Refuse a `wording` with new, hidden or too many words, or without a figure, negation or restriction.

    For "It weighs 5 kg and floats if empty", the `quoted` part "floats if empty" may get the wording "The box
    floats if empty", if `said_before` (question and answer up to the end of the sentence) names the box.
    """
    is_too_long = len(wording.words) > _LONGEST_WORDING * len(sentence.words) + _ADDED_WORDS
    new_words = wording.stem_set - said_before.stem_set
    has_hidden_signs = not wording.written.isprintable()
    if is_too_long or new_words or has_hidden_signs:
        raise _RefusedError("new_words")
    vocabulary = lexicon(said_before.language).proof
    restrictions = vocabulary.scope.intersection(quoted.lower_tokens)  # such as "only"
    # such as "if": a condition anywhere in the sentence restricts all its statements
    restrictions |= vocabulary.conditions.intersection(sentence.lower_tokens)
    keeps_restrictions = restrictions <= {*wording.lower_tokens}
    keeps_figures = quoted.figures <= wording.figures
    if quoted.negations != wording.negations or not keeps_restrictions or not keeps_figures:
        raise _RefusedError("meaning_changed")
