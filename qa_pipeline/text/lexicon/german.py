"""German: word classes, conventions of writing and the wording of questions. Data only.

A subject is asked for in the words and with the article of its own sentence, where it is in the
nominative; everything else is quoted, so that no gender and no case is ever guessed.
"""

import re

from qa_pipeline.text.lexicon.base import (
    WITHIN,
    Contexts,
    Conventions,
    Labels,
    LargeNumbers,
    Layout,
    Lexicon,
    Pronouns,
    classes,
    compounds,
    contracted,
    equals,
    near,
    numbered,
    opposed,
    phrases,
    words,
)
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
_AUSSAGEN = r"behauptung(?:en)?|aussagen?|antwort(?:en)?|feststellung(?:en)?"

GERMAN = Lexicon(
    code="de",
    stemmer="german",
    decimal_comma=True,
    nouns_capitalised=True,
    stop_words=words("""
        ein eine einer eines einem einen der die das den dem des und oder aber so als dass daß wer was wo wann
        warum wie welche welcher welches welchen da hier ist sind war waren sein bin bist gewesen wird werden
        wurde wurden worden hat haben hatte hatten habe kann können konnte könnte soll sollen sollte muss
        müssen musste darf dürfen will wollen möchte mag in im an am auf aus bei beim von vom zu zum zur mit
        für gegen über unter zwischen durch nach vor seit bis um per via ohne nicht kein keine auch nur sehr
        mehr meist man er sie es ihr ihre ihrer ihrem ihren sein seine seiner seinem wir uns unser unsere ich
        mich mir mein du dich dir dein sich selbst sowie beide jede jeder jedes andere anderer anderes einige
        alle weil während beträgt betragen lautet bevor jedoch daher also z.b d.h usw bzw dieser diese dieses
        diesem diesen jener wenn falls ob dann noch schon nun etwa dabei damit dazu daran hin her"""),
    not_word="nicht",
    and_word="und",
    cell_sentence="{0} für {1} ist {2}.",
    negations=words("""
        nicht kein keine keiner keinen keinem keines nie niemals ohne weder noch nichts niemand nirgends"""),
    soft_negations=words("""
        kaum fehlt fehlen unmöglich verboten außer ausgenommen selten verhindert stattdessen weigert weigerte
        abgelehnt lehnte vermeidet vermeiden vermied"""),
    clause_openers=words("weil denn aber während dass wenn obwohl und oder sondern"),
    passive_agents=words("von vom durch"),
    comparing=words("als"),
    passive_words=words("wird werden wurde wurden worden"),
    prepositions=words("""
        von vom in im an am auf für aus bei mit nach seit zu zum zur durch gegen ohne um über unter vor hinter
        neben zwischen während wegen trotz statt anstelle innerhalb außerhalb bis ab gegenüber"""),
    of_word="von",
    infinitive_marks=words("zu"),
    verbal_nouns="",
    genitives=(),
    verb_second=True,
    question_openers=words("""
        welche welcher welches welchen welchem was wer wen wem wessen wo wohin woher wann warum wieso weshalb
        wie wofür womit woran worauf wodurch wozu wovon"""),
    clause_openers_only=words("und oder sowie dessen deren denen"),
    object_askers=words("wen wem"),
    passive_endings="",
    subject_askers=words("wer"),
    joiners=words("und oder sowie bzw"),
    negative_prefixes=("un", "in", "im", "ir", "nicht-", "nicht", "miss"),
    opposites=opposed("""
        aktiviert,aktivieren,eingeschaltet,aktiviere/deaktiviert,deaktivieren,ausgeschaltet,abgeschaltet
        erlaubt,erlauben,gestattet,zulässig,zugelassen,darf,dürfen/verboten,untersagt,unzulässig,verbietet,verweigert
        vor,vorher,bevor/nach,nachher,nachdem davor,zuvor/danach mindestens,minimum,minimal,wenigstens/höchstens,maximum,maximal
        steigt,steigen,stieg,gestiegen,erhöht,erhöhen,zunimmt,wächst,wuchs,zunahme,anstieg/sinkt,sinken,sank,gesunken,verringert,verringern,abnimmt,abnahme,rückgang,reduziert,fällt,fiel
        höher,höhere,höheren,höchste,höchsten,hoch,hohe,hohen/niedriger,niedrigere,niedrigste,niedrigsten,niedrig,niedrige,tiefer
        mehr,meisten/weniger,wenigsten größer,größere,größte,größten/kleiner,kleinere,kleinste,kleinsten
        schneller,schnellste,schnell/langsamer,langsamste,langsam
        erste,ersten,erster,erstes,zuerst/letzte,letzten,letzter,letztes,zuletzt
        früher,frühere,früheste,früh/später,spätere,späteste,spät oberhalb,über/unterhalb,unter
        innerhalb/außerhalb beginnt,beginn,begann,anfang,startet/endet,ende,endete,schließt
        offen,geöffnet,öffnet/geschlossen
        enthält,enthalten,inklusive,einschließlich,umfasst/ausgeschlossen,exklusive,ausschließlich wahr/falsch
        ja/nein ein/aus akzeptiert,annehmen,angenommen,genehmigt/abgelehnt,ablehnen,lehnt
        hinzugefügt,hinzufügen/entfernt,entfernen,gelöscht,löschen
        gleich,gleiche,gleichen,identisch,dieselbe,derselbe/verschieden,unterschiedlich,verschiedene,unterschiedliche
        obligatorisch,verpflichtend,erforderlich,notwendig,pflicht/optional,freiwillig,unnötig
        öffentlich,öffentliche/privat,private intern,interne/extern,externe
        kauft,kaufen,kaufte,käufer/verkauft,verkaufen,verkaufte,verkäufer
        gewinnt,gewann,gewinn,gewonnen/verliert,verlor,verlust,verloren
        sicher,sichere/unsicher,gefährlich,unsichere links,linke,linken/rechts,rechte,rechten
        nord,norden,nördlich/süd,süden,südlich ost,osten,östlich/west,westen,westlich
        alt,alte,alten,älter,ältere,älteste/neu,neue,neuen,jung,jünger,jüngere,jüngste
        beste,besten,besser/schlechteste,schlechter immer,oft,häufig/nie,niemals,selten
        billig,billiger,günstig/teuer,teurer gültig,gültige/ungültig,ungültige legal/illegal
        mann,männer,männlich/frau,frauen,weiblich stark,stärker/schwach,schwächer
        lang,lange,länger/kurz,kurze,kürzer warm,wärmer,heiß/kalt,kälter einfach,leicht/schwierig,schwer
        voll/leer vorübergehend/dauerhaft manuell,manuelle/automatisch,automatische
        import,importiert/export,exportiert"""),
    numbers={
        **numbered("""
            eins/ein/eine/einen/einem/einer zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn
            vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig"""),
        **compounds(
            "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
            "ein zwei drei vier fünf sechs sieben acht neun",
            lambda ten, unit: f"{unit}und{ten}",
        ),
        "null": 0, "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70, "achtzig": 80,
        "neunzig": 90, "dutzend": 12, "hälfte": 0.5, "halb": 0.5, "einmal": 1, "zweimal": 2, "dreimal": 3,
            "beide": 2, "beiden": 2, "doppelt": 2,
    },
    ordinals={
        stem + ending: number
        for stem, number in numbered("""
            erst zweit dritt viert fünft sechst siebt/siebent acht neunt zehnt elft zwölft dreizehnt vierzehnt
            fünfzehnt sechzehnt siebzehnt achtzehnt neunzehnt zwanzigst""").items()
        for ending in ("e", "er", "es", "en", "em")
    },
    scales={"hundert": 1e2, "tausend": 1e3, "million": 1e6, "millionen": 1e6, "mio": 1e6, "milliarde":
        1e9, "milliarden": 1e9, "mrd": 1e9, "billion": 1e12, "billionen": 1e12},
    months=numbered("""
        januar/jan/jänner februar/feb märz/mär/mrz april/apr mai juni/jun juli/jul august/aug
        september/sep/sept oktober/okt november/nov dezember/dez"""),
    lower_bounds=phrases("""
        mindestens, wenigstens, nicht weniger als, mehr als, über, oder mehr, oder höher, oder später, ab,
        übersteigt, größer als, frühestens"""),
    upper_bounds=phrases("""
        höchstens, maximal, bis zu, nicht mehr als, weniger als, unter, oder weniger, oder niedriger, kleiner
        als, spätestens, innerhalb von"""),
    approximations=phrases("etwa, ungefähr, rund, circa, ca, fast, knapp, annähernd, ~"),
    universal=words("""
        alle allen aller alles jede jeder jedes jedem jeden immer sämtliche ganz vollständig gesamte gesamten"""),
    partial=words("""
        einige manche mehrere viele oft manchmal meist meistens teilweise wenige gelegentlich normalerweise
        üblicherweise"""),
    exclusive=words("nur ausschließlich lediglich allein"),
    strong=words("muss müssen verpflichtet verpflichtend obligatorisch"),
    weak=words("kann können könnte könnten darf dürfen sollte sollten möglicherweise optional"),
    conditions=phrases("wenn, falls, sofern, außer, vorausgesetzt, solange, sobald, nur"),
    determiners=words("ein eine einer eines einem einen der die das den dem des"),
    also=words("auch selbst"),
    fillers=words("jedoch daher also auch zudem außerdem somit folglich ferner dennoch allerdings damit"),
    conjunctions=words("und sowie"),
    contrasts=words("""
        aber jedoch außer ausgenommen obwohl während hingegen sondern stattdessen nicht allerdings doch"""),
    conditional_words=words("""
        wenn falls sofern außer vorausgesetzt solange sobald nur bevor nachdem bis ob ohne lediglich je
        während soweit als"""),
    example_openers=("zum beispiel", "z.b.", "z. b.", "beispielsweise", "etwa", "wie zum beispiel"),
    reason_openers=words("weil denn"),
    finite_verbs=words("""
        ist sind war waren hat haben hatte hatten kann können konnte darf dürfen muss müssen soll sollen wird
        werden wurde wurden will wollen"""),
    contractions={"im": ("in", "dem"), "zum": ("zu", "dem"), "zur": ("zu", "der"), "vom": ("von", "dem"),
        "beim": ("bei", "dem"), "am": ("an", "dem"), "ins": ("in", "das"), "ans": ("an", "das")},
    function_classes=classes("""
        muss darf, muss kann, alle keine, einige keine, viele wenige, vor nach während, bis seit,
        wenn weil obwohl, mit ohne, über unter, mehr weniger, immer nie, oft nie, manchmal immer, nur auch,
        jede keine, mindestens höchstens"""),
    question_words=words("""
        tun machen
        zahlen zahlt kosten kostet darf brauchen braucht benötigt gilt gelten woher was welche welcher welches
        welchen welchem wer wen wem wie viele viel lange oft wann wo warum steht sagt gibt nennt angegeben
        angibt liste tabelle spalte zeile abschnitt unter heißt name wert bedeutet definiert definition laut
        dokument text beschreibt beschrieben erklärt verwendet schritt schritte regelt bestimmt stehen
        wofür woraus wozu macht wonach wogegen worin womit worauf woran wodurch wovon worum worüber wobei
        wohin passiert geschieht zeit frist tag art"""),
    interrogatives=tuple(map(words, ("wann", "wo wohin woher", "warum wieso weshalb", "wer wen wem wessen", "wie"))),
    row_glue=words("""
        beträgt betragen lautet ist sind war waren hat haben in im an am von vom für zu zum mit und der die
        das den dem des ein eine"""),
    adding_relatives=words("was wobei"),
    auxiliaries=frozenset(),
    negation_tails=words("mehr länger"),
    spellings=(),
    openings=words("aber und auch außerdem zudem jedoch"),
    endings=frozenset(("", *["s", "es", "n", "en", "e", "er", "em"])),
    apart=r"(\w+)/\1er",  # comparatives
    verb_form=r"[a-zäöüß]+(?<!e)(?<!e[mnrs])",
    passive_infinitive="",
    collectives=words("""
        zwischen sowohl besteht bestehen kombination summe gesamt zusammen gemeinsam durchschnitt mischung
        unterschied entweder"""),
    definite=words("der die das"),
    indefinite=words("ein eine"),
    same_words=equals("anstelle=statt,anstatt"),
    same_phrases={
        ("jeden", "tag"): "täglich", ("jede", "woche"): "wöchentlich", ("jeden", "monat"): "monatlich",
        ("jedes", "jahr"): "jährlich", ("jedes", "quartal"): "vierteljährlich",
        ("jedes", "vierteljahr"): "vierteljährlich", ("pro", "woche"): "wöchentlich",
        ("pro", "monat"): "monatlich", ("pro", "jahr"): "jährlich",
    },
    irregular=equals("""
        geben=gibt,gab,gaben,gegeben nehmen=nimmt,nahm,nahmen,genommen schreiben=schrieb,schrieben,geschrieben
        beginnen=begann,begannen,begonnen gelten=gilt,galt,galten erhalten=erhält,erhielt,erhielten
        halten=hält,hielt,hielten,gehalten finden=fand,fanden,gefunden stehen=stand,standen,gestanden
        kommen=kam,kamen,gekommen gehen=ging,gingen,gegangen sehen=sieht,sah,sahen,gesehen
        tragen=trägt,trug,trugen,getragen fahren=fährt,fuhr,fuhren,gefahren lassen=lässt,ließ,ließen
        bringen=brachte,brachten,gebracht wachsen=wächst,wuchs,wuchsen,gewachsen entscheiden=entschied,entschieden
        treffen=trifft,traf,trafen,getroffen verlieren=verlor,verloren bleiben=blieb,blieben,geblieben
        haften=haftet,haftete zahlen=zahlt,zahlte,gezahlt betragen=beträgt,betrug"""),
    open_compounds=False,
    counted_by_article=words("paar bisschen wenig"),
    copulas=words("ist sind war waren"),
    past_copulas=words("war waren"),
    relatives=words("die der das den dem deren dessen denen wer wen wem was welche welcher welches"),
    subject_pronouns=words("er sie es"),
    degree_words=words("wie"),
    value_columns=words("wert betrag einheit einheit anzahl"),
    measures=contracted("""
        wellenlänge=length druck=pressure spannung=voltage gewicht=mass länge=length höhe=length breite=length abstand=length
        entfernung=length tiefe=length temperatur=temperature preis=eur+usd+gbp kosten=eur+usd+gbp
        gebühr=eur+usd+gbp betrag=eur+usd+gbp fläche=area volumen=volume leistung=power geschwindigkeit=speed
        frequenz=frequency dauer=time+months zeitraum=time+months frist=time+months anteil=percent
        größe=bytes+area+length strom=current energie=energy"""),
    names=("deutsch", "german"),
    deictic=words("""
        dies diese dieser dieses diesem diesen er sie es ihr ihre sein seine solche hier folgende folgenden
        oben unten beispiel dasselbe derselbe wir unser du dein man"""),
    conventions=Conventions(
        never_final=words("""
            z.b zb d.h dh i.d.r idr u.a ua u.u uu u.ä z.t zt z.zt bzw vgl ggf ggfs evtl ca dr prof hr fr frl
            st sog inkl exkl einschl bspw insb insbes i.a i.allg m.e m.w n.chr v.chr s.o s.u o.g og geb gest
            mind max min jew resp ehem allg entspr vs dipl ing hrsg verf zit zzgl abzgl abk d.i i.e
            e.g i.v.m ivm i.s.d i.d.f eigtl gem lt mr mrs phil rer urspr"""),
        often_final=words("""
            o.ä u.ä.m f ff jr co inc ltd corp al a.d a.m v.m n.m h.c mio mrd bio tsd std sek stk stck pers jh
            jhd tl el pkg vol jan feb mär mrz apr jun jul aug sep sept okt nov dez"""),
        closing=words("usw etc u.a.m u.v.m uvm usf o.dgl dgl u.dgl"),
        before_number=words("""
            nr nrn abs art artt ziff buchst s seite kap abb tab abschn bd bde aufl rn rz rdnr anm anl anh p
            lit satz tel vers v jan feb mär mrz apr jun jul aug sep sept okt nov dez unterabs"""),
        openers=words("""
            der die das den dem des ein eine einen einem einer es er sie wir ihr ich man dies diese dieser
            dieses diesem jeder jede jedes alle beide kein keine in im an am auf aus bei beim bis durch für
            gegen mit nach ohne seit um unter über von vom vor während wegen zu zum zur zwischen wenn falls
            weil da dass damit obwohl als ob wie was wer wo wann warum welche welcher welches hier dort dann
            danach daher deshalb dabei dadurch dazu jedoch aber und oder denn doch auch nur nun so somit sonst
            außerdem zudem beachten ist sind hat haben wird werden kann können soll sollte sollten muss müssen
            sein ihre ihr seine unser unsere"""),
        months=words("""
            januar jänner februar märz april mai juni juli august september oktober november dezember"""),
        ordinal_leads=words("""
            der die das den dem des am im zum zur vom beim bis ab seit und jeder jede jedes ihr ihre ihren
            seine seinen sein im ein eine einen einem einer"""),
        capital_opens=False,
    ),
    speakers=words("ich wir mir mich uns sie ihnen ihr dir dich bitte gerne"),
    pronouns=Pronouns(
        leaning=words("er sie es dies diese dieser dieses"),
        singular=words("er sie es dieser"),
        plural=words("sie"),
        articles=words("der die das den dem ein eine einen dieser diese dieses unser unsere"),
        verbs=words("""
            ist sind war waren hat haben hatte hatten kann können konnte darf dürfen muss müssen soll sollen
            wird werden wurde wurden gilt gelten gibt besteht bestehen"""),
        impersonal=words("dass daß zu ob wenn wie warum möglich wichtig gibt gab"),
        demonstratives=words("dies dieser diese dieses diesem diesen"),
        genders={"er": "der", "sie": "die", "es": "das", "dieser": "der"},
    ),
    context=Contexts(
        voiding=words("""
            aberglaube abgelaufen abgeschafft abgeschaffte abgeschafften abschreckend annulliert
            aufgehoben aufgehobene aufgehobenen ausgelaufen ausgesetzt eingestellt entwurf
            erfunden erfundene erlogen erloschen fallstricke falsch falsche falschen falsches
            fiktiv fiktive fälschung gefälscht gegenbeispiel gegenbeispiele gekippt gerücht
            gerüchte gestrichen gestrichene haltlos hochrechnung hypothetisch illegal illegale
            irrglaube irrtum irrtümer irrtümlich lüge lügen missverständnis mythen mythos
            märchen negativbeispiel negativbeispiele nichtig niemals parodie prognose prognosen
            rechtswidrig rechtswidrige satire scherz stillgelegt tabu unbegründet unerlaubt
            unerlaubte unerwünscht ungültig ungültige ungültigen unsinn unsitte unsitten
            untersagt untersagte unwahr unzulässig unzulässige veraltet veraltete veralteten
            verboten verbotene verbotenen verworfen verworfenen verzichten weggefallen widerlegt
            widerrufen zurückgenommen zurückgezogen überholt überholte"""),
        tentative=words("vorschlag diskussion anhörung"),
        quoting=(r"sehen es so", r"folgendes (?:vor|aus|an)",),
        outdated=words("""
            abgelehnt abgelehnte abgelehnter alte alten alter altes archivierte aufgegebene
            außer ehemalige eingestellte eingestellter einstige einstiger entfernt entfernte
            frühere früherer früheres geplant geplante gerüchte gescheiterte gestrichene
            historische legenden schlechte schlechter veraltete verworfen verworfene
            vorgeschlagen vorgeschlagene vorgänger vorgängers vormalige überholte"""),
        permitting=words("""
            unterstützt verfügbar erlaubt gestattet zulässig tun machen verwenden empfohlen gültig
            versichert abgedeckt gefördert"""),
        supposing=(
            r"[^.]{0,60}\btr(?:ug|ägt|agen|ugen)\b.{0,40}\bvor\b", r"ein gerücht",
            r"in (?:der|dieser|einer) (?:serie|novelle|geschichte|erzählung|sage|legende|werbung)",
            r"im (?:roman|film|spiel|märchen|krimi|buch|prospekt)\b",
            r"(?:viele|manche|einige|die meisten)\b[^.]{0,40}\b(?:glauben|meinen|denken|behaupten|hoffen|annehmen)\b",
            r"stell(?:en|t|e)? (?:wir|sie|dir|euch)\b",
            r"(?:kritiker|gegner|befürworter|anhänger|die (?:be)?klagte|der (?:be)?klagte|der (?:be)?kläger|die klägerin|der antragsteller|die antragstellerin|der verkäufer|die verteidigung)\b",
            r"(?:laut|nach|so) (?:gerüchten|kritikern|dem gerücht|der legende|dem kläger|der klägerin|dem beklagten|der beklagten)",
            r"im internet\b", r"ein(?:em)? (?:gerücht|verbreitete[rnms]? (?:beitrag|irrtum))",
            r"angenommen\b", r"gesetzt\b", r"nehmen wir (?:einmal )?an\b", r"nehmen sie (?:einmal )?an\b",
            r"stell(?:en sie sich| dir| euch|t euch)\b.{0,60}\bvor\b", r"unterstellt\b",
            r"einmal angenommen\b",
        ),
        reporting=words("""
            aberglaube ahnt anders angeblich anhänger anklage annahm annahmen antragsteller
            anzeige befürchtet befürchtete befürworter behaupten behauptet behauptete
            behaupteten behauptung beklagte beklagter berichten berichtet berichtete berichteten
            beschwerde beschwerden beschwert beteuert beteuerte blog boulevardblatt broschüre
            dachte dachten denken denkt entgegnet erzählen erzählt erzählte fantasie flugblatt
            fordert forderte forum fürchtet gegner gegnern gehört gemunkelt gerücht gerüchte
            gerüchten gesagt geschrieben glauben glaubt glaubte glaubten handzettel hoffen hofft
            hoffte horoskop hypothese hören hörensagen hörte inserat kampagne kandidat
            kandidaten kandidatin klage klagt klagte klatsch kläger klägerin kolumne komödie
            krimi kritiker kritikern kursiert legende leitartikel leserbrief lobbyisten makler
            maklerin meinen meint meinte meinung munkelt märchen nannte plakat politiker
            politikerin prahlt prahlte preist pries prognostiziert prophezeiung prospekt rat
            ratschlag ratschläge raunt roman rät rühmt rühmte sage sagen sagt sagte sagten
            schlug schlägt schrieb schrieben schwor slogan spekulation spekuliert spekulierte
            staatsanwaltschaft theaterstück tipp trägt träumt träumte unterstellt verkäufer
            verkäuferin vermeintlich vermuten vermutet vermutete vermutung versichert
            versicherte versprach versprechen verspricht verteidigung volksglaube volksmund
            vorträgt vorwarf wahlkampf werbung wiedergab wiedergegeben wirbt wirft wähnt wähnte
            wünscht wünschte zeitung zeuge zeugen zeugin zitiert zitierte"""),
        announcing=words("""
            allerhand folgen folgende folgenden folgender folgendes folgt nachstehende nachstehenden"""),
        embedding=words("""
            dass daß ob"""),
        asserting=words("""
            beachte beachten beachtet bedeutet bedeutete bestätigt bestätigte beweist bewies
            bewiesen gezeigt heisst heißt zeigen zeigt zeigte"""),
        pointing=words("das dies diese dieser dieses es sie er solche beides"),
        confirming=words("wahr gilt gelten stimmt richtig korrekt zutreffend zutrifft mehr fall gültig"),
        revoking=(
            r"seit(?:dem|her)\b",
            r"so zumindest\b", r"so (?:stand|hieß|war) es\b",
            r"in (?:wahrheit|wirklichkeit|der praxis)\b",
            r"diese (?:regel|regelung|bestimmung|vorschrift)\b.{0,30}\b(?:aus|auf|nicht)\b",
            r"dem ist (?:aber |jedoch )?nicht so",
            r"(?:das|dies) (?:ist|war) (?:aber |jedoch )?(?:nicht|falsch|kein)",
            r"so (?:hieß|stand|behauptete)\b",
        ),
        parenthetic=words("jedoch allerdings aber"),
        retracting=words("""
            abgewiesen ablehnte angehoben angezweifelt aufgehoben beendet berichtigt
            berichtigung bestreitet bestritt bestritten dementiert dementierte druckfehler
            endete entschuldigt entschuldigte erhöht fehler fiel fraglich gesenkt gestoppt
            geändert geänderte halbiert hob irreführend kippte korrektur korrigiert korrigierte
            lehnte leugnet niemand quatsch rückgängig scheiterte strich tippfehler umstritten
            unbestätigt unbewiesen verdoppelt verlor verneint verneinte verwarf widersprach
            widerspricht widersprochen zurückgewiesen zweifelhaft übertreibung übertrieben"""),
        changing=words("""
            heute inzwischen mittlerweile neuerdings seitdem seither"""),
        framing=words("""
            bis bisher damals ehemals einst früher mitbewerber ursprünglich vorgänger
            vorgängermodell vorgängers vormals"""),
        past_endings=("ierte", "ierten"),
        past=words("""
            war waren hatte hatten wurde wurden kam kamen ging gingen sagte zeigte zeigten
            verschwand fiel fielen brach verlor gewann fand fanden ergab ergaben dachte wusste
            gab gaben nahm machte hielt lief stand standen sah führte begann verließ galt galten
            endete entfiel entfielen bestand erwies"""),
        interjections=words("""
            nein nicht leider pardon entschuldigung korrektur berichtigung falsch schade unsinn
            quatsch von wegen kaum"""),
        valid=words("""
            gültig geltend kraft verabschiedet beschlossen veröffentlicht aktuell final
            endgültig aktiv freigegeben genehmigt fertig neu stabil offiziell abgeschlossen"""),
        imagining=words("""
            angenommen annehmen angenommenen gesetzt erfunden erfundene erfundenen fiktiv
            fiktiven hypothetisch szenario planspiel gedankenspiel rollenspiel spielen
            durchspielen vorstellen"""),
        repealing=words("""
            aufgehoben aufgehobene aufgehobenen widerrufen abgeschafft zurückgezogen
            zurückgenommen eingestellte eingestellten eingestellter gestrichen gestrichene
            gestrichenen entfallen gegenteil"""),
        opposing=words("""
            aber allerdings ausgenommen außer dagegen dennoch doch freilich gleichwohl hingegen
            indes jedoch trotzdem"""),
        exempting=words("""
            ausgenommen ausgeschlossen ausnahme ausnahmen ausnimmt ausschließt aussetzt befreit
            eingestellt endet endete entfallen entfiel entfielen entfällt erlischt erlosch
            meiden schließt unterbleiben unterlassen verfällt vermeiden voraus voraussetzung
            wegfällt"""),
        excepting=("außer", "ausgenommen", "mit ausnahme", "abgesehen von", "bis auf",),
        replies=words("nein ja doch"),
        scales=words("tausend tsd tausende mio mrd millionen milliarden teur"),
    ),
    wording=Phrases(
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
    ),
    letter_tokens=0.085,
    object_cases=("en", "em"),
    article_cases=("en", "em", "es", "er"),
    verb_final=True,
    large_numbers=LargeNumbers(
        hundreds=("hundert",),
        thousands=("tausend",),
        link="und",
        apart=words("beide beiden doppelt einmal zweimal dreimal dutzend eine einen einem einer"),
        parts={"drittel": 3, "viertel": 4, "fünftel": 5, "sechstel": 6, "achtel": 8, "zehntel": 10},
        ones=("ein", "einem", "eines"),
        part_ends=r"(?!stunde|jahr|\w)",
        joined=True,
    ),
    units=contracted("""
        percent=prozent millisecond=millisekunde+millisekunden second=sekunde+sekunden minute=minuten
        hour=stunde+stunden day=tag+tage+tagen week=woche+wochen month=monat+monate+monaten
        year=jahr+jahre+jahren metre=meter+metern kilometre=kilometer+kilometern gram=gramm
        kilogram=kilogramm+kilo ton=tonne+tonnen litre=liter+litern hectare=hektar degree=grad pound=pfund
        krona=kronen millimetre=millimeter+millimetern centimetre=zentimeter+zentimetern milligram=milligramm
        millilitre=milliliter+millilitern centilitre=zentiliter decilitre=deziliter decibel=dezibel"""),
    year_leads=words("jahr seit bis von"),
    ordinal_endings=(),
    decade_endings=("er",),
    dependent_openers=words("dass daß wenn falls ob sofern bis"),
    linking_words=words("und oder als nicht"),
    sources=("quelle",),
    reply_marks=("quelle", "abschnitt"),
    reply_headings=("quellen", "belege"),
    refusal_sources=r"(?:wissensdatenbank|text|dokument|passage|quelle|kontext|unterlage|abschnitt|material|artikel|"
        r"auszug|auszüge|handbuch|handbüch|anleitung|seite|datei|textstelle|ausschnitt)\w*",
    refusal=(
        r"\b(?:ist|sind|wird|werden|wurde|lässt sich|geht|gehen|findet sich) (?:\w+ ){0,3}(?:nicht|nirgends) (?:in|im|durch|aus|anhand) "
        r"[^.]{0,40}?{sources}[^.]{0,20}"
        r"(?:verfügbar|enthalten|erwähnt|angegeben|genannt|beschrieben|ersichtlich|hervor|beantwort\w*|entnehmen|zu finden|aufgeführt)"
        r"|\b(?:in|im|aus) [^.,]{0,40}?{sources} (?:\w+ ){0,8}?(?:nicht|nirgends|nichts|keine?n?) (?:\w+ ){0,6}?(?:verfügbar|enthalten|erwähnt|"
        r"angegeben|genannt|beschrieben|ersichtlich|hervor|beantworten|entnehmen|zu finden|aufgeführt|gesagt|steht|behandelt|informationen|angaben|information|angabe|hinweis\w*|antwort)\b"
        r"|\b(?:steht|stehen) (?:\w+ ){0,3}?(?:nicht|nichts|keine) (?:\w+ ){0,4}?(?:in|im) [^.,]{0,30}?{sources}"
        r"|\b(?:in|im) [^.,]{0,30}?{sources} (?:steht|stehen|findet sich|finden sich|gibt es) (?:\w+ ){0,4}?(?:nichts|keine?n?|nicht)\b"
        r"|\b{sources} (?:\w+ ){0,2}?(?:sag|nenn|erwähn|gib|geb|mach|liefer|behandel|beantwort|beschreib|erklär|spezifizier|erläuter|"
        r"äußer|biet|verrat|verrät|geh|thematisier)\w* (?:\w+ ){0,6}?(?:nichts?|keine?n?|keinerlei)\b"
        r"|\b{sources} (?:\w+ ){0,2}?(?:enthält|enthalten|hat|haben) (?:\w+ ){0,4}?(?:nichts|(?:keine?n?|keinerlei) (?:\w+ )?(?:information|angabe|"
        r"hinweis|antwort|auskunft|detail|daten|erwähnung)\w*)\b|\b{sources} [^,]{0,40}? nichts [^,]{0,40}(?:enthalten|sagen|enthält)$"
        r"|\binformationen reichen (?:\w+ )?nicht aus\b|\bnicht weiterhelfen\b|\b(?:information|angabe|antwort)\w* fehl(?:t|en)\b"
        r"|\beine antwort (?:\w+ )?ist (?:\w+ )?nicht möglich\b"
        r"|\b{sources} (?:\w+ ){0,2}(?:reicht|reichen) (?:\w+ ){0,2}nicht\b"
        r"|\bkeine(?:rlei)? (?:\w+ )?(?:informationen|angaben|information|angabe|auskunft|daten|antwort|hinweise|details) "
        r"(?:\w+ ){0,5}?(?:zu|über|hierzu|dazu|darüber|verfügbar|gefunden|vorhanden|enthalten|geben|vor|möglich|bekannt)\b(?! gespeichert)"
        r"|\b(?:habe|haben|finde|finden|liegen|liegt|gibt|sehe) (?:\w+ ){0,4}?(?:keine(?:rlei)?|nicht genug|nicht genügend|"
        r"nicht ausreichend|nichts) ?(?:\w+ )?(?:informationen|angaben|information|angabe|daten|antwort|hinweise?|details|kenntnis|dazu|darüber|hierzu)\b"
        r"|\b(?:ich|wir) (?:\w+ )?(?:kann|können|konnte|konnten|weiß|weiss|wissen|finde|finden) (?:\w+ ){0,5}?(?:nicht|keine|nichts)"
        r"(?:$| (?:\w+ ){0,8}?(?:beantworten|sagen|finden|beurteilen|ermitteln|bestimmen|helfen|feststellen|geben|entnehmen|genau|sicher|ob|wann|wie|wer|wo|was|warum|woher|welche\w*)\b)"
        r"|\b(?:kann|weiß|weiss|finde|konnte) ich (?:\w+ ){0,5}?(?:nicht|keine|nichts)(?:$| (?:\w+ ){0,6}?(?:beantworten|sagen|finden|"
        r"beurteilen|ermitteln|bestimmen|helfen|feststellen|geben|entnehmen|genau|sicher|informationen|angaben|dazu)\b)"
        r"|\b(?:lässt|lassen) sich (?:\w+ ){0,8}?nicht (?:\w+ )?(?:beantworten|sagen|bestimmen|ermitteln|feststellen|beurteilen|entnehmen)\b"
        r"|\b(?:frage|dies|das|es) kann (?:\w+ ){0,8}?nicht (?:\w+ )?(?:beantwortet|bestimmt|ermittelt|festgestellt|gesagt)\b"
        r"|\b(?:ist|sind|wird|werden|wurde) (?:\w+ ){0,3}?nicht (?:angegeben|genannt|erwähnt|bekannt|ersichtlich|spezifiziert)$"
        r"|^(?:diese|die|eine solche) (?:\w+ )?(?:information|angabe|antwort)(?:en)? (?:ist|sind|liegt|liegen) (?:\w+ ){0,2}?nicht (?:\w+ ){0,3}?(?:verfügbar|enthalten|vor|bekannt|vorhanden|finden|angegeben|{sources})\b"
        r"|\bden {sources} (?:\w+ )?nicht zu entnehmen\b|\b(?:mach|geb|nenn|enthalt|sag|liefer)\w* (?:\w+ )?{sources} (?:\w+ ){0,2}?(?:nichts|keine?n?) ?(?:information|angabe|auskunft|hinweis|$)"
        r"|\bgeht (?:\w+ ){0,3}?(?:nicht )?aus [^.,]{0,40}?{sources} (?:\w+ )?nicht\b|\bkeine ahnung\b"
        r"|^(?:unbekannt|nicht (?:angegeben|bekannt|erwähnt|genannt|beantwortbar)|keine (?:angabe|angaben|information|informationen|antwort)|k\.? ?a)$"),
    refusal_fillers=(
        r"(?:es )?(?:tut|täte) mir (?:\w+ )?leid|(?:ich bitte um )?(?:entschuldigung|verzeihung)|entschuldige(?:n sie)?|leider|"
        r"(?:laut|nach|gemäß|basierend auf|auf grundlage|auf basis|anhand|aufgrund|zu|was)\b[^.]*|"
        r"(?:bitte|sie (?:können|könnten|sollten)|wenden sie|versuchen sie|ich (?:empfehle|schlage)|falls|wenn|für (?:weitere|nähere)|"
        r"können sie|könnten sie)\b.*|"
        r"{sources} (?:\w+ ){0,3}(?:nur|lediglich|ausschließlich)\b.*|(?:sie|er|es|dort|darin) (?:\w+ ){0,3}(?:nur|lediglich)\b.*"),
    clause_breaks=r"(?<=, )(?:nur|lediglich|vermutlich|wahrscheinlich)|aber|jedoch|allerdings|sondern|obwohl|weil|da|während|deshalb|daher|denn|doch|außer|stattdessen|sodass|so dass|wobei",
    apologies=(
        "(?:es )?tut mir leid", "leider kann ich", "ich kann (?:das |dies |ihnen )?(?:leider )?nicht",),
    injections=(
        near(r"ignorier(?:e|en|t)|missachte[nt]?|vergiss|vergessen sie|übergehe[nt]?",
            r"bisherigen?|vorherigen?|obigen?|früheren?|alle|allen|deine|ihre|vorstehenden?|vorangehenden?",
            r"anweisung(?:en)?|instruktion(?:en)?|vorgaben?|befehle?|prompts?|regeln|gesagte"),
        near(
            r"markier(?:e|en)|bewerte[n]?|kennzeichne[n]?|akzeptiere[n]?|bestätige[n]?|betrachte[n]?|werte[n]?|"
            r"behandle|behandeln|stufe[n]?|erkläre[n]?", _AUSSAGEN,
            r"belegt|gestützt|unterstützt|korrekt|wahr|richtig|akzeptiert|bestätigt|gültig|1[,.]0|geprüft|belegte?"),
        near(r"akzeptiere[n]?|bestätige[n]?", r"alle|jede|diese|sämtliche", _AUSSAGEN),
        near(r"antworte[n]?|gib|geben sie|schreibe", r"mit|als|nur",
            r"accept\w*|akzeptier\w*|decision|verdict|belegt"),
        near(_AUSSAGEN, r"muss|müssen|soll|sollen|ist|sind")
        + WITHIN
        + r"(?<!\w)(?:akzeptiert werden|als (?:belegt|wahr|korrekt|richtig)|anzunehmen|bereits geprüft)(?!\w)",
        near(r"an|liebe|lieber|liebes|achtung|hinweis (?:an|für)|anweisung(?:en)? (?:an|für)",
            r"ki|ki-modell|sprachmodell|prüfmodell|den prüfer|prüfinstanz|den gutachter|assistent(?:en)?"),
        near(r"du bist|sie sind|falls du|agiere als", r"ki|sprachmodell|prüfer|prüfinstanz|gutachter|assistent"),
        near(r"gib|geben sie|vergib|vergeben sie|setze|bewerte[n]?", r"höchste|volle|maximale|beste|1[,.]0",
            r"punktzahl|bewertung|note|punkte|wertung"),
    ),
    backreferences=(
        (r"\b(?:laut|gemäß)(?: de[mrsn]| diese[mrsn])? (?:\w+ )?(?:Text|Textstelle|Abschnitt|Absatz|Dokument|Kapitel"
        r"|Tabelle|Abbildung|Liste|Beispiel|Artikel|Seite|Passage|Auszug|Kontext)(?:s|es)?\b"
        r"(?! (?:von|vom|über|zu|zum|zur|des|der|für|mit|\d)\b)(?!\s*[„\"(])"),
        (r"\b(?:(?:in|aus) (?:dem|der|diesem|dieser)|im) (?:(?:obigen|vorliegenden|genannten|angegebenen) )?"
        r"(?:Text|Textstelle|Textabschnitt|Passage|Auszug)\b(?! (?:von|vom|zu|zum|zur|des|der|für|mit)\b)"
        r"(?!\s*[„\"(])"),
        r"\b(?:sagt|nennt|beschreibt|erklärt) (?:der (?:Text|Abschnitt|Autor)|die Textstelle)\b",
        r"\b(?:oben|unten|hier|zuvor|vorher) (?:genannt|erwähnt|beschrieben|aufgeführt|gezeigt|angegeben)\w*\b",
        r"\bobige[nrsm]?\b",
        r"\b(?:Abschnitt|Kapitel|Abbildung|Tabelle|Seite|Schritt|Absatz) \d+(?:\.\d+)*\b(?! (?:de[rs]|von|in|im)\b)",
    ),
    boilerplate=(
        r"\A(?:gerne|natürlich|selbstverständlich)\b[!.]",
        r"\Ahier (?:ist|sind|folgt) (?:die|eine|ihre) (?:antwort|zusammenfassung|liste)",
        (r"\b(?:laut|gemäß|basierend auf) (?:dem |den |der )?(?:gegebenen |obigen |bereitgestellten )?"
        r"(?:text|textstellen?|passagen?|kontext|auszug)\b"),
        r"\b(?:der text|die textstellen?|die passagen?|der auszug) (?:besagt|besagen|nennt|nennen|sagt|erwähnt)\b",
        r"\bals (?:ki|ki-modell|sprachmodell)\b",
        r"\bich hoffe, das hilft\b",
    ),
    letters="äöüß",
    hyphened_prefixes=("nicht", "halb"),
    layout=Layout(
        contents=(
            "inhalt", "inhaltsverzeichnis", "abbildungsverzeichnis", "tabellenverzeichnis", "sachregister",
            "stichwortverzeichnis",),
        pages=("seite", r"s\."),
        of=("von",),
        captions=("abbildung", r"abb\.", "tabelle", "bild"),
        sections=("kapitel", "abschnitt", r"kap\.?", r"abschn\.?", r"ziff(?:er|\.)", "punkt", "anhang"),
        see=("siehe",),
        suspending=words("und oder bis"),
        fields=contracted("title=titel heading=überschrift licence=lizenz language=sprache content=inhalt"),
        columns=words("""
            nr nummer titel name datum bezeichnung beschreibung inhalt kategorie zeit jahr monat tag wert
            betrag preis menge anzahl einheit land stadt adresse straße strasse e-mail bemerkung quelle autor
            sprache frage antwort vorname nachname"""),
    ),
    labels=Labels(
        copulas=("ist", "lautet"),
        passwords=("kennwort", "passwort"),
        users=("benutzer", "benutzername"),
        phones=("telefon", "fon", "mobil", "handy", "rufnummer", "durchwahl", "kontakt", "nummer"),
        phone_names=(r"\btelefon", "mobil", "handy", "rufnummer", "telefonnummer"),
        numbers=("seriennummer", "nummer", "nr"),
        at=("ät",),
        dot=("punkt",),
        machines=("adress", "klient"),
        timestamps=("zeitstempel",),
        id_documents=("ausweis(?:es|karte)?", "pass(?:es)?", "(?:fü|fue)hrerschein"),
        id_hints=("ausweis", "pass", "schein"),
    ),
)  # fmt: skip
