"""English questions a heading asks, or a list of names answers.

What belongs here: headings that are questions, instructions or names, and items such as "timeout: how
long …". What does not: sentences taken on their own.
"""

import re
from collections.abc import Iterator, Sequence

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.drafts import Draft, from_sentence
from qa_pipeline.llm.extractive.english_filters import (
    IDENTIFIER,
    imperative,
    is_identifier,
    standalone,
    standalone_words,
)
from qa_pipeline.llm.extractive.english_names import decapitalised, heading, settled
from qa_pipeline.llm.extractive.english_words import GERUNDS, IMPERATIVES, INSTRUCTIONS, PREPOSITIONS
from qa_pipeline.llm.extractive.headings import subject_of
from qa_pipeline.llm.extractive.phrases import ENGLISH
from qa_pipeline.llm.extractive.prose import Line, Sentence, lines
from qa_pipeline.records import Passage

MAX_HEADING = 120
"""Characters of a heading; a longer one is a paragraph set in bold."""
LOOK_AHEAD = 4
"""Sentences of a section in which its heading's instruction must be given."""

_QUESTION = re.compile(r"(?:What|How|Why|When|Where|Which|Who|Can|Does|Do|Is|Are|Should) [^?]{6,}\?")
_OPEN_QUESTION = re.compile(
    r"What (?:is|are) [^?:]{2,}|(?:How|Why|When|Where) (?:do|does|is|are|to|can|should) [^?:]{6,}"
)
_DEFINED = re.compile(r"What (?:is|are) (?:an? |the )?[\"“]?([^?\"”]+)")
_DEFINES = re.compile(r"(.{2,60}?) (?:is|are|means|refers to|stands for) ")
_ITEM = re.compile(rf"({IDENTIFIER}|[a-z][\w.]+)(?: - |: )([A-Z].{{14,300}}\.)")
_WORD = re.compile(r"[A-Za-z]\w+")
_LEANING = re.compile(r"\b(?:them|it|they|also|then|now|still|several|places|again)\b")
_ADDRESSED = re.compile(r"(?:You (?:can|have to|need to|must|should|could)|To|First,) ")


def headed(passage: Passage, found: Sequence[Sentence]) -> Iterator[Candidate]:
    """Ask what the innermost heading asks, answered by the section's opening."""
    title = heading(passage)
    if not title or len(title) > MAX_HEADING or not passage.text.startswith("#") or not found:
        return
    opening = found[0]
    for draft in (_question(title, opening), _effect(passage, opening)):
        if draft is not None:
            yield from_sentence(draft, opening, passage)
    instruction = _instruction(title, passage)
    question = settled(f"How do you {instruction}?", passage) if instruction else None
    if question is not None:
        answers = [sentence for sentence in found[:LOOK_AHEAD] if _follows(title, sentence.text)]
        for sentence in answers[:1]:
            yield from_sentence(Draft(question, "how_to", 0.72), sentence, passage)


def _question(title: str, opening: Sentence) -> Draft | None:
    """Take a heading that is a question, with or without its mark."""
    if not standalone_words(title.rstrip("?")) or not _stands(opening.text) or not opening.first:
        return None
    defined = _DEFINED.match(title)
    if defined and not _defines(defined[1], opening.text):
        return None
    if _QUESTION.fullmatch(title):
        return Draft(title, "fact", 0.95)
    if _OPEN_QUESTION.fullmatch(title):
        return Draft(title.replace("How to ", "How do you ") + "?", "fact", 0.95)
    return None


def _effect(passage: Passage, opening: Sentence) -> Draft | None:
    """Ask what a named thing does where its section opens with the bare verb: "Returns a list.…"."""
    subject = subject_of(passage, ENGLISH)
    first = opening.text.split(" ", 1)[0]
    if subject is None or opening.in_list or not opening.first or not first.endswith("s"):
        return None
    if not ENGLISH.verbal(first) or not _stands(opening.text, least=4):
        return None
    return Draft(f"What does {subject.subject} do?", "definition", 0.8)


def _stands(sentence: str, *, least: int = 6) -> bool:
    return standalone(sentence, least=least) and not sentence.endswith(":")


def _defines(term: str, sentence: str) -> bool:
    """Tell whether a sentence opens with the term, or its initials, and says what it is."""
    match = _DEFINES.match(sentence)
    if match is None:
        return False
    initials = "".join(word[0] for word in _WORD.findall(term)).casefold()
    subject = _stems(match[1], least=2)
    return _stems(term, least=2) <= subject or initials in subject


def _stems(text: str, *, least: int) -> set[str]:
    """The first five letters of each word of at least `least` letters, which inflection leaves alone."""
    return {word[:5].casefold() for word in _WORD.findall(text) if len(word) >= least}


def _instruction(title: str, passage: Passage) -> str | None:
    """Turn "Adding a Filter" or "Add a filter" into "add a filter"."""
    words = title.split()
    if not 2 <= len(words) <= 10 or not standalone_words(title):
        return None
    first = words[0].casefold()
    verb = GERUNDS.get(first, first if first in INSTRUCTIONS | IMPERATIVES else None)
    if verb is None or " - " in title or words[1] in PREPOSITIONS or title.endswith(("?", ":")):
        return None
    return " ".join([verb, *(decapitalised(word, passage) for word in words[1:])])


def _follows(title: str, sentence: str) -> bool:
    """Tell whether a sentence gives the instruction its heading promises, by half of the heading's words."""
    promised = _stems(title, least=4)
    kept = promised & _stems(sentence, least=2)
    return (
        (imperative(sentence) or _ADDRESSED.match(sentence) is not None)
        and 2 * len(kept) >= len(promised)
        and len(kept) >= min(2, max(1, len(promised)))
        and f"{title} that ".casefold() not in sentence.casefold()
        and standalone(sentence, least=4)
        and not _LEANING.search(sentence)
    )


def items(passage: Passage) -> Iterator[Candidate]:
    """Ask what each named item of a list is: "max_age - Sets …", "path: The path …"."""
    owner = heading(passage)
    for line in lines(passage.text):
        match = _ITEM.fullmatch(line.text) if line.kind == "list_item" else None
        if match is None or not standalone_words(match[2]):
            continue
        if is_identifier(owner) and not owner.isupper():
            yield _item(line, match[2], f'What is the meaning of "{match[1]}" in {owner}?')
        elif is_identifier(match[1]):
            verbal = ENGLISH.verbal(match[2])
            yield _item(line, match[2], f"What does {match[1]} do?" if verbal else f"What is {match[1]}?")


def _item(line: Line, answer: str, question: str) -> Candidate:
    return Candidate(question, "definition", answer, line.text, line.start, line.end, 0.58)
