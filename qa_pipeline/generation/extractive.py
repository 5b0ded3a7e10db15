"""The offline language model: fixed rules that ask about headings and plain statements of a passage.

Answers are verbatim text. It neither verifies nor judges: rules that agree with themselves prove nothing.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

from qa_pipeline.errors import PermanentModelError
from qa_pipeline.generation.passages import (
    Reading,
    Statement,
    Unit,
    folded,
    has,
    plain,
    sentences_of,
    words_of,
)
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import LEXICONS, any_of, lexicon


class ExtractiveModel:
    """A model that asks and answers by rules, without weights, key, network or randomness."""

    @property
    def name(self) -> str:
        """Return `extractive/` and a hash of the rules' source, so that a changed rule is a new model."""
        return f"extractive/{_rules_hash()}"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Fill the reply model from the request's passages.

        Raises:
            PermanentModelError: the request asks for verification or judgement.
        """
        payload: dict[str, Any]
        if request.role == "questions":
            candidates = find_candidates(request.passages[0])[: request.limit] if request.passages else ()
            asked = [{"question": pair.question, "question_type": "fact_single"} for pair in candidates]
            payload = {"questions": asked}
        elif request.role == "standalone":
            payload = {"question": None}  # the rules rewrite nothing
        elif request.role == "answer":
            payload = _answer(request)
        else:
            raise PermanentModelError(
                f"the extractive provider writes only questions and answers, and has no role "
                f"{request.role!r}; turn off the judge and verification by a model, or configure "
                "another provider"
            )
        value = request.reply_model.model_validate(payload)
        raw = json.dumps(payload, ensure_ascii=False, sort_keys=True)
        return Reply(value=value, raw=raw, model=self.name)


def _answer(request: Request[Any]) -> dict[str, Any]:
    """Answer from the first passage whose rules ask exactly this question, or refuse."""
    for number, passage in enumerate(request.passages, start=1):
        for candidate in find_candidates(passage):
            if candidate.question == request.question:
                return {
                    "coverage": "full",
                    "answer": candidate.answer,
                    "used_chunks": [number],
                    "citations": [{"passage": number, "quote": candidate.quote}],
                }
    return {"coverage": "none", "answer": refusal(request.language), "used_chunks": [], "citations": []}


@functools.cache
def _rules_hash() -> str:
    """Hash the source of the rules and of the text package that they use."""
    folder = Path(__file__).parent
    rules = [Path(__file__), folder / "passages.py", folder / "extractive_words.toml"]
    texts = (folder.parent / "text").rglob("*")
    files = [*rules, *sorted(file for file in texts if file.suffix in (".py", ".toml"))]
    sources = (file.read_bytes().replace(b"\r\n", b"\n") for file in files)
    return hashlib.sha256(b"\0".join(sources)).hexdigest()[:12]


MAX_QUESTION, MIN_ANSWER, MAX_ANSWER = 200, 40, 490
"""Limits in characters. An answer of 500 that is most of its passage would count as a copy."""

_TORN = re.compile(
    r"\s[.,;](?:\s|$)|\(\s*\)(?<!\w\(\))|\\f[BIPR]|\b([^\W\d]{3,}) \1\b|[<>{}\ufffd]"
    r"|[^\W\d_]- (?!and|or|och|und|oder)[^\W\d_]"
)
"""Remains of a picture, link or line break ("click on , then"), or a heading joined to its text."""
_ENDS = '.!?)”"»'
_BRACKETS = ("()", "[]", "“”", "«»")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that a passage answers. `quote` is verbatim text, and `answer` is the quote on one line."""

    question: str
    answer: str
    quote: str


@functools.lru_cache(maxsize=4096)
def find_candidates(passage: Passage) -> tuple[Candidate, ...]:
    """Return the distinct questions and answers of a passage, best kind first."""
    if passage.language not in LEXICONS:
        return ()
    read = Reading(passage)
    by_question: dict[str, Candidate] = {}
    for question, start, end in chain(_asking_headings(read), _statements(read)):
        quote = read.text[start:end]
        answer = " ".join(quote.split())
        if _is_well_formed(question, answer):
            by_question.setdefault(question.casefold(), Candidate(question, answer, quote))
    return tuple(by_question.values())


def _is_well_formed(question: str, answer: str) -> bool:
    """Return True if both texts are short enough, and neither torn nor with an open bracket."""
    return (
        len(question) <= MAX_QUESTION
        and len(answer) <= MAX_ANSWER
        and all(
            not _TORN.search(text) and all(text.count(pair[0]) == text.count(pair[1]) for pair in _BRACKETS)
            for text in (question, answer)
        )
    )


def _asking_headings(read: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield headings that are questions, with the span of the text below them."""
    for index, unit in enumerate(read.units):
        question = plain(unit.text)
        if unit.kind != "heading" or not _is_standalone(question, read):
            continue
        span = _answer_below(read.units[index + 1 :], read)
        if span and read.stems(question) & read.stems(read.text[slice(*span)]):
            yield question, *span


def _is_standalone(question: str, read: Reading) -> bool:
    """Return True if a heading is a single question about a named subject, without addressing the reader."""
    grammar, asked_words = read.grammar, folded(question)
    return (
        question.endswith("?")
        and question.count("?") == 1
        and len(asked_words) > 2
        and asked_words[0] in grammar.question_openers | grammar.finite_verbs
        and read.is_named(question)
        and not read.needs_context(question)
        and (grammar.speakers | grammar.pronouns.leaning).isdisjoint(asked_words)
    )


def _answer_below(units: Sequence[Unit], read: Reading) -> tuple[int, int] | None:
    """Return the span of the whole paragraphs below a heading, up to a sentence that refers elsewhere."""
    start = end = units[0].start if units else 0
    for unit in takewhile(lambda unit: unit.kind == "prose", units):
        sentences = sentences_of(unit, read.passage)
        leading = list(takewhile(lambda sentence: not has(sentence.text, read.words.pointing), sentences))
        if unit.text[-1] not in _ENDS or not leading or unit.end - start > MAX_ANSWER:
            break  # an open end, a reference elsewhere, or too long
        end = leading[-1].end
        if len(leading) < len(sentences):  # the next sentence refers elsewhere
            break
    is_dangling = has(read.text[start:end].partition(" ")[0], read.grammar.pronouns.demonstratives)
    return (start, end) if end - start >= MIN_ANSWER and not is_dangling else None


def _statements(read: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield questions about sentences with a named subject: its definition, date or amount.

    The first pattern that fits a sentence decides its question.
    """
    prose = (unit for unit in read.units if unit.kind == "prose")
    for sentence in chain.from_iterable(sentences_of(unit, read.passage) for unit in prose):
        for statement, pattern in _patterns(read.passage.language):
            match = pattern.fullmatch(sentence.text)
            if match is None or read.needs_context(match[0]):
                continue
            subject = _subject(match, statement, read)
            if subject:
                question = statement.question.format_map({**match.groupdict(), "subject": subject})
                yield question, sentence.start, sentence.end
                break


@functools.cache
def _patterns(language: str) -> list[tuple[Statement, re.Pattern[str]]]:
    """Return the pattern of each kind of statement of a language."""
    grammar, words = lexicon(language), words_of(language)
    date_lead = any_of(grammar.prepositions | grammar.definite | grammar.year_leads)
    month = rf"(?i:{any_of(grammar.months)})"
    not_weak = rf"(?!(?i:{any_of(words.weak)})\b)"
    # the regular expressions for the placeholders in `says`, such as "{subject} is {thing}"; a thing has at
    # least 25 characters, a word of purpose such as "that" or "for", and no weak first word such as "good"
    parts = {
        "subject": r"(?P<subject>(?:[^\s,;:!?()]+ ){0,8}?[^\s,;:!?()]*\w)(?: \([^()]{1,60}\)){0,2}",
        "thing": rf"{any_of(grammar.indefinite)} {not_weak}(?=.{{25}})(?=.*{any_of(words.purposes)}).*\.",
        "anything": r".{15,}\.",
        "number": r"\d.*\.",
        "date": rf"(?:{date_lead} )+(?:\d{{1,2}}\.? )?(?:{month} )?(?:\d{{1,2}}, )?(?:1[5-9]|20)\d\d\b",
    }
    return [(statement, re.compile(statement.says.format_map(parts))) for statement in words.statements]


def _subject(match: re.Match[str], statement: Statement, read: Reading) -> str | None:
    """Return a subject in the form for a question, if it is a name, a heading or a class.

    "The Pump" of "The Pump is a device that …" becomes "the Pump", as in "What is the Pump?".
    """
    grammar, written = read.grammar, match["subject"]
    # `inner` is the subject without its article
    articles, parts = grammar.definite | grammar.indefinite, folded(written)
    has_article = not articles.isdisjoint(parts[:1])
    inner = parts[1:] if has_article else parts
    if not _is_noun_phrase(inner, read):
        return None
    defines = statement.says.endswith("{thing}")  # "What is …?"
    is_title_case = not any(word[0].islower() for word in written.split())
    names = read.names_in(written)
    is_name = inner[0] in names or read.writes_as_name(written.split()[1 if has_article else 0])
    is_headed = read.is_headed(" ".join(inner))
    if parts[0] in grammar.indefinite:  # a class: a compound is two words, unless it is written as one
        is_clear = defines and (len(inner) > 1 or not grammar.open_compounds)
    else:  # a known subject with an article, or without a definition, needs a name
        is_known = is_headed or is_name or (not defines and bool(names))
        is_clear = is_known and ((defines and not has_article) or read.is_named(written))
    if not is_clear and not statement.says.endswith("{anything}"):
        return None
    return written if is_title_case and not has_article else read.small(written)


def _is_noun_phrase(words: Sequence[str], read: Reading) -> bool:
    """Return True if the words of a subject, without article, can be a noun with its attributes."""
    grammar = read.grammar
    cannot_begin = grammar.stop_words | grammar.prepositions | read.words.weak
    clause_words = grammar.finite_verbs | grammar.question_openers | grammar.conditional_words
    clause_words |= grammar.infinitive_marks | grammar.joiners
    return bool(words) and words[0] not in cannot_begin and clause_words.isdisjoint(words)
