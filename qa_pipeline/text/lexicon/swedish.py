"""Swedish: word classes and conventions of writing. Data only."""

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

_PASTAENDEN = r"påståenden?|påståendena|påståendet|svar|svaret|svaren|utsagor(?:na)?|utsagan?"

SWEDISH = Lexicon(
    code="sv",
    stemmer="swedish",
    decimal_comma=True,
    nouns_capitalised=False,
    stop_words=words("""
        en ett den det de dem deras dess denna detta dessa och eller men så än att som vilken vilket vilka vem
        vad var när varför hur där här är vara var varit blir bli blev blivit har ha hade haft kan kunde ska
        skall skulle må får fick måste bör vill ville i på av för från till med om mot vid under över mellan
        genom per via efter hos utan inte ej också bara mycket mer mest man han hon hans hennes sin sitt sina
        vi oss vår vårt våra ni er jag mig min mitt du dig din ditt dina sig själv samt både varje annan annat
        andra någon något några alla eftersom medan uppgår innan dock därför alltså t.ex dvs m.m osv in ut upp
        ner redan då nu"""),
    not_word="inte",
    and_word="och",
    cell_sentence="{0} för {1} är {2}.",
    negations=words("inte ej icke aldrig utan ingen inget inga inte varken ingenting"),
    soft_negations=words("""
        knappast saknar saknas omöjligt förbjudet undantag förutom sällan istället vägrar vägrade nekar nekade
        undviker undvika undvek"""),
    clause_openers=words("eftersom därför men som medan om när att fast trots och eller"),
    passive_agents=words("av"),
    comparing=words("än"),
    passive_words=words("blir blev bli blivit"),
    prepositions=words("""
        av i på för från till med om mot vid under över mellan genom per via efter hos utan inom utom bland
        före kring runt enligt sedan åt ur"""),
    of_word="av",
    infinitive_marks=words("att för"),
    verbal_nouns="",
    genitives=(),
    verb_second=True,
    question_openers=words("varmed varför vart vilken vilket vilka vad vem vems var vart varifrån när varför hur"),
    clause_openers_only=words("och eller samt än vars vilka vilket"),
    object_askers=words(""),
    passive_endings="s",
    subject_askers=words("vem"),
    joiners=words("och eller samt respektive"),
    negative_prefixes=("o", "in", "im", "ir", "icke-", "icke", "miss"),
    opposites=opposed("""
        aktiverad,aktiverat,aktiverade,aktivera,aktiverar,påslagen,påslaget/inaktiverad,inaktiverat,inaktiverade,inaktivera,inaktiverar,avstängd,avstängt,avstängda,avslagen
        tillåtet,tillåten,tillåtna,tillåter,tillåta,tillåts/förbjudet,förbjuden,förbjudna,förbjuder,förbjuda,förbjuds,nekas,nekar,nekad
        före,innan/efter dessförinnan/därefter minst,minimum,lägst/högst,maximum,maximalt,max
        ökar,öka,ökade,ökat,ökning,stiger,steg,växer,växte/minskar,minska,minskade,minskat,minskning,sjunker,sjönk
        högre,högsta,hög,högt,höga/lägre,lägsta,låg,lågt,låga mer,mest,fler,flest/mindre,minst,färre
        större,störst,största/mindre,minsta
        snabbare,snabbast,snabb,snabbt/långsammare,långsammast,långsam,långsamt
        först,första,förste/sist,sista,siste tidigare,tidigast,tidig/senare,senast,sen
        ovanför,över/under,nedanför inom,inne,inuti/utanför
        börjar,börjar,början,start,startar,inleds/slutar,slutet,slut,upphör,avslutas
        öppen,öppet,öppna,öppnar/stängd,stängt,stängda,stänger
        inkluderar,inkluderas,inklusive,ingår,omfattar/exkluderar,exklusive,undantas,utesluts sant/falskt
        ja/nej på/av accepterar,godkänner,godkänns,godkänd/avvisar,avslår,avslås,underkänd,underkänns
        lägger,läggs,lägga/tar,tas,raderas,raderar,radera samma,lika,identisk/olika,annorlunda
        obligatorisk,obligatoriskt,obligatoriska,krävs/frivillig,frivilligt,frivilliga,valfri,valfritt,valfria
        offentlig,offentligt,offentliga/privat,privata intern,internt,interna/extern,externt,externa
        köper,köpa,köpte,köpare/säljer,sälja,sålde,säljare vinner,vann,vinst/förlorar,förlorade,förlust
        säker,säkert,säkra/osäker,osäkert,farlig,farligt,farliga vänster/höger norr,norra/söder,södra
        öster,östra/väster,västra gammal,gamla,äldre,äldst,äldsta/ny,nytt,nya,yngre,yngst,yngsta
        bäst,bästa,bättre/sämst,sämsta,sämre alltid,ofta/aldrig,sällan
        billig,billigare,billigast/dyr,dyrare,dyrast giltig,giltigt,giltiga/ogiltig,ogiltigt,ogiltiga
        laglig,lagligt/olaglig,olagligt man,män,manlig,pojke,pojkar/kvinna,kvinnor,kvinnlig,flicka,flickor
        stark,starkare/svag,svagare lång,långa,längre,längst/kort,korta,kortare,kortast
        varm,varmt,varma,varmare/kall,kallt,kalla,kallare lätt,enkel,enkelt/svår,svårt full,fullt/tom,tomt
        tillfällig,tillfälligt/permanent import,importerar/export,exporterar
        manuellt,manuell/automatiskt,automatisk"""),
    numbers={
        **numbered("""
            ett/en två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton
            arton/aderton nitton tjugo"""),
        **compounds(
            "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio",
            "ett två tre fyra fem sex sju åtta nio",
            lambda ten, unit: f"{ten}{unit}",
        ),
        **compounds(
            "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio", "en", lambda ten, unit: ten + unit
        ),
        "noll": 0, "trettio": 30, "fyrtio": 40, "femtio": 50, "sextio": 60, "sjuttio": 70, "åttio": 80,
        "nittio": 90, "dussin": 12, "hälften": 0.5, "båda": 2, "bägge": 2, "dubbelt": 2,
    },
    ordinals=numbered("""
        första/förste andra/andre tredje fjärde femte sjätte sjunde åttonde nionde tionde elfte tolfte
        trettonde fjortonde femtonde sextonde sjuttonde artonde nittonde tjugonde"""),
    scales={"hundra": 1e2, "tusen": 1e3, "miljon": 1e6, "miljoner": 1e6, "mn": 1e6, "miljard": 1e9,
        "miljarder": 1e9, "md": 1e9, "biljon": 1e12, "biljoner": 1e12},
    months=numbered("""
        januari/jan februari/feb mars/mar april/apr maj juni/jun juli/jul augusti/aug september/sep/sept
        oktober/okt november/nov december/dec"""),
    lower_bounds=phrases("""
        minst, åtminstone, lägst, mer än, fler än, över, eller mer, eller fler, eller högre, eller senare,
        från, överstiger, från och med, tidigast"""),
    upper_bounds=phrases("""
        högst, max, maximalt, upp till, inte mer än, mindre än, färre än, under, eller mindre, eller färre,
        eller lägre, understiger, som mest, till och med, senast, inom"""),
    approximations=phrases("ungefär, cirka, ca, omkring, runt, nästan, drygt, knappt, uppskattningsvis, ~"),
    universal=words("alla allt varje samtliga alltid hela helt fullständigt"),
    partial=words("vissa några flera många ofta ibland vanligtvis delvis oftast somliga få normalt"),
    exclusive=words("bara endast enbart uteslutande"),
    strong=words("måste ska skall obligatorisk obligatoriskt skyldig skyldiga"),
    weak=words("kan får bör kunde borde möjligen eventuellt"),
    conditions=phrases("""
        om du, om man, om det, om den, om de, om ni, om vi, om jag, om en, om ett, om inte, om någon, såvida,
        förutsatt, utom, förutom, när, ifall, tills, bara, endast"""),
    determiners=words("en ett den det de"),
    also=words("även också"),
    fillers=words("dock därför alltså också även dessutom således vidare emellertid därmed följaktligen"),
    conjunctions=words("och samt"),
    contrasts=words("men dock förutom utom fast medan däremot utan istället snarare inte"),
    conditional_words=words("""
        om såvida förutsatt när ifall tills innan efter bara endast enbart sedan medan utan beroende under då
        som"""),
    example_openers=("till exempel", "t.ex.", "exempelvis", "såsom", "bland annat", "t ex"),
    reason_openers=words("eftersom därför"),
    finite_verbs=words("""
        är var har hade kan kunde får fick måste ska skall skulle bör vill ville blir blev gör gjorde"""),
    contractions={},
    function_classes=classes("""
        måste får, måste kan, ska får, alla inga, några inga, många få, före efter, innan sedan, om
        eftersom fast, med utan, över under, mer mindre, alltid aldrig, ofta aldrig, ibland alltid, endast
        även, minst högst, upp ner"""),
    question_words=words("""
        göra
        kostar betala varifrån behövs gäller krävs tillåten tillåtet vad vilken vilket vilka vem hur många
        mycket länge ofta när var varför anges anger står säger ger ges lista tabell tabellen kolumn kolumnen
        rad raden avsnitt avsnittet under heter kallas namn värde värdet betyder innebär definieras definition
        enligt dokument dokumentet text texten beskrivs förklara förklaras används steg föreskriver avses menas
        gör händer tid dag sort slag"""),
    interrogatives=tuple(map(words, ("när", "var vart varifrån", "varför", "vem vems", "hur"))),
    row_glue=words("är var har hade i på av för till med och den det de en ett uppgår"),
    adding_relatives=words("vilket"),
    auxiliaries=frozenset(),
    negation_tails=words("längre mer"),
    spellings=(),
    openings=words("men och också även dessutom dock"),
    endings=frozenset(("", *["s", "n", "en", "et", "t", "ar", "er", "or", "na", "arna", "erna",
    "orna", "a", "e", "ens", "ets"])),
    apart=r"(?!(\w*(?:[^aet]|et))/\1s\Z)\w*[^s]/\w*s",  # passives, genitives aside
    verb_form=r"\w+[dt]es",
    passive_infinitive="",
    collectives=words("""
        mellan både består kombination summa totalt tillsammans gemensamt genomsnitt blandning skillnaden
        antingen vare"""),
    definite=words("den det de"),
    indefinite=words("en ett"),
    same_words=equals("ska=skall inte=ej,icke"),
    same_phrases={
        ("varje", "dag"): "dagligen", ("varje", "vecka"): "veckovis", ("varje", "månad"): "månadsvis",
        ("varje", "år"): "årligen", ("varje", "kvartal"): "kvartalsvis",
    },
    irregular=equals("""
        sälja=säljer,sålde,sålt,säljs,såldes ge=ger,gav,gett,givit,ges,gavs ta=tar,tog,tagit,tas,togs
        skriva=skrev,skrivit,skrevs göra=gör,gjorde,gjort,görs,gjordes gå=går,gick,gått stå=står,stod,stått
        få=får,fick,fått komma=kom,kommit hålla=håller,höll,hållit,hålls,hölls vinna=vann,vunnit
        bli=blir,blev,blivit dra=drar,drog,dragit se=ser,såg,sett bjuda=bjöd,bjudit finna=fann,funnit
        bära=bar,burit lägga=lägger,lade,lagt,läggs sätta=sätter,satte,satt,sätts
        betala=betalar,betalade,betalt,betalas"""),
    open_compounds=False,
    counted_by_article=words("del fåtal"),
    copulas=words("är var"),
    past_copulas=words("var"),
    relatives=words("som"),
    subject_pronouns=words("han hon"),
    degree_words=words("hur"),
    value_columns=words("värd värde belopp enhet antal"),
    measures=contracted("""
        våglängd=length tryck=pressure trycket=pressure spänning=voltage spänningen=voltage vikt=mass vikten=mass längd=length
        längden=length höjd=length bredd=length avstånd=length temperatur=temperature temperaturen=temperature
        pris=sek+eur+usd priset=sek+eur+usd kostnad=sek+eur+usd avgift=sek+eur+usd avgiften=sek+eur+usd
        belopp=sek+eur+usd yta=area volym=volume effekt=power effekten=power hastighet=speed
        frekvens=frequency tid=time+months tiden=time+months period=time+months andel=percent andelen=percent
        storlek=bytes+area+length ström=current energi=energy"""),
    names=("svenska", "swedish"),
    deictic=words("""
        denna detta dessa den det de dem dess deras han hon hans hennes sådan sådana här följande ovan nedan
        exempel samma vi vår du din man första andra"""),
    conventions=Conventions(
        never_final=words("""
            t.ex bl.a d.v.s dvs s.k p.g.a pga fr.o.m f.d f.n fn f.ö m.a.o v.g ang avs bl ca c:a dr e.kr f.kr
            egentl ev exkl fr förf hr i.s.f inkl jfr jmf med.dr fil.dr fil.lic fil.mag tekn.dr jur.dr jur.kand civ.ing leg tekn nuv näml ordf prof resp sk t.v t.h t.om t.o.m
            urspr utg v.v äv övers s:t s:ta kungl dåv enl forts föreg"""),
        often_final=words("""
            a.a a.st d.y d.ä e.d e.dyl o.d o.dyl o.l e.l jr sr f ff m.fl tr a.m p.m u.a mom milj mdr mkr tkr tim
            min sek"""),
        closing=words("m.m mm osv o.s.v etc m.m.m"),
        before_number=words("""
            kap nr s sid st p punkt art prop bet rskr dir ds fig tab bil avd avsn vol kl tel kv mom t v uppl
            ref ver jan feb mar apr jun jul aug sep sept okt nov dec"""),
        openers=words("""
            det den de detta denna dessa han hon vi ni jag du man en ett i på av för från med till om när då
            där här som att men och eller så dock också även efter före innan under över enligt vid hos mellan
            genom utan inom mot trots därför eftersom medan sedan vad vem vilka vilken vilket hur varför ingen
            inget inga alla varje någon något några sådan sådant sådana samma lagen förordningen vidare
            dessutom bestämmelser har är kan ska skall får bör"""),
        months=words("januari februari mars april maj juni juli augusti september oktober november december"),
        ordinal_leads=words("den till från"),
    ),
    speakers=words("jag vi mig oss du dig ni er gärna vänligen tveka"),
    pronouns=Pronouns(
        leaning=words("den det de denna detta dessa han hon hen dess deras hans hennes"),
        singular=words("den det denna"),
        plural=words("de dessa"),
        articles=words("den det de denna detta dessa en ett vår vårt våra"),
        verbs=words("""
            är var har hade kan kunde ska skall skulle får fick måste bör vill blir blev kommer gäller består
            ingår finns heter"""),
        impersonal=words("att om när hur varför möjligt viktigt finns som krävs"),
        demonstratives=words("denna detta dessa"),
        endings={"den": "n", "denna": "n", "det": "t", "de": "na", "dessa": "na"},
    ),
    context=Contexts(
        voiding=words("""
            aldrig avskaffad avskaffade avskaffat avskaffats avskräckande avvecklad avvecklade
            avvecklat bluff dementerad dementerat dementerats fallgropar falska falskt farliga
            farligt fejk fel felaktig felaktiga felaktigt fiktiv fiktivt förbjuden förbjudet
            förbjudna förfallen förfallet föråldrad föråldrade föråldrat hypotetisk hävd hävt
            hävts indragen indraget inställd inställda inställt lögn lögner missförstånd
            missuppfattning missuppfattningar motbevisad motbevisat motexempel myt myten myter
            nedlagd nedlagda nedlagt nonsens ogiltig ogiltiga ogiltigförklarad ogiltigförklarat
            ogiltigt olaglig olagliga olagligt olovlig olovligt osanning osant oskick otillåten
            otillåtet otillåtna parodi preskriberad prognos prognoser påhittad påhittat rykte
            rykten satir skräckexempel skröna skämt slopad slopade slopat uppdiktad uppdiktat
            upphävd upphävda upphävt utgången utgått utkast vidskepelse villfarelse återkallad
            återkallade återkallat"""),
        tentative=words("förslag remiss diskussion"),
        quoting=(r"så här", r"så här i reklamen",),
        outdated=words("""
            arkiverade arkiverat avslagen avslaget avslagna borttagna dålig dåliga ersatt
            föregångare föregångaren föreslagen föreslaget föreslagna förfallna förkastad
            förkastade förkastat förlegade gamla gammal gammalt historiska inaktuell inaktuella
            inaktuellt inställda legender misslyckade nedlagd nedlagda planerad planerade
            planerat rykten slopad slopade slopat tidigare upphävd upphävda utgången utgångna
            äldre övergiven övergivet övergivna"""),
        permitting=words("""
            stöds tillgänglig tillgängligt tillåtet tillåten tillåtna göra använda rekommenderas giltigt
            godkänt omfattas ingår"""),
        supposing=(
            r"tänk (?:er|om)\b", r"så här (?:lät|sade|löd)\b", r"[^.]{0,40}\bberättas\b", r"låt oss leka",
            r"i (?:romanen|filmen|serien|sagan|spelet|boken|novellen|berättelsen|reklamen)\b",
            r"(?:många|vissa|en del|de flesta)\b[^.]{0,40}\b(?:tror|tänker|anser|hävdar|menar|hoppas|påstår)\b",
            r"så (?:tänker|tror|resonerar|sägs)\b", r"ryktet\b",
            r"enligt (?:den |de )?(?:åtalade|säljaren|kritiker|kritikerna|motståndarna|ryktet|käranden|svaranden|sägnen|legenden)",
            r"(?:kritiker|kritikerna|motståndare|motståndarna|käranden|svaranden|den åtalade|säljaren|oppositionen)\b",
            r"[^.]{0,40}\b(?:anförde|gjorde gällande|lyder så här)\b", r"antag\b", r"anta\b",
            r"tänk dig\b", r"föreställ dig\b", r"låt oss (?:säga|anta|tänka)\b", r"säg att\b",
        ),
        reporting=words("""
            affisch affischen anförde anhängare anklagade anklagar anklagelse anklagelser annat
            annons annonsen annorlunda anser ansåg antydde antyder befarade befarar berätta
            berättade berättades berättar berättat berättats blogg bloggen broschyr broschyren
            citerade citerar citerat drömmer fantasi filmen folktro föreslog föreslår
            förespråkare förmodade förmodar försvaret försäkrade försäkrar försäljare
            försäljaren förutspådde förutspår gissade gissar hoppades hoppas horoskop hypotes
            hävdade hävdar hävdat hävdats hör hörde hörsägen hört inlägg inlägget insändare
            insändaren invände invänder kampanj kampanjen kandidat kandidaten kandidater klagade
            klagar klagomål kritiker kritikerna krävde kräver krönika krönikan käranden legend
            legenden lobbyister lovade lovar lovas menade menar menat misstänker misstänkte
            motståndare motståndarna myten mäklare mäklaren nybörjare nämnde nämnt pjäs pjäsen
            politiker påpekar påstod påstods påstådd påstådda påstående påståenden påstår påstås
            påstått påståtts reklam reklamblad roman romanen rykte ryktet råd sa sade saga sagan
            sagt sagts serie skrev skrivit skryter skröna skröt skvaller slogan spekulation
            spekulerade spekulerar spådde spådom stämning svaranden säga sägen säger sägnen sägs
            tidning tidningen tillverkaren trodde tror trott tv-serien tycker tyckte uppgav
            uppger uppges uppgett uppgivit upprepade upprepat utlovade utlovar utlovas
            vidskepelse vittnade vittne vittnen åklagare åklagaren åtalade återgav återger
            återges återgett återgivit önskade önskar"""),
        announcing=words("""
            följande följer nedan nedanstående något"""),
        embedding=words("""
            att huruvida"""),
        asserting=words("""
            bekräftade bekräftar betyder bevisade bevisar ihåg innebar innebär minns notera obs
            observera visade visar visat"""),
        pointing=words("det detta dessa den de sådana sådant ingendera"),
        confirming=words("sant gäller stämmer riktigt korrekt längre fallet giltigt"),
        revoking=(
            r"sedan dess\b",
            r"(?:det|den|detta|denna) \w+ (?:är|har|blev) (?:numera |sedan )?(?:övergiv|underkän|avskaff|upphäv|slopa)",
            r"så (?:hette|sades|var) det\b", r"[^.]{0,40}har underkänt\b",
            r"i (?:verkligheten|praktiken|själva verket)\b",
            r"(?:uppgiften|beräkningen|påståendet)\b.{0,40}\b(?:fel|missförstånd|falsk\w*|osann?t?)\b",
            r"så är det (?:dock )?(?:inte|ej)", r"det(?:ta)? (?:är|var) (?:dock )?(?:inte|fel|falskt|en)",
            r"fram till\b.{0,60}\bstäng",
        ),
        parenthetic=words("dock emellertid däremot"),
        retracting=words("""
            avskaffades avslagits avslogs avslutades avvisades bestred bestrider dementerade
            dementerar fördubblades förnekade förnekar gick grundlöst halverades hävdes höjdes
            höjts ifrågasatt ifrågasätts ingen misslyckades misstag misstaget missvisande
            motsäger motsägs nekade obekräftad obekräftat obevisat ogrundad ogrundat omtvistat
            rättades rättat rättelse skrivfel slutade slutat stoppades stoppats struntprat
            sänktes sänkts tryckfel tveksamt tvivelaktigt upphävdes upphävts upphörde upphört
            vägrade ändrades ändrats ångrade återkallades överdrift överdrivet"""),
        changing=words("""
            idag nuförtiden numera sedermera"""),
        framing=words("""
            dittills fordom föregångare föregångaren föregångarens förr konkurrent konkurrenten
            tidigare ursprungligen"""),
        past_endings=("ade", "ades", "dde", "ddes", "evs"),
        past=words("""
            föreskrevs stadgades var hade blev kom gick sade sa visade försvann föll bröt förlorade vann fann trodde
            visste gav tog gjorde höll sprang stod såg ledde mötte började lämnade gällde fanns
            ändrades avskaffades slutade ersattes upphörde lades togs hävdes"""),
        interjections=words("""
            nej inte tyvärr ursäkta förlåt rättelse fel tji knappast skrock nonsens ack"""),
        valid=words("""
            gällande gäller antagen beslutad fastställd publicerad aktuell slutlig aktiv giltig
            godkänd klar ny stabil officiell färdig kraft"""),
        imagining=words("""
            anta antag antar antas tänk föreställ leker påhittat påhittad tänkt fiktivt fiktiv
            hypotetiskt scenario scenariot rollspel låtsas"""),
        repealing=words("""
            upphävd upphävda upphävt upphävts återkallad återkallat återkallats avskaffad
            avskaffat avskaffats indragen indragits slopad slopats avslutad avslutats nedlagd
            nedlagts strukits struken motsatsen tvärtom"""),
        opposing=words("""
            dock däremot emellertid fast förutom likväl men trots tvärtom utom ändå"""),
        exempting=words("""
            avslutades avslutas avstå avstår befriad befriade befriat exkluderas förutsätter
            förutsätts inställd inställs omfattas slipper slopas undantag undantagen undantagna
            undantas underlåta undvik upphör upphörde upphört utesluten utesluter uteslutna
            utesluts utgår"""),
        excepting=("utom", "förutom", "med undantag", "bortsett från", "frånsett", "undantaget",),
        replies=words("nej ja jo"),
        scales=words("tusental tkr mkr mnkr miljoner miljarder ksek msek"),
    ),
    wording=Wording(
        key_value="Vad anges under {key} för {place}?",
        laws=(
            (re.compile(r"Kungörelse(?: \([\d: ]+\))? ((?:om|med|angående|för) [^()]{3,90})"), r"enligt kungörelsen \1"),
            (re.compile(r"(?:Lag|lag)(?: \([\d: ]+\))? ((?:om|med|angående|mot|för) .{3,90})"), r"enligt lagen \1"),
            (re.compile(r"Förordning(?: \([\d: ]+\))? ((?:om|med|angående|för) .{3,90})"), r"enligt förordningen \1"),
            (re.compile(r"([A-ZÅÄÖ][a-zåäö]+)(lag|förordning|balk)(?: \([\d: ]+\))?"), r"enligt_\1\2en"),
            (re.compile(r"([A-ZÅÄÖ][a-zåäö]+kungörelse)(?: \([\d: ]+\))?"), r"enligt_\1n"),
        ),
        leaning=words("""
            annars senare speciellt grovt därefter normalt naturligtvis numera tidigare ofta således tyvärr ursprungligen slutligen samtidigt kanske
            troligen egentligen endast alltid sällan exempelvis vanligtvis oftast ibland istället ingen ingenting alltså dels övriga den det de dem dess deras denna detta dessa han hon sin sitt sina sådan sådant sådana ovan nedan
            ovanstående följande föregående här där därför därmed dock också även andra annan annat jag mig min mitt mina vi vår
            vårt våra båda första förste sista samma nästa sedan så då men och eller dessutom vidare"""),
        pointing=words("följande nedan ovan ovanstående nedanstående föregående figur"),
    ),
    letter_tokens=0.17,
    object_cases=(),
    article_cases=(),
    verb_final=False,
    large_numbers=LargeNumbers(
        hundreds=("hundra",),
        thousands=("tusen",),
        link="och",
        apart=words("båda bägge dubbelt dussin"),
        parts={"tredjedel": 3, "fjärdedel": 4, "femtedel": 5, "sjättedel": 6, "tiondel": 10},
        ones=("en",),
        plural="ar",
        joined=True,
        respelt={"ettusen": "etttusen"},
    ),
    units=contracted("""
        percent=procent millisecond=millisekund+millisekunder second=sekund+sekunder minute=minut+minuter
        hour=timme+timmar+tim day=dag+dagar+dygn week=vecka+veckor month=månad+månader year=år
        millimetre=millimeter centimetre=centimeter metre=meter kilometre=kilometer kilogram=kilo litre=liter
        hectare=hektar degree=grad+grader pound=pund krona=kr+kronor pixel=pixlar
        millilitre=milliliter centilitre=centiliter decilitre=deciliter"""),
    year_leads=words("år sedan"),
    ordinal_endings=(":[ea]",),
    decade_endings=("-talet",),
    dependent_openers=words("att om när huruvida ifall såvida tills"),
    linking_words=words("eller än inte och som till från"),
    sources=("källa",),
    reply_marks=("källa", "avsnitt"),
    reply_headings=("källor",),
    refusal_sources=r"(?:kunskapsbas|text|dokument|passage|käll|underlag|material|sammanhang|avsnitt|artik|utdrag|"
        r"handbok|handböck|manual|guide|sid|fil|kontext|information(?:en)? jag har)\w*",
    refusal=(
        r"\b(?:finns|framgår|nämns|anges|beskrivs|står|omnämns|går|förekommer|tas) (?:\w+ ){0,3}?(?:inte|ej|ingenstans|aldrig)\b[^.]{0,50}?\b{sources}"
        r"|\b(?:i|av|ur|från|enligt) (?:\w+ ){0,3}?{sources} (?:framgår|nämns|anges|står|finns|beskrivs|går|kan) (?:\w+ ){0,6}?(?:inte|ej|inget|ingenting|ingen|inga)\b"
        r"|\b{sources} (?:\w+ ){0,2}?(?:nämn|säg|ang|besvar|ge|ta|behandl|beskriv|berätt|förklar|specificer|omnämn|redogör|visar|räck)\w* (?:\w+ ){0,3}?"
        r"(?:inte|ej|inget|ingenting|ingen|inga)\b|\b{sources} (?:\w+ ){0,2}?(?:innehåller|har|saknar) (?:\w+ ){0,3}?(?:information|uppgift|svar|"
        r"detalj|omnämnande|inte (?:svar|någon information|information))\w*\b|\b{sources} innehåller (?:inte|ingenting)\b"
        r"|\b(?:inget|ingenting|ingen|inga) (?:i|av) (?:\w+ )?{sources}\b|\bstår (?:inget|ingenting) [^,]*{sources}"
        r"|\bjag (?:har )?(?:\w+ )?(?:saknar|inte tillgång till) (?:\w+ )?(?:information|uppgift|kunskap)"
        r"|\b(?:det )?(?:framgår|nämns|anges|står|sägs) (?:\w+ ){0,2}?(?:inte|ej)(?:$| (?:vad|hur|när|vem|var|varför|vilken|vilka|om)\b)"
        r"|\b(?:är|har) (?:\w+ )?(?:inte|ej) (?:angiv|nämn|känd|känt|specificera|beskriv|omnämn|angett)\w*$"
        r"|\b(?:finns|saknas|hittar|har|hittade|ser) (?:\w+ ){0,3}?(?:ingen|inga|inte (?:någon|några|tillräckligt?(?: med)?)|"
        r"tillräcklig)? ?(?:\w+ )?(?:information|uppgift|uppgifter|svar|underlag|kunskap|detaljer)\b"
        r"(?: (?:\w+ )?(?:om|i|för|tillgänglig|att|kring|på|angående|som|här|gällande)\b|$)"
        r"|\b(?:ingen|inga) (?:\w+ )?(?:information|uppgift|uppgifter) (?:finns |hittades )?(?:tillgängliga?|om|i|angående|finns|hittades)\b"
        r"(?!(?: \w+){1,4} (?:lagras|sparas|lämnas|samlas|delas))"
        r"|\b(?:jag|vi) (?:\w+ )?(?:kan|kunde) (?:\w+ ){0,2}?(?:inte|ej) (?:\w+ ){0,2}?(?:svara|besvara|hitta|säga|avgöra|finna|bedöma|"
        r"hjälpa|ge|utläsa|uttala|se)\b"
        r"|\b(?:kan|kunde) (?:jag|vi) (?:\w+ )?(?:inte|ej) (?:\w+ ){0,2}?(?:svara|besvara|hitta|säga|avgöra|finna|bedöma|hjälpa|ge|utläsa)\b"
        r"|\b(?:jag|vi) (?:\w+ )?(?:vet|hittar|finner|hittade|ser) (?:\w+ ){0,2}?(?:inte|ej|inget|ingenting|ingen|inga)\b"
        r"|\b(?:vet|hittar) jag (?:\w+ )?(?:inte|ej|inget)\b|\bjag är (?:\w+ )?(?:inte|ej|o)? ?säker\b"
        r"|\b(?:jag|vi) har (?:\w+ )?(?:inte tillräcklig|ingen|inte någon|inga)\w*\b (?:\w+ )?(?:information|aning|uppgift|uppgifter|kunskap|svar|kännedom)"
        r"|\b(?:frågan|det|detta) (?:kan|går) (?:\w+ )?(?:inte|ej) (?:\w+ )?(?:att )?(?:besvara|avgöra|svara|säga|fastställa|utläsa|bestämma)s?\b"
        r"|\b(?:går|är) (?:det )?(?:\w+ )?(?:inte|ej) (?:möjligt )?(?:att )?(?:besvara|avgöra|svara|säga|fastställa|utläsa|bestämma)\b"
        r"|\b(?:den här|denna|den) information(?:en)? (?:finns|är|saknas) ?(?:\w+ )?(?:inte|ej)?(?: tillgänglig)?$"
        r"|\b(?:ingen aning|otillräcklig information)\b"
        r"|^(?:okänt|ej angivet|framgår ej|uppgift saknas|information saknas|inte (?:angivet|angett|känt|nämnt)|inget svar|vet (?:ej|inte)|ingen (?:uppgift|information))$"),
    refusal_fillers=(
        r"(?:jag )?(?:beklagar|ber om ursäkt)|(?:jag är )?ledsen|förlåt|ursäkta|tyvärr|"
        r"(?:enligt|baserat på|utifrån|av|från|utgående från|när det gäller|angående|vad gäller)\b[^.]*|"
        r"(?:vänligen|var god|du (?:kan|bör|skulle)|ni kan|kontakta|försök|jag (?:föreslår|rekommenderar)|om du|för (?:mer|ytterligare)|"
        r"kan du|hör av|se gärna|kontrollera|fråga)\b.*|"
        r"{sources} (?:\w+ ){0,3}(?:bara|endast|enbart)\b.*|(?:de|den|det|där) (?:\w+ ){0,2}(?:bara|endast|enbart)\b.*"),
    clause_breaks=r"(?<=, )(?:bara|endast|troligen|förmodligen)|men|dock|fast|eftersom|därför att|medan|därför|utan|utom|istället|i stället|så(?= (?:jag|det|vi|frågan)\b)|vilket|däremot",
    apologies=("tyvärr", "förlåt", "jag kan (?:inte|tyvärr)"),
    injections=(
        near(r"strunta i|ignorera|bortse från|glöm|åsidosätt|hoppa över|förbigå",
            r"tidigare|föregående|ovanstående|alla|allt|dina|systemets",
            r"instruktion\w*|prompt\w*|uppmaning\w*|anvisning\w*|order|direktiv\w*|sagts"),
        near(
            r"markera|bedöm|betygsätt|klassa|klassificera|räkna|betrakta|behandla|bekräfta|ange|godkänn|anse",
            _PASTAENDEN,
            r"stödda?|stödd|stöds|korrekta?|sanna|sant|rätt|riktigt?|godkän\w*|verifiera\w*|accepter\w*|belagda?|belagt"),
        near(r"godkänn|acceptera|bekräfta", r"alla|varje|allt|samtliga|detta|dessa", _PASTAENDEN),
        near(r"svara|returnera|skriv", r"att allt stämmer|accept\w*|godkänn?\w*|decision|stöds"),
        near(_PASTAENDEN, r"ska|skall|måste|bör")
        + WITHIN
        + r"(?<!\w)(?:godkännas|godtas|accepteras|markeras|bedömas|anses|räknas|betraktas)(?!\w)",
        near(_PASTAENDEN, r"är|har")
        + r" (?:redan )?(?:kontrollera\w*|granska[td]\w*|verifiera[td]\w*|godkän[td]\w*)",
        near(r"till|kära|bästa|obs|instruktion(?:er)? (?:till|för)",
            r"språkmodell(?:en)?|ai:n|ai|ai-modell(?:en)?|granskaren|bedömaren|verifieraren|kontrollmodellen|assistenten"),
        near(r"du är|om du är|agera som", r"ai|språkmodell|granskare|assistent|bedömare|faktagranskare"),
        near(r"ge|sätt|tilldela", r"högsta|full|fulla|maximala?|1[,.]0", r"betyg\w*|poäng\w*"),
    ),
    backreferences=(
        (r"\benligt (?:(?:den|det|denna|detta|dessa|de) (?:\w+ )?)?(?:text(?:en)?|avsnitt(?:et)?|stycket?"
        r"|dokument(?:et)?|kapit(?:el|let)|tabell(?:en)?|figur(?:en)?|lista[n]?|exem(?:pel|plet)|artikeln?|sida[n]?"
        r"|passagen?|utdrag(?:et)?)\b(?! (?:om|för|över|av|i|från|som|\d)\b)(?!\s*[”\"(])"),
        (r"\b(?:i|ur|av|från) (?:texten|avsnittet|stycket|utdraget|passagen|denna text|detta (?:avsnitt|stycke|utdrag))\b"
        r"(?! (?:om|för|över|av|i|från|som)\b)(?!\s*[”\"(])"),
        r"\b(?:säger|nämner|anger|beskriver) (?:texten|avsnittet|stycket|utdraget|författaren)\b",
        (r"\b(?:nämns|beskrivs|anges|visas|listas|nämnts|nämnda|beskrivna|angivna) (?:\w+ )?"
        r"(?:ovan|nedan|här|tidigare)\b"),
        r"\b(?:ovanstående|nedanstående|ovannämnda)\b",
        r"\b(?:avsnitt|kapitel|figur|tabell|sida[n]?|stycke|steg) \d+(?:\.\d+)*\b(?! (?:i|av)\b)",
    ),
    boilerplate=(
        r"\A(?:självklart|absolut|javisst)\b[!.]",
        r"\Ahär (?:är|följer|kommer) (?:svaret|ett svar|en sammanfattning|sammanfattningen|listan)",
        (r"\b(?:enligt|baserat på|utifrån) (?:det |den |de )?(?:angivna |givna |ovanstående )?"
        r"(?:texten|textavsnittet|textavsnitten|passagen|passagerna|utdraget|sammanhanget)\b"),
        r"\b(?:texten|textavsnittet|passagen|utdraget) (?:säger|anger|nämner|uppger)\b",
        r"\bsom (?:en )?(?:ai|språkmodell)\b",
        r"\bhoppas (?:att )?detta hjälper\b",
    ),
    letters="åäö",
    hyphened_prefixes=("icke", "halv"),
    layout=Layout(
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
        clauses=("Artikel",),
        references=("se även", "se också", "referenser", "källor", "litteratur", "länkar", "relaterade .*",),
        contents=("innehåll", "innehållsförteckning", "figurförteckning", "tabellförteckning", "sakregister", "register"),
        pages=("sida", "sidan", r"s\."),
        of=("av",),
        captions=("figur", "tabell", "bild"),
        sections=("kapitel", "avsnitt", r"kap\.?", "punkt", "bilaga"),
        see=("se",),
        suspending=words("och eller samt till"),
        fields=contracted("title=rubrik+titel licence=licens language=språk content=innehåll+brödtext"),
        columns=words("""
            nr nummer namn titel rubrik innehåll beskrivning kategori typ datum tid år månad dag värde belopp
            pris antal summa enhet kod land ort stad adress gata telefon e-post epost länk kommentar
            anmärkning källa författare språk fråga svar förnamn efternamn"""),
    ),
    labels=Labels(
        copulas=("är",),
        passwords=("lösenordet", "lösenord"),
        users=("användare", "användarnamn"),
        phones=("telefon", "fon", "mobil", r"\bring", "växel", "kontakt", r"\bnås", "nummer"),
        phone_names=(r"\btelefon", "mobil", "telefonnummer"),
        numbers=("nummer", "nr"),
        at=("snabel-?a",),
        dot=("punkt",),
        machines=("adress", "klient"),
        timestamps=("tidsstämpel",),
        id_documents=("id[ -]?kort(?:et)?", "identitets?kort(?:et)?", "(?:kö|ko)rkort(?:et)?", "pass"),
        id_hints=("pass", "kort"),
    ),
)  # fmt: skip
