"""Duplicates within a batch: precision and recall on planted and labelled pairs, and the time of a batch.

    python -m qa_pipeline_tests.benchmarks.quality.measure_twins [--sentences FILE] [--open]

`twins.tsv` has language, kind, twin or apart, question, other question, answer and other answer in each line,
written before any was tried. All lines of a language are one batch, so that any two rows may be found. Both
questions rest on one quote, but where the kind says that the place or the thing is another.

With --sentences also a file of sentence1, sentence2, score and split (STS-B): at least 4.5 is a twin, at most
3 none. The threshold is the lowest whose precision on the split `train` is at least 0.9, and the figures are
those of the other splits. Last, the seconds of 10,000 questions without their embedding. With --open every
planted line that is not as it should be.
"""

import csv
import time
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binomtest

from qa_pipeline.generation.deduplication import LEAST_SIMILARITY, find_twins
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.models.vector_cache import CachedEmbedder, VectorCache
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline.settings.verification import TWIN_SIMILARITIES
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.curation.rows import pair

LINES = Path(__file__).with_name("twins.tsv")
COLUMNS = ("language", "kind", "label", "question", "other_question", "answer", "other_answer")
ELSEWHERE = ("paraphrase elsewhere", "name", "other thing")
TARGET = 0.9
MANY = 10_000
Twins = Mapping[tuple[str, str], float]


def found_by(twins: pl.DataFrame) -> Twins:
    """Every two pairs that may be twins, with their similarity; 1 within a near group."""
    groups = dict(twins.group_by("near_group").agg(pl.col("pair_id").sort()).iter_rows())
    found = {
        (one, other): 1.0
        for members in groups.values()
        for place, one in enumerate(members)
        for other in members[place + 1 :]
    }
    for group, similar in twins.select("near_group", "similar").iter_rows():
        for edge in similar:
            for one in groups[group]:
                for other in groups[edge["pair_id"]]:
                    found[min(one, other), max(one, other)] = edge["similarity"]
    return found


def share(right: int, of: int) -> dict[str, float | int | None]:
    """A share with its Wilson interval."""
    if not of:
        return {"value": None, "n": 0}
    interval = binomtest(right, of).proportion_ci(method="wilson")
    figures = {"value": right / of, "low": interval.low, "high": interval.high}
    return {**{name: round(float(value), 3) for name, value in figures.items()}, "n": of}


def figures_of(found: Set[tuple[str, str]], twins: Set[tuple[str, str]]) -> dict[str, Any]:
    """Precision and recall of the found pairs."""
    right = len(found & twins)
    return {"precision": share(right, len(found)), "recall": share(right, len(twins))}


def planted(lines: list[dict[str, str]], embedder: CachedEmbedder, threshold: float) -> dict[str, Any]:
    """Figures of one batch of planted pairs, beside those of the plainer ways."""
    rows = []
    for place, line in enumerate(lines):
        for side, prefix in enumerate(("", "other_")):
            chunk = f"c{place}-{side}" if line["kind"] in ELSEWHERE else f"c{place}"
            cited = {"raw": "", "chunk_id": chunk, "quote": line["answer"], "resolution": "chunk"}
            texts = {"question": line[f"{prefix}question"], "answer": line[f"{prefix}answer"]}
            name = f"{place:03}-{side}"
            rows.append(pair(name, language=line["language"], citations=[cited], **texts))
    wanted = {(f"{n:03}-0", f"{n:03}-1"): line for n, line in enumerate(lines)}
    twins = {both for both, line in wanted.items() if line["label"] == "twin"}
    near = found_by(find_twins(PAIRS.frame(rows), embedder))
    found = {both for both, similarity in near.items() if similarity >= threshold}
    by_kind: dict[str, list[int]] = {}
    for both, line in wanted.items():
        counted = by_kind.setdefault(line["kind"], [0, 0])
        counted[0] += both in found
        counted[1] += 1
    return {
        **figures_of(found, twins),
        "found by kind": {kind: f"{hits} of {of}" for kind, (hits, of) in by_kind.items()},
        "cosine alone": figures_of(_by_cosine(rows, embedder, threshold), twins),
        "Jaccard of words, which MinHash estimates, 0.8": figures_of(_by_words(rows, 0.8), twins),
        "wrong": [wanted.get(both, both) for both in sorted(found ^ twins)],
    }


def _by_cosine(
    rows: list[dict[str, Any]], embedder: CachedEmbedder, threshold: float
) -> Set[tuple[str, str]]:
    vectors = embedder.encode([row["question"] for row in rows])
    return _above(vectors @ vectors.T, rows, threshold)


def _by_words(rows: list[dict[str, Any]], threshold: float) -> Set[tuple[str, str]]:
    words = [set(f"{row['question']} {row['answer']}".lower().split()) for row in rows]
    return _above(np.array([[len(a & b) / len(a | b) for b in words] for a in words]), rows, threshold)


def _above(similarities: Any, rows: list[dict[str, Any]], threshold: float) -> Set[tuple[str, str]]:
    places = zip(*np.nonzero(np.triu(similarities, 1) >= threshold), strict=True)
    return {(rows[one]["pair_id"], rows[other]["pair_id"]) for one, other in places}


def labelled(sentences: pl.DataFrame, embedder: CachedEmbedder) -> dict[str, Any]:
    """Fit the threshold on one part of the sentences and measure it on the other."""
    kept = sentences.filter(~pl.col("score").is_between(3, 4.5, closed="none")).with_row_index("line")
    rows = [
        pair(
            f"{row['line']:05}-{side}",
            language=row["language"],
            question=row[f"sentence{side + 1}"],
            answer=f"one two three four {row['line']}",  # the sentences alone shall tell
        )
        for row in kept.iter_rows(named=True)
        for side in (0, 1)
    ]
    near = found_by(find_twins(PAIRS.frame(rows), embedder))
    scored = kept.with_columns(
        pl.Series("found", [near.get((f"{n:05}-0", f"{n:05}-1"), 0.0) for n in kept["line"]]),
        (pl.col("score") >= 4.5).alias("twin"),
    )
    fitting, held = scored.filter(split="train"), scored.filter(pl.col("split") != "train")
    steps = [round(float(step), 2) for step in np.arange(LEAST_SIMILARITY, 1.001, 0.01)]
    good = [step for step in steps if (_at(fitting, step)["precision"]["value"] or 0) >= TARGET]
    shown = sorted({0.8, 0.85, 0.9, 0.95, TWIN_SIMILARITIES[embedder.model], *good[:1]})
    return {
        "fitted": good[0] if good else None,
        "train": {step: _at(fitting, step) for step in good[:1]},
        "held out": {step: _at(held, step) for step in shown},
    }


def _at(scored: pl.DataFrame, threshold: float) -> dict[str, Any]:
    found = set(scored.filter(pl.col("found") >= threshold).select("line", "split").rows())
    return figures_of(found, set(scored.filter("twin").select("line", "split").rows()))


def seconds_of(count: int, embedder: CachedEmbedder) -> dict[str, float]:
    """How long a batch of different, of near-identical and of equal questions takes, once embedded."""
    subjects = ["pump", "valve", "filter", "tank", "sensor", "boiler", "hose", "switch", "meter", "fan"]
    verbs = [
        "cleaned",
        "tested",
        "painted",
        "moved",
        "opened",
        "replaced",
        "drained",
        "oiled",
        "sealed",
        "sold",
    ]
    batches = {
        "different": [
            f"When is the {subjects[n % 10]} {verbs[n // 10 % 10]} in hall {n // 100}?" for n in range(count)
        ],
        "differing in one number": [f"What does the page say about item {n}?" for n in range(count)],
        "equal": ["What is this page about?"] * count,
    }
    taken = {}
    for name, questions in batches.items():
        cited = [{"raw": "", "chunk_id": "c", "quote": "The same on all pages.", "resolution": "chunk"}]
        rows = [
            pair(f"{n:05}", question=question, answer=f"It says that {n} is enough.", citations=cited)
            for n, question in enumerate(questions)
        ]
        frame = PAIRS.frame(rows)
        embedder.encode(sorted(set(questions)))
        started = time.perf_counter()
        find_twins(frame, embedder)
        taken[name] = round(time.perf_counter() - started, 1)
    return taken


def main() -> None:
    """Measure."""
    parser = parser_of(__doc__)
    parser.add_argument("--sentences", type=Path)
    parser.add_argument("--open", action="store_true")
    given = parser.parse_args()
    embedder = CachedEmbedder(load_embedder(EmbeddingSettings()), VectorCache(Path(":memory:")))
    with LINES.open(encoding="utf-8") as file:
        lines = [dict(zip(COLUMNS, row, strict=True)) for row in csv.reader(file, delimiter="\t", quoting=3)]
    for language in dict.fromkeys(line["language"] for line in lines):
        own = [line for line in lines if line["language"] == language]
        figures = planted(own, embedder, TWIN_SIMILARITIES[embedder.model])
        wrong = figures.pop("wrong")
        print_json({language: figures})
        for one in wrong if given.open else ():
            print(one)
    if given.sentences is not None:
        sentences = pl.read_parquet(given.sentences)
        print_json({given.sentences.name: labelled(sentences, embedder)})
    print_json({f"seconds of {MANY} questions": seconds_of(MANY, embedder)})


if __name__ == "__main__":
    main()
