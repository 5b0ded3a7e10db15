"""How a refusal to answer reads: the text this project writes, and what other writers say instead."""

import functools
import re

from qa_pipeline.prompts.loading import LANGUAGES, refusal

_LONGEST = 240
_MARKS = re.compile(r"\[[^\[\]\n]{1,1000}\]")

_SOURCES = {
    "en": r"(?:knowledge base|passages?|documents?|documentation|context|sources?|text|materials?)",
    "sv": r"(?:kunskapsbas|text|dokument|passage|käll|underlag|material|sammanhang|avsnitt)\w*",
    "de": r"(?:wissensdatenbank|text|dokument|passage|quelle|kontext|unterlage|abschnitt|material)\w*",
}
"""What a refusal says its answer is not in."""

_PATTERNS = {
    "en": (
        r"\b(?:is|are|was) not (?:available|contained|covered|mentioned|stated|specified|included|found|"
        r"described|addressed) (?:in|by|within) (?:the|this|these|our|any) (?:\w+ ){0,3}{sources}\b"
        r"|\b{sources} (?:do|does|did) not (?:contain|mention|say|state|specify|provide|include|cover|"
        r"describe|answer|address)\b"
        r"|\b(?:i|we) (?:can ?not|can't|could not|couldn't|am unable to|are unable to) "
        r"(?:answer|find|determine)\b"
        r"|\bi (?:do not|don't) (?:know|have (?:enough|sufficient|any|that|this) information)\b"
        r"|\bno (?:relevant )?information (?:is |was )?(?:available|found|given|provided|about|on)\b"
    ),
    "sv": (
        r"\b(?:finns|framgår|nämns|anges|beskrivs) (?:tyvärr )?(?:inte|ej)\b[^.]{0,30}?\b{sources}"
        r"|\b{sources} (?:\w+ ){0,2}(?:inte|ej|saknar)\b"
        r"|\b(?:finns )?ingen (?:relevant )?information (?:finns )?(?:tillgänglig|om|i)\b"
        r"|\b(?:jag|vi) (?:kan inte|kan ej|vet inte|hittar inte|har inte tillräcklig)\b"
    ),
    "de": (
        r"\b(?:ist|sind|wird|werden) (?:leider )?nicht (?:in|im|durch|aus) [^.]{0,40}?{sources}[^.]{0,20}"
        r"(?:verfügbar|enthalten|erwähnt|angegeben|genannt|beschrieben|ersichtlich)"
        r"|\b{sources} (?:\w+ ){0,3}(?:nicht|keine|kein)\b"
        r"|\bkeine (?:relevanten? )?(?:informationen|angaben|information|angabe) "
        r"(?:zu|über|verfügbar|gefunden|vorhanden|enthalten|dazu)"
        r"|\b(?:(?:ich|wir) (?:kann|können|weiß|wissen|finde|finden)|(?:finde|kann|weiß) ich)"
        r" (?:\w+ ){0,3}(?:nicht|keine)\b"
    ),
}


def is_refusal(answer: str, language: str) -> bool:
    """Whether an answer only says that the sources do not answer the question.

    A longer text that says so in passing is an answer of partial coverage, not a refusal.
    """
    text = _plain(_MARKS.sub(" ", answer))
    if any(text == _plain(refusal(known)) for known in LANGUAGES):
        return True
    return len(text) <= _LONGEST and _pattern(language).search(text) is not None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .")


@functools.cache
def _pattern(language: str) -> re.Pattern[str]:
    code = language if language in _PATTERNS else "en"
    return re.compile(_PATTERNS[code].replace("{sources}", _SOURCES[code]))
