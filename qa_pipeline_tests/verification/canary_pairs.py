"""Pairs that passed source verification, each proved by a chunk of its own, for canaries of judges."""

from typing import Any

import polars as pl

from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.verification.judging import ProvedPairRow
from qa_pipeline_tests.curation.rows import chunk, chunks, pair

EN = (
    (
        "How long is the loan period of a book?",
        "The loan period of a book is 28 days if nobody waits for it.",
    ),
    ("Who approves the annual budget?", "The annual budget is approved by the Halden council in March 2019."),
    ("How hot is the water of the boiler?", "The water of the boiler is 80 degrees hot."),
    ("When must filters be replaced?", "Filters must be replaced before each winter, not after it."),
    ("What does the warranty of the pump cover?", "The warranty of the pump covers the motor only."),
    ("Where are complaints of tenants sent?", "Complaints of tenants are sent to the office in Lund."),
    ("What happens to unpaid invoices?", "Unpaid invoices are passed on to a collector after 40 days."),
    ("Which colour do the emergency exits have?", "The emergency exits have a green sign with 2 arrows."),
)
SV = (
    ("Hur lång är lånetiden för en bok?", "Lånetiden för en bok är 28 dagar om ingen väntar på den."),
    ("Vem godkänner budgeten?", "Budgeten godkänns av kommunen i mars 2019."),
    ("Hur varmt är vattnet i pannan?", "Vattnet i pannan är 80 grader varmt."),
    ("När ska filtren bytas?", "Filtren ska bytas före varje vinter, inte efter den."),
)
DE = (
    ("Wie lange dauert die Leihfrist eines Buches?", "Die Leihfrist eines Buches beträgt 28 Tage."),
    ("Wer genehmigt den Haushalt?", "Der Haushalt wird im März 2019 vom Rat genehmigt."),
    ("Wie heiß ist das Wasser des Kessels?", "Das Wasser des Kessels ist 80 Grad heiß."),
    ("Wann müssen die Filter ersetzt werden?", "Die Filter müssen vor jedem Winter ersetzt werden."),
)
TEXTS = {"en": EN, "sv": SV, "de": DE}


def proved(language: str = "en") -> list[ProvedPairRow]:
    """The pairs of a language."""
    made: list[Any] = [
        {
            **pair(f"{language}-{place}", question=question, answer=answer, language=language),
            "expected_verdict": None,
            "evidence_chunk_ids": [f"c-{language}-{place}"],
        }
        for place, (question, answer) in enumerate(TEXTS[language])
    ]
    return made


def passage_chunks(language: str = "en") -> pl.DataFrame:
    """The chunk of each pair, whose text is its answer."""
    made = [
        chunk(f"c-{language}-{place}", answer, title="Rules", document_id=f"d-{place}", language=language)
        for place, (_, answer) in enumerate(TEXTS[language])
    ]
    return chunks(*made)


def passages(language: str = "en") -> dict[str, Passage]:
    """The same chunks as passages."""
    return passages_by_id(passage_chunks(language))
