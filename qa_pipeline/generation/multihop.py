"""Find the chunks that a question of two or three hops can join: a light graph of a batch.

Its nodes are the chunks, its edges what two of them both speak of: a name, the heading or title of one that
the other writes out, or two rare words side by side, where it is not the only thing. What more than a few
chunks share joins none of them, nor do chunks that say nearly the same. Two edges make a chain of three
chunks where each is a whole proper name that no third document (or section) has, one sentence of the middle
chunk has both, and the ends share no name. Edges and chains (table `links`) inside a document carry a
`multi_hop` question, others a `cross_document` question.
"""

import re
from collections.abc import Iterator, Sequence, Set

import numpy as np
import polars as pl

from qa_pipeline.storage.tables import LINKS
from qa_pipeline.text.lexicon.languages import SMALL, lexicon
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.text.words import Occupied, Token, tokenize
from qa_pipeline.verification.consistency.names import Name, find_names

MOST_CHUNKS = 6
"""The most chunks that may share a node: one of more joins nothing in particular."""
MOST_SHARED = 0.3
"""Chunks that share a larger part of what the poorer one speaks of say the same, and are no two hops."""
LINKS_EACH = 3
"""Edges, and chains, kept of a chunk in each scope, best first: more give more partners, and weaker ones."""
_KINDS = {"heading": 3.0, "name": 2.0, "term": 1.0}
"""The kinds of node that join two chunks, and their weight per unit of inverse document frequency.

A heading says what a chunk is about, a name what it speaks of, two words side by side may do so by chance.
"""
_LONGEST_HEADING = 4  # words; nobody writes out a longer heading in another section
_JOINTS = (" ", "-")
_LETTERS = re.compile(r"[^\W\d_]{3}")
"""The letters of a name that is more than a number or an abbreviation."""
_NAME = r"^\p{Lu}[\w'’-]*(?: \p{Lu}[\w'’-]*)+$"
"""A proper name of two words or more; one word is often common, or the name of two things."""
_WORD, _SMALL_WORD = r"\p{L}+", r"\b\p{Ll}+\b"
_PATH = ("node", "node_right", "through", "hops", "scope", "kind", "bridges", "weight", "shared")
_MENTIONS = {"node": pl.Int64(), "key": pl.String(), "kind": pl.String(), "written": pl.String()}


def link_chunks(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the edges and chains of a batch, each once, under the chunk that comes first.

    Args:
        chunks: CHUNKS frame of the batch.

    Returns:
        LINKS frame, in the order of the chunks, chains before edges and the best of each first.
    """
    nodes = chunks.select("chunk_id", "batch", node=pl.int_range(pl.len()))
    places = chunks.select("document_id", "section_start", "language", node=pl.int_range(pl.len()))
    mentions = _mentions(chunks).join(places, on="node", maintain_order="left")
    spread = pl.len().over("key")
    joining = mentions.filter(spread.is_between(2, MOST_CHUNKS)).with_columns(
        weight=pl.col("kind").replace_strict(_KINDS, return_dtype=pl.Float64())
        * (np.log(max(nodes.height, 2)) - spread.log()),
        documents=pl.col("document_id").n_unique().over("key"),
        sections=pl.struct("document_id", "section_start").n_unique().over("key"),
        mentioned=pl.len().over("node"),
    )
    across = pl.col("document_id") != pl.col("document_id_right")
    stronger = pl.when(pl.col("weight_right") >= pl.col("weight"))
    sharing = (
        joining.join(joining, on=["key", "language"])
        .filter(
            pl.col("node") < pl.col("node_right"),
            across | (pl.col("section_start") != pl.col("section_start_right")),
        )
        .with_columns(
            shared=pl.len().over("node", "node_right").cast(pl.Int32()),
            scope=pl.when(across).then(pl.lit("across")).otherwise(pl.lit("within")),
            weight=pl.max_horizontal("weight", "weight_right"),
            strongest=stronger.then(pl.col("kind_right")).otherwise("kind"),
        )
    )
    edges = (
        sharing.filter(
            pl.col("shared") <= 1 + MOST_SHARED * pl.min_horizontal("mentioned", "mentioned_right"),
            (pl.col("kind") != "term") | (pl.col("kind_right") != "term") | (pl.col("shared") > 1),
        )
        .drop("kind", "kind_right")
        .rename({"strongest": "kind"})
        .sort("node", "weight", "key", "node_right", descending=[False, True, False, False])
    )
    names = sharing.filter(
        pl.any_horizontal(pl.col("kind", "kind_right") == "name") | pl.col("written").str.contains(_NAME)
    )
    chains = _chain(edges, chunks).join(names, on=["node", "node_right"], how="anti", maintain_order="left")
    best = edges.unique(["node", "node_right"], keep="first", maintain_order=True).with_columns(
        through=pl.lit(None, dtype=pl.Int64()), hops=2, bridges=pl.concat_list("written")
    )
    paths = pl.concat([chains.select(_PATH), best.select(_PATH)], how="vertical_relaxed").filter(
        pl.int_range(pl.len()).over("node", "scope", "hops") < LINKS_EACH
    )
    ends = {"chunk_id": "node", "through_chunk_id": "through", "other_chunk_id": "node_right"}
    for column, end in ends.items():
        ids = nodes.select(pl.col("node").alias(end), pl.col("chunk_id").alias(column))
        paths = paths.join(ids, on=end, how="left", maintain_order="left")
    ordered = paths.sort("node", "hops", descending=[False, True], maintain_order=True)
    batches = nodes.select("chunk_id", "batch")
    return LINKS.conform(
        ordered.join(batches, on="chunk_id", maintain_order="left").select(LINKS.schema.names())
    )


def _chain(edges: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the paths of two edges, best first, where a proper name with one meaning makes each.

    Args:
        edges: what joins two chunks, best first.
        chunks: CHUNKS frame of the batch.
    """
    places = pl.when(pl.col("scope") == "across").then("documents").otherwise("sections")
    name_edges = edges.filter(
        places == 2, pl.col("written").str.contains(_NAME), pl.col("written_right").str.contains(_NAME)
    )
    words = name_edges.select(pl.col("written").str.to_lowercase().str.extract_all(_WORD))
    of_names = words["written"].explode().unique().implode()
    small_words = chunks["text"].str.extract_all(_SMALL_WORD)
    ordinary = small_words.list.set_intersection(of_names).explode().unique()
    name_edges = name_edges.filter(words["written"].list.set_difference(ordinary.implode()).list.len() > 0)
    firm = _without_parts(_without_third(name_edges, chunks), chunks).unique(
        ["node", "node_right"], keep="first", maintain_order=True
    )
    steps = pl.concat(
        firm.select(
            "key",
            "scope",
            "kind",
            "weight",
            through=f"node{middle}",
            end=f"node{end}",
            document=f"document_id{end}",
            section=f"section_start{end}",
            bridge=f"written{middle}",
        )
        for end, middle in (("", "_right"), ("_right", ""))
    )
    within = (pl.col("scope") == "within") & (pl.col("scope_right") == "within")
    weaker = pl.when(pl.col("weight") <= pl.col("weight_right"))
    texts = chunks.select("text", "language", through=pl.int_range(pl.len()))
    paths = (
        steps.join(steps, on="through")
        .join(texts, on="through", maintain_order="left")
        .filter(
            pl.col("end") < pl.col("end_right"),
            (pl.col("document") != pl.col("document_right"))
            | (within & (pl.col("section") != pl.col("section_right"))),
            ~pl.col("key").str.contains(pl.col("key_right"), literal=True),
            ~pl.col("key_right").str.contains(pl.col("key"), literal=True),
        )
        .select(
            "through",
            "text",
            "language",
            node="end",
            node_right="end_right",
            hops=3,
            scope=pl.when(within).then(pl.lit("within")).otherwise(pl.lit("across")),
            kind=weaker.then("kind").otherwise("kind_right"),
            bridges=pl.concat_list("bridge", "bridge_right"),
            weight=pl.min_horizontal("weight", "weight_right"),
            shared=pl.lit(0, dtype=pl.Int32()),
        )
        .sort("node", "weight", "node_right", "through", descending=[False, True, False, False])
    )
    is_stated = [_in_one_sentence(*row) for row in paths.select("text", "language", "bridges").iter_rows()]
    return paths.filter(pl.Series(is_stated, dtype=pl.Boolean())).unique(
        ["node", "node_right"], keep="first", maintain_order=True
    )


def _without_third(name_edges: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Leave out edges whose name a third document (or section) writes too, if within another name."""
    names = pl.concat([name_edges["written"], name_edges["written_right"]]).unique()
    written = pl.col("text").str.extract_many(names.implode(), overlapping=True)
    places = (
        chunks.select("document_id", "section_start", name=written)
        .explode("name")
        .group_by("name")
        .agg(
            across=pl.col("document_id").n_unique(),
            within=pl.struct("document_id", "section_start").n_unique(),
        )
        .unpivot(index="name", variable_name="scope", value_name="places")
        .filter(pl.col("places") > 2)
    )
    for written_as in ("written", "written_right"):
        name_edges = name_edges.join(
            places.rename({"name": written_as}), on=[written_as, "scope"], how="anti", maintain_order="left"
        )
    return name_edges


def _without_parts(name_edges: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Leave out edges whose name is part of a longer one in a chunk, such as "Department of Health"."""
    for end, written in (("node", "written"), ("node_right", "written_right")):
        texts = chunks.select("text", pl.int_range(pl.len()).alias(end))
        with_texts = name_edges.select(end, written, "language").join(texts, on=end, maintain_order="left")
        is_whole = [_is_whole(*row) for row in with_texts.select("text", written, "language").iter_rows()]
        name_edges = name_edges.filter(pl.Series(is_whole, dtype=pl.Boolean()))
    return name_edges


def _is_whole(text: str, name: str, language: str) -> bool:
    """Return whether no preposition joins a name with a capitalised word after it, nor "of" with one before.

    German writes every noun with a capital, so there what stands before is not looked at.
    """
    vocabulary, capital = lexicon(language), rf"[^\W\d_{SMALL}]"
    prepositions = "|".join(sorted(vocabulary.prepositions))
    before = rf"{capital}[\w'’-]* {vocabulary.of_word} (?:\w{{1,3}} )?{re.escape(name)}"
    after = rf"{re.escape(name)} (?:{prepositions}) {capital}"
    patterns = [after] if vocabulary.nouns_capitalised else [after, before]
    return not any(re.search(pattern, text) for pattern in patterns)


def _in_one_sentence(text: str, language: str, names: Sequence[str]) -> bool:
    """Return whether one sentence has both names; one that is not in the text is what all of it is about."""
    written = [name for name in names if name in text]
    spans = sentence_spans(text, language)
    return any(all(name in text[start:end] for name in written) for start, end in spans)


def _mentions(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return what each chunk mentions, each once: node, key (comparable form), kind and wording."""
    headings = [_headings(*row) for row in chunks.select("title", "section_path", "language").iter_rows()]
    titles = {key for keys in headings for key in keys}
    rows: list[tuple[int, str, str, str]] = []
    columns = chunks.select("text", "language", "section_path").iter_rows()
    for node, (text, language, path) in enumerate(columns):
        if path and lexicon(language).wording.references.fullmatch(path[-1]):
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
