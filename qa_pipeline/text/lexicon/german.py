"""German: word classes and conventions of writing. Data only."""

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
    Wording,
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

_ARRANGED = "(?!(?:An|Zu|Ein|Um|Neu|Un|Ab|Bei|Nach|Über|Unter|Rang|Größen|Reihen|Tages|Sitz)ordnung)"
"""Words that end in "ordnung" and are no laws: an arrangement, an agenda."""
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
    wording=Wording(
        key_value="Was ist bei {place} unter {key} angegeben?",
        laws=(
            (re.compile(r"(?:[^(]{0,200}\()?([A-ZÄÖÜ][a-zäöüß]+(?:gesetz|statut|gesetzbuch))(?: ?[-–,] ?\w+(?: \d+)?)?\)?"), r"nach dem \1"),
            (re.compile(rf"(?:[^(]{{0,200}}\()?({_ARRANGED}[A-ZÄÖÜ][a-zäöüß]+(?:ordnung|satzung|richtlinie))(?: ?[-–,] ?\w+(?: \d+)?)?\)?"), r"nach der \1"),
            (re.compile(r"([A-ZÄÖÜ][a-zäöüß]+)es Gesetzbuch(?: \([^()]*\))?"), r"nach dem \1en Gesetzbuch"),
            (re.compile(r"((?:[A-ZÄÖÜ][a-zäöüß]*g|G)esetz (?:über|zur|zum|für|betreffend) [^()]{4,80}?)(?: \([^()]*\))?"), r"nach dem \1"),
            (re.compile(rf"({_ARRANGED}[A-ZÄÖÜ][a-zäöüß]*(?:ordnung|satzung) (?:über|zur|zum|für) [^()]{{4,80}}?)(?: \([^()]*\))?"), r"nach der \1"),
        ),
        leaning=words("""
            ihn ihnen abhängig je entsprechend entsprechende entsprechenden entsprechender entsprechendes genannte genannten stattdessen meist meistens oft manchmal niemand jemand üblicherweise normalerweise beispielsweise er sie es ihr ihre ihren ihrer ihm dies diese dieser dieses diesen diesem solche solcher solches
            oben unten folgende folgenden folgendes folgender obige obigen vorherige hier dort dabei dazu
            damit dafür daraus davon daran darin dadurch deshalb daher außerdem andere anderen anderes ich wir
            unser unsere mein jedoch auch beide erste ersten zweite zweiten letzte letzten gleiche nächste so
            dann also und oder aber"""),
        pointing=words("""
            folgende folgenden folgender folgendes folgendem oben unten nachfolgend nachfolgende abschnitt
            nachfolgenden siehe obige obigen obiger hier vorigen vorherigen folgt abbildung"""),
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
        clauses=(r"Art\.", "Artikel"),
        references=("siehe auch", r"literatur\w*", "referenzen", "quellen", "verweise", "verwandte .*",),
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
