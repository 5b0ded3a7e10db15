"""Answers and questions that nobody should train on, whatever proves them.

They are found before they cost a verifier or a judge.
"""

import functools
import re
from collections.abc import Mapping

import polars as pl

from qa_pipeline.records import AnswerStyle
from qa_pipeline.text.language import QUOTED, in_other_language
from qa_pipeline.text.lexicon.languages import any_of_all, lexicon
from qa_pipeline.text.references import SOURCE_MARK, marked_numbers, without_marks
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.outcomes import FLAWED

MOST_CHARACTERS: Mapping[AnswerStyle, int] = {"short": 200, "sentence": 800, "long_form": 2500, "steps": 2500}
"""Characters of an answer by its style."""
COPIED_SHARE, COPIED_CHARACTERS = 0.8, 500
"""An answer that is word for word this share of a passage, and this long, is the passage and no answer."""

Flaw = tuple[str | None, str | None]
_CUT_OFF = (",", ";", "-", "–", "\N{HORIZONTAL ELLIPSIS}")
_FEWEST_WORDS = 3
"""Words of a question that names nothing and may be understood all the same: "What is to be done?"."""
_OPENING_WORDS = 3
"""Words among which a question has its question word: "In which year …"."""

_DELIMITER = re.compile(
    r"</?(?:passage|question|answer|text|claim|sentence)-[0-9a-f-]+>|\{(?:passages|question|refusal|types)\}"
)


def mark_flawed(pairs: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs, of status flawed where their answer is, or drafted where an old flaw is gone.

    Neither failures nor refusals are looked at. Reasons for any answer: lead_in_only, cross_reference_only,
    fragment, dangling_reference, repeats_question, and for its question unclear_question. For those drafted
    here also leaked_marker (of a citation or of the prompt), boilerplate (about the text or the writer),
    answer_too_long, copied_passage, language_mismatch.
    """
    drafted = pairs.filter(
        pl.col("status").is_in(["drafted", FLAWED]),
        pl.col("coverage") != "none",
    )
    copied = _copied(drafted, chunks)
    flaw_rows = []
    columns = ("pair_id", "origin", "question", "answer", "language", "answer_style")
    for pair_id, origin, question, answer, language, style in drafted.select(columns).iter_rows():
        flaw: Flaw = (None, None)
        if origin == "generated":
            flaw = _flaw_of_draft(answer, language, style, pair_id in copied)
        if flaw[0] is None and question is not None and answer is not None:
            flaw = _flaw(question, without_marks(answer).strip(), language)
        flaw_rows.append((pair_id, *flaw))
    schema = dict.fromkeys(("pair_id", "flaw", "flaw_detail"), pl.String())
    flaws = pl.DataFrame(flaw_rows, schema=schema, orient="row")
    joined = pairs.join(flaws, on="pair_id", how="left", maintain_order="left")
    looked_at = pl.col("pair_id").is_in(drafted["pair_id"].implode())
    return joined.with_columns(
        status=pl.when(pl.col("flaw").is_not_null())
        .then(pl.lit(FLAWED))
        .when(looked_at)
        .then(pl.lit("drafted"))
        .otherwise("status"),
        reason=pl.when(looked_at).then("flaw").otherwise("reason"),
        detail=pl.when(looked_at).then("flaw_detail").otherwise("detail"),
    ).drop("flaw", "flaw_detail")


def _flaw(question: str, answer: str, language: str) -> Flaw:
    """Return what makes a question or an answer unfit whoever wrote it; two nulls where nothing does."""
    question_text, answer_text = read(question, language), read(answer, language)
    # what a question quotes is what it asks about, and may be the answer to where it is said
    question_stems = {word.stem for word in read(QUOTED.sub(" ", question), language).words}
    vocabulary = lexicon(language)
    if not question_text.terms and len(question_text.words) < _FEWEST_WORDS:
        return "unclear_question", question
    if answer.endswith(":"):
        return "lead_in_only", answer.rpartition("\n")[2]
    if _cross_reference(language).fullmatch(answer):
        return "cross_reference_only", answer
    if not answer_text.words:
        return (None, None)
    first, last = answer_text.words[0], answer_text.words[-1]
    dangling = vocabulary.joiners | vocabulary.determiners
    if first.folded in vocabulary.clause_openers_only or answer[-1] in _CUT_OFF:
        return "fragment", answer
    if last.folded in dangling and last.end == len(answer) and not answer[last.start : last.end].isupper():
        return "fragment", answer
    if first.folded in vocabulary.pronouns.demonstratives and len(answer_text.words) > 2:
        noun, verb = answer_text.words[1:3]  # no noun is "defines" in "This defines the user"
        is_named = not noun.content or noun.stem in question_text.stems
        if not is_named and verb.folded in vocabulary.finite_verbs:
            return "dangling_reference", answer[: noun.end]
    openers = {word.folded for word in question_text.words[:_OPENING_WORDS]} & vocabulary.question_openers
    choice = {word.folded for word in question_text.words} & (vocabulary.joiners - vocabulary.conjunctions)
    glue = vocabulary.determiners | vocabulary.copulas | vocabulary.auxiliaries
    added = [
        word for word in answer_text.words if word.folded not in glue and word.stem not in question_stems
    ]
    if openers and not choice and not added:
        return "repeats_question", answer
    return (None, None)


@functools.cache
def _cross_reference(language: str) -> re.Pattern[str]:
    """Return a pattern of a sentence that only points elsewhere: "See section 4 for details."."""
    layout = lexicon(language).layout
    see, sections = "|".join(layout.see), "|".join((*layout.sections, *layout.captions))
    return re.compile(
        rf"\W*(?:{see})\b(?=.*(?:\b(?:{sections})\b|§|\d|https?:))[^.!?\n]{{0,120}}(?:\.\d+)*[.!]?",
        re.IGNORECASE,
    )


def _flaw_of_draft(answer: str, language: str, style: AnswerStyle, copied: bool) -> Flaw:
    """Return the reason code and the words that show it; two nulls for a good answer."""
    marker = SOURCE_MARK.search(answer) or _DELIMITER.search(answer)
    if marker is not None:
        return "leaked_marker", marker[0]
    if numbers := marked_numbers(answer):
        return "leaked_marker", f"[{numbers[0]}]"
    if phrase := _boilerplate().search(answer):
        return "boilerplate", phrase[0]
    if len(answer) > MOST_CHARACTERS[style]:
        return "answer_too_long", f"{len(answer)} characters, at most {MOST_CHARACTERS[style]}"
    if copied:
        return "copied_passage", f"{len(answer)} characters word for word"
    other = in_other_language(answer, language)
    return ("language_mismatch", f"in {other}, not in {language}") if other else (None, None)


def _copied(drafted: pl.DataFrame, chunks: pl.DataFrame) -> set[str]:
    """Return the pairs whose answer is most of a passage, word for word."""
    words = [pl.col(name).str.replace_all(r"\s+", " ").str.strip_chars() for name in ("answer", "text")]
    used = drafted.select("pair_id", "answer", chunk_id="used_chunk_ids").explode("chunk_id")
    passages = used.join(chunks.select("chunk_id", "text"), on="chunk_id").with_columns(words)
    answer, text = pl.col("answer"), pl.col("text")
    copied = passages.filter(
        answer.str.len_chars() >= pl.max_horizontal(COPIED_SHARE * text.str.len_chars(), COPIED_CHARACTERS),
        text.str.contains(answer, literal=True),
    )
    return set(copied["pair_id"])


@functools.cache
def _boilerplate() -> re.Pattern[str]:
    return re.compile(any_of_all("boilerplate"), re.IGNORECASE)
