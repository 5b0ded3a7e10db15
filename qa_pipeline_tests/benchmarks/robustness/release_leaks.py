"""Leaks between the splits of releases of random corpora, counted without the keys that decide of splits.

    python -m qa_pipeline_tests.benchmarks.robustness.release_leaks [--corpora 100] [--seed 0]

Each corpus has some batches of short handbooks. Planted are documents with a few other words, files that two
batches share, and questions that two unrelated documents answer, asked in another order, number or wording of
function words. After the first release a fifth more documents come, plants among them, and it is released
again. Counted over the rows of both releases: documents, documents that are as similar as the setting says by
their five-word sequences (each compared with each), and planted questions that stand in two splits; rows that
show a passage of another split; and rows of the first release that stand in another split of the second.
"""

import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import polars as pl

from qa_pipeline.defs.running import run_batches
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing.manifest import load_release
from qa_pipeline.publishing.release import Release, publish_release
from qa_pipeline.retrieval.near_duplicates import NEAR_DUPLICATE_SIMILARITY
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.synthetic_corpus import DOING, SYLLABLES
from qa_pipeline_tests.fakes import HashEmbedder

NOUNS = ("valve", "filter", "sensor", "tank", "meter", "pump", "heater", "basin", "drain", "panel")
WORDINGS = (
    "How many bar does the {} take?",
    "The {} takes how many bar?",
    "How many bar do the {}s take?",
    "The {}, how many bar does it take?",
)
LONG_LINE = 40
"""Characters from which a line stands in two documents only where one repeats the other."""
SHORT = {"train": 3.0, "validation": 1.0, "test": 1.0}


def main() -> None:
    """Run, release, count and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpora", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counted: Counter[str] = Counter()
    for number in range(given.corpora):
        with tempfile.TemporaryDirectory() as folder:
            counted.update(measured(Path(folder), random.Random(f"{given.seed} {number}")))
    print_json({"benchmark": "release leaks", "corpora": given.corpora, **counted})


def measured(folder: Path, lots: random.Random) -> dict[str, int]:
    """Counts of one random corpus, in an empty folder."""
    corpus, out = folder / "corpus", folder / "out"
    settings = load_settings(
        corpus=str(corpus),
        out=out,
        judging={"accept_unjudged": True},
        training={"layout": "with_distractors"},
        release={"splits": SHORT},
    )
    plants = _Plants(corpus, lots)
    plants.write(lots.randint(10, 25))
    first = _released(settings)
    plants.write(max(2, plants.documents // 5))
    second = _released(settings)
    columns = ("pair_id", "split", "documents", "question", "messages")
    rows, more = (_rows(one).select(columns) for one in (first, second))
    both = rows.join(more, on="pair_id", suffix="_then")
    limit = NEAR_DUPLICATE_SIMILARITY
    return {
        "rows": rows.height + more.height,
        "rows_lost": rows.height - both.height,
        "moved": both.filter(pl.col("split") != pl.col("split_then")).height,
        "left_out": sum(second.manifest.rows_left_out.values()),
        **plants.planted,
        **_leaks(first, rows, limit),
        **{
            name: count + _leaks(first, rows, limit)[name]
            for name, count in _leaks(second, more, limit).items()
        },
    }


def _released(settings: Settings) -> Release:
    resources = Resources(settings, embedder=HashEmbedder())
    run_batches(resources, sorted(path.name for path in Path(settings.corpus).iterdir()))
    return publish_release(resources)


def _rows(release: Release) -> pl.DataFrame:
    names = release.manifest.splits
    return pl.concat(load_release(release.folder, one).collect() for one in names)


def _leaks(release: Release, rows: pl.DataFrame, limit: float) -> dict[str, int]:
    """Documents, near duplicates and planted questions that stand in two splits."""
    placed: dict[str, set[str]] = defaultdict(set)
    asked: dict[str, set[str]] = defaultdict(set)
    for row in rows.select("split", "documents", "question").iter_rows(named=True):
        for sha256 in row["documents"]:
            placed[sha256].add(row["split"])
        for name in _named(row["question"]):
            asked[name].add(row["split"])
    texts = dict(
        pl.read_parquet(release.folder / "sources.parquet").select("content_sha256", "text").iter_rows()
    )
    sets = {name: _sequences(texts[name]) for name in placed}
    names = sorted(placed)
    apart = sum(
        1
        for place, one in enumerate(names)
        for other in names[place + 1 :]
        if len(placed[one] | placed[other]) > 1
        and len(sets[one] & sets[other]) >= limit * len(sets[one] | sets[other]) > 0
    )
    return {
        "passages_in_two_splits": _passages_apart(rows, placed, texts),
        "documents_in_two_splits": sum(len(splits) > 1 for splits in placed.values()),
        "near_duplicates_in_two_splits": apart,
        "planted_questions_in_two_splits": sum(len(splits) > 1 for splits in asked.values()),
        "planted_questions_released": len(asked),
    }


def _passages_apart(rows: pl.DataFrame, placed: Mapping[str, Set[str]], texts: Mapping[str, str]) -> int:
    """Rows that show a line of a document of another split which none of theirs has."""
    lines = {
        name: {line for line in text.splitlines() if len(line) > LONG_LINE} for name, text in texts.items()
    }
    of_split: dict[str, set[str]] = defaultdict(set)
    for name, splits in placed.items():
        for split in splits:
            of_split[split] |= lines[name]
    apart = 0
    for split, messages in rows.select("split", "messages").iter_rows():
        shown = {line for one in messages for line in one["content"].splitlines()}
        others = set().union(*(held for name, held in of_split.items() if name != split))
        apart += bool(shown & (others - of_split[split]))
    return apart


def _named(question: str) -> Iterator[str]:
    """The thing that a planted question asks about, by its name of four syllables."""
    yield from (word for word in question.split() if word.endswith("ix") and "bar" in question.split())


def _sequences(text: str) -> set[tuple[str, ...]]:
    words = "".join(one if one.isalnum() else " " for one in text.lower()).split()
    return {tuple(words[n : n + 5]) for n in range(len(words) - 4)} if len(words) >= 40 else set()


class _Plants:
    """A corpus that grows, and what was planted in it."""

    def __init__(self, corpus: Path, lots: random.Random) -> None:
        self._corpus, self._lots = corpus, lots
        self._texts: list[str] = []
        self._open: list[tuple[str, int]] = []
        self._batches = lots.randint(2, 4)
        self.planted: Counter[str] = Counter()

    @property
    def documents(self) -> int:
        """How many were written."""
        return len(self._texts)

    def write(self, count: int) -> None:
        """Write as many more documents, in random batches."""
        for _ in range(count):
            lot, facts = self._lots.random(), list[tuple[str, int]]()
            if self._texts and lot < 0.15:
                text = self._altered(self._lots.choice(self._texts))
                self.planted["near_duplicates"] += 1
            elif self._texts and lot < 0.25:
                text = self._lots.choice(self._texts)
                self.planted["shared_documents"] += 1
            else:
                text, facts = self._new()
            self._place(text, facts)

    def _place(self, text: str, facts: list[tuple[str, int]]) -> None:
        folder = self._corpus / f"b{self._lots.randrange(self._batches)}"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"d{len(self._texts):03}.md"
        (folder / name).write_text(text, encoding="utf-8")
        self._texts.append(text)
        with (folder / "pairs.jsonl").open("a", encoding="utf-8") as lines:
            for thing, bar in facts:
                question = self._lots.choice(WORDINGS).format(thing)
                pair = {"question": question, "answer": f"The {thing} takes {bar} bar.", "citations": [name]}
                lines.write(json.dumps(pair) + "\n")

    def _new(self) -> tuple[str, list[tuple[str, int]]]:
        """A document, and the facts that it shares with others."""
        facts = [(f"{self._word(4)}ix {self._lots.choice(NOUNS)}", self._lots.randint(2, 90))]
        if self._open and self._lots.random() < 0.5:
            facts.append(self._lots.choice(self._open))
            self.planted["paraphrased_questions"] += 1
        self._open.append(facts[0])
        parts = [f"# Handbook of the {self._word(3)} plant"]
        for _ in range(self._lots.randint(2, 5)):
            parts += [f"## The {self._word(3)} {self._lots.choice(NOUNS)}", " ".join(self._sentences(5))]
        parts += ["## Pressure", " ".join(f"The {thing} takes {bar} bar." for thing, bar in facts)]
        return "\n\n".join(parts) + "\n", facts

    def _sentences(self, count: int) -> list[str]:
        return [
            f"The {self._word(2)} {self._lots.choice(NOUNS)} {self._lots.choice(DOING)} the {self._word(3)} "
            f"{self._lots.choice(NOUNS)} within {self._lots.randint(2, 900)} minutes."
            for _ in range(count)
        ]

    def _altered(self, text: str) -> str:
        """The text with another number in its first sentence."""
        head, mark, rest = text.partition(" minutes.")
        words = head.split(" ")
        return " ".join([*words[:-1], str(self._lots.randint(1000, 9000))]) + mark + rest

    def _word(self, syllables: int) -> str:
        return "".join(self._lots.choice(SYLLABLES) for _ in range(syllables))


if __name__ == "__main__":
    main()
