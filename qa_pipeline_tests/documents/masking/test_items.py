import pytest

from qa_pipeline.documents.masking.items import luhn, mod_97

# Specimens that issuers and standards publish; nobody's.
RIGHT = [
    (luhn, "8112189876"),
    (luhn, "4111111111111111"),
    (luhn, "378282246310005"),
    (mod_97, "DE89370400440532013000"),
    (mod_97, "GB82WEST12345698765432"),
    (mod_97, "SE4550000000058398257466"),
]


@pytest.mark.parametrize(("check", "number"), RIGHT)
def test_published_specimens_pass_and_no_other_last_digit_does(check, number: str) -> None:  # type: ignore[no-untyped-def]
    assert check(number)
    assert not any(check(number[:-1] + digit) for digit in "0123456789" if digit != number[-1])
