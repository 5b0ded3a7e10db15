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
_SENTENCE_ENDS = re.compile(r"(?<![\d.!?])[.!?]++(?=\s|$)|[;:](?=\s|$)|\s-\s|\n")


class _Wording(NamedTuple):
    """Patterns of one language; `{sources}` stands for `sources`, `<3>` for up to three words."""

    sources: str
    refusal: str
    fillers: str
    breaks: str


_WORDINGS = {
    "en": _Wording(
        sources=(
            r"(knowledge base|passages?|documents?|documentation|context|sources?|text|materials?|excerpts?"
            r"|articles?|manuals?|guides?|pages?|snippets?|files?|information (provided|given|i have))"
        ),
        refusal=(
            r"\b(is|are|was|were|has|have)( not|n't)( been)? <2>(available|contained|covered|mentioned|stated"
            r"|specified|included|found|described|addressed|given|provided|listed|disclosed|documented"
            r"|discussed|indicated|present) (anywhere )?(in|by|within) (the|this|these|those|our|any"
            r"|your) <3>{sources}\b|\b(is|are|was|were)( not|n't) (\w+ly )?(mentioned|specified|stated"
            r"|disclosed|indicated|known)$|^(this|that|the|such)( requested)? (information|answer"
            r"|detail)s? (is|are|was|were|cannot be|can't be|could not be)( not|n't)? ?(available|found"
            r"|provided|given|there|included|known|unavailable)\b|\b{sources} <2>(do|does|did)( not"
            r"|n't) <2>(contain|mention|say|state|specify|provide|include|cover|describe|answer|address|give"
            r"|list|discuss|indicate|tell|have|disclose|explain|reveal)\b|\b{sources} <2>(contains?|has|have"
            r"|provides?|gives?|includes?|offers?|makes?) (no|nothing)\b|\b{sources} <2>(lacks?|(is"
            r"|are) silent|(is|are) (insufficient|not (sufficient|enough)))\b|\b(nothing|nowhere|none) (in"
            r"|of) (the|these|this|my) <3>{sources}\b|\b(i|we) <2>(can ?not|can't|could not|couldn't"
            r"|am unable to|are unable to|am not able to|are not able to|was unable to|were unable to"
            r"|wasn't able to) <2>(answer|find|determine|locate|tell|say)\b|\bi('m| am|) <2>(cannot|can't"
            r"|unable to|not able to) <1>(provide|give|help|comment|confirm|respond|see|assist)\b|\bi('m"
            r"| am) not (sure|aware|certain)\b|\bi <2>(do not|don't|did not|didn't) <1>(know(?! of\b)|see"
            r"|find|have <3>(information|details|data|access|answer|context|knowledge|documents?)|have (that"
            r"|this|it)$)|\b(i|we) (currently )?have no (idea|information|data|knowledge|details|answer"
            r"|record)\b|^no idea\b|\b(i|we) (found|could find|find|see) (no|nothing)\b|\bthere( is|'s| are"
            r"| was) (no|not enough|insufficient|nothing) <2>((information|mention|details?|reference"
            r"|indication|answer|context)\b( (on|about|regarding|concerning|of|for|to|in|within|available"
            r"|given|provided|that|as)\b|$)|(about|on) (this|that|it))|\bno <1>(information|mention|details"
            r"|answer|reference) (is|was|are|were|can be|could be|has been)? ?(available|found|given|provided"
            r"|made)\b|\bno (relevant |further )?(information|details) (about|on|regarding)((?! (is|are|was"
            r"|were|gets?|may|can|will|must) ).)*($| (is|are|was|were) (available|found|given|provided"
            r"|mentioned))|\b(not enough|insufficient) (information|context|details)\b|\b(question|this|that"
            r"|it|answer) (can ?not|can't|could not) be <1>(answered|determined|inferred|derived|found"
            r"|established)\b|\b(answer|information) (is|are|was)( not|n't) <1>(in"
            r"|part of) (\w+ ){1,4}{sources}\b|\bno mention of [^,]* is made\b|\b(outside"
            r"|beyond) (of )?(the )?(scope of )?<3>{sources}\b|\b(is|are) unclear from (\w+ ){1,4}{sources}\b"
            r"|\b{sources} fails? to (mention|say|state|specify|provide|answer)\b|\b(they|it"
            r"|these) do(es)?( not|n't) (cover|mention|address|discuss|answer|specify)\b|\bnot (something"
            r"|anything) (that )?i can (find|answer|see|tell)\b|\bi (cannot|can't) say\b|\b(unable|impossible"
            r"|not possible) to (answer|determine|say|tell)\b|^(unknown|unanswerable|not (specified|stated"
            r"|mentioned|available|given|provided|known)|n/a|no answer)$"
        ),
        fillers=(
            r"(i('m| am)|we('re| are))? ?(very |so )?(sorry|afraid)|(my )?apologies|i apologi[sz]e"
            r"|unfortunately|(based on|according to|from|given|judging by|regarding|as for|with|in)\b[^.]*"
            r"|(please|you (may|might|could|can|should)|try|i('d| would) (suggest|recommend)|i (suggest"
            r"|recommend)|feel free|let me know|if you|could you|for (that|this|more|further)|contact)\b.*"
            r"|{sources} <2>(only|merely) (mention|discuss|describe|cover|contain|talk|focus|deal|say"
            r"|state)\w*\b.*|(they|it) only (mention|discuss|describe|cover|contain|talk|focus|deal)\w*\b.*"
        ),
        breaks=(
            r"(?<=, )(?:only|probably|perhaps)|but|however|although|though|because|since|while|whereas"
            r"|therefore|so|which (?:is|are|was|has|have|means|must|can)|yet|except|instead|as (?:it|this|the"
            r"|they)"
        ),
    ),
    "sv": _Wording(
        sources=(
            r"(kunskapsbas|text|dokument|passage|käll|underlag|material|sammanhang|avsnitt|artik|utdrag"
            r"|handbok|handböck|manual|guide|sid|fil|kontext|information(en)? jag har)\w*"
        ),
        refusal=(
            r"\b(finns|framgår|nämns|anges|beskrivs|står|omnämns|går|förekommer|tas) <3>(inte|ej|ingenstans"
            r"|aldrig)\b[^.]{0,50}?\b{sources}|\b(i|av|ur|från|enligt) <3>{sources} (framgår|nämns|anges|står"
            r"|finns|beskrivs|går|kan) <6>(inte|ej|inget|ingenting|ingen|inga)\b|\b{sources} <2>(nämn|säg|ang"
            r"|besvar|ge|ta|behandl|beskriv|berätt|förklar|specificer|omnämn|redogör|visar|räck)\w* <3>(inte"
            r"|ej|inget|ingenting|ingen|inga)\b|\b{sources} <2>(innehåller|har|saknar) <3>(information"
            r"|uppgift|svar|detalj|omnämnande|inte (svar|någon information|information))\w*\b"
            r"|\b{sources} innehåller (inte|ingenting)\b|\b(inget|ingenting|ingen|inga) (i|av) <1>{sources}\b"
            r"|\bstår (inget|ingenting) [^,]*{sources}|\bjag (har )?<1>(saknar"
            r"|inte tillgång till) <1>(information|uppgift|kunskap)|\b(det )?(framgår|nämns|anges|står"
            r"|sägs) <2>(inte|ej)($| (vad|hur|när|vem|var|varför|vilken|vilka|om)\b)|\b(är|har) <1>(inte"
            r"|ej) (angiv|nämn|känd|känt|specificera|beskriv|omnämn|angett)\w*$|\b(finns|saknas|hittar|har"
            r"|hittade|ser) <3>(ingen|inga|inte (någon|några|tillräckligt?( med)?)"
            r"|tillräcklig)? ?<1>(information|uppgift|uppgifter|svar|underlag|kunskap|detaljer)\b( <1>(om|i"
            r"|för|tillgänglig|att|kring|på|angående|som|här|gällande)\b|$)|\b(ingen|inga) <1>(information"
            r"|uppgift|uppgifter) (finns |hittades )?(tillgängliga?|om|i|angående|finns"
            r"|hittades)\b(?!( \w+){1,4} (lagras|sparas|lämnas|samlas|delas))|\b(jag|vi) <1>(kan"
            r"|kunde) <2>(inte|ej) <2>(svara|besvara|hitta|säga|avgöra|finna|bedöma|hjälpa|ge|utläsa|uttala"
            r"|se)\b|\b(kan|kunde) (jag|vi) <1>(inte|ej) <2>(svara|besvara|hitta|säga|avgöra|finna|bedöma"
            r"|hjälpa|ge|utläsa)\b|\b(jag|vi) <1>(vet|hittar|finner|hittade|ser) <2>(inte|ej|inget|ingenting"
            r"|ingen|inga)\b|\b(vet|hittar) jag <1>(inte|ej|inget)\b|\bjag är <1>(inte|ej|o)? ?säker\b|\b(jag"
            r"|vi) har <1>(inte tillräcklig|ingen|inte någon|inga)\w*\b <1>(information|aning|uppgift"
            r"|uppgifter|kunskap|svar|kännedom)|\b(frågan|det|detta) (kan|går) <1>(inte"
            r"|ej) <1>(att )?(besvara|avgöra|svara|säga|fastställa|utläsa|bestämma)s?\b|\b(går"
            r"|är) (det )?<1>(inte|ej) (möjligt )?(att )?(besvara|avgöra|svara|säga|fastställa|utläsa"
            r"|bestämma)\b|\b(den här|denna|den) information(en)? (finns|är|saknas) ?<1>(inte"
            r"|ej)?( tillgänglig)?$|\b(ingen aning|otillräcklig information)\b|^(okänt|ej angivet|framgår ej"
            r"|uppgift saknas|information saknas|inte (angivet|angett|känt|nämnt)|inget svar|vet (ej|inte)"
            r"|ingen (uppgift|information))$"
        ),
        fillers=(
            r"(jag )?(beklagar|ber om ursäkt)|(jag är )?ledsen|förlåt|ursäkta|tyvärr|(enligt|baserat på"
            r"|utifrån|av|från|utgående från|när det gäller|angående|vad gäller)\b[^.]*|(vänligen|var god"
            r"|du (kan|bör|skulle)|ni kan|kontakta|försök|jag (föreslår|rekommenderar)|om du|för (mer"
            r"|ytterligare)|kan du|hör av|se gärna|kontrollera|fråga)\b.*|{sources} <3>(bara|endast"
            r"|enbart)\b.*|(de|den|det|där) <2>(bara|endast|enbart)\b.*"
        ),
        breaks=(
            r"(?<=, )(?:bara|endast|troligen|förmodligen)|men|dock|fast|eftersom|därför att|medan|därför|utan"
            r"|utom|istället|i stället|så(?= (?:jag|det|vi|frågan)\b)|vilket|däremot"
        ),
    ),
    "de": _Wording(
        sources=(
            r"(wissensdatenbank|text|dokument|passage|quelle|kontext|unterlage|abschnitt|material|artikel"
            r"|auszug|auszüge|handbuch|handbüch|anleitung|seite|datei|textstelle|ausschnitt)\w*"
        ),
        refusal=(
            r"\b(ist|sind|wird|werden|wurde|lässt sich|geht|gehen|findet sich) <3>(nicht|nirgends) (in|im"
            r"|durch|aus|anhand) [^.]{0,40}?{sources}[^.]{0,20}(verfügbar|enthalten|erwähnt|angegeben|genannt"
            r"|beschrieben|ersichtlich|hervor|beantwort\w*|entnehmen|zu finden|aufgeführt)|\b(in|im"
            r"|aus) [^.,]{0,40}?{sources} <8>(nicht|nirgends|nichts|keine?n?) <6>(verfügbar|enthalten|erwähnt"
            r"|angegeben|genannt|beschrieben|ersichtlich|hervor|beantworten|entnehmen|zu finden|aufgeführt"
            r"|gesagt|steht|behandelt|informationen|angaben|information|angabe|hinweis\w*|antwort)\b|\b(steht"
            r"|stehen) <3>(nicht|nichts|keine) <4>(in|im) [^.,]{0,30}?{sources}|\b(in"
            r"|im) [^.,]{0,30}?{sources} (steht|stehen|findet sich|finden sich|gibt es) <4>(nichts|keine?n?"
            r"|nicht)\b|\b{sources} <2>(sag|nenn|erwähn|gib|geb|mach|liefer|behandel|beantwort|beschreib"
            r"|erklär|spezifizier|erläuter|äußer|biet|verrat|verrät|geh|thematisier)\w* <6>(nichts?|keine?n?"
            r"|keinerlei)\b|\b{sources} <2>(enthält|enthalten|hat|haben) <4>(nichts|(keine?n?"
            r"|keinerlei) <1>(information|angabe|hinweis|antwort|auskunft|detail|daten|erwähnung)\w*)\b"
            r"|\b{sources} [^,]{0,40}? nichts [^,]{0,40}(enthalten|sagen|enthält)$"
            r"|\binformationen reichen <1>nicht aus\b|\bnicht weiterhelfen\b|\b(information|angabe"
            r"|antwort)\w* fehl(t|en)\b|\beine antwort <1>ist <1>nicht möglich\b|\b{sources} <2>(reicht"
            r"|reichen) <2>nicht\b|\bkeine(rlei)? <1>(informationen|angaben|information|angabe|auskunft|daten"
            r"|antwort|hinweise|details) <5>(zu|über|hierzu|dazu|darüber|verfügbar|gefunden|vorhanden"
            r"|enthalten|geben|vor|möglich|bekannt)\b(?! gespeichert)|\b(habe|haben|finde|finden|liegen|liegt"
            r"|gibt|sehe) <4>(keine(rlei)?|nicht genug|nicht genügend|nicht ausreichend"
            r"|nichts) ?<1>(informationen|angaben|information|angabe|daten|antwort|hinweise?|details|kenntnis"
            r"|dazu|darüber|hierzu)\b|\b(ich|wir) <1>(kann|können|konnte|konnten|weiß|weiss|wissen|finde"
            r"|finden) <5>(nicht|keine|nichts)($| <8>(beantworten|sagen|finden|beurteilen|ermitteln|bestimmen"
            r"|helfen|feststellen|geben|entnehmen|genau|sicher|ob|wann|wie|wer|wo|was|warum|woher"
            r"|welche\w*)\b)|\b(kann|weiß|weiss|finde|konnte) ich <5>(nicht|keine|nichts)($| <6>(beantworten"
            r"|sagen|finden|beurteilen|ermitteln|bestimmen|helfen|feststellen|geben|entnehmen|genau|sicher"
            r"|informationen|angaben|dazu)\b)|\b(lässt|lassen) sich <8>nicht <1>(beantworten|sagen|bestimmen"
            r"|ermitteln|feststellen|beurteilen|entnehmen)\b|\b(frage|dies|das"
            r"|es) kann <8>nicht <1>(beantwortet|bestimmt|ermittelt|festgestellt|gesagt)\b|\b(ist|sind|wird"
            r"|werden|wurde) <3>nicht (angegeben|genannt|erwähnt|bekannt|ersichtlich|spezifiziert)$|^(diese"
            r"|die|eine solche) <1>(information|angabe|antwort)(en)? (ist|sind|liegt"
            r"|liegen) <2>nicht <3>(verfügbar|enthalten|vor|bekannt|vorhanden|finden|angegeben|{sources})\b"
            r"|\bden {sources} <1>nicht zu entnehmen\b|\b(mach|geb|nenn|enthalt|sag"
            r"|liefer)\w* <1>{sources} <2>(nichts|keine?n?) ?(information|angabe|auskunft|hinweis|$)"
            r"|\bgeht <3>(nicht )?aus [^.,]{0,40}?{sources} <1>nicht\b|\bkeine ahnung\b|^(unbekannt"
            r"|nicht (angegeben|bekannt|erwähnt|genannt|beantwortbar)|keine (angabe|angaben|information"
            r"|informationen|antwort)|k\.? ?a)$"
        ),
        fillers=(
            r"(es )?(tut|täte) mir <1>leid|(ich bitte um )?(entschuldigung|verzeihung)|entschuldige(n sie)?"
            r"|leider|(laut|nach|gemäß|basierend auf|auf grundlage|auf basis|anhand|aufgrund|zu|was)\b[^.]*"
            r"|(bitte|sie (können|könnten|sollten)|wenden sie|versuchen sie|ich (empfehle|schlage)|falls|wenn"
            r"|für (weitere|nähere)|können sie|könnten sie)\b.*|{sources} <3>(nur|lediglich"
            r"|ausschließlich)\b.*|(sie|er|es|dort|darin) <3>(nur|lediglich)\b.*"
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
    if len(text) > _LONGEST or '"' in text:
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
        re.compile(re.sub(r"<(\d)>", r"(\\w+ ){0,\1}", pattern.replace("{sources}", wording.sources)))
        for pattern in (wording.refusal, wording.fillers)
    )
    return re.compile(rf"[,\s]+(?:{wording.breaks})(?=[\s,])"), refusing, filler
