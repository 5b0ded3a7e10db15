"""The heavy things a run needs, each built once and only when a stage first asks for it."""

import atexit
import os
import uuid
import weakref
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import polars as pl

from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.documents.parsing import ParseFiles
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.llm.calls import calls_frame
from qa_pipeline.models.base import Embedder, TokenCounter
from qa_pipeline.models.vector_cache import CachedEmbedder, VectorCache
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.llm import Reviewer
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout

if TYPE_CHECKING:
    from qa_pipeline.llm.factory import Models
    from qa_pipeline.models.cross_encoder import EntailmentModel


StageObserver = Callable[[str, str], ProgressCallback]


def no_observer(batch: str, stage: str) -> ProgressCallback:
    """Return a callback that does nothing."""
    return no_progress


_MOST_CACHED = 20e9
"""Bytes of the store of vectors, and of that of logits; what is deleted is computed again when needed."""


@cache
def parse_sandboxed() -> ParseFiles:
    """Parse in worker processes; the first file starts them, and they end with this process."""
    from qa_pipeline.documents.sandbox.pool import ParsingPool

    pool = ParsingPool(os.environ)
    atexit.register(pool.close)
    return pool.parse


class Resources:
    """Settings and what is built from them; tests and users hand in parts of their own.

    Args:
        settings: the whole tree.
        embedder: to use in place of the one that the settings name.
        model: to use in every role.
        parse: to use in place of the sandboxed parsers.
        shared: output folder whose replies, vectors and logits are used in place of its own.
        run: id of the run in the records of calls.
        pairs_file: existing pairs that are checked; nothing is generated then.
        watch: called with (batch, stage) when a stage starts; returns what is called with its progress.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
        parse: ParseFiles | None = None,
        shared: Path | None = None,
        run: str | None = None,
        pairs_file: Path | None = None,
        watch: StageObserver = no_observer,
    ) -> None:
        self.settings = settings
        self.layout = Layout(settings.out, shared, settings.cache)
        self._embedder = embedder
        self._model = model
        self._parse = parse
        self.run = run or uuid.uuid4().hex
        self.pairs_file = pairs_file
        self.watch = watch
        self.stopping = Event()
        """Set when a run was interrupted: its thread ends at the next sign of progress."""
        self.error: QAPipelineError | None = None
        """The error that stopped the last run."""

    @property
    def parse(self) -> ParseFiles:
        """Return the parsers, in worker processes that all batches of this process share."""
        return self._parse or parse_sandboxed()

    @cached_property
    def counter(self) -> TokenCounter:
        """Return the embedding model's tokenizer, without its weights."""
        from qa_pipeline.models.embedding_files import load_token_counter

        return self._embedder or load_token_counter(self.settings.embedding)

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """Return the embedding model, behind the store of vectors computed before."""
        from qa_pipeline.models.encoder import load_embedder

        inner = self._embedder or load_embedder(self.settings.embedding)
        return CachedEmbedder(inner, VectorCache(self.layout.vectors, _MOST_CACHED))

    @cached_property
    def entailment(self) -> "EntailmentModel | None":
        """Return the entailment model, behind the store of its logits; None where the settings name none."""
        settings = self.settings.verification.entailment
        if settings.model is None:
            return None
        from qa_pipeline.models.cross_encoder import load_entailment_model

        store = VectorCache(self.layout.logits, _MOST_CACHED)
        return load_entailment_model(settings, store, self.settings.embedding)

    @cached_property
    def models(self) -> "Models":
        """Return the language models that the settings name, and what they share."""
        from qa_pipeline.generation.offline.provider import ExtractiveModel
        from qa_pipeline.llm.factory import Models

        models = Models(
            self.settings.llm,
            place=self.layout.replies,
            environ=os.environ,
            run=self.run,
            extractive=ExtractiveModel(),
        )
        # the latest there is: steps of a Dagster run share the models, and nobody tells them of its end
        weakref.finalize(self, models.close)
        return models

    @property
    def generator(self) -> LanguageModel | None:
        """Return the model that asks and answers; None when only existing pairs are verified.

        Raises:
            KeyRejectedError: the provider's key is missing.
        """
        return self._model or self.models.of(self.settings.llm.generator)

    def reviewer(self, role: Reviewer, model: str | None = None) -> LanguageModel | None:
        """Return the model that verifies borderline claims, or judges; the extractive rules do neither.

        `model` is another one of the same provider; None is the role's own.
        """
        if self._model is not None:
            return self._model
        settings = self.settings.llm.reviewer(role)
        if model is not None:
            settings = settings.model_copy(update={"model": model})
        return None if settings.provider == "extractive" else self.models.of(settings)

    def note_documents(self, batch: str, documents: pl.DataFrame) -> None:
        """Note the corpus of a batch, and its documents in the store of replies, where they can be erased.

        Raises:
            ReplyStoreError: the store cannot be used.
        """
        note_origin(self.layout, batch, None if self.pairs_file is not None else self.settings.corpus)
        if self._model is None and any(model.provider != "none" for model in self.settings.llm.models):
            from qa_pipeline.llm.store.maintenance import note_documents

            names = documents.select("document_id", "batch", "path")
            note_documents(self.models.replies.database, names.iter_rows())

    def calls(self, batch: str) -> pl.DataFrame:
        """Return the usage of the calls for a batch, by any run over the same store of replies."""
        store, calls = self.settings.llm.store, []
        if store.url is not None or self.layout.replies.is_file():
            from qa_pipeline.llm.store.maintenance import read_calls

            calls = read_calls(self.models.replies.database, batch)
        return calls_frame(calls)
