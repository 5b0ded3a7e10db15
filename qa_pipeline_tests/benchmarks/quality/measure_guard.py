"""What the relevance guard stops and lets pass without a model, and how long it takes.

    python -m qa_pipeline_tests.benchmarks.quality.measure_guard --run OUT --bench FOLDER [--questions 300]

OUT is the output folder of a finished run over several batches. Questions of a batch are on topic there;
those of other batches of its language, and those of `FOLDER/qa/*quad*.parquet` in it, are off topic, beside
what the search of the batch finds for them. For the thresholds of the settings, and for one chosen on the
other batches (the highest that refuses at most a tenth of their own questions), the shares are printed with
their Wilson intervals. Then risk and coverage on sets whose unanswerable questions are close to their
passages: of the questions with the highest cosines, the share that has no answer.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from qa_pipeline.generation.guard import context_similarity
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.retrieval.search import Retriever
from qa_pipeline.retrieval.shard import build_index, embed_chunks
from qa_pipeline.settings.generation import EmbeddingSettings, GuardSettings, RetrievalSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CHUNKS, QUESTIONS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.fakes import cached

CLOSE = ("squad2_dev_half", "clapnq_dev_shared", "mtrag_un")
COVERAGES = (0.1, 0.2, 0.5, 0.8, 1.0)
MOST_REFUSED = 0.1
Scores = npt.NDArray[np.float64]


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=300, help="most questions of a batch or set")
    arguments = parser.parse_args()
    embedder = cached(load_embedder(EmbeddingSettings()))
    asked = _questions(arguments.run, arguments.bench, arguments.questions)
    scores = _scores(Layout(arguments.run), asked, embedder)
    print_json(
        {
            "benchmark": "guard",
            "off_topic": {batch: _shares(batch, scores, asked) for batch in scores},
            "close": {name: _risks(arguments.bench / "qa" / f"{name}.parquet", embedder) for name in CLOSE},
            "milliseconds_p95": _latency(arguments.bench / "qa" / f"{CLOSE[0]}.parquet"),
        }
    )


def _questions(run: Path, bench: Path, most: int) -> dict[str, pl.DataFrame]:
    """Questions by batch or set: question and language."""
    found = {}
    for path in Layout(run).tables(QUESTIONS.name):
        kept = read_table(path, QUESTIONS).filter(pl.col("status") == "kept")
        found[path.stem] = kept.select("question", "language")
    for path in sorted(bench.glob("qa/*quad*.parquet")):
        found[path.stem] = pl.read_parquet(path).select("question", "language").unique(maintain_order=True)
    return {name: frame.sample(min(most, frame.height), seed=0) for name, frame in found.items()}


def _scores(
    layout: Layout, asked: Mapping[str, pl.DataFrame], embedder: CachedEmbedder
) -> dict[str, dict[str, Scores]]:
    """By batch, the cosine of each question of each source in its language."""
    scores: dict[str, dict[str, Scores]] = {}
    for path in layout.tables(CHUNKS.name):
        chunks = read_table(path, CHUNKS)
        if asked[path.stem].is_empty():
            continue
        language = asked[path.stem]["language"].mode()[0]
        passages = passages_by_id(chunks)
        shard = build_index(embed_chunks(chunks, embedder))
        retriever = Retriever(chunks, shard, embedder, RetrievalSettings())
        scores[path.stem] = {
            source: _of_source(frame["question"].to_list(), language, retriever, passages, embedder)
            for source, frame in asked.items()
            if frame["language"].mode()[0] == language
        }
    return scores


def _of_source(
    questions: Sequence[str],
    language: str,
    retriever: Retriever,
    passages: Mapping[str, Passage],
    embedder: CachedEmbedder,
) -> Scores:
    found = retriever.retrieve(questions, [language] * len(questions))
    shown = [[passages[chunk_id] for chunk_id, _ in ranked] for ranked in found]
    similarities = context_similarity(questions, shown, embedder)
    return np.array([-1.0 if one is None else one for one in similarities])


def _parted(batch: str, scores: Mapping[str, Mapping[str, Scores]]) -> tuple[Scores, Scores]:
    own = scores[batch][batch]
    return own, np.concatenate([values for source, values in scores[batch].items() if source != batch])


def _shares(
    batch: str, scores: Mapping[str, Mapping[str, Scores]], asked: Mapping[str, pl.DataFrame]
) -> dict[str, Any]:
    settings, (own, others) = GuardSettings(), _parted(batch, scores)
    thresholds = {"embedding": settings.similarity, "hybrid": settings.hybrid_similarity}
    thresholds["chosen on other batches"] = _chosen([one for one in scores if one != batch], scores)
    return {
        "language": asked[batch]["language"].mode()[0],
        **{
            name: {
                "threshold": round(float(threshold), 3),
                "off_topic_passed": _share(others >= threshold),
                "on_topic_refused": _share(own < threshold),
            }
            for name, threshold in thresholds.items()
        },
    }


def _chosen(batches: Sequence[str], scores: Mapping[str, Mapping[str, Scores]]) -> float:
    """The highest threshold that refuses at most a tenth of the on-topic questions of these batches."""
    own = np.concatenate([_parted(batch, scores)[0] for batch in batches])
    return float(np.quantile(own, MOST_REFUSED))


def _share(hits: npt.NDArray[np.bool_]) -> dict[str, Any]:
    found = binomtest(int(hits.sum()), len(hits))
    low, high = found.proportion_ci(method="wilson")
    bounds = {"low": round(float(low), 4), "high": round(float(high), 4)}
    return {"share": round(float(hits.mean()), 4), **bounds, "of": len(hits)}


def _risks(path: Path, embedder: CachedEmbedder) -> dict[str, Any]:
    rows = pl.read_parquet(path).filter(pl.col("context").list.len() > 0)
    similarities = context_similarity(rows["question"].to_list(), _shown(rows), embedder)
    scores = np.array(similarities, dtype=np.float64)
    unanswerable = rows["answerable"].to_numpy() != 1
    best_first = unanswerable[np.argsort(-scores, kind="stable")]
    risks = {
        f"risk at {coverage}": round(float(best_first[: max(1, int(coverage * len(scores)))].mean()), 3)
        for coverage in COVERAGES
    }
    auroc = round(float(roc_auc_score(~unanswerable, scores)), 3)
    return {"questions": len(scores), "auroc": auroc, **risks}


def _shown(rows: pl.DataFrame) -> list[list[Passage]]:
    return [[Passage("", "", (), text, "en") for text in texts] for texts in rows["context"].to_list()]


def _latency(path: Path) -> float:
    """Of one question after the other with three passages of its set, nothing computed before."""
    rows = pl.read_parquet(path).sample(200, seed=0)
    texts = rows["context"].list.first().to_list()
    embedder, taken = load_embedder(EmbeddingSettings()), []
    for place, question in enumerate(rows["question"].to_list()):
        three = [Passage("", "", (), texts[(place + n) % len(texts)], "en") for n in range(3)]
        begun = time.perf_counter()
        context_similarity([question], [three], embedder)
        taken.append(time.perf_counter() - begun)
    return round(float(np.quantile(taken, 0.95)) * 1000, 1)


if __name__ == "__main__":
    main()
