"""Answers and questions that nobody should train on, whatever proves them.

They are found before they cost a verifier or a judge.
"""

import functools
import re
from collections.abc import Iterator
from itertools import pairwise

import polars as pl

from qa_pipeline.generation.phrases import phrases
from qa_pipeline.generation.standalone import leans_on
from qa_pipeline.records import RowFlaw
from qa_pipeline.settings.generation import AnswerCheckSettings
from qa_pipeline.text.language import QUOTED, in_other_language
from qa_pipeline.text.lexicon.languages import any_of, lexicon
from qa_pipeline.text.reading import read
from qa_pipeline.text.references import SOURCE_MARK, marked_numbers, without_marks
from qa_pipeline.verification.outcomes import FLAWED

Flaw = tuple[RowFlaw, str]
_READ = ("pair_id", "question", "answer", "language")
_FEWEST_QUESTION_WORDS = 3
"""Words of a question that names nothing and may be understood all the same: "What is to be done?"."""
_COPIED_SHARE = 0.8
"""Share of a passage that an answer repeats word for word to count as a copy of it."""
_COPIED_CHARACTERS = 500
"""Characters from which such an answer is a copy."""
_CUT_OFF = (",", ";", "-", "–", "\N{HORIZONTAL ELLIPSIS}")
_OPENING_WORDS = 3
"""Words among which a question has its question word: "In which year …"."""

_LONGEST_HEADING = 200
"""Characters of an answer that is compared with headings: no heading that is one is longer."""
_CELLS = re.compile(r"\|?[^`|:\n]*\S \| [^`:\n]*")
"""Cells of a table between bars, without names of columns; in code a bar is an operator."""
_DELIMITER = re.compile(
    r"</?(?:passage|link|question|answer|text|claim|sentence)-[0-9a-f-]+>|\{(?:passages|question|refusal"
    r"|types)\}"
)


def mark_flawed(pairs: pl.DataFrame, chunks: pl.DataFrame, settings: AnswerCheckSettings) -> pl.DataFrame:
    """Return the pairs, of status flawed where their answer is, or drafted where an old flaw is gone.

    Neither failures nor refusals are looked at, nor reasons that the settings ignore. The reason is a
    `RowFlaw`: the first six are looked for in rows drafted here alone, the others whoever wrote them.
    """
    drafted = pairs.filter(pl.col("status").is_in(["drafted", FLAWED]), pl.col("coverage") != "none")
    copied = _copied(drafted.filter(pl.col("origin") == "generated"), chunks)
    headings_only = _headings_only(drafted, chunks)
    found: dict[str, Flaw | None] = {}
    for row in drafted.select(*_READ, "origin", "answer_style", "used_chunk_ids", "hops").iter_rows(
        named=True
    ):
        pair_id, question, answer, language = (row[name] for name in _READ)
        flaws: list[Flaw] = []
        if row["origin"] == "generated":
            flaws += _flaws_of_draft(answer, language, settings.most_characters.get(row["answer_style"]))
            flaws += [("copied_passage", f"{len(answer)} characters word for word")] * (pair_id in copied)
            used, hops = len(set(row["used_chunk_ids"])), row["hops"] or 1
            if used < hops > 1:
                flaws.append(("passage_not_cited", f"{used} of the {hops} passages that it needs"))
        if question is not None and answer is not None:
            flaws += _flaws_of_question(question, language)
            flaws += [("bare_heading", answer)] * (pair_id in headings_only)
            flaws += _flaws(question, without_marks(answer).strip(), language)
        found[pair_id] = next((flaw for flaw in flaws if flaw[0] not in settings.ignore), None)
    rows = [(pair_id, *(flaw or (None, None))) for pair_id, flaw in found.items()]
    schema = dict.fromkeys(("pair_id", "flaw", "flaw_detail"), pl.String())
    joined = pairs.join(
        pl.DataFrame(rows, schema=schema, orient="row"), on="pair_id", how="left", maintain_order="left"
    )
    looked_at = pl.when(pl.col("pair_id").is_in(list(found)))
    status = pl.when(pl.col("flaw").is_null()).then(pl.lit("drafted")).otherwise(pl.lit(FLAWED))
    return joined.with_columns(
        status=looked_at.then(status).otherwise("status"),
        reason=looked_at.then("flaw").otherwise("reason"),
        detail=looked_at.then("flaw_detail").otherwise("detail"),
    ).drop("flaw", "flaw_detail")


def _flaws_of_question(question: str, language: str) -> Iterator[Flaw]:
    """Yield why nobody knows what is asked: nothing is named, it breaks off, or leans on a text not there."""
    reading, vocabulary = read(question, language), lexicon(language)
    words = reading.words
    if len(words) < 2 or (len(words) < _FEWEST_QUESTION_WORDS and not reading.stems):
        yield "unclear_question", question
    once_only = vocabulary.indefinite | vocabulary.copulas  # "die, die die Steuer zahlen" is good German
    doubled = any(
        word.folded == following.folded and word.folded in once_only for word, following in pairwise(words)
    )
    # "setzt … ein?" and "finns det?" end well
    open_ends = (vocabulary.definite - vocabulary.pronouns.leaning) | vocabulary.conjunctions
    last = words[-1] if words else None
    breaks_off = last and last.folded in open_ends and not question[last.start : last.end].isupper()
    if doubled or breaks_off:
        yield "unclear_question", question
    if phrase := leans_on(question, language):
        yield "not_standalone", phrase


def _flaws(question: str, answer: str, language: str) -> Iterator[Flaw]:
    """Yield what makes an answer unfit whoever wrote it."""
    question_text, answer_text = read(question, language), read(answer, language)
    # what a question quotes is what it asks about, and may be the answer to where it is said
    question_stems = {word.stem for word in read(QUOTED.sub(" ", question), language).words}
    vocabulary = lexicon(language)
    if answer.endswith(":"):
        yield "lead_in_only", answer.rpartition("\n")[2]
    if _cross_reference(language).fullmatch(answer):
        yield "cross_reference_only", answer
    if _CELLS.fullmatch(answer):
        yield "bare_cells", answer
    if not answer_text.words:
        return
    first, last = answer_text.words[0], answer_text.words[-1]
    dangling = vocabulary.joiners | vocabulary.determiners
    if first.folded in vocabulary.clause_openers_only or answer[-1] in _CUT_OFF:
        yield "fragment", answer
    if last.folded in dangling and last.end == len(answer) and not answer[last.start : last.end].isupper():
        yield "fragment", answer
    if first.folded in vocabulary.pronouns.demonstratives and len(answer_text.words) > 2:
        noun, verb = answer_text.words[1:3]  # no noun is "defines" in "This defines the user"
        is_named = not noun.content or noun.stem in question_text.stems
        if not is_named and verb.folded in vocabulary.finite_verbs:
            yield "dangling_reference", answer[: noun.end]
    openers = {word.folded for word in question_text.words[:_OPENING_WORDS]} & vocabulary.question_openers
    choice = {word.folded for word in question_text.words} & (vocabulary.joiners - vocabulary.conjunctions)
    glue = vocabulary.determiners | vocabulary.finite_verbs
    added = [
        word for word in answer_text.words if word.folded not in glue and word.stem not in question_stems
    ]
    if openers and not choice and not added:
        yield "repeats_question", answer


@functools.cache
def _cross_reference(language: str) -> re.Pattern[str]:
    """Return a pattern of a sentence that only points elsewhere: "See section 4 for details."."""
    layout = lexicon(language).layout
    see, sections = any_of(layout.see), any_of((*layout.sections, *layout.captions))
    return re.compile(
        rf"\W*{see}\b(?=.*(?:\b{sections}(?!\w)|§|\d|https?:))[^.!?\n]{{0,120}}(?:\.\d+)*[.!]?",
        re.IGNORECASE,
    )


def _flaws_of_draft(answer: str, language: str, most_characters: int | None) -> Iterator[Flaw]:
    """Yield what a model leaves in its drafts, with the words that show it."""
    marker = SOURCE_MARK.search(answer) or _DELIMITER.search(answer)
    if marker is not None:
        yield "leaked_marker", marker[0]
    elif numbers := marked_numbers(answer):
        yield "leaked_marker", f"[{numbers[0]}]"
    if phrase := phrases("boilerplate").search(answer):
        yield "boilerplate", phrase[0]
    if most_characters is not None and len(answer) > most_characters:
        yield "answer_too_long", f"{len(answer)} characters, at most {most_characters}"
    if other := in_other_language(answer, language):
        yield "language_mismatch", f"in {other}, not in {language}"


def _copied(generated: pl.DataFrame, chunks: pl.DataFrame) -> set[str]:
    """Return the pairs whose answer is most of a passage, word for word."""
    words = [pl.col(name).str.replace_all(r"\s+", " ").str.strip_chars() for name in ("answer", "text")]
    passages = _with_chunks(generated, chunks).with_columns(words)
    answer, text = pl.col("answer"), pl.col("text")
    shortest = pl.max_horizontal(_COPIED_SHARE * text.str.len_chars(), _COPIED_CHARACTERS)
    copied = passages.filter(
        answer.str.len_chars() >= shortest,
        text.str.contains(answer, literal=True),
    )
    return set(copied["pair_id"])


def _headings_only(drafted: pl.DataFrame, chunks: pl.DataFrame) -> set[str]:
    """Return the pairs whose answer stands in their passages as a heading and nowhere else."""
    short = drafted.filter(pl.col("answer").str.len_chars() <= _LONGEST_HEADING)
    answer = pl.col("answer").str.strip_chars(" .:#\n").str.to_lowercase()
    passages = _with_chunks(short, chunks).with_columns(answer)
    body = pl.col("text").str.replace_all(r"(?m)^#{1,6} .*$", "").str.to_lowercase()
    headings = pl.col("section_path").list.eval(pl.element().str.strip_chars(" .:").str.to_lowercase())
    stands = passages.group_by("pair_id").agg(
        is_heading=headings.list.contains(pl.col("answer")).any(),
        in_body=body.str.contains(pl.col("answer"), literal=True).any(),
    )
    return set(stands.filter("is_heading", ~pl.col("in_body"))["pair_id"])


def _with_chunks(pairs: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return each pair's answer beside the text and the headings of each chunk that it used."""
    used = pairs.select("pair_id", "answer", chunk_id="used_chunk_ids").explode("chunk_id")
    return used.join(chunks.select("chunk_id", "text", "section_path"), on="chunk_id")
