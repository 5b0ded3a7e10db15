import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.masking import text_mask
from qa_pipeline.records import Block
from qa_pipeline.settings.documents import MaskingSettings
from qa_pipeline_tests.documents.masking.planted import KINDS, Planted, plant

KEY = "a key that is long enough"
MASK = MaskingSettings.model_validate({"action": "mask", "key": KEY})
DROP = MaskingSettings(action="drop")
FLAG = MaskingSettings(action="flag")
TOKEN = re.compile(r"\[[A-Z_]+-[0-9a-f]{8}\]")


def drawn_items(seed: int) -> list[Planted]:
    draw = random.Random(seed)
    return [one for kind in KINDS for one in plant(draw, kind, held_out=bool(seed % 2))]


WORDS = st.sampled_from(
    ["Kunden", "has", "§", "(", ")", "|", "\n", ":", "-", "12", "2010:800", "`", '"', "="]
)
ITEMS = st.integers(0, 40).map(drawn_items).flatmap(st.sampled_from)
TEXTS = st.lists(WORDS | ITEMS.map(lambda item: item.said) | st.text(max_size=12), max_size=12).map(" ".join)
GLUED = st.lists(WORDS | ITEMS.map(lambda item: item.written) | st.text(max_size=4), max_size=8).map("".join)


@given(TEXTS | GLUED)
@pytest.mark.parametrize("settings", [MASK, DROP])
@pytest.mark.parametrize("bare", [False, True])
def test_masking_what_is_masked_changes_nothing(settings, bare, text: str) -> None:  # type: ignore[no-untyped-def]
    mask = text_mask(settings, bare=bare)
    once, _ = mask(text)
    assert mask(once) == (once, {})


@given(TEXTS | GLUED)
def test_every_action_finds_the_same_and_flag_changes_nothing(text: str) -> None:
    counts = [text_mask(settings)(text)[1] for settings in (MASK, DROP, FLAG)]
    assert counts[0] == counts[1] == counts[2]
    assert text_mask(FLAG)(text)[0] == text


@given(
    st.integers(0, 400).map(drawn_items).flatmap(st.sampled_from),
    st.sampled_from(["{}", "Se {} här", "a {}, b {}"]),
)
def test_no_item_is_left_in_any_form(item: Planted, around: str) -> None:
    text = around.replace("{}", item.said)
    for settings in (MASK, DROP):
        masked, counts = text_mask(settings)(text)
        assert not item.stands_in(masked)
        assert sum(counts.values()) >= text.count(item.said)


def test_an_item_has_one_token_wherever_and_however_it_is_written() -> None:
    mask = text_mask(MASK)
    first, _ = mask("Write to anna@example.com.")
    again, _ = mask("| ANNA@example.com | mailto:anna%40example.com |")
    assert len({*TOKEN.findall(first), *TOKEN.findall(again)}) == 1
    assert text_mask(MASK, bare=True)("anna@example.com")[0] == TOKEN.findall(first)[0][1:-1]


def test_the_token_is_the_keyed_hash_of_kind_and_normal_form() -> None:
    import hashlib
    import hmac

    made = hmac.new(KEY.encode(), b"email\0anna@example.com", hashlib.sha256).hexdigest()[:8]
    assert text_mask(MASK)("Anna@Example.com")[0] == f"[EMAIL-{made}]"


def test_what_is_dropped_tells_neither_kind_nor_identity() -> None:
    text, counts = text_mask(DROP)("anna@example.com, 811218-9876 and bo@example.com")
    assert text == "[removed], [removed] and [removed]"
    assert counts == {"email": 2, "personnummer": 1}


def test_blocks_are_masked_before_the_text_is_written_so_offsets_hold() -> None:
    blocks = [
        Block("heading", "Anna, anna@example.com", 1),
        Block("paragraph", "Her number is 811218-\u00ad9876\nor 070-123\u00a045\u00a067."),
        Block("code", "mail = 'anna@example.com'\n    card = '4111 1111 1111 1111'"),
        Block("table_row", "IBAN: DE89 3704 0044 0532 0130 00 | Land: DE"),
    ]
    document = assemble(blocks, text_mask(DROP))
    assert document.text == (
        "# Anna, [removed]\n\nHer number is [removed]\nor [removed].\n\n"
        "```\nmail = '[removed]'\n    card = '[removed]'\n```\n\nIBAN: [removed] | Land: DE"
    )
    assert document.masked == {"email": 2, "personnummer": 1, "phone": 1, "card": 1, "iban": 1}
    section = document.sections[0]
    assert document.text[section["start"] : section["end"]] == document.text
