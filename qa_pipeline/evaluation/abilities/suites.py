"""The four abilities of Chen et al. 2023 (RGB, arXiv:2309.01431) as a suite made from proved pairs.

Each row is a question with the contexts that a model may use. Whether a context holds the proof is looked
up in its words: the proof's quote is in it, or neither the quote nor most of what the claim adds to the
question. All of it is drawn by hashes: the same pairs and seed give the same rows.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

from qa_pipeline.evaluation.abilities.denials import plant_denial
from qa_pipeline.evaluation.abilities.sources import Proof, Proved, Row, Source, Text, fold_text, stems
from qa_pipeline.records import HOP_SCOPES
from qa_pipeline.storage.hashes import draw_number, hash_parts
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import recall

NOISE, REJECTION, INTEGRATION, COUNTERFACTUAL = ABILITIES = (
    "noise_robustness",
    "negative_rejection",
    "information_integration",
    "counterfactual_robustness",
)
RATIOS = (0.0, 0.2, 0.4, 0.6, 0.8)
"""Shares of contexts that are noise."""
CONTEXTS = 5
"""Contexts of a row, of which every ratio is a whole number."""
_MOST_HELD = 0.6
"""Share of what a claim adds to its question that noise may not hold, as `outcomes.ENOUGH_WORDS`: noise from
which a right answer could be drawn is none."""
_MOST_ASKED = 0.8
"""Share of a question's words that no sentence of noise has, as that of a sentence that answers it in all
likelihood (`verification.refusals`)."""
_REACH = 12
"""Sentences before and behind a proof to which cuts of its passage reach: each is a passage to choose from,
and one more to compare."""


@dataclass
class Suite:
    """The rows, and by ability and reason how many pairs gave none."""

    rows: list[Row] = field(default_factory=list)
    missed: Counter[tuple[str, str]] = field(default_factory=Counter)

    def counts(self) -> list[Row]:
        """Return how many rows there are by ability and difficulty, and why pairs gave none."""
        built = Counter((row["category"], row["difficulty"]) for row in self.rows)
        counts = [(*key, rows, 0) for key, rows in sorted(built.items())]
        counts += [(*key, 0, pairs) for key, pairs in sorted(self.missed.items())]
        names = ("ability", "what", "rows", "not_built")
        return [dict(zip(names, count, strict=True)) for count in counts]

    def lines(self) -> bytes:
        """Return the rows as JSON lines."""
        return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in self.rows)


Build = Callable[[Source, Proved], list[Row] | str]
"""The rows of a pair for one ability, or why there are none."""


def build_suite(sources: Iterable[Source], most: int) -> Suite:
    """Return the rows of every ability from at most `most` pairs of each source.

    Documents take turns, and a question is asked once in an ability.
    """
    suite = Suite()
    builders: dict[str, Build] = {
        NOISE: _noise_rows,
        REJECTION: _rejection_rows,
        INTEGRATION: _integration_rows,
        COUNTERFACTUAL: _counterfactual_rows,
    }
    for source in sources:
        for ability, build in builders.items():
            remaining = most
            for pair in _in_turn(source, ability):
                if not remaining:
                    break
                rows = build(source, pair)
                if isinstance(rows, str):
                    suite.missed[ability, rows] += 1
                else:
                    suite.rows += rows
                    remaining -= 1
    return suite


def _in_turn(source: Source, ability: str) -> list[Proved]:
    """Return pairs of different questions in an order that looks random, documents taking turns."""
    drawn = sorted(
        source.pairs,
        key=lambda pair_drawn: (draw_number(source.seed, ability, pair_drawn.pair_id), pair_drawn.pair_id),
    )
    turns: Counter[tuple[str, ...]] = Counter()
    seen: set[str] = set()
    placed = []
    for place, pair in enumerate(drawn):
        if pair.question not in seen:
            seen.add(pair.question)
            placed.append((turns[pair.documents[:1]], place, pair))
            turns[pair.documents[:1]] += 1
    return [pair for *_, pair in sorted(placed, key=lambda entry: entry[:2])]


def _noise_rows(source: Source, pair: Proved) -> list[Row] | str:
    """Return the question at every ratio: the passage of the proof and cuts of it, and noise."""
    if len(pair.passages) != 1:
        return "no_single_passage"
    pieces = _cuts(pair, source.seed)
    if len(pieces) < CONTEXTS:
        return "too_few_relevant_cuts"
    noise = _noise(source, [pair])
    if len(noise) < round(RATIOS[-1] * CONTEXTS):
        return "too_little_noise"
    rows = []
    for ratio in RATIOS:
        noisy = round(ratio * CONTEXTS)
        contexts = [*pieces[: CONTEXTS - noisy], *noise[:noisy]]
        rows.append(_row(source, NOISE, str(ratio), [pair], _shuffled(contexts, source, pair)))
    return rows


def _rejection_rows(source: Source, pair: Proved) -> list[Row] | str:
    """Return rows with noise alone: no question can be answered from it."""
    noise = _noise(source, [pair])
    if len(noise) < CONTEXTS:
        return "too_little_noise"
    difficulty = "converted" if pair.proofs else "unanswerable"
    return [_row(source, REJECTION, difficulty, [pair], noise[:CONTEXTS])]


def _integration_rows(source: Source, pair: Proved) -> list[Row] | str:
    """Return a question of several hops as it is; any other joined with one about another document."""
    if not pair.proofs:
        return "refusal"
    if pair.kind in HOP_SCOPES and len(pair.passages) > 1:
        return _together(source, [pair], pair.kind)
    if len(pair.passages) != 1:
        return "no_single_passage"
    others = [
        candidate for candidate in source.pairs if len(candidate.passages) == 1 and _apart(candidate, pair)
    ]
    if not others:
        return "no_pair_of_another_document"
    by_id = {candidate.pair_id: candidate for candidate in others}
    return _together(source, [pair, by_id[source.material.pick(sorted(by_id), pair.pair_id)]], "joined")


def _apart(first: Proved, second: Proved) -> bool:
    return (
        first.language == second.language
        and first.documents != second.documents
        and first.question != second.question
        and first.kind not in HOP_SCOPES
    )


def _together(source: Source, pairs: Sequence[Proved], difficulty: str) -> list[Row] | str:
    texts_of_pairs = [text for pair in pairs for text in pair.passages]
    noise = _noise(source, pairs)
    if len(texts_of_pairs) + len(noise) < CONTEXTS:
        return "too_little_noise"
    contexts = _shuffled(
        [*texts_of_pairs, *noise[: max(0, CONTEXTS - len(texts_of_pairs))]], source, pairs[0]
    )
    return [_row(source, INTEGRATION, difficulty, pairs, contexts)]


def _counterfactual_rows(source: Source, pair: Proved) -> list[Row] | str:
    """Return rows in which a denial of the proof ranks first, without the true passage and with it."""
    if len(pair.passages) != 1:
        return "no_single_passage"
    planted = plant_denial(source, pair)
    if planted is None:
        return "nothing_to_change"
    false, statements = planted
    noise = _noise(source, [pair], statements["false"])
    if len(noise) < CONTEXTS - 1:
        return "too_little_noise"
    contexts = [false, pair.passages[0], *noise[: CONTEXTS - 2]]
    return [
        _row(source, COUNTERFACTUAL, "alone", [pair], [false, *noise[: CONTEXTS - 1]], statements),
        _row(source, COUNTERFACTUAL, "beside", [pair], contexts, statements),
    ]


def _row(
    source: Source,
    ability: str,
    difficulty: str,
    pairs: Sequence[Proved],
    contexts: Sequence[Text],
    planted: Row | None = None,
) -> Row:
    """Return a row as `eval run` reads it. Its group is the document that the first pair is about."""
    query = " ".join(pair.question for pair in pairs)
    numbered = [
        {"text": context.numbered(rank), "document": context.document, "rank": rank}
        for rank, context in enumerate(contexts, start=1)
    ]
    answerable = ability != REJECTION
    truth = {
        "answer": "\n".join(pair.answer for pair in pairs),
        "relevant_documents": list(dict.fromkeys(name for pair in pairs for name in pair.documents)),
        "claims": [
            {"claim": proof.claim, "source": proof.passage.document}
            for pair in pairs
            for proof in pair.proofs
        ],
    }
    parts = [
        ability,
        difficulty,
        query,
        *(str(context[name]) for context in numbered for name in ("document", "text")),
    ]
    row = {
        "id": hash_parts(*parts)[:32],
        "query": query,
        "contexts": numbered,
        "ground_truth": {**truth, "must_refuse": False} if answerable else {"must_refuse": True},
        "category": ability,
        "difficulty": difficulty,
        "language": pairs[0].language,
        "dataset": source.name,
        "group": f"{source.name}/{(pairs[0].documents or (pairs[0].pair_id,))[0]}",
        "pairs": [pair.pair_id for pair in pairs],
    }
    return row if planted is None else {**row, "planted": planted}


def _shuffled(contexts: Sequence[Text], source: Source, pair: Proved) -> list[Text]:
    return sorted(contexts, key=lambda context: draw_number(source.seed, "order", pair.pair_id, context.name))


def _noise(source: Source, pairs: Sequence[Proved], false: str = "") -> list[Text]:
    """Return the nearest passages that answer no question of the pairs and say nothing planted."""
    near = [source.near(f"{pair.question} {pair.answer}", pair.language) for pair in pairs]
    distinct: dict[str, Text] = {}
    for text in chain.from_iterable(zip_longest(*near)):
        if text is not None:
            distinct.setdefault(fold_text(text.text), text)
    return [
        text
        for plain, text in distinct.items()
        if not (false and fold_text(false) in plain)
        and not any(_may_answer(text, plain, pair) for pair in pairs)
    ]


def _may_answer(text: Text, plain: str, pair: Proved) -> bool:
    """Return whether a passage may answer: it has a proof, says the same, or is under a proof's heading."""
    if any(text.is_under(passage) for passage in pair.passages):
        return True
    question = stems(pair.question, pair.language)
    sentences = (text.text[start:end] for start, end in split_sentences(text.text, text.language))
    if any(
        (recall(question, stems(sentence, text.language)) or 0.0) >= _MOST_ASKED for sentence in sentences
    ):
        return True
    return any(_holds(text, plain, proof, question) for proof in pair.proofs)


def _holds(text: Text, plain: str, proof: Proof, question: frozenset[str]) -> bool:
    if fold_text(proof.quote) in plain or fold_text(proof.claim) in plain:
        return True
    stated = stems(proof.claim, text.language)
    share = recall(stated - question or stated, stems(text.text, text.language))
    return share is None or share >= _MOST_HELD


def _cuts(pair: Proved, seed: int) -> list[Text]:
    """Return the passage of the proof, runs of its sentences with every quote, and it with its neighbours.

    What reaches out of it has no heading but the title: it is of several sections.
    """
    passage = pair.passages[0]
    text = passage.text
    first = min(text.find(proof.quote) for proof in pair.proofs)
    last = max(
        text.rfind(proof.quote) + len(proof.quote) for proof in pair.proofs
    )  # whichever of them is meant
    spans = split_sentences(text, passage.language)
    starts = [start for start, _ in spans if start <= first][-_REACH:]
    ends = [end for _, end in spans if end >= last][:_REACH]
    runs = {text[start:end] for start in starts for end in ends} - {text.strip()}
    drawn = sorted(runs, key=lambda run: draw_number(seed, "cut", pair.pair_id, run))
    before, behind = passage.before.strip(), passage.behind.strip()
    wide = {
        "\n\n".join(part for part in parts if part): None
        for parts in ((before, text), (text, behind), (before, text, behind))
    }
    cuts = [replace(passage, name=f"{passage.name}-{place}", text=run) for place, run in enumerate(drawn)]
    cuts += [
        replace(passage, name=f"{passage.name}-wide{place}", text=run, headings=())
        for place, run in enumerate(wide)
        if run != text
    ]
    return [passage, *cuts] if first >= 0 else []
