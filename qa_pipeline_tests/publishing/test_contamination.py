import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.errors import ReleaseError
from qa_pipeline.models.base import Vectors
from qa_pipeline.publishing.contamination import WORDS, evaluation_finder, read_evaluation
from qa_pipeline.publishing.manifest import read_manifest
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.plants import release
from qa_pipeline_tests.publishing.test_release import rows

TEXT = "The safety valve of the northern plant opens at three bar and closes again at two bar"


ASKED = pl.Schema({"question": pl.String(), "answer": pl.String()})
DIRECTIONS = {"boiler": (1.0, 0.0), "kettle": (0.96, 0.28), "pump": (0.0, 1.0)}


def embed(questions: Sequence[str]) -> Vectors:
    """A direction for each thing that is asked about."""
    found = [next((v for word, v in DIRECTIONS.items() if word in one), (0.6, 0.8)) for one in questions]
    return np.array(found, dtype=np.float32).reshape(-1, 2)


def found(
    question: str, answer: str, *evaluation: tuple[str, str | None], similarity: float | None = None
) -> bool:
    own = pl.DataFrame({"pair_id": ["p"], "question": [question], "answer": [answer]})
    asked = pl.DataFrame(list(evaluation), ASKED, orient="row")
    return evaluation_finder(asked, similarity, embed)(own).to_list() == [True]


@pytest.mark.parametrize(
    ("question", "answer", "theirs", "given_away"),
    [
        ("When does it open?", "At nine.", ("when does it open", None), True),
        ("When does it open?", "At nine.", ("When does it close?", "At nine."), False),
        ("What is said?", f"{TEXT}.", ("Why?", f"It says: {TEXT.upper()}!"), True),
        ("What is said?", " ".join(TEXT.split()[: WORDS - 1]), ("Why?", TEXT), False),
        ("What is said?", " ".join(TEXT.split()[:WORDS]), ("Why?", TEXT), True),
        (" ".join(TEXT.split()[:8]), " ".join(TEXT.split()[8:]), ("Why?", TEXT), False),
    ],
    ids=[
        "the question",
        "an answer of two words",
        "in capitals",
        "twelve words",
        "thirteen",
        "over two texts",
    ],
)
def test_a_row_is_given_away_by_its_question_or_by_thirteen_words_in_a_row(
    question: str, answer: str, theirs: tuple[str, str | None], given_away: bool
) -> None:
    assert found(question, answer, theirs) is given_away


def test_nothing_is_given_away_by_nothing() -> None:
    assert not found("When?", TEXT)


def test_a_row_that_asks_the_same_in_other_words_is_given_away_from_the_similarity_on() -> None:
    theirs = ("Who built the kettle?", None)
    assert found("Who made the boiler?", "Somebody.", theirs, similarity=0.95)
    assert not found("Who made the boiler?", "Somebody.", theirs, similarity=0.97)
    assert not found("Who made the pump?", "Somebody.", theirs, similarity=0.95)
    assert not found("Who made the boiler?", "Somebody.", theirs)


def test_no_rows_are_given_away_where_there_are_none() -> None:
    asked = pl.DataFrame([("Who built the kettle?", None)], ASKED, orient="row")
    none = pl.DataFrame(schema={"pair_id": pl.String(), **ASKED})
    assert evaluation_finder(asked, 0.9, embed)(none).to_list() == []


def test_what_an_evaluation_asks_is_left_out_of_the_next_release(
    published: Workspace, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    known = rows(copy / "releases").sort("pair_id").head(3)
    asked = tmp_path / "evaluation.jsonl"
    lines = known.select("question", "answer").iter_rows(named=True)
    asked.write_text("".join(json.dumps(line) + "\n" for line in lines))
    workspace = Workspace(published.corpus, copy)
    ran = release(workspace, "--set", f'release.evaluation=["{asked}"]')
    assert ran.code == OK, ran.stderr
    released = rows(copy / "releases")
    assert released.join(known, on="pair_id", how="semi").is_empty()
    left_out = read_manifest(copy / "releases" / "2").rows_left_out["in_evaluation"]
    assert left_out >= known.height
    assert invoke("verify", copy / "releases").code == OK
    assert not released["in_evaluation"].any()
    flag = ("--set", "release.on_evaluation=flag")
    assert release(workspace, "--set", f'release.evaluation=["{asked}"]', *flag).code == OK
    flagged = rows(copy / "releases").filter("in_evaluation")
    assert flagged.join(known, on="pair_id", how="semi").height == known.height
    assert "in_evaluation" not in read_manifest(copy / "releases" / "3").rows_left_out
    assert invoke("verify", copy / "releases").code == OK


def test_a_row_of_an_evaluation_that_cannot_be_read_is_named(published: Workspace, tmp_path: Path) -> None:
    asked = tmp_path / "evaluation.jsonl"
    asked.write_text('{"question": "When?", "answer": "At nine."}\n{"question": 3}\n')
    with pytest.raises(ReleaseError, match="1 rows have no question that can be read, the first is row 2"):
        read_evaluation([asked], PairsFileSettings())
    ran = release(published, "--set", 'release.evaluation=["no-such.jsonl"]')
    assert (ran.code, "no-such.jsonl cannot be read" in ran.stderr) == (BAD_INPUT, True)
