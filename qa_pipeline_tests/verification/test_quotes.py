"""What a model that accepts everything gets accepted, quoting what is nearest.

`quotes_of_a_careless_model.tsv` has language, "lie" or "true", document (\\n ends a line), question,
answer and the quote given for it in each line."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.llm.base import Request
from qa_pipeline.records import ClaimReply, VerifyReply
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import DOCUMENTS
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import claims_in, probe_in
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

LINES = Path(__file__).with_name("quotes_of_a_careless_model.tsv")


def read_lines(expected: str) -> list[list[str]]:
    with LINES.open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [[row[0], row[2].replace("\\n", "\n"), *row[3:]] for row in rows if row[1] == expected]


def verdicts(
    language: str, text: str, question: str, answer: str, quote: str, *, status: str | None = None
) -> pl.DataFrame:
    """Verdicts by a model that accepts every claim but the probe, always with this quote."""

    def play(request: Request[Any]) -> VerifyReply:
        probe = probe_in(request)
        return VerifyReply(
            verdicts=[
                ClaimReply(
                    claim=number,
                    reasoning="Because.",
                    quotes=[quote],
                    decision="reject" if number == probe else "accept",
                )
                for number, _ in claims_in(request.prompt)
            ]
        )

    frame = documents({"a.md": text}, language)
    if status is not None:
        frame = DOCUMENTS.frame([{**row, "declared": {"status": status}} for row in frame.to_dicts()])
    rows = pairs(pair(answer, cites="a.md", language=language, question=question))
    settings = VerificationSettings()
    claims = find_claims(rows, frame, chunks(frame), HashEmbedder())
    return verify_claims(claims, rows, frame, chunks(frame), settings, model=ScriptedModel(play))


@pytest.mark.parametrize(("language", "text", "question", "answer", "quote"), read_lines("lie"))
def test_no_accept_is_taken_whose_quote_does_not_prove_the_claim(
    language: str, text: str, question: str, answer: str, quote: str
) -> None:
    decided = verdicts(language, text, question, answer, quote)
    assert set(decided["verdict"]) != {"supported"}


@pytest.mark.parametrize(("language", "text", "question", "answer", "quote"), read_lines("true"))
def test_an_accept_of_a_true_paraphrase_is_taken(
    language: str, text: str, question: str, answer: str, quote: str
) -> None:
    decided = verdicts(language, text, question, answer, quote)
    assert set(decided["verdict"]) == {"supported"}, decided["detail"].to_list()


TRUE = read_lines("true")[0]


@pytest.mark.parametrize("status", ["Draft", "repealed", "Upphävd", "Entwurf"])
def test_no_accept_is_taken_whose_document_says_of_itself_that_nothing_in_it_holds(status: str) -> None:
    decided = verdicts(*TRUE, status=status)
    (detail,) = decided["detail"]
    assert decided.select("verdict", "reason").row(0) == ("undecided", "quote_restricted")
    assert detail == f'its document says of itself: "{status}"'


@pytest.mark.parametrize("status", ["Final", "published", "approved"])
def test_an_accept_is_taken_whose_document_says_of_itself_that_it_holds(status: str) -> None:
    assert verdicts(*TRUE, status=status)["verdict"].to_list() == ["supported"]
