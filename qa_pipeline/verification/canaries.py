"""Canaries: rows with a known verdict, which test the verifier and the judge of each batch.

They are never exported as training data. They show that verifier and judge work. They do not estimate the
share of wrong rows in a release.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest

import polars as pl

from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.statistics import wilson_interval
from qa_pipeline.storage.hashes import draw_number, hash_parts
from qa_pipeline.storage.tables import CANARIES, PAIRS
from qa_pipeline.text.doubt import blank_doubts
from qa_pipeline.text.injection import hold_injections, is_injection
from qa_pipeline.text.lexicon.languages import CAPITALS, LEXICONS, lexicon
from qa_pipeline.text.reading import read
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import tokenize
from qa_pipeline.verification.falsehoods import falsehoods
from qa_pipeline.verification.judging import ProvedPairRow

EDITED, VERBATIM = "edited", "verbatim"
OTHER_ANSWER, CUT, GOOD = "other_answer", "cut", "good"
ALONE, JOINED = "alone", "joined"
"""Mechanisms: a sentence by itself, or joined to another of its chunk, which only a model can decide."""
PER_KIND = 40
"""Maximum number of canaries of each kind that the local steps verify."""
MODEL_CHUNKS, WRONG_OF_CHUNK = 4, 3
"""Chunks whose joined sentences a model verifies (a call for each chunk), and false sentences per chunk."""
JUDGED_PAIRS, JUDGED_GOOD = 8, 2
"""Pairs that a judge reads, and the number of good pairs among them, which the batch asks about anyway."""
_MOST_ANSWERED = 1 / 3  # share of a question's content words; another answer with more may be right
_SEED = 0
_FEWEST_ASKED, _FEWEST_KEPT = 2, 2  # minimum content words of a question and tokens of a cut answer
_PROSE = re.compile(
    rf"[{CAPITALS}](?!.*(?:::|\w://|\s[*+-]\s|\.\.|--))[^|{{}}<>\[\]\\=`…$()\"“”„]{{38,298}}\."
)
"""A sentence of 40 to 300 characters, from a capital letter to a full stop, without markup or quotation."""
_LETTERS = 0.85  # smallest share of letters and spaces in prose; formulas and labels have fewer


@dataclass(frozen=True, slots=True)
class Canary:
    """A row with a known verdict.

    `mechanism` is alone, joined or a change, such as "number" or "number, joined". `source` is the original
    sentence or answer. `pair` is the pair that a judge reads.
    """

    kind: str
    mechanism: str
    language: str
    chunk_id: str
    source: str
    claim: str
    question: str | None = None
    pair: ProvedPairRow | None = None

    @property
    def canary_id(self) -> str:
        """Return a hash of the kind, chunk, question and claim."""
        return hash_parts(self.kind, self.chunk_id, self.question or "", self.claim)[:32]

    @property
    def expected(self) -> str:
        """Return the correct verdict, "accepted" or "rejected"."""
        return "accepted" if self.kind in (VERBATIM, GOOD) else "rejected"


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of prose. `order` is a pseudo-random number that depends only on the text."""

    passage: Passage
    text: str
    order: int

    def as_canary(self, kind: str, mechanism: str = ALONE, claim: str = "") -> Canary:
        """Return a canary that states the sentence, or a claim made from it."""
        passage = self.passage
        return Canary(kind, mechanism, passage.language, passage.chunk_id, self.text, claim or self.text)

    def falsified(self) -> Iterator[Canary]:
        """Yield a canary for each way to falsify the sentence."""
        passage = self.passage
        full_text = "\n\n".join((passage.title, *passage.section_path, passage.text))
        for false in falsehoods(self.text, full_text, passage.language):
            yield self.as_canary(EDITED, false.kind, false.text)


def draw_canaries(chunks: pl.DataFrame, per_kind: int = PER_KIND) -> list[Canary]:
    """Draw at most `per_kind` claims of each kind for the local steps, independent of chunk order."""
    sentences = _sentences(chunks)
    edited = chain.from_iterable(sentence.falsified() for sentence in sentences)
    verbatim = [sentence.as_canary(VERBATIM) for sentence in sentences[:per_kind]]
    return [*_first(edited, per_kind), *verbatim]


def _first(canaries: Iterable[Canary | None], most: int) -> list[Canary]:
    """Return the first `most` distinct canaries; None, as from `_in_turn`, is skipped."""
    drawn: dict[str, Canary] = {}
    for canary in canaries:
        if len(drawn) == most:
            break
        if canary is not None:
            drawn.setdefault(canary.canary_id, canary)
    return list(drawn.values())


def draw_for_model(chunks: pl.DataFrame) -> list[Canary]:
    """Draw claims of two joined sentences for a model, from at most `MODEL_CHUNKS` chunks.

    One claim of each chunk is true. The second sentence of its other claims is falsified. The claims of a
    chunk fit into one call.
    """
    by_chunk: dict[str, list[_Sentence]] = defaultdict(list)
    for sentence in _sentences(chunks):
        by_chunk[sentence.passage.chunk_id].append(sentence)
    shuffled = sorted(by_chunk.values(), key=lambda group: draw_number(_SEED, group[0].passage.chunk_id))
    usable = (group for group in shuffled if len(group) > 1 and not hold_injections([group[0].passage]))
    drawn: list[Canary] = []
    for first, *others in islice(usable, MODEL_CHUNKS):
        falsified = chain.from_iterable(other.falsified() for other in others)
        for canary in (others[0].as_canary(VERBATIM), *islice(falsified, WRONG_OF_CHUNK)):
            mechanism = JOINED if canary.mechanism == ALONE else f"{canary.mechanism}, {JOINED}"
            claim = f"{first.text.removesuffix('.')}; {canary.claim}"
            drawn.append(replace(canary, mechanism=mechanism, claim=claim))
    return drawn


def _sentences(chunks: pl.DataFrame) -> list[_Sentence]:
    """Return distinct sentences of prose in pseudo-random order, without doubtful text and injections."""
    by_text: dict[str, _Sentence] = {}
    passages = passages_by_id(chunks)
    columns = ("chunk_id", "doubts", "char_start")
    # only chunks that get questions
    usable = chunks.filter(pl.col("passed_over").is_null(), pl.col("language").is_in(list(LEXICONS)))
    for chunk_id, doubts, chunk_start in usable.sort("document_id", "chunk_id").select(columns).iter_rows():
        passage = passages[chunk_id]
        text = blank_doubts(passage.text, passage.language, doubts, chunk_start)
        for start, end in split_sentences(text, passage.language):
            line = " ".join(text[start:end].split())
            if line not in by_text and _is_prose(line, passage.language) and not is_injection(line):
                by_text[line] = _Sentence(passage, line, draw_number(_SEED, line))
    return sorted(by_text.values(), key=lambda sentence: sentence.order)


def _is_prose(line: str, language: str) -> bool:
    """Return True for a complete sentence of prose that does not open with a pronoun."""
    letters = sum(letter.isalpha() or letter == " " for letter in line)
    if letters < _LETTERS * len(line) or _PROSE.fullmatch(line) is None:
        return False
    return not read(line, language).opens_with(lexicon(language).proof.pronouns)


def canary_pairs(canaries: Sequence[Canary], batch: str) -> pl.DataFrame:
    """Return claims as rows of the pairs table. Each row cites one chunk."""
    same = {
        "batch": batch, "question": "", "question_type": "imported", "origin": "imported", "coverage": "full",
        "status": "drafted", "generator": "canary", "citations": [],
    }  # fmt: skip
    rows = [
        {
            **same,
            "pair_id": canary.canary_id,
            "answer": canary.claim,
            "language": canary.language,
            "passage_ids": [canary.chunk_id],
            "used_chunk_ids": [canary.chunk_id],
        }
        for canary in canaries
    ]
    return PAIRS.frame(rows)


_VERDICTS = {
    "contradicted": "rejected", "unsupported": "rejected", "failed": "failed", "undecided": "undecided",
    "supported": "accepted",
}  # fmt: skip
"""Verdict of a canary by the verdict of its claim, worst first."""
_DRAWN = ("canary_id", "kind", "mechanism", "language", "chunk_id", "question", "source", "claim", "expected")


def verified_rows(
    canaries: Sequence[Canary], batch: str, claims: pl.DataFrame, claim_verdicts: pl.DataFrame
) -> pl.DataFrame:
    """Return canaries with the worst verdict of their claims, "failed" if a canary has no verdict."""
    decided = (  # a row per canary, whose id is the pair_id of its claims
        claim_verdicts.join(claims.select("claim_id", "position"), on="claim_id")
        .sort(pl.col("verdict").cast(pl.Enum(list(_VERDICTS))), "position")  # worst first
        .unique("pair_id", keep="first", maintain_order=True)
        .with_columns(pl.col("verdict").replace_strict(_VERDICTS, return_dtype=pl.String()))
        .select("verdict", "decided_by", "reason", "detail", "thresholds_id", canary_id="pair_id")
    )
    drawn = _rows(canaries, batch, "verifier")
    joined = drawn.join(decided, on="canary_id", how="left", maintain_order="left")
    defaults = {"verdict": "failed", "decided_by": "no_step", "thresholds_id": ""}
    filled = [pl.col(name).fill_null(pl.lit(value)) for name, value in defaults.items()]
    return CANARIES.conform(joined.with_columns(filled))


def judged_rows(canaries: Sequence[Canary], batch: str, decided: pl.DataFrame) -> pl.DataFrame:
    """Return the canaries of a judge. `decided` has their assessments and verdicts, in the same order."""
    detail = pl.coalesce("detail", "correctness_reason")
    columns = decided.select("verdict", "reason", "thresholds_id", decided_by=pl.lit("judge"), detail=detail)
    return CANARIES.conform(pl.concat([_rows(canaries, batch, "judge"), columns], how="horizontal"))


def _rows(canaries: Sequence[Canary], batch: str, asks: str) -> pl.DataFrame:
    """Return a row without verdict for each canary. `asks` is the tested step, "verifier" or "judge"."""
    rows = [[*(getattr(canary, name) for name in _DRAWN), batch, asks] for canary in canaries]
    schema = {name: CANARIES.schema[name] for name in (*_DRAWN, "batch", "asks")}
    return pl.DataFrame(rows, schema, orient="row")


def draw_judge_pairs(
    pairs: Sequence[ProvedPairRow], chunks: pl.DataFrame, most: int = JUDGED_PAIRS
) -> list[Canary]:
    """Draw at most `most` pairs for a judge, a quarter of them good.

    The pairs come from pairs that passed source verification. Wrong pairs have a cut answer, or an unrelated
    sentence of the batch as their answer. The result is deterministic.
    """
    passages, sentences = passages_by_id(chunks), _sentences(chunks)
    judgeable = [pair for pair in pairs if _is_judgeable(pair, passages)]
    shuffled = sorted(judgeable, key=lambda pair: (draw_number(_SEED, pair["pair_id"]), pair["pair_id"]))
    # the first unrelated answer of each pair, then the second of each
    with_other_answer = _in_turn(_other_answers(pair, sentences) for pair in shuffled[:most])
    with_cut_answer = (_judged(CUT, pair, answer) for pair in shuffled if (answer := cut_short(pair)))
    good = (_judged(GOOD, pair, pair["answer"]) for pair in shuffled)
    good_count = most * JUDGED_GOOD // JUDGED_PAIRS
    wrong = _in_turn([with_other_answer, with_cut_answer])
    return [*_first(wrong, most - good_count), *_first(good, good_count)]


def _in_turn(groups: Iterable[Iterable[Canary | None]]) -> Iterator[Canary | None]:
    """Yield the first canary of each group, then the second of each, and None for a group that has ended."""
    return chain.from_iterable(zip_longest(*groups))


def _other_answers(pair: ProvedPairRow, sentences: Iterable[_Sentence]) -> Iterator[Canary]:
    """Yield the pair with sentences of other chunks that share few words with the question."""
    question_stems = read(pair["question"], pair["language"]).stem_set
    if len(question_stems) < _FEWEST_ASKED:
        return
    for sentence in sentences:
        passage = sentence.passage
        shared = question_stems & read(sentence.text, passage.language).stem_set
        is_unrelated = len(shared) <= _MOST_ANSWERED * len(question_stems)
        is_elsewhere = passage.chunk_id not in pair["evidence_chunk_ids"]
        if is_unrelated and is_elsewhere and passage.language == pair["language"]:
            yield _judged(OTHER_ANSWER, pair, sentence.text, [passage.chunk_id])


def _is_judgeable(pair: ProvedPairRow, passages: Mapping[str, Passage]) -> bool:
    """Return True for a complete pair in a supported language; test rows and injections give False."""
    evidence = [passages[chunk_id] for chunk_id in pair["evidence_chunk_ids"] if chunk_id in passages]
    is_complete = pair["coverage"] == "full" and 0 < len(evidence) == len(pair["evidence_chunk_ids"])
    is_test_row = pair["expected_verdict"] is not None
    if is_test_row or not is_complete or pair["language"] not in LEXICONS:
        return False
    return not hold_injections(evidence) and not any(map(is_injection, (pair["question"], pair["answer"])))


def _judged(kind: str, pair: ProvedPairRow, answer: str, answer_ids: Sequence[str] = ()) -> Canary:
    """Return a pair with another answer. The judge also reads the chunks of that answer (`answer_ids`)."""
    chunk_ids = list(dict.fromkeys([*answer_ids, *pair["evidence_chunk_ids"]]))
    canary = Canary(kind, ALONE, pair["language"], chunk_ids[0], pair["answer"], answer, pair["question"])
    judged: ProvedPairRow = {**pair, "answer": answer, "evidence_chunk_ids": chunk_ids}
    return replace(canary, pair={**judged, "pair_id": canary.canary_id})


def cut_short(pair: ProvedPairRow) -> str:
    """Return the words of an answer before the first that its question lacks, or "" if it cannot be cut.

    For "When was X built?" and "X was built in 1990." they are "X was built in".
    """
    question = tokenize(pair["question"], pair["language"])
    # "What …" or "In what …"; a yes-or-no question is left out, as its own words may answer it
    if not {word.folded for word in question[:2]} & lexicon(pair["language"]).question_openers:
        return ""
    asked_stems = {word.stem for word in question}
    answer = tokenize(pair["answer"], pair["language"])
    is_new = [word.negative or (word.content and word.stem not in asked_stems) for word in answer]
    first_new = is_new.index(True) if True in is_new else 0  # if all words are repeated, the result is ""
    return pair["answer"][: answer[first_new - 1].end] if first_new >= _FEWEST_KEPT else ""


def canary_rates(canaries: pl.DataFrame, by: Sequence[str] = ("asks", "expected", "kind")) -> pl.DataFrame:
    """Return the shares of accepted and rejected canaries in each group, without failed canaries.

    Returns:
        the grouping columns, canaries, rejected, accepted, rejected_share with its 95 % Wilson interval
        (rejected_low, rejected_high), and accepted_share likewise.
    """
    verdicts, total = ("rejected", "accepted"), pl.col("canaries")
    counts = {name: (pl.col("verdict") == name).sum().cast(pl.Int64) for name in verdicts}
    replied = canaries.filter(pl.col("verdict") != "failed").group_by(by, maintain_order=True)
    shares: dict[str, pl.Expr] = {}
    for name in verdicts:
        low, high = wilson_interval(pl.col(name), total)
        shares |= {f"{name}_share": pl.col(name) / total, f"{name}_low": low, f"{name}_high": high}
    return replied.agg(canaries=pl.len().cast(pl.Int64), **counts).with_columns(**shares)
