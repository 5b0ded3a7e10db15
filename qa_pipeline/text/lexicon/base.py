"""What the checks must know of a language, as one record, and which record a language code names."""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Conventions:
    """The written conventions of one language.

    `never_final` never ends a sentence. `often_final` ends one when the next word opens a sentence.
    `closing` ends a list and so ends a sentence before any capital. `before_number` belongs to the number,
    letter or § sign after it, and is an ordinary word before anything else. `openers` are words that open
    sentences and are no names. `ordinal_leads` are words after which "3." is an ordinal. `capital_opens`
    says that a capital after `closing` opens a sentence: not where nouns have one.
    """

    never_final: Set[str]
    often_final: Set[str]
    closing: Set[str]
    before_number: Set[str]
    openers: Set[str]
    months: Set[str]
    ordinal_leads: Set[str] = frozenset()
    capital_opens: bool = True


@dataclass(frozen=True, slots=True)
class Pronouns:
    """The pronouns; `leaning` are first words of a sentence that may refer to an earlier one.

    `singular` and `plural` are the pronouns that stand for a thing as a subject ("this" alone mostly stands
    for what a whole sentence says); `articles` may begin a subject; `verbs` are finite verbs that end it;
    `impersonal` come after a pronoun that stands for nothing ("it is important that"). `certain` are
    pronouns whatever follows, `demonstratives` point at something said before. A pronoun stands for a
    subject with the article in `genders`, or whose head has the ending in `endings`; without either, for
    one of its number, by the plural in "s" that a head with one of `singular_endings` is not in.
    """

    leaning: Set[str]
    singular: Set[str]
    plural: Set[str]
    articles: Set[str]
    verbs: Set[str]
    impersonal: Set[str]
    demonstratives: Set[str]
    certain: Set[str] = frozenset()
    genders: Mapping[str, str] = field(default_factory=dict)
    endings: Mapping[str, str] = field(default_factory=dict)
    singular_endings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LargeNumbers:
    """The words for numbers above 99 and for fractions.

    `link` is the "and" between words of a number, `joined` says that they are written as one word, `respelt`
    gives contracted words in full. `apart` are number words that are no part of a larger one. `parts` are
    denominators with their `plural` ending, `ones` stand before one part, `part_ends` is a pattern of what
    follows a fraction.
    """

    hundreds: tuple[str, ...]
    thousands: tuple[str, ...]
    link: str
    apart: Set[str]
    parts: Mapping[str, int]
    ones: tuple[str, ...]
    plural: str = ""
    part_ends: str = ""
    joined: bool = False
    respelt: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """The names that documents give their own parts: regular expressions, but for `contents` and words.

    `contents` are titles of lists of contents; `pages` and `of` are in "page 3 of 10", `captions` begin the
    text under a figure, `sections` stand before the number of a part, and `see` before a reference to one.
    `suspending` words follow a part of a compound ("pre- and post-"). `fields` are other names of the fields
    title, heading, licence, language and content, `columns` words that tables use as names of columns.
    `compound_heads` and `compound_tails` are parts of compounds that keep their hyphen at the end of a line,
    `word_prefixes` begin words without one. `empty` are words of headings that name nothing by themselves,
    `manuals` kinds of documents that are of something, `clauses` words before the number of a part of a law,
    `references` headings that only list other places.
    """

    contents: tuple[str, ...]
    empty: Set[str]
    manuals: Set[str]
    clauses: tuple[str, ...]
    references: tuple[str, ...]
    pages: tuple[str, ...]
    of: tuple[str, ...]
    captions: tuple[str, ...]
    sections: tuple[str, ...]
    see: tuple[str, ...]
    suspending: Set[str]
    fields: Mapping[str, tuple[str, ...]]
    columns: Set[str]
    compound_heads: Set[str] = frozenset()
    compound_tails: Set[str] = frozenset()
    word_prefixes: Set[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Labels:
    """Words around personal data and secrets. Regular expressions, except for passwords, users and hints.

    `copulas` link a label and its value. `phones` are parts of words near a telephone number, `phone_names`
    say that one follows, `numbers` may stand between. `at` and `dot` replace signs in e-mail addresses,
    `users` stand for a name of a user, `machines` are near an IP address, `timestamps` before a time in
    digits. Each of `id_documents` holds one of `id_hints`.
    """

    copulas: tuple[str, ...]
    passwords: tuple[str, ...]
    users: tuple[str, ...]
    phones: tuple[str, ...]
    phone_names: tuple[str, ...]
    numbers: tuple[str, ...]
    at: tuple[str, ...]
    dot: tuple[str, ...]
    machines: tuple[str, ...]
    timestamps: tuple[str, ...]
    id_documents: tuple[str, ...]
    id_hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contexts:
    """The words by which what stands around a sentence takes back what it says.

    - `voiding`: words for what is forbidden, false, invented or no longer holds;
    - `outdated`: the same at the head of a heading; `tentative`: behind its colon;
    - `permitting`: words that a negation in a heading denies: "Not allowed";
    - `supposing`: patterns of sentences that open a supposition or a story, `imagining` words of such ones;
    - `reporting`: verbs and sources of what somebody else says; `quoting`: patterns of ends of such sentences;
    - `announcing`: words that say that something follows;
    - `embedding`: words that open a clause which another one governs; `asserting`: words before one that take
      nothing back: "note that";
    - `pointing`: words that open a sentence about the one before; `revoking`: patterns of one that denies it;
    - `interjections`: words that open a correction: "No, …"; `valid`: words for documents that hold;
    - `confirming`: words that a negation turns into a denial: "not true";
    - `repealing`: words for what no longer holds, wherever in a heading or in a sentence beside it they are;
    - `retracting`: words of a sentence that takes back the one before; `changing`: words of times since then,
      `past` verbs and `past_endings` for times before, `framing` words that open a sentence about such a time;
    - `opposing`: words that open a contrast; `parenthetic`: those that do so anywhere in a sentence;
    - `exempting`: words that name an exception; `excepting`: phrases before one;
    - `replies`: words that answer a question by themselves;
    - `scales`: words by which the numbers of a table are multiplied.
    """

    voiding: Set[str]
    outdated: Set[str]
    tentative: Set[str]
    quoting: tuple[str, ...]
    permitting: Set[str]
    supposing: tuple[str, ...]
    reporting: Set[str]
    announcing: Set[str]
    embedding: Set[str]
    asserting: Set[str]
    pointing: Set[str]
    confirming: Set[str]
    revoking: tuple[str, ...]
    opposing: Set[str]
    parenthetic: Set[str]
    retracting: Set[str]
    changing: Set[str]
    repealing: Set[str]
    past: Set[str]
    past_endings: tuple[str, ...]
    framing: Set[str]
    imagining: Set[str]
    interjections: Set[str]
    valid: Set[str]
    exempting: Set[str]
    excepting: tuple[str, ...]
    replies: Set[str]
    scales: Set[str]


@dataclass(frozen=True, slots=True)
class Wording:
    """The words by which verification reads questions: for keys, laws and what leans on a text.

    `laws` are patterns of titles of laws and what stands in their place in a question; `leaning` words stand
    for something said before, `pointing` ones send the reader elsewhere.
    """

    key_value: str
    laws: tuple[tuple[re.Pattern[str], str], ...]
    leaning: Set[str]
    pointing: Set[str]

    def law_named(self, title: str) -> str:
        """Say under which law something holds: "under the Housing Act"; empty where a title is not a law's."""
        for law, wording in self.laws:
            if match := law.fullmatch(title):
                preposition, _, name = match.expand(wording).rpartition("_")
                return f"{preposition} {name[:1].lower()}{name[1:]}" if preposition else name
        return ""


@dataclass(frozen=True)
class Lexicon:
    """The closed word classes of one language; every entry is casefolded.

    `negations` deny in so many words, `soft_negations` by their meaning. `clause_openers` begin a clause that
    a negation before them does not reach. `passive_agents` bring in who did it, `comparing`
    what something is compared with, `joiners` list equals.
    `opposites` are pairs of groups: a word of one side denies a word of the other. `interrogatives` are groups
    of words that ask for one thing: a place, a time; not for any, as "what" does. `lower_bounds`,
    `upper_bounds` and `approximations` stand before (or, like "or more", after) a number. `universal`,
    `partial`, `exclusive`, `strong` and `weak` are quantifiers and obligations. `conditions` open a
    clause without which the rest of a sentence need not hold.
    `cell_sentence` states column, row and value of a table cell in words. `measures` has the dimensions of
    units that a word of a question asks for, `units` other words for the units of measure.

    `spellings` are patterns of words that are spelled in two ways, and the usual one. Words that differ in
    `endings` only state the same; `apart` is a pattern of two such words, a slash between, that do not.
    `verb_form` is a pattern of words behind "and" that are verbs whatever follows. `passive_infinitive` is
    the "be" of "must be used"; empty where an ending says so, as in "ska användas".

    `names` are what the language is called, `letters` its small ones beside a to z, `hyphened_prefixes`
    change a word when they stand before its hyphen, `letter_tokens` the share of a token that a letter costs.
    `passive_words` stand in a passive, `prepositions` before a noun phrase, `of_word` among them is what the
    endings `genitives` say as well, `infinitive_marks` may stand before a verb as well, as any of
    them before one with the ending `verbal_nouns`. `question_openers` begin what is asked for, `subject_askers` among them
    ask who does something, `object_askers` to whom; `passive_endings` end a verb in the passive; `clause_openers_only` begin no sentence of its
    own, `verb_second` says that a question turns subject and verb round.
    `definite` and `indefinite` are articles. `same_words` says which word says the same as another one,
    `same_phrases` which says the same as two, `irregular` of which verb a word is a form.
    `also` are the fillers that
    make "if" into "even if". `open_compounds` says that the parts of a compound stand apart ("customs form"), `counted_by_article` are
    words that mean another quantity with an article before them. `object_cases` are endings of articles that only objects have, `article_cases` are endings of articles that tell cases apart; `verb_final` says that the verb of a
    relative clause is its last word. `year_leads` come
    before a year, `dependent_openers` open a clause that states nothing alone, `linking_words` limit nothing.
    `deictic` words are explained by their surroundings only. The rest are patterns, as regular expressions:
    `sources`, `reply_marks` and `reply_headings` name sources in replies, `refusal` is a clause that
    refuses to answer, with `{sources}` for `refusal_sources`, what holds no answer; `refusal_fillers` are
    clauses that may stand beside it and say nothing, `clause_breaks` words that begin another clause,
    `apologies` open the reply of a model that will not answer,
    `injections` speak to whoever checks, `backreferences` point at a text that its reader has at hand, `boilerplate` is what models
    write around an answer.
    """

    code: str
    stemmer: str
    decimal_comma: bool
    nouns_capitalised: bool
    stop_words: Set[str]
    not_word: str
    and_word: str
    cell_sentence: str
    negations: Set[str]
    soft_negations: Set[str]
    clause_openers: Set[str]
    passive_agents: Set[str]
    comparing: Set[str]
    passive_words: Set[str]
    prepositions: Set[str]
    of_word: str
    infinitive_marks: Set[str]
    genitives: tuple[str, ...]
    verbal_nouns: str
    verb_second: bool
    question_openers: Set[str]
    clause_openers_only: Set[str]
    subject_askers: Set[str]
    object_askers: Set[str]
    passive_endings: str
    joiners: Set[str]
    negative_prefixes: tuple[str, ...]
    opposites: tuple[tuple[Set[str], Set[str]], ...]
    numbers: Mapping[str, float]
    ordinals: Mapping[str, int]
    scales: Mapping[str, float]
    months: Mapping[str, int]
    lower_bounds: tuple[str, ...]
    upper_bounds: tuple[str, ...]
    approximations: tuple[str, ...]
    universal: Set[str]
    partial: Set[str]
    exclusive: Set[str]
    strong: Set[str]
    weak: Set[str]
    conditions: tuple[str, ...]
    determiners: Set[str]
    fillers: Set[str]
    also: Set[str]
    conjunctions: Set[str]
    contrasts: Set[str]
    conditional_words: Set[str]
    example_openers: tuple[str, ...]
    reason_openers: Set[str]
    finite_verbs: Set[str]
    contractions: Mapping[str, tuple[str, ...]]
    function_classes: tuple[Set[str], ...]
    question_words: Set[str]
    interrogatives: tuple[Set[str], ...]
    row_glue: Set[str]
    adding_relatives: Set[str]
    auxiliaries: Set[str]
    negation_tails: Set[str]
    openings: Set[str]
    spellings: tuple[tuple[str, str], ...]
    endings: Set[str]
    apart: str
    verb_form: str
    passive_infinitive: str
    collectives: Set[str]
    definite: Set[str]
    indefinite: Set[str]
    same_words: Mapping[str, str]
    same_phrases: Mapping[tuple[str, str], str]
    irregular: Mapping[str, str]
    open_compounds: bool
    counted_by_article: Set[str]
    copulas: Set[str]
    past_copulas: Set[str]
    relatives: Set[str]
    subject_pronouns: Set[str]
    degree_words: Set[str]
    value_columns: Set[str]
    measures: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]
    letters: str
    hyphened_prefixes: tuple[str, ...]
    layout: Layout
    labels: Labels
    letter_tokens: float
    article_cases: tuple[str, ...]
    object_cases: tuple[str, ...]
    verb_final: bool
    large_numbers: LargeNumbers
    units: Mapping[str, tuple[str, ...]]
    year_leads: Set[str]
    ordinal_endings: tuple[str, ...]
    decade_endings: tuple[str, ...]
    dependent_openers: Set[str]
    linking_words: Set[str]
    sources: tuple[str, ...]
    reply_marks: tuple[str, ...]
    reply_headings: tuple[str, ...]
    refusal_sources: str
    refusal: str
    refusal_fillers: str
    clause_breaks: str
    apologies: tuple[str, ...]
    injections: tuple[str, ...]
    backreferences: tuple[str, ...]
    boilerplate: tuple[str, ...]
    deictic: Set[str]
    conventions: Conventions
    speakers: Set[str]
    pronouns: Pronouns
    context: Contexts
    wording: Wording

    @cached_property
    def denying(self) -> frozenset[str]:
        """Return the words that deny, in so many words or by their meaning."""
        return frozenset(self.negations | self.soft_negations)

    @cached_property
    def limiting(self) -> frozenset[str]:
        """Return the words that deny, single out or take back what stands beside them."""
        return frozenset(self.denying | self.exclusive | self.contrasts)

    @cached_property
    def quantifiers_and_modals(self) -> frozenset[str]:
        """Return the words that say of how many, and how bindingly, a sentence speaks."""
        return frozenset(self.universal | self.partial | self.exclusive | self.strong | self.weak)

    @cached_property
    def scope_words(self) -> frozenset[str]:
        """Return the negations, quantifiers, modals and conditions: words that change what all others say."""
        return frozenset(self.denying | self.quantifiers_and_modals | self.conditional_words)


def words(text: str) -> frozenset[str]:
    """Split a word list."""
    return frozenset(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """Split a list of phrases at its commas."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


def compounds(tens: str, units: str, join: Callable[[str, str], str]) -> dict[str, int]:
    """Return the number words of 21 to 99 written as one, from those for 20 to 90 and 1 to 9."""
    return {
        join(ten, unit): 10 * tenfold + number
        for tenfold, ten in enumerate(tens.split(), 2)
        for number, unit in enumerate(units.split(), 1)
    }


def classes(text: str) -> tuple[frozenset[str], ...]:
    """Split word lists that are separated by commas."""
    return tuple(words(part) for part in text.split(","))


def contracted(text: str) -> dict[str, tuple[str, ...]]:
    """Read `can't=can+not` entries."""
    pairs = (entry.split("=") for entry in text.split())
    return {short: tuple(long.split("+")) for short, long in pairs}


def equals(text: str) -> dict[str, str]:
    """Read `ska=skall,shall` entries: each word behind the sign says the same as the one before it."""
    pairs = (entry.split("=") for entry in text.split())
    return {word: usual for usual, others in pairs for word in (usual, *others.split(","))}


def numbered(text: str, first: int = 1) -> dict[str, int]:
    """Return the words of a list with their numbers; forms of one number are joined by a slash."""
    return {form: number for number, forms in enumerate(text.split(), first) for form in forms.split("/")}


def opposed(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Read `a,b/c,d` groups: a word on one side of the slash denies a word on the other."""
    pairs = (pair.split("/") for pair in text.split())
    return tuple((frozenset(first.split(",")), frozenset(second.split(","))) for first, second in pairs)


WITHIN = r"[^.!?\n]{0,80}?"
CLOSE = r"[^.!?\n]{0,40}?"


def near(*parts: str, within: str = WITHIN) -> str:
    """Return a pattern of alternatives that follow one another in a sentence."""
    return within.join(rf"(?<!\w)(?:{part})(?!\w)" for part in parts)
