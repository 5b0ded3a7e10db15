"""Swedish questions after definitions: what a word means, what a statute covers, what something is for.

What belongs here: rules for definitions and for sentences whose subject is the statute itself. What does
not: word lists (`swedish_words.py`) and the filters every question passes (`swedish.py`).
"""

import re

from qa_pipeline.llm.extractive.patterns import Groups, Pattern


def statement(groups: Groups) -> Groups | None:
    """Refuse a definition that only opens a list or names another provision."""
    return (
        None
        if groups["a"].startswith(
            (
                "detsamma",
                "bestämmelserna i ",
                "föreskrifterna i ",
                "här",
                "i ",
                "vad ",
                "vid ",
                "även",
                "inte",
                "dock ",
            )
        )
        else groups
    )


DEFINITIONS = (
    Pattern(
        "avses",
        re.compile(
            r"Med (?:begreppet |uttrycket |termen |ordet )?[\"”]?(?P<s>[^,;:\"”]{2,80}?)[\"”]? "
            r"(?P<v>avses|menas|förstås)(?: i (?:denna|detta) \w+)? (?P<a>[^:]{8,})\."
        ),
        "Vad {v} med {s}?",
        "definition",
        0.95,
        statement,
    ),
    Pattern(
        "räknas_som",
        re.compile(
            r"Som (?P<s>[^,;:]{3,70}?) (?P<v>räknas|anses|betraktas)(?: i denna \w+)? (?P<a>[^:]{8,})\."
        ),
        "Vad {v} som {s}?",
        "definition",
        0.85,
        statement,
    ),
    Pattern(
        "räknas_till",
        re.compile(r"Till (?P<s>[^,;:]{3,70}?) (?P<v>räknas|hänförs|hör) (?P<a>[^:]{8,})\."),
        "Vad {v} till {s}?",
        "definition",
        0.8,
        statement,
    ),
    Pattern(
        "är_en",
        re.compile(
            r"(?P<s>(?!Chef\b|Ordförande\b|Ledam|Behörig\b)(?:En |Ett "
            r")?[A-Za-zÅÄÖåäö](?:(?!\. )[^,;:()\"]){2,50}?) är (?:en|ett) (?P<a>(?:[a-zåäö]+ ){0,4}?"
            r"[a-zåäö]+(?:,? som| för| av| i) .{8,})\."
        ),
        "Vad är {s}?",
        "definition",
        0.85,
    ),
    Pattern(
        "uttryck",
        re.compile(
            r"Uttrycket [\"”“](?P<s>[^,;:\"”“]{2,80}?)[\"”“] (?:åsyftar|avser|betecknar|betyder|"
            r"inbegriper)(?: i detta avtal)?"
            r" (?P<a>[^:]{15,})\."
        ),
        "Vad avses med uttrycket ”{s}”?",
        "definition",
        0.9,
    ),
    Pattern(
        "står_för",
        re.compile(r"(?P<s>[A-ZÅÄÖ]{2,8}) står för (?P<a>.{4,})\."),
        "Vad står {s} för?",
        "definition",
        0.85,
    ),
    Pattern(
        "syfte",
        re.compile(r"(?:Syftet|Ändamålet) med (?P<s>[^,;:]{3,90}?) är (?:att )?(?P<a>.{10,})\."),
        "Vad är syftet med {s}?",
        "reason",
        0.85,
    ),
)


SCOPE = (
    Pattern(
        "omfattas",
        re.compile(
            r"(?P<self>Denna \w+|Detta \w+|\w+) (?:gäller|tillämpas|är tillämplig)(?P<not> inte| ej| icke)?"
            r" (?:för|på|vid|i fråga om) (?P<a>[^:]{8,})\."
        ),
        "Vad omfattas{not} av {self}?",
        "fact",
        0.8,
    ),
    Pattern(
        "bestämmelser_om",
        re.compile(
            r"(?P<self>Denna \w+|Detta \w+|\w+) innehåller (?P<k>kompletterande |vissa )?"
            r"(?P<n>bestämmelser|föreskrifter|regler) (?P<p>om|till) (?P<a>[^:]{8,})\."
        ),
        "Vad innehåller {self} {k}{n} {p}?",
        "fact",
        0.65,
    ),
    Pattern(
        "finns_bestämmelser",
        re.compile(
            r"I (?P<self>denna \w+|detta \w+) (?:finns|ges|meddelas) (?P<k>kompletterande |vissa )?"
            r"(?P<n>bestämmelser|föreskrifter|regler) (?P<p>om|till) (?P<a>[^:]{8,})\."
        ),
        "Vad innehåller {self} {k}{n} {p}?",
        "fact",
        0.65,
    ),
    Pattern(
        "lagens_syfte",
        re.compile(r"(?P<self>Denna \w+|\w+) (?:syftar till|har till syfte) att (?P<a>.{10,})\."),
        "Vad är syftet med {self}?",
        "reason",
        0.85,
    ),
)
"""Sentences whose subject is the statute itself; `{self}` becomes its name."""
