import pytest

from qa_pipeline.documents.masking.items import luhn, machine_readable, mod_11_10, mod_97, pension_number

# Specimens that issuers and standards publish; nobody's.
RIGHT = [
    (luhn, "8112189876"),
    (luhn, "4111111111111111"),
    (luhn, "378282246310005"),
    (mod_97, "DE89370400440532013000"),
    (mod_97, "GB82WEST12345698765432"),
    (mod_97, "SE4550000000058398257466"),
    (mod_11_10, "86095742719"),
    (mod_11_10, "47036892816"),
    (mod_11_10, "65929970489"),
    (pension_number, "15070649C103"),
    (pension_number, "65170839J003"),
]


@pytest.mark.parametrize(("check", "number"), RIGHT)
def test_published_specimens_pass_and_no_other_last_digit_does(check, number: str) -> None:  # type: ignore[no-untyped-def]
    assert check(number)
    assert not any(check(number[:-1] + digit) for digit in "0123456789" if digit != number[-1])


@pytest.mark.parametrize(
    ("number", "check"), [("L898902C3", "6"), ("740812", "2"), ("120415", "9"), ("AB2134<<<", "5")]
)
def test_the_specimens_of_machine_readable_documents_pass(number: str, check: str) -> None:
    assert machine_readable(number, check)
    assert not machine_readable(number, str((int(check) + 1) % 10))
