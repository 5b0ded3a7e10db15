"""Chunks in their role as context: the records a prompt, a rule or a training example reads.

What belongs here: turning rows of `chunks` into `Passage`s, and into the text that retrieval indexes.
What does not: choosing which (retrieval).
"""

from collections.abc import Sequence

import polars as pl

from qa_pipeline.records import Passage


def passages_by_id(chunks: pl.DataFrame) -> dict[str, Passage]:
    """Every chunk as a passage, by chunk id."""
    columns = ["chunk_id", "title", "section_path", "text", "language", "document_id"]
    return {
        chunk_id: Passage(chunk_id, title, tuple(section_path), text, language, document_id)
        for chunk_id, title, section_path, text, language, document_id in chunks.select(columns).iter_rows()
    }


def index_text(section_path: Sequence[str], text: str) -> str:
    """What is embedded, indexed and counted of a chunk: its headings tell what its text is about."""
    return f"{' > '.join(section_path)}\n{text}" if section_path else text
