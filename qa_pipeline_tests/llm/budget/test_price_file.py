from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import SettingsError
from qa_pipeline.llm.budget.prices import PriceFile, read_price_file

HEAD = "currency: USD\nproviders:\n  gemini:\n    m:\n"


def read(folder: Path, text: str) -> PriceFile:
    file = folder / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    return read_price_file(file)


def entry(**fields: str) -> str:
    """A file of one model, with some fields changed or, where empty, left out."""
    values = {"input": "1.00", "output": "2.00", "as_of": "2026-11-22"} | fields
    return HEAD + "".join(f"      {name}: {value}\n" for name, value in values.items() if value)


def test_decimals_are_read_as_written(tmp_path: Path) -> None:
    price = read(tmp_path, entry(input="0.10", cached_input="0.000001")).prices["gemini"]["m"]
    assert str(price.terms.rates.input) == "0.10"
    assert price.terms.rates.cached_input == Decimal("0.000001")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("- a\n", "line 1, column 1: expected names"),
        ("currency: USD\n", "providers is missing"),
        ("currency: dollars\nproviders: {}\n", "line 1, column 11: currency: expected three capital letters"),
        ("currency: USD\nproviders: {}\nmore: 1\n", "line 3, column 7: unknown field 'more'"),
        ("currency: USD\nproviders:\n  gemini: 5\n", "line 3, column 11: gemini: expected names"),
        ("currency: USD\nproviders: [\n", "line 3, column 1: .* plain YAML"),
        ("currency: USD\nproviders: {? [a] : b}\n", "line 2, column 15: providers: expected a name"),
        (entry(input="-1"), "line 5, column 14: gemini m.input: expected an amount .* not '-1'"),
        (entry(input=".nan"), "gemini m.input: expected an amount for one million tokens"),
        (entry(input=".inf"), "gemini m.input: expected an amount"),
        (entry(input="1e400"), "gemini m.input: expected an amount"),
        (entry(input="2000000"), "0 to 1,000,000"),
        (entry(input="0.0000001"), "at most 6 decimals"),
        (entry(input="cheap"), "not 'cheap'"),
        (entry(input="'1.00'"), "expected an amount .* not '1.00'"),
        (entry(input="[1]"), "not 'a group'"),
        (entry(input="true"), "not 'true'"),
        (entry(input="!!python/object:os.system {}"), "gemini m.input: expected an amount"),
        (entry(input=""), "gemini m: input is missing"),
        (entry(as_of=""), r"gemini m: as_of is missing \(the day the price was read"),
        (entry(as_of="yesterday"), "gemini m.as_of: expected a day such as 2026-11-22, not 'yesterday'"),
        (entry(cached_input="3"), "gemini m.cached_input: expected no more than input"),
        (entry(inputs="3"), "unknown field 'inputs'; expected input, cached_input"),
        (entry(batch_discount="1.5"), "gemini m.batch_discount: expected a share from 0 to 1"),
        (entry(until="2026-12-31"), "gemini m: until and then go together"),
        (entry(long_context="{input: 1, output: 1}"), "gemini m.long_context: above is missing"),
        (entry(long_context="{above: 0.5, input: 1, output: 1}"), "above: expected a number of tokens"),
        (entry(source="''"), "gemini m.source: expected text"),
        (entry() + "      input: 3\n", "line 8, column 7: gemini m: 'input' stands here twice"),
        (entry() + "    m: {}\n", "line 8, column 5: gemini: 'm' stands here twice"),
        ("a: &a [*a]\n", "unknown field 'a'"),
        ("currency: USD\nproviders: &p\n  x: *p\n", "expected"),
        ("\x00", "not readable YAML"),
    ],
)
def test_a_broken_file_is_refused_with_place_and_expectation(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as refusal:
        read(tmp_path, text)
    assert "prices.yaml" in str(refusal.value)


def test_a_missing_or_enormous_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"llm.budget.prices.*cannot be read: No such file"):
        read_price_file(tmp_path / "none.yaml")
    with pytest.raises(SettingsError, match="larger than"):
        read(tmp_path, "#" * 1_000_001)
    (tmp_path / "latin.yaml").write_bytes(b"currency: \xff")
    with pytest.raises(SettingsError, match="UTF-8"):
        read_price_file(tmp_path / "latin.yaml")


@given(st.text())
def test_any_text_is_either_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any", numbered=True)
    try:
        read(folder, text)
    except SettingsError:
        return
