"""Canaries of statements: clauses exchanged, dropped, moved, merged; numbers spelled; wrong passages."""

import functools
import re
from collections.abc import Iterator, Sequence

from qa_pipeline.verification.canaries.material import (
    Draft,
    Generator,
    Material,
    Sentence,
    on_text,
    replaced,
    word_set,
    words,
)

_BECAUSE = {
    "en": r"because(?! of)",
    "sv": r"eftersom|därför att",
    "de": r"weil|da(?= )",
}
_IF = {"en": r"[Ii]f|[Ww]hen", "sv": r"[Oo]m|[Nn]är", "de": r"[Ww]enn|[Ff]alls"}
_LEADS = {
    "en": r"(?:leads|led) to|causes|caused|results in|resulted in|triggers|produces|implies",
    "sv": r"leder till|medför|orsakar|innebär|föranleder",
    "de": r"führt zu|verursacht|bewirkt|führen zu|erzeugt|impliziert",
}
_VERB = r"(?:ska|skall|får|kan|måste|bör|har|är|gäller|[a-zäöüß]+(?:en|t))"
_SUBJECTS = {
    "sv": r"(?:man|du|den|det|de|vi|han|regeringen|myndigheten|rätten|domstolen|styrelsen|nämnden|"
    r"\w+en|\w+et)",
    "de": r"(?:Sie|man|es|er|sie|wir|du|FastAPI|Pydantic)",
}
_ODD = re.compile(r"[();:\"“„–—]| - ")
_FEWEST = 3


def _lower(clause: str, language: str) -> str:
    """A clause without its capital, unless its first word is a name, an acronym or a German noun."""
    first = clause.split(" ", 1)[0]
    plain = (first[1:].islower() or first == "A") and not first.startswith(("I'", "I’"))
    return clause[:1].lower() + clause[1:] if plain and (language != "de" or _starts_small(first)) else clause


_SMALL_STARTS = word_set(
    """Der Die Das Ein Eine Es Er Wir Du In Im Auf Mit Bei Für Wenn Dies Diese Dieser Dieses Man
    Alle Jede Jeder Beim Zum Zur Durch Nach Vor Um Und Aber Auch Dann Hier Da Als Standardmäßig
    Dadurch Dabei Damit"""
)


def _starts_small(word: str) -> bool:
    return word in _SMALL_STARTS


def _upper(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


def _long(*clauses: str) -> bool:
    return all(len(clause.split()) >= _FEWEST for clause in clauses)


def cause_exchanged(sentence: Sentence, material: Material) -> Iterator[str]:
    """From "A because B" to "B because A"."""
    pattern = rf"^([^,]+?),? ({_BECAUSE[sentence.language]}) ([^,]+)\.$"
    found = re.match(pattern, sentence.text)
    if not found or not _long(found[1], found[3]) or _ODD.search(sentence.text):
        return
    if sentence.language == "de":
        main, inner = _german_main(found[3]), _german_inner(found[1])
    else:
        main, inner = found[3], _lower(found[1], sentence.language)
    if main and inner:
        yield f"{_upper(main)}{'' if sentence.language == 'en' else ','} {found[2]} {inner}."


def condition_exchanged(sentence: Sentence, material: Material) -> Iterator[str]:
    """From "If A, B" to "If B, A"; Swedish and German put their verbs in order again."""
    language = sentence.language
    found = re.match(rf"^({_IF[language]}) ([^,]+), (?:then |så |dann )?([^,]+)\.$", sentence.text)
    if not found or not _long(found[2], found[3]) or _ODD.search(sentence.text):
        return
    turned = re.match(rf"^({_VERB}) ({_SUBJECTS.get(language, '')}) (?!eller |oder )(.+)$", found[3])
    inner: str | None = found[3] if language == "en" else None
    main: str | None = found[2] if language == "en" else None
    if language == "sv" and turned and (first := re.match(rf"^({_SUBJECTS['sv']}) (\w+) (.+)$", found[2])):
        inner, main = f"{turned[2]} {turned[1]} {turned[3]}", f"{first[2]} {first[1]} {first[3]}"
    elif language == "de" and turned and (rest := _german_main(found[2])):
        subject, verb, after = rest.split(" ", 2)
        inner, main = f"{turned[2]} {turned[3]} {turned[1]}", f"{verb} {subject} {after}"
    if inner and main:
        yield f"{found[1]} {inner}, {main}."


def _german_main(inner: str) -> str | None:
    """The main clause of a subordinate one with a pronoun in front: its verb goes to the second place."""
    found = re.match(rf"^({_SUBJECTS['de']}) (.+) (\w+)$", inner)
    return f"{found[1]} {found[3]} {found[2]}" if found else None


def _german_inner(main: str) -> str | None:
    """The subordinate clause of a main one with a pronoun in front: its verb goes to the end."""
    found = re.match(r"^(Sie|Es|Er|Wir|Das|Man|FastAPI) (\w+) (.+)$", main)
    return (
        f"{found[1] if found[1] in ('Sie', 'FastAPI') else found[1].lower()} {found[3]} {found[2]}"
        if found
        else None
    )


_CAUSE = re.compile(
    r"^(?!In |This has|I den|Dann )(?!.*\b(?:by|that|which|som|att|and|och|und|dass|inte|icke)\b)"
)
_EFFECT = re.compile(
    r"^(?:an?|the|some|certain|en|ett|eine?n?|der|die|das) (?!.*\b(?:to|att|zu|which|som)\b)"
)


def effect_exchanged(sentence: Sentence, material: Material) -> Iterator[str]:
    """From "A leads to B" to "B leads to A"."""
    found = re.match(rf"^([^,]+) ({_LEADS[sentence.language]}) ([^,]+)\.$", sentence.text)
    if found and _CAUSE.match(found[1]) and _EFFECT.match(found[3]) and not _ODD.search(sentence.text):
        yield f"{_upper(found[3])} {found[2]} {_lower(found[1], sentence.language)}."


_CONDITIONAL = re.compile(
    r"^,? ?(?:or|eller|oder|either|entweder|antingen)\b|\b(?:assuming|when|during|while|unter|vid|bei|during|"
    r"only|except|unless|not|no|if|but|e\.g|i\.e|see|default|optional\w*|endast|bara|utom|om|inte|ej|"
    r"men|undantag|nur|außer|nicht|kein\w*|wenn|aber|falls|nor|without|utan|ohne)\b",
    re.IGNORECASE,
)


def parenthesis_dropped(sentence: Sentence, material: Material) -> Iterator[str]:
    """The sentence without what stands in brackets, which must limit nothing."""
    for found in re.finditer(r" \(([^()]{4,})\)", sentence.text):
        if not _CONDITIONAL.search(found[1]):
            yield replaced(sentence.text, found, "")


_EXAMPLES = {
    "en": r", (?:such as|for example|for instance|including) [^,]+(?=\.$)|, for example(?=,)",
    "sv": r", (?:till exempel|exempelvis|såsom|däribland) [^,]+(?=\.$)",
    "de": r", (?:zum Beispiel|beispielsweise|wie etwa|unter anderem) [^,]+(?=\.$)",
}
_RELATIVE = {
    "en": r", which (?!are not|is not)[^,]+(?=\.$)",
    "sv": r", vilket [^,]+(?=\.$)",
    "de": r", (?:d\. ?h\.|also) [^,]+(?=\.$)",
}
_COORDINATE = {
    "en": r", and (?=(?:it|they|this|these|you|the|we|its)\b)[^,]+(?=\.$)",
    "sv": r", och (?=(?:den|det|de|detta|denna|dessa|han)\b)[^,]+(?=\.$)",
    "de": r"(?:,)? und (?=(?:es|er|sie|Sie|wir|du|dies|diese)\b)[^,]+(?=\.$)",
}
_OPEN_CLAUSE = re.compile(
    r"^(?:If|When|Unless|While|Although|Om|När|Då|Wenn|Falls|Während|Sobald)\b|"
    r"\b(?:if|unless|between|both|either|neither|if|om|mellan|varken|antingen|sowohl|zwischen|weder|"
    r"entweder|wenn|whether|until|till)\b"
)


def aside_dropped(sentence: Sentence, material: Material) -> Iterator[str]:
    """The sentence without its examples or the remark at its end."""
    for table in (_EXAMPLES, _RELATIVE):
        for found in re.finditer(table[sentence.language], sentence.text):
            rest = replaced(sentence.text, found, "")
            if not _CONDITIONAL.search(found[0]) and len(rest.split()) >= 5 and "(" not in found[0]:
                yield rest


def coordinate_dropped(sentence: Sentence, material: Material) -> Iterator[str]:
    """The first of two whole statements joined by "and"."""
    found = re.search(_COORDINATE[sentence.language], sentence.text)
    if (
        found
        and _long(found[0][5:])
        and not _OPEN_CLAUSE.search(sentence.text)
        and "," not in sentence.text[: found.start()]
    ):
        rest = sentence.text[: found.start()]
        if len(rest.split()) >= 5 and not _ODD.search(sentence.text):
            yield f"{rest}."


_AND = {"en": ", and ", "sv": ", och ", "de": ", und "}
_TOGETHER = 400


def merged_by_and(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two neighbouring sentences joined by "and"."""
    if sentence.following and len(sentence.text) + len(sentence.following) <= _TOGETHER:
        second = _lower(sentence.following, sentence.language)
        if not re.match(r"(?:and|but|or|och|men|eller|und|aber|oder)\b", second):
            yield f"{sentence.text[:-1]}{_AND[sentence.language]}{second}"


def merged_by_dash(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two neighbouring sentences joined by a dash."""
    if sentence.following and len(sentence.text) + len(sentence.following) <= _TOGETHER:
        yield f"{sentence.text[:-1]} – {_lower(sentence.following, sentence.language)}"


def condition_moved(sentence: Sentence, material: Material) -> Iterator[str]:
    """From "If A, B" to "B if A"; Swedish and German turn subject and verb back."""
    language = sentence.language
    found = re.match(rf"^({_IF[language]}) ([^,]+), (?:then |så |dann )?([^,]+)\.$", sentence.text)
    if not found or not _long(found[2], found[3]) or _ODD.search(sentence.text):
        return
    if language == "en":
        if not re.match(r"(?:it|this|that|these|they|he|she)\b", found[3]):
            yield f"{_upper(found[3])} {found[1].lower()} {found[2]}."
        return
    turned = re.match(rf"^({_VERB}) ({_SUBJECTS[language]}) (?!eller |oder )(.+)$", found[3])
    if turned and turned[2] not in ("den", "det", "de", "es", "er", "sie"):
        comma = "," if language == "de" else ""
        yield f"{_upper(turned[2])} {turned[1]} {turned[3]}{comma} {found[1].lower()} {found[2]}."


_PAIR = {
    "en": r"(?<=[a-z] )([a-z]{4,}s) (and|or) ([a-z]{4,}s)"
    r"(?=[.,]| (?:are|is|of|in|to|for|can|will|must)\b)",
    "sv": r"(?<= )([a-zåäö]{4,}(?:ar|er|or|na)) (och|eller|samt) "
    r"([a-zåäö]{4,}(?:ar|er|or|na))(?=[.,]| (?:som|i|av|för|till|på|ska|skall|får|är)\b)",
    "de": r"(?<= )([A-ZÄÖÜ][a-zäöüß]{3,}) (und|oder) "
    r"([A-ZÄÖÜ][a-zäöüß]{3,})(?=[.,]| (?:in|für|von|auf|zu|mit|werden|sind|ist|kann|können)\b)",
}


def pair_turned(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two nouns joined by "and" or "or" change places."""
    for found in re.finditer(_PAIR[sentence.language], sentence.text):
        if not re.search(
            r"\b(?:respect|first|then|resp|först|sedan|zuerst|between|from|mellan|zwischen)", sentence.text
        ):
            yield replaced(sentence.text, found, f"{found[3]} {found[2]} {found[1]}")


_ONES = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
    "sv": "noll ett två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton "
    "arton nitton",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "sv": "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
}
_SMALL = 12
_AFTER_WORD = re.compile(r"(?<=[a-zåäöüß] )(\d{1,2})(?= [a-zåäöüßA-ZÅÄÖÜ][a-zåäöüß]{2,})")
_NO_COUNT = re.compile(
    r"(?:version|section|chapter|part|port|step|figure|table|tier|level|type|phase|kap|mom|avsnitt|nr|punkt|"
    r"paragraf|artikel|artikeln|bilaga|den|abschnitt|kapitel|schritt|typ|python|teil|the|of|och|eller|and|or|"
    r"to|till|bis|punkterna|april|maj|juni|juli|januari|mars|augusti|oktober|style|page|week|python|solaris|"
    r"punkten|artiklarna|stycket|enligt|av|i)\.? $",
    re.IGNORECASE,
)
_MONTH_NEXT = re.compile(
    r" (?:(?:eller|och|or|and|oder|und|to|till|bis) \d|jan|feb|mar|apr|maj|may|mai|jun|jul|aug|sep|okt|oct|"
    r"nov|dec|dez|mär|kap|mom|st\b)",
    re.IGNORECASE,
)


@functools.cache
def number_words(language: str) -> dict[str, int]:
    """Number words from 0 to 99 and their values."""
    return {spelt(number, language): number for number in range(100)}


def spelt(number: int, language: str) -> str:
    """A number from 0 to 99 in words."""
    ones, tens = _ONES[language].split(), _TENS[language].split()
    if number < len(ones):
        return ones[number]
    ten, one = tens[number // 10 - 2], number % 10
    if not one:
        return ten
    if language == "de":
        return f"{'ein' if one == 1 else ones[one]}und{ten}"
    return f"{ten}-{ones[one]}" if language == "en" else f"{ten}{ones[one]}"


def _counts(text: str) -> Iterator[re.Match[str]]:
    """Figures that count things: between words, and neither a label nor part of a date."""
    for found in _AFTER_WORD.finditer(text):
        before = text[: found.start()]
        labelled = _NO_COUNT.search(before) or not before.split()[-1].islower()
        if int(found[1]) > 1 and not labelled and not _MONTH_NEXT.match(text, found.end()):
            yield found


def small_as_words(sentence: Sentence, material: Material) -> Iterator[str]:
    """2 to 12 in words."""
    for found in _counts(sentence.text):
        if int(found[1]) <= _SMALL:
            yield replaced(sentence.text, found, spelt(int(found[1]), sentence.language), 1)


def large_as_words(sentence: Sentence, material: Material) -> Iterator[str]:
    """13 to 99 in words."""
    for found in _counts(sentence.text):
        if int(found[1]) > _SMALL:
            yield replaced(sentence.text, found, spelt(int(found[1]), sentence.language), 1)


def words_as_figures(sentence: Sentence, material: Material) -> Iterator[str]:
    """Number words in figures."""
    known = number_words(sentence.language)
    for found in re.finditer(r"(?<=[^\W\d_] )([^\W\d_]+(?:-[^\W\d_]+)?)(?= [^\W\d_])", sentence.text):
        if known.get(found[1], 0) > 1:
            yield replaced(sentence.text, found, str(known[found[1]]), 1)


_TRIES = 8
_MOST_SHARED = 0.6


def other_document(sentence: Sentence, material: Material) -> Iterator[Draft]:
    """A passage of another document."""
    others = [one for one in material.owners if material.owners[one] != sentence.document_id]
    yield from _first_unrelated(sentence, material, others, "other document")


def same_document(sentence: Sentence, material: Material) -> Iterator[Draft]:
    """Another passage of the same document."""
    owner = sentence.document_id
    others = [i for i in material.owners if material.owners[i] == owner and i != sentence.chunk_id]
    yield from _first_unrelated(sentence, material, others, "same document")


def _first_unrelated(
    sentence: Sentence, material: Material, others: Sequence[str], key: str
) -> Iterator[Draft]:
    """The first drawn passage that has fewer than most of the sentence's longer words."""
    wanted = {word.casefold() for word in words(sentence.text) if len(word) > 3}
    for place in range(_TRIES if others else 0):
        chosen = material.pick(others, sentence.text, key, str(place))
        held = {word.casefold() for word in words(material.chunks[chosen])}
        if wanted and len(wanted & held) <= _MOST_SHARED * len(wanted):
            yield Draft(sentence.text, chosen)
            return


GENERATORS = (
    Generator("cause_effect", "tuning", "cause_exchanged", on_text(cause_exchanged)),
    Generator("cause_effect", "held_out", "condition_exchanged", on_text(condition_exchanged)),
    Generator("cause_effect", "held_out", "effect_exchanged", on_text(effect_exchanged)),
    Generator("clause_dropped", "tuning", "parenthesis_dropped", on_text(parenthesis_dropped)),
    Generator("clause_dropped", "held_out", "aside_dropped", on_text(aside_dropped)),
    Generator("clause_dropped", "held_out", "coordinate_dropped", on_text(coordinate_dropped)),
    Generator("sentences_merged", "tuning", "merged_by_and", on_text(merged_by_and)),
    Generator("sentences_merged", "held_out", "merged_by_dash", on_text(merged_by_dash)),
    Generator("reordered", "tuning", "condition_moved", on_text(condition_moved)),
    Generator("reordered", "held_out", "pair_turned", on_text(pair_turned)),
    Generator("numbers_as_words", "tuning", "small_as_words", on_text(small_as_words)),
    Generator("numbers_as_words", "held_out", "large_as_words", on_text(large_as_words)),
    Generator("numbers_as_words", "held_out", "words_as_figures", on_text(words_as_figures)),
    Generator("wrong_passage", "tuning", "other_document", other_document),
    Generator("wrong_passage", "held_out", "same_document", same_document),
)
