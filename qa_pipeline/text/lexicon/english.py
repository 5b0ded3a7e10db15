"""English: word classes, conventions of writing and the wording of questions. Data only."""

import re

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
    words,
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

WORDING = Phrases(
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
)  # fmt: skip

OTHERS = {
    'also': frozenset(['also', 'even']),
    'and_word': 'and',
    'comparing': frozenset(['than']),
    'conditions': ('if', 'unless', 'except', 'provided that', 'when', 'until', 'only', 'assuming', 'whenever'),
    'dependent_openers': frozenset(['if', 'lest', 'that', 'unless', 'until', 'when', 'whether']),
    'exclusive': frozenset(['exclusively', 'only', 'solely']),
    'fillers': frozenset(['accordingly', 'additionally', 'also', 'besides', 'consequently', 'further', 'furthermore', 'hence', 'however', 'indeed', 'meanwhile', 'moreover', 'note', 'then', 'therefore', 'thus']),
    'ordinals': {'first': 1, 'second': 2, 'third': 3, 'fourth': 4, 'fifth': 5, 'sixth': 6, 'seventh': 7, 'eighth': 8, 'ninth': 9, 'tenth': 10, 'eleventh': 11, 'twelfth': 12, 'thirteenth': 13, 'fourteenth': 14, 'fifteenth': 15, 'sixteenth': 16, 'seventeenth': 17, 'eighteenth': 18, 'nineteenth': 19, 'twentieth': 20},
    'past_copulas': frozenset(['was', 'were']),
    'relatives': frozenset(['that', 'which', 'who']),
    'universal': frozenset(['all', 'always', 'completely', 'each', 'entire', 'entirely', 'every', 'everyone', 'everything', 'fully', 'whole']),
    'verb_final': False,
    'verb_second': False,
    'verbal_nouns': 'ing',
    'contrasts': frozenset(['although', 'apart', 'but', 'except', 'excluding', 'however', 'instead', 'not', 'rather', 'though', 'whereas', 'while', 'yet']),
}  # fmt: skip
