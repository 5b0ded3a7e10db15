"""Chunks tables for tests that need texts and little else."""

from collections.abc import Sequence

import polars as pl

from qa_pipeline.tables import CHUNKS


def chunk_frame(texts: Sequence[str], language: str = "en", section_path: Sequence[str] = ()) -> pl.DataFrame:
    """One chunk a text, all of one document."""
    return CHUNKS.frame(
        [
            {
                "chunk_id": f"c{number}",
                "batch": "b",
                "document_id": "d",
                "position": number,
                "char_start": 0,
                "char_end": len(text),
                "title": "T",
                "section_path": list(section_path),
                "section_start": 0,
                "section_end": 1,
                "tokens": 1,
                "language": language,
                "text": text,
            }
            for number, text in enumerate(texts)
        ]
    )
