"""Chunks for tests of generation, and models that answer from what they are shown."""

from collections.abc import Sequence

import polars as pl

from qa_pipeline.generation.questions import Retrieve
from qa_pipeline.llm.base import Request
from qa_pipeline.records import AnswerReply, DraftCitation, DraftQuestion, QuestionsReply, ReplyModel
from qa_pipeline_tests.curation import rows


def chunks(*texts: str, language: str = "en") -> pl.DataFrame:
    """A chunk for each text; a chunk's id is its text, so that equal text is an unchanged chunk."""
    shared = {"title": "Title", "section_path": [], "tokens": 3, "language": language}
    return rows.chunks(
        *(
            rows.chunk(text, text, document_id=f"document of {text}", position=number, **shared)
            for number, text in enumerate(texts)
        )
    )


def ask_about_text(request: Request[ReplyModel]) -> ReplyModel:
    """One question that names the chunk, and an answer that quotes the first passage."""
    first = request.passages[0].text
    if request.role == "questions":
        return QuestionsReply(
            questions=[DraftQuestion(question=f"What is {first}?", question_type="fact_single")]
        )
    return AnswerReply(
        coverage="full",
        answer=f"It is {first}.",
        used_chunks=[1],
        citations=[DraftCitation(passage=1, quote=first)],
    )


def finds(*chunk_ids: str) -> Retrieve:
    """Return a search that finds these chunks for whatever is asked."""
    found = [(chunk_id, 1.0) for chunk_id in chunk_ids]
    return lambda questions, languages: [found for _ in questions]


def retrieve_named(questions: Sequence[str], languages: Sequence[str]) -> list[list[tuple[str, float]]]:
    """Retrieve exactly the chunk that the question names."""
    assert len(questions) == len(languages)
    return [[(question.removeprefix("What is ").removesuffix("?"), 1.0)] for question in questions]
