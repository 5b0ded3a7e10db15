"""A small corpus for suites: a page on each of a few boilers, every fact of which is asked for."""

from qa_pipeline.evaluation.abilities.sources import Proof, Proved, Source, Text

NAMES = ("Kestrel", "Merlin", "Osprey", "Harrier", "Falcon", "Buzzard", "Goshawk")


def boiler_source(names: tuple[str, ...] = NAMES, seed: int = 0) -> Source:
    """Two passages and two pairs of each boiler."""
    texts: list[Text] = []
    pairs: list[Proved] = []
    for place, name in enumerate(names):
        litres, years = 340 + 10 * place, 12 + place
        fact = f"The {name} boiler holds {litres} litres of clean water in its tank."
        term = f"The warranty of the {name} boiler ends after {years} whole years."
        for about, said, question, beside in (
            (
                "Tank",
                fact,
                f"How many litres of clean water does the tank of the {name} boiler hold?",
                "The tank is of steel.",
            ),
            (
                "Warranty",
                term,
                f"After how many years does the warranty of the {name} boiler end?",
                "Keep the bill.",
            ),
        ):
            words = f"{beside} It is painted in grey. {said} Nobody has to empty it. It stands in the cellar."
            text = Text(f"{name}-{about}", f"{name}.md".lower(), f"{name} guide", (about,), words, "en")
            texts.append(text)
            pairs.append(
                Proved(f"{name}-{about}", question, said, "en", "fact_single", (Proof(said, said, text),))
            )
    return Source("boilers", tuple(pairs), tuple(texts), seed)
