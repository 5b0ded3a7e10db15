"""Pack a long section into chunks, split between blocks, lines, sentences or words, in this order.

Each section is split separately, so that an edit leaves the chunks of other sections unchanged. Time is
linear in the length of the section.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, takewhile
from math import ceil

import polars as pl
from tokenizers import Encoding, Tokenizer

from qa_pipeline.text.sentences import blocks, line_spans, paragraphs_and_items, sentence_cuts

Span = tuple[int, int]

LONGEST_WORD = 256
"""Characters of the longest word that a tokenizer splits; a longer word becomes a single unknown token."""
TOKEN_CHARACTERS = 16
"""Characters per token for longer words, such as encoded data or a script without blanks."""
_HEADING_SHARE = 3
"""A heading line of at most a third of a chunk stays with the next text; a longer line is ordinary text."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """A sentence, line, row or item; if that is too long for a chunk, some of its words."""

    start: int
    end: int
    tokens: int = 0
    opens_block: bool = False
    is_heading: bool = False
    belongs_to_next: bool = False
    """True for a lead-in before its list, and for the fence of a code block."""
    continues_previous: bool = False
    """True if both segments are parts of a sentence."""


def pack_section(text: str, heading_end: int, language: str, tokenizer: Tokenizer, room: int) -> list[Span]:
    """Split a section into even spans of at most `room` tokens, as few as possible.

    `heading_end` is the end of its heading line, or 0.
    """
    uncounted = list(_find_segments(text, heading_end, language))
    encodings = tokenizer.encode_batch(
        [text[segment.start : segment.end] for segment in uncounted], add_special_tokens=False
    )
    segments: list[_Segment] = []
    for segment, encoding in zip(uncounted, encodings, strict=True):
        token_starts = _token_starts(encoding)
        is_heading = segment.is_heading and len(token_starts) <= room // _HEADING_SHARE
        counted = replace(segment, tokens=len(token_starts), is_heading=is_heading)
        if len(token_starts) <= room:
            segments.append(counted)
        else:
            segments += _split_segment(counted, token_starts, text, room)
    return list(_pack(segments, room))


def _find_segments(text: str, heading_end: int, language: str) -> Iterator[_Segment]:
    """Yield the sentences, lines, rows and items of a section, without token counts."""
    for start, end, is_code in blocks(text):
        spans = list(_block_spans(text, start, end, language, is_code=is_code))
        second_last = len(spans) - 2
        for number, (low, high) in enumerate(spans):
            # keep the opening fence with the first line of code, and the last line with the closing fence
            touches_fence = is_code and number in (0, second_last)
            yield _Segment(
                low,
                high,
                opens_block=number == 0,
                is_heading=low < heading_end,
                belongs_to_next=touches_fence or text[high - 1] == ":",
            )


def _block_spans(text: str, start: int, end: int, language: str, *, is_code: bool) -> Iterator[Span]:
    """Yield the spans of a block that are not blank: its lines if it is code, otherwise its sentences."""
    if is_code:
        lines = [(start + low, start + high) for low, high in line_spans(text[start:end])]
        spans = [_stripped(text, low, high, is_code=True) for low, high in lines]
    else:
        spans = []
        for low, high, is_single_sentence in paragraphs_and_items(text, start, end):
            cuts = [] if is_single_sentence else sentence_cuts(text, low, high, language)
            borders = [low, *cuts, high]
            spans += [_stripped(text, *sentence, is_code=False) for sentence in pairwise(borders)]
    yield from (span for span in spans if span[0] < span[1])


def _stripped(text: str, start: int, end: int, *, is_code: bool) -> Span:
    """Return the span without surrounding white space; code keeps its indentation."""
    part = text[start:end]
    indentation = 0 if is_code else len(part) - len(part.lstrip())
    return start + indentation, start + len(part.rstrip())


def _token_starts(encoding: Encoding) -> list[int]:
    """Return the offset of each token; a word that is too long counts as several tokens."""
    starts: list[int] = []
    for start, end in encoding.offsets:
        if end - start > LONGEST_WORD:
            starts += range(start, end, TOKEN_CHARACTERS)
        else:
            starts.append(start)
    return starts


def _split_segment(
    segment: _Segment, token_starts: Sequence[int], text: str, room: int
) -> Iterator[_Segment]:
    """Split a segment into even parts of at most `room` tokens: 10 tokens and room for 4 give 4, 3 and 3.

    Parts end at blanks if possible. `token_starts` are the offsets of its tokens, relative to its start.
    """
    count = len(token_starts)
    # borders[n]: the offset in `text` where token n begins; the first and last are those of the segment
    borders = [segment.start, *(segment.start + start for start in token_starts[1:]), segment.end]
    first = 0  # number of the first token of a part
    while first < count:
        remaining = count - first
        parts = ceil(remaining / room)
        next_first = first + ceil(remaining / parts)
        if next_first < count:
            # the border moves back to the last token after a blank in the second half of this part, if any:
            # "a new docu|ment" becomes "a new |document"
            middle = first + (next_first - first) // 2
            candidates = range(middle + 1, next_first + 1)
            after_blanks = [n for n in candidates if text[borders[n] - 1].isspace()]
            next_first = max(after_blanks, default=next_first)
        start, end = borders[first], borders[next_first]
        end = start + len(text[start:end].rstrip())
        if start < end:
            yield replace(
                segment,
                start=start,
                end=end,
                tokens=next_first - first,
                opens_block=segment.opens_block and first == 0,
                is_heading=False,
                continues_previous=first > 0,
            )
        first = next_first


def _pack(segments: Sequence[_Segment], room: int) -> Iterator[Span]:
    """Yield spans of consecutive segments, of about equal length and at most `room` tokens."""
    # tokens_before[n]: the tokens of the first n segments
    tokens_before = list(accumulate((segment.tokens for segment in segments), initial=0))
    first = 0
    while first < len(segments):
        end = len(segments)
        remaining = tokens_before[end] - tokens_before[first]
        if remaining > room:  # otherwise the rest is a single span
            aim = remaining / ceil(remaining / room)  # tokens of a span if all were equal
            end = _best_end(segments, tokens_before, first, most=room, aim=aim)
        yield segments[first].start, segments[end - 1].end
        first = end


def _best_end(
    segments: Sequence[_Segment], tokens_before: Sequence[int], first: int, *, most: int, aim: float
) -> int:
    """Return the end of a span of segments from `first`, with at most `most` and nearly `aim` tokens.

    The end is the index of the segment after the span. More than `most` tokens remain, and each segment has
    at most `most`. `tokens_before` has the tokens before each segment. `aim` is the length of even spans.
    """

    def rank(end: int) -> tuple[int, float]:
        """Rank a cut by the conditions met before the first unmet, then by its nearness to `aim`."""
        # the segments around the cut; segments[end] exists, as more than `most` tokens remain
        previous, following = segments[end - 1], segments[end]
        tokens = tokens_before[end] - tokens_before[first]
        conditions = [  # the most important first
            not previous.is_heading,  # a heading stays with its text
            not following.continues_previous,  # a sentence in several segments is not cut
            not previous.belongs_to_next,  # "The parts are:" stays with its list, a fence with its code
            tokens >= aim / 2,  # the span is not too short
            following.opens_block,  # the cut is between paragraphs
        ]
        met = list(takewhile(bool, conditions))
        return len(met), -abs(tokens - aim)

    # the last end within `most`: at least first + 1, since no segment alone exceeds `most`
    latest = bisect_right(tokens_before, tokens_before[first] + most) - 1
    return max(range(first + 1, latest + 1), key=rank)


NEAR_DUPLICATE = "near_duplicate"
REPEATED_BLOCK = "repeated_block"
_SHORTEST = 40
"""Characters of the shortest block that counts; shorter blocks such as "See also:" recur by chance."""
_SHARE = 0.8
"""Share of a chunk's text in repeated blocks from which too little new text is left to ask about."""

REPEATED_IN = 3
"""Documents that must contain a repeated block; two may share it by chance."""


def mark_repeated_blocks(chunks: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Mark repeated chunks in the column `passed_over`.

    Chunks of a near-duplicate document are marked as such. Other chunks are marked if most of their text is
    in repeated blocks. A block is repeated if at least `REPEATED_IN` documents contain it, and an earlier
    document has it. So questions are still asked about the first document with the text.

    Args:
        chunks: CHUNKS frame in the order of documents.
        documents: DOCUMENTS frame with its near duplicates marked.
    """
    duplicates = documents.filter(pl.col("near_duplicate_of").is_not_null())["document_id"]
    is_near = pl.col("document_id").is_in(duplicates.implode())
    repeated = _repeated_chunks(chunks.filter(~is_near))
    mark = (
        pl.when(is_near)
        .then(pl.lit(NEAR_DUPLICATE))
        .when(pl.col("chunk_id").is_in(repeated.implode()))
        .then(pl.lit(REPEATED_BLOCK))
    )
    return chunks.with_columns(mark.alias("passed_over"))


def _repeated_chunks(chunks: pl.DataFrame) -> pl.Series:
    """Return ids of chunks that consist mostly of repeated blocks from earlier documents."""
    # expressions over rows of `_blocks`, a row per block of a chunk
    size = pl.col("block").str.len_chars()
    document_count = pl.col("document_id").n_unique().over("block")
    is_first = pl.col("document_number") == pl.col("document_number").min().over("block")
    is_repeated = (document_count >= REPEATED_IN) & ~is_first & (size >= _SHORTEST)
    sizes = (
        _blocks(chunks)
        .with_columns(is_repeated=is_repeated)
        .group_by("chunk_id", maintain_order=True)
        .agg(all=size.sum(), repeated=size.filter(pl.col("is_repeated")).sum())  # characters of a chunk
    )
    is_mostly_repeated = pl.col("repeated") >= _SHARE * pl.col("all")
    return sizes.filter(is_mostly_repeated, pl.col("all") > 0)["chunk_id"]


def _blocks(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return a row per block of a chunk, without headings, with white space and case normalised."""
    return (
        chunks.select(
            "chunk_id",
            "document_id",
            pl.col("document_id").rle_id().alias("document_number"),  # in the order of documents
            pl.col("text").str.split("\n\n").alias("block"),
        )
        .explode("block")
        .with_columns(
            pl.col("block").str.replace_all(r"\s+", " ").str.strip_chars().str.to_lowercase().alias("block")
        )
        .filter(pl.col("block") != "", ~pl.col("block").str.starts_with("#"))
    )
