"""Sentences of answers cut into single statements by a language model.

A reply is taken for a sentence only if it loses and adds nothing that rules can tell; otherwise the sentence
stays one claim, with the reason.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import Delimited, delimit, load_prompt
from qa_pipeline.records import Passage, ProgressCallback, SplitClaim, SplitReply, no_progress
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.splitting import (
    AnswerRow,
    Claim,
    is_claim,
    plain,
    split_claims,
    with_references,
)

_JOINT = re.compile(r"[;,]\s|\s[|–—]\s")
_MOST_SENTENCES, _MOST_CHARACTERS = 60, 12_000
"""Sentences and characters of an answer that one request shows; a longer one stays cut by the rules."""
_SHORTEST_JOINED = 8
"""Words of a sentence that may hold two statements."""
_MOST_STATEMENTS = 40
"""Statements taken of one sentence: a model that finds more repeats itself, and each has to be proved."""
_LONGEST_WORDING = 3
"""Times the words of a sentence that a statement of it may have: names for its pronouns, no essay."""


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
    """Return the claims that a model cut out of the answers of drafted pairs, by pair.

    Absent answers keep the claims of the rules. Equal questions are asked once. A reply that failed, and a
    sentence whose statements are not taken, leave the claims of the rules with the reason; reasons of failed
    replies also come into `failures`, by pair.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    if settings.split_claims == "rules":
        return {}
    pending: list[tuple[AnswerRow, list[Claim], Request[SplitReply]]] = []
    claims_by_pair: dict[str, list[Claim]] = {}
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    for answer in typed_rows(answered, AnswerRow):
        claims = split_claims(answer["answer"], answer["language"])
        cited = [passages[i].text for i in answer["used_chunk_ids"] if i in passages]
        if not claims or (settings.split_claims == "auto" and not _worth(claims, cited, answer["language"])):
            continue
        if len(claims) > _MOST_SENTENCES or sum(len(claim.text) for claim in claims) > _MOST_CHARACTERS:
            claims_by_pair[answer["pair_id"]] = _unsplit(claims, "too_long_to_split")
        else:
            pending.append((answer, claims, split_request(answer, claims, passages, settings, llm)))
    requests = {request.key: request for _, _, request in pending}
    replies = complete_all(model, list(requests.values()), workers=llm.workers, notify=notify)
    by_key = dict(zip(requests, replies, strict=True))
    for answer, claims, request in pending:
        pair_id, reply = answer["pair_id"], by_key[request.key]
        if isinstance(reply, ModelError):
            claims_by_pair[pair_id] = _unsplit(claims, reply.reason)
            if failures is not None:
                failures[pair_id] = reply.reason
        else:
            claims_by_pair[pair_id] = taken_claims(answer, claims, reply.value)
    return claims_by_pair


def _unsplit(claims: Sequence[Claim], reason: str) -> list[Claim]:
    return [replace(claim, split_reason=claim.split_reason or reason) for claim in claims]


def _worth(claims: Sequence[Claim], cited: Sequence[str], language: str) -> bool:
    """Return True if a sentence may state several things and no cited text says it word for word."""
    spans = ((text, span) for text in cited for span in sentence_spans(text, language))
    stated = {read(text[slice(*span)], language).folded for text, span in spans}
    words = lexicon(language).proof
    for claim in claims:
        reading = read(claim.text, language)
        joined = _JOINT.search(claim.text) or not words.clause_joiners.isdisjoint(reading.lower_tokens[2:-2])
        is_compound = joined and len(reading.words) >= _SHORTEST_JOINED
        if (is_compound or reading.opens_with(words.pronouns)) and reading.folded not in stated:
            return True
    return False


def split_request(
    answer: AnswerRow,
    claims: Sequence[Claim],
    passages: Mapping[str, Passage],
    settings: VerificationSettings,
    llm: LLMSettings,
) -> Request[SplitReply]:
    """Return the request to split an answer, whose claims by the rules are shown.

    The passages are not shown. They are named, because the answer was drafted from them: the reply is erased
    together with their document.
    """
    prompt = load_prompt(answer["language"], "split", llm)
    numbered = tuple((f"sentence-{n}", claim.text) for n, claim in enumerate(claims, start=1))
    return Request(
        role="split",
        system=prompt.system,
        prompt=prompt.fill(question=delimit(answer["question"], "question"), sentences=Delimited(numbered)),
        reply_model=SplitReply,
        temperature=settings.temperature,
        seed=llm.seed,
        language=answer["language"],
        passages=tuple(passages[i] for i in answer["used_chunk_ids"] if i in passages),
        question=answer["question"],
        answer=answer["answer"],
        batch=answer["batch"],
        prompt_hash=prompt.hash,
    )


def taken_claims(answer: AnswerRow, claims: Sequence[Claim], reply: SplitReply) -> list[Claim]:
    """Return the claims of the rules, each in statements where those of the reply are taken.

    A claim whose statements are not taken has the reason: `not_split` (nothing proposed), `quote_not_found`,
    `new_words`, `words_left_out`, `meaning_changed`, `too_many_statements`.
    """
    written = without_marks(answer["answer"])
    finer: list[Claim] = []
    for number, claim in enumerate(claims, start=1):
        proposed = [statement for statement in reply.claims if statement.sentence == number]
        written_before = read(f"{answer['question']}\n{written[: claim.end]}", answer["language"])
        try:
            finer += _statements(claim, written[claim.start : claim.end], proposed, written_before)
        except _RefusedError as refused:
            finer.append(replace(claim, split_reason=str(refused)))
    return with_references(finer, answer["answer"])


class _RefusedError(Exception):
    """A statement that is not taken, with the reason code."""


def _statements(
    claim: Claim, sentence: str, proposed: Sequence[SplitClaim], written_before: Reading
) -> list[Claim]:
    """Return the statements proposed for a sentence as claims in order, which together hold all its words.

    Raises:
        _RefusedError: one of them, or all together, cannot be taken.
    """
    if not proposed:
        raise _RefusedError("not_split")
    if len(proposed) > _MOST_STATEMENTS:
        raise _RefusedError("too_many_statements")
    reading = read(sentence, written_before.language)
    missing = {word.start for word in reading.words if word.content or word.negative}
    claims: dict[Claim, None] = {}
    for statement in proposed:
        start = sentence.find(statement.quote.strip())
        if start < 0 or not is_claim(statement.quote):
            raise _RefusedError("quote_not_found")
        end = start + len(statement.quote.strip())
        if not sentence[end:].strip(" .!?"):
            end = len(sentence.rstrip())
        worded = read(" ".join(statement.claim.split()), written_before.language)
        _check(worded, read(sentence[start:end], written_before.language), reading, written_before)
        missing -= {
            word.start
            for word in reading.words
            if start <= word.start < end and (word.negative or word.stem in worded.stem_set)
        }
        text = plain(sentence[start:end])
        alone = None if worded.written.rstrip(".") == text.rstrip(".") else worded.written
        first, last = claim.start + start, claim.start + end
        made = replace(claim, text=text, start=first, end=last, self_contained=alone, split_by="model")
        claims[made] = None
    if missing:
        raise _RefusedError("words_left_out")
    return sorted(claims, key=lambda made: (made.start, made.end))


def _check(worded: Reading, quoted: Reading, sentence: Reading, written_before: Reading) -> None:
    """Check the wording of a statement against its quote, its sentence and all that was written before.

    Raises:
        _RefusedError: it adds a word, or drops a figure, a negation or what limits the sentence.
    """
    is_essay = len(worded.words) > _LONGEST_WORDING * len(sentence.words) + 8
    is_known = worded.stem_set <= written_before.stem_set | sentence.stem_set
    if is_essay or not is_known or not worded.written.isprintable():
        raise _RefusedError("new_words")
    words = lexicon(written_before.language).proof
    limits = words.scope.intersection(quoted.lower_tokens)
    limits |= words.conditions.intersection(sentence.lower_tokens)
    is_complete = quoted.figures <= worded.figures and limits <= {*worded.lower_tokens}
    if quoted.negations != worded.negations or not is_complete:
        raise _RefusedError("meaning_changed")
