"""Swedish: closed word classes, numbers, months, opposites. Data only."""

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

SWEDISH = Lexicon(
    code="sv",
    stemmer="swedish",
    decimal_comma=True,
    nouns_capitalised=False,
    stop_words=words(
        """en ett den det de dem deras dess denna detta dessa och eller men så än att som vilken vilket
        vilka vem vad var när varför hur där här är vara var varit blir bli blev blivit har ha hade
        haft kan kunde ska skall skulle må får fick måste bör vill ville i på av för från till med
        om mot vid under över mellan genom per via efter hos utan inte ej också bara mycket mer mest
        man han hon hans hennes sin sitt sina vi oss vår vårt våra ni er jag mig min mitt du dig din
        ditt dina sig själv samt både varje annan annat andra någon något några alla eftersom medan
        uppgår innan dock därför alltså t.ex dvs m.m osv in ut upp ner redan då nu"""
    ),
    not_word="inte",
    and_word="och",
    cell_sentence="{0} för {1} är {2}.",
    negations=words(
        "inte ej icke aldrig utan ingen inget inga inte varken ingenting"
    ),
    soft_negations=words(
        """knappast saknar saknas omöjligt förbjudet undantag förutom sällan istället vägrar vägrade
        nekar nekade undviker undvika undvek"""
    ),
    clause_openers=words("eftersom därför men som medan om när att fast trots och eller"),
    passive_agents=words("av"),
    joiners=words("och eller samt respektive"),
    negative_prefixes=("o", "in", "im", "ir", "icke-", "icke", "miss"),
    opposites=opposed(
        """aktiverad,aktiverat,aktiverade,aktivera,aktiverar,påslagen,påslaget/inaktiverad,inaktiverat,inaktiverade,inaktivera,inaktiverar,avstängd,avstängt,avstängda,avslagen
tillåtet,tillåten,tillåtna,tillåter,tillåta,tillåts/förbjudet,förbjuden,förbjudna,förbjuder,förbjuda,förbjuds,nekas,nekar,nekad
        före,innan/efter minst,minimum,lägst/högst,maximum,maximalt,max
ökar,öka,ökade,ökat,ökning,stiger,steg,växer,växte/minskar,minska,minskade,minskat,minskning,sjunker,sjönk
        högre,högsta,hög,högt,höga/lägre,lägsta,låg,lågt,låga mer,mest,fler,flest/mindre,minst,färre
        större,störst,största/mindre,minsta
        snabbare,snabbast,snabb,snabbt/långsammare,långsammast,långsam,långsamt
        först,första,förste/sist,sista,siste tidigare,tidigast,tidig/senare,senast,sen
        ovanför,över/under,nedanför inom,inne,inuti/utanför
        börjar,börjar,början,start,startar,inleds/slutar,slutet,slut,upphör,avslutas
        öppen,öppet,öppna,öppnar/stängd,stängt,stängda,stänger
        inkluderar,inkluderas,inklusive,ingår,omfattar/exkluderar,exklusive,undantas,utesluts
        sant/falskt ja/nej på/av
        accepterar,godkänner,godkänns,godkänd/avvisar,avslår,avslås,underkänd,underkänns
        lägger,läggs,lägga/tar,tas,raderas,raderar,radera samma,lika,identisk/olika,annorlunda
        obligatorisk,obligatoriskt,obligatoriska,krävs/frivillig,frivilligt,frivilliga,valfri,valfritt,valfria
        offentlig,offentligt,offentliga/privat,privata intern,internt,interna/extern,externt,externa
        köper,köpa,köpte,köpare/säljer,sälja,sålde,säljare
        vinner,vann,vinst/förlorar,förlorade,förlust
        säker,säkert,säkra/osäker,osäkert,farlig,farligt,farliga vänster/höger
        norr,norra/söder,södra öster,östra/väster,västra
        gammal,gamla,äldre,äldst,äldsta/ny,nytt,nya,yngre,yngst,yngsta
        bäst,bästa,bättre/sämst,sämsta,sämre alltid,ofta/aldrig,sällan
        billig,billigare,billigast/dyr,dyrare,dyrast
        giltig,giltigt,giltiga/ogiltig,ogiltigt,ogiltiga laglig,lagligt/olaglig,olagligt
        man,män,manlig,pojke,pojkar/kvinna,kvinnor,kvinnlig,flicka,flickor
        stark,starkare/svag,svagare lång,långa,längre,längst/kort,korta,kortare,kortast
        varm,varmt,varma,varmare/kall,kallt,kalla,kallare lätt,enkel,enkelt/svår,svårt
        full,fullt/tom,tomt tillfällig,tillfälligt/permanent import,importerar/export,exporterar
        manuellt,manuell/automatiskt,automatisk"""
    ),
    numbers={
        **numbered(
            """ett/en två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton
                sexton sjutton arton/aderton nitton tjugo"""
        ),
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
    ordinals=numbered(
        """första/förste andra/andre tredje fjärde femte sjätte sjunde åttonde nionde tionde
            elfte tolfte trettonde fjortonde femtonde sextonde sjuttonde artonde nittonde tjugonde"""
    ),
    scales={"hundra": 1e2, "tusen": 1e3, "miljon": 1e6, "miljoner": 1e6, "mn": 1e6, "miljard": 1e9,
        "miljarder": 1e9, "md": 1e9, "biljon": 1e12, "biljoner": 1e12},
    months=numbered(
        """januari/jan februari/feb mars/mar april/apr maj juni/jun juli/jul augusti/aug
            september/sep/sept oktober/okt november/nov december/dec"""
    ),
    lower_bounds=phrases(
        """minst, åtminstone, lägst, mer än, fler än, över, eller mer, eller fler, eller högre,
        eller senare, från, överstiger, från och med, tidigast"""
    ),
    upper_bounds=phrases(
        """högst, max, maximalt, upp till, inte mer än, mindre än, färre än, under, eller mindre,
        eller färre, eller lägre, understiger, som mest, till och med, senast, inom"""
    ),
    approximations=phrases(
        """ungefär, cirka, ca, omkring, runt, nästan, drygt, knappt, uppskattningsvis, ~"""
    ),
    universal=words("alla allt varje samtliga alltid hela helt fullständigt"),
    partial=words("vissa några flera många ofta ibland vanligtvis delvis oftast somliga få normalt"),
    exclusive=words("bara endast enbart uteslutande"),
    strong=words("måste ska skall obligatorisk obligatoriskt skyldig skyldiga"),
    weak=words("kan får bör kunde borde möjligen eventuellt"),
    conditions=phrases(
        """om du, om man, om det, om den, om de, om ni, om vi, om jag, om en, om ett, om inte, om någon,
        såvida, förutsatt, utom, förutom, när, ifall, tills, bara, endast"""
    ),
    greetings=words("hej hejsan tack välkommen hälsningar absolut självklart javisst ursäkta förlåt"),
    determiners=words("en ett den det de"),
    fillers=words("dock därför alltså också även dessutom således vidare emellertid därmed följaktligen"),
    conjunctions=words("och samt"),
    contrasts=words("men dock förutom utom fast medan däremot utan istället snarare inte"),
    conditional_words=words(
        """om såvida förutsatt när ifall tills innan efter bara endast enbart sedan medan utan beroende
        under då som"""
    ),
    example_openers=("till exempel", "t.ex.", "exempelvis", "såsom", "bland annat", "t ex"),
    reason_openers=words("eftersom därför"),
    finite_verbs=words(
        """är var har hade kan kunde får fick måste ska skall skulle bör vill ville blir blev gör
        gjorde"""
    ),
    contractions={},
    function_classes=classes(
        """och eller, måste får bör kan ska, alla några vissa inga många få, före efter under innan sedan,
        om eftersom fast, i på under över mellan från till med utan av för, mer mindre, alltid aldrig
        ofta ibland,
        endast även, är var, varje någon, minst högst, upp ner"""
    ),
    question_words=words(
        """kostar betala varifrån behövs gäller krävs tillåten tillåtet vad vilken vilket vilka vem hur
        många mycket länge ofta när var varför anges anger står säger ger ges lista tabell tabellen
        kolumn kolumnen rad raden avsnitt avsnittet under heter kallas namn värde värdet betyder
        innebär definieras definition enligt dokument dokumentet text texten beskrivs förklara
        används steg"""
    ),
    row_glue=words("är var har hade i på av för till med och den det de en ett uppgår"),
    adding_relatives=words("vilket"),
    auxiliaries=frozenset(),
    negation_tails=words("längre mer"),
    openings=words("men och också även dessutom dock"),
    endings=frozenset(("", *["s", "n", "en", "et", "t", "ar", "er", "or", "na", "arna", "erna",
    "orna", "a", "e", "ens", "ets"])),
    collectives=words(
        """mellan både består kombination summa totalt tillsammans gemensamt genomsnitt blandning
        skillnaden antingen vare"""
    ),
    copulas=words("är var"),
    past_copulas=words("var"),
    relatives=words("som"),
    subject_pronouns=words("han hon"),
    degree_words=words("hur"),
    value_columns=words("värd värde belopp enhet antal"),
    measures=contracted(
        """tryck=pressure trycket=pressure spänning=voltage spänningen=voltage vikt=mass vikten=mass
        längd=length längden=length höjd=length bredd=length avstånd=length temperatur=temperature
        temperaturen=temperature pris=sek+eur+usd priset=sek+eur+usd kostnad=sek+eur+usd avgift=sek+eur+usd
        avgiften=sek+eur+usd belopp=sek+eur+usd yta=area volym=volume effekt=power effekten=power
        hastighet=speed frekvens=frequency tid=time+months tiden=time+months period=time+months
        andel=percent andelen=percent storlek=bytes+area+length ström=current energi=energy"""
    ),
)  # fmt: skip
