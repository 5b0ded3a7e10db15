"""Checks of the quotes that a model gives for an accept, as far as rules can tell.

The model names sentences; what they say is read in the document, not in the reply. A claim is not taken where
they lack what must not be missing, deny it, turn its roles round or restrict it, where something around
them takes them back, and where they do not speak of what was asked. That the words left over mean the same is
the model's word.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import polars as pl

from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.citations import locate_quote
from qa_pipeline.verification.consistency.allowed import units
from qa_pipeline.verification.consistency.proof import conditions_left_out, conflicts, denials, lacking
from qa_pipeline.verification.consistency.question import spoken_keys, unanswered
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.consistency.roles import exchanged_roles
from qa_pipeline.verification.context import introduction_of, restrictions, surroundings, void_status

_LEAST_SHARED = 1 / 3
"""Share of the claim's content words that quotes, headings and question must have: a sentence that shares
fewer is as likely one about something else as a paraphrase."""
_LONGEST_LABEL = 3
"""Words before a colon that name what follows: "Opening pressure: 3 bar"."""
_MOST_SENTENCES = 3
"""Sentences that a claim may be put together from, as many as the prompt allows."""


class QuotedDocuments:
    """The documents of a batch, as far as a quote out of them must be read with them."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame) -> None:
        status = pl.col("declared").struct.field("status")
        self._texts: dict[str, str] = dict(documents.select("document_id", "text").iter_rows())
        self._status: dict[str, str | None] = dict(documents.select("document_id", status).iter_rows())
        self._starts: dict[str, int] = dict(chunks.select("chunk_id", "char_start").iter_rows())

    def around(self, passage: Passage) -> tuple[str, int]:
        """Return the text of a passage's document, and the place where the passage begins in it."""
        return self._texts[passage.document_id], self._starts[passage.chunk_id]

    def status(self, passage: Passage) -> str | None:
        """Return the status that the front matter of a passage's document gives it."""
        return self._status[passage.document_id]


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim as it is understood alone and as its answer has it, with question and answer.

    `is_bound` says whether the quotes must speak of what was asked.
    """

    stated: Reading
    written: Reading
    question: Reading
    answer: Reading
    is_bound: bool = True


@dataclass(frozen=True, slots=True)
class _Quoted:
    """A sentence of a document that a quote touches."""

    passage: Passage
    start: int
    end: int
    reading: Reading

    @property
    def headings(self) -> tuple[str, ...]:
        return (self.passage.title, *self.passage.section_path)


def unfounded(
    statement: Statement, quotes: Sequence[str], passages: Sequence[Passage], documents: QuotedDocuments
) -> tuple[str, str] | None:
    """Return reason and words where quotes do not prove a claim; None where nothing speaks against it."""
    language = statement.stated.language
    filled = [quote for quote in quotes if quote.strip()]
    if not filled:
        return "no_quote", "accepted without naming a quote"
    sentences: list[_Quoted] = []
    for quote in filled:
        touched = _touched(quote, passages, language)
        if not touched:
            return "quote_not_found", f"not in the passages: {quote}"
        sentences += touched
    return next(_objections(statement, _chosen(statement, sentences), passages, documents), None)


def _touched(quote: str, passages: Sequence[Passage], language: str) -> list[_Quoted]:
    """Return the whole sentences that a quote is in: half of one may say what all of it does not."""
    for passage in passages:
        if place := locate_quote(quote, passage.text, language=language):
            spans = read(passage.text, language).sentences
            touched = [span for span in spans if span[0] < place.end and place.start < span[1]]
            return [_Quoted(passage, *span, read(passage.text[slice(*span)], language)) for span in touched]
    return []


def _chosen(statement: Statement, sentences: Sequence[_Quoted]) -> list[_Quoted]:
    """Return the sentence that has most of the claim, then those that add to it.

    A quote of a whole passage proves no more than the sentences of it that speak of the claim.
    """
    missing = {unit.key for unit in units(statement.stated) if unit.content}
    chosen: list[_Quoted] = []
    remaining = list(dict.fromkeys(sentences))
    while missing and remaining and len(chosen) < _MOST_SENTENCES:
        best = max(remaining, key=lambda sentence: len(missing & spoken_keys(sentence.reading)))
        if chosen and not missing & spoken_keys(best.reading):
            break
        chosen.append(best)
        remaining.remove(best)
        missing -= spoken_keys(best.reading)
    return chosen or remaining[:1]


def _objections(
    statement: Statement, chosen: Sequence[_Quoted], passages: Sequence[Passage], documents: QuotedDocuments
) -> Iterator[tuple[str, str]]:
    language = statement.stated.language
    quote = read("\n".join(sentence.reading.text for sentence in chosen), language)
    introduction = "\n".join(
        introduction_of(sentence.passage.text, sentence.start, language) for sentence in chosen
    ).strip()
    above = [heading for sentence in chosen for heading in sentence.headings]
    headings = read("\n".join(dict.fromkeys(above)), language)
    around_quotes = read(f"{headings.text}\n{introduction}", language)
    missing = lacking(statement.stated, quote, around_quotes)
    if missing := missing or _too_few(statement, spoken_keys(quote) | spoken_keys(around_quotes)):
        yield "quote_lacks_words", f"not in the quotes: {', '.join(missing)}"
    elsewhere = [read(passage.text, language) for passage in passages]
    for sentence in chosen:
        denied = denials(statement.written, sentence.reading)
        for denial in denied or conflicts(statement.written, sentence.reading, elsewhere):
            yield "quote_denies_claim", denial.words
        for words in conditions_left_out(statement.stated, sentence.reading, statement.question):
            yield "quote_has_condition", words
        for words in _governing(statement, sentence.reading):
            yield "quote_restricted", words
        for words in exchanged_roles(statement.written, sentence.reading):
            yield "quote_has_other_roles", words
        stated = (statement.question, statement.stated)
        text, at = documents.around(sentence.passage)
        around = surroundings(text, language, at + sentence.start, at + sentence.end)
        for words in (
            *restrictions(around, sentence.headings, stated, language, statement.answer.text),
            *void_status(documents.status(sentence.passage), stated),
        ):
            yield "quote_restricted", words
    if statement.is_bound:
        is_row = all(" | " in sentence.reading.text for sentence in chosen)
        for words in unanswered(
            statement.answer, quote, statement.question, headings, introduction, is_row=is_row
        ):
            yield "quote_off_question", words


def _governing(statement: Statement, sentence: Reading) -> Iterator[str]:
    """Yield the words that govern all that a sentence has of a claim: "It is fine to write that …".

    Whether they report, wish or suppose it, no list of words can tell; so all are taken to, but those that
    only point to it, and those that claim or question state themselves.
    """
    vocabulary = lexicon(sentence.language)
    content = [unit for unit in units(sentence) if unit.content]
    claimed = [unit.key for unit in units(statement.stated) if unit.content]
    shared = {unit.key for unit in content} & {*claimed}
    spoken = {*claimed, *(unit.key for unit in units(statement.question))}
    pointing = vocabulary.context.asserting | vocabulary.context.announcing
    for end, is_infinitive in _governed_from(sentence, vocabulary):
        before = [unit for unit in content if unit.start < end]
        after = [unit.key for unit in content if unit.start >= end]
        is_claim = shared <= {*after} and 2 * len(shared) > len({*claimed})
        is_governed = any(unit.key not in spoken for unit in before) and before[-1].folded not in pointing
        if is_claim and is_governed and (not is_infinitive or after[:1] == claimed[:1]):
            yield f'stands behind "{sentence.text[:end].rstrip()}"'
            return


def _governed_from(sentence: Reading, vocabulary: Lexicon) -> Iterator[tuple[int, bool]]:
    """Yield where governed clauses begin, and whether they may be infinitives: "att" opens both.

    A few words before a colon are the name of what follows.
    """
    for word in sentence.words:
        if word.folded in vocabulary.context.embedding:
            yield word.end, word.folded in vocabulary.infinitive_marks
    for colon in re.finditer(r":\s", sentence.text):
        if len(sentence.text[: colon.start()].split()) > _LONGEST_LABEL:
            yield colon.end(), False


def _too_few(statement: Statement, spoken: Set[str]) -> tuple[str, ...]:
    """Return the content words that are nowhere, where they are most of the claim."""
    spoken = spoken | spoken_keys(statement.question)
    content = {unit.key: unit.folded for unit in units(statement.written) if unit.content}
    absent = [word for key, word in content.items() if key not in spoken]
    return tuple(absent) if len(absent) > (1 - _LEAST_SHARED) * len(content) else ()
