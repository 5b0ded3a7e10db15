"""English: every rule applied to every sentence that can stand alone.

What belongs here: the order of work. What does not: patterns (`english_*.py`).
"""

from qa_pipeline.llm.extractive import (
    english_definition,
    english_effects,
    english_figures,
    english_headings,
    english_howto,
    english_relations,
)
from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.drafts import Draft, from_sentence
from qa_pipeline.llm.extractive.english_filters import asked_section, standalone
from qa_pipeline.llm.extractive.prose import Sentence, sentences
from qa_pipeline.records import Passage

_FAMILIES = (
    english_definition.rules,
    english_howto.rules,
    english_effects.rules,
    english_figures.rules,
    english_relations.rules,
)


def find(passage: Passage) -> list[Candidate]:
    """Return every question the English rules find, in the order of the text."""
    if not asked_section(passage):
        return []
    read = sentences(passage)
    return [
        *english_figures.acronyms(passage),
        *english_headings.headed(passage, read),
        *english_headings.items(passage),
        *(
            from_sentence(draft, sentence, passage)
            for sentence in read
            if standalone(sentence.text)
            for family in _FAMILIES
            for draft in family(sentence.text, passage)
            if _answered(draft, sentence)
        ),
    ]


def _answered(draft: Draft, sentence: Sentence) -> bool:
    """Tell whether a sentence answers in full; one that ends with a colon only tells how to do something."""
    return draft.question_type == "how_to" or not sentence.text.endswith(":")
