"""English: the wording of questions and the words around which they are asked. Data only."""

import re

from qa_pipeline.llm.extractive.phrases import NUMBER, REST, SUBJECT, YEAR, Phrases, any_of, states
from qa_pipeline.text.lexicon.base import words

_MONTH = any_of(
    "January, February, March, April, May, June, July, August, September, October, November, December"
)
_DATE = rf"(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {YEAR}|(?:\d{{1,2}} )?{_MONTH} {YEAR}|{YEAR}\b)"
_QUANTITY = any_of(
    """size, number, limit, maximum, minimum, length, width, height, depth, weight, default, timeout,
    price, fee, rate, temperature, duration, period, age, distance, speed, cost, capacity, amount,
    interval, port, pressure, area, population, volume, power, voltage, deadline, value"""
)
_ACTS = any_of(
    """activates, adds, allows, automates, builds, calculates, changes, checks, computes, configures,
    controls, converts, copies, creates, defines, deletes, describes, determines, disables, displays,
    enables, ensures, executes, generates, handles, implements, indicates, installs, lets, lists, loads,
    manages, measures, opens, prevents, prints, protects, provides, reads, removes, represents, returns,
    runs, sends, sets, shows, specifies, starts, stores, supports, tells, updates, writes"""
)
_DOUBLED = words("cut drag drop get map plug put run set stop swap tag trim")
_VERBS = words(
    """access activate add adjust allow apply assign avoid build calculate call cancel change check
        choose clean clear combine compare configure connect control convert copy create customize cut
        define delete disable display download drag drop edit enable encrypt execute export extend extract
        filter find fix format generate get handle implement import include increase insert inspect
        install invoke limit link list load make manage measure migrate monitor mount move obtain open
        optimize override package partition play plug prepare prevent print publish query record register
        release remove rename replace report reset resize restart restore restrict retrieve return revert
        rotate run save scale search select send serve set share show sort specify split start stop store
        submit swap switch synchronize tag test turn uninstall unlock unmount update upgrade upload use
        validate verify view write"""
)

_FORMS = {form: verb for verb in _VERBS for form in (verb, f"{verb.removesuffix('e')}ing")}
_FORMS |= {f"{verb}{verb[-1]}ing": verb for verb in _DOUBLED}
_VERB = "|".join(sorted(_VERBS))
_BY = "[according to {place}, ]"

ENGLISH = Phrases(
    quotes=("“", "”"),
    within="{heading} in {title}",
    key_value="What does {place} state under {key}?",
    item="How does {place} explain {key}?",
    cell="What does the table in {place} give as {column} for {row}?",
    steps="What are the steps under {place}?",
    section="What does {title} say about {heading}?",
    clause="What does {heading} of {title} provide?",
    instructions="How do you {goal}?",
    how_to=re.compile(r"(?:How to )?(?P<goal>[A-Z]?[a-z]+ [^:?!.;,]{3,80})"),
    infinitives=_FORMS,
    references=re.compile(r"(?i:see also|references?|bibliography|links|further reading|related \w+)"),
    statements=(
        states(
            rf"{SUBJECT} (?P<be>is|are) (?:also |simply )?(?P<rest>(?:an?|the|one of the) {REST})",
            "what {be} {subject}?",
        ),
        states(rf"{SUBJECT} means {REST}", "what does {subject} mean?"),
        states(rf"{SUBJECT} refers to {REST}", "what does {subject} refer to?"),
        states(rf"{SUBJECT} stands for {REST}", "what does {subject} stand for?"),
        states(rf"{SUBJECT} consists of {REST}", "what does {subject} consist of?"),
        states(
            rf"{SUBJECT} (?P<be>is|are) (?:\w+ly )?used (?:to|for|as|by|when) {REST}",
            "what {be} {subject} used for?",
        ),
        states(
            rf"(?!.*ly {_ACTS} ){SUBJECT}(?<![^s]s) {_ACTS} {REST}", "what does {subject} do?", opening=True
        ),
        states(
            rf"(?P<subject>The (?:[\w-]+ ){{0,3}}{_QUANTITY}(?: (?:of|for|between) [^,;:()]{{3,50}}?)?) "
            rf"(?P<be>is|are|was) {NUMBER}.*",
            _BY + "what {be} {subject}?",
            "figure",
        ),
        states(rf"{SUBJECT} costs {NUMBER} .*", _BY + "how much does {subject} cost?", "figure"),
        states(rf"{SUBJECT} weighs {NUMBER} .*", _BY + "how much does {subject} weigh?", "figure"),
        states(rf"{SUBJECT} lasts {NUMBER} .*", _BY + "how long does {subject} last?", "figure"),
        states(
            rf"{SUBJECT} (?P<be>was|were) (?:\w+ly )?(?P<done>(?!based|used)[a-z]+(?:ed|en|uilt|set|un)) "
            rf"(?:[^,;:()]{{0,60}}? )?(?:in|on|since) {_DATE}.*",
            _BY + "when {be} {subject} {done}?",
            "date",
        ),
        states(
            r"(?:In order to|To) (?P<goal>(?!the |an? |date |all |most )[a-z]+ [^,;:()]{5,90}), (?:then )?"
            rf"(?:you (?:can|must|need|should|have|may)|{_VERB}|click|press|type|go|drag|hold)\b .*",
            _BY + "how do you {goal}?",
            "how_to",
        ),
    ),
    indefinite=words("a an"),
    definite=words("the"),
    empty=words(
        """action actions and appendix arguments author authors background basics bugs caution changelog
        comment comments conclusion configuration contents defaults definitions description details
        discussion example examples exceptions extra faq features field further general history important
        index info information instructions introduction limitations links list major minor miscellaneous
        more motivation name next no none note notes number options other others output overview
        parameters preface properties implementation help modifiers purpose rationale reading recap
        reference references related remarks requirements result results returns section see setup status
        summary synopsis syntax table technical tip tips todo topics tutorial type usage value values
        version warning warnings abstract acknowledgements acknowledgments also copyright date default
        descriptions installation license specification steps procedure data settings terminology
        documentation"""
    ),
    superlative=re.compile(r"[a-z]{3,}(?<!requ)(?<!inter)est"),
    leaning=words(
        """that it its he she they them their his her this these those such above below following previous
        latter former here there i we our us my another other others otherwise however therefore instead
        also both first second third last next same then thus so but and or"""
    ),
    pointing=words("following below above previous preceding see here figure aforementioned earlier"),
    weak=words(
        """good great bad nice bit lot problem same only first last default best few common most must very
        more simple reason result following case right wrong different easy hard better prime important
        example simplest easiest recommended good-enough useful another real main key"""
    ),
    abstract=words(
        """answer approach concept advantage alternative assumption benefit caveat consequence difference
        disadvantage drawback effect example exception fact former goal idea intent issue latter main
        motivation option point possibility problem purpose question reason result rule solution thing way
        workaround concern aim challenge one part rest difficulty note remember all each every some any no
        many most several few if when while since whether because only notes warning tip caution important
        hint remark"""
    ),
)
