"""Recognise refusals to answer by closed word lists of the lexicons."""

import re
from collections.abc import Iterable

from qa_pipeline.prompts.loading import refusal
from qa_pipeline.text.lexicon.languages import LANGUAGES, LEXICONS
from qa_pipeline.text.words import fold

_LONGEST = 600  # maximum characters of a refusal; a longer answer contains more than a refusal
_MARKS = re.compile(r"\[[^\[\]\n]{1,1000}\]")  # citations
_SENTENCE_ENDS = re.compile(r"(?<![\d.!?])[.!?]++(?=\s|$)|[;:](?=\s|$)|\s-\s|\n")
"""Stops, but not of a number such as "3.", and semicolons, colons, " - " and line ends."""


def is_refusal(answer: str) -> bool:
    """Return True if an answer only states that the sources do not answer the question.

    Every clause must be a refusal or a courtesy. All languages are tried, since the language of a short text
    is often misidentified.
    """
    text = _plain(_MARKS.sub(" ", answer))
    if any(text == _plain(refusal(code)) for code in LANGUAGES):
        return True
    if len(text) > _LONGEST or '"' in text:  # a quotation answers something
        return False
    return any(_refuses(text, code) for code in LANGUAGES)


def coverage_of(answer: str, stated: str | None) -> str:
    """Return the coverage of an answer. `stated` is the coverage given by its writer, if any.

    Only a refusal keeps the coverage "none". Any other answer with this coverage becomes "partial".
    """
    if stated is not None and stated != "none":
        return stated
    if is_refusal(answer):
        return "none"
    return "full" if stated is None else "partial"


def _refuses(text: str, language: str) -> bool:
    """Return True if a clause refuses in the language, and every other clause is a courtesy."""
    words = LEXICONS[language].refusing
    denial_parts = (words.documents, words.denials, words.mentioning)  # "the sources", "do not", "mention"
    clause_break = re.compile(rf"[,\s]+(?:{'|'.join(words.breaks)})(?=[\s,])")  # such as ", but"
    clauses = [part for sentence in _SENTENCE_ENDS.split(text) for part in clause_break.split(sentence)]
    refused = False
    for clause in filter(None, (clause.strip(" ,.()") for clause in clauses)):
        denies_mention = all(_contains_beginning(clause, beginnings) for beginnings in denial_parts)
        is_phrase = clause in words.whole_clauses or _contains_beginning(clause, words.phrases)
        if denies_mention or is_phrase:
            refused = True
        elif not clause.startswith(tuple(words.courtesies)):
            return False
    return refused


def _contains_beginning(clause: str, beginnings: Iterable[str]) -> bool:
    """Return True if a word or phrase in the clause starts with any of the beginnings."""
    padded = f" {clause}"
    return any(f" {beginning}" in padded for beginning in beginnings)


def _plain(text: str) -> str:
    """Return the folded lines of a text in lower case, without full stops at its ends."""
    return "\n".join(fold(line).casefold() for line in text.splitlines()).strip(" .\n")
