"""How a refusal to answer reads: the text this project writes, and what other writers say instead.

What belongs here: telling a refusal from an answer by its words. What does not: whether the refusal is right
(`verification/refusals.py`).
"""

import re

from qa_pipeline.prompting import LANGUAGES, refusal

_LONGEST = 240
_MARKS = re.compile(r"\[[^\[\]\n]{1,1000}\]")
_PATTERNS = {
    "en": (
        r"\b(?:is|are|was) not (?:available|contained|covered|mentioned|stated|specified|included|found|described|addressed)"
        r" (?:in|by|within) (?:the|this|these|our|any) (?:\w+ ){0,3}"
        r"(?:knowledge base|passages?|documents?|documentation|context|sources?|text|materials?)\b",
        r"\b(?:passages?|documents?|documentation|context|sources?|text|materials?) (?:do|does|did) not "
        r"(?:contain|mention|say|state|specify|provide|include|cover|describe|answer|address)\b",
        r"\b(?:i|we) (?:can ?not|can't|could not|couldn't|am unable to|are unable to) (?:answer|find|determine)\b",
        r"\bi (?:do not|don't) (?:know|have (?:enough|sufficient|any|that|this) information)\b",
        r"\bno (?:relevant )?information (?:is |was )?(?:available|found|given|provided|about|on)\b",
    ),
    "sv": (
        r"\b(?:finns|framgår|nämns|anges|beskrivs) (?:tyvärr )?(?:inte|ej)\b[^.]{0,30}?\b(?:kunskapsbas|text|dokument|passage|källa|källor|underlag|material|sammanhang|avsnitt)",
        r"\b(?:texten|dokumentet|dokumenten|passagen|passagerna|källan|källorna|underlaget|materialet|avsnittet) (?:\w+ ){0,2}(?:inte|ej|saknar)\b",
        r"\b(?:finns )?ingen (?:relevant )?information (?:finns )?(?:tillgänglig|om|i)\b",
        r"\b(?:jag|vi) (?:kan inte|kan ej|vet inte|hittar inte|har inte tillräcklig)\b",
    ),
    "de": (
        r"\b(?:ist|sind|wird|werden) (?:leider )?nicht (?:in|im|durch|aus) [^.]{0,40}?(?:wissensdatenbank|text|dokument|passage|quelle|kontext|unterlagen|abschnitt)\w*[^.]{0,20}(?:verfügbar|enthalten|erwähnt|angegeben|genannt|beschrieben|ersichtlich)",
        r"\b(?:text|dokument|dokumente|passage|passagen|quelle|quellen|kontext|abschnitt|unterlagen) (?:\w+ ){0,3}(?:nicht|keine|kein)\b",
        r"\bkeine (?:relevanten? )?(?:informationen|angaben|information|angabe) (?:zu|über|verfügbar|gefunden|vorhanden|enthalten|dazu)",
        r"\b(?:ich|wir) (?:kann|können|weiß|wissen|finde|finden) (?:\w+ ){0,3}(?:nicht|keine)\b",
    ),
}


def is_refusal(answer: str, language: str) -> bool:
    """Whether an answer only says that the sources do not answer the question.

    A longer text that says so in passing is an answer of partial coverage, not a refusal.
    """
    text = " ".join(_MARKS.sub(" ", answer).casefold().split())
    if any(
        text.strip(" .") == " ".join(refusal(known).casefold().split()).strip(" .") for known in LANGUAGES
    ):
        return True
    patterns = _PATTERNS.get(language, _PATTERNS["en"])
    return len(text) <= _LONGEST and any(re.search(pattern, text) for pattern in patterns)
