"""What the relevance guard stops and lets pass without a model, and how long it takes.

    python -m qa_pipeline_tests.benchmarks.quality.measure_guard --run OUT --bench FOLDER [--questions 300]

OUT is the output folder of a finished run over several batches. Questions of a batch are on topic there;
those of other batches of its language, and those of `FOLDER/qa/*quad*.parquet` in it, are off topic, beside
what the search of the batch finds for them. For the thresholds of the settings, and for one chosen on the
other batches (the highest that refuses at most a tenth of their own questions), the shares are printed with
their Wilson intervals. Then risk and coverage on sets whose unanswerable questions are close to their
passages: of the questions with the highest cosines, the share that has no answer.

    python -m qa_pipeline_tests.benchmarks.quality.measure_guard --suite FILE --suite FILE

Of suites of answered questions with contexts, some of which must be refused (`ground_truth.must_refuse`),
the hallucination rate, unanswerable questions that the guard lets pass, and the false-refusal rate,
answerable ones that it stops: for the thresholds of the settings, for one chosen on the other suites, and,
where the settings name a model that verifies, for the modes that ask it. The choice rule: the highest
threshold that refuses at most a tenth of the answerable questions.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from qa_pipeline.evaluation.datasets.answered_questions import read_rag_rows
from qa_pipeline.generation.guard import context_similarity, guard_questions
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import Passage, Question, passages_by_id
from qa_pipeline.retrieval.search import Retriever
from qa_pipeline.retrieval.shard import build_index, embed_chunks
from qa_pipeline.settings.generation import EmbeddingSettings, GuardSettings, RetrievalSettings
from qa_pipeline.settings.tree import Settings
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
    parser.add_argument("--run", type=Path)
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--suite", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument("--questions", type=int, default=300, help="most questions of a batch or set")
    arguments = parser.parse_args()
    if arguments.suite:
        print_json(
            {"benchmark": "guard of suites", "suites": suite_rates(arguments.suite, Resources(Settings()))}
        )
        return
    if arguments.run is None or arguments.bench is None:
        parser.error("name --run and --bench, or --suite")
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


def suite_rates(files: Sequence[Path], resources: Resources) -> dict[str, Any]:
    """Hallucination and false-refusal rate of each mode of the guard, by suite."""
    suites = {file.stem: read_rag_rows([file]).items.drop_nulls("must_refuse") for file in files}
    decided = {
        name: {mode: _passing(rows, mode, resources) for mode in _modes(resources)}
        for name, rows in suites.items()
    }
    rates: dict[str, Any] = {}
    for name, rows in suites.items():
        rates[name] = {mode: _rates(rows, np.array(passing)) for mode, (_, passing) in decided[name].items()}
        others = [other for other in suites if other != name]
        if others:
            answerable = [
                similarity
                for other in others
                for similarity, must_refuse in zip(
                    decided[other]["embedding"][0], suites[other]["must_refuse"], strict=True
                )
                if not must_refuse
            ]
            threshold = float(np.quantile(answerable, MOST_REFUSED))
            similarities = np.array(decided[name]["embedding"][0])
            chosen = {"threshold": round(threshold, 3), **_rates(rows, similarities >= threshold)}
            rates[name]["chosen on other suites"] = chosen
    return rates


def _modes(resources: Resources) -> list[str]:
    offline = ["prompt", "embedding", "hybrid"]
    asking = ["llm", "embedding_then_llm"]
    return offline if resources.reviewer("verifier") is None else [*offline, *asking]


def _passing(rows: pl.DataFrame, mode: str, resources: Resources) -> tuple[list[float], list[bool]]:
    """Cosine of each question to its contexts, and whether the guard lets it pass."""
    guard = resources.settings.generation.guard.model_copy(update={"mode": mode})
    asked = [
        cast("Question", {"question": query, "language": language, "batch": "suite"})
        for query, language in rows.select("query", "language").iter_rows()
    ]
    texts = rows["contexts"].list.eval(pl.element().struct.field("text")).to_list()
    shown = [
        [Passage(str(place), "", (), text, language) for place, text in enumerate(of_row)]
        for of_row, language in zip(texts, rows["language"], strict=True)
    ]
    model = resources.reviewer("verifier") if guard.asks_a_model else None
    decisions = guard_questions(asked, shown, guard, resources.embedder, model, resources.settings.llm)
    return [one.similarity or 0.0 for one in decisions], [one.passes for one in decisions]


def _rates(rows: pl.DataFrame, passing: npt.NDArray[np.bool_]) -> dict[str, Any]:
    must_refuse = rows["must_refuse"].to_numpy()
    return {"hallucination": _share(passing[must_refuse]), "false_refusal": _share(~passing[~must_refuse])}


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
