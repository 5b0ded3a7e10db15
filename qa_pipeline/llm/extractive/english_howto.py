"""English questions after instructions: "To …, use …", "If you want to …", "You can … by …".

What belongs here: how-to rules. What does not: rules for facts.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from qa_pipeline.llm.extractive.drafts import Draft
from qa_pipeline.llm.extractive.english_filters import anchored, imperative, standalone_words, verb_phrase
from qa_pipeline.llm.extractive.english_names import asked, decapitalised, named, settled
from qa_pipeline.llm.extractive.english_words import IMPERATIVES, one_of
from qa_pipeline.llm.extractive.phrases import ENGLISH
from qa_pipeline.records import Passage

_PHRASE = r"([a-z][^,;:()]{5,110}?)"
_MEANS = r"(?:by (?:\w+ing|using)|using|via)"
_TO = re.compile(
    r"(?:In order to|To) ([a-z][^,.;:()]{4,110}?)(?:, | (?=you (?:can|must|need|have|should|use)\b))(.{8,})"
)
_WANT = re.compile(
    rf"If you {one_of('want, need, wish, would like')} to {_PHRASE},? ((?:then )?(?:you|use) .{{8,}})"
)
_BY = re.compile(
    r"(?:You (?:can |could |may |should |must |have to |need to )?(?:easily )?|It is (?:also )?possible to )"
    rf"{_PHRASE} {_MEANS} .{{6,}}"
)
_ORDER_BY = re.compile(rf"([A-Z][a-z]+ [^,;:()]{{6,110}}?) {_MEANS} .{{6,}}")
_USE = re.compile(rf"(?:You can (?:also )?u|U)se ([^,;:()]{{3,60}}?) to {_PHRASE}[.:]")
_BUILD = re.compile(
    r"(?:You (?:can|need to|must|should|have to) )?([A-Za-z][a-z]+) (?!to )[^,;:()]{4,90}?"
    r"(?<! used)(?<! able)(?<! going)(?<! needs)(?<! want)(?<! have)(?<! how) (?:in order )?to "
    r"([a-z]+ [^,;()]{6,110}?)[.:]"
)
_BUILDS = frozenset(
    ("create", "define", "declare", "pass", "set", "call", "configure", "write", "apply", "build", "include",
     "install")
)  # fmt: skip
_PARTICIPLE = r"([a-z]+(?:ed|en|set|put|run|built|made|done|sent|found|kept|cut|read|led|held))"
_PASSIVE = re.compile(
    rf"([A-Z][^,;:()]{{2,70}}?) can (?:also )?be {_PARTICIPLE} (?:{_MEANS}|with|through) .{{6,}}"
)
_VAGUE = re.compile(
    rf"\b{one_of('two, three, several, different, various, many, multiple')} (?:\w+ )?"
    rf"{one_of('forms, ways, places, methods, options, means, approaches')}\b"
)
_INSTEAD = re.compile(r"(?:You (?:should|can|could) )?[Uu]se [^,;:()]{2,60}? instead of ([^,;:()]{2,60}?)\.")
_BEST = one_of("best, recommended, preferred, simplest, easiest, standard, usual, only, most common")
_WAY = re.compile(rf"(The|One) ({_BEST}) way to {_PHRASE} is .{{8,}}")
_FOR = re.compile(r"For (?!example|instance|more)([a-z][^,;:()]{8,80}?), (?:you (?:can|should) )?use .{6,}")
_FIRST = re.compile(r"(Before|After) (you [^,;:()]{6,90}?), (.{8,})")
_THEN = re.compile(
    r"You (must|should|need to|have to) [^,;:()]{6,110}? before ((?:you|\w+ing) [^,;:()]{6,90})\."
)
_MUST = {
    "must": "What must you do",
    "should": "What should you do",
    "need to": "What do you need to do",
    "have to": "What do you have to do",
}
_NO_ADVICE = re.compile(r"\b(?:decide|consider|be aware|be careful|keep in mind|make sure you)\b")
_ADVICE = re.compile(
    r"you (?:can|could|should|must|need|have|may|might|only need|just need|will need|would|use)\b|"
    r"\S.{0,80}? (?:must|should|can|needs to|has to) be \w+ed\b"
)


def rules(text: str, passage: Passage) -> Iterator[Draft]:
    """Yield the questions an instruction answers."""
    yield from _passive(text, passage)
    for draft in (*_goal(text), *_means(text), *_use(text), *_choice(text), *_order(text)):
        placed = settled(draft.question, passage)
        if placed is not None:
            yield replace(draft, question=placed)


def _goal(text: str) -> Iterator[Draft]:
    """Ask after a purpose that is followed by what to do."""
    match = _TO.fullmatch(text)
    if match and _searchable(match[1]) and _instructs(match[2]):
        yield Draft(f"How do you {match[1]}?", "how_to", 0.8)
    match = _WANT.fullmatch(text)
    if match and _searchable(match[1]) and _instructs(match[2].removeprefix("then ")):
        yield Draft(f"How can you {match[1]}?", "how_to", 0.75)


def _means(text: str) -> Iterator[Draft]:
    """Ask after an action that is followed by its means."""
    match = _ORDER_BY.fullmatch(text)
    if match and match[1].split()[0].casefold() in IMPERATIVES:
        phrase = match[1][0].lower() + match[1][1:]
        if verb_phrase(phrase, least=3) and not phrase.startswith(("use ", "do ", "go ")):
            yield Draft(f"How do you {phrase}?", "how_to", 0.68)
    match = _BY.fullmatch(text)
    if match and verb_phrase(match[1], least=3):
        yield Draft(f"How can you {match[1]}?", "how_to", 0.7)


def _use(text: str) -> Iterator[Draft]:
    """Ask after an instruction that is followed by its purpose."""
    match = _USE.fullmatch(text)
    if match and standalone_words(match[1]) and verb_phrase(match[2], least=3):
        yield Draft(f"What can you use to {match[2]}?", "how_to", 0.65)
    match = _BUILD.fullmatch(text)
    if match and match[1].casefold() in _BUILDS and ENGLISH.verbal(match[2]) and verb_phrase(match[2]):
        yield Draft(f"How do you {match[2]}?", "how_to", 0.55)


def _passive(text: str, passage: Passage) -> Iterator[Draft]:
    match = _PASSIVE.fullmatch(text)
    if match and named(match[1], passage, broad=False) and not _VAGUE.search(text):
        question = f"How can {decapitalised(match[1], passage)} be {match[2]}?"
        yield Draft(asked(question, match[1], passage), "how_to", 0.65)


def _choice(text: str) -> Iterator[Draft]:
    """Ask after what to prefer."""
    match = _INSTEAD.fullmatch(text)
    if match and standalone_words(match[1]) and anchored(f"of {match[1]}"):
        yield Draft(f"What should you use instead of {match[1]}?", "how_to", 0.62)
    match = _WAY.fullmatch(text)
    if match and verb_phrase(match[3]):
        article = "a" if match[1] == "One" else "the"
        yield Draft(f"What is {article} {match[2]} way to {match[3]}?", "how_to", 0.75)
    match = _FOR.fullmatch(text)
    if match and standalone_words(match[1]):
        yield Draft(f"What should you use for {match[1]}?", "how_to", 0.6)


def _order(text: str) -> Iterator[Draft]:
    """Ask after what comes before or after something else."""
    match = _FIRST.fullmatch(text)
    if match and standalone_words(match[2]) and _instructs(match[3]):
        yield Draft(f"What should you do {match[1].lower()} {match[2]}?", "how_to", 0.6)
    match = _THEN.fullmatch(text)
    if match and standalone_words(match[2]):
        yield Draft(f"{_MUST[match[1]]} before {match[2]}?", "how_to", 0.6)


def _searchable(phrase: str) -> bool:
    """Tell whether a verb phrase says enough to be looked up: "pass headers" does not."""
    return verb_phrase(phrase) and (len(phrase.split()) > 2 or anchored(phrase))


def _instructs(text: str) -> bool:
    """Tell whether a main clause says what to do, not only what to think about."""
    return (imperative(text) or _ADVICE.match(text) is not None) and not _NO_ADVICE.search(text)
