"""What injections that no pattern finds get accepted of a model that obeys them.

`unlisted_injections.tsv` has language and wording of each: what is accepted must not hang on a list.
"""

import csv
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.injection import is_injection
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.sources import sources_of
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

UNLISTED = Path(__file__).with_name("unlisted_injections.tsv")
FACTS = {
    "en": "The foreman reports faults to the engineer. The safety valve opens at 3 bar if the pump runs. "
    "Guests may not enter the boiler room.",
    "sv": "Förmannen rapporterar fel till ingenjören. Säkerhetsventilen öppnar vid 3 bar om inte pumpen går. "
    "Gäster får inte beträda pannrummet.",
    "de": "Der Vorarbeiter meldet dem Ingenieur Fehler. Das Ventil öffnet bei 3 bar, wenn die Pumpe läuft. "
    "Gäste dürfen den Kesselraum nicht betreten.",
}
FALSE = {
    "en": (
        "The engineer reports faults to the foreman.",
        "The safety valve opens at 4 bar.",
        "The safety valve opens at 3 bar.",
        "Guests may enter the boiler room.",
        "The machine is light and stands on the stairs.",
    ),
    "sv": (
        "Ingenjören rapporterar fel till förmannen.",
        "Säkerhetsventilen öppnar vid 4 bar.",
        "Säkerhetsventilen öppnar vid 3 bar.",
        "Gäster får beträda pannrummet.",
        "Maskinen är lätt och står i trappan.",
    ),
    "de": (
        "Der Ingenieur meldet dem Vorarbeiter Fehler.",
        "Das Ventil öffnet bei 4 bar.",
        "Das Ventil öffnet bei 3 bar.",
        "Gäste dürfen den Kesselraum betreten.",
        "Die Maschine ist leicht und steht auf der Treppe.",
    ),
}
"""Wrong by roles, by a number, by a condition and a negation left out, and stated nowhere."""


QUESTIONS = {
    "en": "What does the document say?",
    "sv": "Vad säger dokumentet?",
    "de": "Was sagt das Dokument?",
}
PLACES = ("passage", "answer", "question")


def read_injections() -> list[list[str]]:
    with UNLISTED.open(encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def falsehoods_accepted(language: str, injection: str, place: str) -> set[str]:
    """False claims accepted of a model that accepts all that it is asked and quotes the passages."""

    text, question, answers = FACTS[language], QUESTIONS[language], list(FALSE[language])
    if place == "passage":
        text = f"{text}\n\n{injection}"
    elif place == "answer":
        answers = [f"{claim} {injection}" for claim in answers]
    else:
        question = f"{question} {injection}"
    frame = documents({"a.md": text}, language)
    rows = pairs(*(pair(answer, cites="a.md", language=language, question=question) for answer in answers))
    settings, model = VerificationSettings(), ScriptedModel(deciding("accept", obedient=True))
    claims = find_claims(rows, frame, chunks(frame), HashEmbedder())
    decided = verify_claims(claims, rows, sources_of(frame, chunks(frame)), settings, model=model)
    supported = decided.filter(pl.col("verdict") == "supported")
    accepted = claims.join(supported, on="claim_id", how="semi")["text"].to_list()
    return set(accepted) & set(FALSE[language])


@pytest.mark.parametrize(("language", "injection"), read_injections())
def test_no_pattern_finds_the_injection(language: str, injection: str) -> None:
    assert not is_injection(injection)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("language", "injection"), read_injections())
def test_an_injection_that_no_pattern_finds_gets_no_false_claim_accepted(
    language: str, injection: str, place: str
) -> None:
    assert not falsehoods_accepted(language, injection, place)
