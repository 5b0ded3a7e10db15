"""German: closed word classes, numbers, months, opposites. Data only."""

from qa_pipeline.text.lexicon.base import (
    Lexicon,
    classes,
    compounds,
    contracted,
    numbered,
    opposed,
    phrases,
    words,
)

GERMAN = Lexicon(
    code="de",
    stemmer="german",
    decimal_comma=True,
    nouns_capitalised=True,
    stop_words=words(
        """ein eine einer eines einem einen der die das den dem des und oder aber so als dass daß wer
        was wo wann warum wie welche welcher welches welchen da hier ist sind war waren sein bin
        bist gewesen wird werden wurde wurden worden hat haben hatte hatten habe kann können konnte
        könnte soll sollen sollte muss müssen musste darf dürfen will wollen möchte mag in im an am
        auf aus bei beim von vom zu zum zur mit für gegen über unter zwischen durch nach vor seit
        bis um per via ohne nicht kein keine auch nur sehr mehr meist man er sie es ihr ihre ihrer
        ihrem ihren sein seine seiner seinem wir uns unser unsere ich mich mir mein du dich dir dein
        sich selbst sowie beide jede jeder jedes andere anderer anderes einige alle weil während
        beträgt betragen lautet bevor jedoch daher also z.b d.h usw bzw dieser diese dieses diesem
        diesen jener wenn falls ob dann noch schon nun etwa dabei damit dazu daran hin her"""
    ),
    not_word="nicht",
    and_word="und",
    cell_sentence="{0} für {1} ist {2}.",
    negations=words(
        "nicht kein keine keiner keinen keinem keines nie niemals ohne weder noch nichts niemand nirgends"
    ),
    soft_negations=words(
        """kaum fehlt fehlen unmöglich verboten außer ausgenommen selten verhindert stattdessen
        weigert weigerte abgelehnt lehnte vermeidet vermeiden vermied"""
    ),
    clause_openers=words("weil denn aber während dass wenn obwohl und oder sondern"),
    passive_agents=words("von vom durch"),
    joiners=words("und oder sowie bzw"),
    negative_prefixes=("un", "in", "im", "ir", "nicht-", "nicht", "miss"),
    opposites=opposed(
        """aktiviert,aktivieren,eingeschaltet,aktiviere/deaktiviert,deaktivieren,ausgeschaltet,abgeschaltet
erlaubt,erlauben,gestattet,zulässig,zugelassen,darf,dürfen/verboten,untersagt,unzulässig,verbietet,verweigert
        vor,vorher,bevor/nach,nachher,nachdem
        mindestens,minimum,minimal,wenigstens/höchstens,maximum,maximal
steigt,steigen,stieg,gestiegen,erhöht,erhöhen,zunimmt,wächst,wuchs,zunahme,anstieg/sinkt,sinken,sank,gesunken,verringert,verringern,abnimmt,abnahme,rückgang,reduziert,fällt,fiel
höher,höhere,höheren,höchste,höchsten,hoch,hohe,hohen/niedriger,niedrigere,niedrigste,niedrigsten,niedrig,niedrige,tiefer
        mehr,meisten/weniger,wenigsten
        größer,größere,größte,größten/kleiner,kleinere,kleinste,kleinsten
        schneller,schnellste,schnell/langsamer,langsamste,langsam
        erste,ersten,erster,erstes,zuerst/letzte,letzten,letzter,letztes,zuletzt
        früher,frühere,früheste,früh/später,spätere,späteste,spät oberhalb,über/unterhalb,unter
        innerhalb/außerhalb beginnt,beginn,begann,anfang,startet/endet,ende,endete,schließt
        offen,geöffnet,öffnet/geschlossen
        enthält,enthalten,inklusive,einschließlich,umfasst/ausgeschlossen,exklusive,ausschließlich
        wahr/falsch ja/nein ein/aus
        akzeptiert,annehmen,angenommen,genehmigt/abgelehnt,ablehnen,lehnt
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
        lang,lange,länger/kurz,kurze,kürzer warm,wärmer,heiß/kalt,kälter
        einfach,leicht/schwierig,schwer voll/leer vorübergehend/dauerhaft
        manuell,manuelle/automatisch,automatische import,importiert/export,exportiert"""
    ),
    numbers={
        **numbered(
            """eins/ein/eine/einen/einem/einer zwei drei vier fünf sechs sieben acht neun zehn
                elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig"""
        ),
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
        for stem, number in numbered(
            """erst zweit dritt viert fünft sechst siebt/siebent acht neunt zehnt elft zwölft
                dreizehnt vierzehnt fünfzehnt sechzehnt siebzehnt achtzehnt neunzehnt zwanzigst"""
        ).items()
        for ending in ("e", "er", "es", "en", "em")
    },
    scales={"hundert": 1e2, "tausend": 1e3, "million": 1e6, "millionen": 1e6, "mio": 1e6, "milliarde":
        1e9, "milliarden": 1e9, "mrd": 1e9, "billion": 1e12, "billionen": 1e12},
    months=numbered(
        """januar/jan/jänner februar/feb märz/mär/mrz april/apr mai juni/jun juli/jul august/aug
            september/sep/sept oktober/okt november/nov dezember/dez"""
    ),
    lower_bounds=phrases(
        """mindestens, wenigstens, nicht weniger als, mehr als, über, oder mehr, oder höher, oder
        später, ab, übersteigt, größer als, frühestens"""
    ),
    upper_bounds=phrases(
        """höchstens, maximal, bis zu, nicht mehr als, weniger als, unter, oder weniger, oder
        niedriger, kleiner als, spätestens, innerhalb von"""
    ),
    approximations=phrases(
        """etwa, ungefähr, rund, circa, ca, fast, knapp, annähernd, ~"""
    ),
    universal=words(
        """alle allen aller alles jede jeder jedes jedem jeden immer sämtliche ganz vollständig
            gesamte gesamten"""
    ),
    partial=words(
        """einige manche mehrere viele oft manchmal meist meistens teilweise wenige gelegentlich
            normalerweise üblicherweise"""
    ),
    exclusive=words("nur ausschließlich lediglich allein"),
    strong=words("muss müssen verpflichtet verpflichtend obligatorisch"),
    weak=words("kann können könnte könnten darf dürfen sollte sollten möglicherweise optional"),
    conditions=phrases(
        """wenn, falls, sofern, außer, vorausgesetzt, solange, sobald, nur"""
    ),
    greetings=words(
        """hallo hi danke willkommen grüße gruß gerne natürlich selbstverständlich guten
            entschuldigung"""
    ),
    determiners=words("ein eine einer eines einem einen der die das den dem des"),
    fillers=words("jedoch daher also auch zudem außerdem somit folglich ferner dennoch allerdings damit"),
    conjunctions=words("und sowie"),
    contrasts=words(
        """aber jedoch außer ausgenommen obwohl während hingegen sondern stattdessen nicht allerdings
        doch"""
    ),
    conditional_words=words(
        """wenn falls sofern außer vorausgesetzt solange sobald nur bevor nachdem bis ob ohne lediglich
        je während soweit als"""
    ),
    example_openers=("zum beispiel", "z.b.", "z. b.", "beispielsweise", "etwa", "wie zum beispiel"),
    reason_openers=words("weil denn"),
    finite_verbs=words(
        """ist sind war waren hat haben hatte hatten kann können konnte darf dürfen muss müssen soll
        sollen wird werden wurde wurden will wollen"""
    ),
    contractions={"im": ("in", "dem"), "zum": ("zu", "dem"), "zur": ("zu", "der"), "vom": ("von", "dem"),
        "beim": ("bei", "dem"), "am": ("an", "dem"), "ins": ("in", "das"), "ans": ("an", "das")},
    function_classes=classes(
        """und oder, muss darf soll kann sollte, alle einige manche keine viele wenige, vor nach während
        bis seit,
        wenn weil obwohl, in auf unter über zwischen von zu mit ohne durch für, mehr weniger,
        immer nie oft manchmal, nur auch, ist war, jede keine, mindestens höchstens, sind waren"""
    ),
    question_words=words(
        """zahlen zahlt kosten kostet darf brauchen braucht benötigt gilt gelten woher was welche
        welcher welches welchen welchem wer wen wem wie viele viel lange oft wann wo warum steht
        sagt gibt nennt angegeben angibt liste tabelle spalte zeile abschnitt unter heißt name wert
        bedeutet definiert definition laut dokument text beschreibt beschrieben erklärt verwendet
        schritt schritte"""
    ),
    row_glue=words(
        """beträgt betragen lautet ist sind war waren hat haben in im an am von vom für zu zum mit und
        der die das den dem des ein eine"""
    ),
    adding_relatives=words("was wobei"),
    auxiliaries=frozenset(),
    negation_tails=words("mehr länger"),
    openings=words("aber und auch außerdem zudem jedoch"),
    endings=frozenset(("", *["s", "es", "n", "en", "e", "er", "em"])),
    collectives=words(
        """zwischen sowohl besteht bestehen kombination summe gesamt zusammen gemeinsam durchschnitt
        mischung unterschied entweder"""
    ),
    copulas=words("ist sind war waren"),
    past_copulas=words("war waren"),
    relatives=words("die der das"),
    subject_pronouns=words("er sie es"),
    degree_words=words("wie"),
    value_columns=words("wert betrag einheit einheit anzahl"),
    measures=contracted(
        """druck=pressure spannung=voltage gewicht=mass länge=length höhe=length breite=length abstand=length
        entfernung=length tiefe=length temperatur=temperature preis=eur+usd+gbp kosten=eur+usd+gbp
        gebühr=eur+usd+gbp betrag=eur+usd+gbp fläche=area volumen=volume leistung=power
        geschwindigkeit=speed frequenz=frequency dauer=time+months zeitraum=time+months frist=time+months
        anteil=percent größe=bytes+area+length strom=current energie=energy"""
    ),
)  # fmt: skip
