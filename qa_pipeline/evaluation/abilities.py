"""The four abilities of Chen et al. 2023 (RGB, arXiv:2309.01431) as a suite made from proved pairs.

Each row is a question with the contexts that a model may use. Whether a context holds the proof is looked
up in its words: the proof's quote is in it, or neither the quote nor most of what the claim adds to the
question. All of it is drawn by hashes: the same pairs and seed give the same rows.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from qa_pipeline.evaluation.ability_sources import Proof, Proved, Source, Text
from qa_pipeline.records import HOP_SCOPES
from qa_pipeline.storage.hashes import draw_number, hash_parts
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import content_stems, folded_words, recall
from qa_pipeline.verification.canaries.known import GENERATORS
from qa_pipeline.verification.canaries.material import Sentence, is_prose, words

Row = dict[str, Any]
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
VALUES, OTHERS = ("date", "number", "unit"), ("name", "negation")
"""The kinds of change in a planted statement: a value where one suits, else a name or negation, drawn."""
_MOST_HELD = 0.6
"""Share of what a claim adds to its question that noise may not hold."""
_MOST_ASKED = 0.8
"""Share of a question's words that no sentence of noise has, as that of a sentence that answers it in all
likelihood (`verification.refusals`)."""
_REACH = 12
"""Sentences before and behind a proof to which cuts of its passage reach."""
_LEAST_TOLD = 0.8
"""Share of a denied sentence's words that the answer has, so that the denial concerns it."""


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
    """Return a question of two hops as it is; any other joined with one about another document."""
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
    planted = _planted(source, pair)
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


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _noise(source: Source, pairs: Sequence[Proved], false: str = "") -> list[Text]:
    """Return the nearest passages that answer no question of the pairs and say nothing planted."""
    near = [source.near(f"{pair.question} {pair.answer}", pair.language) for pair in pairs]
    distinct: dict[str, Text] = {}
    for text in chain.from_iterable(zip_longest(*near)):
        if text is not None:
            distinct.setdefault(_plain(text.text), text)
    return [
        text
        for plain, text in distinct.items()
        if not (false and _plain(false) in plain)
        and not any(_may_answer(text, plain, pair) for pair in pairs)
    ]


def _may_answer(text: Text, plain: str, pair: Proved) -> bool:
    """Return whether a passage may answer: it has a proof, says the same, or is under a proof's heading."""
    if any(text.is_under(passage) for passage in pair.passages):
        return True
    question = _stems(pair.question, pair.language)
    sentences = (text.text[start:end] for start, end in split_sentences(text.text, text.language))
    if any(
        (recall(question, _stems(sentence, text.language)) or 0.0) >= _MOST_ASKED for sentence in sentences
    ):
        return True
    return any(_holds(text, plain, proof, question) for proof in pair.proofs)


def _holds(text: Text, plain: str, proof: Proof, question: frozenset[str]) -> bool:
    if _plain(proof.quote) in plain or _plain(proof.claim) in plain:
        return True
    stated = _stems(proof.claim, text.language)
    share = recall(stated - question or stated, _stems(text.text, text.language))
    return share is None or share >= _MOST_HELD


@lru_cache(maxsize=20_000)
def _stems(text: str, language: str) -> frozenset[str]:
    return frozenset(content_stems(text, language))


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


def _planted(source: Source, pair: Proved) -> tuple[Text, Row] | None:
    """Return the passage with one statement of the proof denied, and that statement as it was and is now."""
    passage = pair.passages[0]
    others = sorted(OTHERS, key=lambda kind: draw_number(source.seed, "kind", pair.pair_id, kind))
    for kind in (*VALUES, *others):
        for true, claim in _denials(source, pair, kind):
            match = re.search(r"\s+".join(map(re.escape, true.split())), passage.text)
            if match is None:
                continue
            text = f"{passage.text[: match.start()]}{claim}{passage.text[match.end() :]}"
            removed = Counter(folded_words(true, pair.language)) - Counter(folded_words(claim, pair.language))
            present = set(folded_words(text, pair.language))
            if _plain(true) not in _plain(text) and (kind == "negation" or not present & removed.keys()):
                name = hash_parts(passage.name, claim)[:32]
                document = f"{name[:8]}{Path(passage.document).suffix}"
                planted = replace(passage, name=name, document=document, text=text)
                return planted, {"true": true, "false": claim, "kind": kind, "document": document}
    return None


def _denials(source: Source, pair: Proved, kind: str) -> Iterator[tuple[str, str]]:
    """Yield a sentence of the proof and its denial, which changes the answer and no other question."""
    answer = set(folded_words(pair.answer, pair.language))
    question = set(folded_words(pair.question, pair.language))
    for sentence in _sentences(pair):
        overlap = recall(_stems(sentence.text, pair.language), _stems(pair.answer, pair.language)) or 0.0
        for generator in GENERATORS:
            if generator.kind != kind:
                continue
            for made in generator.make(sentence, source.material):
                first, second = (folded_words(text, pair.language) for text in (sentence.text, made.claim))
                removed = Counter(first) - Counter(second)
                of_answer = bool(removed) and removed.keys() <= answer - question
                is_named = kind != "name" or _are_names(source, sentence, made.claim)
                if overlap >= _LEAST_TOLD if kind == "negation" else of_answer and is_named:
                    yield sentence.text, made.claim


def _are_names(source: Source, sentence: Sentence, claim: str) -> bool:
    """Return whether the words that differ are names wherever they are, and no labels as in Table 1.

    Where all nouns have a capital, only abbreviations are told from them.
    """
    differ = set(words(sentence.text)) ^ set(words(claim))
    numbered = any(re.search(rf"\b{re.escape(word)} \d", sentence.text) for word in differ)
    small = any(word.casefold() in source.small_words for word in differ)
    nouns = lexicon(sentence.language).nouns_capitalised and not all(word.isupper() for word in differ)
    return not (numbered or small or nouns)


def _sentences(pair: Proved) -> Iterator[Sentence]:
    for quote in dict.fromkeys(proof.quote for proof in pair.proofs):
        for start, end in split_sentences(quote, pair.language):
            line = " ".join(quote[start:end].split())
            if is_prose(line):
                where = pair.passages[0]
                yield Sentence(where.name, where.document, pair.language, line, None)
