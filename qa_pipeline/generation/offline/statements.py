"""Questions about what a sentence states: a term, a figure, a date, a condition, a duty, a cause, a way.

The kinds of sentences are rows of each language; what the parts of a question must be is here.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from qa_pipeline.generation.offline.passages import (
    Candidate,
    Place,
    Sentence,
    decapitalised,
    in_language,
    is_identifier,
    is_named,
    is_named_in,
    leans_on_context,
    place_of,
    points_elsewhere,
    split_into_sentences,
    stems,
)
from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import SMALL, lexicon
from qa_pipeline.text.lexicon.phrases import Phrases, Statement, any_of, fill

MIN_SENTENCE, MAX_SENTENCE = 30, 420
"""Characters of a sentence that can be an answer; a shorter one is a fragment."""
MAX_SUBJECT = 7
"""Words; a longer subject mostly holds a clause."""
FEWEST_WORDS = 2
"""Words of a goal or condition beside the little words of the language: fewer say too little."""
SURE = 0.7
"""Score from which a kind of sentence says enough of any subject, also of "the server"."""
TERM = 0.9
"""Score from which a subject is a term that is being defined, and may be a single word."""
_CLAUSES = ("goal", "condition", "rest", "tail")
_TORN_WORD = re.compile(rf"[{SMALL}][-\u2010] (?!and|or|to|och|eller|till|und|oder|bis)[{SMALL}]")
"""A word that was parted at the end of a line, unless it waits for the second part of a compound."""
_NAMING = {"subject", "goal", "condition"}
_WHOLE = ("goal", "condition")
_TELLING = ("{rest}", "{verb}", "{unit}", "{done}")
_SMALL = ("when", "verb")


def find(passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask what the sentences of a passage state."""
    place = place_of(passage, phrases)
    for written in split_into_sentences(passage):
        sentence = replace(written, text=without_fillers(written.text, passage.language))
        if not _readable(sentence, passage, phrases):
            continue
        statement, question = question_of(sentence, phrases.statements, place, passage, phrases)
        if statement is None and (parts := _adverbial(sentence.text, passage, phrases)):
            core = replace(sentence, text=parts[1])
            statement, question = question_of(core, phrases.statements, place, passage, phrases)
            question = _limited(question, parts[0], passage)
            if statement and "{condition}" in statement.template:
                continue  # two circumstances in a question are hard to read
        if statement and question:
            span = (sentence.start, sentence.end)
            quote = passage.text[slice(*span)]
            yield Candidate(question, statement.question_type, sentence.text, quote, *span, statement.score)


def without_fillers(text: str, language: str) -> str:
    """Return a sentence without words that only tie it to the one before: "However", "also"."""
    plain = _fillers(language).sub("", text)
    keeps_opening = plain[:1] == text[:1] or is_identifier(plain.split()[0])
    return plain if keeps_opening else plain[:1].upper() + plain[1:]


def _adverbial(text: str, passage: Passage, phrases: Phrases) -> tuple[str, str] | None:
    """Part "By default, the log is rotated" into "by default" and "The log is rotated".

    What only ties sentences ("In addition, …") is left out. None where a sentence opens otherwise, or where
    verbs come second and what follows is no sentence.
    """
    language = lexicon(passage.language)
    opening, comma, rest = text.partition(", ")
    first, *others = opening.split(" ")
    if (
        language.verb_second
        or not comma
        or first.lower() in language.infinitive_marks
        or first.lower() not in language.prepositions
        or not 0 < len(others) <= MAX_SUBJECT
        or leans(opening, passage, phrases)
        or not _content(opening, passage)
        or (others[0] in phrases.abstract and len(others) > 1)
    ):
        return None
    limits = "" if others[0] in phrases.abstract else f"{first.lower()} {' '.join(others)}"
    return limits, rest[:1].upper() + rest[1:]


def _limited(question: str, limit: str, passage: Passage) -> str:
    """Put "by default" at the end of a question, or at its head where a preposition ends it."""
    if not limit or not question:
        return question
    without_mark = question.rstrip("?")
    if without_mark.rpartition(" ")[2] in lexicon(passage.language).prepositions:
        return f"{limit[:1].upper()}{limit[1:]}, {without_mark[:1].lower()}{without_mark[1:]}?"
    return f"{without_mark} {limit}?"


@functools.cache
def _fillers(language: str) -> re.Pattern[str]:
    """Return a pattern of the words that tie sentences, but before a condition ("also if") or another clause.

    At the opening they stay where verbs come second, whose order they turn.
    """
    words = lexicon(language)
    fillers = "|".join(sorted(word for word in words.fillers if words.wording.dangling.fullmatch(word)))
    ties = "|".join(sorted(words.conditional_words | words.contrasts | words.comparing | words.conjunctions))
    all_fillers = "|".join(sorted(words.fillers))
    opening = "" if words.verb_second else rf"^(?i:{fillers}) |^(?i:{all_fillers})(?:,| that) |"
    pairs = "".join(rf"(?<!\b{word})" for word in sorted(words.comparing))  # "sowohl … als auch"
    return re.compile(rf"{opening}(?<=\w){pairs}(?:, (?:{fillers}),| (?:{fillers}))(?! (?:{ties})\b)(?= )")


def question_of(
    sentence: Sentence, statements: Sequence[Statement], place: Place, passage: Passage, phrases: Phrases
) -> tuple[Statement | None, str]:
    """Return the first kind of sentence that a sentence is and the question it answers."""
    for statement in statements:
        question = _question(statement, sentence, place, passage, phrases)
        if question:
            return statement, question
    return None, ""


def _question(
    statement: Statement, sentence: Sentence, place: Place, passage: Passage, phrases: Phrases
) -> str | None:
    match = statement.expression.fullmatch(sentence.text)
    if match is None or (statement.opening and (sentence.in_list or not sentence.first)):
        return None
    groups = {name: value or "" for name, value in match.groupdict().items()}
    clauses = [groups[name] for name in _CLAUSES if f"{{{name}}}" in statement.template]
    fewest = FEWEST_WORDS + sentence.in_list
    if (
        any(leans(clause, passage, phrases) for clause in clauses)
        or (groups.keys().isdisjoint(_NAMING) and leans(sentence.text.split()[0], passage, phrases))
        or ("{rest}" in statement.template and _is_broken(groups, passage, phrases))
        or any(len(_content(groups[name], passage)) < fewest for name in _WHOLE if name in groups)
        or _has_vague_goal(groups.get("goal", "").split(), passage, phrases)
        or (
            _has_vague_subject(groups.get("condition", "").split(), phrases)
            and not phrases.law_named(place.title)
        )
        or (statement.question_type == "procedure" and phrases.partial.search(sentence.text))
        or not phrases.idle.isdisjoint(
            groups.get("condition", "").split() + groups.get("goal", "").split()[:1]
        )
        or (statement.question_type == "reasoning" and _weak(f"is {groups.get('rest', '')}", phrases))
        or any(_breaks_off(groups[name], passage) for name in _WHOLE if name in groups)
        or (statement.opening and _conditions(passage.language).search(sentence.text))
    ):
        return None
    if "subject" in groups:
        subject = _subject(groups["subject"], passage, phrases)
        mentioned = _is_mentioned(groups["subject"], passage, phrases)
        defines = "{rest}" not in statement.template
        if (
            subject is None
            or (statement.opening and not mentioned)
            or (defines and _weak(groups.get("rest", ""), phrases))
            or not ((mentioned and statement.score >= SURE) or _says_enough(statement, subject, passage))
        ):
            return None
        if _is_vague(subject, phrases) and not phrases.law_named(place.title):
            return None
        groups["subject"] = subject
    groups |= {name: groups[name][:1].lower() + groups[name][1:] for name in _SMALL if name in groups}
    return with_place(statement.template, groups, place, passage, phrases)


def with_place(
    template: str, groups: Mapping[str, str], place: Place, passage: Passage, phrases: Phrases
) -> str | None:
    """Fill in a question, with its place unless it has a name itself; None where nothing names its thing."""
    source = place.source(phrases)
    question = fill(template, {**groups, "source": source}, placed=False)
    name = {
        word for word in stems(place.title) if word not in stems(" ".join(phrases.manuals | phrases.general))
    }
    if is_named(question, groups.get("subject", ""), passage) or (
        source and name and name <= stems(question)
    ):
        return question
    return fill(template, {**groups, "source": source}, placed=True) if source else None


def _has_vague_goal(words: list[str], passage: Passage, phrases: Phrases) -> bool:
    """Return whether the only object of a goal is vague: "close the window", "das Fenster zu schließen"."""
    if lexicon(passage.language).verb_final:
        return 2 < len(words) < 5 and _is_vague(" ".join(words[:2]), phrases)
    return 1 < len(words) < 5 and _is_vague(" ".join(words[1:]), phrases)


def _has_vague_subject(words: list[str], phrases: Phrases) -> bool:
    """Return whether a short condition is of a vague thing: "the problem persists", "filen finns"."""
    return 1 < len(words) < 5 and any(_is_vague(" ".join(words[:end]), phrases) for end in (1, 2))


def _is_vague(phrase: str, phrases: Phrases) -> bool:
    """Return whether a noun phrase is a lone noun that its page alone tells: "the file", "dialogrutan"."""
    words = [word.lower() for word in phrase.split()]
    return words[-1] in phrases.vague and set(words[:-1]) <= phrases.definite | phrases.abstract


def _says_enough(statement: Statement, subject: str, passage: Passage) -> bool:
    """Return whether a question about a subject that only its document explains says more than "the file"."""
    is_telling = statement.score >= SURE and any(part in statement.template for part in _TELLING)
    return is_telling or statement.score >= TERM or len(_content(subject, passage)) >= FEWEST_WORDS


def leans(clause: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a clause has a word that its surroundings explain: "its", "these", "above"."""
    language = lexicon(passage.language)
    free = language.joiners | language.relatives | language.ordinals.keys()
    deictic = language.deictic | language.fillers | phrases.pointing | (phrases.leaning - free)
    words = {word.strip("“”„\"'.,") for word in clause.split()} - phrases.addressing
    return not deictic.isdisjoint(word.lower() for word in words)


def _is_broken(groups: Mapping[str, str], passage: Passage, phrases: Phrases) -> bool:
    """Return whether what is asked of a subject is only little words or another clause.

    A pronoun behind the verb is the subject where verbs come second, and what stands before it is none.
    """
    language, rest = lexicon(passage.language), groups["rest"]
    words, pronouns = rest.lower().split(), language.deictic | {word.lower() for word in phrases.addressing}
    if (words and "verb" not in groups and not _content(rest, passage)) or not (
        language.question_openers.isdisjoint(words)
        and (language.also | language.exclusive).isdisjoint(words[-1:])
    ):
        return True
    if not language.verb_second:
        return False
    is_turned = not pronouns.isdisjoint(words[:1]) or not language.finite_verbs.isdisjoint(words[:-1])
    has_second_verb = re.search(rf"\b{language.and_word} [{SMALL}]+[ts]\b", rest) is not None
    return has_second_verb or ("subject" in groups and is_turned)


def _breaks_off(clause: str, passage: Passage) -> bool:
    """Return whether a clause ends where another one would begin: "which accounts get checked when"."""
    language = lexicon(passage.language)
    ends = language.joiners | language.conditional_words | language.question_openers
    return clause.split()[-1].lower() in (ends - language.prepositions) | language.infinitive_marks


@functools.cache
def _conditions(language: str) -> re.Pattern[str]:
    """Return a pattern of conditions: what a thing does under some is not what it does."""
    return re.compile(rf"\b{any_of(','.join(lexicon(language).conditions))}\b")


def _content(clause: str, passage: Passage) -> list[str]:
    stop_words = lexicon(passage.language).stop_words
    return [word for word in clause.split() if word.lower() not in stop_words]


def _readable(sentence: Sentence, passage: Passage, phrases: Phrases) -> bool:
    text = sentence.text
    return (
        MIN_SENTENCE <= len(text) <= MAX_SENTENCE
        and (text[0].isupper() or _opens_with_name(text, passage))
        and text[-1] == "."
        and not text.endswith("..")
        and "```" not in text
        and " | " not in text
        and "\ufffd" not in text
        and not points_elsewhere(text, phrases)
        and in_language(text, passage.language)
        and phrases.dangling.search(text) is None
        and _TORN_WORD.search(text) is None
    )


def _opens_with_name(text: str, passage: Passage) -> bool:
    """Return whether a sentence opens with a name that is written small: "apt_preferences", a tool's name."""
    first = text.split()[0]
    return first[0].isalpha() and (is_identifier(first) or first in passage.title.split())


def _subject(subject: str, passage: Passage, phrases: Phrases) -> str | None:
    """Return the subject as it is in a question; None where it is no name of a thing."""
    words = subject.split()
    first = words[0].lower()
    language = lexicon(passage.language)
    articles = phrases.indefinite | phrases.definite | language.universal
    inner = words[1:] if first in articles else words
    outer = language.stop_words | phrases.abstract
    if (
        not inner
        or len(words) > MAX_SUBJECT
        or " - " in subject
        or not (language.finite_verbs | (language.dependent_openers - language.prepositions)).isdisjoint(
            word.lower() for word in inner
        )
        or leans_on_context(" ".join(word for word in inner if word not in language.joiners), phrases)
        or first in (phrases.leaning | language.prepositions) - articles
        or _is_order(words, passage, phrases)
        or not outer.isdisjoint(word.lower() for word in (inner[0], inner[-1]))
        or not phrases.weak.isdisjoint(word.lower() for word in inner)
        or not (any(character.isalpha() for character in subject) and subject[-1].isalnum())
        or any(mark in subject for mark in '"“”„«»[]{}<>=|*')
    ):
        return None
    written = decapitalised(subject, passage, phrases)
    nouns_capitalised = language.nouns_capitalised
    if not written[0].isupper() or (len(words) == 1 and not nouns_capitalised):
        return written
    opener = subject if nouns_capitalised else words[0]
    if not nouns_capitalised and all(word[0].isupper() for word in inner):
        is_action = words[0].endswith(language.verbal_nouns or "\0")
        return written[:1].lower() + written[1:] if is_action else written
    is_named = _is_mentioned(opener, passage, phrases) or _headed(subject, passage, phrases)
    return written if is_named else None


def _is_order(words: Sequence[str], passage: Passage, phrases: Phrases) -> bool:
    """Return whether words open an order: "Kontrollera filen", "Check the valve"; "Set theory" does not."""
    articles = phrases.definite | phrases.indefinite
    return words[0].lower() in phrases.infinitives and (
        lexicon(passage.language).verb_second or not articles.isdisjoint(word.lower() for word in words[1:2])
    )


def _is_mentioned(subject: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a subject means the same outside the passage: a class of things, a name or a heading."""
    words = subject.split()
    first = words[0].lower()
    nouns_capitalised = lexicon(passage.language).nouns_capitalised
    return (
        first in phrases.indefinite
        or any(is_identifier(word) for word in words)
        or ((len(words) == 1 or not nouns_capitalised) and any(is_named_in(word, passage) for word in words))
        or _headed(subject, passage, phrases)
    )


def _headed(subject: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a heading above the passage speaks of little else than the subject."""
    needed = stems(" ".join(word for word in subject.split() if word.lower() not in phrases.definite))
    headings = (stems(heading) for heading in (passage.title, *passage.section_path[-1:]))
    return bool(needed) and any(needed <= heading and 2 * len(needed) > len(heading) for heading in headings)


def _weak(rest: str, phrases: Phrases) -> bool:
    """Return whether a predicate judges or points and does not define: "a good idea", "the same"."""
    words = [word.strip(",.") for word in rest.split()[1:3]]
    return any(word.lower() in phrases.weak or phrases.superlative.fullmatch(word) for word in words)
