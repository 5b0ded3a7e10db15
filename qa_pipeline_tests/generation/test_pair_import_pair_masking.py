import json
from dataclasses import asdict
from typing import Any

import pytest

from qa_pipeline.documents.masking import reference_mask, texts_mask
from qa_pipeline.generation.pair_entries import parse_pairs
from qa_pipeline.generation.pair_import import mask_pairs
from qa_pipeline.settings.documents import MaskingSettings

DROP = MaskingSettings(action="drop")
PAIR = {"question": "Who is it?", "answer": "It is Anna.", "citations": ["[source:a.md]"]}


def masked(name: str = "pairs.jsonl", **fields: Any) -> dict[str, Any]:
    raw = parse_pairs(json.dumps(PAIR | fields).encode(), name)
    return asdict(mask_pairs(raw, texts_mask(DROP), reference_mask(DROP))[0])


def test_question_answer_and_quotes_are_masked() -> None:
    cited = {"document": "a.md", "quote": "Mail anna@x.se, tel. 070-123 45 67."}
    row = masked(question="Is it anna@x.se?", answer="It is anna@x.se.", citations=[cited])
    assert (row["question"], row["answer"]) == ("Is it [removed]?", "It is [removed].")
    assert row["citations"][0]["quote"] == "Mail [removed], tel. [removed]."


def test_references_are_masked_as_paths_in_the_field_and_inside_the_answer() -> None:
    row = masked(answer="See anna@x.se [source:mail/anna@x.se.md#a].", citations=["mail/anna@x.se.md"])
    assert row["answer"] == "See [removed] [source:mail/removed.md#a]."
    assert row["citations"][0] == {
        "raw": "mail/removed.md",
        "reference": "mail/removed.md",
        "quote": None,
        "number": None,
    }


def test_a_citation_that_is_only_a_quote_is_masked_as_the_text_it_is() -> None:
    row = masked(citations=[{"quote": "Write to anna@x.se."}])
    assert row["citations"][0]["raw"] == row["citations"][0]["quote"] == "Write to [removed]."


@pytest.mark.parametrize("line", [b"{", b'["anna@x.se"]', b'{"question": "anna@x.se"}', b'{"answer": 5}'])
def test_a_failed_line_says_nothing_of_what_it_held(line: bytes) -> None:
    (pair,) = mask_pairs(parse_pairs(line, "pairs.jsonl"), texts_mask(DROP), reference_mask(DROP))
    assert pair.reason is not None
    assert "anna" not in str(pair)


def test_ids_and_further_fields_are_masked_and_stay_what_they_were_otherwise() -> None:
    more: dict[str, Any] = {
        "by": "anna@x.se",
        "anna@x.se": 1.50,
        "list": [None, True, 811218_9876, '"ä'],
        "n": 7,
    }
    row = masked(id="anna@x.se", **more)
    assert row["id"] == "[removed]"
    assert json.loads(row["fields"]) | {"list": None} == {
        "by": "[removed]", "[removed]": 1.5, "list": None, "n": 7,
    }  # fmt: skip
    assert json.loads(row["fields"])["list"][:2] == [None, True]
    assert json.loads(row["fields"])["list"][3] == '"ä'
