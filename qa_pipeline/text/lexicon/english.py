"""English: word classes and conventions of writing. Data only."""

import re

from qa_pipeline.text.lexicon.base import (
    CLOSE,
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
    contracted,
    equals,
    near,
    numbered,
    opposed,
    phrases,
    words,
)

_MODEL = r"ai|llm|large language model|language model|ai model|ai assistant|chatbot|gpt|gemini|claude"
_CHECKER = rf"{_MODEL}|checker|verifier|validator|grader|evaluator|fact[- ]checker|judging model|auto-?grader"
_CLAIMS = r"claims?|answers?|statements?|assertions?|responses?|question-answer pairs?|qa pairs?"
_GOOD = (
    r"support(?:ed|s)|correct|true|accept(?:ed|able)?|verified|valid|approved|proven|proved|grounded|faithful|"
    r"entailed|right|passed|perfect"
)

ENGLISH = Lexicon(
    code="en",
    stemmer="english",
    decimal_comma=False,
    nouns_capitalised=False,
    stop_words=words("""
        a an the and or but so than that this these those it its they them their he him his she her we us our
        you your i me my who whom which what whose where when why how there here is are was were be been being
        am do does did doing done has have had having will would can could may might shall should must of in
        on at by for from to with into onto upon as if then also too very just about over under between
        through during per via such both each other another any some more most much many own same s t d ll re
        ve not no nor isn aren wasn weren don doesn didn wouldn can't cannot couldn shouldn hasn haven hadn
        one's because while until equals amounts although though however therefore thus hence e.g i.e etc out
        up down off again"""),
    not_word="not",
    and_word="and",
    cell_sentence="The {0} of {1} is {2}.",
    negations=words("""
        not no never without none neither nor cannot can't don't doesn't didn't isn't aren't wasn't weren't
        won't wouldn't couldn't shouldn't hasn't haven't hadn't mustn't nothing nobody"""),
    soft_negations=words("""
        unable lacks lack lacking fails failed fail hardly barely excluding except prevents prevent forbidden
        prohibited rarely seldom refuses instead refused refuse declined denies denied rejected rejects avoid
        avoids avoided avoiding"""),
    clause_openers=words("""
        because since although though while but which who that if when unless whereas and or"""),
    passive_agents=words("by"),
    comparing=words("than"),
    passive_words=words("be been being is are was were"),
    prepositions=words("""
        of in on at by for from to with into onto upon about over under between through during per via within
        without against among across behind before after since until above below beside near off out around
        towards toward"""),
    of_word="of",
    infinitive_marks=words("to"),
    verbal_nouns="ing",
    genitives=("'s", "s'"),
    verb_second=False,
    question_openers=words("which what who whom whose where when why how"),
    clause_openers_only=words("and or nor than whose"),
    object_askers=frozenset(),
    passive_endings="",
    subject_askers=words("who"),
    joiners=words("and or nor plus versus"),
    negative_prefixes=("un", "in", "im", "ir", "il", "non", "non-", "dis", "de"),
    opposites=opposed("""
        enable,enables,enabled,enabling/disable,disables,disabled,disabling
        allow,allows,allowed,permit,permits,permitted/forbid,forbids,forbidden,prohibit,prohibits,prohibited,deny,denies,denied,disallow,disallowed,prevents
        before,prior/after,following beforehand,previously/afterwards,subsequently minimum,min/maximum,max
        increase,increases,increased,increasing,rise,rises,rose,risen,grew,grow,grows/decrease,decreases,decreased,decreasing,fall,falls,fell,drop,drops,dropped,decline,declined,reduce,reduces,reduced,shrank
        higher,highest,high/lower,lowest,low more,most/less,fewer,least,fewest
        greater,larger,bigger,largest,biggest/smaller,smallest
        faster,fastest,quick,quickly,fast/slower,slowest,slow,slowly first/last
        earlier,earliest,early/later,latest,late above,over/below,beneath inside,within/outside
        start,starts,started,begin,begins,began/end,ends,ended,stop,stops,stopped,finish,finished
        open,opens,opened/close,closes,closed,shut
        include,includes,included,including/exclude,excludes,excluded,excluding true/false yes/no on/off
        accept,accepts,accepted/reject,rejects,rejected,refuse,refused
        add,adds,added/remove,removes,removed,delete,deletes,deleted same,identical,equal/different,unequal
        mandatory,required,compulsory,obligatory/optional,voluntary,unnecessary public/private
        internal/external synchronous/asynchronous ascending/descending
        buy,bought,buyer,purchase,purchased/sell,sold,seller win,won,wins,winner/lose,lost,loses,loser
        positive,positively/negative,negatively
        success,succeeds,succeeded,successful/failure,failed,unsuccessful
        safe,safely/unsafe,dangerous,unsafely present/absent left/right north,northern/south,southern
        east,eastern/west,western old,oldest,older/new,newest,newer,young,youngest,younger
        best,better/worst,worse always,often,frequently/never,rarely,seldom
        cheap,cheaper,cheapest/expensive,dear valid/invalid legal/illegal male,man,men/female,woman,women
        father/mother son/daughter brother/sister import,imports/export,exports input/output
        upload,uploads/download,downloads encrypt,encrypted/decrypt,decrypted lock,locked/unlock,unlocked
        import,imported/export,exported strong,stronger,strongest/weak,weaker,weakest
        long,longer,longest/short,shorter,shortest hot,warm,warmer/cold,cool,colder day,daytime/night
        easy,easier/difficult,hard,harder full/empty gain,gained/loss,lost temporary/permanent
        deprecated,discouraged/recommended,encouraged single/multiple manual,manually/automatic,automatically"""),
    numbers={
        **numbered("""
            one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
            seventeen eighteen nineteen twenty"""),
        "zero": 0, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
        "ninety": 90, "dozen": 12, "half": 0.5, "once": 1, "twice": 2, "single": 1, "both": 2, "double": 2,
    },
    ordinals=numbered("""
        first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
        fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""),
    scales={"hundred": 1e2, "thousand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9,
        "trillion": 1e12},
    months=numbered("""
        january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept
        october/oct november/nov december/dec"""),
    lower_bounds=phrases("""
        at least, no fewer than, not less than, no less than, not fewer than, minimum of, minimum, more than,
        over, exceeding, exceeds, or more, or higher, or later, and above, or older, from, above, greater
        than, or newer"""),
    upper_bounds=phrases("""
        at most, up to, no more than, not more than, maximum of, maximum, less than, fewer than, under, below,
        or less, or fewer, or lower, or earlier, not exceeding, not exceed, does not exceed, or younger,
        within"""),
    approximations=phrases("about, around, approximately, roughly, nearly, almost, some, circa, ca, ~"),
    universal=words("all every each always everyone everything entirely fully completely whole entire"),
    partial=words("""
        some several many most often sometimes usually partly partially few occasionally typically mostly
        generally"""),
    exclusive=words("only solely exclusively"),
    strong=words("must shall mandatory obligatory"),
    weak=words("may might can could should optionally possibly"),
    conditions=phrases("if, unless, except, provided that, when, until, only, assuming, whenever"),
    determiners=words("a an the"),
    also=words("also even"),
    fillers=words("""
        however therefore thus hence moreover furthermore additionally accordingly consequently also indeed
        then note further besides meanwhile"""),
    conjunctions=words("and"),
    contrasts=words("""
        but however except excluding although though while whereas yet instead rather not apart"""),
    conditional_words=words("""
        if unless when whenever until till provided assuming except only once where before after as whether
        subject depending while during without"""),
    example_openers=("for example", "for instance", "such as", "e.g.", "including"),
    reason_openers=words("because"),
    finite_verbs=words("""
        is are was were has have had can could may might must shall should will would does do did"""),
    contractions=contracted("""
        can't=can+not cannot=can+not won't=will+not don't=do+not doesn't=does+not didn't=did+not isn't=is+not
        aren't=are+not wasn't=was+not weren't=were+not hasn't=has+not haven't=have+not hadn't=had+not
        mustn't=must+not shouldn't=should+not couldn't=could+not wouldn't=would+not it's=it+is"""),
    function_classes=classes("""
        must may, must can, all no, some no, many few, most few, before after during, until since,
        if unless because although, with without, over under, more less, always never, often never, sometimes
        always, only also, least most, up down"""),
    question_words=words("""
        one cost costs pay make made need needed needs know known hold holds get gets what which who whom whose
        how many much long often when where why state states stated say says give gives given list lists
        listed table column row section under called name named value define defined mean means definition
        according document provide provides prescribe text explain describe described tell happens use used for step steps time day kind sort"""),
    interrogatives=tuple(map(words, ("when", "where", "why", "who whom whose who's", "how"))),
    row_glue=words("is are was were has have of the a an for in at to by with and equals amounts"),
    adding_relatives=words("which who"),
    auxiliaries=words("do does did"),
    negation_tails=words("longer more any"),
    spellings=(
        (r"(?<=[a-z]{2})our(?=(?:s|ed|ing|ful|less|able|ite|ites)?$)", "or"),
        (r"(?<=[a-z]{3})is(?=(?:e|es|ed|ing|ation|ations)$)", "iz"),
        (r"^((?:kilo|centi|milli)?met|lit|cent|theat|fib|spect|calib|lust)re(s?)$", r"\1er\2"),
        (r"^grey", "gray"),
    ),
    openings=words("but yet and also so additionally however moreover furthermore"),
    endings=frozenset(("", *["s", "es", "'s", "'"])),
    apart="",
    verb_form="(?!)",
    passive_infinitive="be",
    collectives=words("""
        between both consists consist combination sum total together jointly average mix mixture equal
        difference either"""),
    definite=words("the"),
    indefinite=words("a an"),
    same_words=equals("until=till annually=yearly"),
    same_phrases={
        ("has", "to"): "must", ("have", "to"): "must", ("needs", "to"): "must", ("need", "to"): "must",
        ("every", "day"): "daily", ("each", "day"): "daily", ("every", "week"): "weekly",
        ("each", "week"): "weekly", ("every", "month"): "monthly", ("each", "month"): "monthly",
        ("every", "quarter"): "quarterly", ("each", "quarter"): "quarterly", ("every", "year"): "annually",
        ("each", "year"): "annually",
    },
    irregular=equals("""
        sell=sold buy=bought leave=left pay=paid give=gave,given take=took,taken write=wrote,written
        hold=held keep=kept begin=began,begun build=built bring=brought choose=chose,chosen come=came
        become=became draw=drew,drawn fall=fell,fallen feel=felt find=found get=got go=went,gone grow=grew,grown
        hear=heard know=knew,known lead=led lend=lent lose=lost make=made mean=meant meet=met rise=rose,risen
        run=ran say=said see=saw,seen send=sent show=shown sit=sat speak=spoke,spoken spend=spent
        stand=stood swim=swam teach=taught tell=told think=thought understand=understood wear=wore,worn
        win=won break=broke,broken drive=drove,driven eat=ate,eaten fly=flew,flown"""),
    open_compounds=True,
    counted_by_article=words("few little"),
    copulas=words("is are was were"),
    past_copulas=words("was were"),
    relatives=words("that which who"),
    subject_pronouns=words("it they he she"),
    degree_words=words("how"),
    value_columns=words("value valu amount unit number content"),
    measures=contracted("""
        wavelength=length pressure=pressure voltage=voltage weight=mass mass=mass heavy=mass length=length
        long=length+time+months height=length width=length distance=length depth=length
        temperature=temperature price=usd+eur+gbp+sek cost=usd+eur+gbp+sek costs=usd+eur+gbp+sek
        fee=usd+eur+gbp+sek amount=usd+eur+gbp+sek area=area volume=volume capacity=volume+bytes power=power
        speed=speed frequency=frequency duration=time+months period=time+months percentage=percent
        share=percent size=bytes+area+length current=current energy=energy"""),
    names=("english",),
    deictic=words("""
        this these that those it its they them their he she his her such here following above below example
        same latter former we our you your i my one both"""),
    conventions=Conventions(
        never_final=words("""
            dr mr mrs ms prof rev hon capt col gen lt sgt sen rep gov pres mx messrs maj brig cmdr adm cpl pvt
            st mt ft e.g eg i.e ie viz vs cf ca approx resp esp incl excl a.k.a n.b"""),
        often_final=words("""
            al inc ltd co corp jr sr bros dept univ assn ave blvd rd ph.d b.sc m.sc a.m p.m est max min reg tel"""),
        closing=words("etc"),
        before_number=words("""
            no nos nr fig figs eq eqs sec secs sect sects ch chap vol vols art arts p pp par para paras cl app tab ref refs ver v
            jan feb mar apr jun jul aug sep sept oct nov dec rel rev iss ed pt"""),
        openers=words("""
            the a an this that these those it he she they we you i in on at by for from with to as if when
            while although though because since after before until once however therefore thus also and but or
            so yet there here its his her their our your my all both each every any some no not only then now
            what why how where who which please note see use do does is are was were it's that's don't let"""),
        months=words("january february march april may june july august september october november december"),
    ),
    speakers=words("i i'm i'd i'll we me us you your please feel"),
    pronouns=Pronouns(
        leaning=words("it they this these those it's he she its their his her"),
        singular=words("it he she"),
        plural=words("they"),
        articles=words("the a an this that these those its their our your"),
        verbs=words("""
            is are was were has have had can could may might will would shall should must does do did isn't
            aren't wasn't weren't hasn't haven't can't cannot won't doesn't don't didn't"""),
        impersonal=words("that to for if whether when how why possible important likely"),
        demonstratives=words("this these"),
        certain=words("it they he she"),
        singular_endings=("ss", "us", "is", "'s"),
    ),
    context=Contexts(
        voiding=words("""
            abandoned abolished annulled anti-pattern anti-patterns antipattern antipatterns
            banned bogus canceled cancelled debunked defunct deprecated disallowed discontinued
            disproved disproven don't don'ts draft dropped expired fabricated fake faked
            fallacies fallacy false fictional fictitious forbidden forecast forecasts hoax
            horror hypothetical illegal imaginary inadmissible incorrect invented joke lapsed
            lie lies misconception misconceptions mistake mistakes misunderstanding myth myths
            never nonsense obsolete outdated outlawed overturned parody pitfalls postponed
            prohibited refuted repealed rescinded retired revoked rumor rumors rumour rumours
            satire scrapped superseded superstition superstitions suspended taboo turned
            unacceptable unauthorised unauthorized unfounded unlawful unsafe untrue unwelcome
            void withdrawn wrong"""),
        tentative=words("proposal consultation discussion comment comments"),
        quoting=(r"this way", r"like this", r"in these words",),
        outdated=words("""
            abandoned abolished archived bad cancelled discarded discontinued dropped earlier
            failed former historical legends obsolete old planned predecessor projected proposed
            rejected removed rumours superseded unsuccessful withdrawn"""),
        permitting=words("""
            available allowed permitted do use recommended acceptable valid accepted supported covered
            eligible"""),
        supposing=(
            r"let us imagine",
            r"in (?:the|this|a|his|her) (?:novel|film|movie|series|story|game|tale|play|legend|scenario|advert\w*)",
            r"(?:many|some|most|few) [^.]{0,40}\b(?:believe|think|assume|claim|say|hope|fear)\b",
            r"let us (?:say|imagine|suppose|assume|pretend)\b",
            r"according to (?:the )?(?:critics|opponents|rumou?rs?|legend|defendant|plaintiff|applicant|seller|advert\w*|myth)",
            r"(?:critics|opponents|the (?:defendant|plaintiff|applicant|claimant|accused|seller|opposition))\b",
            r"suppos(?:e|ing)\b", r"assum(?:e|ing)(?: that)?\b", r"imagine\b", r"pretend\b",
            r"let(?:'|’)?s? (?:us )?(?:say|imagine|suppose|assume|pretend)\b",
            r"in an? (?:hypothetical|fictional|imaginary)\b",
        ),
        reporting=words("""
            according accused accuses advert advertisement advertises allegation allegations
            allege alleged allegedly alleges applicant argued argues asserted asserts believe
            believed believers believes billboard blog blogger boasted boasts brochure campaign
            campaigners candidate candidates claim claimant claimed claims columnist comic
            commercials complained complains complaint complaints conjecture contend contended
            contends critic critics defendant demanded demands dreams dreamt editorial fairy
            fantasy feared fears feels felt flyer folklore fortune- gossip guessed guesses hear
            heard hearsay hinted hints hoped hopes horoscope hypothesis imagined imagines insist
            insisted insists lawsuit leaflet legend lobby lobbyists mentioned movie myth
            newspaper novel opinion opinions opponent opponents otherwise plaintiff plea pleaded
            pledged pledges politician politicians post poster posts predicted predicts promise
            promised promises prophecy prosecution prosecutor purport purportedly purports
            quoted quotes recalled recalls reckon reckons recounted recounts relayed repeated
            repeats report reported reportedly reports rumor rumored rumour rumoured saga said
            salesman salesperson satire say says sceptics sitcom skeptics slogan speculated
            speculates speculation spokesman spokesperson spokeswoman superstition supposed
            supposedly suspected suspects swears swore tabloid tabloids tale tell teller tells
            testified testimony thinks thought told touted touts tradition tweet vowed vows
            wished wishes witness witnesses writes wrote"""),
        announcing=words("""
            following follows something"""),
        embedding=words("""
            that whether"""),
        asserting=words("""
            aware confirm confirmed confirms demonstrate demonstrated demonstrates find finds
            found mean means meant note notice prove proved proves remember reveal revealed
            reveals show showed shown shows"""),
        pointing=words("that this it these those they such both neither none"),
        confirming=words("true case valid correct right apply applies so longer force anymore"),
        revoking=(
            r"since then\b",
            r"at least,? (?:it|that) was\b", r"never (?:rely|trust|believe)\b",
            r"(?:this|that|the) \w+ (?:ended|expired|was (?:dropped|abandoned|scrapped|replaced|withdrawn|overruled))\b",
            r"in (?:practice|fact|reality)\b", r"so (?:they|he|she|it) (?:say|said|claim\w*)", r"or so\b",
            r"at least (?:that is|so)\b", r"but (?:that|this) (?:is|was) (?:not|no|wrong|false)",
            r"so (?:the|at least)\b.{0,40}(?:said|claimed|thought)",
        ),
        parenthetic=words("though however"),
        retracting=words("""
            abolished amended apologised apologized baseless broke ceased contested contradicted
            contradicts corrected correction denied denies disagree disagrees dismissed
            disproves disputed dissolved doubled doubtful dubious ended error exaggerated
            exaggeration expired expires failed fell groundless halted halved lapsed lifted lost
            misleading misprint misquoted misread mistaken nobody overruled quashed refused
            refuted refutes rejects retracted retraction retracts rubbish scrapped shelved
            stopped struck superseded terminated typo unconfirmed unproven unverified vetoed"""),
        changing=words("""
            meanwhile nowadays recently today"""),
        framing=words("""
            competitor competitors earlier former formerly historically originally predecessor
            predecessors previous previously until"""),
        past_endings=("ed",),
        past=words("""
            was were had did became came went said told turned ended lapsed vanished fell broke
            lost won found thought knew gave took made held ran stood saw led met began left
            applied existed changed lasted meant"""),
        interjections=words("""
            no not sorry pardon oops alas unfortunately regrettably sadly correction wrong nope
            hardly"""),
        valid=words("""
            final published approved active current accepted adopted valid released stable live
            complete completed public official done ok yes new latest standard recommended
            effective enacted ready force effect"""),
        imagining=words("""
            suppose supposing imagine imagined imaginary pretend pretending assume assumed
            assuming hypothetical hypothetically fictional fictitious invented make-believe
            scenario roleplay"""),
        repealing=words("""
            repealed revoked withdrawn withdrew superseded abolished annulled rescinded
            discontinued cancelled terminated ended ceased disregard opposite contrary"""),
        opposing=words("""
            although but contrary except however nevertheless nonetheless still though
            unless yet"""),
        exempting=words("""
            abstain avoid barred cease ceases except exception exceptions exclude excluded
            excludes excluding exempt exempted exempts lapse lapses omit omits omitted
            presupposes refrain suspended suspends terminates unlike waived waives"""),
        excepting=(
            "other than", "apart from", "aside from", "except", "except for", "excluding", "save for",
            "but for", "but",
        ),
        replies=words("no yes well sure"),
        scales=words("thousands millions billions 000s k"),
    ),
    wording=Wording(
        key_value="What does {place} state under {key}?",
        laws=((re.compile(r"(?:The )?(.{3,80}\b(?:Act|Regulations?|Rules|Ordinance|Policy|Terms|By-?laws))"),
            r"under the \1"),),
        leaning=words("""
            usually nobody somebody anybody everybody someone anyone one that it its he she they them their his her this these those such above below following previous
            latter former here there i we our us my another other others otherwise however therefore instead
            also both first second third last next same then thus so but and or"""),
        pointing=words("following below above previous preceding see here figure aforementioned earlier"),
    ),
    letter_tokens=0.04,
    object_cases=(),
    article_cases=(),
    verb_final=False,
    large_numbers=LargeNumbers(
        hundreds=("hundred",),
        thousands=("thousand",),
        link="and",
        apart=words("both single once twice double dozen"),
        parts={"third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10},
        ones=("a", "one"),
        plural="s",
        part_ends=r"(?=\s+of\b|\s*[.,;:)]|\s*$)",
    ),
    units=contracted("""
        percent=pct+percentage millisecond=milliseconds second=sec+secs+seconds minute=min+mins+minutes
        hour=hours+hr+hrs day=days week=weeks month=months year=years
        millimetre=millimetres+millimeter+millimeters centimetre=centimetres+centimeter+centimeters
        metre=metres+meter+meters kilometre=kilometres+kilometer+kilometers mile=miles foot=feet+ft
        inch=inches gram=grams kilogram=kilograms+kilo ton=tons+tonne+tonnes byte=bytes kilobyte=kilobytes
        megabyte=megabytes gigabyte=gigabytes terabyte=terabytes bit=bits litre=litres+liter+liters
        hectare=hectares degree=degrees dollar=dollars euro=euros pound=pounds ampere=amperes+amp+amps
        volt=volts watt=watts kilowatt=kilowatts pixel=pixels milligram=milligrams decibel=decibels
        millilitre=millilitres+milliliter+milliliters centilitre=centilitres+centiliter+centiliters
        decilitre=decilitres+deciliter+deciliters"""),
    year_leads=words("in since by from until year anno"),
    ordinal_endings=("st", "nd", "rd", "th"),
    decade_endings=("['’]?s",),
    dependent_openers=words("that if when unless whether until lest"),
    linking_words=words("and or of no not than the"),
    sources=("source",),
    reply_marks=("passages?", "source"),
    reply_headings=("citations?", "sources?"),
    refusal_sources=r"(?:knowledge base|passages?|documents?|documentation|context|sources?|text|materials?|"
        r"excerpts?|articles?|manuals?|guides?|pages?|snippets?|files?|information (?:provided|given|i have))",
    refusal=(
        r"\b(?:is|are|was|were|has|have)(?: not|n't)(?: been)? (?:\w+ ){0,2}(?:available|contained|covered|mentioned|"
        r"stated|specified|included|found|described|addressed|given|provided|listed|disclosed|documented|discussed|"
        r"indicated|present) (?:anywhere )?(?:in|by|within) (?:the|this|these|those|our|any|your) (?:\w+ ){0,3}{sources}\b"
        r"|\b(?:is|are|was|were)(?: not|n't) (?:\w+ly )?(?:mentioned|specified|stated|disclosed|indicated|known)$"
        r"|^(?:this|that|the|such)(?: requested)? (?:information|answer|detail)s? (?:is|are|was|were|cannot be|can't be|"
        r"could not be)(?: not|n't)? ?(?:available|found|provided|given|there|included|known|unavailable)\b"
        r"|\b{sources} (?:\w+ ){0,2}(?:do|does|did)(?: not|n't) (?:\w+ ){0,2}(?:contain|mention|say|state|specify|"
        r"provide|include|cover|describe|answer|address|give|list|discuss|indicate|tell|have|disclose|explain|reveal)\b"
        r"|\b{sources} (?:\w+ ){0,2}(?:contains?|has|have|provides?|gives?|includes?|offers?|makes?) (?:no|nothing)\b"
        r"|\b{sources} (?:\w+ ){0,2}(?:lacks?|(?:is|are) silent|(?:is|are) (?:insufficient|not (?:sufficient|enough)))\b"
        r"|\b(?:nothing|nowhere|none) (?:in|of) (?:the|these|this|my) (?:\w+ ){0,3}{sources}\b"
        r"|\b(?:i|we) (?:\w+ ){0,2}?(?:can ?not|can't|could not|couldn't|am unable to|are unable to|am not able to|"
        r"are not able to|was unable to|were unable to|wasn't able to) (?:\w+ ){0,2}?(?:answer|find|determine|locate|tell|say)\b"
        r"|\bi(?:'m| am|) (?:\w+ ){0,2}?(?:cannot|can't|unable to|not able to) (?:\w+ )?(?:provide|give|help|comment|"
        r"confirm|respond|see|assist)\b"
        r"|\bi(?:'m| am) not (?:sure|aware|certain)\b"
        r"|\bi (?:\w+ ){0,2}?(?:do not|don't|did not|didn't) (?:\w+ )?(?:know(?! of\b)|see|find|have (?:\w+ ){0,3}?"
        r"(?:information|details|data|access|answer|context|knowledge|documents?)|have (?:that|this|it)$)"
        r"|\b(?:i|we) (?:currently )?have no (?:idea|information|data|knowledge|details|answer|record)\b|^no idea\b"
        r"|\b(?:i|we) (?:found|could find|find|see) (?:no|nothing)\b"
        r"|\bthere(?: is|'s| are| was) (?:no|not enough|insufficient|nothing) (?:\w+ ){0,2}?(?:(?:information|mention|details?|"
        r"reference|indication|answer|context)\b(?: (?:on|about|regarding|concerning|of|for|to|in|within|available|given|"
        r"provided|that|as)\b|$)|(?:about|on) (?:this|that|it))"
        r"|\bno (?:\w+ )?(?:information|mention|details|answer|reference) (?:is|was|are|were|can be|could be|has been)?"
        r" ?(?:available|found|given|provided|made)\b"
        r"|\bno (?:relevant |further )?(?:information|details) (?:about|on|regarding)(?:(?! (?:is|are|was|were|gets?|may|can|will|must) ).)*"
        r"(?:$| (?:is|are|was|were) (?:available|found|given|provided|mentioned))"
        r"|\b(?:not enough|insufficient) (?:information|context|details)\b"
        r"|\b(?:question|this|that|it|answer) (?:can ?not|can't|could not) be (?:\w+ )?(?:answered|determined|inferred|"
        r"derived|found|established)\b"
        r"|\b(?:answer|information) (?:is|are|was)(?: not|n't) (?:\w+ )?(?:in|part of) (?:\w+ ){1,4}{sources}\b"
        r"|\bno mention of [^,]* is made\b|\b(?:outside|beyond) (?:of )?(?:the )?(?:scope of )?(?:\w+ ){0,3}{sources}\b"
        r"|\b(?:is|are) unclear from (?:\w+ ){1,4}{sources}\b|\b{sources} fails? to (?:mention|say|state|specify|provide|answer)\b"
        r"|\b(?:they|it|these) do(?:es)?(?: not|n't) (?:cover|mention|address|discuss|answer|specify)\b"
        r"|\bnot (?:something|anything) (?:that )?i can (?:find|answer|see|tell)\b|\bi (?:cannot|can't) say\b"
        r"|\b(?:unable|impossible|not possible) to (?:answer|determine|say|tell)\b"
        r"|^(?:unknown|unanswerable|not (?:specified|stated|mentioned|available|given|provided|known)|n/a|no answer)$"),
    refusal_fillers=(
        r"(?:i(?:'m| am)|we(?:'re| are))? ?(?:very |so )?(?:sorry|afraid)|(?:my )?apologies|i apologi[sz]e|unfortunately|"
        r"(?:based on|according to|from|given|judging by|regarding|as for|with|in)\b[^.]*|"
        r"(?:please|you (?:may|might|could|can|should)|try|i(?:'d| would) (?:suggest|recommend)|i (?:suggest|recommend)|"
        r"feel free|let me know|if you|could you|for (?:that|this|more|further)|contact)\b.*|"
        r"{sources} (?:\w+ ){0,2}(?:only|merely) (?:mention|discuss|describe|cover|contain|talk|focus|deal|say|state)\w*\b.*|"
        r"(?:they|it) only (?:mention|discuss|describe|cover|contain|talk|focus|deal)\w*\b.*"),
    clause_breaks=r"(?<=, )(?:only|probably|perhaps)|but|however|although|though|because|since|while|whereas|therefore|so|which (?:is|are|was|has|have|means|must|can)|yet|except|instead|as (?:it|this|the|they)",
    apologies=(
        r"i['’]?m (?:sorry|not able|unable)", r"i am (?:sorry|not able|unable)", r"sorry\b", r"i can(?:no|['’])t",
        r"as an ai\b",),
    injections=(
        near(r"ignore|disregard|forget|override|bypass|set aside",
            r"previous|prior|above|earlier|preceding|all|any|your|system|existing|everything",
            r"instructions?|prompts?|guidelines|directives you|told|commands|orders"),
        near(
            r"mark|rate|label|classify|treat|score|grade|judge|regard|accept|approve|confirm|deem|evaluate|assess|"
            r"consider|report", r"every|all|any|each|this|these|the|following", _CLAIMS, _GOOD),
        near(r"accept|approve", r"every|all|any|each|these", _CLAIMS),
        near(r"reply|respond|answer|output|return", r"decision|verdict|accept|\"accept\"|supported",
            within=CLOSE)
        + r"(?:\W|$)",
        near(r"claims?|answers?", r"must|should|shall|is to be|are to be|have to be|needs? to be")
        + WITHIN
        + r"(?<!\w)(?:accepted|approved|marked|rated|supported|considered|treated|scored|deemed)(?!\w)",
        r"(?<!\w)(?:claim|answer)s? (?:is|are|ha(?:s|ve) been) (?:already )?(?:checked|vetted)(?!\w)",
        r"(?<!\w)(?:claim|answer)s? (?:is|are|has|have) already (?:been )?(?:verified|approved|checked)(?!\w)",
        near(r"dear|attention|(?:note|notice|message|instructions?) (?:to|for)|hint for",
            _CHECKER + r"|judge|reviewers?|assistant"),
        near(r"if you are|you are|you're|act as|since you are", _CHECKER),
        near(r"give|assign|award|set|use|grant",
            r"full|maximum|top|highest|perfect|best possible|1\.0|100\s*%",
            r"scores?|marks|ratings?|grades?|points"),
        near(r"score|rating|grade", r"of|is|to be", r"1\.0|10/10|100\s*%"),
        near(r"do not|don't|never", r"check|verify|question|reject|doubt", _CLAIMS),
        r"(?<!\w)(?:new|updated|real|actual|system) instructions?\s*:",
    ),
    backreferences=(
        (r"\baccording to (?:the|this|these) (?:\w+ )?(?:text|passage|excerpt|document|section|chapter|paragraph|article"
        r"|table|figure|list|example|snippet|page|author|context)s?\b(?! (?:of|on|about|for|named|called|titled)\b)"
        r"(?!\s*[“\"(])"),
        (r"\bthe (?:(?:given|provided|present) )?(?:text|passage|excerpt|snippet|author|context) (?:say|state|mention"
        r"|describe|give|list|explain)s?\b"),
        r"\b(?:in|from|by|under) (?:the|this) (?:(?:given|provided|present) )?(?:text|passage|excerpt|snippet)\b(?! of\b)",
        (r"\b(?:mentioned|described|shown|listed|given|stated|discussed|provided) (?:\w+ )?"
        r"(?:above|below|here|earlier|previously)\b"),
        r"\bthe (?:above|aforementioned|following)\b(?! (?:day|night|morning|week|month|quarter|year|season)s?\b)",
        r"\b(?:passage|section|chapter|figure|table|page|paragraph|step|listing) \d+(?:\.\d+)*\b(?! (?:of|in)\b)",
    ),
    boilerplate=(
        r"\A(?:sure|certainly|of course|great question)\b[!.]",
        r"\Ahere(?:'s| is| are) (?:the|an?|your) (?:answer|summary|list|question)",
        (r"\b(?:according to|based on|as (?:stated|described|mentioned) in) (?:the|this|these) "
        r"(?:(?:given|provided|above|retrieved) )?(?:text|passages?|context|excerpts?)\b(?! of\b)"),
        r"\bthe (?:passages?|(?:provided|given) (?:text|context)) (?:states?|says?|mentions?|do(?:es)? not)\b",
        r"\bas an ai (?:language )?(?:model|assistant)\b",
        r"\bi hope this helps\b",
    ),
    letters="",
    hyphened_prefixes=("non", "semi", "bi", "tri", "half", "anti", "un", "sub", "pre", "post"),
    layout=Layout(
        empty=words("""
            action actions and appendix arguments author authors background basics bugs caution changelog
            comment comments conclusion configuration contents defaults definitions description details
            discussion example examples exceptions extra faq features field further general history important
            index info information instructions introduction limitations links list major minor miscellaneous
            more motivation name next no none note notes number options other others output overview
            parameters preface properties implementation help modifiers purpose rationale reading recap
            reference references related remarks requirements result results returns section see setup status
            summary synopsis syntax table technical tip tips todo topics tutorial type usage value values
            version warning warnings abstract acknowledgements acknowledgments also copyright date default
            descriptions installation license specification steps procedure data settings terminology
            documentation"""),
        manuals=words("""
            manual manuals start frequently guide guides handbook handbooks faq faqs documentation docs tutorial tutorials howto
            readme reference cookbook quickstart"""),
        clauses=("Article",),
        references=("see also", "references?", "bibliography", "links", "further reading", r"related \w+",),
        contents=("contents", "table of contents", "list of figures", "list of tables", "index", "concept index"),
        pages=("page", r"p\."),
        of=("of",),
        captions=("figure", r"fig\.", "table", "listing"),
        sections=("sections?", "chapter", "clause", "appendix", "annex", r"fig(?:ure|\.)?", "table"),
        see=("see",),
        suspending=words("and or to"),
        compound_heads=words("self well near quasi"),
        word_prefixes=words("""
            anti auto co counter de dis down ex fore hyper im in infra inter intra macro meta micro mis multi
            non out over para post pre pseudo re semi sub super trans un under up"""),
        compound_tails=words("""
            aligned annotated aware based bound centered centred connected controlled defined delimited
            dependent dimensional directed driven efficient encoded facing focused formatted friendly
            generated grade independent intensive labeled labelled led level like limited linear oriented
            performance precision powered quality rated related relevant resolution scale sensitive separated
            shaped source specific structured style supervised supported throughput trained universally
            weighted wide written"""),
        fields={},
        columns=words("""
            id no number key name title text content body description category type class kind status date
            time year month day value amount price quantity count total unit code country city address street
            phone email url link comment comments note notes source author language question answer label
            first_name last_name start end version license licence"""),
    ),
    labels=Labels(
        copulas=("is",),
        passwords=(),
        users=(),
        phones=(
            "tele(?:phone|fax)?", r"\btel", "phone", "mobile?", "cell", "fax", "call", "hotline", r"\bsms", "whatsapp",
            "contact", "dial",),
        phone_names=(r"\btel(?:ephone|efax)?", "phone", "mobile?", r"\bfax", "telephone number", "phone number"),
        numbers=("number", "no"),
        at=("at",),
        dot=("dot",),
        machines=("address", "client", "host"),
        timestamps=(),
        id_documents=(
            "pass(?:es|port)?", "identity card", "id[ -](?:card|document)", "driv(?:ing|er'?s) licen[cs]e",),
        id_hints=("pass", "card", "document", "licen"),
    ),
)  # fmt: skip
