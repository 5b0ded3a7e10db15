"""Scores of questions and passages that a cross-encoder reads together, for ranking the best ones again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.classifier import Input, compute_logits, load_classifier
from qa_pipeline.models.devices import Device, Numbers, check_device, workers_on
from qa_pipeline.models.files import ModelFolder, find_folder
from qa_pipeline.settings.generation import RetrievalSettings

MOST_TOKENS = 512
"""Most tokens read of a question and a passage: what rerankers are usually trained with."""
WAYS_OUT = "Or leave retrieval.reranker out: passages then stay as words and vectors rank them."


@dataclass(frozen=True)
class Reranker(ModelFolder):
    """A model of one logit: the larger, the better a passage answers; its weights load at the first pair."""

    device: Device = "cpu"

    kind: ClassVar[str] = "reranker"

    def score(self, pairs: Sequence[tuple[str, str]]) -> Numbers:
        """Return the logit of each pair of question and passage, in order; the longer text is cut first.

        Raises:
            SettingsError: the model cannot be loaded, or a score is not a finite number.
        """
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        encodings = self._tokenizer.encode_batch(list(pairs))
        inputs = [Input(tuple(encoding.ids), tuple(encoding.type_ids)) for encoding in encodings]
        with workers_on(self.device) as workers:
            scores = np.concatenate(compute_logits(self._model, inputs, workers))
        if not np.isfinite(scores).all():
            raise self._refused("it gives scores that are not numbers")
        return scores

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        if not (self.folder / "tokenizer.json").is_file():
            raise self._refused("it has no tokenizer.json")
        tokenizer = self.read_tokenizer()
        tokenizer.enable_truncation(min([MOST_TOKENS, *self.declared_limits()]), strategy="longest_first")
        tokenizer.encode_special_tokens = True  # a document may hold `[SEP]`
        return tokenizer

    @cached_property
    def _model(self) -> Any:
        check_device(self.device)
        model = load_classifier(self.folder, self._refused)
        if model.config.num_labels != 1:
            raise self._refused(f"it has {model.config.num_labels} classes; a reranker has one")
        return model.to(self.device)

    def _refused(self, what: str) -> SettingsError:
        return SettingsError(f"retrieval.reranker {self.name}: {what}. {WAYS_OUT}")


def load_reranker(settings: RetrievalSettings, device: Device = "cpu") -> Reranker | None:
    """Find the model; None where the settings name none.

    Raises:
        SettingsError: it is not there, not safetensors, or not the pinned revision.
    """
    if settings.reranker is None:
        return None
    fields = ("reranker", "reranker_revision")
    pinned = settings.reranker_revision
    place = find_folder(settings.reranker, pinned, setting="retrieval", ways_out=WAYS_OUT, fields=fields)
    reranker = Reranker(*place, device=device)
    if not any(reranker.folder.glob("*.safetensors")):
        raise SettingsError(f"retrieval.reranker {reranker.name}: it has no safetensors. {WAYS_OUT}")
    reranker.check_revision(pinned, "retrieval", fields[1])
    return reranker
