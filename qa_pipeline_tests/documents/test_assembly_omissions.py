from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.records import LeftOut


def test_pieces_and_characters_that_are_not_blank_are_counted_by_kind() -> None:
    left = Omissions()
    left.add("image", " a \u00a0b\n")
    left.add("comment", "")
    left.count("image", 2, 5)
    left.count("form", 0, 0)
    left.update((LeftOut("comment", 1, 4),))
    assert left.record() == (LeftOut("comment", 2, 4), LeftOut("image", 3, 7))
    assert left.notes() == ()


def test_includes_are_worth_a_note() -> None:
    left = Omissions()
    left.add("include")
    assert left.notes() == ("1 include could not be resolved",)
    left.add("include")
    assert left.notes() == ("2 includes could not be resolved",)


def test_a_comment_that_is_never_closed_is_worth_a_note() -> None:
    left = Omissions()
    left.add("unclosed_comment", "all the rest")
    assert left.notes() == ("a comment is never closed, so what follows its start was left out",)
