"""Any number of documents, the same on every machine, with everything that makes places hard to keep."""

import random
from collections.abc import Iterator, Sequence

import polars as pl

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.records import Block, BlockKind
from qa_pipeline.storage.tables import DOCUMENTS

WORDS = (
    *(
        "the",
        "server",
        "Port",
        "80",
        "mod_ssl.c",
        "z. B.",
        "e.g.",
        "t.ex.",
        "§",
        "Straße",
        "ångström",
        "naïve",
    ),
    *(
        "e\u0301",
        "日本語",
        "😀",
        "👩\u200d🚀",
        "\u202eback",
        "\u00adsoft",
        "a\u00a0b",
        "x" * 40,
        "a/b-c_d" * 20,
        "…",
    ),
    *(
        "",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\u2028",
        "\x00",
        "```",
        "~~~~",
        "# no heading",
        "- no item",
        " | ",
        "Key: value",
    ),
)
STOPS = (".", ".", ".", "?", "!", ":", "", "...", '."')
KINDS: Sequence[BlockKind] = ("heading", "paragraph", "list_item", "table_row", "code", "quote")
WEIGHTS = ((3, 8, 4, 4, 2, 1), (8, 8, 1, 1, 1, 0))
"""Of long texts under few headings, and of short ones under many."""
SENTENCES = ((1, 1, 2, 5, 12), (1,))
LONGEST = (40, 10)
"""Words of the longest sentence."""


def generated_documents(count: int, seed: int, at_once: int = 500) -> Iterator[pl.DataFrame]:
    """DOCUMENTS frames with together `count` documents."""
    source = random.Random(seed)
    for start in range(0, count, at_once):
        rows = [_document(source, number) for number in range(start, min(start + at_once, count))]
        yield DOCUMENTS.frame(rows)


def _document(source: random.Random, number: int) -> dict[str, object]:
    style = source.randrange(len(WEIGHTS))
    blocks = [_block(source, style) for _ in range(source.choice((0, 1, 2, 5, 8, 20)))]
    if source.random() < 0.3:
        blocks = _paged(source, blocks)
    made = assemble(blocks)
    return {
        "document_id": f"generated-{number}",
        "batch": "generated",
        "path": f"{number}.md",
        "size": len(made.text),
        "language": source.choice(("en", "sv", "de", "fr")),
        "title": f"Document {number}",
        "text": made.text,
        "sections": [
            {"heading_path": list(one.heading_path), "level": one.level, "start": one.start, "end": one.end}
            for one in made.sections
        ],
        "pages": [{"number": one.number, "start": one.start, "end": one.end} for one in made.pages],
        "languages": [],
        "left_out": [],
        "masked": [],
        "status": "parsed",
    }


def _block(source: random.Random, style: int) -> Block:
    (kind,) = source.choices(KINDS, WEIGHTS[style])
    if kind == "heading":
        return Block(kind, _sentence(source, 6), source.randint(1, 3) if style else source.randint(0, 7))
    if kind == "table_row":
        cells = (f"Column {n}: {_sentence(source, 5)}" for n in range(source.randint(1, 9)))
        return Block(kind, " | ".join(cells))
    sentences = (_sentence(source, LONGEST[style]) for _ in range(source.choice(SENTENCES[style])))
    return Block(kind, source.choice((" ", "\n")).join(sentences), source.randint(0, 9))


def _sentence(source: random.Random, longest: int) -> str:
    words = source.choices(WORDS, k=source.randint(1, longest))
    return " ".join(words).capitalize() + source.choice(STOPS)


def _paged(source: random.Random, blocks: list[Block]) -> list[Block]:
    page = 1
    paged: list[Block] = []
    for block in blocks:
        page += source.random() < 0.3
        paged.append(Block(block.kind, block.text, block.level, page=page, continues=source.random() < 0.1))
    return paged
