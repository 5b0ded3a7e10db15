"""Closed word classes of German that the rules lean on.

What belongs here: word lists and the regex fragments made of them. What does not: sentence patterns.
"""

from qa_pipeline.llm.extractive.patterns import words

MONTH = "(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)"
DATE = rf"(?:\d{{1,2}}\. {MONTH}(?: \d{{4}})?)"
NUMBER = (
    r"(?:\d[\d.]*(?:,\d+)?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|fünfzehn|"
    r"zwanzig|dreißig)"
)

FINITE = (
    "(?:ist|sind|war|waren|wird|werden|wurde|wurden|kann|können|könnte|könnten|muss|müssen|darf|dürfen|soll|sollen|"
    "sollte|sollten|hat|haben|verwendet|verwenden|benötigt|benötigen|funktioniert|funktionieren|enthält|enthalten|"
    "gibt|bleibt|bleiben|gilt|gelten|braucht|brauchen|erhält|unterstützt|bietet|stammt|gehört|befindet|liegt)"
)
"""Verb forms that are never anything but the finite verb of a short main clause."""

IDENTIFIER = (
    r"(?:</?[A-Za-z][\w-]{0,60}>|--?[a-z][\w-]{1,60}"
    r"|@?[A-Za-z_](?:[^\W_]|-){0,60}(?:[._]{1,3}(?:[^\W_]|-){1,60}){1,20}_{0,3}(?:\(\))?|\.[a-z]\w{1,60}|[A-Za-z_]\w{0,60}\(\)"
    r"|[a-z]{1,60}[A-Z]\w{0,60}|[A-Z]{1,60}[a-z]{1,60}[A-Z]\w{0,60}|[A-Z]{2,60}[a-z]{2}\w{0,60}"
    r"|[A-Z][A-Z0-9]{1,60}[a-z]?(?:-[A-Za-z]\w{1,60}){0,20}|(?>\w{1,60}?_)\w{1,60})"
)
"""A name of code or an acronym: mod_so, <Limit>, --prefix, CamelCase, ASGI."""

SUBJECT = r"(?P<s>[A-ZÄÖÜ<@_`a-z][^,;:()\"„“?!]{1,80}?)"

NOT_SUBJECTS = words(
    """in im an am auf aus bei beim bis durch für gegen mit nach ohne seit um unter über von vom vor
    während wegen zu zum zur zwischen wenn falls weil da dass damit obwohl als ob wie was wer wo wann
    warum welche welcher welches hier dort dann danach daher deshalb deswegen dabei dadurch dazu dafür
    davon darin darauf daraus daran jedoch aber und oder denn doch auch nur nun so somit sonst
    außerdem zudem es er sie wir ihr ich dies diese dieser dieses diesem diesen jene jener jenes jeder
    jede jedes alle beide kein keine keiner einige manche viele mehrere solche solch beispielsweise
    normalerweise standardmäßig zunächst zuerst schließlich anschließend andernfalls ansonsten
    tatsächlich natürlich insbesondere allerdings weiterhin ferner ebenso ebenfalls stattdessen
    trotzdem dennoch manchmal oft meistens üblicherweise bitte beachten sein seine ihre ihrer unser
    unsere man letzteres ersteres letztere erstere selbst sogar zusätzlich gleichzeitig danke jetzt
    inzwischen hierbei hierfür hierzu hiermit nachdem bevor sobald solange innerhalb außerhalb anstatt
    statt trotz aufgrund mittels mithilfe theoretisch genau nebenbei dementsprechend entsprechend
    folglich grundsätzlich generell prinzipiell sofern soweit wobei weitere weiteres anderes andere
    das eventuell vielleicht möglicherweise je weder entweder sowohl erst bereits nicht nie immer
    häufig wahrscheinlich gerade direkt wieder ihrem seinem dank alles beides gemäß laut zufolge"""
)
"""Words that cannot open the subject of a question: prepositions, pointers, adverbs, conjunctions."""

POINTERS = (
    r"\b(?:dies|diese[rsmn]?|jene[rsmn]?|solch\w*|er|ihn|ihm|ihnen|deren|dessen|dabei|dafür|"
    r"dadurch|dazu|daraus|darin|"
    r"darauf|daran|davon|damit|dann|danach|daher|deshalb|hier|hierbei|hierfür|hierzu|dort|oben|"
    r"unten|obige\w*|"
    r"folgende\w*|vorherige\w*|vorige\w*|nächste\w*|derselbe\w*|denselben|demselben|dieselbe\w*|"
    r"dasselbe|gleiche[rnsm]?|"
    r"entsprechende\w*|jeweilige\w*|genannte\w*|erwähnte\w*|besagte\w*|betreffende\w*|wir|uns|"
    r"unser\w*|also|auch|"
    r"jedoch|außerdem|ebenfalls|nun|jetzt|andere[rsnm]?|anderen|beispielsweise|z\. ?B|usw|"
    r"letztere\w*|erstere\w*|"
    r"weitere[rsnm]?|noch|allerdings|trotzdem|stattdessen|obiger|später|gerade|bereits|alles|etwas|so|"
    r"Beispiel\w*|Abschnitt\w*|Kapitel\w*|Diagramm\w*|Tabelle|Abbildung|zusätzlich\w*|"
    r"ursprünglich\w*|restlich\w*)\b"
    r"|\b(?:der|die|das|den|dem) (?:oben|unten|hier|gerade)\b|…"
)
"""Words that point outside the question, so that nobody could answer it without the page."""

PRONOUN = (
    r"\b(?:es|sie|ihr|ihre[rsnm]?|ihren|seine[rsnm]?|seinen)\b|"
    r"\b[Dd]as (?![a-zäöü]*[a-zäöü-]* ?(?:[a-zäöü-]+ )?[A-ZÄÖÜ<@_\d.]|\w+_)|\bdas\?"
)
"""Pronouns in lower case (the polite «Sie» and «Ihr» are capitals), and «das» that opens no noun phrase."""

ANSWER_POINTERS = (
    r"\b(?:dies|diese|dieser|dieses|diesem|diesen|hier|oben|obige\w*|folgende[rnsm]?|"
    r"vorherige\w*|jene[rsmn]?|"
    r"unser\w*|wir|uns|solche\w*|dort|ebenfalls|letztere\w*|stattdessen|dasselbe|denselben|"
    r"dieselbe\w*|gleiche[ns]?|"
    r"außerdem|nun|jetzt|dabei|hierbei|hierfür|hierzu|daher|deshalb|ich|wie Sie sehen|gesehen|"
    r"gezeigt|erwähnt|betreffende\w*|jeweilige\w*)\b"
    r"|(?<!,)(?<!sondern) (?:aber|jedoch)\b"
)
"""Words that tie a sentence to the one before it, so that it is no answer alone."""

COMMON_ACRONYMS = words(
    """API APIs URL URLs HTTP HTTPS HTML JSON IP IPs ID IDs CSS DNS TCP OpenAPI FastAPI XML SQL UI CLI
    CPU USB PDF OK SSL TLS CGI MPM MPMs IPv4 IPv6 GET POST PUT DELETE ASCII"""
)
"""Acronyms of so wide a use that they say nothing about which thing is meant."""

GENERIC_NOUNS = words(
    """direktive modul module funktion funktionen parameter server client clients datei dateien wert
    werte klasse klassen methode methoden code beispiel anwendung anwendungen argument argumente typ
    objekt option ergebnis name namen text abschnitt dokument seite kapitel anweisung einstellung
    variable system tool programm prozess optionen befehl abhängigkeit modell verzeichnis pfad anfrage
    request response antwort header body schema dokumentation reihenfolge unterschied ziel grund idee
    möglichkeit vorteil nachteil problem lösung konfiguration rest teil zeile daten inhalt status
    benutzer browser fehler liste titel token passwort feld felder ding ausgabe eingabe format syntax
    zeichenkette string information informationen weg art trick stelle app container version ausdruck
    test tests aufruf mechanismus konzept standard sache frage voreinstellung standardwert defaultwert
    größe anzahl zeit dauer regel wichtigste einfachste beste schritt hauptunterschied erste zweite
    dritte letzte einzige nächste folgende gesamte andere verwendung nutzung verwendete kindprozess
    dienst argumentwert dateiname hinweis warnung tipp hauptvorteil grundidee nebeneffekt endergebnis"""
)
"""Nouns that with an article alone never say which one is meant."""

SEPARABLE = (
    "ab|an|auf|aus|bei|bereit|durch|ein|fest|fort|frei|heraus|herunter|hinzu|her|hin|hoch|los|mit|nach|um|vor|weg|"
    "weiter|wieder|zurück|zusammen|zu|dar|teil|statt|kennen|heran|nieder|offen|voraus|vorbei|über|unter|sicher"
)
"""Verb prefixes that "zu" follows in an infinitive: «zurückzugeben»."""
