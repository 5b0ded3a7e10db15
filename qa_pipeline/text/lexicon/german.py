"""German: word classes, conventions of writing and the wording of questions. Data only.

A subject is asked for in the words and with the article of its own sentence, where it is in the
nominative; everything else is quoted, so that no gender and no case is ever guessed.
"""

import re

from qa_pipeline.text.lexicon.phrases import (
    CLAUSE,
    NUMBER,
    REST,
    SUBJECT,
    YEAR,
    Phrases,
    any_of,
    attribute,
    states,
    words,
)

_MONTH = any_of("""
    Januar, Februar, März, April, Mai, Juni, Juli, August, September, Oktober, November, Dezember""")
_DATE = rf"(?:(?:am |im |seit |ab )?(?:Jahre? )?(?:\d{{1,2}}\. )?(?:{_MONTH} )?{YEAR}|am [\d.]{{4,6}}{YEAR})"
_ALSO = r"(?:auch |daher |also |somit |zudem |lediglich |im Grunde |im Prinzip )?"
_DOES = any_of("""
    aktiviert, ändert, begrenzt, berechnet, bestimmt, bietet, deaktiviert, definiert, entfernt, erlaubt,
    ermöglicht, erstellt, erzeugt, fügt, führt, gibt, implementiert, installiert, kontrolliert, legt, liefert,
    lädt, löscht, öffnet, prüft, schützt, setzt, speichert, startet, stellt, steuert, verhindert, verwaltet,
    wandelt, zeigt""")
_NO_INFINITIVE = any_of("""
    werden, worden, wurden, sein, haben, hatten, können, sollen, sollten, müssen, dürfen, waren, oben, unten,
    neuen, eigenen, gegen, neben, zwischen""")
_DETERMINER = any_of("Ein, Eine, Einen, Die, Den, Das, Der, Mehrere, Neue, Alle")
_CLAUSE = r"[^,;:()?!]{6,120}\b[a-zäöüß]+(?:t|n|te|ss|rf|ll|st|nd|ei)"
_RULES = r"(?:so |dann )?(?:muss|müssen|darf|dürfen|soll|sollen|hat|haben|gilt|gelten|ist|sind|kann|können|sollte|sollten)\b"
_MAIN = (
    r"(?:so |dann )?(?!(?:könnt|könnten|solltet|müsst|dürft|oder|und|aber|während|die|der|das|den|dem|wenn|weil|dass|ob|um|wie|was|sowie|also|auch|nicht|als|mit|von|bei|nach|aus|durch|für|gegen|in|an|auf|unter|über|vor|dies\w*|jedoch|sondern|bzw|sofern|falls|ansonsten|außer|ohne|normalerweise|meist|meistens|üblicherweise)\b|"
    r"(?:bietet|bieten|empfiehlt|lohnt) |(?:ist|sind|wäre) (?:es|das|dies)\b|"
    r"[\w-]+(?:,| oder | und ))[a-zäöüß]{3,} .{8,}"
)
_COUNT = any_of("zwei, drei, vier, fünf, sechs, sieben, acht, neun, zehn, zwölf, vierzehn, dreißig")
_COUNTED = rf"(?:{_COUNT}|\d[\d.,]*)"
_MODAL = "muss|müssen|darf|dürfen|soll|sollen|sollte|sollten|kann|können"
_FINITE = rf"{_MODAL}|ist|sind|wird|werden|hat|haben|war|waren|wurde|wurden"
_YOU = rf"(?:so |dann )?(?!\w+ Sie bereit\b)(?:werden Sie .* müssen|(?:{_MODAL}) (?:Sie|man|du)|(?!haben|werden|sind|hätten|würden|wären|erreichen|verlieren|brauchen|benötigen|merken|besitzen|erhalten|bekommen|sehen|finden)\w+n Sie|\w+e? (?:man|du))"
_BODY = (
    r"(?:Der|Die|Das) [A-ZÄÖÜ][\w-]*(?:vorstand|leitung|behörde|amt|rat|versammlung|ausschuss|minister|präsident|leiter|"
    r"verwaltung|gericht|kommission|regierung|agentur|stelle|Vorstand|Leitung|Behörde|Rat|Ausschuss|Verwaltung|"
    r"Kommission|Gericht|inhaber|betreiber|Betreiber|direktion|Direktion)"
)
_PERSON = (
    r"(?:Der|Die|Das|Ein|Eine|Jeder|Jede|Jedes) (?:[a-zäöüß]+e[rs]? |zu[rm]? [\w ]{4,30})?(?:[A-ZÄÖÜ][a-zäöüß]+ oder )?[\w-]*(?i:(?:arbeit|auftrag|kredit|lizenz)?"
    r"(?:geber|nehmer)|verkäufer|käufer|mieter|pächter|eigentümer|besitzer|hersteller|inhaber|schuldner|gläubiger|unternehmer|"
    r"verbraucher|besteller|antragsteller|pflichteter?|berechtigter?|beauftragter?|geschädigter?|vorsitzender?|kläger|beklagter?|"
    r"beamter?|richter|lieferant|händler|vertreiber|erzeuger|halter|arzt|ärztin|lehrer|schüler|anwender|benutzer|nutzer|betreuer|"
    r"entwickler|administrator|verantwortlicher?|vorgesetzter?|führungskraft|erbe|pflichtiger?|mitglied|bewerber|träger|anbieter|erwerber|absender|frachtführer|"
    r"empfänger|person|bundesministerium|bundesrat|bundestag|bundesamt|finanzamt|gericht|behörde|vorstand|aufsichtsrat)(?:in)?"
)
_DUTY = (
    r"(?P<be>muss|muß|darf|soll|sollte|kann|hat(?= .*(?:zu [a-zäöü]|[a-zäöü]zu[a-zäöü]+n\b|Anspruch|Recht))|ist(?= .*(?:verpflichtet|berechtigt|"
    r"befugt|zuständig|verantwortlich))|wird(?= (?:ermächtigt|verpflichtet))|haftet|trägt)"
)
_NAMES = r"(?!die[sr]|den Fall|der Regel|welche|Ausnahme|Hilfe|Bezug|Beispiel|jedem Fall|der Praxis)(?:(?! [a-zäöüß]+(?:lich|ten|bar|genannt)e[nrs]? [A-Z])(?! (?:ist|sind|wird|werden|kann|können|muss|müssen|hat|haben|darf|soll) )[^,;:()]){4,80}?"
_PARTICIPLE = r"(?!werden|worden|haben|sein|Sie)[a-zäöüß]{4,}(?:t|en)"
_ARRANGED = "(?!(?:An|Zu|Ein|Um|Neu|Un|Ab|Bei|Nach|Über|Unter|Rang|Größen|Reihen|Tages|Sitz)ordnung)"
"""Words that end in "ordnung" and are no laws: an arrangement, an agenda."""
_LAW = r"(?:gesetz|gesetzbuch|ordnung|verordnung|satzung|richtlinie|vertrag|statut|abkommen)"

WORDING = Phrases(
    quotes=("„", "“"),
    source="laut {title}",
    laws=(
        (re.compile(r"(?:[^(]{0,200}\()?([A-ZÄÖÜ][a-zäöüß]+(?:gesetz|statut|gesetzbuch))(?: ?[-–,] ?\w+(?: \d+)?)?\)?"), r"nach dem \1"),
        (re.compile(rf"(?:[^(]{{0,200}}\()?({_ARRANGED}[A-ZÄÖÜ][a-zäöüß]+(?:ordnung|satzung|richtlinie))(?: ?[-–,] ?\w+(?: \d+)?)?\)?"), r"nach der \1"),
        (re.compile(r"([A-ZÄÖÜ][a-zäöüß]+)es Gesetzbuch(?: \([^()]*\))?"), r"nach dem \1en Gesetzbuch"),
        (re.compile(r"((?:[A-ZÄÖÜ][a-zäöüß]*g|G)esetz (?:über|zur|zum|für|betreffend) [^()]{4,80}?)(?: \([^()]*\))?"), r"nach dem \1"),
        (re.compile(rf"({_ARRANGED}[A-ZÄÖÜ][a-zäöüß]*(?:ordnung|satzung) (?:über|zur|zum|für) [^()]{{4,80}}?)(?: \([^()]*\))?"), r"nach der \1"),
    ),
    key_value="Was ist bei {place} unter {key} angegeben?",
    term="was ist {key}[ {source}]?",
    action="was macht {key}[ {source}]?",
    acts=re.compile(
        rf"(?:{_DOES}|wählt|schaltet|druckt|springt|wechselt|sucht|ersetzt|blendet|schließt|kopiert|verschiebt|sortiert|"
        r"importiert|exportiert|aktualisiert|bearbeitet|passt|ruft|weist|gibt|verwendet|benutzt|kehrt|ignoriert|listet|unterdrückt|überschreibt|erzwingt|behandelt|folgt|liest|schreibt|nimmt|enthält)\b", re.IGNORECASE),
    instructions="wie kann man[ {source}] {goal}?",
    placed="{question}[ {source}]?",
    how_to=re.compile(rf"(?!.*\b{_NO_INFINITIVE}$)(?P<goal>(?:{_DETERMINER}|[A-ZÄÖÜ]\w+(?:en|ern|s)) "
        r"[^:?!.;,()]{3,80} [a-zäöüß]{2,}(?:en|ern|eln))"),
    clauses=(r"Art\.", "Artikel"),
    infinitives={},
    adjective_endings=("e", "en", "es", "er"),
    references=re.compile(r"(?i:siehe auch|literatur\w*|referenzen|quellen|verweise|verwandte .*)"),
    statements=(
        states(
            r"(?:Wenn|Falls|Möchten) (?:Sie|du|man) (?P<goal>(?!.*\b(?:keine?n?|nicht|noch|lieber) )[^,;:()]{4,90} [a-zäöüß]+n) "
            r"(?:wollen|möchten|willst|möchtest|will|möchte), (?!bevor|nachdem|weil|der |die |das |werden|wird|ist es ).{12,}", "wie kann man[ {source}] {goal}?", "procedure"),
        states(
            r"(?:Möchten|Wollen) Sie (?P<goal>[^,;:()]{4,90} [a-zäöüß]+n), .{12,}", "wie kann man[ {source}] {goal}?",
            "procedure"),
        states(rf"(?P<when>Wenn|Falls|Sobald|Sofern) (?P<condition>{_CLAUSE}), (?:so |dann )?(?:können (?:Sie|wir)|kann man|kannst du|könnt (?:Ihr|ihr)) (?!.*\b(?:nicht|keine?n?)\b).{{8,}}",
            "was kann man[ {source}] tun, {when} {condition}?", "procedure"),
        states(rf"(?P<when>Wenn|Falls|Sobald|Sofern) (?P<condition>{_CLAUSE}), {_YOU}\b(?!.*\b(?:bereit|gefallen|bekommen|erhalten|finden|sehen|brauchen)\b).*",
            "was ist[ {source}] zu tun, {when} {condition}?", "procedure"),
        states(rf"(?P<when>Wenn|Falls|Sobald|Sofern|Solange) (?P<condition>{_CLAUSE}), (?={_RULES}){_MAIN}",
            "was gilt[ {source}], {when} {condition}?", "reasoning"),
        states(rf"(?P<when>Wenn|Falls|Sobald|Sofern|Solange) (?P<condition>{_CLAUSE}), {_MAIN}",
            "was passiert[ {source}], {when} {condition}?", "reasoning"),
        *(
            states(
                rf"(?P<when>Wenn|Falls|Sobald|Sofern|Solange) (?P<condition>[^;:()?!]{{8,110}}?, [^;:()?!]{{3,80}}?\b[a-zäöüß]+(?:t|n|te|ss|rf|ll|st|nd|ei)), (?={verbs}){_MAIN}",
                question, "reasoning")
            for verbs, question in (
                (_YOU + r"\b", "was ist[ {source}] zu tun, {when} {condition}?"), (_RULES, "was gilt[ {source}], {when} {condition}?"),
                (r"(?:so |dann )?(?:wird|werden)\b", "was passiert[ {source}], {when} {condition}?"))
        ),
        states(
            rf"(?P<verb>Ist|Sind|Wird|Werden|Hat|Haben|Kann|Können|Soll|Sollen|Darf|Muss) (?P<condition>{CLAUSE}), {_MAIN}",
            "was gilt[ {source}], wenn {condition} {verb}?", "reasoning"),
        states(
            r"Wer (?P<condition>[^;:()]{8,160}?), (?:muss|muß|darf|hat|ist|wird|kann|haftet|soll|bedarf|handelt|benötigt|verliert|erhält) .{10,}",
            "was gilt[ {source}] für den, der {condition}?", "reasoning"),
        states(r"Um (?P<goal>[^,;:()]{5,100} (?:zu \w+|\w+zu\w+)), (?:\w+ )?\w+ (?:Sie|du|man)\b.*",
            "wie geht man[ {source}] vor, um {goal}?", "procedure"),
        states(r"Um (?P<goal>[^,;:()]{5,100} (?:zu \w+|\w+zu\w+)), (?:muss|müssen|sollten?|braucht|benötigt) .{12,}",
            "wie geht man[ {source}] vor, um {goal}?", "procedure"),
        states(rf"(?P<when>Zum|Zur) (?P<rest>(?=\S+ \S+ \S+ ){_NAMES}) (?!benötigen|müssen|brauchen|können|sollten)[a-zäöüß]+en Sie .{{8,}}", "wie geht man[ {source}] {when} {rest} vor?", "procedure"),
        states(
            r"(?!Lesen|Beachten|Sehen|Vergessen|Vermeiden)[A-ZÄÖÜ][a-zäöüß]+en Sie [^;:()]{3,140}, um (?P<goal>[^,;:()]{5,100} (?:zu \w+|\w+zu\w+n))\.",
            "wie geht man[ {source}] vor, um {goal}?", "procedure"),
        states(
            r"(?:Mit|Über|Durch|Mithilfe|In|Unter) [^,;:()]{3,90}? (?:können Sie|kann man|kannst du) (?:auch )?(?P<goal>[^,;:()]{5,100} [a-zäöüß]+n)(?:\.|, .+)",
            "wie kann man[ {source}] {goal}?", "procedure"),
        states(
            r"(?:Sie können|Man kann|Du kannst) (?P<rest>(?!auch|dann|nun|hier|jetzt)(?:(?! und )[^,;:()]){3,60}?) (?:mit|über|mittels|durch|per|via|"
            r"mithilfe) [^,;:()]{3,70} (?P<tail>(?!werden)[a-zäöüß]{4,}n)(?:\.|, .+)", "wie kann man[ {source}] {rest} {tail}?", "procedure"),
        states(
            r"(?:Sie können|Man kann|Du kannst) (?P<rest>(?!auch|dann|nun|hier|jetzt)[^,;:()]{3,60}?) (?:zum|zur|für) [^,;:()]{4,90} "
            r"(?P<tail>verwenden|benutzen|nutzen|einsetzen)(?:\.|, .+)", "wozu kann man[ {source}] {rest} {tail}?"),
        states(rf"Es gibt (?P<rest>{_COUNTED} (?:[a-zäöüß]+e )?[A-ZÄÖÜ]\w+(?: [^,;:()]{{3,40}})?): .{{10,}}",
            "welche {rest} gibt es[ {source}]?"),
        states(
            r"(?P<when>Der|Die|Das) (?P<rest>(?:Standardwert|Voreinstellung|Name|Zweck|Typ|Größe|Anzahl|Länge|Höhe|Pfad|Adresse|"
            r"Unterschied|Vorteil|Nachteil|Ziel|Aufgabe|Preis|Rolle|Bedeutung) (?:für|von|des|der|zwischen|eines|einer) [^,;:()]{3,60}?) "
            r"(?P<be>ist|sind|besteht darin|liegt darin) (?:\d|(?!nicht|auch|daher|jedoch).{6}).*", "was ist {when} {rest}[ {source}]?"),
        states(
            r"(?:Sie können|Man kann|Du kannst) (?:auch )?(?P<goal>[^,;:()]{5,100}), indem .{8,}",
            "wie kann man[ {source}] {goal}?", "procedure"),
        states(rf"{SUBJECT} (?P<be>{_FINITE}) (?P<rest>[^,;:()]{{3,110}}), (?:weil|da) .{{8,}}",
            "warum {be} {subject}[ {source}] {rest}?", "reasoning"),
        states(rf"{SUBJECT} (?P<be>{_FINITE}) (?P<rest>(?!.* und eine? )[^,;:()]{{3,110}}), (?:um|damit) .{{8,}}",
            "wozu {be} {subject}[ {source}] {rest}?", "reasoning"),
        states(
            rf"(?:Im Jahre? |Im (?:{_MONTH} )|Seit |Ab )?{YEAR} (?P<verb>wurden?|war|waren|begann|entstand|erschien|[a-zäöüß]+te) "
            r"(?P<rest>[^,;:()]{8,90})(?:\.|, .+)", "wann {verb} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>{_FINITE}) (?P<rest>[^,;:()]{{0,60}}?) ?(?:innerhalb von|binnen|innerhalb) {_COUNTED} "
            r"(?P<unit>Tagen|Wochen|Monaten|Jahren|Stunden|Minuten|Werktagen|Arbeitstagen)(?P<tail> [^,;:()]{3,80})\.",
            "innerhalb von wie vielen {unit} {be} {subject}[ {source}] {rest}{tail}?"),
        states(
            rf"{SUBJECT} (?P<be>{_FINITE}) (?P<rest>[^,;:()]{{0,50}}?) ?(?P<bound>mindestens|höchstens|maximal) {_COUNTED} "
            r"(?P<unit>[A-ZÄÖÜ]\w+)(?P<tail>(?: [^,;:()]{2,80})?)\.",
            "wie viele {unit} {be} {subject}[ {source}] {rest} {bound}{tail}?"),
        states(
            rf"{SUBJECT} (?P<be>{_FINITE}) (?:nur )?(?P<rest>(?:(?<!ist )(?<!sind )|(?!eine? |der |die |das ))[^,;:()]{{3,110}}), (?:wenn|sobald|falls|sofern|bevor|nachdem|solange|soweit) .{{8,}}",
            "wann {be} {subject}[ {source}] {rest}?", "reasoning"),
        *(
            states(
                rf"(?P<subject>(?:Der|Die|Das|Ein|Eine) (?:[a-zäöüß]+e[nrs]? )?[A-ZÄÖÜ][\w-]+) (?P<verb>(?!zwischen|neben|gegen|wegen)[a-zäöüß]+(?:t|en)) "
                rf"(?P<rest>[^,;:()]{{0,100}}), (?:{conjunctions}) .{{8,}}", asker + " {verb} {subject}[ {source}] {rest}?", "reasoning")
            for conjunctions, asker in (("weil|da", "warum"), ("damit|um", "wozu"), ("wenn|sobald|falls|sofern|bevor|nachdem|solange|soweit", "wann"))
        ),
        states(rf"{_PERSON} {_DUTY} (?P<rest>(?!nicht|keine?|auch|dies|sich\b|daher|sein\b)[^;:()]{{15,140}})\.", "wer {be}[ {source}] {rest}?", score=0.75),
        states(rf"Über (?P<rest>{_NAMES}) entscheidet .{{6,}}", "wer entscheidet[ {source}] über {rest}?"),
        states(rf"(?P<when>Zuständig) (?P<rest>für {_NAMES}) ist .{{6,}}", "wer ist[ {source}] {when} {rest}?"),
        states(r"(?P<rest>[A-ZÄÖÜ][\w-]+) im Sinne (?:dieses|dieser|des|der) \w+ ist, wer .{10,}", "wer ist[ {source}] {rest}?", score=0.9),
        states(r"(?P<rest>[A-ZÄÖÜ][^,;:()]{2,50}?) im Sinne (?:dieses|dieser|des|der) [A-ZÄÖÜ]\w+ (?P<be>ist|sind) .{10,}", "was {be}[ {source}] {rest}?", score=0.9),
        states(rf"Als (?P<rest>{_NAMES}) (?P<verb>gilt|gelten) .{{10,}}", "was gilt[ {source}] als {rest}?", score=0.9),
        states(
            rf"(?P<when>Bei|Beim|Während|Im Falle?|Für|Nach|Vor|Ohne|Bis) (?P<rest>{_NAMES}) (?:muss|muß|müssen|darf|dürfen|soll|sollen|"
            r"ist(?= .*\bzu\b)|sind(?= .*\bzu\b)|hat(?= .*\bzu\b)|haben(?= .*\bzu\b)|gilt|gelten) (?!Sie\b|man\b|es\b|sich\b|er\b|sie\b|dies).{15,}",
            "was gilt[ {source}] {when} {rest}?", "reasoning"),
        *(
            states(
                rf"(?P<when>In|Im|Auf|Unter|Bei|Beim|Am|An|Zu|Zum|Zur|Mit|Für|Aus|Über|Nach|Vor) (?P<rest>{_NAMES}) (?P<be>{verbs}) "
                rf"(?!Sie\b|man\b|es\b|sich\b|er\b|sie\b|nicht\b|kein|dies|auch)(?:(?! (?:nicht|keine?|und) )[^,;:()]){{6,110}} (?P<done>{end})\.",
                asker + "[ {source}] {when} {rest} {done}?", score=0.7)
            for verbs, asker, end in (
                ("wird|werden", "was wird", _PARTICIPLE), ("kann|können", "was kann", f"{_PARTICIPLE} werden"),
                ("muss|müssen", "was muss", f"{_PARTICIPLE} werden"))
        ),
        states(
            rf"(?P<when>Bei|Beim|Nach|Im Falle?) (?P<rest>(?=\S+ (?!wird|werden)){_NAMES}) (?:wird|werden) (?!Sie\b|man\b|es\b|sich\b|er\b|sie\b|dies|kein|nicht).{{15,}}",
            "was passiert[ {source}] {when} {rest}?", "reasoning"),
        *(
            states(
                rf"(?P<when>In|Im|Auf|Unter|Bei|Am|An|Zu|Zum|Zur|Über|Hinter) (?P<rest>{_NAMES}) (?P<verb>{verbs}) (?!Sie\b|man\b|es\b|kein|nicht)"
                r".{10,}", asker, score=0.7)
            for verbs, asker in (
                ("befindet sich|befinden sich", "was befindet sich[ {source}] {when} {rest}?"),
                ("gehört|gehören", "was gehört[ {source}] {when} {rest}?"),
                ("steht|stehen", "was steht[ {source}] {when} {rest}?"), ("finden Sie", "was findet man[ {source}] {when} {rest}?"))
        ),
        states(
            rf"(?P<when>Mit|In|Im|Über|Durch|Auf) (?P<rest>{_NAMES}) (?:lässt|lassen|läßt) sich (?!nicht|kein)[^,;:()]{{6,100}} (?P<done>[a-zäöüß]+n)\.",
            "was lässt sich[ {source}] {when} {rest} {done}?"),
        states(
            rf"{SUBJECT} (?P<verb>(?:befindet|befinden) sich|liegt|liegen|erscheint|erscheinen) (?!in violett|zwischen \d)(?:in|im|am|an|auf|unter|bei|zwischen|neben|über|"
            r"hinter|links|rechts|oben|ganz|direkt) .{5,}", "wo {verb} {subject}[ {source}]?"),
        states(rf"{SUBJECT} (?P<verb>heißt|heißen|lautet|lauten) (?!nicht|dass).{{4,}}", "wie {verb} {subject}[ {source}]?"),
        states(
            rf"(?:Im|Auf|Am(?! [a-zäöüß]+sten )|In) {_NAMES} (?:können Sie|kann man|kannst du) (?P<goal>(?!auch|dann|nun|hier|jetzt)[^,;:()]{{5,100}} [a-zäöüß]+n)(?:\.|, .+)",
            "wo kann man[ {source}] {goal}?", "procedure"),
        states(
            rf"{SUBJECT} (?P<be>ist|sind) (?:schriftlich|elektronisch|unverzüglich|jährlich|zusammenhängend|gesondert|öffentlich|unentgeltlich) "
            r"(?P<rest>[^,;:()]{0,70}?(?:zu [a-zäöüß]+n|[a-zäöüß]+zu[a-zäöüß]+n))(?:\.|, .+)", "wie {be} {subject}[ {source}] {rest}?"),
        states(rf"{SUBJECT} (?P<be>{_FINITE}) (?P<rest>[^,;:()]{{3,90}}), indem .{{8,}}", "wie {be} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<verb>verwendet|benutzt|nutzt|verwenden|benutzen|nutzen) (?P<rest>(?!man\b|Sie\b|sich\b)[^,;:()]{{4,60}}?) (?:zum|zur|für) "
            r"(?!die\b)[^,;:()]{8,}\.", "wozu {verb} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<be>ist|sind) (?P<when>vor|nach|bei|mit|während|spätestens|innerhalb|binnen) (?P<middle>[^,;:()]{{4,70}}?) "
            r"(?P<rest>zu [a-zäöüß]+n|[a-zäöüß]+zu[a-zäöüß]+n)\.", "wann {be} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<verb>beträgt|umfasst|dauert) (?P<rest>[^,;:()]{{0,40}}?) ?(?P<bound>mindestens|höchstens|maximal) {_COUNTED} "
            r"(?P<unit>[A-ZÄÖÜ]\w+)(?P<tail>(?: [^,;:()]{2,60})?)\.", "wie viele {unit} {verb} {subject}[ {source}] {rest} {bound}{tail}?"),
        states(
            rf"(?:Sie haben|Man hat|Du hast) (?P<done>Anspruch) auf (?:mindestens |höchstens )?{_COUNTED} (?P<unit>[A-ZÄÖÜ]\w+)(?P<tail>(?: (?:pro|im|je) [^,;:()]{{2,40}})?)\.",
            "auf wie viele {unit} hat man[ {source}]{tail} {done}?"),
        states(
            rf"{SUBJECT} (?P<be>{_FINITE}) (?:höchstens |mindestens |maximal |nur )?{_COUNTED} (?:Tage|Wochen|Monate|Jahre|Stunden|Minuten|Sekunden)(?: lang)? "
            r"(?P<rest>[^,;:()]{4,60})\.", "wie lange {be} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<be>wird|werden|{_MODAL}) (?:am|bis zum|bis spätestens|spätestens am|spätestens|jeden|jährlich|monatlich|täglich|wöchentlich)\b[^,;:()]{{0,50}} "
            rf"(?P<rest>{_PARTICIPLE}(?: werden)?)\.", "wann {be} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<be>{_FINITE}) (?:vom|von der|von dem|von den|durch den|durch die|durch das) (?P<middle>[\w ]*?(?i:vorgesetzt|behörde|leitung|vorstand|arzt|"
            r"nutzer|administrator|entwickler|gericht|bundes|amt|minister|arbeitgeber|arbeitnehmer|mieter|regierung|ausschuss|versammlung|betreiber|inhaber)[a-zäöüß]*) "
            rf"(?P<rest>[^,;:()]{{0,60}}?{_PARTICIPLE}(?: werden)?)(?:\.|, .+)", "von wem {be} {subject}[ {source}] {rest}?"),
        states(rf"{SUBJECT} beträgt (?:\w+ )?{_COUNTED} (?P<unit>Monate|Wochen|Tage|Jahre|Stunden|Minuten|Werktage)\.", "wie viele {unit} beträgt {subject}[ {source}]?"),
        states(rf"{SUBJECT} (?P<verb>verjährt|erlischt|endet|beginnt|verjähren|enden|beginnen|verfällt|verfallen) (?P<rest>(?:in|nach|am|bei|durch|zum|sobald) .{{5,}})", "wann {verb} {subject}[ {source}]?"),
        states(
            rf"{_PERSON} (?P<rest>(?:entscheidet|bestimmt|beschließt|vertritt|leitet|erteilt|prüft|genehmigt|erhält|bezahlt|zahlt|trägt) (?!sich\b)[^;:()]{{8,110}})\.",
            "wer {rest}[ {source}]?", score=0.7),
        states(
            rf"{_BODY} (?P<rest>(?:entscheidet|bestimmt|beschließt|beruft|vertritt|leitet|führt|ernennt|wählt|überwacht|"
            r"erlässt|kann|darf|ist) [^;:()]{8,110})\.", "wer {rest}[ {source}]?", score=0.7),
        states(
            rf"{SUBJECT} (?P<be>wird|werden|ist|sind) (?:standardmäßig )?(?:in|unter|auf|im|am) (?!begrenzt|geringem|der (?:Reihenfolge|Regel)|diese)[^,;:()]{{3,90}} "
            r"(?P<rest>gespeichert|abgelegt|installiert|angezeigt|definiert|festgelegt|geregelt|aufgelistet|konfiguriert|"
            r"eingestellt|gefunden|untergebracht|platziert|enthalten)(?:\.|, .+)", "wo {be} {subject}[ {source}] {rest}?"),
        *(
            states(
                rf"{SUBJECT} (?P<be>wird|werden|kann|können|wurde|wurden) (?:{prepositions}) [^,;:()]{{3,90}} "
                r"(?P<rest>(?!werden|worden)[a-zäöüß]+(?:t|en)(?: werden)?)(?:\.|, .+)", asker + " {be} {subject}[ {source}] {rest}?", score=0.65)
            for prepositions, asker in (
                ("mit|mittels|mithilfe", "womit"), ("durch", "wodurch"), ("für", "wofür"), ("aus", "woraus"), ("zu|zur|zum", "wozu"))
        ),
        states(
            rf"{SUBJECT} (?P<be>wird|werden|kann|können) als [^,;:()]{{4,80}} (?P<rest>(?!werden|worden)[a-zäöüß]+(?:t|en)(?: werden)?)(?:\.|, .+)",
            "als was {be} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<be>kann|können) (?:von|aus|in|unter) [^,;:()]{{3,90}} (?P<rest>(?:heruntergeladen|gefunden|eingesehen|"
            r"bezogen|geändert|eingestellt|angezeigt|konfiguriert|abgerufen) werden)(?:\.|, .+)", "wo {be} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<be>wird|werden|kann|können) (?:über|per|via) [^,;:()]{{3,90}} "
            r"(?P<rest>(?!werden|worden)[a-zäöüß]+(?:t|en)(?: werden)?)(?:\.|, .+)", "wie {be} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<be>ist|sind) (?:in|unter|auf|im|am|bei) [^,;:()]{{3,90}} (?P<rest>verfügbar|erhältlich|enthalten|"
            r"aufgeführt|beschrieben|vorhanden|zu finden)(?:\.|, .+)", "wo {be} {subject}[ {source}] {rest}?"),
        states(
            rf"{SUBJECT} (?P<be>ist|sind) für (?P<middle>[^,;:()]{{4,90}}) (?P<rest>zuständig|verantwortlich|gedacht|geeignet|"
            r"vorgesehen|erforderlich|bestimmt)\.", "wofür {be} {subject}[ {source}] {rest}?"),
        states(
            r"(?P<verb>[A-ZÄÖÜ][a-zäöüß]+t) (?P<condition>(?:der|die|das|ein|eine|Ihr|Ihre|kein|keine) [^,;:()]{6,100}), "
            rf"(?={_RULES}){_MAIN}", "was gilt[ {source}], wenn {condition} {verb}?", "reasoning"),
        states(rf"{SUBJECT} (?P<be>ist|sind) {_ALSO}(?P<rest>(?:eine?|der|die|das|eine[rs] der) {REST})",
            "was {be} {subject}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>ist|sind) (?P<rest>[A-ZÄÖÜ][\w-]+ (?:zum|zur|für|mit|aus|von|der|des|eines|einer|in) {REST})",
            "was {be} {subject}[ {source}]?"),
        states(
            rf"Der (?P<kind>[A-ZÄÖÜ][a-zäöüß]{{3,}}) [\w<>.„“-]*[\w<>“] (?P<rest>{_DOES} [^,;:()]{{15,110}})\.",
            "welcher {kind} {rest}[ {source}]?"),
        states(
            rf"Die (?P<kind>[A-ZÄÖÜ][a-zäöüß]{{3,}}) [\w<>.„“-]*[\w<>“] (?P<rest>{_DOES} [^,;:()]{{15,110}})\.",
            "welche {kind} {rest}[ {source}]?"),
        states(
            rf"Das (?P<kind>[A-ZÄÖÜ][a-zäöüß]{{3,}}) [\w<>.„“-]*[\w<>“] (?P<rest>{_DOES} [^,;:()]{{15,110}})\.",
            "welches {kind} {rest}[ {source}]?"),
        states(rf"{SUBJECT} bedeutet {REST}", "was bedeutet {subject}[ {source}]?"),
        states(rf"{SUBJECT} bezeichnet {REST}", "was bezeichnet {subject}[ {source}]?"),
        states(rf"{SUBJECT} steht für {REST}", "wofür steht {subject}?"),
        states(rf"{SUBJECT} besteht aus {REST}", "woraus besteht {subject}[ {source}]?"),
        *(
            states(rf"{SUBJECT} (?P<verb>{verbs})(?P<tail>(?: sich)?) (?:\w+ )?{preposition} {REST}",
                asker + " {verb}{tail} {subject}[ {source}]?")
            for verbs, preposition, asker in (
                ("basiert|basieren|beruht|beruhen|wirkt|wirken|verweist|verweisen|bezieht|beziehen|antwortet|reagiert|achtet|zielt|zeigt", "auf", "worauf"),
                ("gehört|gehören|führt|führen", "(?:zu|zum|zur)", "wozu"), ("richtet|richten|bemisst|bemessen|bemißt|sucht", "nach", "wonach"),
                ("arbeitet|arbeiten|beginnt|endet|kommuniziert|befasst|beschäftigt", "mit", "womit"), ("hilft|helfen", "bei", "wobei"),
                ("entsteht|stammt|ergibt|ergeben", "aus", "woraus"),
                ("eignet|eignen|steht|stehen|sorgt|sorgen", "für", "wofür"), ("verfügt|verfügen|informiert", "über", "worüber"),
                ("handelt|profitiert", "(?:von|vom)", "wovon"))
        ),
        states(rf"{SUBJECT} (?P<verb>hängt|hängen) (?:\w+ )?(?:von|vom) .{{6,}} ab\.", "wovon {verb} {subject}[ {source}] ab?"),
        states(rf"{SUBJECT} (?P<verb>dient|dienen) {REST}", "wozu {verb} {subject}[ {source}]?"),
        states(
            rf"Unter (?P<subject>[^,;:()]{{3,60}}?) versteht man {REST}", "was versteht man unter {subject}[ {source}]?", score=0.9),
        states(
            rf"{SUBJECT} (?P<verb>enthält|umfasst|ermöglicht|unterstützt|benötigt|erfordert|bietet|regelt|betrifft|bewirkt|"
            r"verlangt|beschreibt|erlaubt|enthalten|umfassen|ermöglichen|unterstützen|benötigen|erfordern|bieten|regeln|betreffen|"
            rf"beschreiben|erlauben|verlangen) {REST}", "was {verb} {subject}[ {source}]?"),
        states(
            rf"(?!\S+ kann |\S+ können |\w+e? \w+(?:ung|heit|keit|ion|nis)\b)(?=Der |Die |Das |Eine? ){SUBJECT} (?P<be>kann|können) (?!nur|auch|nicht|keine?|sich|es\b|man|von|in|aus|bei)[^,;:()]{{15,120}} [a-zäöüß]+(?<!werden)(?<!sein)(?<!haben)n\.",
            "was {be} {subject}[ {source}] tun?", score=0.65),
        states(
            r"(?P<subject>(?:Die|Das|Eine) [^,;:()]{4,70}?) (?:ist(?= .*\bzu\b)|sind(?= .*\bzu\b)|darf|dürfen|muss|müssen|muß|soll|sollen) "
            r"(?!sich\b|Sie\b|man\b)[^;:()]{10,160}(?:werden|[a-zäöüß]zu[a-zäöüß]+n|zu [a-zäöüß]+n)\.", "was gilt[ {source}] für {subject}?",
            "reasoning", score=0.6),
        states(rf"(?!\w{{0,40}}[a-zäöüß][A-ZÄÖÜ]\w{{0,40}} |[A-Z]{{2}}\w{{0,40}} ){SUBJECT} {_DOES} {REST}", "was macht {subject}[ {source}]?", opening=True),
        states(
            rf"(?P<subject>(?:Der|Die|Das|Ein|Eine) (?:[a-zäöüß]+e[nrs]? )?[A-ZÄÖÜ][\w-]+(?: [\w.-]*[A-Z_.-][\w.-]*)?) "
            rf"(?P<verb>{_DOES}|benutzt|verwendet|nutzt|beeinflusst|verursacht|ersetzt|überprüft|überwacht|besitzt|bestätigt|"
            r"hat) (?!keine?|nicht|sich|auf|an|in|zu|mit|für|aus|dazu|Ihnen|einen? (?:eigene|neue))[^,;:()]{15,120}(?<! an)(?<! ab)(?<! zu)(?<! um)(?<! ein)(?<! auf)(?<! aus)(?<! fest)(?<! her)(?<! dar)(?<! vor)\.",
            "was {verb} {subject}[ {source}]?", score=0.6),
        states(
            r"(?P<subject>(?:Der|Die|Das|Ein|Eine) (?:[a-zäöüß]+e[nrs]? )?[A-ZÄÖÜ][\w-]+(?: [\w.-]*[A-Z_.-][\w.-]*)?) "
            r"(?P<verb>(?!ist|wird|bleibt|heißt|dauert|kostet|beträgt|scheint|stellt|nimmt|findet|hat|gibt|macht|kommt|geht|bringt|legt|setzt|"
            r"lässt|läßt|führt|zieht|liegt|steht|bedeutet|unterliegt|dient|folgt|gehört|hilft|entspricht|widerspricht|fehlt|droht|genügt|gleicht|teilt|gilt|listet|tritt|hält|soll|kann)[a-zäöüß]{4,}t) (?:einen?|den|die|das|alle|mehrere) "
            r"[^,;:()]{10,120}(?<! an)(?<! ab)(?<! zu)(?<! um)(?<! ein)(?<! auf)(?<! aus)(?<! fest)(?<! her)(?<! dar)(?<! vor)(?<! bei)(?<! hin)"
            r"(?<! durch)(?<! mit)(?<! nach)(?<! weiter)(?<! zurück)(?<! voraus)(?<! bereit)\.", "was {verb} {subject}[ {source}]?", score=0.6),
        states(rf"{SUBJECT} (?P<verb>kostet|wiegt|beträgt) {NUMBER} .*",
            "wie viel {verb} {subject}[ {source}]?"),
        states(rf"{SUBJECT} (?P<verb>dauert|gilt) {NUMBER} .*",
            "wie lange {verb} {subject}[ {source}]?"),
        states(rf"{SUBJECT} (?P<be>wurden?) (?:erst |bereits |schon |erstmals )?{_DATE} "
            r"(?P<done>(?:[^\s,;:()]{1,30} ){0,4}?[a-zäöüß]{3,}(?:t|en))(?:[,.]| und ).*",
            "wann {be} {subject}[ {source}] {done}?"),
    ),
    leads=(
        states(r"Um (?P<goal>[^,;:()]{5,100} (?:zu \w+|\w+zu\w+n))(?:, .{3,80})?",
            "wie geht man[ {source}] vor, um {goal}?", "procedure"),
        states(
            rf"{SUBJECT} (?P<verb>enthält|umfasst|ermöglicht|unterstützt|benötigt|erfordert|bietet|regelt)(?: die)?(?: folgende[ns]?(?: \w+)?)?",
            "was {verb} {subject}[ {source}]?"),
        states(rf"{SUBJECT} besteht aus(?: den)?(?: folgenden(?: \w+)?)?", "woraus besteht {subject}[ {source}]?"),
        states(rf"Folgende (?P<rest>[A-ZÄÖÜ][^,;:()]{{3,50}} (?:{_FINITE}|stehen|gelten|gehören)\b[^,;:()]{{0,60}})",
            "welche {rest}[ {source}]?"),
        states(rf"(?P<when>Wenn|Falls) (?P<condition>{CLAUSE}), {_YOU}\b.*",
            "was ist[ {source}] zu tun, {when} {condition}?", "procedure"),
    ),
    attributes=(
        attribute(r"\d+ (?:Sekunden|Minuten|Stunden|Tage|Wochen|Monate|Jahre)\b", "wie lang ist {key} {of} {subject}?",
            "{key} {of} {subject} beträgt {value}.", key=".*(?:frist|dauer|zeit|zeitraum)"),
        attribute(r"[€$£]|\d[\d., ]*[^\W\d]*", "wie hoch ist {key} {of} {subject}?", "{key} {of} {subject} beträgt {value}.",
            key=".*(?:gebühr|preis|betrag|beitrag|miete|pegel|druck|leistung|temperatur|spannung|geschwindigkeit|gewicht|"
            "kosten|steuer|zins|anteil|verbrauch|höhe)"),
        attribute(r"\S", "was ist {key} {of} {subject}?", "{key} {of} {subject} ist {value}."),
    ),
    definite_forms={
        **dict.fromkeys(words("""
            ung heit keit schaft ion tät frist zeit dauer größe höhe breite länge tiefe menge anzahl nummer gebühr rate steuer
            miete temperatur leistung frequenz adresse farbe stärke fläche zahl klasse"""), "die {}"),
        **dict.fromkeys(words("""
            preis betrag beitrag druck pegel anteil zins verbrauch zeitraum ort wert abstand
            durchmesser schlüssel anschluss"""), "der {}"),
        **dict.fromkeys(words("mittel gewicht datum format volumen material jahr alter ziel verfahren gerät"), "das {}"),
    },
    relations=("von", "für"),
    plural=re.compile(r"(?:ungen|heiten|keiten|ionen|en)$"),
    kinds=re.compile(r"(?i:[ -](?:Direktive|Directive)|,? (?:Datenblatt|Handbuch|Anleitung|Dokumentation|Übersicht|Spezifikation|Referenz))$"),
    common=re.compile(r".*"),
    indefinite=words("ein eine"),
    definite=words("der die das"),
    empty=words("""
        abstract achtung allgemein allgemeine allgemeines anhang anmerkung anmerkungen argumente autor
        autoren beispiel beispiele bemerkung bemerkungen beschreibung definitionen details einführung
        einleitung einstellungen eigenschaften hilfe aufruf ergebnis ergebnisse erläuterung fazit fehler
        hinweis hinweise index info informationen inhalt inhaltsverzeichnis literatur name nummer optionen
        parameter quellen referenz rückgabewert siehe status syntax tabelle tipp tipps titel typ überblick
        übersicht und verwandte verwendung version voraussetzungen vorwort warnung wert werte wichtig
        zusammenfassung zweck auch themen weitere grundlagen installation konfiguration definition
        begriffe standard vorgabe kommentar technische daten funktionen hintergrund symbol schritte"""),
    manuals=words("""
        handbuch anleitung leitfaden dokumentation faq schnellstart readme howto referenz bedienungsanleitung
        einführungskurs"""),
    title_case=False,
    general=words("""
        häufig gestellte fragen frage antworten kapitel teil hilfe kontakt webseite startseite glossar begriffe
        benutzer anwender nutzer benutzung bedienung administrator entwickler erste schritte allgemeine
        nutzungsbedingungen datenschutz datenschutzerklärung impressum regeln richtlinien dokument dokumente datei
        dateien system programm software wie man neue info zu für"""),
    metadata=words("""
        ausfertigungsdatum fundstelle beschreibung syntax status sprache version autor autoren geändert modul lizenz copyright schlüsselwörter revision quelle datei id datum
        stand popcon kompatibilität modulbezeichner quelltext-datei quelltext herausgeber kontakt e-mail größe"""),
    superlative=re.compile(r"[a-zäöüß]{3,}sten?"),
    leaning=words("""
        ihn ihnen abhängig je entsprechend entsprechende entsprechenden entsprechender entsprechendes genannte genannten stattdessen meist meistens oft manchmal niemand jemand üblicherweise normalerweise beispielsweise er sie es ihr ihre ihren ihrer ihm dies diese dieser dieses diesen diesem solche solcher solches
        oben unten folgende folgenden folgendes folgender obige obigen vorherige hier dort dabei dazu
        damit dafür daraus davon daran darin dadurch deshalb daher außerdem andere anderen anderes ich wir
        unser unsere mein jedoch auch beide erste ersten zweite zweiten letzte letzten gleiche nächste so
        dann also und oder aber"""),
    pointing=words("""
        folgende folgenden folgender folgendes folgendem oben unten nachfolgend nachfolgende abschnitt
        nachfolgenden siehe obige obigen obiger hier vorigen vorherigen folgt abbildung"""),
    addressing=words("Sie Ihr Ihre Ihren Ihrem Ihrer Ihres du dein deine deinen deinem deiner dich dir man sich sein seine seinen"),
    dangling=re.compile(r"(?:z\. ?B\.)|\b(?:dies\w*(?! (?:Gesetz|Verordnung|Satzung|Ordnung|Richtlinie))|oben|obige\w*|unten|wir|uns|unser\w*|dies(?:er|e|es|em|en)? (?:Weise|Fall|Fällen|Art|Grund|Zweck|Option|Optionen|Werte)|tun Sie dies|"
        r"(?:unterstützt|erlaubt|ermöglicht|macht) (?:dies|das)[.,]|Ersteres|Letzteres|desselben|auch|jedoch|daher|deshalb|zudem|außerdem|hingegen|dagegen|stattdessen|beispielsweise|ebenfalls|ebenso|"
        r"somit|allerdings|im Übrigen|genannten?|(?:einige|viele|mehrere) Dinge|[Zz]eile \d+|das (?:nicht|der|auch|besonders|nur|kann|wird)|(?:[Nn]ähere|[Ww]eitere|[Mm]ehr) Informationen|genug, um)\b|wählen Sie \d\.$|(?:§§? ?\d+\w?|\b(?:Absatz(?:es)?|Abs\.|Satz(?:es)?|Nummer|Nr\.|Buchstabe) (?:\d|[a-z]\b))"
        rf"(?!(?: [\w§.,-]+){{0,10}}? (?:[A-ZÄÖÜ][\w-]*{_LAW}(?:e?s|buch(?:e?s|s)?)?\b|[A-Z]\w*[GBO]\b))"),
    idle=words("war waren hatte hatten wurde unsicher weiß wissen sicher neugierig interessiert vertraut bereits vergleichen bevorzugen Zweifel lesen"),
    vague=words("""
        aktion ansicht anzahl befehl bild bilder bug button datei dateien daten dialog eintrag einträge einstellung einstellungen
        element elemente ergebnis fehler feld felder fenster filter funktion gruppierung knopf liste leiste maske menü meldung
        modus name namen objekt objekte option optionen ordner problem programm regler schaltfläche segment segmente seite
        seiten spalte symbol system tabelle taste tastenkombination test text texte unterstützung verzeichnis vorgang wert
        werte zeile zeilen änderungen"""),
    partial=re.compile(r"(?i:\bzunächst\b|\bzuerst\b|\berst\b|beschrieben)"),
    weak=words("""
        gute guter gutes einzige einziger einziges beste erste letzte gleiche selbe problem bisschen
        standard voreinstellung fall einfache einfacher wichtig einfachste andere anderer anderes wichtige
        wichtiger wichtiges häufige gängige große großer großes folgende folgenden weitere weiterer
        weiteres neue grund zuständige empfohlene empfohlener vernünftige vernünftiger sinnvolle sinnvoller"""),
    abstract=words("""
        alternative antwort aufgabe ausnahme bedeutung beispiel besonderheit effekt ergebnis fall frage gedanke
        grund idee lösung möglichkeit methode nachteil option problem punkt regel sache schwierigkeit teil
        unterschied ursache voraussetzung vorteil weg weise ziel zweck folge ansatz aspekt beispielsweise
        alle jeder jede jedes einige viele mehrere manche wenn falls hinweis anmerkung achtung warnung
        tipp wichtig merke siehe liste übersicht information informationen dokumentation"""),
)  # fmt: skip

OTHERS = {
    'also': frozenset(['auch', 'selbst']),
    'and_word': 'und',
    'comparing': frozenset(['als']),
    'conditions': ('wenn', 'falls', 'sofern', 'außer', 'vorausgesetzt', 'solange', 'sobald', 'nur'),
    'dependent_openers': frozenset(['bis', 'dass', 'daß', 'falls', 'ob', 'sofern', 'wenn']),
    'exclusive': frozenset(['allein', 'ausschließlich', 'lediglich', 'nur']),
    'fillers': frozenset(['allerdings', 'also', 'auch', 'außerdem', 'daher', 'damit', 'dennoch', 'ferner', 'folglich', 'jedoch', 'somit', 'zudem']),
    'ordinals': {'erste': 1, 'erster': 1, 'erstes': 1, 'ersten': 1, 'erstem': 1, 'zweite': 2, 'zweiter': 2, 'zweites': 2, 'zweiten': 2, 'zweitem': 2, 'dritte': 3, 'dritter': 3, 'drittes': 3, 'dritten': 3, 'drittem': 3, 'vierte': 4, 'vierter': 4, 'viertes': 4, 'vierten': 4, 'viertem': 4, 'fünfte': 5, 'fünfter': 5, 'fünftes': 5, 'fünften': 5, 'fünftem': 5, 'sechste': 6, 'sechster': 6, 'sechstes': 6, 'sechsten': 6, 'sechstem': 6, 'siebte': 7, 'siebter': 7, 'siebtes': 7, 'siebten': 7, 'siebtem': 7, 'siebente': 7, 'siebenter': 7, 'siebentes': 7, 'siebenten': 7, 'siebentem': 7, 'achte': 8, 'achter': 8, 'achtes': 8, 'achten': 8, 'achtem': 8, 'neunte': 9, 'neunter': 9, 'neuntes': 9, 'neunten': 9, 'neuntem': 9, 'zehnte': 10, 'zehnter': 10, 'zehntes': 10, 'zehnten': 10, 'zehntem': 10, 'elfte': 11, 'elfter': 11, 'elftes': 11, 'elften': 11, 'elftem': 11, 'zwölfte': 12, 'zwölfter': 12, 'zwölftes': 12, 'zwölften': 12, 'zwölftem': 12, 'dreizehnte': 13, 'dreizehnter': 13, 'dreizehntes': 13, 'dreizehnten': 13, 'dreizehntem': 13, 'vierzehnte': 14, 'vierzehnter': 14, 'vierzehntes': 14, 'vierzehnten': 14, 'vierzehntem': 14, 'fünfzehnte': 15, 'fünfzehnter': 15, 'fünfzehntes': 15, 'fünfzehnten': 15, 'fünfzehntem': 15, 'sechzehnte': 16, 'sechzehnter': 16, 'sechzehntes': 16, 'sechzehnten': 16, 'sechzehntem': 16, 'siebzehnte': 17, 'siebzehnter': 17, 'siebzehntes': 17, 'siebzehnten': 17, 'siebzehntem': 17, 'achtzehnte': 18, 'achtzehnter': 18, 'achtzehntes': 18, 'achtzehnten': 18, 'achtzehntem': 18, 'neunzehnte': 19, 'neunzehnter': 19, 'neunzehntes': 19, 'neunzehnten': 19, 'neunzehntem': 19, 'zwanzigste': 20, 'zwanzigster': 20, 'zwanzigstes': 20, 'zwanzigsten': 20, 'zwanzigstem': 20},
    'past_copulas': frozenset(['war', 'waren']),
    'relatives': frozenset(['das', 'dem', 'den', 'denen', 'der', 'deren', 'dessen', 'die', 'was', 'welche', 'welcher', 'welches', 'wem', 'wen', 'wer']),
    'universal': frozenset(['alle', 'allen', 'aller', 'alles', 'ganz', 'gesamte', 'gesamten', 'immer', 'jede', 'jedem', 'jeden', 'jeder', 'jedes', 'sämtliche', 'vollständig']),
    'verb_final': True,
    'verb_second': True,
    'verbal_nouns': '',
    'contrasts': frozenset(['aber', 'allerdings', 'ausgenommen', 'außer', 'doch', 'hingegen', 'jedoch', 'nicht', 'obwohl', 'sondern', 'stattdessen', 'während']),
}  # fmt: skip
