import pytest

from qa_pipeline.documents.masking import find_items, rules_of
from qa_pipeline.settings.documents import MASKED_KINDS

RULES = rules_of(MASKED_KINDS)


def found(text: str) -> list[tuple[str, str]]:
    """Kind and text of each item."""
    return [(item.kind, text[item.start : item.end]) for item in find_items(text, RULES)]


def values(text: str) -> set[str]:
    return {item.value for item in find_items(text, RULES)}


@pytest.mark.parametrize(
    "ways",
    [
        ("811218-9876", "19811218-9876", "8112189876", "８１１２１８-９８７６"),
        ("070-123 45 67", "+46 70 123 45 67", "+46(0)70-1234567", "0046701234567", "tel 070/1234567"),
        ("Anna.Berg@Example.com", "anna.berg@\nexample.com"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000", "DE89-3704-0044-0532-0130-00"),
    ],
)
def test_all_ways_to_write_an_item_have_one_normal_form(ways: tuple[str, ...]) -> None:
    assert len(set.union(*map(values, ways))) == 1
    assert all(map(values, ways))


@pytest.mark.parametrize(
    "text",
    [
        "SFS 2010:800, 12 kap. 3 § och lag (1998:204)",
        "organisationsnummer 556036-0793",
        "version 1.2.3.4, Git 1.8.1.5 Release Notes, numpy==1.26.4.1, Chrome/91.0.4472.124",
        "3.2.1.4 Masking of items\nSection 4.2.1.3, OID 2.5.4.36",
        "127.0.0.1, 0.0.0.0, 255.255.255.0, ::1, 192.0.2.7, 198.51.100.3, 2001:db8::8a2e, 10.0.0.0/8",
        "ISBN 978-3-16-148410-0, ISBN 0-13-110362-8, ISSN 2049-3630",
        "doi:10.1000/0301234567, arXiv:0712.0881, https://orcid.org/0000-0002-1825-0097",
        "2024-01-15 08:30:45, 15.01.2024, 20240115T083045, 1611248400000",
        "x[1000:2000], x[1::2], std::deque<a::b>, 12:30:45",
        "Boston, MA 02110-1301",
        "password: the password of the user; token: str; secret = get_secret(name); api_key=${API_KEY}",
        'password="secret", next_token = self.backend.list_channel_groups, "password": "string?"',
        "ein Umsatz von 86.095.742.719 Euro",
        "240115 0834 kom larmet",
        "loss = x @ layer.weight + y @ z.de_, see the notes @ the end. com is short",
        "postgresql://user:password@host/db, git@github.com:owner/name.git, logo@2x.png, @app.get, x @ y",
    ],
)
def test_what_only_looks_like_an_item_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "kind", "piece"),
    [
        ("see -----BEGIN PRIVATE KEY----- MIIEow", "secret", "-----BEGIN PRIVATE KEY----- MIIEow"),
        ("hf_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f", "secret", "hf_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f"),
        ("GET /?mail=anna%40example.com HTTP/1.1", "email", "anna%40example.com"),
        ("from anna@[10.1.2.3]", "email", "anna@[10.1.2.3]"),
        ("Kund 811218 9876 ringde", "personnummer", "811218 9876"),
        ("4111 1111 1111 1111 202", "card", "4111 1111 1111 1111"),
    ],
)
def test_forms_that_no_generator_draws_are_found_too(text: str, kind: str, piece: str) -> None:
    assert found(text) == [(kind, piece)]


HOSTILE = ["a", "1", "a.", "1 ", "(", ":", "0-1", "070-", "+4670 1 ", "tel 070 1", "eyJ.", "<", "a@"]
HOSTILE += ["-----BEGIN PRIVATE KEY-----", "https://", '"', "DE89 ", "811218-", "8112189876"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    """Each takes about a second at most; a pattern that goes back and forth would take minutes."""
    find_items(piece * (30_000 // len(piece)), RULES)


# Specimens that issuers and standards publish; nobody's.
@pytest.mark.parametrize(
    ("specimen", "kind"),
    [
        ("4111111111111111", "card"),
        ("DE89370400440532013000", "iban"),
        ("811218-9876", "personnummer"),
    ],
)
def test_published_specimens_are_found_and_no_other_check_digit_is(specimen: str, kind: str) -> None:
    assert found(specimen) == [(kind, specimen)]
    others = [specimen[:-1] + digit for digit in "0123456789" if digit != specimen[-1]]
    assert not [other for other in others if (kind, other) in found(other)]
