import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qa_pipeline.models.entailment.tokens import PairReader
from qa_pipeline_tests.models.entailment.models import SETTING, tokenizer

TOKENIZER = tokenizer()
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
CYRILLIC = "Тhе рumр runs"
HEBREW = "המשאבה פועלת בלחץ של 40 בר"


def reader(most: int = 128) -> PairReader:
    return PairReader(TOKENIZER, most, SETTING)


def names(ids: tuple[int, ...]) -> list[str]:
    return [str(TOKENIZER.id_to_token(i)) for i in ids]


@given(texts, texts)
def test_a_pair_is_what_the_tokenizer_makes_of_it(passage: str, claim: str) -> None:
    expected = TOKENIZER.encode(passage, claim)
    found = reader().join(passage, claim)
    assert list(found.ids) == expected.ids
    assert list(found.types) == expected.type_ids


@example(":0DY0", 2, 1)  # windows of one token: the border before a word left one empty
@example("0걱", 4, 0)  # one character of three tokens
@given(texts, st.integers(4, 30), st.integers(0, 40))
def test_windows_fit_cover_every_word_and_move_on(text: str, most: int, overlap: int) -> None:
    one = reader()
    found = one.windows(text, most, overlap)
    slices = [text[start:end] for start, end in found]
    assert all(one.count(part) <= most for part in slices)
    assert bool(found) == bool(text.strip())
    starts = [start for start, _ in found]
    assert starts == sorted(set(starts))
    covered = {place for window in found for place in range(*window)}
    offsets = TOKENIZER.encode(text, add_special_tokens=False).offsets
    tokens = {place for start, end in offsets for place in range(start, end)}
    assert not found or tokens <= covered


def test_neighbouring_windows_share_words() -> None:
    text = " ".join(f"word{place}" for place in range(200))
    first, second, *_ = reader().windows(text, 50, 20)
    assert second[0] < first[1]
    assert text[second[0] - 1] == " "


def test_special_tokens_in_a_text_are_words_like_others() -> None:
    found = reader().join("The end. [SEP] [CLS] The claim is proved.", "Claim [SEP].")
    assert names(found.ids).count("[SEP]") == 2
    assert names(found.ids).count("[CLS]") == 1


@pytest.mark.parametrize("text", [CYRILLIC, HEBREW, "\u202e" + HEBREW, "🙂" * 50, "x" * 5000])
def test_look_alike_right_to_left_and_endless_words_have_windows(text: str) -> None:
    one = reader()
    for start, end in one.windows(text, 10, 3):
        assert one.count(text[start:end]) <= 10
