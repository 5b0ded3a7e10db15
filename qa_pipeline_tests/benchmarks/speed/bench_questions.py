"""Seconds that the bookkeeping of many questions takes without a model: plan, rows, answers, second look.

    python -m qa_pipeline_tests.benchmarks.speed.bench_questions [--questions 10000]

A chunk for each question, ten to a section; a scripted model answers at once, and the search finds the chunk.
`again` is the same once more with the tables of the first time.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from qa_pipeline.curation.coverage import count_shortfalls, cover_sections
from qa_pipeline.generation.answer_quality import mark_flawed
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.multihop import link_chunks
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.generation.round_trip import make_round_trips
from qa_pipeline.llm.base import Request
from qa_pipeline.records import AnswerReply, DraftCitation, DraftQuestion, QuestionsReply, ReplyModel
from qa_pipeline.settings.generation import AnswerCheckSettings, GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.tables import VERDICTS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.support.scripted import ScriptedModel


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--questions", type=int, default=10_000)
    count: int = parser.parse_args().questions
    chunks = rows.chunks(*(_chunk(number) for number in range(count)))
    seconds: dict[str, float] = {}
    _timed("links", seconds, lambda: link_chunks(chunks))
    questions = _timed("questions", seconds, lambda: _questions(chunks))
    pairs = _timed("pairs", seconds, lambda: _pairs(questions, chunks))
    _timed("questions again", seconds, lambda: _questions(chunks, questions))
    _timed("pairs again", seconds, lambda: _pairs(questions, chunks, pairs))
    claims = rows.claims(
        *(_claim(*row) for row in pairs.select("pair_id", "used_chunk_ids", "answer").iter_rows())
    )
    verdicts = rows.claim_verdicts(
        *(rows.claim_verdict(pair_id, "supported") for pair_id in pairs["pair_id"])
    )
    decided = pairs.select(
        *(
            pl.lit("accepted").alias(name)
            if name == "verdict"
            else pl.col(name)
            if name in ("pair_id", "batch")
            else pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in VERDICTS.schema.items()
        )
    )
    _timed(
        "round trips",
        seconds,
        lambda: make_round_trips(pairs, claims, verdicts, chunks, accept_grounding=1.0),
    )
    _timed("coverage", seconds, lambda: cover_sections(chunks, questions, pairs, decided))
    _timed("shortfalls", seconds, lambda: count_shortfalls(questions, pairs, decided))
    print_json({"benchmark": "questions", "questions": pairs.height, "seconds": seconds})


def _chunk(number: int) -> dict[str, Any]:
    text = f"Valve number {number} of the plant opens at {number} bar and closes again. " * 4
    chunk_id = hashlib.sha256(text.encode()).hexdigest()[:32]
    return rows.chunk(chunk_id, text, document_id=f"d{number // 100}", section_start=number // 10)


def _claim(pair_id: str, used: Sequence[str], answer: str) -> dict[str, Any]:
    return rows.claim(pair_id, evidence_chunk_id=used[0], evidence_quote=answer)


def _reply(request: Request[Any]) -> ReplyModel:
    text = request.passages[0].text
    if request.role == "questions":
        number = text.split(" ", 3)[2]
        question = DraftQuestion(question=f"When does valve {number} open?", question_type=request.types[0])
        return QuestionsReply(questions=[question])
    quote = text.partition(". ")[0] + "."
    citation = DraftCitation(passage=1, quote=quote)
    return AnswerReply(coverage="full", answer=quote, used_chunks=[1], citations=[citation])


def _questions(chunks: pl.DataFrame, previous: pl.DataFrame | None = None) -> pl.DataFrame:
    numbers = {
        text.split(" ", 3)[2]: chunk_id for chunk_id, text in chunks.select("chunk_id", "text").iter_rows()
    }

    def retrieve(questions: Sequence[str], languages: Sequence[str]) -> list[list[tuple[str, float]]]:
        return [[(numbers[question.split(" ")[3]], 1.0)] for question in questions]

    return write_questions(
        chunks,
        ScriptedModel(_reply),
        retrieve,
        GenerationSettings(),
        LLMSettings(workers=50),
        batch="b",
        topics=[number % 70 for number in range(chunks.height)],
        previous=previous,
    )


def _pairs(
    questions: pl.DataFrame, chunks: pl.DataFrame, previous: pl.DataFrame | None = None
) -> pl.DataFrame:
    model, llm = ScriptedModel(_reply), LLMSettings(workers=50)
    drafted = draft_answers(questions, chunks, model, GenerationSettings(), llm, previous=previous)
    return mark_flawed(drafted, chunks, AnswerCheckSettings())


def _timed(name: str, seconds: dict[str, float], made: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    begun = time.perf_counter()
    frame = made()
    seconds[name] = round(time.perf_counter() - begun, 2)
    return frame


if __name__ == "__main__":
    main()
