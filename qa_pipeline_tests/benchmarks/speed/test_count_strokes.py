from qa_pipeline.review.decision_files import REJECTIONS
from qa_pipeline_tests.benchmarks.speed.count_strokes import Decision, completed, csv_strokes, planned

ROW = {"evidence": "1. The valve opens at 3 bar.\n2. It is red."}


def test_a_spreadsheet_completes_a_word_once_it_stands_above_and_no_other_fits() -> None:
    assert completed(["accepted", "accepted", "rejected", "accepted"]) == 8 + 1 + 8 + 1
    assert completed(["wrong_name", "wrong_number", "wrong_name", "wrong_number"]) == 10 + 12 + 8 + 8
    assert completed(["no", "none", "none"]) == 2 + 4 + 3


def test_a_row_of_a_spreadsheet_takes_its_word_and_enter_and_what_lies_to_the_right() -> None:
    def keys(*decisions: Decision) -> int:
        return csv_strokes(decisions, "Ada")["written"]

    accepted, rejected, edited = (
        Decision("accepted"),
        Decision("rejected", 1),
        Decision("edited", answer="New."),
    )
    # one further Down fills the name into each further row
    assert keys(accepted, accepted) - keys(accepted) == len("accepted") + 1 + 1
    assert keys(accepted, edited) - keys(accepted) == len("edited") + 1 + 1 + 1
    reason = len(next(iter(REJECTIONS)))
    assert keys(accepted, rejected) - keys(accepted) == len("rejected") + 1 + 1 + 5 + reason


def test_what_has_no_evidence_is_not_accepted() -> None:
    assert [planned(place, ROW).name for place in range(10)].count("accepted") == 6
    assert planned(6, ROW) == Decision("edited", answer="The valve opens at 3 bar.")
    assert {planned(place, {"evidence": "1. none"}).name for place in range(10)} == {"rejected"}
