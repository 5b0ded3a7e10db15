"""Closed word classes of Swedish that the rules lean on.

What belongs here: word lists and the regex fragments made of them. What does not: sentence patterns.
"""

from qa_pipeline.llm.extractive.patterns import words

VERB_FIRST = words(
    """anser avser avslås begär behöver beslutar beslutas betalas bifalls bryter finner finnes finns
    framgår framkommer fullgör får föreligger föreslår företer förekommer förs gäller gör görs ha hade
    har hänför inkommer innebär innehåller innehar inträder inträffar kan kommer krävs lämnar lämnas
    medför meddelar meddelas medger misstänks måste omfattar omfattas påträffas prövas rör saknar
    saknas sker ska skall skulle ställs tas tillhör tillsätts underlåter uppgår uppkommer uppstår
    upphör utses uteblir utgör vill visar visas är väcks väljs yrkar yrkas äger åläggs åsidosätts
    åsidosättes överklagas överlämnas bör vore utan erhåller avviker begås brister fattas frånträder"""
)
"""Verbs that open a conditional clause: «Finns det särskilda skäl får …»."""

MONTH = "(?:januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|december)"
DATE = rf"(?:den \d{{1,2}} {MONTH}(?: \d{{4}})?)"
NUMBER = (
    r"(?:\d[\d  ]*(?:[.,]\d+)?|en|ett|två|tre|fyra|fem|sex|sju|åtta|nio|tio|elva|tolv|fjorton|femton|arton|"
    r"tjugo|trettio|fyrtio|femtio|sextio)"
)
PERIOD = (
    rf"(?:{NUMBER} (?:arbets|vecko|kalender)?(?:dag|dagar|vecka|veckor|månad|månader|år|timme|"
    rf"timmar|minuter)\b)"
)
MODAL = "(?:ska|skall|får|måste|bör|kan)"
OUGHT = "(?:ska|skall|måste|bör)"
SUBJECT = r"(?P<s>[A-ZÅÄÖ][^,;:()\"]{2,110}?)"

FINITE = (
    "(?:är|var|har|hade|kan|ska|skall|bör|måste|får|fick|blir|blev|behöver|gäller|finns|används|krävs|ger|gör|går|"
    "tar|togs|tas|kommer|står|ligger|lämnas|betalas|sker|mäts|förs|utgår|tillämpas)"
)
"""Verb forms that are never anything but the finite verb of their clause."""

NOT_SUBJECTS = words(
    """i på av för från med till om när då där här som att men och eller så dock också även efter före
    innan under över enligt vid hos mellan genom utan inom mot trots därför eftersom medan sedan vad
    vem vilka vilken vilket hur varför det den de detta denna dessa denne dessutom vidare däremot dels
    åter ifall huruvida annars således han hon vi ni jag du man ingen inget inga alla allt varje någon
    något några sådan sådant sådana samma samtliga följande båda bägge dess deras hans hennes vårt vår
    våra annan annat andra övriga motsvarande ytterligare nu sist ovan nedan utöver utom bland längs
    inte ej icke bara endast endera ibland ofta normalt vanligtvis"""
)
"""Words that cannot open the subject of a question: prepositions, pointers, adverbs, conjunctions."""

POINTERS = (
    r"\b(?:denna|detta|dessa|denne|dennes|sådan|sådant|sådana|dylik\w*|härvid|härav|härom|häri|"
    r"härigenom|därvid|"
    r"därtill|därefter|därom|därav|därför|därmed|däremot|däri|därpå|därigenom|därutöver|därvidlag|dit|"
    r"dess|deras|densamma|densammas|detsamma|desamma|samma|ovan\w*|nedan\w*|följande|nämnda|"
    r"nämnde|nämnts|angiven|angivna|angivet|"
    r"sagts|sagda|sägs|ifrågavarande|vederbörande|respektive|"
    r"första|andra|annan|annat|annans|tredje|stycket|punkt|punkten|punkterna|meningen|"
    r"paragraf\w*|kap|bilaga\w*|"
    r"artikel\w*|avsnitt\w*|också|även|dock|emellertid|vidare|dessutom|därjämte|jämväl|likaså|motsvarande|"
    r"övrig\w*|ytterligare|aktuell\w*|berörd\w*|annars|eljest|han|hon|honom|henne|hans|hennes|dem|vi|vår\w*|"
    r"förstnämnd\w*|sistnämnd\w*|dessförinnan|dittills|nytt|ny|kommande|tidigare|"
    r"ikraftträdandet|i kraft)\b|§|\d{4}:\d|\bmom\b|som avses|avses i"
)
"""Words that point outside the question, so that nobody could answer it without the page."""

ANSWER_POINTERS = (
    r"\b(?:dessa|detta|nämnda|sagda|ovan|nedan|dessutom|också|emellertid|vidare|likaså|i övrigt|"
    r"den förra|den senare|för samma tid|nyssnämnda|jämväl)\b(?! (?:tillkännagivande|avtal|beslut))"
)
"""Words that tie a sentence to the one before it, so that it is no answer alone."""

PRONOUN = (
    r"\b[Dd]e[nt]?(?=\?| enligt\b| i lagen)|\b[Dd]e[nt]? (?!som\b|som,|\d|[a-zåäö]+(?:[ae]|st|"
    r"erst) [a-zåäö])|\b[Dd]e[nt]? (?:ska|inte|icke|anse|ha|vara) "
)
"""«den», «det» and «de» on their own; before an adjective, a number or «som» they are articles."""

CONTEXTUAL = words(
    """beslutet besluten ansökan ansökningen ansökningarna ärendet ärenden ärendena anmälan anmälningen
    skrivelsen handlingen handlingarna uppgiften uppgifterna föreläggandet tillståndet överklagandet
    frågan frågor valet talan yttrandet avtalet rapporten redovisningen bestämmelserna bestämmelsen
    stödet medlen beloppet personen fastigheten egendomen varan fartyget tiden dagen ersättaren
    protokollet domen gärningen åtgärden åtgärderna medgivandet skyldigheten rätten kravet kraven
    villkoren undersökningen utredningen skadan listan kopian avgiften ersättningen bidraget straffet
    påföljden arbetet tjänsten uppdraget verksamheten försäljningen meddelandet underrättelsen
    förbudet vitet redogörelsen planen utbildningen uppgift beslut bidrag besvär sammanträdet styckena
    artikeln försändelsen inkomsten medlemmen ledamoten tjänster övriga ärende fråga kostnaderna
    kostnaden framställningen kvoten"""
)
"""Nouns that alone never say which one is meant."""

GENERIC_BODIES = words(
    """myndigheten nämnden styrelsen verket institutet rådet kommunen regionen domstolen rätten
    länsstyrelsen kommittén fonden bolaget samfundet anstalten"""
)
"""Bodies that are an answer only to someone who knows which one is meant."""

AGENT_NOUNS = (
    r"(?:Regeringen|Riksdagen|Länsstyrelsen|Generaldirektören|Riksåklagaren|Justitiekanslern|Kommunen|"
    r"Kommunfullmäktige|Domkapitlet|Konungen|Åklagaren|Allmän \w+domstol|Allmän domstol|"
    r"[A-ZÅÄÖ][a-zåäö]{4,30}(?:myndigheten|verket|styrelsen|nämnden|domstolen|hovrätten|"
    r"inspektionen|kammaren|rådet|"
    r"ombudsmannen|kommittén|direktören|kassan|banken|vården|kontoret|fullmäktige|arkivet|"
    r"föreningen|chefen|museet|"
    r"institutet|samfundet|ägaren|havaren|givaren|tagaren|ledaren))(?: för [a-zåäö]+(?:(?: och|"
    r",)? [a-zåäö]+)?)?"
)
"""Who can answer "Vem …?": a body or office with a name of its own, never just «myndigheten»."""
