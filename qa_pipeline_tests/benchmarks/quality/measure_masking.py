"""How good masking is: what it finds in real documents, and which planted items it misses; and how fast.

    python -m qa_pipeline_tests.benchmarks.quality.measure_masking [--corpora FOLDER...] [--draws N] [--list]

Prints one JSON object: for each folder how many documents, characters and hits by kind; characters a second
of processor time over all of them; and how many planted items can still be read after masking, in the known
ways to write them and in the held-out ones. With --list each hit stands on a line before it, to be
read by a person: only a reader can tell a false alarm.
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.corpus.corpora import open_folder
from qa_pipeline.documents.corpus.files import (
    DocumentFailure,
    FoundFile,
    documents_among,
    format_of,
    read_bytes,
)
from qa_pipeline.documents.masking import find_items, rules_of, text_mask
from qa_pipeline.documents.parsing import PARSERS
from qa_pipeline.records import Masked, SourceFile
from qa_pipeline.settings.documents import DocumentSettings, MaskingSettings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of
from qa_pipeline_tests.documents.masking.planted import KINDS, plant

MASKING = MaskingSettings(action="drop")
AROUND = (
    "{}",
    "Das gehört zu {}, siehe oben.",
    "Kund: Anna | Uppgift: {} | Kön: K",
    '{{"a": "{}", "b": 3}}',
    "1;{};2",
    "(see {})",
    "2024-01-15 08:30 {} ok",
    "x = '{}'  # told",
)
SHOWN = 40


def blocks_of(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Each document of a folder with the texts that are masked in it."""
    for file in documents_among(open_folder(folder).list()):
        try:
            yield file.path, _blocks(file)
        except DocumentFailure as failure:
            sys.stderr.write(f"{folder.name}/{file.path}: {failure}\n")


def _blocks(file: FoundFile) -> list[str]:
    name = format_of(file.path)
    if name is None:
        return []
    texts: list[str] = []

    def remember(text: str) -> Masked:
        texts.append(text)
        return Masked(text, {})

    source = SourceFile(file.path, read_bytes(file, DocumentSettings().max_bytes))
    assemble(PARSERS[name](source, DocumentSettings()).blocks, remember)
    return texts


def hits(folder: Path, *, shown: bool) -> tuple[dict[str, Any], int, float]:
    """What is found in a folder, how many characters were looked at, and in how many seconds."""
    rules, counts = rules_of(MASKING.kinds), Counter[str]()
    documents, characters, seconds = 0, 0, 0.0
    for path, texts in blocks_of(folder):
        documents += 1
        for text in texts:
            start = time.process_time()
            items = find_items(text, rules)
            seconds += time.process_time() - start
            characters += len(text)
            counts.update(item.kind for item in items)
            for item in items if shown else ():
                before, after = text[max(0, item.start - SHOWN) : item.start], text[item.end :][:SHOWN]
                line = (
                    f"{item.kind}\t{folder.name}/{path}\t{before} >>{text[item.start : item.end]}<< {after}"
                )
                sys.stdout.write(" ".join(line.split(" ")).replace("\n", "⏎") + "\n")
    found = {"documents": documents, "characters": characters, "hits": dict(sorted(counts.items()))}
    return found, characters, seconds


def missed(draws: int, *, held_out: bool) -> dict[str, Any]:
    """Planted items that can still be read after masking, by kind and way."""
    mask, draw = text_mask(MASKING), random.Random(5)
    planted, left = Counter[str](), Counter[str]()
    for kind in KINDS:
        for number in range(draws):
            for item in plant(draw, kind, held_out=held_out):
                text = (
                    AROUND[number % len(AROUND)]
                    .replace("{}", item.said)
                    .replace("{{", "{")
                    .replace("}}", "}")
                )
                planted[kind] += 1
                left[f"{kind}, {item.way}"] += item.stands_in(mask(text)[0])
    total = sum(planted.values())
    return {
        "planted": total,
        "recall": round(1 - sum(left.values()) / total, 4),
        "missed": {name: count for name, count in left.items() if count},
    }


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpora", type=Path, nargs="*", default=[])
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    found, characters, seconds = {}, 0, 0.0
    for folder in chosen.corpora:
        found[folder.name], more, took = hits(folder, shown=chosen.list)
        characters, seconds = characters + more, seconds + took
    report = {
        "corpora": found,
        "characters_a_second": round(characters / seconds) if seconds else None,
        "known": missed(chosen.draws, held_out=False),
        "held_out": missed(chosen.draws, held_out=True),
    }
    sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")


if __name__ == "__main__":
    main()
