"""Settings of pairs, whether models or files give them."""

from pydantic import (
    Field,
)

from qa_pipeline.settings.group import Group


class GenerationSettings(Group):
    """Questions and answers."""

    questions_per_chunk: int = Field(
        1, gt=0, description="Most questions asked of a chunk; the embedded profile sets 3."
    )
    temperature: float = Field(0.3, ge=0, description="Of questions and drafts.")
    require_round_trip: bool = Field(True, description="Drop questions that do not retrieve their own chunk.")
    skip_near_duplicates: bool = Field(
        True, description="Ask nothing of documents nearly the same as another."
    )
    skip_repeated_blocks: bool = Field(
        True, description="Ask nothing of chunks whose text other documents hold, except the first one's."
    )


class PairsFileSettings(Group):
    """Reading files of existing pairs."""

    max_bytes: int = Field(1_000_000_000, gt=0, description="Larger files are refused.")
    max_line_bytes: int = Field(1_000_000, gt=0, description="A longer line is a failed row.")
    max_pairs: int = Field(1_000_000, gt=0, description="A file of more pairs is refused.")
