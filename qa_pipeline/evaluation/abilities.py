"""The four abilities of Chen et al. 2023 (RGB, arXiv:2309.01431), from proved pairs.

A row of the suite is a question with the contexts that a model may use; once answered, it is a row of a data
set. Its category is the ability and its difficulty the kind of row, and every report has figures for each.
Noise is filtered word by word, so that it never answers. Rows are drawn by hashes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import chain, islice
from pathlib import Path

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.labelled_files import Row
from qa_pipeline.storage.hashes import draw_number, hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, TRAINING_EXAMPLES
from qa_pipeline.text.reading import read
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import fold, recall

NOISE = "noise_robustness"
REJECTION = "negative_rejection"
INTEGRATION = "information_integration"
COUNTERFACTUAL = "counterfactual_robustness"
CONTEXTS = 5
NOISE_COUNTS = (0, 1, 2, 4)
"""Contexts of noise in addition to the proving passage."""
ENOUGH_WORDS = 0.6
"""Share of the words that a claim adds to its question, from which a text may answer."""
_MOST_ASKED = 0.8
"""Share of the words of a question, from which a sentence may answer."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CHANGEABLE = re.compile(r"(?<![\d.,])\d{1,4}(?!\d|[.,]\d)")
"""A whole number of at most four digits, such as 14 but not 1.5; longer numbers are often codes."""
_SEED = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a document."""

    document: str
    text: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A claim of an answer, the quote that proves it, and the passage of the quote."""

    claim: str
    quote: str
    passage: Passage


@dataclass(frozen=True, slots=True)
class ProvedPair:
    """An accepted pair; an accepted refusal has no proofs."""

    pair_id: str
    question: str
    answer: str
    language: str
    proofs: tuple[Proof, ...]

    @property
    def passages(self) -> list[Passage]:
        """Return the distinct passages of the proofs."""
        return list(dict.fromkeys(proof.passage for proof in self.proofs))

    def may_be_answered_by(self, text: str) -> bool:
        """Return True if a sentence has most of the question, or the text has a proof or most of a claim."""
        question = read(self.question, self.language).stem_set
        for start, end in split_sentences(text, self.language):
            if (recall(question, read(text[start:end], self.language).stem_set) or 0.0) >= _MOST_ASKED:
                return True
        folded, stems = _folded(text), read(text, self.language).stem_set
        for proof in self.proofs:
            claim = read(proof.claim, self.language).stem_set
            # the words that the claim adds to the question, or all its words if it adds none
            added = claim - question or claim
            added_share = recall(added, stems)  # None for a claim without words, which may be in any text
            is_quoted = _folded(proof.quote) in folded or _folded(proof.claim) in folded
            if is_quoted or added_share is None or added_share >= ENOUGH_WORDS:
                return True
        return False


@dataclass(frozen=True)
class Source:
    """Pairs, and passages by language."""

    name: str
    pairs: Sequence[ProvedPair]
    passages: dict[str, list[Passage]]

    def noise(self, pairs: Sequence[ProvedPair], count: int, *, without: str = "") -> list[Passage]:
        """Return the `count` most similar passages that answer no question and lack the text `without`."""
        language = pairs[0].language  # pairs that are joined have one language
        pair_texts = " ".join(f"{pair.question} {pair.answer}" for pair in pairs)
        stems = read(pair_texts, language).stem_set
        nearest_first = sorted(
            self.passages.get(language, ()),
            key=lambda passage: -(recall(stems, read(passage.text, language).stem_set) or 0.0),
        )
        noise: dict[str, Passage] = {}  # by folded text, so that no text repeats
        for passage in nearest_first:
            if len(noise) == count:
                break
            folded = _folded(passage.text)
            if folded in noise or (without and _folded(without) in folded):
                continue
            if not any(pair.may_be_answered_by(passage.text) for pair in pairs):
                noise[folded] = passage
        return list(noise.values())


def _folded(text: str) -> str:
    return fold(text).casefold()


def workspace_source(out: Path) -> Source:
    """Return the training examples of all batches of an output folder, and their chunks.

    Raises `InputError` without training examples, or a `TableError`.
    """
    layout = Layout(out)
    pairs: list[ProvedPair] = []
    passages: dict[str, list[Passage]] = {}  # by language
    for batch in (path.stem for path in layout.tables(TRAINING_EXAMPLES.name)):
        documents, chunks, examples = (
            read_table(layout.table(table.name, batch), table)
            for table in (DOCUMENTS, CHUNKS, TRAINING_EXAMPLES)
        )
        paths = dict(documents.select("document_id", "path").iter_rows())
        passage_by_chunk = {}
        columns = ("chunk_id", "document_id", "language", "text")
        for chunk_id, document_id, language, text in chunks.select(columns).iter_rows():
            passage_by_chunk[chunk_id] = Passage(paths[document_id], text)
            passages.setdefault(language, []).append(passage_by_chunk[chunk_id])
        for row in examples.iter_rows(named=True):
            proofs = [
                Proof(evidence["claim"], evidence["quote"], passage_by_chunk[evidence["chunk_id"]])
                for evidence in row["evidence"]
            ]
            pair = {name: row[name] for name in ("pair_id", "question", "answer", "language")}
            pairs.append(ProvedPair(**pair, proofs=tuple(proofs)))
    if not pairs:
        raise InputError(f"{out} has no training examples; name the output folder of qa-pipeline run")
    return Source(out.resolve().name, pairs, passages)


def build_suite(source: Source, most_pairs: int) -> list[Row]:
    """Return the rows of each ability, from at most `most_pairs` pairs with different questions."""
    builders = {
        NOISE: _noise_rows,
        REJECTION: _rejection_rows,
        INTEGRATION: _integration_rows,
        COUNTERFACTUAL: _counterfactual_rows,
    }
    rows: list[Row] = []
    for ability, build in builders.items():
        drawn = sorted(source.pairs, key=lambda pair: draw_number(_SEED, ability, pair.pair_id))
        one_by_question = {pair.question: pair for pair in drawn}
        built = (build(source, pair) for pair in one_by_question.values())  # [] for an unsuitable pair
        rows += chain.from_iterable(islice(filter(None, built), most_pairs))
    return rows


def suite_as_json_lines(out: Path, most_pairs: int) -> bytes:
    """Return the suite of an output folder as JSON lines; raises `InputError` without rows."""
    rows = build_suite(workspace_source(out), most_pairs)
    if not rows:
        raise InputError(f"the training examples of {out} yield no row of a suite; they need more passages")
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def _noise_rows(source: Source, pair: ProvedPair) -> list[Row]:
    """Return the question with its passage and each number of passages of noise."""
    noise = source.noise([pair], max(NOISE_COUNTS))
    # a difficulty such as noise_2_of_3 needs these numbers of contexts
    if len(pair.passages) != 1 or len(noise) < max(NOISE_COUNTS):
        return []
    return [
        _row(source, NOISE, f"noise_{count}_of_{count + 1}", [pair], [*pair.passages, *noise[:count]])
        for count in NOISE_COUNTS
    ]


def _rejection_rows(source: Source, pair: ProvedPair) -> list[Row]:
    """Return the question with noise alone, so that only a refusal is right."""
    noise = source.noise([pair], CONTEXTS)
    difficulty = "converted" if pair.proofs else "unanswerable"
    return [_row(source, REJECTION, difficulty, [pair], noise)] if len(noise) == CONTEXTS else []


def _integration_rows(source: Source, pair: ProvedPair) -> list[Row]:
    """Return a question about several passages, or two joined questions of two documents, with noise."""
    if not pair.proofs:  # a refusal has no passages
        return []
    pairs, difficulty = [pair], "several_passages"
    if len(pair.passages) == 1:
        document = pair.passages[0].document
        joinable = [
            other
            for other in source.pairs
            if other.language == pair.language
            and len(other.passages) == 1
            and other.passages[0].document != document
        ]
        if not joinable:
            return []
        drawn = min(joinable, key=lambda other: draw_number(_SEED, pair.pair_id, other.pair_id))
        pairs, difficulty = [pair, drawn], "joined"
    passages = [passage for member in pairs for passage in member.passages]
    contexts = [*passages, *source.noise(pairs, max(0, CONTEXTS - len(passages)))]
    return [_row(source, INTEGRATION, difficulty, pairs, contexts)] if len(contexts) >= CONTEXTS else []


def _counterfactual_rows(source: Source, pair: ProvedPair) -> list[Row]:
    """Return rows in which a passage with a false sentence ranks first, with and without the true passage."""
    planted = next(_denials(pair), None)
    if planted is None or len(pair.passages) != 1:
        return []
    (passage,) = pair.passages  # of all proofs, so it contains the true sentence
    noise = source.noise([pair], CONTEXTS - 1, without=planted["false"])  # stated only by the false passage
    if len(noise) < CONTEXTS - 1:
        return []
    # the false passage looks like a passage of another document
    made_up = f"{hash_parts(passage.document, planted['false'])[:8]}{Path(passage.document).suffix}"
    false = Passage(made_up, passage.text.replace(planted["true"], planted["false"]))
    alone = _row(source, COUNTERFACTUAL, "planted_alone", [pair], [false, *noise], keep_order=True)
    with_truth = [false, passage, *noise[:-1]]  # as many contexts as in the other row
    beside = _row(source, COUNTERFACTUAL, "planted_beside_truth", [pair], with_truth, keep_order=True)
    return [{**row, "planted": planted} for row in (alone, beside)]


def _denials(pair: ProvedPair) -> Iterator[Row]:
    """Yield quoted sentences with a false number: {"true": "Wait 14 days.", "false": "Wait 17 days."}."""
    # a number of the question is not asked for
    only_in_answer = {*_NUMBER.findall(pair.answer)} - {*_NUMBER.findall(pair.question)}
    for proof in pair.proofs:
        for start, end in split_sentences(proof.quote, pair.language):
            sentence = proof.quote[start:end]
            for match in _CHANGEABLE.finditer(sentence):
                if match[0] in only_in_answer:
                    changed = str(int(match[0]) + 3)  # any other number is false
                    false = f"{sentence[: match.start()]}{changed}{sentence[match.end() :]}"
                    yield {"true": sentence, "false": false}


def _row(
    source: Source,
    ability: str,
    difficulty: str,
    pairs: Sequence[ProvedPair],
    contexts: Sequence[Passage],
    *,
    keep_order: bool = False,
) -> Row:
    """Return a row as `eval run` reads it; contexts are shuffled, or ranked as given with `keep_order`."""
    pair_id = pairs[0].pair_id
    if not keep_order:
        contexts = sorted(contexts, key=lambda passage: draw_number(_SEED, pair_id, *astuple(passage)))
    query = " ".join(pair.question for pair in pairs)
    documents = list(dict.fromkeys(passage.document for pair in pairs for passage in pair.passages))
    truth: Row = {"must_refuse": ability == REJECTION}
    if ability != REJECTION:
        proofs = [proof for pair in pairs for proof in pair.proofs]
        truth |= {
            "answer": "\n".join(pair.answer for pair in pairs),
            "relevant_documents": documents,
            "claims": [{"claim": proof.claim, "source": proof.passage.document} for proof in proofs],
        }
    return {
        "id": hash_parts(ability, difficulty, query, *(passage.text for passage in contexts))[:32],
        "query": query,
        "contexts": [
            {"text": passage.text, "document": passage.document, "rank": rank}
            for rank, passage in enumerate(contexts, start=1)
        ],
        "ground_truth": truth,
        "category": ability,
        "difficulty": difficulty,
        "language": pairs[0].language,
        "dataset": source.name,
        "group": documents[0] if documents else pair_id,  # a refusal has no documents
    }
