"""Models, parsers and stores of a run; each is built once, on first use."""

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
from qa_pipeline.llm.reply_database import calls_frame
from qa_pipeline.models.encoder import Embedder, TokenCounter
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


@cache
def parse_sandboxed() -> ParseFiles:
    """Return a parser in worker processes, which start at the first file and end with this process."""
    from qa_pipeline.documents.sandbox import ParsingPool

    pool = ParsingPool(os.environ)
    atexit.register(pool.close)
    return pool.parse


class Resources:
    """Settings and the objects built from them; tests and callers may pass their own.

    Args:
        settings: all settings.
        embedder: replaces the embedding model of the settings.
        model: replaces the language model of every role.
        parse: replaces the sandboxed parsers.
        run: id of the run in the records of calls.
        pairs_file: existing pairs to check, instead of generating pairs.
        watch: called with (batch, stage) at the start of a stage; returns its progress callback.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
        parse: ParseFiles | None = None,
        run: str | None = None,
        pairs_file: Path | None = None,
        watch: StageObserver = no_observer,
    ) -> None:
        self.settings = settings
        self.layout = Layout(settings.out, settings.cache)
        self._embedder = embedder
        self._model = model
        self._parse = parse
        self.run = run or uuid.uuid4().hex
        self.pairs_file = pairs_file
        self.watch = watch
        self.stopping = Event()  # set when a run is interrupted; its thread stops at the next progress report
        self.error: QAPipelineError | None = None  # the error that stopped the last run

    @property
    def parse(self) -> ParseFiles:
        """Return the parsers; all batches of this process share the worker processes."""
        return self._parse or parse_sandboxed()

    @cached_property
    def counter(self) -> TokenCounter:
        """Return the embedding model's tokenizer, without its weights."""
        from qa_pipeline.models.files import load_token_counter

        return self._embedder or load_token_counter(self.settings.embedding)

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """Return the embedding model with its vector cache."""
        from qa_pipeline.models.encoder import load_embedder

        inner = self._embedder or load_embedder(self.settings.embedding)
        return CachedEmbedder(inner, VectorCache(self.layout.vectors))

    @cached_property
    def entailment(self) -> "EntailmentModel | None":
        """Return the entailment model with its cache of logits, if the settings name a model."""
        settings = self.settings.verification.entailment
        if settings.model is None:
            return None
        from qa_pipeline.models.cross_encoder import load_entailment_model

        return load_entailment_model(settings, VectorCache(self.layout.vectors), self.settings.embedding)

    @cached_property
    def models(self) -> "Models":
        """Return the language models of the settings, with their shared store and budget."""
        from qa_pipeline.generation.extractive import ExtractiveModel
        from qa_pipeline.llm.factory import Models

        models = Models(
            self.settings.llm,
            address=self.layout.replies,
            environ=os.environ,
            run=self.run,
            extractive=ExtractiveModel(),
        )
        # steps of a Dagster run share the models and do not know its end, so they are closed last
        weakref.finalize(self, models.close)
        return models

    @property
    def generator(self) -> LanguageModel | None:
        """Return the model that writes questions and answers; None if only existing pairs are verified.

        Raises a KeyRejectedError if the provider's key is missing.
        """
        return self._model or self.models.of(self.settings.llm.generator)

    def reviewer(self, role: Reviewer, model: str | None = None) -> LanguageModel | None:
        """Return the verifier, for borderline claims, or the judge; None for the extractive rules.

        `model` names another model of the same provider, instead of the role's own.
        """
        if self._model is not None:  # it replaces the models of all roles
            return self._model
        settings = self.settings.llm.reviewer(role)
        if model is not None:
            settings = settings.model_copy(update={"model": model})
        return None if settings.provider == "extractive" else self.models.of(settings)

    def note_documents(self, batch: str, documents: pl.DataFrame) -> None:
        """Record the corpus of a batch, and add its documents to the reply store, so that they can be erased.

        Raises a StorageError if the store is unusable.
        """
        note_origin(self.layout, batch, None if self.pairs_file is not None else self.settings.corpus)
        # "none" means no model; replies of the offline rules ("extractive") are stored like a model's
        stores_replies = any(model.provider != "none" for model in self.settings.llm.models)
        if stores_replies and self._model is None:  # the replies of a given model are not stored
            from qa_pipeline.llm.reply_store import note_documents

            names = documents.select("document_id", "batch", "path")
            note_documents(self.models.replies.database, names.iter_rows())

    def calls(self, batch: str) -> pl.DataFrame:
        """Return the records of all calls for a batch, by any run with the same reply store."""
        calls = []
        if self.settings.llm.store.url is not None or self.layout.replies.is_file():
            from qa_pipeline.llm.reply_store import read_calls

            calls = read_calls(self.models.replies.database, batch)
        return calls_frame(calls)
