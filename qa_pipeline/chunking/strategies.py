"""The strategy that the settings name.

What belongs here: choosing it. What does not: any strategy.
"""

from qa_pipeline.chunking.fixed_tokens import TokenChunker
from qa_pipeline.chunking.sections import Chunker
from qa_pipeline.chunking.semantic import Encode, SemanticChunker
from qa_pipeline.chunking.sentence_windows import SentenceChunker
from qa_pipeline.chunking.structure import StructureChunker
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.documents import ChunkingSettings


def build_chunker(settings: ChunkingSettings, encode: Encode | None) -> Chunker:
    """The strategy that the settings name.

    Raises:
        SettingsError: it needs `encode`.
    """
    if settings.strategy == "semantic":
        if encode is None:
            raise SettingsError(
                "chunking.strategy is semantic, which needs an embedding model; choose another"
            )
        return SemanticChunker(encode, settings.semantic_percentile)
    if settings.strategy == "sentences":
        return SentenceChunker(settings.window_sentences)
    return TokenChunker() if settings.strategy == "tokens" else StructureChunker()
