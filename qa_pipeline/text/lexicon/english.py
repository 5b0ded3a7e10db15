"""English: word classes, conventions of writing and the wording of questions. Data only."""

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
    classes,
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
    January, February, March, April, May, June, July, August, September, October, November, December""")
_DATE = rf"(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {YEAR}|(?:\d{{1,2}} )?{_MONTH} {YEAR}|{YEAR}\b)"
_QUANTITY = any_of("""
    size, number, limit, maximum, minimum, length, width, height, depth, weight, default, timeout, price, fee,
    rate, temperature, duration, period, age, distance, speed, cost, capacity, amount, interval, port,
    pressure, area, population, volume, power, voltage, deadline, value""")
_ACTS = any_of("""
    activates, adds, allows, automates, builds, calculates, checks, computes, configures, controls,
    converts, copies, creates, defines, deletes, describes, determines, disables, enables, ensures,
    executes, generates, handles, implements, indicates, installs, lets, manages,
    opens, prevents, prints, protects, provides, reads, removes, represents, returns, runs, sends, sets,
    shows, specifies, starts, stores, supports, tells, writes""")
_DOUBLED = words("cut drag drop get map plug put run set stop swap tag trim")
_VERBS = words("""
    access activate add adjust allow apply assign avoid build calculate call cancel change check choose clean
    clear combine compare configure connect control convert copy create customize cut define delete disable
    display download drag drop edit enable encrypt execute export extend extract filter find fix format
    generate get handle implement import include increase insert inspect install invoke limit link list load
    make manage measure migrate monitor mount move obtain open optimize override package partition play plug
    prepare prevent print publish query record register release remove rename replace report reset resize
    restart restore restrict retrieve return revert rotate run save scale search select send serve set share
    show sort specify split start stop store submit swap switch synchronize tag test turn uninstall unlock
    unmount update upgrade upload use validate verify view write""")

_FORMS = {form: verb for verb in _VERBS for form in (verb, f"{verb.removesuffix('e')}ing")}
_FORMS |= {f"{verb}{verb[-1]}ing": verb for verb in _DOUBLED}
_VERB = "|".join(sorted(_VERBS))
_BY = "[{source}, ]"
_COUNT = any_of("two, three, four, five, six, seven, eight, nine, ten, twelve, fourteen, thirty")
_COUNTED = rf"(?:{_COUNT}|\d[\d,.]*)"
_UNITS = any_of(
    "business days, working days, calendar days, days, hours, minutes, months, seconds, weeks, years"
)
_MODAL = "must|shall|should|may|can|will"
_AUXILIARY = rf"(?P<be>{_MODAL}|is|are|was|were)(?P<not>(?: not)?)"
_LIMIT = "(?P<bound>at least|at most|no more than|no fewer than)"
_DONE = r"(?:(?:also|usually|normally|automatically) )?[a-z]+(?:ed|en|wn|un|ut|ept|eld|ound|ought|ent|ored)"
_IMPERATIVE = any_of("""
    click, press, type, go, drag, hold, see, make, consider, compare, do, don't, try, ensure, contact, refer, please, simply,
    just, read, look, remember, note, keep, wait, leave, tell, ask, put, pass, log, reboot, double-click, right-click, hit,
    enter, have, begin, proceed, continue, follow, boot, repeat, answer, give, never, always, be, take, let""")
_DOING = rf"(?=[A-Z])(?i:{_VERB}|{_IMPERATIVE})"
_YOU = rf"(?:then )?(?:you (?:can|must|need|should|have to|may|might)|{_VERB}|{_IMPERATIVE})"
_HOLDS = r"(?=[^,;:()]*\b(?:is|are|has|have|does?|don't|doesn't|can|cannot|must|should|will|you|there|[a-z]{3,}s)\b)"
_MAIN = (
    r"(?!(?:or|and|but|as|such|like|including|which|that|not|for|in|on|at|by|with|e\.g\.|i\.e\.)\b|[\w-]+(?:,| or | and )|"
    r"[a-z]+s (?:an?|the) )"
    r".{12,}"
)
_WHEN = "(?:if|when|whenever|before|after|as soon as|as long as|unless)"
_HAPPENS = (
    r"(?![^;]*\b(?:can|could|should|may|might|must|want|please|allows?|lets|available|probably|recommended|best|better|"
    rf"useful|easy|need|needs|helpful|place|you will find|you'll find|don't|do not|whether)\b){_MAIN}"
)
"""A main clause that tells a consequence, and no advice, ability or wish."""
_WISH = r"(?!(?:you|users) (?:want|wish|need|like|would|prefer|have any)\b|[^,]*\b(?:you (?:can|should|must|will|may)|please)\b)"
_UNSET = "(?!set to |you (?:want|wish|like|prefer|need)\\b)"
_HAS = r"(?P<verb>contain|include|require|support|provide|need|accept|represent|use|cover|produce|receive)"
_RESTS_ON = (
    r"(?P<verb>depend|belong|consist|lead|result|differ|correspond|contribute|come|listen|respond)s "
    r"(?P<prep>on|to|of|in|from)"
)
_RELATED = any_of("""
    responsible for, limited to, based on, part of, equivalent to, required for, suitable for, derived from,
    made up of, composed of, written in, subject to, divided into, organized into, associated with, replaced by,
    compatible with, protected by, sorted by, enabled by, disabled by, caused by, followed by, supported by""")
_KINDS = any_of("""
    directive, command, option, function, module, package, method, parameter, dialog, button, menu, key, tool, filter,
    attribute, class, program, script, field, setting, flag, variable, macro, tab, window, section, act, type, report,
    action, account, user, group, protocol, library, plugin, service, format, page, view, policy, mode""")
_TRANSITIVE = any_of("""
    add, affect, allow, allocate, calculate, combine, configure, create, define, delete, describe, determine, enable, ensure,
    execute, generate, handle, implement, indicate, install, manage, measure, permit, prevent, protect, reduce, remove,
    replace, send, specify, tell""")
_FITTING = (
    r"(?:available|useful|necessary|essential|sufficient|ideal|different|independent|visible|valid|identical|similar|relevant|"
    r"important|similar|typical|characteristic|dependent|famous|known) (?:for|on|from|of|to(?= (?:the|an?) )|with(?= (?:the|an?) ))"
)
_ASPECT = any_of("""
    name, purpose, default, default value, type, location, path, format, result, unit, address, language, author, owner,
    color, colour, number, size, limit, length, cost, price, fee, role, task, function, meaning, origin, maximum, minimum""")
_OBJECT = r"(?=(?:the|an?|all|any|each|every|its|their|two|three|several|multiple|no|more|most|only) )"
_IDLE_VERB = any_of("""
    has, is, was, does, goes, takes, makes, gives, gets, sees, says, comes, keeps, puts, plays, holds, remains, seems,
    becomes, appears, happens, lies, means, as, across, perhaps, always, sometimes, plus, versus, towards, besides,
    afterwards, whereas, unless, its, this, us, thus, less, knows, wants, likes, follows""")
_THIRD = rf"(?!{_IDLE_VERB}\b)(?P<verb>[a-z]{{2,}}(?:ss|sh|x)(?=es )|[a-z]{{2,}}[a-rt-wyz](?<!sse)(?<!she)(?<!xe)(?<!che)(?<!ie)(?=s ))e?s"
_PLAIN = (
    r"(?!(?:of|in|on|at|by|for|from|to|with|into|onto|upon|about|over|under|between|through|during|per|via|within|without|"
    r"against|among|across|behind|before|after|since|until|above|below|beside|near|off|out|around|towards?|than|as|and|or|"
    r"nor|but|because|that|which|who|if|when|while|where|are|is|was|were|has|have|had|do|does|did|can|could|may|might|must|"
    r"shall|should|will|would|not|all|both|like|except|unless|whether|only|how|what|also|make|take|see|give|get|know|want|"
    r"plus|inside|outside|along|despite|toward|throughout|regarding|concerning|beyond|using|being)\b)"
    r"(?P<verb>[a-z]{3,})(?<!ing)(?<!ed)(?<!ly)(?<!s)"
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
    wording=Phrases(
        quotes=("“", "”"),
        source="according to {title}",
        laws=((re.compile(r"(?:The )?(.{3,80}\b(?:Act|Regulations?|Rules|Ordinance|Policy|Terms|By-?laws))"),
            r"under the \1"),),
        key_value="What does {place} state under {key}?",
        term="[{source}, ]what is {key}?",
        action="[{source}, ]what does {key} do?",
        acts=re.compile(rf"(?:{_ACTS}|(?:{_VERB})s)\b(?! of)", re.IGNORECASE),
        instructions="[{source}, ]how do you {goal}?",
        placed="[{source}, ]{question}?",
        how_to=re.compile(r"(?:How to )?(?P<goal>[A-Z]?[a-z]+ [^:?!.;,]{3,80})"),
        clauses=("Article",),
        infinitives=_FORMS,
        references=re.compile(r"(?i:see also|references?|bibliography|links|further reading|related \w+)"),
        statements=(
            states(rf"(?:If|When) you (?:want|wish|need|would like) to (?P<goal>{CLAUSE}), {_MAIN}",
                _BY + "how do you {goal}?", "procedure"),
            states(rf"(?P<when>If|When|After|Before|Once) (?P<condition>{CLAUSE}), (?:then )?you (?:can|may|might) (?!not\b).{{8,}}",
                _BY + "what can you do {when} {condition}?", "procedure"),
            states(rf"(?P<when>If|When|After|Before|Once) (?P<condition>{CLAUSE}), {_YOU}\b(?! not\b).*",
                _BY + "what should you do {when} {condition}?", "procedure"),
            states(r"For (?P<condition>[^,;:()]{8,80}), (?:you (?:can|should) )?(?:use|install) .{8,}",
                _BY + "what should you use for {condition}?"),
            states(rf"(?P<when>If|When|Whenever|As soon as|After|Once) {_HOLDS}{_WISH}(?P<condition>(?!\d|many |some |several |a few |all ){CLAUSE}), {_HAPPENS}",
                _BY + "what happens {when} {condition}?", "reasoning"),
            states(
                r"(?P<when>If|When|Once|After|Before) (?P<condition>(?!\d|many |some |several |a few |all )[^,;:()]{12,100}?)(?<!when)(?<!if)(?<!that),? you "
                r"(?:can|must|should|need|may)\b.{8,}", _BY + "what should you do {when} {condition}?", "procedure"),
            states(
                rf"(?P<when>If|When|Once|After) {_HOLDS}{_WISH}(?P<condition>(?!\d|many |some |several |a few |all )[^,;:()]{{12,100}}?)(?<!when)(?<!if)(?<!that)(?<!where) (?:it|they) "
                r"(?:will|is|are)\b.{8,}", _BY + "what happens {when} {condition}?", "reasoning"),
            states(
                r"(?:In order to|To) (?P<goal>(?!the |an? |date |all |most )[a-z]+ [^,;:()]{5,90}), "
                rf"{_YOU}\b .*", _BY + "how do you {goal}?", "procedure"),
            states(rf"(?!(?:Change|Go|Move|Switch|Send|Turn|Return|Refer|Scroll|Upgrade|Convert) )(?:{_DOING}) (?!is |are |was )(?:(?! to |that |which )[^;:()]){{3,140}}(?<!want)(?<!need)(?<!able)(?<!how) (?:in order )?to (?P<goal>(?!(?:return|use|be|do|the|an?|your|one|this|its|either|both|all|each|any|only|[a-z]+ly)\b)[a-z]{{3,}} (?!(?:in|on|at|for|with|from|by)\b)[^,;:()]{{4,80}})\.",
                _BY + "how do you {goal}?", "procedure"),
            states(
                r"You (?:can|may) (?:also |then )?(?P<goal>[a-z]+ [^,;:()]{4,80}?),? (?:by [a-z]+ing|using|via) .*", _BY + "how can you {goal}?", "procedure"),
            states(
                r"It is (?:also )?possible to (?P<goal>[a-z]+ [^,;:()]{6,80}?),? (?:by [a-z]+ing|using|with|via) .*",
                _BY + "how can you {goal}?", "procedure"),
            states(
                r"(?:By [a-z]+ing|With|Using|Via) [^,;:()]{3,80}, (?:you|users|one) can (?:also )?(?P<goal>[a-z]+ [^,;:()]{6,90})\.",
                _BY + "how can you {goal}?", "procedure"),
            states(
                rf"{SUBJECT} {_AUXILIARY} (?P<rest>[^;:()]{{3,110}}?),? because (?!of\b).{{8,}}",
                _BY + "why {be} {subject}{not} {rest}?", "reasoning"),
            states(
                rf"{SUBJECT} (?P<be>does|do|did) not (?P<rest>[^;:()]{{3,110}}?),? because (?!of\b).{{8,}}",
                _BY + "why {be} {subject} not {rest}?", "reasoning"),
            states(
                rf"{SUBJECT} (?!can|may|will|could|might){_AUXILIARY} (?P<rest>(?!be used|used|able)[^;:()]{{3,110}}?) (?:so that|in order to|to (?:ensure|avoid|prevent|allow|make "
                r"sure|protect|improve|reduce|keep|help)) .{8,}", _BY + "why {be} {subject}{not} {rest}?", "reasoning"),
            states(
                r"You (?:can|may|should|must) (?:also )?use [^,;:()]{2,60} to (?P<goal>(?!do\b|use\b)[a-z]+ [^,;:()]{6,90})\.",
                _BY + "how can you {goal}?", "procedure"),
            states(
                rf"You (?P<be>can|should|must|may)(?P<not>(?: not)?) (?P<rest>(?!be |also )[^,;:()]{{8,90}}?),? {_WHEN} "
                rf"{_UNSET}(?!possible|necessary|any|not|so|you (?:want|like|wish|prefer))[^;:]{8,}",
                _BY + "when {be} you{not} {rest}?", "reasoning"),
            states(
                rf"{SUBJECT} (?P<be>can|may|should|is|are|will|does|do)(?:not| not) (?P<rest>(?!.* and |only|just|always|necessarily|be "
                r"able|been|[^.]* (?:and|but) )[^,;:()]{8,110})\.", _BY + "{be} {subject} {rest}?"),
            states(
                r"You (?P<be>can|may|should|must)(?:not| not| never) (?P<rest>(?!only|just|always|necessarily|be able|been)"
                r"[^,;:()]{12,110})\.", _BY + "{be} you {rest}?"),
            states(
                r"It is not (?P<rest>(?:recommended|possible|necessary|advisable|allowed|permitted|safe|required) to "
                r"[^,;:()]{10,110})\.", _BY + "is it {rest}?"),
            states(
                rf"Because [^;:()]{{8,120}}, {SUBJECT} {_AUXILIARY} (?P<rest>[^,;:()]{{8,110}})\.",
                _BY + "why {be} {subject}{not} {rest}?", "reasoning"),
            states(
                rf"{SUBJECT} {_AUXILIARY} (?P<rest>[^,;:()]{{2,80}}?) within {_COUNTED} (?P<unit>{_UNITS})\b.*",
                _BY + "within how many {unit} {be} {subject}{not} {rest}?"),
            states(
                rf"{SUBJECT} (?P<be>{_MODAL}) (?P<rest>(?!be )[^,;:()]{{2,50}}?) {_LIMIT} {_COUNTED} "
                r"(?P<unit>[a-z]+s)(?P<tail>(?: [^,;:()]{2,60})?)\.",
                _BY + "how many {unit} {be} {subject} {rest} {bound}{tail}?"),
            states(
                rf"{SUBJECT} (?P<be>can|may) be up to {_COUNTED} (?:[a-z]+s) (?P<tail>long|old|wide|high|tall|deep)\b.*",
                _BY + "how {tail} {be} {subject} be?"),
            states(
                rf"{SUBJECT} (?P<be>must|should) be {_LIMIT} {_COUNTED} (?P<unit>[a-z]+s) "
                r"(?P<tail>long|old|wide|high|tall|deep)\b.*", _BY + "how {tail} {be} {subject} be?"),
            states(
                rf"{SUBJECT} (?P<be>is|are|was) (?P<rest>called|named|known as) .{{3,}}",
                _BY + "what {be} {subject} {rest}?"),
            states(rf"{SUBJECT} (?P<be>is|are) (?:also |simply )?(?P<rest>(?:an?|the(?! (?:first|second|most|only) )) {REST})",
                _BY + "what {be} {subject}?"),
            states(
                rf"The [\w<>.“”\"-]{{2,40}} (?P<kind>{_KINDS}) (?:also )?(?P<rest>(?:(?:{_VERB})s|{_ACTS}|lets|allows|enables) "
                r"(?!you to use)[^,;:()]{20,110})\.", _BY + "which {kind} {rest}?"),
            states(
                r"[^,;:()]{3,60} (?P<rest>(?:can|may|should|must) be used to [^,;:()]{15,110})\.", _BY + "what {rest}?"),
            states(rf"{SUBJECT} means {REST}", _BY + "what does {subject} mean?"),
            states(rf"{SUBJECT} refers to {REST}", _BY + "what does {subject} refer to?"),
            states(rf"{SUBJECT} stands for {REST}", "what does {subject} stand for?"),
            states(rf"{SUBJECT} {_RESTS_ON} {REST}", _BY + "what does {subject} {verb} {prep}?"),
            states(rf"{SUBJECT} (?P<be>is|are) (?:also |primarily |mainly )?(?P<rest>{_RELATED}|{_FITTING}) (?!default){REST}",
                _BY + "what {be} {subject} {rest}?"),
            states(
                rf"{SUBJECT} {_AUXILIARY} (?P<rest>(?:be )?(?:[a-z]+ly )?[a-z]{{3,}}(?:ed|wn|en|lt|pt) (?:with|into|from|for|as|on|"
                r"through|of|to(?= (?:the|an?|[A-Z]))))(?! (?:the (?:same|following)|this|that|default|[a-z]+ing|first [a-z]+ing))(?<!used to) {REST}".replace("{REST}", REST),
                _BY + "what {be} {subject}{not} {rest}?", score=0.6),
            states(
                rf"{SUBJECT} {_AUXILIARY} (?P<rest>(?:be )?(?:always |[a-z]+ly )?[a-z]{{3,}}(?:ed|wn|en|lt|pt|set)) (?P<prep>by|to) "
                r"(?!default|hand|using|means|the (?:same|following)|this|that|[a-z]+ing\b|be\b|(?:the )?user)(?:the |an? |[A-Z/\d“\"'$])[^;:]{3,}",
                _BY + "what {be} {subject}{not} {rest} {prep}?", score=0.6),
            states(rf"{SUBJECT} (?P<be>is|are) (?:designed|intended|meant) to {REST}",
                _BY + "what {be} {subject} designed to do?"),
            states(
                rf"The (?P<rest>(?:[a-z-]+ )?{_ASPECT} (?:of|for) [^,;:()]{{3,60}}?) (?P<be>is|are|was) (?!not|also|then|used|often)"
                r"[^,;:]{2,}", _BY + "what {be} the {rest}?"),
            states(
                r"The (?P<rest>(?:main |primary )?(?:difference|advantage|disadvantage|purpose|goal|aim|drawback|benefit|role) "
                r"(?:of|between|for|with) [^,;:()]{4,60}?) is (?:that|to|the|an?) .{10,}", _BY + "what is the {rest}?"),
            states(rf"{SUBJECT} (?P<be>is|are|can be) (?:\w+ly )?used (?:to|for|as) {REST}",
                _BY + "what {be} {subject} used for?"),
            states(
                rf"(?P<subject>The (?:[\w-]+ ){{0,3}}{_QUANTITY}(?: (?:of|for|between) [^,;:()]{{3,50}}?)?) "
                rf"(?P<be>is|are|was) {NUMBER}.*", _BY + "what {be} {subject}?"),
            states(rf"{SUBJECT} costs {NUMBER} .*", _BY + "how much does {subject} cost?"),
            states(rf"{SUBJECT} weighs {NUMBER} .*", _BY + "how much does {subject} weigh?"),
            states(rf"{SUBJECT} lasts {NUMBER} .*", _BY + "how long does {subject} last?"),
            states(
                rf"{SUBJECT} (?P<be>was|were) (?:\w+ly )?(?P<done>(?!based|used)[a-z]+(?:ed|en|uilt|set|un)) "
                rf"(?:[^,;:()]{{0,60}}? )?(?:in|on|since) {_DATE}.*", _BY + "when {be} {subject} {done}?"),
            states(
                rf"{SUBJECT} {_AUXILIARY} (?P<rest>(?:(?<!is )(?<!are )(?<!was )|(?!an? |the ))(?:(?! that | which | who )[^,;:()]){{2,90}}?),? {_WHEN} {_UNSET}(?!possible|available|necessary|any|not|so)[^;:]{{8,}}",
                _BY + "when {be} {subject}{not} {rest}?", "reasoning"),
            states(
                rf"{SUBJECT} {_AUXILIARY} (?P<rest>(?:be )?{_DONE}) (?:by (?:[a-z]+ )?[a-z]+ing|using|by means of|through the|via|with "
                r"the (?:help|use)) .{6,}", _BY + "how {be} {subject}{not} {rest}?", "procedure"),
            states(
                rf"{SUBJECT} (?:lets|allows|enables) (?:you|users) (?:to )?{REST}",
                _BY + "what does {subject} let you do?"),
            states(rf"There are (?P<rest>{_COUNT} (?:[a-z-]+ )?[a-z]+s(?: [^,;:()]{{3,60}})?): {REST}",
                _BY + "which {rest} are there?"),
            states(
                rf"{SUBJECT} (?P<be>must|shall|should|may(?= not))(?P<not>(?: not)?) (?P<rest>(?!be |have |not )[a-z]+ .{{12,}})",
                _BY + "what {be} {subject}{not} do?", score=0.6),
            states(rf"{SUBJECT}(?<![^s]s) {_HAS}s (?!as\b|for\b|to\b|in\b|with\b|by\b|from\b|only\b|no\b|not\b){REST}", _BY + "what does {subject} {verb}?", score=0.6),
            states(rf"(?P<subject>[^,;:()]{{3,60}}?[^s]s) {_HAS} (?!as\b){REST}", _BY + "what do {subject} {verb}?", score=0.6),
            states(
                rf"(?!.*ly {_ACTS} ){SUBJECT}(?<![^s]s) (?!supports|provides){_ACTS} {REST}", _BY + "what does {subject} do?", opening=True),
            states(
                rf"{SUBJECT}(?<![^s]s) (?P<verb>{_TRANSITIVE})s (?!as\b|that\b|in\b|to\b|on\b|for\b|with\b|by\b|from\b|at\b|no\b|not\b|only\b){REST}",
                _BY + "what does {subject} {verb}?", score=0.6),
            states(rf"{SUBJECT}(?<![^s]s) {_THIRD} {_OBJECT}{REST}", _BY + "what does {subject} {verb}?", score=0.6),
            states(
                rf"(?P<subject>(?!(?:Each|Every|An?|Unlike|With|In|If|When|By|For) )[^,;:()]{{3,60}}?[^s\W]s) (?P<verb>affect|{_TRANSITIVE}) "
                rf"(?!{_AUXILIARY}|as\b|that\b|in\b|to\b|on\b|for\b|with\b|by\b|from\b|at\b|no\b|not\b|only\b|and\b|or\b|of\b){{REST}}".replace("{REST}", REST).replace("(?P<be>", "(?:").replace("(?P<not>", "(?:"),
                _BY + "what do {subject} {verb}?", score=0.6),
            states(
                rf"(?P<subject>(?!(?:Each|Every|An?|Unlike|With|In|If|When|By|For) )[^,;:()]{{3,60}}?[^s\W]s) {_PLAIN} {_OBJECT}{REST}", _BY + "what do {subject} {verb}?", score=0.6),

        ),
        leads=(
            states(r"(?:In order to|To) (?P<goal>[a-z]+ [^,;:()]{5,90})(?:, .{3,80})?", _BY + "how do you {goal}?", "procedure"),
            states(rf"{SUBJECT} (?P<be>must|shall|should|may)", _BY + "what {be} {subject} do?"),
            states(
                rf"{SUBJECT}(?<![^s]s) {_HAS}s(?: (?:the )?following(?: [\w-]+){{0,3}}| these(?: [\w-]+){{0,3}})?",
                _BY + "what does {subject} {verb}?"),
            states(rf"{SUBJECT} consists of(?: the following(?: \w+)?)?", _BY + "what does {subject} consist of?"),
            states(
                r"The following (?P<rest>[^,;:()]{3,60} (?:are|can be|may be|must be) [^,;:()]{3,60})",
                _BY + "which {rest}?"),
            states(r"There are (?P<rest>[a-z]+ (?:[\w-]+ )?[a-z]+s (?:of|to|in|for|that) [^,;:()]{3,60})",
                _BY + "which {rest} are there?"),
            states(rf"(?P<when>If|When) (?P<condition>{CLAUSE}), {_YOU}\b.*",
                _BY + "what should you do {when} {condition}?", "procedure"),
        ),
        attributes=(
            attribute(r"[€$£]|\d[\d.,]* ?(?:€|euros?|dollars?|pounds?|EUR|USD|GBP)\b",
                "how much is {key} {of} {subject}?", "{key} {of} {subject} is {value}.", key=".*(?:fee|fine|rent|charge|deposit|tax)s?"),
            attribute(r"\d+ (?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b",
                "how long is {key} {of} {subject}?", "{key} {of} {subject} is {value}.",
                key=".*(?:period|time|duration|term|interval|warranty|delay)"),
            attribute(r"\S", "what is {key} {of} {subject}?", "{key} {of} {subject} is {value}."),
        ),
        definite_forms={"": "the {}"},
        relations=("of", "for"),
        plural=re.compile(r"(?<!s)s$"),
        kinds=re.compile(r"(?i:,? (?:data ?sheets?|guide|manual|handbook|documentation|reference|overview|specifications?|user guide|installation guide|service manual))$"),
        common=re.compile(r".*(?:[^us]s|ing|tion|ment|ness|ity|ance)"),
        indefinite=words("a an"),
        definite=words("the"),
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
        title_case=True,
        general=words("""
            frequently asked questions question answers answer quick start started getting user users user's using use uses
            administrator admin developer developers developer's programmer chapter part section help contact support system
            systems security style release releases policy privacy terms service services conditions agreement rules
            concepts concept lexicon glossary page pages site home welcome about install installing setting reporting
            problem problems troubleshooting guidelines limitation model naming conventions convention legacy current
            new old windows window dialog dialogs basic advanced edition book document documents file files web website
            network networking configuration employee employees staff member members customer product training database
            server project quality safety operating operation operations maintenance technical hardware software command line
            api programming student students teacher library team company travel expenses
            data sheet standard architecture design development tools tool"""),
        metadata=words("""
            manual context override description syntax status language version author authors last-modified modified created module identifier licence
            license copyright keywords popcon revision post-history content-type python-version topic compatibility sponsor
            resolution replaces source file id uuid date updated maintainer editor translator url link
            contact e-mail email size type section group track availability"""),
        superlative=re.compile(r"[a-z]{3,}(?<!requ)(?<!inter)est"),
        leaning=words("""
            usually nobody somebody anybody everybody someone anyone one that it its he she they them their his her this these those such above below following previous
            latter former here there i we our us my another other others otherwise however therefore instead
            also both first second third last next same then thus so but and or"""),
        pointing=words("following below above previous preceding see here figure aforementioned earlier"),
        addressing=words("you your yours yourself"),
        dangling=re.compile(
            r"\b(?:section|chapter|skip|this|these|those|above|below|we|us|our|(?:does|do|supports?|allows?|uses?|like|in|for|to|with|by|from|about|of) (?:this|that|these|those)(?:[.,;]| (?:way|case|"
            r"reason|purpose|manner)\b)|these (?:variables|options|values|settings|two|three)|the (?:former|latter)|as such|also|however|therefore|thus|hence|likewise|refer to|(?:[Mm]ore|[Ff]urther|[Aa]dditional) (?:information|details|documentation|examples)|[Ll]ine \d+|wherever|(?:some|several|many) things|(?:smart|good|intelligent) enough|(?:all|one|each|both|some|any) of (?:them|which))\b"),
        idle=words("understand learn did had was were know sure curious interested familiar already comparing prefer wondering reading doubt"),
        vague=words("""
            action actions box button changes command commands data dialog directory entry entries error errors experiment feature
            field fields file files folder form function icon image images item items key limit line lines link list menu message
            method mode name names object option options output page pages password problem procedure process program result
            results row rows screen section segment segments selection service setting settings setup step steps system tab
            table task test text tool user value values version view window"""),
        partial=re.compile(r"(?i:\bfirst\b|one of the following)"),
        weak=words("""
            good great bad nice bit lot problem same only first last default best few common most must very
            more simple reason result following case right wrong different easy hard better prime important
            example simplest easiest recommended good-enough useful another real main key sure"""),
        abstract=words("""
            answer approach concept advantage alternative assumption benefit caveat consequence difference
            disadvantage drawback effect example exception fact former goal idea intent issue latter main
            although once total wherever motivation option point possibility problem purpose question reason result rule solution thing way
            workaround concern aim challenge one part rest difficulty note remember all each every some any no
            many most several few if when while since whether because only notes warning tip caution important
            hint remark list overview information documentation addition instance particular case cases contrast general
            practice short theory comparison other"""),
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
