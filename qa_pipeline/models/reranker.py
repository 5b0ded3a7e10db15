"""Scores of questions and passages that a cross-encoder reads together, for ranking the best ones again.

Inputs are computed in batches of one length (`cpu.compute_by_length`), so that the score of a pair does not
depend on the pairs beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.cpu import (
    Numbers,
    Rows,
    compute_by_length,
    single_threaded_workers,
)
from qa_pipeline.models.files import ModelFolder, find_folder, load_classifier
from qa_pipeline.settings.generation import RetrievalSettings

MOST_TOKENS = 512
"""Most tokens read of a question and a passage: what rerankers are usually trained with."""
BATCH_TOKENS = 4096
"""Most tokens of a batch."""
WAYS_OUT = "Or leave retrieval.reranker out: passages then stay as words and vectors rank them."


@dataclass(frozen=True)
class Reranker(ModelFolder):
    """A model of one logit: the larger, the better a passage answers; its weights load at the first pair."""

    kind: ClassVar[str] = "reranker"

    def score(self, pairs: Sequence[tuple[str, str]]) -> Numbers:
        """Return the logit of each pair of question and passage, in order; the longer text is cut first.

        Raises:
            SettingsError: the model cannot be loaded, or a score is not a finite number.
        """
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        import torch

        inputs = self._tokenizer.encode_batch(list(pairs))
        typed = getattr(self._model.config, "type_vocab_size", 0) > 1

        def compute(rows: Rows) -> Numbers:
            batch = {"input_ids": torch.tensor([inputs[row].ids for row in rows])}
            if typed:
                batch["token_type_ids"] = torch.tensor([inputs[row].type_ids for row in rows])
            with torch.inference_mode():
                logits: Numbers = self._model(**batch).logits[:, 0].numpy()
            return logits

        lengths = [len(pair.ids) for pair in inputs]
        with single_threaded_workers() as workers:
            pair_scores = compute_by_length(lengths, lambda length: BATCH_TOKENS // length, compute, workers)
        scores = np.array(pair_scores, dtype=np.float32)
        if not np.isfinite(scores).all():
            raise self._refused("it gives scores that are not numbers")
        return scores

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        path = self.folder / "tokenizer.json"
        if not path.is_file():
            raise self._refused("it has no tokenizer.json")
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        declared = (
            (self.read_json("tokenizer_config.json") or {}).get("model_max_length"),
            (self.read_json("config.json") or {}).get("max_position_embeddings"),
        )
        limits = [int(limit) for limit in declared if isinstance(limit, int | float) and limit > 0]
        tokenizer.enable_truncation(min([MOST_TOKENS, *limits]), strategy="longest_first")
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # a document may hold `[SEP]`
        return tokenizer

    @cached_property
    def _model(self) -> Any:
        model = load_classifier(self.folder, "texts", self._refused)
        if model.config.num_labels != 1:
            raise self._refused(f"it has {model.config.num_labels} classes; a reranker has one")
        return model

    def _refused(self, what: str) -> SettingsError:
        return SettingsError(f"retrieval.reranker {self.name}: {what}. {WAYS_OUT}")


def load_reranker(settings: RetrievalSettings) -> Reranker | None:
    """Find the model; None where the settings name none.

    Raises:
        SettingsError: it is not there, not safetensors, or not the pinned revision.
    """
    if settings.reranker is None:
        return None
    fields = ("reranker", "reranker_revision")
    pinned = settings.reranker_revision
    place = find_folder(settings.reranker, pinned, setting="retrieval", ways_out=WAYS_OUT, fields=fields)
    reranker = Reranker(*place)
    if not any(reranker.folder.glob("*.safetensors")):
        raise SettingsError(f"retrieval.reranker {reranker.name}: it has no safetensors. {WAYS_OUT}")
    reranker.check_revision(pinned, "retrieval", fields[1])
    return reranker
