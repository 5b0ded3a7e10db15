"""Find the chunks that a question of two hops can join: a light graph of a batch.

Its nodes are the chunks, its edges what two of them both speak of: a name, the heading or title of one that
the other writes out, or two rare words side by side, where it is not the only thing. What more than a few
chunks share joins none of them, nor do chunks that say nearly the same. Edges (table `links`)
inside a document carry a `multi_hop` question, others a `cross_document` question.
"""

import re
from collections.abc import Iterator, Sequence, Set

import numpy as np
import polars as pl

from qa_pipeline.generation.names import Name, find_names
from qa_pipeline.storage.tables import LINKS
from qa_pipeline.text.words import Occupied, Token, tokenize

MOST_CHUNKS = 6
"""The most chunks that may share a node: one of more joins nothing in particular."""
MOST_SHARED = 0.3
"""Chunks that share a larger part of what the poorer one speaks of say the same, and are no two hops."""
LINKS_EACH = 3
"""Edges kept of a chunk in each scope, best first: more give more partners, and weaker ones."""
_KINDS = {"heading": 3.0, "name": 2.0, "term": 1.0}
"""The kinds of node that join two chunks, and their weight per unit of inverse document frequency.

A heading says what a chunk is about, a name what it speaks of, two words side by side may do so by chance.
"""
_LONGEST_HEADING = 4  # words; nobody writes out a longer heading in another section
_JOINTS = (" ", "-")
_LETTERS = re.compile(r"[^\W\d_]{3}")
"""The letters of a name that is more than a number or an abbreviation."""
_REFERENCES = re.compile(
    r"see also|references?|bibliography|links|further reading|related \w+"
    r"|se även|se också|referenser|källor|litteratur|länkar|relaterade .*"
    r"|siehe auch|literatur\w*|referenzen|quellen|verweise|verwandte .*",
    re.IGNORECASE,
)
"""Headings that only list other places."""
_MENTIONS = {"node": pl.Int64(), "key": pl.String(), "kind": pl.String(), "written": pl.String()}


def link_chunks(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the edges of a batch, each once, under the chunk that comes first, its best edges first."""
    columns = ("chunk_id", "batch", "document_id", "section_start", "language")
    nodes = chunks.select(*columns, node=pl.int_range(pl.len()))
    joining = (
        _mentions(chunks)
        .join(nodes, on="node", maintain_order="left")
        .with_columns(spread=pl.len().over("key"))
        .filter(pl.col("spread").is_between(2, MOST_CHUNKS))
        .with_columns(
            weight=pl.col("kind").replace_strict(_KINDS, return_dtype=pl.Float64())
            * (np.log(max(nodes.height, 2)) - pl.col("spread").log()),
            mentioned=pl.len().over("node"),
        )
    )
    across = pl.col("document_id") != pl.col("document_id_right")
    stronger = pl.when(pl.col("weight_right") >= pl.col("weight"))
    sharing = (
        joining.join(joining, on=["key", "language"])
        .filter(
            pl.col("node") < pl.col("node_right"),
            across | (pl.col("section_start") != pl.col("section_start_right")),
        )
        .with_columns(shared=pl.len().over("node", "node_right").cast(pl.Int32()))
        .filter(
            pl.col("shared") <= 1 + MOST_SHARED * pl.min_horizontal("mentioned", "mentioned_right"),
            (pl.col("kind") != "term") | (pl.col("kind_right") != "term") | (pl.col("shared") > 1),
        )
    )
    edges = (
        sharing.with_columns(
            scope=pl.when(across).then(pl.lit("across")).otherwise(pl.lit("within")),
            weight=pl.max_horizontal("weight", "weight_right"),
            kind=stronger.then("kind_right").otherwise("kind"),
            other_chunk_id="chunk_id_right",
            bridge="written",
        )
        .sort("node", "weight", "key", "node_right", descending=[False, True, False, False])
        .unique(["node", "node_right"], keep="first", maintain_order=True)
        .filter(pl.int_range(pl.len()).over("node", "scope") < LINKS_EACH)
    )
    return LINKS.conform(edges.select(LINKS.schema.names()))


def _mentions(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return what each chunk mentions, each once: node, key (comparable form), kind and wording."""
    headings = [_headings(*row) for row in chunks.select("title", "section_path", "language").iter_rows()]
    titles = {key for keys in headings for key in keys}
    rows: list[tuple[int, str, str, str]] = []
    columns = chunks.select("text", "language", "section_path").iter_rows()
    for node, (text, language, path) in enumerate(columns):
        if path and _REFERENCES.fullmatch(path[-1]):
            continue  # everybody is named there, and nothing is said of them
        rows += ((node, key, "heading", written) for key, written in headings[node].items())
        rows += (
            (node, key, "heading" if key in titles else kind, written)
            for key, kind, written in _spoken_of(text, language, titles)
        )
    frame = pl.DataFrame(rows, schema=_MENTIONS, orient="row")
    return frame.unique(["node", "key"], keep="first", maintain_order=True)


def _headings(title: str, path: Sequence[str], language: str) -> dict[str, str]:
    """Return the title of a document and the heading of a section, by comparable form."""
    lines = [title, path[-1]] if path else [title]
    keys = {" ".join(token.stem for token in _content(line, language)): line for line in lines}
    return {key: line for key, line in keys.items() if 1 <= key.count(" ") < _LONGEST_HEADING}


def _spoken_of(text: str, language: str, titles: Set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield key, kind and wording of names, of headings written out, and of content word pairs."""
    runs: list[list[Name]] = []
    for name in find_names(text, language):
        if runs and text[runs[-1][-1].end : name.start] == " ":
            runs[-1].append(name)
        elif _LETTERS.search(name.folded):
            runs.append([name])
    names_taken = Occupied(len(text), ((run[0].start, run[-1].end) for run in runs))
    for run in runs:
        yield " ".join(name.folded for name in run), "name", text[run[0].start : run[-1].end]
    content = _content(text, language)
    for place, first in enumerate(content):
        key = first.stem
        for last in content[place + 1 : place + _LONGEST_HEADING]:
            key = f"{key} {last.stem}"
            is_adjacent = last is content[place + 1] and text[first.end : last.start] in _JOINTS
            if key in titles or (is_adjacent and names_taken.free(first.start, last.end)):
                yield key, "term", text[first.start : last.end]


def _content(text: str, language: str) -> list[Token]:
    return [token for token in tokenize(text, language) if token.content and not token.folded.isdigit()]
