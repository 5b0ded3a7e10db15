"""Swedish: word classes, conventions of writing and the wording of questions. Data only."""

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
    januari, februari, mars, april, maj, juni, juli, augusti, september, oktober, november, december""")
_DATE = rf"(?:(?:den |år |under |i )?(?:\d{{1,2}} )?(?:{_MONTH} )?{YEAR})"
_QUANTITY = any_of("""
    antalet, avgiften, avståndet, bredden, djupet, effekten, fristen, gränsen, hastigheten, höjden, kostnaden,
    längden, maximum, minimum, priset, räntan, standardvärdet, storleken, takten, temperaturen, tiden,
    trycket, vikten, volymen, åldern, ytan, åldersgränsen""")
_DOES = any_of("""
    aktiverar, anger, avaktiverar, avgör, beräknar, beskriver, bestämmer, erbjuder, flyttar, gör, hanterar,
    hämtar, innehåller, installerar, kontrollerar, låter, lägger, läser, lagrar, omvandlar, returnerar,
    sätter, skapar, skickar, skriver, skyddar, startar, styr, tar, tillåter, visar, ändrar, öppnar, ger,
    förhindrar, definierar""")
_VERBS = words("""
    hålla klicka låta sätta trycka gå bläddra aktivera ange anpassa ansluta använda arbeta avbryta
    avinstallera avsluta begränsa beskära byta dela dra dölja exportera fixa flytta formatera fylla fästa få
    förbättra förhandsgranska förhindra förstora förminska göra hantera hitta hämta importera infoga
    inaktivera installera justera klippa klistra konfigurera kontrollera konvertera koppla kopiera köra ladda
    logga lyssna låsa lägga länka läsa lösa markera minska montera måla omvandla ordna packa redigera
    registrera rensa rita rotera räkna sammanfoga skala skanna skapa skicka skilja skriva skydda sluta slå
    snabba sortera spara spela spärra stanna starta ställa stänga stoppa söka ta testa tillämpa uppdatera
    utföra visa välja växla återställa ändra öka öppna översätta""")
_FORMS = {form: verb for verb in _VERBS for form in (verb, verb.removesuffix("a"))}
_VERB, _INFINITIVE = "|".join(sorted(_FORMS)), "|".join(sorted(_VERBS))
_CLAUSE = r"(?:(?! (?:så|skall|kommer) )[^,;:()?!]){8,120}"
_THEN = r"(?:, så|,| så(?= (?:kan|ska|skall|måste|får|bör|har|blir|kommer|visas|går|behöver|finns|gäller)\b))"
_RULES = r"(?:må|äger|skola|böra|ska|skall|får|måste|bör|gäller|döms|har|är|kan|behöver|krävs)"
_MAIN = r"(?!(?:eller|och|men|som|att|där|vilket|till|om|när|för|i|på|samt|det vill)\b|[\w-]+(?:,| eller | och ))[a-zåäö]{2,} .{10,}"
_COUNT = any_of("två, tre, fyra, fem, sex, sju, åtta, nio, tio, tolv, fjorton, trettio")
_COUNTED = rf"(?:{_COUNT}|\d[\d ,.]*)"
_MODAL = "ska|skall|får|kan|måste|bör|behöver"
_AUXILIARY = rf"(?P<be>{_MODAL}|är|har|blir|var)(?P<not>(?: inte)?)"
_YOU = rf"(?:så )?(?:{_VERB}|(?:{_MODAL}) (?:du|man) (?!ha\b|vara\b|få\b|bli\b|höra\b|se\b|uppleva\b))"
_DEFINITE = r"(?:[a-zåäö-]{2,}(?:en|et|na|n|t)|det|den|man|du|någon|något|de)"
_HOLDS = rf"(?:{_DEFINITE}|[a-zåäö-]{{3,}}) (?:inte )?(?:är|har|kan|ska|får|måste|finns|blir|inte|vill|[a-zåäö]{{2,}}(?:ar|er|år|as|es|ds|ns|ts))\b"
_BODY = (
    r"(?:(?:Den|Det) )?(?:(?!(?:av|från|på|vid|i|om|efter|för|till|med|inom|hos|enligt|över|mot|genom|under|att)\b)[\w-]+ ){0,3}?"
    r"[\w-]*(?i:myndigheten|nämnden|styrelsen|domstolen|regeringen|direktören|chefen|kommunen|(?<!nät)(?<!ram)(?<!gel)verket|"
    r"inspektionen|(?<!om)rådet|(?:s|verks)ledningen|utskottet|föreningen|\b(?:tings|hov|kammar)?rätten|regionen|riksdagen|"
    r"delegationen|kommittén|byrån|institutet|(?:riks|s)banken|stämman|ordföranden)"
)
_PERSON = (
    r"(?:(?:En|Ett|Den|Det|Varje) (?:[a-zåäö-]+ )?)?[\w-]*(?i:(?:ägar|givar|tagar|havar|sökand|förvaltar|förar|köpar|säljar|"
    r"hyresgäst|hyresvärd|mäklar|ledar|innehavar|tillverkar|lärar|användar|utvecklar|administratör|deltagar|entreprenör|konsument|"
    r"näringsidkar|föräldr|förmyndar|domar|åklagar|borgenär|gäldenär|revisor|ordförand|ledamot|sekreterar|chef|direktör)"
    r"(?:e|en|n|arna|na|erna|a|ar)?|mannen|männen|fullmäktig|medlem(?:men)?|part(?:en)?)"
)
_DUTIES = rf"(?:{_MODAL}|skola|har rätt att|har skyldighet att|är skyldig(?:a)? att|är ansvarig för|ansvarar för|svarar för)"
_ACTS = any_of("""
    ange, anmäla, ansvara, avge, avgöra, bedöma, behandla, besluta, betala, bistå, bidra, dokumentera, erbjuda, ersätta,
    fastställa, främja, fullgöra, ge, genomföra, göra, informera, inhämta, kontrollera, lämna, meddela, pröva,
    redovisa, registrera, rapportera, samråda, samverka, se till, skicka, säkerställa, ta, tillhandahålla, underrätta,
    upprätta, utföra, verka, vidta, visa, välja, öppna""")
_PHRASE = rf"(?!att\b|den\b|det\b|de\b|detta|dessa|vissa|dag\b|övrigt|närvarande|nästkommande|slut|början|praktiken|regel)(?:(?! (?:som|att|är|har|om|när|{_MODAL}) )[^,;:()]){{5,90}}?"
_PLACE = rf"(?P<when>I|På|Under|Vid|Från|Inom|Hos|Med|Genom|Till|För) (?P<rest>{_PHRASE})"
_PRESENT = any_of("""
    finns, ingår, hör, visas, anges, listas, lagras, sparas, krävs, behövs, ligger, står, används, räknas, upprättas, skrivs, förs,
    bör, avses, redovisas, registreras, samlas, placeras, hanteras, installeras, innehålls, nås""")
_PASSIVE = r"[a-zåäö]{2,}(?<!finn)(?<!ens)(?<!et)(?<!en)(?<!rna)(?<!er)s"
_DECIDES = (
    r"(?:prövar|beslutar om|beslutar i|ansvarar för|svarar för|leder|utser|utövar|meddelar|fastställer|handlägger|förordnar|anställer|"
    r"avgör|sänder|bestämmer|företräder|underrättar|registrerar|kontrollerar|övervakar|samordnar|tillhandahåller|bereder|"
    r"är (?:central|ansvarig|behörig|tillsyns|förvaltnings|registrerings)\w*(?: \w+)? (?:för|i)\b)"
)
_OBJECT_OF = any_of("""
    verka för, svara för, ansvara för, besluta om, bestå av, bidra till, främja, innehålla, omfatta, ange, redovisa,
    samordna, tillhandahålla, säkerställa, upprätta, bedriva, betala, ersätta, ansöka om, medge, pröva,
    sträva efter, följa, fastställa, avse, bistå med, meddela, föreskriva, visa, bekosta, utföra, använda""")

WORDING = Phrases(
    quotes=("”", "”"),
    source="enligt {title}",
    laws=(
        (re.compile(r"Kungörelse(?: \([\d: ]+\))? ((?:om|med|angående|för) [^()]{3,90})"), r"enligt kungörelsen \1"),
        (re.compile(r"(?:Lag|lag)(?: \([\d: ]+\))? ((?:om|med|angående|mot|för) .{3,90})"), r"enligt lagen \1"),
        (re.compile(r"Förordning(?: \([\d: ]+\))? ((?:om|med|angående|för) .{3,90})"), r"enligt förordningen \1"),
        (re.compile(r"([A-ZÅÄÖ][a-zåäö]+)(lag|förordning|balk)(?: \([\d: ]+\))?"), r"enligt_\1\2en"),
        (re.compile(r"([A-ZÅÄÖ][a-zåäö]+kungörelse)(?: \([\d: ]+\))?"), r"enligt_\1n"),
    ),
    key_value="Vad anges under {key} för {place}?",
    term="vad är {key}[ {source}]?",
    action="vad gör {key}[ {source}]?",
    acts=re.compile(rf"(?:{_DOES}|(?:{_INFINITIVE})r|använder|vänder|ignorerar|undertrycker|bevarar|tvingar|följer|behandlar|ersätter)\b", re.IGNORECASE),
    instructions="hur gör man[ {source}] för att {goal}?",
    placed="{question}[ {source}]?",
    how_to=re.compile(r"(?:Att )?(?P<goal>[A-ZÅÄÖ]?[a-zåäö]+ [^:?!.;,()]{3,80})"),
    clauses=("Artikel",),
    infinitives=_FORMS,
    references=re.compile(r"(?i:se även|se också|referenser|källor|litteratur|länkar|relaterade .*)"),
    statements=(
        states(rf"Om (?:du|man) (?:vill|önskar) (?=[a-zåäö]+a |få |gå |se |ge |ta )(?P<goal>(?:(?! (?:så|kan|ska|måste) )[^,;:()]){{5,90}}){_THEN}? {_YOU}\b.*",
            "hur gör man[ {source}] för att {goal}?", "procedure"),
        states(rf"(?P<when>Om|När) (?!du vill\b)(?P<condition>{_CLAUSE}){_THEN} kan (?:du|man)\b(?!.*\b(?:inte|ej|bara)\b).*",
            "vad kan man göra[ {source}] {when} {condition}?", "procedure"),
        states(rf"(?P<when>Om|När) (?!du vill\b)(?P<condition>{_CLAUSE}){_THEN} (?!kan ){_YOU}\b(?! inte\b).*",
            "vad gör du[ {source}] {when} {condition}?", "procedure"),
        states(r"(?P<when>Om|När) (?P<condition>du [^,;:()]{8,100}?) kan du\b(?!.*\b(?:inte|ej|bara)\b).*",
            "vad kan man göra[ {source}] {when} {condition}?", "procedure"),
        states(r"(?P<when>Om|När) (?P<condition>du [^,;:()]{8,100}?) (?:måste|ska|behöver|bör) du\b.*",
            "vad gör du[ {source}] {when} {condition}?", "procedure"),
        states(rf"(?P<when>Om|När|Ifall) (?P<condition>{_CLAUSE}){_THEN} (?={_RULES}\b){_MAIN}",
            "vad gäller[ {source}] {when} {condition}?", "reasoning"),
        states(rf"(?P<when>Om|När|Ifall) (?!du vill\b)(?P<condition>{_CLAUSE}){_THEN} (?=[a-zåäö]+(?:r|s|de|te|blev|gick)\b)(?!(?:kan|har) (?:du|man)\b|blir du\b){_MAIN}",
            "vad händer[ {source}] {when} {condition}?", "reasoning"),
        states(rf"(?P<when>Om|När|Ifall) (?!du vill\b)(?P<condition>{_CLAUSE}){_THEN} (?!(?:så )?kan |(?:blir|har) du\b){_MAIN}",
            "vad gör du[ {source}] {when} {condition}?", "procedure"),
        states(
            r"Om (?P<condition>[^,;:()]{8,100} (?:[a-zåäö]{2,}(?:r|s|t|ts|de|des|it|its)|nytt|kraft|annat|skäl|fall|avtal))"
            r" (?:ska|skall|får|måste|bör|gäller|döms|kan|kommer) .{12,}",
            "vad gäller[ {source}] om {condition}?", "reasoning"),
        states(
            rf"Den som (?P<condition>{CLAUSE}?),? (?:döms|ska|skall|får|måste|bör|är (?:skyldig|ansvarig|berättigad|fri|behörig)|har rätt|ansvarar|svarar|omfattas) .{{8,}}",
            "vad gäller[ {source}] för den som {condition}?", "reasoning"),
        states(
            rf"(?P<when>(?!Den|Det|De|Han|Hon|Allt|Alla|Vissa)[A-ZÅÄÖ][a-zåäö]{{3,}}) (?P<condition>som (?!anges|avses|sägs|.*\bvilk)[^,;:()]{{10,80}}?),? "
            rf"(?:{_MODAL}|är skyldig|har rätt) (?:inte |ej )?(?!vara\b|ha\b).{{8,}}",
            "vad gäller[ {source}] för {when} {condition}?", "reasoning"),
        states(
            rf"(?P<when>En|Ett|Varje) (?P<condition>[a-zåäö-]+ som [^,;:()]{{5,80}}?),? (?:{_MODAL}|är skyldig|är ansvarig|har rätt) (?!vara|ha\b).{{12,}}",
            "vad gäller[ {source}] för {when} {condition}?", "reasoning"),
        states(
            rf"För att (?P<goal>(?:(?! (?:kan|måste|ska|behöver|[a-zåäö]+r (?:du|man))\b)[^,;:()]){{5,100}}),? (?:(?:{_VERB})\b|(?:kan|måste|ska|behöver|[a-zåäö]+r) (?:du|man)\b).*",
            "hur gör man[ {source}] för att {goal}?", "procedure"),
        states(rf"(?i:{_VERB}) (?!den |det |dem )[^;:()]{{3,120}}? för att (?P<goal>(?:{_INFINITIVE}) (?!.*eller (?:tryck|klicka|Avbryt|välj))[^,;:()]{{4,80}})\.",
            "hur gör man[ {source}] för att {goal}?", "procedure"),
        states(
            r"(?:Du|Man) kan (?:också |även )?(?P<goal>[a-zåäö]+ [^,;:()]{4,80}?),? (?:genom att|med hjälp av|via) .{6,}",
            "hur kan man {goal}[ {source}]?", "procedure"),
        states(rf"{SUBJECT} {_AUXILIARY} (?P<rest>[^;:()]{{3,110}}?),? eftersom .{{8,}}",
            "varför {be} {subject}{not} {rest}[ {source}]?", "reasoning"),
        states(
            rf"(?:År |I |Sedan )?(?:(?:början|slutet) av )?(?:{_MONTH} )?{YEAR} (?P<verb>[a-zåäö]+(?:de|te|des|tes|dde|blev|kom|fick)) "
            r"(?P<rest>[^,;:()]{8,90})(?:\.|,? (?:och|men|som|när|av) .+)", "när {verb} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>{_MODAL}) (?P<rest>(?=[^,;:()]*?[a-zåäö][aås]\b[^,;:()]*? inom )[^,;:()]{{2,80}}?) inom {_COUNTED} "
            r"(?P<unit>dagar|veckor|månader|år|timmar|minuter|arbetsdagar)\b.*",
            "inom hur många {unit} {be} {subject} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>{_MODAL}) (?P<rest>[^,;:()]{{2,80}}?[a-zåäö][aås]) (?:senast|före) (?:den )?\d.*",
            "när {be} {subject} senast {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>{_MODAL}) (?P<rest>[^,;:()]{{2,50}}?)(?<! med)(?<! till)(?<! på) (?P<bound>högst|minst) {_COUNTED} "
            r"(?P<unit>(?:andra )?[a-zåäö]+(?:ar|er|or|år|n|dagar))(?P<tail>(?: [^,;:()]{2,60})?)\.",
            "hur många {unit} {be} {subject} {bound} {rest}{tail}[ {source}]?"),
        states(
            rf"{SUBJECT} består av (?:högst |minst )?{_COUNTED} (?P<unit>(?:andra )?[a-zåäö]+(?:ar|er|or|n))\b.*",
            "hur många {unit} består {subject} av[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>{_MODAL}) (?P<rest>(?:i|vid|för|efter|under|inom|utan) (?!att\b)[^,;:()]{{8,80}}?) (?P<done>{_ACTS}) .{{12,}}",
            "vad {be} {subject} göra {rest}[ {source}]?"),
        states(
            rf"(?:{_BODY}|{_PERSON}) (?P<rest>{_DUTIES} (?:inte |ej )?(?!vara\b|ha\b|bli\b|kunna\b|heller\b|därför|sedan|dessutom|alltid)[a-zåäö]+ [^;:()]{{15,120}})\.", "vem {rest}[ {source}]?",
            score=0.75),
        states(rf"(?:{_BODY}|{_PERSON}) (?P<rest>{_DECIDES} [^;:()]{{8,150}})\.", "vem {rest}[ {source}]?"),
        states(
            rf"(?P<when>Frågor|Fråga|Ärenden|Ärende|Tvister|Tvist|Ansökan|Ansökningar|Beslut) (?P<condition>(?:om|rörande) [^,;:()]{{8,110}}?) "
            rf"(?P<verb>{_PASSIVE}) av (?i:{_BODY})(?P<tail>(?: (?!och|eller|som)[^,;:()]{{4,60}})?)\.",
            "av vem {verb} {when} {condition}{tail}[ {source}]?"),
        states(
            r"I [^,;:]*(?i:lagen|förordningen|balken)\b[^,;:]* finns (?:det )?(?:särskilda )?(?P<when>bestämmelser) (?P<condition>om [^;:()]{8,120})\.",
            "var finns {when} {condition}[ {source}]?"),
        states(
            rf"(?P<when>Vid|För|I fråga om|Efter|Under|Utan|Mot|Inom|Hos|I) (?P<rest>{_PHRASE}) "
            rf"(?P<be>{_MODAL}) (?P<done>(?:det )?(?:finnas|anges|ingå|upprättas|föras|lämnas)) .{{8,}}",
            "vad {be} {done} {when} {rest}[ {source}]?"),
        states(
            rf"(?P<when>Vid|För|I fråga om|Efter|Under|Utan|Mot|Inom|Hos) (?P<condition>(?:{_PHRASE}|[^,;:()]{{4,60}} som (?!anges|avses|sägs)[^,;:()]{{4,60}}?)) "
            r"(?:ska|skall|får|kan|måste|bör|gäller|tillämpas) (?!du\b|man\b|finnas|det finnas).{12,}",
            "vad gäller[ {source}] {when} {condition}?", "reasoning"),
        states(
            rf"{_PLACE} kan (?:du|man) (?P<tail>[a-zåäö]+ .{{10,}})\.", "vad kan man göra {when} {rest}[ {source}]?", score=0.7),
        states(rf"{_PLACE} (?P<verb>{_PRESENT}) (?!inte|ej|du|man|jag|vi|hon|han|det|den|de\b).{{10,}}", "vad {verb} {when} {rest}[ {source}]?", score=0.7),
        states(
            rf"{SUBJECT} (?P<verb>[a-zåäö]{{4,}}s) av (?i:{_BODY})\b.*", "av vem {verb} {subject}[ {source}]?"),
        states(
            rf"(?P<subject>Du|Ni|Man|[A-ZÅÄÖ][^,;:.()]{{3,50}}?) har rätt till (?:högst |minst )?{_COUNTED} (?P<unit>[a-zåäö]+)(?P<tail>(?: (?:per|om|under) [^,;:()]{{2,40}})?)\.",
            "hur många {unit} har {subject} rätt till{tail}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>{_MODAL}) (?P<rest>[a-zåäö]+s) (?:i|under) (?:högst |minst )?(?:en|ett|{_COUNTED}) (?:år|månad|veck|dag|timm|minut)\w*\b.*",
            "hur länge {be} {subject} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<verb>[a-zåäö]{{3,}}[rs]) (?P<rest>(?:[^,;:()]{{2,60}} )??)senast (?:den )?\d.*", "senast när {verb} {subject} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<verb>{_PASSIVE}|infaller|öppnar|stänger|börjar|slutar) (?P<rest>(?:[^,;:()]{{2,60}} )??)(?:den \d|klockan \d|kl\. \d|varje (?:år|månad|vecka|dag)).*",
            "när {verb} {subject} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<verb>gäller|löper|varar|pågår|hålls öppen) (?:under|i) (?:högst |minst )?(?:en|ett|{_COUNTED}) .*",
            "hur länge {verb} {subject}[ {source}]?"),
        states(rf"{SUBJECT} (?P<verb>höjs|sänks|ökas|minskas|betalas|utgår) med {NUMBER}[^,;:()]{{2,20}}?(?P<tail> (?:för|per) [^,;:()]{{4,80}})?\.",
            "med hur mycket {verb} {subject}{tail}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>ska|skall|får|kan|måste) (?P<rest>[a-zåäö]+s) (?:skriftligen|skriftligt|elektroniskt|"
            r"muntligen|digitalt|genom|via|med hjälp av)\b.*", "hur {be} {subject} {rest}[ {source}]?"),
        states(rf"{SUBJECT} (?P<be>{_MODAL}) (?P<rest>[a-zåäö]+s) av (?i:{_BODY})\b.*", "av vem {be} {subject} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} {_AUXILIARY} (?P<rest>(?:(?<!är )|(?!en |ett |den |det ))(?!också)(?:(?! som | — )[^,;:()]){{2,100}}?)(?<!detektera)(?<!veta)(?<!avgöra)(?<!bestämma)(?<!ange)(?<!visa)(?<!kunskap)(?<!information)(?<!uppgifter)(?<!uppgift)(?<!råd)(?<!föreskrifter)(?<!beslut),?(?: endast| bara| redan| först)? (?:när|sedan|innan|förrän|så länge|så snart|om {_HOLDS}|i (?:de|sådana) fall)"
            r" .{8,}", "när {be} {subject}{not} {rest}[ {source}]?", "reasoning"),
        states(
            rf"(?P<verb>[A-ZÅÄÖ][a-zåäö]*(?:r|s|Är|Ska|Skall)) (?P<tail>(?:en|ett) [a-zåäö-]+|någon|"
            r"[a-zåäö-]{3,}(?:en|et|na|an|n))(?P<not>(?: (?:inte|ej|icke|redan|skriftligen|tidigare|ännu))*) (?P<condition>[^,;:()]{4,100}), "
            rf"(?={_RULES}\b){_MAIN}", "vad gäller[ {source}] om {tail}{not} {verb} {condition}?", "reasoning"),
        states(
            rf"(?P<verb>[A-ZÅÄÖ][a-zåäö]*[rs])(?P<not> inte| ej| icke) (?P<tail>(?:en|ett) [a-zåäö-]+|någon|[a-zåäö-]{{3,}}(?:en|et|na|an|n)) "
            rf"(?P<condition>[^,;:()]{{4,100}}?),? (?={_RULES}\b){_MAIN}", "vad gäller[ {source}] om {tail}{not} {verb} {condition}?",
            "reasoning"),
        states(
            r"(?:Kommandot|Programmet|Verktyget|Alternativet|Fönstret|Läget|Filtret|Fältet) [\w<>.”-]{2,40} (?P<rest>"
            rf"{_DOES} [^,;:()]{{15,110}})\.", "vad {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<verb>har|är) (?P<prep>rätt till|tillgång till|ansvar för|rätt att (?!vara|ha)[a-zåäö]+a|beroende av|avsedd för|"
            r"avsett för|avsedda för|skyldig att [a-zåäö]+a|berättigad till|ansvarig för|ansvariga för|indelad i|indelat i) "
            rf"{REST}", "vad {verb} {subject} {prep}[ {source}]?"),
        states(rf"Med (?P<subject>[^,;:()]{{3,60}}?) (?:avses|förstås|menas)(?: i denna \w+)? {REST}",
            "vad avses med {subject}[ {source}]?", score=0.9),
        states(
            rf"{SUBJECT} är (?:också |även |alltså |helt enkelt )?(?P<rest>(?:en|ett|den|det|de) {REST})",
            "vad är {subject}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>får|kan|ska|skall) (?P<rest>överklagas|lämnas|lämnas in|ges in|anmälas|skickas|ställas|betalas|insändas|hänskjutas|redovisas|överlämnas|göras) "
            r"(?P<prep>hos|till) (?!följd|exempel).{6,}", "{prep} vem {be} {subject} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<verb>gäller|upphör|börjar|sker|fungerar|visas|används|krävs|behövs|betalas|beviljas|lämnas|avgörs|"
            r"utgår|tillämpas|prövas|startar|öppnas|aktiveras|uppstår|inträffar|löper) (?P<rest>(?:[^,;:()]{1,60} )??)(?:när|sedan|"
            rf"innan|förrän|så länge|så snart|om {_HOLDS}) .{{8,}}", "när {verb} {subject} {rest}[ {source}]?", "reasoning"),
        states(rf"{SUBJECT} (?P<verb>kallas|förkortas) .{{4,}}", "vad {verb} {subject}[ {source}]?"),
        states(rf"Det finns (?P<rest>{_COUNTED} (?:olika )?[a-zåäö]+(?:ar|er|or|n)(?: [^,;:()]{{3,40}})?): .{{10,}}",
            "vilka {rest} finns[ {source}]?"),
        states(
            r"(?P<when>Standardvärdet|Syftet|Skillnaden|Fördelen|Nackdelen|Avgiften|Storleken|Antalet|Målet|Namnet|Uppgiften|Rollen|"
            r"Betydelsen) (?P<rest>(?:för|av|på|mellan|med|hos) [^,;:()]{3,60}?) är (?!inte|också|därför).{6,}",
            "vad är {when} {rest}[ {source}]?"),
        states(
            rf"{SUBJECT} är (?P<rest>[a-zåäö]+(?:ningen|ionen|teten|heten|processen|namnet|formatet|språket|programmet|systemet|ordet|ar|or|er) "
            rf"(?:som|för|av|då|där|i|på|till|mellan|med) {REST})", "vad är {subject}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<verb>{_PASSIVE}|sker) (?P<rest>(?:[^,;:()]{{1,50}} )??)(?:genom|med hjälp av|via|skriftligen|muntligen) .{{6,}}",
            "hur {verb} {subject} {rest}[ {source}]?", score=0.7),
        states(
            rf"{SUBJECT} (?P<verb>{_PASSIVE}) (?P<rest>(?:[^,;:()]{{1,60}} )??)(?:när|sedan|innan|förrän|så länge|så snart|om {_HOLDS}) .{{8,}}",
            "när {verb} {subject} {rest}[ {source}]?", "reasoning"),
        states(rf"{SUBJECT} använder (?P<rest>(?!sig\b|inte\b)[^,;:()]{{4,60}}?) (?:för att|till) .{{8,}}", "vad använder {subject} {rest} till[ {source}]?"),
        states(rf"{SUBJECT} gör (?:att|det möjligt|så att) {REST}", "vad gör {subject}[ {source}]?", score=0.7),
        states(rf"{SUBJECT} betyder {REST}", "vad betyder {subject}[ {source}]?"),
        states(rf"{SUBJECT} innebär {REST}", "vad innebär {subject}[ {source}]?"),
        states(rf"{SUBJECT} står för {REST}", "vad står {subject} för?"),
        states(rf"{SUBJECT} används (?:för|till|som|när) {REST}", "vad används {subject} till[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<verb>ansvarar|svarar|består|handlar|beror|skyddar|kännetecknas|styrs|orsakas|påverkas|skyddas|bildas|drivs|"
            r"leder|hör|syftar|bygger|grundas|baseras|omfattas|regleras|framgår|räknas|betraktas|delas in|"
            rf"utgörs|rör sig) (?P<prep>för|av|om|på|mot|till|i|som|från|vid) {REST}",
            "vad {verb} {subject} {prep}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<verb>innehåller|omfattar|kräver|stöder|medför|avser|erbjuder|förutsätter|motsvarar) (?!inte){REST}",
            "vad {verb} {subject}[ {source}]?"),
        states(rf"{SUBJECT} (?P<verb>väger|kostar) {NUMBER} .*", "hur mycket {verb} {subject}[ {source}]?"),
        states(rf"{SUBJECT} uppgår till {NUMBER}.*", "vad uppgår {subject} till[ {source}]?"),
        states(
            rf"(?!\S+ kan ){SUBJECT} kan (?P<tail>(?!innehålla|användas|behöva|inte|ej|också|bara|vara|ha|bli|även|få)[a-zåäö]+[aå] {REST})",
            "vad kan {subject} göra[ {source}]?", score=0.65),
        states(
            rf"(?P<subject>(?:(?:Den|Det) [\w-]+ )?(?i:{_QUANTITY})(?: (?:för|av|på|i) [^,;:()]{{3,50}}?)?) "
            rf"är {NUMBER}.*", "vad är {subject}[ {source}]?"),
        states(rf"{SUBJECT} (?P<verb>träder|trädde|upphör|upphörde|togs|tas|[a-zåäö]{{3,}}[dt]es) "
            rf"(?P<middle>(?:[^\s,;:()]{{1,20}} ){{0,3}}?){_DATE}.*", "när {verb} {subject} {middle}[ {source}]?"),
        states(
            rf"{SUBJECT} (?P<be>ska|skall|får|måste|bör)(?P<not>(?: inte)?) (?:också |även |särskilt )?"
            rf"(?P<rest>{_OBJECT_OF}|(?!högsta|lägsta|största|minsta|första|sista|vara|ha|kunna|bli|göra|komma|låta|gälla|iaktta|ta|gå|stå)[a-zåäö]{{3,}}a) (?<!underrätta )(?<!informera )(?<!höra )(?<!kalla )(?<!utse )(?<!bistå )(?<!biträda )(?<!anmäla )(?!de (?:närmare|ytterligare) föreskrifter|att\b|till\b|i\b|på\b|om\b|"
            rf"med\b|från\b|för\b|av\b|sig\b|hos\b|vid\b|över\b|under\b|efter\b|upp\b|in\b|ut\b|inte\b|som\b|ner\b|ned\b|fram\b|bort\b|tillbaka\b|kvar\b|ihop\b){REST}",
            "vad {be} {subject}{not} {rest}[ {source}]?", score=0.7),
        states(
            rf"{SUBJECT} (?P<verb>{_PASSIVE}) (?P<prep>på|mot|ur) (?!grund|begäran|det sätt|nytt|plats|så sätt|sådant|något|samma){REST}",
            "vad {verb} {subject} {prep}[ {source}]?", score=0.7),
        states(
            r"(?P<subject>(?:(?!(?:ska|skall|får|bör|måste) )[^\s,;:()]+ ){2,6}?[^\s,;:()]+) (?:ska|skall|får|bör|måste) (?:inte |ej |endast |alltid )?[a-zåäö]+s\b .{10,}",
            "vad gäller[ {source}] för {subject}?", "reasoning", score=0.6),
        states(
            rf"(?!\S+ [a-zåäö]+r\b){SUBJECT} (?P<verb>{_DOES}|använder|påverkar|returnerar|möjliggör|utför|utser|orsakar|hindrar|behandlar|samlar|stödjer|ersätter|reglerar) (?!att\b|sig\b|"
            rf"ut\b|in\b|upp\b|av\b|om\b|till\b|i\b|på\b|för\b|med\b|dig\b|inte\b){REST}", "vad {verb} {subject}[ {source}]?", score=0.6),
    ),
    leads=(
        states(r"(?:Så här gör du )?(?i:för att) (?P<goal>[^,;:()]{5,90})(?:, .{3,80})?", "hur gör man[ {source}] för att {goal}?",
            "procedure"),
        states(rf"{SUBJECT} (?P<be>ska|skall|får|måste|bör)(?: särskilt| också| även)? (?P<rest>{_OBJECT_OF})(?: följande| uppgift om| uppgifter om)?",
            "vad {be} {subject} {rest}[ {source}]?"),
        states(rf"{SUBJECT} (?P<verb>innehåller|omfattar|kräver|stöder|erbjuder)(?: följande(?: \w+)?)?",
            "vad {verb} {subject}[ {source}]?"),
        states(rf"{SUBJECT} består av(?: följande(?: \w+)?)?", "vad består {subject} av[ {source}]?"),
        states(r"Följande (?P<rest>[^,;:()]{3,60} (?:är|kan|får|ska|finns|gäller|krävs|behövs)\b[^,;:()]{0,60})",
            "vilka {rest}[ {source}]?"),
    ),
    attributes=(
        attribute(r"\d+ (?:sekund|minut|timm|dag|veck|månad|år)", "hur lång är {key} {of} {subject}?",
            "{key} {of} {subject} är {value}.", key=".*(?:tid|frist|period|garanti)"),
        attribute(r"\d", "vad är {key} {of} {subject}?", "{key} {of} {subject} är {value}."),
        attribute(r"\S", "vad är {key} {of} {subject}?", "{key} {of} {subject} är {value}."),
    ),
    definite_forms={
        **dict.fromkeys(
            words("""ning het tion tid skatt lön uppsägningstid avgift kostnad nivå vikt längd bredd höjd mängd frist ränta port effekt spänning
                frekvens hastighet storlek volym yta temperatur adress plats ort gräns summa form typ kod"""), "{}en"),
        **dict.fromkeys(words("ränta yta summa gata hyra garanti"), "{}n"),
        **dict.fromkeys(words("pris belopp antal tryck djup avstånd format språk mått mål krav namn"), "{}et"),
        "nummer": "{}t", "datum": "{}et", "vikt": "{}en",
    },
    relations=("för", "för"),
    plural=re.compile(r"(?:ar|er|or|arna|erna|orna)$"),
    kinds=re.compile(r"(?i:,? (?:datablad|handbok|manual|anvisning|dokumentation|översikt|specifikation))$"),
    common=re.compile(r".*"),
    indefinite=words("en ett"),
    definite=words("den det de"),
    empty=words("""
        allmänt anmärkning anmärkningar avsnitt bakgrund beskrivning bilaga definition definitioner
        detaljer egenskaper exempel fel fråga frågor funktioner förord information inledning innehåll
        inställningar inställning introduktion instruktioner kommentar krav källor mer nummer noter notera
        obs och om parametrar referens referenser resultat råd se sammanfattning status steg syfte syntax
        tabell tips titel typ version viktigt värde värden varning översikt övrigt även ämnen relaterade
        alternativ namn grunder tekniska data bestämmelser allmänna inledande särskilda
        övergångsbestämmelser kap ikraftträdande ikraftträdande- tillämpningsområde installation
        förklaring uttryck symbol ikon"""),
    manuals=words("""
        manual manualen handbok handboken guide guiden användarmanual dokumentation användarhandbok bruksanvisning
        faq snabbstart readme handledning anvisning"""),
    title_case=False,
    general=words("""
        vanliga frågor svar kapitel del hjälp webbplats webbplatsen terminologi ordlista kontakt index användare
        använda användning start startsida komma igång snabbguide begrepp konton allmänna villkor regler policy
        hur man nya version dokument fil filer system verktyg program första gången"""),
    metadata=words("""
        beskrivning syntax status språk version författare ändrad senast modul licens upphovsrätt nyckelord revision källa fil id datum
        uppdaterad utgåva departement utfärdad sfs utgivare kontakt e-post storlek redaktör översättare"""),
    superlative=re.compile(r"[a-zåäö]{3,}(?:aste|sta)"),
    leaning=words("""
        annars senare speciellt grovt därefter normalt naturligtvis numera tidigare ofta således tyvärr ursprungligen slutligen samtidigt kanske
        troligen egentligen endast alltid sällan exempelvis vanligtvis oftast ibland istället ingen ingenting alltså dels övriga den det de dem dess deras denna detta dessa han hon sin sitt sina sådan sådant sådana ovan nedan
        ovanstående följande föregående här där därför därmed dock också även andra annan annat jag mig min mitt mina vi vår
        vårt våra båda första förste sista samma nästa sedan så då men och eller dessutom vidare"""),
    pointing=words("följande nedan ovan ovanstående nedanstående föregående figur"),
    addressing=words("du dig din ditt dina man sig sin sitt sina"),
    dangling=re.compile(r"\b(?:honom|henne|se|här|avsnitt|avsnittet|kapitel|denna (?!lag|förordning|kungörelse|paragraf|balk)|dessa|detta|ovan\w*|nedan\w*|vi|oss|detta sätt|dessa fall|detta fall|gör (?:det|detta)|dessa [a-zåäö]+|den förra|den senare|detsamma|också|även|dock|därför|således|däremot|dessutom|likaså|nämligen|givetvis|naturligtvis|[hd]är(?:om|av|vid|till|för|på|å|utöver)|i övrigt|"
        r"densamma|dessförinnan|ifrågavarande|ikraftträdandet|äldre (?:bestämmelser|föreskrifter)(?:na)?|träder i kraft)\b|(?:\b(?:första|andra|tredje|fjärde) (?:stycket|styckena|punkten|meningen)|\d(?: ?[a-z](?:[-–][a-z])?)? §§?)"
        r"(?!(?: [\w§.-]+){0,6}? [a-zåäö]*(?:lag|förordning|balk|ordning|stadga|kungörelse|instruktion))|\bvälj \d\.$"),
    idle=words("var hade blev osäker vet säker nyfiken intresserad undrar redan jämför föredrar läser tvekan"),
    vague=words("""
        alternativet bilden bilderna bugg databasen dialogen dialogrutan fältet fälten filen filerna flaggan flaggorna fliken
        fönstret formuläret funktionen inställningen inställningarna katalogen knappen kommandot kolumnen layouten listan läget
        matchningen mappen menyn meddelandet namnet objektet objekten posten posterna processen programmet raden rutan
        segmentet segmenten sidan sidorna symbolen systemet tabellen taggarna testet texten texterna tjänsten uppgiften
        utmatningen verktygsfältet värdet värdena vyn åtgärden ändringarna"""),
    partial=re.compile(r"(?i:\bförst\b|en av följande)"),
    weak=words("""
        bra god gott enda bästa första sista samma problem bit standard fall enkel enkelt annan annat
        annorlunda viktig viktigt vanlig vanligt stor stort följande ytterligare ny nytt som att"""),
    abstract=words("""
        alternativ exempel fall fråga motsvarande detsamma följd idé lösning metod möjlighet nackdel fördel orsak problem regel
        resultat sak skillnad skäl sätt syfte undantag uppgift del anledning mål tanke alla varje några
        vissa många flera ingen inget om när medan eftersom obs notera observera anmärkning tips varning
        viktigt se lista översikt information dokumentation"""),
)  # fmt: skip

OTHERS = {
    'also': frozenset(['också', 'även']),
    'and_word': 'och',
    'comparing': frozenset(['än']),
    'conditions': ('om du', 'om man', 'om det', 'om den', 'om de', 'om ni', 'om vi', 'om jag', 'om en', 'om ett', 'om inte', 'om någon', 'såvida', 'förutsatt', 'utom', 'förutom', 'när', 'ifall', 'tills', 'bara', 'endast'),
    'dependent_openers': frozenset(['att', 'huruvida', 'ifall', 'när', 'om', 'såvida', 'tills']),
    'exclusive': frozenset(['bara', 'enbart', 'endast', 'uteslutande']),
    'fillers': frozenset(['alltså', 'dessutom', 'dock', 'därför', 'därmed', 'emellertid', 'följaktligen', 'också', 'således', 'vidare', 'även']),
    'ordinals': {'första': 1, 'förste': 1, 'andra': 2, 'andre': 2, 'tredje': 3, 'fjärde': 4, 'femte': 5, 'sjätte': 6, 'sjunde': 7, 'åttonde': 8, 'nionde': 9, 'tionde': 10, 'elfte': 11, 'tolfte': 12, 'trettonde': 13, 'fjortonde': 14, 'femtonde': 15, 'sextonde': 16, 'sjuttonde': 17, 'artonde': 18, 'nittonde': 19, 'tjugonde': 20},
    'past_copulas': frozenset(['var']),
    'relatives': frozenset(['som']),
    'universal': frozenset(['alla', 'allt', 'alltid', 'fullständigt', 'hela', 'helt', 'samtliga', 'varje']),
    'verb_final': False,
    'verb_second': True,
    'verbal_nouns': '',
    'contrasts': frozenset(['dock', 'däremot', 'fast', 'förutom', 'inte', 'istället', 'medan', 'men', 'snarare', 'utan', 'utom']),
}  # fmt: skip
