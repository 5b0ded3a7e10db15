"""A corpus of any size, the same on every machine: handbooks about things that do not exist.

All batches are drawn alike and share next to no sentence: what a process has seen helps it no further.
"""

import json
import random
from pathlib import Path

SYLLABLES = ("bar", "den", "fal", "gor", "hel", "kin", "lor", "mar", "nes", "pol", "ras", "sil", "tor", "vek")
NOUNS = ("valve", "filter", "circuit", "sensor", "tank", "meter", "pump", "heater", "controller", "basin")
PLACES = ("the intake", "the main building", "the second floor", "the control room", "the northern line")
DOING = ("regulates", "measures", "limits", "records", "protects", "replaces", "supplies", "drains")
UNITS = ("bar", "litres", "minutes", "degrees", "metres", "hours", "kilograms", "watts")
SENTENCES = (
    "The {name} is a {noun} that {doing} the {other} in {place}.",
    "The {name} is used to keep the {other} below {number} {unit} while the {noun} is running.",
    "The default value of {name} is {number} {unit}.",
    "If the {noun} fails, {name} {doing} the {other} within {number} {unit}.",
    "Before the {noun} is opened, the {other} must be drained and {name} must be switched off.",
    "In {year}, {name} was moved from {place} because the {other} had reached {number} {unit}.",
    "The inspection of {name} takes {number} {unit} and is repeated whenever the {noun} has been changed.",
    "A {noun} of the series {name} weighs {number} {unit}, the {other} not included.",
)
SENTENCES_IN_SECTION = (2, 14)


def write_corpus(
    folder: Path, batches: int, *, documents: int = 10, sections: int = 24, pairs: int = 60
) -> list[str]:
    """Write batches of a folder each.

    Args:
        folder: the corpus.
        batches: how many; the first ones are the same whatever the number.
        documents: in each batch.
        sections: in each document.
        pairs: in the pairs file of each batch, every third of them with a wrong number.

    Returns:
        Names of the batches.
    """
    names = [f"handbook-{number:03}" for number in range(batches)]
    for name in names:
        _write_batch(folder / name, random.Random(name), documents, sections, pairs)
    return names


def _write_batch(folder: Path, source: random.Random, documents: int, sections: int, pairs: int) -> None:
    folder.mkdir(parents=True)
    known: list[tuple[str, str]] = []
    for number in range(documents):
        file = f"part-{number:02}.md"
        blocks = [f"# {_name(source)}"]
        for _ in range(sections):
            sentences = [_sentence(source) for _ in range(source.randint(*SENTENCES_IN_SECTION))]
            blocks += [f"## {_name(source)} and {_name(source)}", " ".join(sentences)]
            known.append((file, sentences[0]))
        (folder / file).write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    lines = [_pair(place, *source.choice(known)) for place in range(pairs)]
    (folder / "pairs.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _pair(place: int, file: str, sentence: str) -> str:
    answer = sentence if place % 3 else sentence.replace("1", "7")
    return json.dumps(
        {"question": f"What does {file} say about this?", "answer": answer, "citations": [f"source:{file}"]}
    )


def _sentence(source: random.Random) -> str:
    noun, other = source.sample(NOUNS, 2)
    return source.choice(SENTENCES).format(
        name=_name(source),
        noun=noun,
        other=other,
        doing=source.choice(DOING),
        place=source.choice(PLACES),
        unit=source.choice(UNITS),
        number=source.randint(2, 900),
        year=source.randint(1950, 2020),
    )


def _name(source: random.Random) -> str:
    return "".join(source.choices(SYLLABLES, k=source.randint(2, 3))).capitalize() + str(
        source.randint(10, 99)
    )
