"""Find pairs of chunks for two-hop questions with a light graph of a batch.

The nodes are chunks. An edge joins two chunks that share a name, or a heading or title that a chunk writes
out. Names in many chunks are ignored, and so are chunks that say nearly the same. Edges (rows of `LINKS`)
inside a document are for `multi_hop` questions, others for `cross_document` questions.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from qa_pipeline.text import words
from qa_pipeline.text.lexicon.languages import SMALL, lexicon
from qa_pipeline.text.words import Occupied, Token, tokenize

LINKS = pl.Schema(
    {
        "chunk_id": pl.String(),  # the chunk that comes first
        "other_chunk_id": pl.String(),
        "scope": pl.String(),  # within a document, or across documents
        "kind": pl.String(),  # heading or name
        "bridge": pl.String(),  # wording of the mention in the first chunk
        "weight": pl.Float64(),  # inverse document frequency of the bridge, times the weight of its kind
        "shared": pl.Int32(),  # number of mentions that both chunks share
    }
)
MOST_CHUNKS = 6  # maximum number of chunks that share a mention; mentions in more chunks are too general
MOST_SHARED = 0.3  # maximum share of mentions in common; chunks above it say the same
LINKS_EACH = 3  # best edges kept under each earlier chunk, in each scope; more would be weaker
_KINDS = {"heading": 3.0, "name": 2.0}  # kinds of mention, and their weight per inverse document frequency
_LONGEST_HEADING = 4  # words; other sections do not repeat longer headings
_IDENTIFIER = re.compile(
    r"(?<![\w`])(?:[^\W\d_]\w*(?:[./:-]\w+){0,20}\(\)"  # call()
    r"|\w*[^\W_]_\w+(?:\.\w+)*"  # snake_case
    r"|-{1,2}[a-z][\w-]{2,}"  # --flag
    r"|[^\W\d_]\w*(?:\.[^\W\d_]\w*)+"  # dotted.path
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)"  # camelCase
)
_CODE = re.compile(r"`([^`\n]{1,120})`")
_CAPITAL = rf"[^\W\d_{SMALL}]"  # a letter that is not in SMALL, the letters in lower case
_CAPITALISED = re.compile(rf"{_CAPITAL}(?<![\w.]{_CAPITAL})[\w’'-]*")
"""A capitalised word without a letter or "." before it, unlike "docs.Example". The lookbehind comes after
the capital and repeats it, so that the search can skip to capitals."""
_SENTENCE_START = re.compile(r"(?:^|[.!?:;•|]\s+|\n|[\"“„»(\[]\s*|^\s*[-*#>]+\s*)$")
"""The end of a text after which a sentence begins, such as ". " or "## ". "^" is the text's beginning."""
_LETTERS = re.compile(r"[^\W\d_]{3}")  # letters of a name that is more than a number or an abbreviation
_MENTIONS = {"node": pl.Int64(), "key": pl.String(), "kind": pl.String(), "wording": pl.String()}


def link_chunks(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the distinct edges of a batch, under the chunk that comes first, best edges first."""
    mentions = _shared_mentions(chunks)
    # "_right" marks columns of the chunk that comes later; "node" is the chunk's index
    is_across = pl.col("document_id") != pl.col("document_id_right")
    is_other_section = is_across | (pl.col("section_start") != pl.col("section_start_right"))
    fewer_mentions = pl.min_horizontal("mention_count", "mention_count_right")
    allowed_in_common = 1 + MOST_SHARED * fewer_mentions  # one mention is always allowed
    in_common = (  # a row for each mention that two chunks share
        mentions.join(mentions, on=["key", "language"])
        .filter(pl.col("node") < pl.col("node_right"), is_other_section)
        .with_columns(shared=pl.len().over("node", "node_right").cast(pl.Int32()))
        .filter(pl.col("shared") <= allowed_in_common)
    )
    # kind and weight are those of the chunk for which the mention is stronger, such as its own heading
    is_right_stronger = pl.col("weight_right") >= pl.col("weight")
    return (
        in_common.with_columns(
            scope=pl.when(is_across).then(pl.lit("across")).otherwise(pl.lit("within")),
            weight=pl.max_horizontal("weight", "weight_right"),
            kind=pl.when(is_right_stronger).then("kind_right").otherwise("kind"),
            other_chunk_id="chunk_id_right",
            bridge="wording",
        )
        # strongest first: `unique` keeps the best mention of two chunks, `filter` the best edges of a node
        .sort("node", "weight", "key", "node_right", descending=[False, True, False, False])
        .unique(["node", "node_right"], keep="first", maintain_order=True)
        .filter(pl.int_range(pl.len()).over("node", "scope") < LINKS_EACH)
        .select(LINKS.names())
    )


def _shared_mentions(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the mentions that 2 to `MOST_CHUNKS` chunks share: a row for each chunk and mention.

    It has the columns of `_mentions` and of the chunk, the weight of the mention, `spread` (the number of its
    chunks) and `mention_count` (the number of rows of the chunk).
    """
    columns = ("chunk_id", "document_id", "section_start", "language")
    nodes = chunks.select(*columns, node=pl.int_range(pl.len()))  # a chunk's index
    kind_weight = pl.col("kind").replace_strict(_KINDS, return_dtype=pl.Float64())
    return (
        _mentions(chunks)
        .join(nodes, on="node", maintain_order="left")
        .with_columns(spread=pl.len().over("key"))
        .filter(pl.col("spread").is_between(2, MOST_CHUNKS))
        .with_columns(
            weight=kind_weight * (np.log(max(nodes.height, 2)) - pl.col("spread").log()),  # never log(0)
            mention_count=pl.len().over("node"),
        )
    )


def _mentions(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the distinct mentions of each chunk, its own headings included, a row for each.

    The columns are node (the chunk's index), key (the comparable form), kind and wording.
    """
    headings = [_headings(*row) for row in chunks.select("title", "section_path", "language").iter_rows()]
    all_headings = {key for chunk_headings in headings for key in chunk_headings}
    rows: list[tuple[int, str, str, str]] = []
    columns = chunks.select("text", "language", "section_path").iter_rows()
    for node, (text, language, path) in enumerate(columns):
        if path and path[-1].casefold() in lexicon(language).layout.back_matter:
            continue  # an index or list of references says nothing about its names
        mentioned_headings = [*headings[node].items(), *_written_headings(text, language, all_headings)]
        rows += ((node, key, "heading", wording) for key, wording in mentioned_headings)
        for key, wording in _written_names(text, language):
            rows.append((node, key, "heading" if key in all_headings else "name", wording))
    frame = pl.DataFrame(rows, schema=_MENTIONS, orient="row")
    return frame.unique(["node", "key"], keep="first", maintain_order=True)


def _headings(title: str, path: Sequence[str], language: str) -> dict[str, str]:
    """Return title and heading of a section, if of two to four content words, by comparable form."""
    lines = [title, path[-1]] if path else [title]
    keys = {" ".join(token.stem for token in _content(line, language)): line for line in lines}
    return {key: line for key, line in keys.items() if 1 <= key.count(" ") < _LONGEST_HEADING}  # 2 to 4 words


def _written_names(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield key and wording of the names in a text; "Ada Lovelace" is a single name, and "A4" too short."""
    groups: list[list[Name]] = []
    for name in find_names(text, language):
        if groups and text[groups[-1][-1].end : name.start] == " ":
            groups[-1].append(name)
        elif _LETTERS.search(name.folded):
            groups.append([name])
    for group in groups:
        yield " ".join(name.folded for name in group), text[group[0].start : group[-1].end]


def _written_headings(text: str, language: str, headings: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield key and wording of the headings, of two to four content words, that a text contains."""
    tokens = _content(text, language)
    for index, first in enumerate(tokens):
        key = first.stem
        for last in tokens[index + 1 : index + _LONGEST_HEADING]:
            key = f"{key} {last.stem}"
            if key in headings:
                yield key, text[first.start : last.end]


def _content(text: str, language: str) -> list[Token]:
    return [token for token in tokenize(text, language) if token.content and not token.folded.isdigit()]


class Name(NamedTuple):
    """The span of a name, and its comparable form."""

    folded: str
    start: int
    end: int


def find_names(text: str, language: str) -> list[Name]:
    """Return the names of a text in order: code in backticks, identifiers and proper names."""
    code = [match.span(1) for match in _CODE.finditer(text) if match[1].strip()]
    taken = Occupied(len(text), code)
    identifiers = []
    for match in _IDENTIFIER.finditer(text):
        if taken.free(*match.span()):
            identifiers.append(match.span())
            taken.take(*match.span())
    proper = [span for span in _proper_names(text, language) if taken.free(*span)]
    spans = sorted([*code, *identifiers, *proper], key=lambda span: span[0])
    return [Name(_fold(text[start:end]), start, end) for start, end in spans]


def _fold(text: str) -> str:
    """Return the comparable form of a name, without case, genitive endings, quotes and call brackets."""
    folded = words.fold(unicodedata.normalize("NFKC", text)).casefold().strip("'\"()[] ")
    return folded.removesuffix("'s").removesuffix("'").lstrip("-")


def _proper_names(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of acronyms, and of capitalised words that do not open a sentence.

    German capitalises every noun, so there such a word counts only next to another: "Stiftung Warentest", but
    not "Warentest" alone. The acronym "DNS" counts alone, and also at the start of a sentence.
    """
    vocabulary = lexicon(language)
    capitalised = []
    for match in _CAPITALISED.finditer(text):
        word = match[0].casefold()
        is_function_word = word in vocabulary.stop_words or word in vocabulary.negations
        is_month = word in vocabulary.months and not match[0].isupper()  # APR in capitals is an acronym
        if len(word) > 1 and not is_function_word and not is_month:
            capitalised.append(match)
    in_group = set[int]()  # starts of words that a single space separates from another capitalised word
    for first, second in pairwise(capitalised):
        if text[first.end() : second.start()] == " ":
            in_group |= {first.start(), second.start()}
    for match in capitalised:
        rest = match[0][1:]
        has_inner_capital, has_digit = rest != rest.lower(), any(map(str.isdigit, rest))  # DNS, B2
        four_before = text[max(0, match.start() - 4) : match.start()]  # enough for '." ' or "### "
        opens_sentence = _SENTENCE_START.search(four_before) is not None
        is_lone_noun = vocabulary.nouns_capitalised and match.start() not in in_group
        if has_inner_capital or has_digit or not (opens_sentence or is_lone_noun):
            yield match.span()
