"""Wrong rows that a careless generator, verifier and judge get accepted, and why the others are not.

    python -m qa_pipeline_tests.benchmarks.quality.measure_careless_model --corpus FOLDER [--rows 300]
        [--seed 0] [--show] [--alone]

Questions are those that the extractive rules ask about the documents. Each is answered three times, always
with the right citation: by its `own` answer, by a random sentence of another section of its `document`, and
by one of `any` other document of its language; the last two are right and answer something else. The verifier
accepts what shares half of its words with a sentence that it reads, and quotes that sentence; it rejects the
rest, and the probe, since nothing is accepted of a model that accepts that one too. The judge gives 1.0 for
all, its canaries among them, so that a row whose claims hold and that is not unfit is accepted where such a
judge is trusted.

Prints one JSON line for each group: rows, how many were verified with the Wilson interval and by which step,
the reasons of the others, and how many were accepted; with --show also the rows verified. That none of these
answers its question by chance is for a person to say. The last lines are what the verifier was asked: claims,
calls and prompt tokens (four characters each; with --alone each pair is asked about by itself), and what the
judge made of its canaries.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from qa_pipeline.curation.gates.canaries import judge_trust
from qa_pipeline.curation.gates.gate import Gate
from qa_pipeline.curation.ledger import decide_judge_canaries
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.generation.answer_quality import mark_flawed
from qa_pipeline.generation.offline.provider import find_candidates
from qa_pipeline.llm.base import Request
from qa_pipeline.pipeline import stages
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import ClaimReply, VerifyReply, passages_by_id
from qa_pipeline.retrieval.shard import embed_chunks
from qa_pipeline.settings.generation import AnswerCheckSettings
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.statistics import wilson_bounds
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import content_stems
from qa_pipeline.verification.canaries.judge_pairs import draw_judge_pairs, judge_canary_frame
from qa_pipeline.verification.judging import judge_rows, with_evidence
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.outcomes import ground_pairs, grounded_pairs
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import claims_in, probe_in, scored_reply
from qa_pipeline_tests.verification.rows import citation, pair, pairs

_SHORTEST, _LONGEST = 40, 400
"""Characters of a sentence that is taken for an answer: not a heading, and not a table run together."""
_SHARED = 0.5
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a chunk."""

    text: str
    chunk_id: str
    document_id: str
    language: str


def find_sentences(chunks: pl.DataFrame) -> list[Sentence]:
    """Return the sentences of chunks that may be an answer."""
    return [
        Sentence(text[start:end], chunk_id, document_id, language)
        for chunk_id, document_id, language, text in chunks.select(
            "chunk_id", "document_id", "language", "text"
        ).iter_rows()
        for start, end in split_sentences(text, language)
        if _SHORTEST <= end - start <= _LONGEST
    ]


def draw_rows(chunks: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """Return pairs of each group; `question_type` tells the group."""
    chance = random.Random(seed)
    passages = list(passages_by_id(chunks).values())
    sentences = find_sentences(chunks)
    sections = {passage.chunk_id: (passage.document_id, passage.section_path) for passage in passages}
    asked = [(passage, candidate) for passage in passages for candidate in find_candidates(passage)[:2]]
    drawn: list[dict[str, Any]] = []
    for passage, candidate in chance.sample(asked, min(rows, len(asked))):
        others = [
            sentence
            for sentence in sentences
            if sentence.language == passage.language
            and sections[sentence.chunk_id] != sections[passage.chunk_id]
            and candidate.answer not in sentence.text
            and sentence.text not in candidate.answer
        ]
        near = [sentence for sentence in others if sentence.document_id == passage.document_id]
        far = [sentence for sentence in others if sentence.document_id != passage.document_id]
        answers = {"own": Sentence(candidate.answer, passage.chunk_id, passage.document_id, passage.language)}
        answers |= {group: chance.choice(of) for group, of in (("document", near), ("any", far)) if of}
        for group, answer in answers.items():
            cited = citation("chunk", document_id=answer.document_id, chunk_id=answer.chunk_id)
            used = list(dict.fromkeys((answer.chunk_id, passage.chunk_id)))
            more: dict[str, Any] = {
                "question_type": group,
                "passage_ids": used,
                "used_chunk_ids": used,
            }
            more |= {"language": passage.language, "question": candidate.question}
            drawn.append(pair(answer.text, cites=[cited], **more))
    return pairs(*drawn)


def accept_by_overlap(request: Request[Any]) -> VerifyReply:
    """Accept every claim that shares half of its words with some sentence of the passages."""
    sentences = [
        passage.text[slice(*span)]
        for passage in request.passages
        for span in split_sentences(passage.text, passage.language)
    ]
    stems = [frozenset(content_stems(sentence, request.language)) for sentence in sentences]

    probe = probe_in(request)

    def reply(number: int, claim: str) -> ClaimReply:
        mine = frozenset(content_stems(claim, request.language))
        shared, place = max(((len(mine & words), -at) for at, words in enumerate(stems)), default=(0, 0))
        accepted = number != probe and bool(mine) and shared >= _SHARED * len(mine)
        return ClaimReply(
            claim=number,
            reasoning="The words agree.",
            quotes=[sentences[-place]] if accepted else [],
            decision="accept" if accepted else "reject",
        )

    return VerifyReply(verdicts=[reply(*claim) for claim in claims_in(request.prompt)])


def trust_in_judge(
    settings: Settings,
    chunks: pl.DataFrame,
    *,
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
) -> Gate:
    """Return what follows from canaries of these pairs to which a judge gives 1.0."""
    verified = grounded_pairs(pairs, claims, claim_verdicts, accept_grounding=1.0)
    passages = passages_by_id(chunks)
    drawn = draw_judge_pairs(
        with_evidence(verified, claims, claim_verdicts), passages, settings.canaries.judged
    )
    judge = ScriptedModel(lambda request: scored_reply(1.0))
    assessed = judge_rows(
        [canary.row for canary in drawn], passages, judge, settings.judging, llm=settings.llm
    )
    decided = decide_judge_canaries(judge_canary_frame(drawn, assessed), settings.judging)
    return judge_trust(decided, settings.judging)


def measure(
    resources: Resources, frames: dict[str, pl.DataFrame], rows: pl.DataFrame, *, alone: bool
) -> tuple[pl.DataFrame, dict[str, int], Gate]:
    """Return the outcome of each row, what the verifier was asked, and whether the judge is trusted."""
    settings = resources.settings.verification
    documents, chunks = frames["documents"], frames["chunks"]
    checked = mark_flawed(rows, chunks, AnswerCheckSettings())
    claims = stages.score_claims(resources, checked, documents, chunks, frames["embeddings"])
    model = ScriptedModel(accept_by_overlap)
    parts = claims.partition_by("pair_id", maintain_order=True) if alone else [claims]
    verdicts = pl.concat(
        verify_claims(part, checked, documents, chunks, settings, model=model) for part in parts
    )
    outcomes = ground_pairs(checked, claims, verdicts, accept_grounding=settings.accept_grounding)
    characters = sum(len(request.prompt) + len(request.system or "") for request in model.asked)
    figures = {
        "claims asked about": verdicts["llm_decision"].count(),
        "calls": len(model.asked),
        "prompt tokens": characters // _CHARACTERS_A_TOKEN,
    }
    named = checked.select("pair_id", "question", "answer", group="question_type")
    steps = (
        verdicts.join(claims.select("claim_id", "pair_id"), on="claim_id")
        .group_by("pair_id")
        .agg(pl.col("decided_by").unique().sort().str.join("+"))
    )
    joined = named.join(outcomes, on="pair_id", maintain_order="left")
    trust = trust_in_judge(resources.settings, chunks, pairs=checked, claims=claims, claim_verdicts=verdicts)
    return joined.join(steps, on="pair_id", how="left", maintain_order="left"), figures, trust


def figures_of(outcomes: pl.DataFrame, *, is_trusted: bool) -> Iterator[dict[str, Any]]:
    """Yield the figures of each group; `is_trusted` says whether the judge's scores count."""
    for (group,), of_group in outcomes.group_by("group", maintain_order=True):
        grounded = of_group.filter(pl.col("outcome") == "grounded")
        verified = grounded.height
        others = of_group.filter(pl.col("outcome") != "grounded")
        reasons = Counter(others.select(pl.coalesce("reason", "outcome")).to_series())
        yield {
            "group": group,
            "rows": of_group.height,
            "verified": verified,
            "interval": [round(bound, 4) for bound in wilson_bounds(verified, of_group.height)],
            "by": dict(Counter(grounded["decided_by"]).most_common()),
            "reasons": dict(reasons.most_common()),
            "accepted": verified if is_trusted else 0,
        }


def read_frames(resources: Resources) -> dict[str, pl.DataFrame]:
    """Return documents, chunks and vectors of all batches of a corpus."""
    found: dict[str, list[pl.DataFrame]] = {"documents": [], "chunks": [], "embeddings": []}
    for batch in open_corpus(resources.settings.corpus).find_batches().names:
        documents = stages.read_batch(resources, batch, None)
        chunks = stages.cut_documents(resources, documents)
        for name, frame in zip(
            found, (documents, chunks, embed_chunks(chunks, resources.embedder)), strict=True
        ):
            found[name].append(frame)
    return {name: pl.concat(frames) for name, frames in found.items()}


def main() -> None:
    """Print the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory() as scratch:
        resources = Resources(load_settings(corpus=str(given.corpus), out=Path(scratch)))
        frames = read_frames(resources)
        rows = draw_rows(frames["chunks"], given.rows, given.seed)
        outcomes, asked, trust = measure(resources, frames, rows, alone=given.alone)
    if given.show:
        accepted = outcomes.filter(pl.col("outcome") == "grounded", pl.col("group") != "own")
        for row in accepted.select("group", "decided_by", "question", "answer").iter_rows(named=True):
            print_json(row)
    for line in figures_of(outcomes, is_trusted=trust.passed):
        print_json(line)
    print_json(asked)
    print_json({"judge trusted": trust.passed, "wrong canaries": trust.detail})


if __name__ == "__main__":
    main()
