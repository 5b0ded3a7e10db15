"""Swedish: the wording of questions and the words around which they are asked. Data only."""

import re

from qa_pipeline.llm.extractive.phrases import NUMBER, REST, SUBJECT, YEAR, Phrases, any_of, states
from qa_pipeline.text.lexicon.base import words

_MONTH = any_of(
    "januari, februari, mars, april, maj, juni, juli, augusti, september, oktober, november, december"
)
_DATE = rf"(?:(?:den |år )?(?:\d{{1,2}} )?(?:{_MONTH} )?{YEAR})"
_QUANTITY = any_of(
    """antalet, avgiften, avståndet, bredden, djupet, effekten, fristen, gränsen, hastigheten, höjden,
    kostnaden, längden, maximum, minimum, priset, räntan, standardvärdet, storleken, takten,
    temperaturen, tiden, trycket, vikten, volymen, åldern, ytan, åldersgränsen"""
)
_DOES = any_of(
    """aktiverar, anger, avaktiverar, avgör, beräknar, beskriver, bestämmer, erbjuder, flyttar, gör,
    hanterar, hämtar, innehåller, installerar, kontrollerar, låter, lägger, läser, lagrar, omvandlar,
    returnerar, sätter, skapar, skickar, skriver, skyddar, startar, styr, tar, tillåter, visar, ändrar,
    öppnar, ger, förhindrar, definierar"""
)
_VERBS = words(
    """hålla klicka låta sätta trycka gå bläddra aktivera ange anpassa ansluta använda arbeta avbryta
        avinstallera avsluta begränsa beskära byta dela dra dölja exportera fixa flytta formatera fylla
        fästa få förbättra förhandsgranska förhindra förstora förminska göra hantera hitta hämta importera
        infoga inaktivera installera justera klippa klistra konfigurera kontrollera konvertera koppla
        kopiera köra ladda logga lyssna låsa lägga länka läsa lösa markera minska montera måla omvandla
        ordna packa redigera registrera rensa rita rotera räkna sammanfoga skala skanna skapa skicka
        skilja skriva skydda sluta slå snabba sortera spara spela spärra stanna starta ställa stänga
        stoppa söka ta testa tillämpa uppdatera utföra visa välja växla återställa ändra öka öppna
        översätta"""
)
_FORMS = {form: verb for verb in _VERBS for form in (verb, verb.removesuffix("a"))}
_VERB = "|".join(sorted(_FORMS))

SWEDISH = Phrases(
    quotes=("”", "”"),
    within="{heading} i {title}",
    key_value="Vad anges under {key} för {place}?",
    item="Hur förklaras {key} i {place}?",
    cell="Vad anger tabellen i {place} som {column} för {row}?",
    steps="Vilka steg beskrivs under {place}?",
    section="Vad står det i {title} om {heading}?",
    clause="Vad föreskriver {heading} i {title}?",
    instructions="Hur gör man för att {goal}?",
    how_to=re.compile(r"(?:Att )?(?P<goal>[A-ZÅÄÖ]?[a-zåäö]+ [^:?!.;,()]{3,80})"),
    infinitives=_FORMS,
    references=re.compile(r"(?i:se även|se också|referenser|källor|litteratur|länkar|relaterade .*)"),
    statements=(
        states(
            rf"{SUBJECT} är (?:också |även |alltså |helt enkelt )?(?P<rest>(?:en|ett|den|det|de) {REST})",
            "vad är {subject}?",
        ),
        states(rf"{SUBJECT} betyder {REST}", "vad betyder {subject}?"),
        states(rf"{SUBJECT} innebär {REST}", "vad innebär {subject}?"),
        states(rf"{SUBJECT} står för {REST}", "vad står {subject} för?"),
        states(rf"{SUBJECT} består av {REST}", "vad består {subject} av?"),
        states(rf"{SUBJECT} används (?:för|till|som|när) {REST}", "vad används {subject} till?"),
        states(rf"{SUBJECT} {_DOES} {REST}", "vad gör {subject}?", opening=True),
        states(
            rf"Med (?P<subject>[^,;:()]{{3,60}}?) (?:avses|förstås|menas) {REST}",
            "vad avses med {subject}[ enligt {place}]?",
        ),
        states(
            rf"{SUBJECT} (?P<verb>väger|kostar) {NUMBER} .*",
            "hur mycket {verb} {subject}[ enligt {place}]?",
            "figure",
        ),
        states(rf"{SUBJECT} uppgår till {NUMBER}.*", "vad uppgår {subject} till[ enligt {place}]?", "figure"),
        states(
            rf"(?P<subject>(?:(?:Den|Det) [\w-]+ )?(?i:{_QUANTITY})(?: (?:för|av|på|i) [^,;:()]{{3,50}}?)?) "
            rf"är {NUMBER}.*",
            "vad är {subject}[ enligt {place}]?",
            "figure",
        ),
        states(
            rf"{SUBJECT} (?P<verb>träder|trädde|upphör|upphörde|togs|tas|[a-zåäö]{{3,}}[dt]es) "
            rf"(?P<middle>(?:[^\s,;:()]{{1,20}} ){{0,3}}?){_DATE}.*",
            "när {verb} {subject} {middle}?",
            "date",
        ),
        states(
            rf"För att (?P<goal>[^,;:()]{{5,100}}), (?:(?:{_VERB})\b|(?:kan|måste|ska|behöver) (?:du|man)).*",
            "hur gör man[ enligt {place}] för att {goal}?",
            "how_to",
        ),
    ),
    indefinite=words("en ett"),
    definite=words("den det de"),
    empty=words(
        """allmänt anmärkning anmärkningar avsnitt bakgrund beskrivning bilaga definition definitioner
        detaljer egenskaper exempel fel fråga frågor funktioner förord information inledning innehåll
        inställningar inställning introduktion instruktioner kommentar krav källor mer nummer noter notera
        obs och om parametrar referens referenser resultat råd se sammanfattning status steg syfte syntax
        tabell tips titel typ version viktigt värde värden varning översikt övrigt även ämnen relaterade
        alternativ namn grunder tekniska data bestämmelser allmänna inledande särskilda
        övergångsbestämmelser kap ikraftträdande ikraftträdande- tillämpningsområde installation
        förklaring uttryck symbol ikon"""
    ),
    superlative=re.compile(r"[a-zåäö]{3,}(?:aste|sta)"),
    leaning=words(
        """den det de dem dess deras denna detta dessa han hon sin sitt sina sådan sådant sådana ovan nedan
        ovanstående följande föregående här där därför därmed dock också även andra annan annat jag vi vår
        vårt våra båda första förste sista samma nästa sedan så då men och eller dessutom vidare"""
    ),
    pointing=words("följande nedan ovan ovanstående nedanstående föregående figur"),
    weak=words(
        """bra god gott enda bästa första sista samma problem bit standard fall enkel enkelt annan annat
        annorlunda viktig viktigt vanlig vanligt stor stort följande ytterligare ny nytt som att"""
    ),
    abstract=words(
        """alternativ exempel fall fråga följd idé lösning metod möjlighet nackdel fördel orsak problem regel
        resultat sak skillnad skäl sätt syfte undantag uppgift del anledning mål tanke alla varje några
        vissa många flera ingen inget om när medan eftersom obs notera observera anmärkning tips varning
        viktigt se"""
    ),
)
