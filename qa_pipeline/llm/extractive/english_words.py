"""Closed word classes of English that the rules lean on instead of a part-of-speech tagger.

What belongs here: word lists. What does not: patterns and decisions.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def one_of(listed: str) -> str:
    """Turn "is, has been" into the pattern that matches either."""
    return "(?:" + "|".join(part.strip() for part in listed.split(",")) + ")"


BAD_OPENERS = _words(
    """however therefore thus also and but so then this it they these those that he she here there instead
    otherwise similarly likewise moreover furthermore additionally finally first firstly second secondly
    third next consequently hence again now such both another others we our i let let's let’s yet still
    besides meanwhile afterwards later anyway actually basically remember notice imagine suppose sorry
    please yes no ok okay well even just only what which who why how where whether because although
    though while whereas since unlike like too maybe perhaps of or nor rather further conversely
    accordingly indeed alternatively specifically particularly their its his her my me us lastly overall
    usually unfortunately fortunately nevertheless nonetheless most some many few several one two three
    ideally typically depending apart once after before during until eventually previously currently
    recently today nowadays"""
)
"""A sentence that begins so leans on the one before it, or speaks to the reader of the page."""

PRONOUNS = _words(
    """it its itself they them their theirs themselves he him his she her hers this these those that here
    there we us our ours ourselves i me my mine one ones such so then latter former same other others
    another both either neither each"""
)
"""Words that point outside a question."""

POINTERS = _words(
    """above below following previous previously aforementioned preceding earlier later next below: above:
    this these those herein hereby former latter i me my mine let's let’s we us our ours figure fig
    table figures tables appendix listing equation eq"""
)
"""Words that send a reader of the answer to another place, or to the author."""

POINTING_PHRASES = (
    "that case", "that way", "that one", "as follows", "as described", "as mentioned", "as explained",
    "as discussed", "as shown", "as in ", "see ", "like that", "for example:", "that's", "it's",
    "at the end", "we'll", "you'll see", "i'll", "you saw", "you will see", "you'll learn",
    "will learn", "you already", "the example", "an example of", "same way", "et al", "http:",
    "https:", "doi", "same as", " stuff", "similar ", " things.", "read more", "check the docs",
    "the docs about", "the same thing", "did before", "real world", "as you can", "as you see",
    " too.", "learn more", "read the ", "check the ", "documentation about", "docs for ",
    "explained in", "documented in", "refer to ", "please ", "discussed in", "outlined in",
    "discussed ", "mentioned", "as well.", "or something", "in the section", "described in",
)  # fmt: skip
"""Phrases that do the same; matched in lower case."""

UNFINISHED = _words(
    """with like is are was were to as by in from of be and or on for at the a an that using called named
    do does has have via about than where when if following include includes including either both means
    contains because under e.g i.e says say say: was:"""
)
"""Last words before a colon that leave a sentence open."""

GENERIC_NOUNS = _words(
    """file files value values string strings example examples command commands code function functions
    method methods page pages section sections table tables result results parameter parameters first
    second third last next same other current new old rest way ways case cases problem problems issue
    issues thing things option options name names number numbers line lines list lists item items type
    types object objects process following previous latter former text content contents document
    documents data key keys class classes argument arguments directive directives module modules setting
    settings variable variables format block approach solution idea reason reasons difference goal aim
    purpose point main only default user's authors author course paper project package software tool
    tools work resource resources lesson lessons notebook notebooks materials material program programme
    study study's app application script original above entry entries field fields algorithm information
    input output test tests model models library version versions system part parts piece step steps
    instruction instructions task tasks feature features change changes path directory folder account
    group groups log site above-mentioned box button image images figure size length amount form
    expression expressions pattern patterns rule rules flag flags state status body header headers error
    errors message messages title end start beginning top bottom left right set subset dependency
    dependencies operation operations request response connection instance decorator callback token
    tokens backend frontend alternative alternatives attribute attributes callable operator operators
    proposal behaviour behavior implementation"""
)
"""Head nouns that "the" points with: "the file" means some file the passage spoke of."""

KINDS = _words(
    """directive module function method class option command parameter attribute setting variable header
    field filter decorator exception argument program tool package library flag property object type
    keyword file provider handler middleware response statement interface protocol format algorithm
    language project course framework plugin hook template operator constant script utility service
    model"""
)
"""Class nouns that may follow a name: "the Alias directive"."""

IMPERATIVES = _words(
    """hold press wait fill pull push lift connect disconnect drain switch tighten loosen clean wipe
    contact report heat cool measure sign submit bring use set add create run call pass define declare
    specify import install include write put make configure enable disable change remove open start stop
    send return choose select provide place give check ensure click go follow apply compile load edit
    build replace wrap move copy type enter execute override insert append store keep assign implement
    inherit read restart invoke do download uncomment turn try have combine register annotate convert
    generate extend attach analyze review verify"""
)
"""Verbs that open an instruction."""

MODALS = _words("can could should must may might need have will shall would")

NOT_VERBS = _words(
    """the a an this that these those my your his her its our their each all any some no one both either
    what which such date end begin start extent degree point surprise do be have learn know see read
    find understand go make get"""
)
"""Words after "to" that do not open a verb phrase worth asking for."""

ADVERBS = _words("also then just only are were probably still now")
"""Words after "you can" that leave the verb phrase leaning on the sentence before."""

DETERMINERS = _words("the a an any all each every no some most many your you if when both using")
"""Sentence openers that lose their capital inside a question."""

BACK_MATTER = _words(
    """references bibliography acknowledgements acknowledgments acknowledgement acknowledgment funding
    license licence copyright changelog disclaimer contributors authors comments"""
)
"""Headings of sections that hold no facts to ask for."""

WORKS = (
    "course", "courses", "module", "package", "workshop", "tool", "software", "project", "lessons",
    "notebooks", "curriculum", "book", "platform", "program", "materials", "library", "application",
    "paper", "study", "textbook", "tutorials", "repository", "manual", "website", "school", "dataset",
    "labs", "exercises", "lesson", "notebook", "unit", "chapter", "episode", "lab", "tutorial",
    "exercise", "learners", "learner", "students", "participants", "instructors", "attendees",
    "toolbox", "resource", "resources", "framework", "app",
)  # fmt: skip
"""What a whole document may be about: "the course" of a paper that presents one."""

INSTRUCTIONS = _words(
    """forbid filter hash verify deploy document exclude raise handle test access update customize
    customise mount serve limit restrict protect secure configure control build redirect delete list map
    force prevent reduce rotate log cache hide share allow deny block rewrite encode decode validate
    parse debug migrate"""
)
"""Verbs that open a heading about how to do something."""

GERUNDS = {
    "adding": "add", "using": "use", "creating": "create", "deleting": "delete", "listing": "list",
    "configuring": "configure", "building": "build", "installing": "install", "running": "run",
    "setting": "set", "enabling": "enable", "disabling": "disable", "controlling": "control",
    "testing": "test", "deploying": "deploy", "upgrading": "upgrade", "compiling": "compile",
    "redirecting": "redirect", "serving": "serve", "mapping": "map", "writing": "write",
    "overriding": "override", "returning": "return", "declaring": "declare", "including": "include",
    "restricting": "restrict", "protecting": "protect", "caching": "cache", "generating": "generate",
    "updating": "update", "accessing": "access", "stopping": "stop", "restarting": "restart",
}  # fmt: skip
"""Gerunds of headings and the verbs they come from."""

PREPOSITIONS = _words("from to with in on by for of at as into and or up out")
