"""The heavy things a run needs, each built once and only when a stage first asks for it.

What belongs here: from settings to token counter, embedder, vector store and language models. What does
not: what they are used for.
"""

import atexit
import os
from functools import cache, cached_property

from qa_pipeline.calls import CallRecord
from qa_pipeline.documents.parsing import ParseFiles
from qa_pipeline.embedding.embeddings import CachedEmbedder, Embedder, TokenCounter
from qa_pipeline.embedding.vector_cache import VectorCache
from qa_pipeline.layout import Layout
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.settings.tree import Settings


@cache
def parse_contained() -> ParseFiles:
    """Parse in worker processes; the first file starts them, and they end with this process."""
    from qa_pipeline.documents.workers.pool import ParsingPool

    pool = ParsingPool(os.environ)
    atexit.register(pool.close)
    return pool.parse


class Parts:
    """Settings and what is built from them; tests and users hand in parts of their own."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
        parse: ParseFiles | None = None,
    ) -> None:
        self.settings = settings
        self.layout = Layout(settings.out)
        self._embedder = embedder
        self._model = model
        self._parse = parse

    @property
    def parse(self) -> ParseFiles:
        """The parsers, in worker processes that all batches of this process share."""
        return self._parse or parse_contained()

    @cached_property
    def counter(self) -> TokenCounter:
        """The embedding model's tokenizer, without its weights."""
        from qa_pipeline.embedding.model import load_token_counter

        return self._embedder or load_token_counter(self.settings.embedding)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model, behind the store of vectors."""
        from qa_pipeline.embedding.model import load_embedder

        embedding, graphs = self.settings.embedding, self.layout.graphs
        return CachedEmbedder(self._embedder or load_embedder(embedding, graphs), self.vectors)

    @cached_property
    def vectors(self) -> VectorCache:
        """Vectors computed before, by text and model."""
        from qa_pipeline.embedding.vector_cache import SqliteVectorCache

        return SqliteVectorCache(self.layout.vectors)

    @cached_property
    def generator(self) -> LanguageModel | None:
        """The model that asks and answers; None when only existing pairs are verified.

        Raises:
            KeyRejectedError: the provider's key is missing.
        """
        if self._model is not None:
            return self._model
        from qa_pipeline.llm.providers import build_model

        return build_model(self.settings.llm, cache_path=self.layout.replies, environ=os.environ)

    def calls(self, batch: str) -> list[CallRecord]:
        """What is noted of the calls made for a batch, by any run over the same store of replies."""
        store = self.settings.llm.store
        if store.url is None and not self.layout.replies.is_file():
            return []
        from qa_pipeline.llm.database import Database
        from qa_pipeline.llm.money.journal import read_calls

        database = Database(store.url or self.layout.replies)
        try:
            return read_calls(database, batch)
        finally:
            database.close()

    @property
    def reviewer(self) -> LanguageModel | None:
        """The model that verifies borderline claims and judges; the extractive rules do neither."""
        if self._model is None and self.settings.llm.provider == "extractive":
            return None
        return self.generator
