"""How a refusal to answer reads."""

import functools
import re
from typing import NamedTuple

from qa_pipeline.prompts.loading import refusal
from qa_pipeline.text.characters import fold
from qa_pipeline.text.lexicon.languages import LANGUAGES, lexicon

_LONGEST = 600
"""Characters; what is longer says more than that there is no answer, or is not worth the time of patterns."""
_MARKS = re.compile(r"\[[^\[\]\n]{1,1000}\]")
_SENTENCE_ENDS = re.compile(r"(?<![\d.!?…])[.!?…]++(?=\s|$)|[;:](?=\s|$)|\s[–—-]\s|\n")
_QUOTED = re.compile(r"[\"“”„«»]")


class _Wording(NamedTuple):
    """Patterns of one language; `{sources}` in them stands for `sources`."""

    sources: str
    refusal: str
    fillers: str
    breaks: str


_WORDINGS = {
    "en": _Wording(
        sources=(
            r"(?:knowledge base|passages?|documents?|documentation|context|sources?|text|materials?"
            r"|excerpts?|articles?|manuals?|guides?|pages?|snippets?|files?|information (?:provided|given"
            r"|i have))"
        ),
        refusal=(
            r"\b(?:is|are|was|were|has|have)(?: not|n't)(?: been)? (?:\w+ ){0,2}(?:available|contained"
            r"|covered|mentioned|stated|specified|included|found|described|addressed|given|provided|listed"
            r"|disclosed|documented|discussed|indicated|present) (?:anywhere )?(?:in|by|within) (?:the|this"
            r"|these|those|our|any|your) (?:\w+ ){0,3}{sources}\b|\b(?:is|are|was|were)(?: not"
            r"|n't) (?:\w+ly )?(?:mentioned|specified|stated|disclosed|indicated|known)$|^(?:this|that|the"
            r"|such)(?: requested)? (?:information|answer|detail)s? (?:is|are|was|were|cannot be|can't be"
            r"|could not be)(?: not|n't)? ?(?:available|found|provided|given|there|included|known"
            r"|unavailable)\b|\b{sources} (?:\w+ ){0,2}(?:do|does|did)(?: not|n't) (?:\w+ ){0,2}(?:contain"
            r"|mention|say|state|specify|provide|include|cover|describe|answer|address|give|list|discuss"
            r"|indicate|tell|have|disclose|explain|reveal)\b|\b{sources} (?:\w+ ){0,2}(?:contains?|has|have"
            r"|provides?|gives?|includes?|offers?|makes?) (?:no|nothing)\b"
            r"|\b{sources} (?:\w+ ){0,2}(?:lacks?|(?:is|are) silent|(?:is|are) (?:insufficient"
            r"|not (?:sufficient|enough)))\b|\b(?:nothing|nowhere|none) (?:in|of) (?:the|these|this"
            r"|my) (?:\w+ ){0,3}{sources}\b|\b(?:i|we) (?:\w+ ){0,2}?(?:can ?not|can't|could not|couldn't"
            r"|am unable to|are unable to|am not able to|are not able to|was unable to|were unable to"
            r"|wasn't able to) (?:\w+ ){0,2}?(?:answer|find|determine|locate|tell|say)\b|\bi(?:'m| am"
            r"|) (?:\w+ ){0,2}?(?:cannot|can't|unable to|not able to) (?:\w+ )?(?:provide|give|help|comment"
            r"|confirm|respond|see|assist)\b|\bi(?:'m| am) not (?:sure|aware|certain)\b"
            r"|\bi (?:\w+ ){0,2}?(?:do not|don't|did not|didn't) (?:\w+ )?(?:know(?! of\b)|see|find"
            r"|have (?:\w+ ){0,3}?(?:information|details|data|access|answer|context|knowledge|documents?)"
            r"|have (?:that|this|it)$)|\b(?:i|we) (?:currently )?have no (?:idea|information|data|knowledge"
            r"|details|answer|record)\b|^no idea\b|\b(?:i|we) (?:found|could find|find|see) (?:no"
            r"|nothing)\b|\bthere(?: is|'s| are| was) (?:no|not enough|insufficient"
            r"|nothing) (?:\w+ ){0,2}?(?:(?:information|mention|details?|reference|indication|answer"
            r"|context)\b(?: (?:on|about|regarding|concerning|of|for|to|in|within|available|given|provided"
            r"|that|as)\b|$)|(?:about|on) (?:this|that|it))|\bno (?:\w+ )?(?:information|mention|details"
            r"|answer|reference) (?:is|was|are|were|can be|could be|has been)? ?(?:available|found|given"
            r"|provided|made)\b|\bno (?:relevant |further )?(?:information|details) (?:about|on"
            r"|regarding)(?:(?! (?:is|are|was|were|gets?|may|can|will|must) ).)*(?:$| (?:is|are|was"
            r"|were) (?:available|found|given|provided|mentioned))|\b(?:not enough"
            r"|insufficient) (?:information|context|details)\b|\b(?:question|this|that|it"
            r"|answer) (?:can ?not|can't|could not) be (?:\w+ )?(?:answered|determined|inferred|derived"
            r"|found|established)\b|\b(?:answer|information) (?:is|are|was)(?: not|n't) (?:\w+ )?(?:in"
            r"|part of) (?:\w+ ){1,4}{sources}\b|\bno mention of [^,]* is made\b|\b(?:outside"
            r"|beyond) (?:of )?(?:the )?(?:scope of )?(?:\w+ ){0,3}{sources}\b|\b(?:is"
            r"|are) unclear from (?:\w+ ){1,4}{sources}\b|\b{sources} fails? to (?:mention|say|state"
            r"|specify|provide|answer)\b|\b(?:they|it|these) do(?:es)?(?: not|n't) (?:cover|mention|address"
            r"|discuss|answer|specify)\b|\bnot (?:something|anything) (?:that )?i can (?:find|answer|see"
            r"|tell)\b|\bi (?:cannot|can't) say\b|\b(?:unable|impossible|not possible) to (?:answer"
            r"|determine|say|tell)\b|^(?:unknown|unanswerable|not (?:specified|stated|mentioned|available"
            r"|given|provided|known)|n/a|no answer)$"
        ),
        fillers=(
            r"(?:i(?:'m| am)|we(?:'re| are))? ?(?:very |so )?(?:sorry|afraid)|(?:my )?apologies"
            r"|i apologi[sz]e|unfortunately|(?:based on|according to|from|given|judging by|regarding|as for"
            r"|with|in)\b[^.]*|(?:please|you (?:may|might|could|can|should)|try|i(?:'d| would) (?:suggest"
            r"|recommend)|i (?:suggest|recommend)|feel free|let me know|if you|could you|for (?:that|this"
            r"|more|further)|contact)\b.*|{sources} (?:\w+ ){0,2}(?:only|merely) (?:mention|discuss"
            r"|describe|cover|contain|talk|focus|deal|say|state)\w*\b.*|(?:they|it) only (?:mention|discuss"
            r"|describe|cover|contain|talk|focus|deal)\w*\b.*"
        ),
        breaks=(
            r"(?<=, )(?:only|probably|perhaps)|but|however|although|though|because|since|while|whereas"
            r"|therefore|so|which (?:is|are|was|has|have|means|must|can)|yet|except|instead|as (?:it|this"
            r"|the|they)"
        ),
    ),
    "sv": _Wording(
        sources=(
            r"(?:kunskapsbas|text|dokument|passage|käll|underlag|material|sammanhang|avsnitt|artik|utdrag"
            r"|handbok|handböck|manual|guide|sid|fil|kontext|information(?:en)? jag har)\w*"
        ),
        refusal=(
            r"\b(?:finns|framgår|nämns|anges|beskrivs|står|omnämns|går|förekommer"
            r"|tas) (?:\w+ ){0,3}?(?:inte|ej|ingenstans|aldrig)\b[^.]{0,50}?\b{sources}|\b(?:i|av|ur|från"
            r"|enligt) (?:\w+ ){0,3}?{sources} (?:framgår|nämns|anges|står|finns|beskrivs|går"
            r"|kan) (?:\w+ ){0,6}?(?:inte|ej|inget|ingenting|ingen|inga)\b"
            r"|\b{sources} (?:\w+ ){0,2}?(?:nämn|säg|ang|besvar|ge|ta|behandl|beskriv|berätt|förklar"
            r"|specificer|omnämn|redogör|visar|räck)\w* (?:\w+ ){0,3}?(?:inte|ej|inget|ingenting|ingen"
            r"|inga)\b|\b{sources} (?:\w+ ){0,2}?(?:innehåller|har|saknar) (?:\w+ ){0,3}?(?:information"
            r"|uppgift|svar|detalj|omnämnande|inte (?:svar|någon information|information))\w*\b"
            r"|\b{sources} innehåller (?:inte|ingenting)\b|\b(?:inget|ingenting|ingen|inga) (?:i"
            r"|av) (?:\w+ )?{sources}\b|\bstår (?:inget|ingenting) [^,]*{sources}"
            r"|\bjag (?:har )?(?:\w+ )?(?:saknar|inte tillgång till) (?:\w+ )?(?:information|uppgift"
            r"|kunskap)|\b(?:det )?(?:framgår|nämns|anges|står|sägs) (?:\w+ ){0,2}?(?:inte|ej)(?:$| (?:vad"
            r"|hur|när|vem|var|varför|vilken|vilka|om)\b)|\b(?:är|har) (?:\w+ )?(?:inte|ej) (?:angiv|nämn"
            r"|känd|känt|specificera|beskriv|omnämn|angett)\w*$|\b(?:finns|saknas|hittar|har|hittade"
            r"|ser) (?:\w+ ){0,3}?(?:ingen|inga|inte (?:någon|några|tillräckligt?(?: med)?)"
            r"|tillräcklig)? ?(?:\w+ )?(?:information|uppgift|uppgifter|svar|underlag|kunskap"
            r"|detaljer)\b(?: (?:\w+ )?(?:om|i|för|tillgänglig|att|kring|på|angående|som|här|gällande)\b|$)"
            r"|\b(?:ingen|inga) (?:\w+ )?(?:information|uppgift|uppgifter) (?:finns "
            r"|hittades )?(?:tillgängliga?|om|i|angående|finns|hittades)\b(?!(?: \w+){1,4} (?:lagras|sparas"
            r"|lämnas|samlas|delas))|\b(?:jag|vi) (?:\w+ )?(?:kan|kunde) (?:\w+ ){0,2}?(?:inte"
            r"|ej) (?:\w+ ){0,2}?(?:svara|besvara|hitta|säga|avgöra|finna|bedöma|hjälpa|ge|utläsa|uttala"
            r"|se)\b|\b(?:kan|kunde) (?:jag|vi) (?:\w+ )?(?:inte|ej) (?:\w+ ){0,2}?(?:svara|besvara|hitta"
            r"|säga|avgöra|finna|bedöma|hjälpa|ge|utläsa)\b|\b(?:jag|vi) (?:\w+ )?(?:vet|hittar|finner"
            r"|hittade|ser) (?:\w+ ){0,2}?(?:inte|ej|inget|ingenting|ingen|inga)\b|\b(?:vet"
            r"|hittar) jag (?:\w+ )?(?:inte|ej|inget)\b|\bjag är (?:\w+ )?(?:inte|ej|o)? ?säker\b|\b(?:jag"
            r"|vi) har (?:\w+ )?(?:inte tillräcklig|ingen|inte någon|inga)\w*\b (?:\w+ )?(?:information"
            r"|aning|uppgift|uppgifter|kunskap|svar|kännedom)|\b(?:frågan|det|detta) (?:kan"
            r"|går) (?:\w+ )?(?:inte|ej) (?:\w+ )?(?:att )?(?:besvara|avgöra|svara|säga|fastställa|utläsa"
            r"|bestämma)s?\b|\b(?:går|är) (?:det )?(?:\w+ )?(?:inte|ej) (?:möjligt )?(?:att )?(?:besvara"
            r"|avgöra|svara|säga|fastställa|utläsa|bestämma)\b|\b(?:den här|denna"
            r"|den) information(?:en)? (?:finns|är|saknas) ?(?:\w+ )?(?:inte|ej)?(?: tillgänglig)?$"
            r"|\b(?:ingen aning|otillräcklig information)\b|^(?:okänt|ej angivet|framgår ej|uppgift saknas"
            r"|information saknas|inte (?:angivet|angett|känt|nämnt)|inget svar|vet (?:ej|inte)"
            r"|ingen (?:uppgift|information))$"
        ),
        fillers=(
            r"(?:jag )?(?:beklagar|ber om ursäkt)|(?:jag är )?ledsen|förlåt|ursäkta|tyvärr|(?:enligt"
            r"|baserat på|utifrån|av|från|utgående från|när det gäller|angående|vad gäller)\b[^.]*"
            r"|(?:vänligen|var god|du (?:kan|bör|skulle)|ni kan|kontakta|försök|jag (?:föreslår"
            r"|rekommenderar)|om du|för (?:mer|ytterligare)|kan du|hör av|se gärna|kontrollera|fråga)\b.*"
            r"|{sources} (?:\w+ ){0,3}(?:bara|endast|enbart)\b.*|(?:de|den|det|där) (?:\w+ ){0,2}(?:bara"
            r"|endast|enbart)\b.*"
        ),
        breaks=(
            r"(?<=, )(?:bara|endast|troligen|förmodligen)|men|dock|fast|eftersom|därför att|medan|därför"
            r"|utan|utom|istället|i stället|så(?= (?:jag|det|vi|frågan)\b)|vilket|däremot"
        ),
    ),
    "de": _Wording(
        sources=(
            r"(?:wissensdatenbank|text|dokument|passage|quelle|kontext|unterlage|abschnitt|material|artikel"
            r"|auszug|auszüge|handbuch|handbüch|anleitung|seite|datei|textstelle|ausschnitt)\w*"
        ),
        refusal=(
            r"\b(?:ist|sind|wird|werden|wurde|lässt sich|geht|gehen|findet sich) (?:\w+ ){0,3}(?:nicht"
            r"|nirgends) (?:in|im|durch|aus|anhand) [^.]{0,40}?{sources}[^.]{0,20}(?:verfügbar|enthalten"
            r"|erwähnt|angegeben|genannt|beschrieben|ersichtlich|hervor|beantwort\w*|entnehmen|zu finden"
            r"|aufgeführt)|\b(?:in|im|aus) [^.,]{0,40}?{sources} (?:\w+ ){0,8}?(?:nicht|nirgends|nichts"
            r"|keine?n?) (?:\w+ ){0,6}?(?:verfügbar|enthalten|erwähnt|angegeben|genannt|beschrieben"
            r"|ersichtlich|hervor|beantworten|entnehmen|zu finden|aufgeführt|gesagt|steht|behandelt"
            r"|informationen|angaben|information|angabe|hinweis\w*|antwort)\b|\b(?:steht"
            r"|stehen) (?:\w+ ){0,3}?(?:nicht|nichts|keine) (?:\w+ ){0,4}?(?:in|im) [^.,]{0,30}?{sources}"
            r"|\b(?:in|im) [^.,]{0,30}?{sources} (?:steht|stehen|findet sich|finden sich"
            r"|gibt es) (?:\w+ ){0,4}?(?:nichts|keine?n?|nicht)\b|\b{sources} (?:\w+ ){0,2}?(?:sag|nenn"
            r"|erwähn|gib|geb|mach|liefer|behandel|beantwort|beschreib|erklär|spezifizier|erläuter|äußer"
            r"|biet|verrat|verrät|geh|thematisier)\w* (?:\w+ ){0,6}?(?:nichts?|keine?n?|keinerlei)\b"
            r"|\b{sources} (?:\w+ ){0,2}?(?:enthält|enthalten|hat|haben) (?:\w+ ){0,4}?(?:nichts"
            r"|(?:keine?n?|keinerlei) (?:\w+ )?(?:information|angabe|hinweis|antwort|auskunft|detail|daten"
            r"|erwähnung)\w*)\b|\b{sources} [^,]{0,40}? nichts [^,]{0,40}(?:enthalten|sagen|enthält)$"
            r"|\binformationen reichen (?:\w+ )?nicht aus\b|\bnicht weiterhelfen\b|\b(?:information|angabe"
            r"|antwort)\w* fehl(?:t|en)\b|\beine antwort (?:\w+ )?ist (?:\w+ )?nicht möglich\b"
            r"|\b{sources} (?:\w+ ){0,2}(?:reicht|reichen) (?:\w+ ){0,2}nicht\b"
            r"|\bkeine(?:rlei)? (?:\w+ )?(?:informationen|angaben|information|angabe|auskunft|daten|antwort"
            r"|hinweise|details) (?:\w+ ){0,5}?(?:zu|über|hierzu|dazu|darüber|verfügbar|gefunden|vorhanden"
            r"|enthalten|geben|vor|möglich|bekannt)\b(?! gespeichert)|\b(?:habe|haben|finde|finden|liegen"
            r"|liegt|gibt|sehe) (?:\w+ ){0,4}?(?:keine(?:rlei)?|nicht genug|nicht genügend"
            r"|nicht ausreichend|nichts) ?(?:\w+ )?(?:informationen|angaben|information|angabe|daten"
            r"|antwort|hinweise?|details|kenntnis|dazu|darüber|hierzu)\b|\b(?:ich|wir) (?:\w+ )?(?:kann"
            r"|können|konnte|konnten|weiß|weiss|wissen|finde|finden) (?:\w+ ){0,5}?(?:nicht|keine"
            r"|nichts)(?:$| (?:\w+ ){0,8}?(?:beantworten|sagen|finden|beurteilen|ermitteln|bestimmen|helfen"
            r"|feststellen|geben|entnehmen|genau|sicher|ob|wann|wie|wer|wo|was|warum|woher|welche\w*)\b)"
            r"|\b(?:kann|weiß|weiss|finde|konnte) ich (?:\w+ ){0,5}?(?:nicht|keine|nichts)(?:$"
            r"| (?:\w+ ){0,6}?(?:beantworten|sagen|finden|beurteilen|ermitteln|bestimmen|helfen|feststellen"
            r"|geben|entnehmen|genau|sicher|informationen|angaben|dazu)\b)|\b(?:lässt"
            r"|lassen) sich (?:\w+ ){0,8}?nicht (?:\w+ )?(?:beantworten|sagen|bestimmen|ermitteln"
            r"|feststellen|beurteilen|entnehmen)\b|\b(?:frage|dies|das"
            r"|es) kann (?:\w+ ){0,8}?nicht (?:\w+ )?(?:beantwortet|bestimmt|ermittelt|festgestellt"
            r"|gesagt)\b|\b(?:ist|sind|wird|werden|wurde) (?:\w+ ){0,3}?nicht (?:angegeben|genannt|erwähnt"
            r"|bekannt|ersichtlich|spezifiziert)$|^(?:diese|die|eine solche) (?:\w+ )?(?:information|angabe"
            r"|antwort)(?:en)? (?:ist|sind|liegt|liegen) (?:\w+ ){0,2}?nicht (?:\w+ ){0,3}?(?:verfügbar"
            r"|enthalten|vor|bekannt|vorhanden|finden|angegeben|{sources})\b"
            r"|\bden {sources} (?:\w+ )?nicht zu entnehmen\b|\b(?:mach|geb|nenn|enthalt|sag"
            r"|liefer)\w* (?:\w+ )?{sources} (?:\w+ ){0,2}?(?:nichts|keine?n?) ?(?:information|angabe"
            r"|auskunft|hinweis|$)|\bgeht (?:\w+ ){0,3}?(?:nicht )?aus [^.,]{0,40}?{sources} (?:\w+ )"
            r"?nicht\b|\bkeine ahnung\b|^(?:unbekannt|nicht (?:angegeben|bekannt|erwähnt|genannt"
            r"|beantwortbar)|keine (?:angabe|angaben|information|informationen|antwort)|k\.? ?a)$"
        ),
        fillers=(
            r"(?:es )?(?:tut|täte) mir (?:\w+ )?leid|(?:ich bitte um )?(?:entschuldigung|verzeihung)"
            r"|entschuldige(?:n sie)?|leider|(?:laut|nach|gemäß|basierend auf|auf grundlage|auf basis"
            r"|anhand|aufgrund|zu|was)\b[^.]*|(?:bitte|sie (?:können|könnten|sollten)|wenden sie"
            r"|versuchen sie|ich (?:empfehle|schlage)|falls|wenn|für (?:weitere|nähere)|können sie"
            r"|könnten sie)\b.*|{sources} (?:\w+ ){0,3}(?:nur|lediglich|ausschließlich)\b.*|(?:sie|er|es"
            r"|dort|darin) (?:\w+ ){0,3}(?:nur|lediglich)\b.*"
        ),
        breaks=(
            r"(?<=, )(?:nur|lediglich|vermutlich|wahrscheinlich)|aber|jedoch|allerdings|sondern|obwohl|weil"
            r"|da|während|deshalb|daher|denn|doch|außer|stattdessen|sodass|so dass|wobei"
        ),
    ),
}


def is_refusal(answer: str, language: str) -> bool:
    """Return True if an answer only says that the sources do not answer the question.

    Every clause must say so, or be a courtesy: what goes on to say something else is an answer. All languages
    are tried, because that of a short text is often mistaken. An empty text refuses nothing.
    """
    text = _plain(_MARKS.sub(" ", answer))
    if any(text == _plain(refusal(code)) for code in LANGUAGES):
        return True
    if len(text) > _LONGEST or _QUOTED.search(text):
        return False
    return any(_refuses(text, code) for code in dict.fromkeys((language, *LANGUAGES)))


def coverage_of(answer: str, language: str, stated: str | None) -> str:
    """Return the coverage of an answer, `stated` by its writer or unknown.

    Only a refusal keeps the coverage none: an answer that says something counts as partial.
    """
    if stated is not None and stated != "none":
        return stated
    if is_refusal(answer, language):
        return "none"
    return "full" if stated is None else "partial"


def _refuses(text: str, language: str) -> bool:
    breaks, refusing, filler = _patterns(language)
    clauses = [
        clause.strip(" ,.()")
        for sentence in _SENTENCE_ENDS.split(text)
        for clause in breaks.split(sentence)
        if clause.strip(" ,.()")
    ]
    refusals = [refusing.search(clause) is not None for clause in clauses]
    return any(refusals) and all(
        refuses or filler.fullmatch(clause) for refuses, clause in zip(refusals, clauses, strict=True)
    )


def _plain(text: str) -> str:
    # lower() and not casefold(), which would write ß as ss
    return "\n".join(fold(line).lower() for line in text.splitlines()).strip(" .\n")


@functools.cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return patterns that part clauses, match a clause that refuses, and one that may be beside it."""
    wording = _WORDINGS[lexicon(language).code]
    refusing, filler = (
        re.compile(pattern.replace("{sources}", wording.sources))
        for pattern in (wording.refusal, wording.fillers)
    )
    return re.compile(rf"[,\s]+(?:{wording.breaks})(?=[\s,])"), refusing, filler
