"""What a question leans on that its reader does not have: pronouns, "the text", numbers of sections.

The rules would rather pass a question than condemn it; a name in quotation marks says what is meant.
"""

import functools
import re

from qa_pipeline.text.language import QUOTED
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import Token, tokenize

_BACKREFERENCES = {
    "en": (
        r"\baccording to (?:the|this|these) (?:\w+ )?(?:text|passage|excerpt|document|section|chapter"
        r"|paragraph|article|table|figure|list|example|snippet|page|author|context)s?\b(?! (?:of|on|about"
        r"|for|named|called|titled)\b)(?!\s*[“\"(])"
        r"|\bthe (?:(?:given|provided|present) )?(?:text|passage|excerpt|snippet|author|context) (?:say"
        r"|state|mention|describe|give|list|explain)s?\b"
        r"|\b(?:in|from|by|under) (?:the|this) (?:(?:given|provided|present) )?(?:text|passage|excerpt"
        r"|snippet)\b(?! of\b)"
        r"|\b(?:mentioned|described|shown|listed|given|stated|discussed|provided) (?:\w+ )?(?:above|below"
        r"|here|earlier|previously)\b"
        r"|\bthe (?:above|aforementioned|following)\b(?! (?:day|night|morning|week|month|quarter|year"
        r"|season)s?\b)"
        r"|\b(?:passage|section|chapter|figure|table|page|paragraph|step|listing) \d+(?:\.\d+)*\b(?! (?:of"
        r"|in)\b)"
    ),
    "sv": (
        r"\benligt (?:(?:den|det|denna|detta|dessa|de) (?:\w+ )?)?(?:text(?:en)?|avsnitt(?:et)?|stycket?"
        r"|dokument(?:et)?|kapit(?:el|let)|tabell(?:en)?|figur(?:en)?|lista[n]?|exem(?:pel|plet)|artikeln?"
        r"|sida[n]?|passagen?|utdrag(?:et)?)\b(?! (?:om|för|över|av|i|från|som|\d)\b)(?!\s*[”\"(])"
        r"|\b(?:i|ur|av|från) (?:texten|avsnittet|stycket|utdraget|passagen|denna text|detta (?:avsnitt"
        r"|stycke|utdrag))\b(?! (?:om|för|över|av|i|från|som)\b)(?!\s*[”\"(])"
        r"|\b(?:säger|nämner|anger|beskriver) (?:texten|avsnittet|stycket|utdraget|författaren)\b"
        r"|\b(?:nämns|beskrivs|anges|visas|listas|nämnts|nämnda|beskrivna|angivna) (?:\w+ )?(?:ovan|nedan"
        r"|här|tidigare)\b"
        r"|\b(?:ovanstående|nedanstående|ovannämnda)\b"
        r"|\b(?:avsnitt|kapitel|figur|tabell|sida[n]?|stycke|steg) \d+(?:\.\d+)*\b(?! (?:i|av)\b)"
    ),
    "de": (
        r"\b(?:laut|gemäß)(?: de[mrsn]| diese[mrsn])? (?:\w+ )?(?:Text|Textstelle|Abschnitt|Absatz|Dokument"
        r"|Kapitel|Tabelle|Abbildung|Liste|Beispiel|Artikel|Seite|Passage|Auszug|Kontext)(?:s"
        r"|es)?\b(?! (?:von|vom|über|zu|zum|zur|des|der|für|mit|\d)\b)(?!\s*[„\"(])"
        r"|\b(?:(?:in|aus) (?:dem|der|diesem|dieser)|im) (?:(?:obigen|vorliegenden|genannten"
        r"|angegebenen) )?(?:Text|Textstelle|Textabschnitt|Passage|Auszug)\b(?! (?:von|vom|zu|zum|zur|des"
        r"|der|für|mit)\b)(?!\s*[„\"(])"
        r"|\b(?:sagt|nennt|beschreibt|erklärt) (?:der (?:Text|Abschnitt|Autor)|die Textstelle)\b"
        r"|\b(?:oben|unten|hier|zuvor|vorher) (?:genannt|erwähnt|beschrieben|aufgeführt|gezeigt"
        r"|angegeben)\w*\b"
        r"|\bobige[nrsm]?\b"
        r"|\b(?:Abschnitt|Kapitel|Abbildung|Tabelle|Seite|Schritt|Absatz) \d+(?:\.\d+)*\b(?! (?:de[rs]|von"
        r"|in|im)\b)"
    ),
}
"""Patterns of words that point at a text which only its writer had at hand."""
_AHEAD = 7
"""Words behind a pronoun in which an impersonal construction shows: "does it take … to"."""


def leans_on(question: str, language: str) -> str | None:
    """Return the words of a question that only its passage explains; None if there are none."""
    match = _backreference(language).search(question)
    if match is not None:
        return match[0]
    if QUOTED.search(question):
        return None
    pronoun = _unresolved(question, language)
    return None if pronoun is None else question[pronoun.start : pronoun.end]


def _unresolved(question: str, language: str) -> Token | None:
    """Return the first pronoun, if the question names nothing before it."""
    words, vocabulary = tokenize(question, language), lexicon(language)
    pronouns = vocabulary.pronouns
    for place, word in enumerate(words):
        if word.content and word.folded not in vocabulary.question_words:
            return None
        if word.folded not in pronouns.leaning | pronouns.demonstratives:
            continue
        if word.folded in pronouns.demonstratives:
            return word
        ahead = words[place + 1 : place + 1 + _AHEAD]
        around = (*words[max(0, place - 1) : place], *ahead)
        polite = place > 0 and question[word.start].isupper()  # the German "Sie"
        article = word.folded in vocabulary.determiners and bool(ahead) and ahead[0].content
        impersonal = any(other.folded in pronouns.impersonal for other in around)
        if not polite and not article and not impersonal:
            return word
    return None


@functools.cache
def _backreference(language: str) -> re.Pattern[str]:
    return re.compile(_BACKREFERENCES[lexicon(language).code], re.IGNORECASE)
