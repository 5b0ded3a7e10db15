"""Find answers and questions that are unfit for training, even if proved, before they cost further calls."""

import functools
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import polars as pl

from qa_pipeline.records import AnswerStyle, Passage, RowFlaw, passages_by_id
from qa_pipeline.storage.table_schema import DraftedPairRow, typed_rows
from qa_pipeline.text.language import QUOTED, in_other_language
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.references import SOURCE_MARK, marked_numbers, without_marks
from qa_pipeline.text.sentences import units
from qa_pipeline.text.words import Token, tokenize
from qa_pipeline.verification.outcomes import FLAWED

_AHEAD = 7  # words after a pronoun to search for an impersonal construction, such as "does it take … to"


def unclear_words(question: str, language: str) -> str | None:
    """Return the words of a question that only its passage explains, if any."""
    if match := phrases("backreferences", language).search(question):
        return match[0]
    pronoun = None if QUOTED.search(question) else _unresolved(question, language)
    return None if pronoun is None else question[pronoun.start : pronoun.end]


def _unresolved(question: str, language: str) -> Token | None:
    """Return the first pronoun that refers to something outside the question, such as "it" in "Is it safe?".

    A demonstrative counts even before a noun, as in "Is this pump safe?". A subject before a pronoun explains
    it, such as "pump" in "Does the pump stop if it is full?".
    """
    words, vocabulary = tokenize(question, language), lexicon(language)
    for index, word in enumerate(words):
        if word.content and word.folded not in vocabulary.question_words:
            return None  # a subject, which explains all pronouns after it
        if word.folded in vocabulary.pronouns.demonstratives:  # "this"
            return word
        if word.folded not in vocabulary.pronouns.referring:  # "it"
            continue
        before, ahead = words[max(0, index - 1) : index], words[index + 1 : index + 1 + _AHEAD]
        is_polite = index > 0 and question[word.start].isupper()  # the German "Sie"
        is_article = word.folded in vocabulary.articles and bool(ahead) and ahead[0].content  # "den bilen"
        nearby = {other.folded for other in (*before, *ahead)}
        is_impersonal = not vocabulary.pronouns.impersonal.isdisjoint(nearby)  # "gibt es", "is it possible"
        if not (is_polite or is_article or is_impersonal):
            return word
    return None


@functools.cache
def phrases(kind: Literal["backreferences", "boilerplate"], language: str | None = None) -> re.Pattern[str]:
    """Return the phrases of a kind, of one language or of all."""
    content = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))
    lists = content.values() if language is None else [content[lexicon(language).code]]
    pattern = "|".join(phrase for of_language in lists for phrase in of_language[kind])
    return re.compile(pattern, re.IGNORECASE)


Flaw = tuple[RowFlaw, str]  # the reason code of a flaw, and the words that show it
MOST_CHARACTERS: dict[AnswerStyle, int] = {"short": 200, "sentence": 800, "long_form": 2500, "steps": 2500}
_COPIED_SHARE = 0.8  # share of a passage that an answer must repeat verbatim to count as a copy
_COPIED_CHARACTERS = 500  # minimum characters of a copy
_CELLS = re.compile(r"\|?[^`|:\n]*\S \| [^`:\n]*")
"""Cells of a table, such as "M8 | 12 mm", without column names. In code a bar is an operator."""
_DELIMITER = re.compile(
    r"</?(?:passage|link|question|answer|text|claim|sentence)-[0-9a-f-]+>|\{(?:passages|question|refusal"
    r"|types)\}"
)
"""Delimiters and placeholders of prompts, which a model may repeat."""


class StyledPairRow(DraftedPairRow):
    """A pair with the requested style of its answer."""

    answer_style: AnswerStyle | None


def mark_flawed(
    pairs: pl.DataFrame, chunks: pl.DataFrame, *, ignore: Collection[RowFlaw] = ()
) -> pl.DataFrame:
    """Set the status of pairs with a flawed answer to "flawed", and to "drafted" if an old flaw is gone.

    Failures and refusals are skipped. The reason is a `RowFlaw`. Imported pairs are not checked for the flaws
    of `_flaws_of_draft`.
    """
    drafted = pairs.filter(pl.col("status").is_in(["drafted", FLAWED]), pl.col("coverage") != "none")
    passages = passages_by_id(chunks)
    flaw_of: dict[str, Flaw | None] = {}  # the first flaw of each checked pair, if any
    for row in typed_rows(drafted, StyledPairRow):
        used = [passages[i] for i in dict.fromkeys(row["used_chunk_ids"]) if i in passages]
        flaws_of_draft = _flaws_of_draft(row, used) if row["origin"] == "generated" else iter(())
        flaws = chain(flaws_of_draft, _flaws_of_any(row))
        flaw_of[row["pair_id"]] = next(((code, words) for code, words in flaws if code not in ignore), None)
    rows = [(pair_id, *(flaw or (None, None))) for pair_id, flaw in flaw_of.items()]
    schema = dict.fromkeys(("pair_id", "flaw", "flaw_detail"), pl.String())
    checked = pl.DataFrame(rows, schema=schema, orient="row")
    joined = pairs.join(checked, on="pair_id", how="left", maintain_order="left")
    is_checked = pl.col("pair_id").is_in(list(flaw_of))
    status = pl.when(pl.col("flaw").is_null()).then(pl.lit("drafted")).otherwise(pl.lit(FLAWED))
    return joined.with_columns(
        status=pl.when(is_checked).then(status).otherwise("status"),
        reason=pl.when(is_checked).then("flaw").otherwise("reason"),
        detail=pl.when(is_checked).then("flaw_detail").otherwise("detail"),
    ).drop("flaw", "flaw_detail")


def _flaws_of_draft(pair: StyledPairRow, passages: Sequence[Passage]) -> Iterator[Flaw]:
    """Yield flaws of model drafts, with the words that show them."""
    answer, style = pair["answer"], pair["answer_style"]
    marker = SOURCE_MARK.search(answer) or _DELIMITER.search(answer)
    if marker is not None:
        yield "leaked_marker", marker[0]
    elif numbers := marked_numbers(answer):
        yield "leaked_marker", f"[{numbers[0]}]"
    if phrase := phrases("boilerplate").search(answer):
        yield "boilerplate", phrase[0]
    if style is not None and len(answer) > (most := MOST_CHARACTERS[style]):
        yield "answer_too_long", f"{len(answer)} characters, at most {most}"
    if other := in_other_language(answer, pair["language"]):
        yield "language_mismatch", f"in {other}, not in {pair['language']}"
    answer_line = " ".join(answer.split())
    for text in (" ".join(passage.text.split()) for passage in passages):
        if answer_line in text and len(answer_line) >= max(_COPIED_SHARE * len(text), _COPIED_CHARACTERS):
            yield "copied_passage", f"{len(answer)} characters word for word"
    used, hops = len(set(pair["used_chunk_ids"])), pair["hops"] or 1
    if used < hops:
        yield "passage_not_cited", f"{used} of the {hops} passages that it needs"


def _flaws_of_any(pair: StyledPairRow) -> Iterator[Flaw]:
    """Yield flaws that make any pair unfit, regardless of its origin."""
    answer = without_marks(pair["answer"]).strip()
    if phrase := unclear_words(pair["question"], pair["language"]):
        yield "not_standalone", phrase
    if answer.endswith(":"):
        yield "lead_in_only", answer.rpartition("\n")[2]
    if _CELLS.fullmatch(answer):
        yield "bare_cells", answer


NO_SENTENCE, FRONT_OR_BACK_MATTER = "no_sentence", "front_or_back_matter"  # reason codes of skipped chunks
_FEWEST_WORDS = 5  # minimum words of a line that can be a statement
_SENTENCE_WORDS = 15  # minimum words of a line that counts as a sentence with any ending, as before a list
_FEWEST_ROWS = 2  # minimum table rows, or name and value pairs, for a question about an entry
_NUMBERING = re.compile(r"^(?:[\dA-Z]{1,3}(?:\.\d{1,3}){0,5}[.)]?\s+)?")  # "2.1. "
_DIGITS, _LEADERS = "0123456789", " .\t"
_ITEM = re.compile(r"(?:[-*+•]|\d{1,4}[.)])\s")
_ENDED = re.compile(r"[.!?:;][\"”»)’*_`]{0,3}(?:\s|$)")
_ENTRY = re.compile(r"\S \| \S|^[^\s:][^:\n]{0,60}:\s+\S")  # a table row, or "key: value"


def mark_not_worth_asking(chunks: pl.DataFrame) -> pl.DataFrame:
    """Mark chunks without content to ask about, in `passed_over` if it is null.

    Headings such as "Contents" or "Licence" identify front and back matter. Titles, lists of links and code
    contain no sentence.
    """
    columns = chunks.select("language", "section_path", "text").iter_rows()
    reasons = pl.Series([_reason(*row) for row in columns], dtype=pl.String())
    return chunks.with_columns(passed_over=pl.coalesce("passed_over", reasons))


def _reason(language: str, section_path: Sequence[str], text: str) -> str | None:
    """Return the reason to skip a chunk, or None if it is worth asking about."""
    layout = lexicon(language).layout
    heading = _NUMBERING.sub("", section_path[-1]).strip(" .:").casefold() if section_path else ""
    if heading in layout.contents or heading in layout.back_matter:
        return FRONT_OR_BACK_MATTER
    return None if _states_something(text) else NO_SENTENCE


def _ends_with_page(line: str) -> bool:
    """Return True for a line of a table of contents, such as "Setup .... 12"."""
    before = line.rstrip(_DIGITS)
    leaders = before[len(before.rstrip(_LEADERS)) :]
    return before != line and (len(leaders) > 2 or "\t" in leaders)


def _states_something(text: str) -> bool:
    """Return True if a text has a sentence, a list item of some words, or entries of a table."""
    entries = 0
    for start, end, _ in units(text):
        line = text[start:end].strip()
        if line.startswith(("#", "```", "~~~")) or _ends_with_page(line):
            continue
        entries += bool(_ENTRY.search(line))
        words = len(line.split())
        is_statement = words >= _FEWEST_WORDS and (_ITEM.match(line) or _ENDED.search(line))
        if entries >= _FEWEST_ROWS or is_statement or words >= _SENTENCE_WORDS:
            return True
    return False
