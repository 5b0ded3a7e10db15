"""English: closed word classes, numbers, months, opposites. Data only."""

from qa_pipeline.text.lexicon.base import Lexicon, classes, contracted, numbered, opposed, phrases, words

ENGLISH = Lexicon(
    code="en",
    stemmer="english",
    decimal_comma=False,
    nouns_capitalised=False,
    stop_words=words(
        """a an the and or but so than that this these those it its they them their he him his she her
        we us our you your i me my who whom which what whose where when why how there here is are
        was were be been being am do does did doing done has have had having will would can could
        may might shall should must of in on at by for from to with into onto upon as if then also
        too very just about over under between through during per via such both each other another
        any some more most much many own same s t d ll re ve not no nor isn aren wasn weren don
        doesn didn wouldn can't cannot couldn shouldn hasn haven hadn one's because while until
        equals amounts although though however therefore thus hence e.g i.e etc out up down off
        again"""
    ),
    not_word="not",
    and_word="and",
    cell_sentence="The {0} of {1} is {2}.",
    negations=words(
        """not no never without none neither nor cannot can't don't doesn't didn't isn't aren't wasn't
        weren't won't wouldn't couldn't shouldn't hasn't haven't hadn't mustn't nothing nobody"""
    ),
    soft_negations=words(
        """unable lacks lack lacking fails failed fail hardly barely excluding except prevents
        prevent forbidden prohibited rarely seldom refuses instead refused refuse declined denies
        denied rejected rejects avoid avoids avoided avoiding"""
    ),
    clause_openers=words(
        """because since although though while but which who that if when unless whereas and or"""
    ),
    passive_agents=words("by"),
    joiners=words("and or nor plus versus"),
    negative_prefixes=("un", "in", "im", "ir", "il", "non", "non-", "dis", "de"),
    opposites=opposed(
        """enable,enables,enabled,enabling/disable,disables,disabled,disabling
allow,allows,allowed,permit,permits,permitted/forbid,forbids,forbidden,prohibit,prohibits,prohibited,deny,denies,denied,disallow,disallowed,prevents
        before,prior/after,following minimum,min/maximum,max
increase,increases,increased,increasing,rise,rises,rose,risen,grew,grow,grows/decrease,decreases,decreased,decreasing,fall,falls,fell,drop,drops,dropped,decline,declined,reduce,reduces,reduced,shrank
        higher,highest,high/lower,lowest,low more,most/less,fewer,least,fewest
        greater,larger,bigger,largest,biggest/smaller,smallest
        faster,fastest,quick,quickly,fast/slower,slowest,slow,slowly first/last
        earlier,earliest,early/later,latest,late above,over/below,beneath inside,within/outside
        start,starts,started,begin,begins,began/end,ends,ended,stop,stops,stopped,finish,finished
        open,opens,opened/close,closes,closed,shut
        include,includes,included,including/exclude,excludes,excluded,excluding true/false yes/no
        on/off accept,accepts,accepted/reject,rejects,rejected,refuse,refused
        add,adds,added/remove,removes,removed,delete,deletes,deleted
        same,identical,equal/different,unequal
        mandatory,required,compulsory,obligatory/optional,voluntary,unnecessary public/private
        internal/external synchronous/asynchronous ascending/descending
        buy,bought,buyer,purchase,purchased/sell,sold,seller
        win,won,wins,winner/lose,lost,loses,loser positive,positively/negative,negatively
        success,succeeds,succeeded,successful/failure,failed,unsuccessful
        safe,safely/unsafe,dangerous,unsafely present/absent left/right
        north,northern/south,southern east,eastern/west,western
        old,oldest,older/new,newest,newer,young,youngest,younger best,better/worst,worse
        always,often,frequently/never,rarely,seldom cheap,cheaper,cheapest/expensive,dear
        valid/invalid legal/illegal male,man,men/female,woman,women father/mother son/daughter
        brother/sister import,imports/export,exports input/output upload,uploads/download,downloads
        encrypt,encrypted/decrypt,decrypted lock,locked/unlock,unlocked
        import,imported/export,exported strong,stronger,strongest/weak,weaker,weakest
        long,longer,longest/short,shorter,shortest hot,warm,warmer/cold,cool,colder
        day,daytime/night easy,easier/difficult,hard,harder full/empty gain,gained/loss,lost
        temporary/permanent deprecated,discouraged/recommended,encouraged single/multiple
        manual,manually/automatic,automatically"""
    ),
    numbers={
        **numbered(
            """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty"""
        ),
        "zero": 0, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
        "ninety": 90, "dozen": 12, "half": 0.5, "once": 1, "twice": 2, "single": 1, "both": 2, "double": 2,
    },
    ordinals=numbered(
        """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
        fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""
    ),
    scales={"hundred": 1e2, "thousand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9,
        "trillion": 1e12},
    months=numbered(
        """january/jan february/feb march/mar april/apr may june/jun july/jul august/aug
        september/sep/sept october/oct november/nov december/dec"""
    ),
    lower_bounds=phrases(
        """at least, no fewer than, not less than, no less than, not fewer than, minimum of,
        minimum, more than, over, exceeding, exceeds, or more, or higher, or later, and above,
        or older, from, above, greater than, or newer"""
    ),
    upper_bounds=phrases(
        """at most, up to, no more than, not more than, maximum of, maximum, less than, fewer than,
        under, below, or less, or fewer, or lower, or earlier, not exceeding, not exceed, does
        not exceed, or younger, within"""
    ),
    approximations=phrases(
        """about, around, approximately, roughly, nearly, almost, some, circa, ca, ~"""
    ),
    universal=words("all every each always everyone everything entirely fully completely whole entire"),
    partial=words(
        """some several many most often sometimes usually partly partially few occasionally
            typically mostly generally"""
    ),
    exclusive=words("only solely exclusively"),
    strong=words("must shall mandatory obligatory"),
    weak=words("may might can could should optionally possibly"),
    conditions=phrases(
        """if, unless, except, provided that, when, until, only, assuming, whenever"""
    ),
    greetings=words(
        """hi hello hey thanks thank welcome sure certainly regards sincerely cheers dear goodbye
            bye sorry"""
    ),
    determiners=words("a an the"),
    fillers=words(
        """however therefore thus hence moreover furthermore additionally accordingly consequently also
        indeed then note further besides meanwhile"""
    ),
    conjunctions=words("and"),
    contrasts=words(
        """but however except excluding although though while whereas yet instead rather not apart"""
    ),
    conditional_words=words(
        """if unless when whenever until till provided assuming except only once where before after as
        whether subject depending while during without"""
    ),
    example_openers=("for example", "for instance", "such as", "e.g.", "including"),
    reason_openers=words("because"),
    finite_verbs=words(
        """is are was were has have had can could may might must shall should will would does do did"""
    ),
    contractions=contracted(
        """can't=can+not cannot=can+not won't=will+not don't=do+not doesn't=does+not didn't=did+not
        isn't=is+not
        aren't=are+not wasn't=was+not weren't=were+not hasn't=has+not haven't=have+not hadn't=had+not
        mustn't=must+not shouldn't=should+not couldn't=could+not wouldn't=would+not it's=it+is"""
    ),
    function_classes=classes(
        """and or, must may should can could might, all some most no many few, before after during until
        since,
        if unless because although, in on under over between from to with without by for of, more less,
        always never often sometimes, only also, is was, each any every, this that, least most, up down"""
    ),
    question_words=words(
        """cost costs pay make made need needed needs know known hold holds get gets what which who
        whom whose how many much long often when where why state states stated say says give gives
        given list lists listed table column row section under called name named value define
        defined mean means definition according document text explain describe described tell
        happens use used for step steps"""
    ),
    row_glue=words("is are was were has have of the a an for in at to by with and equals amounts"),
    adding_relatives=words("which"),
    auxiliaries=words("do does did"),
    negation_tails=words("longer more any"),
    openings=words("but yet and also so additionally however moreover furthermore"),
    endings=frozenset(("", *["s", "es", "'s", "'"])),
    collectives=words(
        """between both consists consist combination sum total together jointly average mix mixture
        equal difference either"""
    ),
    copulas=words("is are was were"),
    past_copulas=words("was were"),
    relatives=words("that which who"),
    subject_pronouns=words("it they he she"),
    degree_words=words("how"),
    value_columns=words("value valu amount unit number content"),
    measures=contracted(
        """pressure=pressure voltage=voltage weight=mass mass=mass heavy=mass length=length
        long=length+time+months
        height=length width=length distance=length depth=length temperature=temperature price=usd+eur+gbp+sek
        cost=usd+eur+gbp+sek costs=usd+eur+gbp+sek fee=usd+eur+gbp+sek amount=usd+eur+gbp+sek
        area=area volume=volume capacity=volume+bytes power=power speed=speed frequency=frequency
        duration=time+months period=time+months percentage=percent share=percent size=bytes+area+length
        current=current energy=energy"""
    ),
)  # fmt: skip
