"""Speed of the cross-encoder beside its bare forward, by precision, measured in one run.

    python -m qa_pipeline_tests.benchmarks.speed.bench_entailment [--claims 200] [--passages 2] [--repeats 3]

Prints one JSON line. The model has the packaged embedding model's weights and a random head: as large and as
fast as a trained one. Claims and passages are words of the vocabulary, as long as sentences and chunks are.
For each precision: `pairs_per_second` of the whole path (windows, tokens, batches, store of logits in a new
file, best window; no pairs of passages), `ratio` to `forward` (the bare model on the very batches that the
path makes, longest first, two threads) and to `padded` (sorted batches of 32 with padding and a mask, as
most programs run a model), all taken in turns, best of the repeats; and how far probabilities moved from
float32. `again` is the path with everything stored.
"""

import os
import random
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from qa_pipeline.models.classifier import BATCH_TOKENS, Input, takes_types
from qa_pipeline.models.devices import batches_of_one_length
from qa_pipeline.models.embedding_files import find_model
from qa_pipeline.models.entailment.models import CrossEncoder, Network, load_cross_encoder
from qa_pipeline.models.vector_cache import VectorCache
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline.settings.verification import EntailmentSettings
from qa_pipeline.verification.entailment import ClaimPassages, search
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

CLAIM_WORDS = (6, 10, 14, 18, 24)
PASSAGE_WORDS = (40, 80, 120, 160, 200)
PADDED_BATCH = 32
PRECISIONS = ("float32", "auto")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--claims", type=int, default=200)
    parser.add_argument("--passages", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        write_cross_encoder(Path(folder, "model"))
        asked = questions(arguments.claims, arguments.passages)
        measured = {name: _measure(Path(folder), name, asked, arguments.repeats) for name in PRECISIONS}
    reference = measured["float32"].pop("scores")
    for one in measured.values():
        moved = np.abs(one.pop("scores", reference) - reference)
        one |= {"mean_moved": round(float(moved.mean()), 5), "most_moved": round(float(moved.max()), 5)}
    print_json(
        {
            "benchmark": "entailment",
            "cores": len(os.sched_getaffinity(0)),
            "load": [round(value, 1) for value in os.getloadavg()],
            "pairs": sum(len(one.passages) for one in asked),
            "precisions": measured,
        }
    )


def write_cross_encoder(folder: Path) -> None:
    """The packaged embedding model with a head of three classes."""
    import torch
    from transformers import AutoModelForSequenceClassification

    packaged = find_model(EmbeddingSettings()).folder
    torch.manual_seed(0)
    names = dict(enumerate(("entailment", "neutral", "contradiction")))
    model = AutoModelForSequenceClassification.from_pretrained(packaged, id2label=names)
    model.classifier.weight.data *= 20  # so that probabilities differ
    model.save_pretrained(folder)
    shutil.copy(packaged / "tokenizer.json", folder)


def questions(claims: int, passages: int) -> list[ClaimPassages]:
    """Claims with passages, the same in every run."""
    from qa_pipeline.models.embedding_files import load_token_counter

    vocabulary = load_token_counter(EmbeddingSettings()).tokenizer.get_vocab()
    words = sorted(word for word in vocabulary if word.isalpha() and len(word) > 2)
    chance = random.Random(0)

    def text(lengths: Sequence[int]) -> str:
        return " ".join(chance.choices(words, k=chance.choice(lengths) + chance.randint(-3, 3)))

    return [
        ClaimPassages(text(CLAIM_WORDS), tuple(text(PASSAGE_WORDS) for _ in range(passages)))
        for _ in range(claims)
    ]


def _measure(folder: Path, name: str, asked: list[ClaimPassages], repeats: int) -> dict[str, Any]:
    settings = EntailmentSettings.model_validate({"model": str(folder / "model"), "precision": name})
    stores = iter(range(1000))

    def encoder() -> CrossEncoder:
        store = VectorCache(folder / f"{name}-{next(stores)}.sqlite")
        return load_cross_encoder(settings, store)

    warm = encoder()
    search(asked[:8], warm, settings, pair_below=0)
    inner = warm.network
    inputs = [warm.reader.join(passage, one.claim) for one in asked for passage in one.passages]
    scores = warm.probabilities([(passage, one.claim) for one in asked for passage in one.passages])
    calls: dict[str, Callable[[], object]] = {
        "road": lambda: search(asked, _with(warm, encoder()), settings, pair_below=0),
        "forward": lambda: _forward(inner, inputs),
        "padded": lambda: _padded(inner, inputs),
    }
    times = _times(calls, repeats)
    start = time.perf_counter()
    search(asked, warm, settings, pair_below=0)
    again = time.perf_counter() - start
    return {
        "precision": warm.network.precision,
        "pairs_per_second": round(len(inputs) / times["road"], 1),
        "mean_tokens": round(float(np.mean([len(one.ids) for one in inputs])), 1),
        "seconds": {what: round(taken, 3) for what, taken in times.items()},
        "ratio": {what: round(times[what] / times["road"], 3) for what in times if what != "road"},
        "again_seconds": round(again, 3),
        "scores": scores,
    }


def _with(warm: CrossEncoder, encoder: CrossEncoder) -> CrossEncoder:
    """An encoder with an empty store around weights that are loaded already."""
    encoder.network.__dict__["model"] = warm.network.model
    return encoder


def _times(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - start)
    return {name: min(seconds) for name, seconds in taken.items()}


def _forward(network: Network, inputs: Sequence[Input]) -> None:
    """The bare model on the batches of the road, by torch's own threads."""
    import torch

    typed = takes_types(network.model)
    with torch.inference_mode():
        lengths = np.array([len(one.ids) for one in inputs], dtype=np.int64)
        for batch in batches_of_one_length(lengths, lambda length: BATCH_TOKENS // length):
            given = {"input_ids": torch.tensor([inputs[row].ids for row in batch])}
            if typed:
                given["token_type_ids"] = torch.tensor([inputs[row].types for row in batch])
            network.model(**given)


def _padded(network: Network, inputs: Sequence[Input]) -> None:
    """The bare model on sorted batches of 32, padded and masked, by torch's own threads."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    ordered = sorted(inputs, key=lambda one: -len(one.ids))
    with torch.inference_mode():
        for start in range(0, len(ordered), PADDED_BATCH):
            batch = ordered[start : start + PADDED_BATCH]
            ids, types = (
                pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
                for rows in ([one.ids for one in batch], [one.types for one in batch])
            )
            network.model(input_ids=ids, token_type_ids=types, attention_mask=(ids != 0).long())


if __name__ == "__main__":
    main()
