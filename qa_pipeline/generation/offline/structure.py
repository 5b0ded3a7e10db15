"""Questions about key-value lines, table cells, list items and headings, which need no grammar."""

import re
from collections.abc import Iterator
from itertools import groupby, takewhile

from qa_pipeline.generation.offline.passages import (
    MAX_ANSWER,
    Candidate,
    Line,
    Place,
    Sentence,
    decapitalised,
    heading_name,
    in_language,
    is_identifier,
    is_manual,
    leans_on_context,
    place_of,
    points_elsewhere,
    split_into_lines,
    split_into_sentences,
    stems,
)
from qa_pipeline.generation.offline.statements import leans, question_of, with_place, without_fillers
from qa_pipeline.records import Passage, QuestionType
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.lexicon.phrases import Phrases, fill
from qa_pipeline.text.sentences import split_sentences

MAX_VALUE = 300
"""Characters of a value that still reads as an answer."""
MAX_WORDS = 8
"""Words of a value that completes "The fee is …"; more are a sentence."""
MIN_LEAD, MAX_LEAD = 60, 600
"""Characters of a section's first paragraph that answers for the section."""
MIN_SENTENCE, MAX_OPEN = 25, 400
"""A shorter sentence is a mere note; the list at the end of a longer passage may go on in the next."""

Span = tuple[int, int]
Cell = tuple[str, str, int]  # a column or key, its value, and where in the line the value begins

_KEY_VALUE = re.compile(r"([^\W\d_][^:.!?|\n]{1,48}): (\S.{0,300})")
_ITEM = re.compile(r"(?![(\d\"“„])([^:!?|\n]{2,50}?)(?:: | [–—-] )(\S.{14,420})")
_CELL = re.compile(r"([^\W\d_][^:|\n]{1,38}): (\S.{0,300})")
_ROW_NAME = re.compile(r"(?!\+)(?=[^\n]*[^\W\d_])[^\n|:;?!]{1,48}")
_MARKS = re.compile(r"\*\*|`|[\"“”„»«]")
_CODE = re.compile(r"[<>{}=|\\]|\w\(")
_NOTHING = re.compile(r"[\W_]*|[Nn]/?[Aa]|TBD|TODO")


def find(passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask for what the shape of the passage's text says."""
    place, read = place_of(passage, phrases), split_into_lines(passage.text)
    name = place.heading or place.title
    if name:
        opens_small = name.split(" ", 1)[0].lower() in phrases.definite
        subject = phrases.kinds.sub("", name[:1].lower() + name[1:] if opens_small else name)
        if (name == place.title and not is_manual(name, phrases)) or any(map(is_identifier, name.split())):
            yield from _pairs(read, subject, place, passage, phrases)
        yield from _terms(read, place, passage, phrases)
        yield from _cells(read, place, passage, phrases)
    yield from _lists(read, place, passage, phrases)
    if passage.section_path and len(read) > 1 and read[0].kind == "heading" != read[1].kind:
        yield from _under_heading(read[1:], place, passage, phrases)


def _blocks(read: list[Line], shape: re.Pattern[str], kinds: tuple[str, ...]) -> Iterator[tuple[Line, Cell]]:
    """Yield keys and values of neighbouring lines; one alone may be a sentence with a colon."""
    for is_match, group in groupby(read, lambda line: line.kind in kinds and not line.number):
        block = list(group) if is_match else []
        matches = [(line, match) for line in block if (match := shape.fullmatch(line.text))]
        keys = [_MARKS.sub("", match[1]).strip() for _, match in matches]
        if len(matches) < 2 or 2 * len(matches) < len(block):
            continue
        for key, (line, match) in zip(keys, matches, strict=True):
            if keys.count(key) == 1:
                yield line, (key, match[2], match.start(2))


def _pairs(
    read: list[Line], subject: str, place: Place, passage: Passage, phrases: Phrases
) -> Iterator[Candidate]:
    """Ask for the values of keys that are a short name: "Refrigerant: R290"."""
    for line, (key, value, start) in _blocks(read, _KEY_VALUE, ("prose", "list_item")):
        if key[0].isupper() and key.lower() not in subject.lower() and len(value.split()) <= MAX_WORDS:
            quote = line.text[: start + len(value)]
            yield from _attribute(
                key, value, subject, 0, place, passage, phrases, line.start, quote, "fact_single"
            )


def _attribute(
    key: str,
    value: str,
    subject: str,
    relation: int,
    place: Place,
    passage: Passage,
    phrases: Phrases,
    start: int,
    quote: str,
    kind: QuestionType,
) -> Iterator[Candidate]:
    """Ask for the value of a key in the words for its kind; nothing where no row of the language fits."""
    if (
        any(map(is_identifier, key.split()))  # what is set to a value, and no property of something
        or not _nameable(key, passage, phrases)
        or not _answers(value, passage, phrases)
        or not phrases.metadata.isdisjoint(key.lower().split())
        or _CODE.search(value)
        or value.endswith(("?", "."))
        or phrases.acts.match(value)
        or any(is_identifier(word) and word in value.split() for word in subject.split())
        or phrases.plural.search(key)
    ):
        return
    keeps_capital = lexicon(passage.language).nouns_capitalised or is_identifier(key.split()[0])
    name = key if keeps_capital else key[:1].lower() + key[1:]
    endings = sorted(phrases.definite_forms, key=len, reverse=True)
    noun, _, tail = key.partition(" ")  # "Fee per day"; an adjective would have another ending by the article
    form = next((phrases.definite_forms[end] for end in endings if noun.lower().endswith(end)), "")
    if tail and "" not in phrases.definite_forms:
        if tail.split()[0] not in lexicon(passage.language).prepositions:
            return
        form, name = f"{form} {tail}" if form else "", name.partition(" ")[0]
    for row in phrases.attributes:
        if not row.key.fullmatch(key) or not row.value.match(value) or ("{key}" in row.question and not form):
            continue
        parts = {
            "key": form.format(name),
            "of": phrases.relations[relation],
            "subject": subject,
        }
        wording = fill(row.question, parts, placed=False).removesuffix("?")
        wording = wording[:1].lower() + wording[1:]
        question = with_place(phrases.placed, {"question": wording}, place, passage, phrases)
        if not question:
            return
        answer = fill(row.answer, {**parts, "value": value.rstrip(".")}, placed=False)
        yield Candidate(question, kind, answer, quote, start, start + len(quote), 0.75)
        return


def _terms(read: list[Line], place: Place, passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask what the terms of a list are, or do where a verb in the language's list opens what is said."""
    for line, (key, value, start) in _blocks(read, _ITEM, ("list_item",)):
        if (
            len(value.split()) > 3
            and value.endswith((".", "!"))
            and (is_identifier(key) or key.lower() not in place.title.lower())
            and (len(key) < 3 or heading_name(key, phrases))
            and _nameable(key, passage, phrases)
            and _answers(value, passage, phrases)
            and not leans(value, passage, phrases)
        ):
            does = phrases.acts.match(value) is not None
            opens = value.split()[0].lower() in phrases.indefinite | phrases.definite
            past = lexicon(passage.language).past_copulas
            # "quota: A mailbox quota was exceeded" says what happened
            defines = opens and not stems(key) & stems(value) and past.isdisjoint(value.split())
            quoted_key = key if is_identifier(key) else phrases.quoted(key)
            template = phrases.action if does else phrases.term
            question = with_place(template, {"key": quoted_key}, place, passage, phrases)
            if not (does or defines) or not question:
                continue
            end = start + len(value)
            answer = f"{key} {value[:1].lower()}{value[1:]}" if does else value
            yield Candidate(
                question, "fact_single", answer, line.text[:end], line.start, line.start + end, 0.65
            )


def _cells(read: list[Line], place: Place, passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask for the cells of tables whose first column names each row."""
    rows = [(line, cells) for line in read if line.kind == "table_row" and (cells := _row(line))]
    for columns, group in groupby(rows, lambda row: [column for column, _, _ in row[1]]):
        table = list(group)
        names = [_MARKS.sub("", cells[0][1]) for _, cells in table]
        if len(table) < 2 or len(set(columns)) < len(columns):
            continue
        for name, (line, cells) in zip(names, table, strict=True):
            if names.count(name) > 1 or not _ROW_NAME.fullmatch(name) or len(name.split()) > 5:
                continue
            for column, value, at in cells[1:]:
                if len(value.split()) <= MAX_WORDS and any(map(str.isdecimal, value)):
                    subject, start = decapitalised(name, passage, phrases), at - len(column) - 2
                    quote = line.text[start : at + len(value)]
                    yield from _attribute(
                        column, value, subject, 1, place, passage, phrases, line.start + start, quote, "table"
                    )


def _row(line: Line) -> list[Cell]:
    """Read "Column: value | Column: value"; nothing when a part of the line is no such cell."""
    cells: list[Cell] = []
    offset = 0
    for part in line.text.split(" | "):
        match = _CELL.fullmatch(part)
        if match is None:
            return []
        cells.append((match[1], match[2].strip(), offset + match.start(2)))
        offset += len(part) + 3
    return cells if len(cells) > 1 else []


def _lists(read: list[Line], place: Place, passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask for the list or code under the sentence that announces it, and answer with both."""
    ways = [*phrases.leads, *(row for row in phrases.statements if row.question_type == "procedure")]
    for at, lead in enumerate(read[:-1]):
        end = _block_end(read, at, passage)
        if end is None:
            continue
        start = passage.text.rfind(". ", lead.start, lead.end) + 2
        start = start if start > 1 else lead.start
        if end - start > MAX_ANSWER:
            continue
        text = without_fillers(" ".join(passage.text[start : lead.end - 1].split()), passage.language)
        for wording, rows in ((text, phrases.leads), (f"{text}.", ways)):
            sentence = Sentence(wording, start, end, in_list=False, first=True)
            statement, question = question_of(sentence, rows, place, passage, phrases)
            if statement:
                break
        quote = passage.text[start:end]
        if statement and not points_elsewhere(quote[lead.end - start :], phrases):
            yield Candidate(question, statement.question_type, quote, quote, start, end, 0.9)


def _block_end(read: list[Line], at: int, passage: Passage) -> int | None:
    """Return where the list or code ends that a line announces; None where it announces none or not all."""
    kind = read[at + 1].kind
    items = list(takewhile(lambda line: line.kind == kind, read[at + 1 :]))
    if read[at].kind != "prose" or not read[at].text.endswith(":"):
        return None
    if kind == "code":
        fence = passage.text.find("```", items[-1].end)
        return fence + 3 if fence > 0 else None
    is_open = items[-1] is read[-1] and len(passage.text) > MAX_OPEN
    return items[-1].end if kind == "list_item" and len(items) > 1 and not is_open else None


def _under_heading(body: list[Line], place: Place, passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask what the heading above the passage's text promises: an answer or instructions."""
    written = " ".join(passage.section_path[-1].replace("`", "").split()).rstrip(" ¶#")
    heading = heading_name(written.rstrip("?"), phrases)
    lead, steps = _lead(body, passage, phrases), _steps(body, passage)
    if written.endswith("?"):
        speakers = lexicon(passage.language).speakers
        subject = " ".join(word for word in heading.split() if word.lower() not in speakers)
        if lead and len(heading.split()) > 2 and not leans_on_context(subject, phrases):
            wording = heading[:1].lower() + heading[1:]
            if question := with_place(phrases.placed, {"question": wording}, place, passage, phrases):
                yield _passage(question, "fact_single", lead, passage, 0.95)
        return
    goal = _goal(heading, passage, phrases)
    span = steps or (lead if lead and _instructs(lead, goal, passage, phrases) else None)
    question = with_place(phrases.instructions, {"goal": goal}, place, passage, phrases) if goal else None
    if question and span:
        yield _passage(question, "procedure", span, passage, 0.9)


def _instructs(span: Span, goal: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a paragraph tells how to reach a goal: it speaks of most of it, and to its reader."""
    text, needed = passage.text[slice(*span)], stems(goal)
    ways = [way for way in phrases.statements if way.question_type == "procedure"]
    sentences = (text[slice(*part)] for part in split_sentences(text, passage.language))
    return (
        len(needed) > 1
        and 2 * len(needed & stems(text)) > len(needed)
        and any(way.expression.fullmatch(sentence) for sentence in sentences for way in ways)
    )


def _goal(heading: str, passage: Passage, phrases: Phrases) -> str:
    """Turn "Adding a filter" or "Add a filter" into "add a filter"; empty when it is no instruction."""
    match = phrases.how_to.fullmatch(heading)
    if match is None or leans_on_context(heading, phrases) or " - " in heading:
        return ""
    first, _, rest = match["goal"].partition(" ")
    if phrases.infinitives:
        verb = phrases.infinitives.get(first.lower())
        return f"{verb} {rest}" if verb else ""
    if rest[:1].isupper() and first.endswith(phrases.adjective_endings):
        return heading[:1].lower() + heading[1:]
    return decapitalised(heading, passage, phrases)


def _steps(body: list[Line], passage: Passage) -> Span | None:
    """Return the span of a section's only numbered list, if whole and short enough for an answer."""
    numbered = [position for position, line in enumerate(body) if line.number]
    steps = [body[position] for position in numbered]
    if (
        len(steps) < 2
        or numbered[-1] - numbered[0] + 1 != len(steps)
        or [line.number for line in steps] != list(range(1, len(steps) + 1))
        or any(line.text[-1:] not in ".)!" for line in steps)
        or (steps[-1] is body[-1] and len(passage.text) > MAX_OPEN)
    ):
        return None
    start = passage.text.rfind("\n", 0, steps[0].start) + 1
    return (start, steps[-1].end) if steps[-1].end - start <= MAX_ANSWER else None


def _lead(body: list[Line], passage: Passage, phrases: Phrases) -> Span | None:
    """Return the span of a section's first paragraph, where it is whole and can be read by itself."""
    if body[0].kind != "prose" or (len(body) > 1 and body[1].kind in ("list_item", "code")):
        return None
    read = [sentence for sentence in split_into_sentences(passage) if sentence.start >= body[0].start]
    last = next((place for place, line in enumerate(read[1:], 1) if line.first), len(read))
    paragraph = read[:last]
    while len(paragraph) > 1 and (
        len(paragraph[-1].text) < MIN_SENTENCE or paragraph[-1].end - paragraph[0].start > MAX_LEAD
    ):
        paragraph.pop()
    if not paragraph or any(not line.text.endswith((".", "!")) for line in paragraph):
        return None
    start, end = paragraph[0].start, paragraph[-1].end
    text, opening = passage.text[start:end], paragraph[0].text.split()
    alone = (
        MIN_LEAD <= len(text) <= MAX_LEAD
        and text[0].isupper()
        and not leans_on_context(opening[0], phrases)
        and not leans_on_context(" ".join({*opening[1:2]} - phrases.addressing), phrases)
        and not any(word.endswith(":") for word in opening[:4])
        and not points_elsewhere(text, phrases)
        and not phrases.dangling.search(paragraph[0].text)
        and in_language(text, passage.language)
    )
    return (start, end) if alone else None


def _passage(question: str, kind: QuestionType, span: Span, passage: Passage, score: float) -> Candidate:
    """Answer with a part of the passage, its lines joined and the bullets of its items left out."""
    quote = passage.text[slice(*span)]
    answer = " ".join(" ".join(line.strip().removeprefix("- ") for line in quote.split("\n")).split())
    return Candidate(question, kind, answer, quote, *span, score)


def _nameable(name: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a key, a column or a term can be quoted in a question and names what is asked for."""
    return (
        0 < len(name.split()) <= 5
        and not any(mark in name for mark in '"“”„«»()[]{}\ufffd.,;?!=&/+')
        and (phrases.leaning | phrases.abstract).isdisjoint(name.lower().split()[:1])
        and in_language(name, passage.language)
    )


def _answers(value: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a value says something by itself, in the language of the passage."""
    return (
        len(value) <= MAX_VALUE
        and _NOTHING.fullmatch(value) is None
        and not value.endswith((":", "…", "..."))
        and not points_elsewhere(value, phrases)
        and in_language(value, passage.language)
    )
