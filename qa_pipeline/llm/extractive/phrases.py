"""The wording of questions about key-value lines and table cells, one table per language.

What belongs here: words and templates. What does not: finding the lines (`structure.py`).
A template may use `{subject}` (nominative: "the Alias directive", "die Direktive Alias") and `{of}` (the
form after a preposition or in the genitive; the same as `{subject}` in English and Swedish).
"""

import re
from dataclasses import dataclass, field

from qa_pipeline.records import Language, QuestionType


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Ask:
    """How to ask for the value of one key.

    `score` ranks it among the passage's candidates. `nominal`, where set, is the template for a value
    that does not begin with one of the language's `verbs`. `value`, where set, is a pattern some part of
    the value must match, because the question does not fit every value such a key may have.
    """

    template: str
    question_type: QuestionType = "key_value"
    score: float = 0.6
    nominal: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A class noun of headings ("Alias Directive"): its two forms around the name.

    `states` is the verb for what a noun phrase says of it: a directive specifies, a module provides.
    """

    subject: str
    of: str
    states: str = ""


@dataclass(frozen=True, slots=True)
class Phrases:
    """One language's wording.

    `keys` maps a case-folded key to its question. `any_key` asks for a key that `keys` does not hold,
    None where the language's inflection makes that unsafe; `any_keys` for one that `plural_key` finds.
    `cells`, `any_cell` and `any_cells` do the same for table columns, `{column}` of `{row}`; `no_noun`
    finds columns that say what to do with a row or what was done to it ("Run", "Normalized"). `skipped`
    are keys and columns that hold no fact worth asking for. `verbs` are the words a description of what
    something does begins with. `papers` are the words that may follow a product's name in the title of a
    document about it. `compounds` says that a class noun may be joined to the name by a hyphen ("Listen-
    Direktive"), `nouns_capital` that a key keeps its capital.
    """

    kinds: dict[str, Kind]
    keys: dict[str, Ask]
    any_key: Ask | None = None
    cells: dict[str, Ask] = field(default_factory=dict)
    any_cell: Ask | None = None
    skipped: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    any_keys: Ask | None = None
    any_cells: Ask | None = None
    plural_key: re.Pattern[str] | None = None
    no_noun: re.Pattern[str] | None = None
    papers: tuple[str, ...] = ()
    compounds: bool = False
    nouns_capital: bool = False

    def plural(self, name: str) -> bool:
        """Tell whether a key or a column names several things."""
        return self.plural_key is not None and self.plural_key.search(name.casefold()) is not None

    def verbal(self, value: str) -> bool:
        """Tell whether a value begins with a verb, in its base form or with an s."""
        first = value.split(" ", 1)[0].casefold().strip(".,;")
        forms = {first, first.removesuffix("s"), first.removesuffix("es"), first.removesuffix("ies") + "y"}
        return not forms.isdisjoint(self.verbs)


_ENGLISH_KINDS = (
    "directive", "module", "function", "method", "class", "option", "command", "parameter", "attribute",
    "setting", "variable", "header", "field", "filter", "decorator", "exception", "argument",
)  # fmt: skip

_ENGLISH_STATES = {
    "module": "provide",
    "filter": "provide",
    "command": "do",
    "function": "do",
    "method": "do",
}
_ENGLISH_VERBS = _words(
    """add adjust aid alias allow append apply assign attempt bind buffer build bypass cache cause change
    check choose clean close collect compress configure contain control convert copy create decide
    declare decode define delete deny describe designate detect determine dictate disable discard
    display dump echo emit enable enclose encode enforce ensure establish exclude execute expand expose
    extend fetch filter find flush force forward generate get give grant group handle hash hide identify
    ignore implement import include indicate inherit insert inspect instruct invoke keep launch let
    limit list listen load log look make manage map match merge modify move name negotiate obtain offer
    open optimize override parse pass perform permit place prevent print proceed process produce
    prohibit protect provide proxy push put raise read receive record redirect reduce register reject
    remove rename replace report request require reset resolve respond restart restore restrict retrieve
    return rewrite rotate route run save scan search select send serve set share show sign skip sort
    specify start stop store stream strip substitute supply support suppress switch synchronize tell
    terminate test track transform translate treat trigger tune turn unset update upgrade use validate
    verify wait warn watch wrap write asynchronously also fake do take stream accept raise compute catch"""
)

ENGLISH = Phrases(
    kinds={
        kind: Kind(f"the {{name}} {kind}", f"the {{name}} {kind}", _ENGLISH_STATES.get(kind, "specify"))
        for kind in _ENGLISH_KINDS
    },
    skipped=frozenset(
        (
            "status",
            "source file",
            "stability",
            "override",
            "see also",
            "note",
            "notes",
            "example",
            "examples",
            "usage",
            "warning",
            "comment",
            "comments",
            "remark",
            "remarks",
            "tip",
            "id",
            "no",
            "number",
            "details",
            "more",
            "info",
            "type",
        )
    ),
    verbs=_ENGLISH_VERBS,
    keys={
        "description": Ask(
            "What does {subject} do?", "definition", 0.9, nominal="What does {subject} {states}?"
        ),
        "purpose": Ask("What is the purpose of {subject}?", "definition", 0.9),
        "syntax": Ask("What is the syntax of {subject}?", score=0.7),
        "default": Ask("What is the default of {subject}?", "figure", 0.8),
        "default value": Ask("What is the default value of {subject}?", "figure", 0.8),
        "context": Ask("In which contexts can {subject} be used?", score=0.65),
        "module": Ask("Which module provides {subject}?", score=0.6),
        "compatibility": Ask(
            "In which versions is {subject} available?",
            score=0.75,
            value=r"^(?!Moved|Obsolete|Deprec)(?=.*\d).*(?:later|available|only|until|through|removed)",
        ),
        "module identifier": Ask("What is the module identifier of {subject}?", score=0.5),
        "returns": Ask("What does {subject} return?", score=0.7),
        "raises": Ask("What does {subject} raise?", score=0.7),
        "requires": Ask("What does {subject} require?", score=0.7),
    },
    any_key=Ask("What is the {key} of {subject}?", score=0.5),
    any_keys=Ask("What are the {key} of {subject}?", score=0.5),
    plural_key=re.compile(r"[^sui]s$"),
    papers=(
        "data sheet",
        "fact sheet",
        "service manual",
        "user manual",
        "manual",
        "installation guide",
        "user guide",
        "guide",
        "handbook",
        "specification",
        "specifications",
        "brochure",
        "reference",
        "overview",
        "profile",
    ),
    cells={
        "description": Ask("What is the meaning of {row}?", "definition", 0.5),
        "meaning": Ask("What does {row} mean?", "definition", 0.6),
        "purpose": Ask("What is the purpose of {row}?", "definition", 0.6),
    },
    any_cell=Ask("What is the {column} of {row}?", "table_cell", 0.5),
    any_cells=Ask("What are the {column} of {row}?", "table_cell", 0.5),
    no_noun=re.compile(
        r"\S+ed|contains?|covers?|does|downloads?|has|includes?|open|provides?|requires?|runs?|see|supports?|uses?|view"
    ),
)

SWEDISH = Phrases(
    kinds={
        "direktivet": Kind("direktivet {name}", "direktivet {name}"),
        "modulen": Kind("modulen {name}", "modulen {name}"),
        "funktionen": Kind("funktionen {name}", "funktionen {name}"),
        "metoden": Kind("metoden {name}", "metoden {name}"),
        "klassen": Kind("klassen {name}", "klassen {name}"),
        "kommandot": Kind("kommandot {name}", "kommandot {name}"),
        "parametern": Kind("parametern {name}", "parametern {name}"),
        "inställningen": Kind("inställningen {name}", "inställningen {name}"),
    },
    keys={
        "beskrivning": Ask("Hur beskrivs {subject}?", "definition", 0.9),
        "syfte": Ask("Vilket är syftet med {of}?", "definition", 0.9),
        "syntax": Ask("Vilken syntax har {subject}?", score=0.7),
        "standardvärde": Ask("Vilket standardvärde har {subject}?", "figure", 0.8),
        "förval": Ask("Vilket förval har {subject}?", "figure", 0.8),
        "kräver": Ask("Vad kräver {subject}?", score=0.7),
        "returnerar": Ask("Vad returnerar {subject}?", score=0.7),
        "typ": Ask("Vilken typ har {subject}?", score=0.7),
        "version": Ask("Vilken version har {subject}?", score=0.7),
    },
    any_key=Ask("Vad anges som {key} för {subject}?", score=0.5),
    cells={
        "beskrivning": Ask("Hur beskrivs {row}?", "definition", 0.6),
        "betydelse": Ask("Vad betyder {row}?", "definition", 0.6),
        "syfte": Ask("Vad är syftet med {row}?", "definition", 0.6),
        "pris": Ask("Vad kostar {row}?", "table_cell", 0.6),
        "yta": Ask("Hur stor yta har {row}?", "table_cell", 0.6),
        "byggår": Ask("Vilket byggår har {row}?", "table_cell", 0.6),
        "standardvärde": Ask("Vilket standardvärde har {row}?", "table_cell", 0.6),
        "typ": Ask("Vilken typ har {row}?", "table_cell", 0.6),
        "version": Ask("Vilken version har {row}?", "table_cell", 0.6),
        "vikt": Ask("Vilken vikt har {row}?", "table_cell", 0.6),
        "telefon": Ask("Vilket telefonnummer har {row}?", "table_cell", 0.6),
        "telefonnummer": Ask("Vilket telefonnummer har {row}?", "table_cell", 0.6),
        "adress": Ask("Vilken adress har {row}?", "table_cell", 0.6),
        "öppettider": Ask("Vilka öppettider har {row}?", "table_cell", 0.6),
        "ansvarig": Ask("Vem är ansvarig för {row}?", "table_cell", 0.6),
    },
    any_cell=Ask("Vad anges som {column} för {row}?", "table_cell", 0.5),
    skipped=frozenset(("status", "se även", "anmärkning", "exempel", "anm", "nr")),
)

_GERMAN_VALUE = r"\A(?!.*(?:[Ss]iehe|[Ss]ee |\b(?:the|that|with|of|for|which|used|to|later)\b))"
"""Not a reference to another place, and not left untranslated."""
_GERMAN_PROSE = _GERMAN_VALUE + (
    r"(?=.*(?:[äöüß]|ung\b|\b(?:der|die|das|des|den|dem|eine?[rsmn]?|für|von|und|zu|mit|bei|auf|pro|oder|nicht)\b))"
)
"""The same, and a word shows that it is German: one left untranslated may have no English function word."""

GERMAN = Phrases(
    kinds={
        "direktive": Kind("die Direktive {name}", "der Direktive {name}", "legt die Direktive {name} fest"),
        "modul": Kind("das Modul {name}", "des Moduls {name}", "ist das Modul {name}"),
        "funktion": Kind("die Funktion {name}", "der Funktion {name}", "macht die Funktion {name}"),
        "methode": Kind("die Methode {name}", "der Methode {name}", "macht die Methode {name}"),
        "klasse": Kind("die Klasse {name}", "der Klasse {name}", "ist die Klasse {name}"),
        "befehl": Kind("der Befehl {name}", "des Befehls {name}", "macht der Befehl {name}"),
        "option": Kind("die Option {name}", "der Option {name}", "legt die Option {name} fest"),
        "parameter": Kind("der Parameter {name}", "des Parameters {name}", "legt der Parameter {name} fest"),
    },
    keys={
        "beschreibung": Ask(
            "Was bewirkt {subject}?", "definition", 0.9, nominal="Was {states}?", value=_GERMAN_PROSE
        ),
        "zweck": Ask("Was ist der Zweck {of}?", "definition", 0.9, value=_GERMAN_VALUE),
        "syntax": Ask("Wie lautet die Syntax {of}?", score=0.7),
        "voreinstellung": Ask("Was ist die Voreinstellung {of}?", "figure", 0.8, value=_GERMAN_VALUE),
        "standardwert": Ask("Welchen Standardwert hat {subject}?", "figure", 0.8, value=_GERMAN_VALUE),
        "kontext": Ask("In welchen Kontexten kann {subject} verwendet werden?", score=0.65),
        "modul": Ask("In welchen Modulen ist {subject} enthalten?", score=0.6),
        "kompatibilität": Ask(
            "Ab welcher Version ist {subject} verfügbar?",
            score=0.75,
            value=r"\A(?:Verfügbar|Ab\b|Seit \S+ \S+ verfügbar).*\d",
        ),
        "modulbezeichner": Ask("Wie lautet der Modulbezeichner {of}?", score=0.5),
        "quelltext-datei": Ask("In welcher Quelltextdatei ist {subject} umgesetzt?", score=0.5),
    },
    any_key=Ask("Was ist als {key} {of} angegeben?", score=0.5, value=_GERMAN_VALUE),
    cells={
        "beschreibung": Ask("Wie wird {row} beschrieben?", "definition", 0.6),
        "bedeutung": Ask("Was bedeutet {row}?", "definition", 0.6),
        "zweck": Ask("Was ist der Zweck von „{row}“?", "definition", 0.6),
        "preis": Ask("Was kostet {row}?", "table_cell", 0.6),
        "leihfrist": Ask("Welche Leihfrist gilt für „{row}“?", "table_cell", 0.6),
        "frist": Ask("Welche Frist gilt für „{row}“?", "table_cell", 0.6),
        "gebühr": Ask("Welche Gebühr gilt für „{row}“?", "table_cell", 0.6),
        "jahresgebühr": Ask("Welche Jahresgebühr gilt für „{row}“?", "table_cell", 0.6),
        "standardwert": Ask("Welchen Standardwert hat {row}?", "table_cell", 0.6),
        "typ": Ask("Welchen Typ hat {row}?", "table_cell", 0.6),
        "version": Ask("Welche Version hat {row}?", "table_cell", 0.6),
        "telefon": Ask("Welche Telefonnummer hat {row}?", "table_cell", 0.6),
        "adresse": Ask("Welche Adresse hat {row}?", "table_cell", 0.6),
        "öffnungszeiten": Ask("Welche Öffnungszeiten hat {row}?", "table_cell", 0.6),
    },
    any_cell=Ask("Was ist als {column} für „{row}“ angegeben?", "table_cell", 0.5),
    skipped=frozenset(
        ("status", "override", "and override", "siehe auch", "anmerkung", "hinweis", "beispiel")
    ),
    verbs=_words(
        """aktiviert deaktiviert legt bestimmt definiert gibt setzt steuert fügt beeinflusst erlaubt
        ermöglicht regelt begrenzt kontrolliert stellt teilt veranlasst spezifiziert ändert beschränkt
        bewirkt schaltet führt implementiert weist konfiguriert lädt sendet erstellt erzeugt entfernt
        bindet leitet umschließt schützt verhindert verarbeitet übergibt überprüft dieses diese"""
    ),
    compounds=True,
    nouns_capital=True,
)

PHRASES: dict[Language, Phrases] = {"en": ENGLISH, "sv": SWEDISH, "de": GERMAN}
