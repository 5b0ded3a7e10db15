from qa_pipeline.curation.gates.gate import Gate
from qa_pipeline.curation.ledger import _rules
from qa_pipeline.curation.reasons import REASONS, in_words
from qa_pipeline.settings.verification import JudgingSettings


def test_every_reason_for_which_the_ledger_accepts_no_pair_has_words() -> None:
    distrust = Gate("canaries", passed=False, blocking=False, value=1.0, threshold=0.1, n=6, detail="6 of 6")
    rules = [
        rule
        for rule in _rules(JudgingSettings(memorised="reject"), distrust, distrust)
        if rule.verdict != "accepted"
    ]
    codes = {rule.reason for rule in rules if isinstance(rule.reason, str)}
    plain = {"no_assessment", "no_scores", "injection_in_source"}
    assert len(codes) > 15
    assert codes - plain <= {*REASONS}


def test_a_code_without_words_of_its_own_is_read_by_its_letters_with_its_detail_once() -> None:
    told = in_words("number_mismatch", 'number_mismatch: "3 bar" became "3 kPa"')
    assert told == 'number mismatch: "3 bar" became "3 kPa"'
