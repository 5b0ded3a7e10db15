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
        """Fill the reply model from the request's passages; raise a PermanentModelError for other roles."""
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
    r"\s[.,;](?:\s|$)"  # "click on , then": a picture is missing
    r"|\(\s*\)(?<!\w\(\))"  # "( )": a link is missing; "call()" is whole
    r"|\\f[BIPR]|[<>{}\ufffd]"  # marks of a layout
    r"|\b([^\W\d]{3,}) \1\b"  # "Setup Setup": a heading is joined to its text
    r"|[^\W\d_]- (?!and|or|och|und|oder)[^\W\d_]"  # "exam- ple": a line break; "pre- and post-" is whole
)
_FINAL_MARKS = '.!?)”"»'
_BRACKETS = (("(", ")"), ("[", "]"), ("“", "”"), ("«", "»"))


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
    reading = Reading(passage)
    by_question: dict[str, Candidate] = {}
    for question, start, end in chain(_asking_headings(reading), _statements(reading)):
        quote = reading.text[start:end]
        answer = " ".join(quote.split())
        if _is_well_formed(question, answer):
            by_question.setdefault(question.casefold(), Candidate(question, answer, quote))
    return tuple(by_question.values())


def _is_well_formed(question: str, answer: str) -> bool:
    """Return True if both texts are short enough, and neither torn nor with an open bracket."""
    texts = (question, answer)
    is_short = len(question) <= MAX_QUESTION and len(answer) <= MAX_ANSWER
    is_torn = any(_TORN.search(text) for text in texts)
    is_balanced = all(text.count(left) == text.count(right) for text in texts for left, right in _BRACKETS)
    return is_short and not is_torn and is_balanced


def _asking_headings(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield headings that are questions, each with start and end of the answer below it."""
    for index, unit in enumerate(reading.units):
        question = plain(unit.text)
        if unit.kind != "heading" or not _is_standalone(question, reading):
            continue
        span = _answer_below(reading.units[index + 1 :], reading)
        # a text that shares no word with its heading answers something else
        if span and reading.stems(question) & reading.stems(reading.text[slice(*span)]):
            yield question, *span


def _is_standalone(question: str, reading: Reading) -> bool:
    """Return True if a heading is a single question about a named subject, without addressing the reader."""
    grammar, words = reading.grammar, folded(question)
    is_single_question = question.endswith("?") and question.count("?") == 1
    if not is_single_question or len(words) < 3:
        return False
    opens_question = words[0] in grammar.question_openers | grammar.finite_verbs
    has_pronoun = not (grammar.speakers | grammar.pronouns.referring).isdisjoint(words)  # "you", "it"
    needs_context = reading.needs_context(question) or has_pronoun
    return opens_question and reading.mentions_name(question) and not needs_context


def _answer_below(units: Sequence[Unit], reading: Reading) -> tuple[int, int] | None:
    """Return start and end of the answer below a heading, or None if the text does not answer alone.

    The answer ends before a heading, list or table, or before a sentence that refers elsewhere.
    """
    start = end = units[0].start if units else 0
    for paragraph in takewhile(lambda unit: unit.kind == "prose", units):
        sentences = sentences_of(paragraph, reading.passage)
        leading = list(takewhile(lambda sentence: not has(sentence.text, reading.words.pointing), sentences))
        is_whole = paragraph.text[-1] in _FINAL_MARKS
        is_too_long = paragraph.end - start > MAX_ANSWER
        if not is_whole or not leading or is_too_long:
            break  # the answer ends with the paragraph before
        end = leading[-1].end
        if len(leading) < len(sentences):  # the next sentence refers elsewhere
            break
    first_word = reading.text[start:end].partition(" ")[0]
    opens_with_pronoun = has(first_word, reading.grammar.pronouns.demonstratives)  # such as "This"
    return (start, end) if end - start >= MIN_ANSWER and not opens_with_pronoun else None


def _statements(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield questions about a definition, date or amount, each with start and end of its sentence.

    The first pattern that fits a sentence and its subject decides the question.
    """
    prose = (unit for unit in reading.units if unit.kind == "prose")
    for sentence in chain.from_iterable(sentences_of(unit, reading.passage) for unit in prose):
        for statement, pattern in _patterns(reading.passage.language):
            match = pattern.fullmatch(sentence.text)
            if match is None or reading.needs_context(match[0]):
                continue
            if subject := _subject(match, statement, reading):
                question = statement.question.format_map({**match.groupdict(), "subject": subject})
                yield question, sentence.start, sentence.end
                break


@functools.cache
def _patterns(language: str) -> list[tuple[Statement, re.Pattern[str]]]:
    """Return the pattern of each kind of statement of a language."""
    grammar, words = lexicon(language), words_of(language)
    date_lead = any_of(grammar.prepositions | grammar.definite | grammar.year_leads)  # "in", "the", "year"
    month = rf"(?i:{any_of(grammar.months)})"
    not_weak = rf"(?!(?i:{any_of(words.weak)})\b)"  # not "a way", "a good pump", which define nothing
    has_purpose = rf"(?=.*{any_of(words.purposes)})"  # " that ", " for "
    # the regular expressions for the placeholders in `says`, such as "{subject} is {thing}"
    parts = {
        # up to nine words, then brackets that are ignored: "The Main Pump (MP)"
        "subject": r"(?P<subject>(?:[^\s,;:!?()]+ ){0,8}?[^\s,;:!?()]*\w)(?: \([^()]{1,60}\)){0,2}",
        # "a device that moves the water.": at least 25 characters after the article
        "thing": rf"{any_of(grammar.indefinite)} {not_weak}(?=.{{25}}){has_purpose}.*\.",
        "anything": r".{15,}\.",
        "number": r"\d.*\.",
        # "in May 1998", "on 5 May 1998", "by May 5, 1998", "in the year 1998", "im Jahr 1998"
        "date": rf"(?:{date_lead} )+(?:\d{{1,2}}\.? )?(?:{month} )?(?:\d{{1,2}}, )?(?:1[5-9]|20)\d\d\b",
    }
    return [(statement, re.compile(statement.says.format_map(parts))) for statement in words.statements]


def _subject(match: re.Match[str], statement: Statement, reading: Reading) -> str | None:
    """Return the subject of a sentence in the form for a question, or None if the question would be unclear.

    "The Pump" of "The Pump is a device that …" becomes "the Pump", as in "What is the Pump?".
    """
    grammar, written = reading.grammar, match["subject"]
    words = folded(written)
    has_article = not (grammar.definite | grammar.indefinite).isdisjoint(words[:1])
    article, noun = (words[0], words[1:]) if has_article else ("", words)  # noun: words with its attributes
    if not _is_noun_phrase(noun, reading) or not _is_clear(written, article, noun, statement.says, reading):
        return None
    # "Main Pump" keeps its capitals; "The Pump" and "Pumps of steel" lose that of the sentence opening
    is_title_case = not any(word[0].islower() for word in written.split())
    return written if is_title_case and not has_article else reading.small(written)


def _is_clear(written: str, article: str, noun: Sequence[str], says: str, reading: Reading) -> bool:
    """Return True if a question about a subject, such as "The Main Pump", is clear without the passage.

    `noun` has the words after the article. `says` is the pattern of the sentence, of these kinds:

    - {anything}, "Med en ventil avses …": always clear, since it explains any word
    - {thing}, a definition: clear for "a check valve", "Kafka", "the Main Pump", not "a valve", "the pump"
    - {date} or {number}: clear for a subject with a name anywhere, such as "the plant in Lund"
    """
    if says.endswith("{anything}"):
        return True
    names, is_definition = reading.names_in(written), says.endswith("{thing}")
    if article in reading.grammar.indefinite:
        is_specific = len(noun) > 1 or not reading.grammar.open_compounds  # a German compound is one word
        return is_definition and is_specific
    without_article = written.split(maxsplit=1)[-1] if article else written
    opens_with_name = noun[0] in names or reading.writes_as_name(without_article.split()[0])
    is_known = opens_with_name or reading.is_headed(" ".join(noun))  # or it is in the heading or title
    if is_definition and not article:  # "Kafka is a system that …"
        return is_known
    if names and not is_definition:  # "The plant in Lund was built in 1998."
        return True
    return is_known and reading.mentions_name(written)  # "The Main Pump is …", but not "The pump is …"


def _is_noun_phrase(words: Sequence[str], reading: Reading) -> bool:
    """Return True if the words of a subject, without article, can be a noun with its attributes."""
    grammar = reading.grammar
    cannot_begin = grammar.stop_words | grammar.prepositions | reading.words.weak
    clause_words = grammar.finite_verbs | grammar.question_openers | grammar.conditional_words
    clause_words |= grammar.infinitive_marks | grammar.joiners
    return bool(words) and words[0] not in cannot_begin and clause_words.isdisjoint(words)
