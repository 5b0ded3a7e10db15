"""The check digits of the numbers that are looked for.

What belongs here: one function a published method, over the digits or characters alone. What does not: how
a number is written in a text (one module a family of kinds).
"""

from collections.abc import Iterable

_LETTERS = {letter: number for number, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ", start=10)}


def luhn(digits: str) -> bool:
    """ISO/IEC 7812-1, annex B: every second digit from the right counts twice."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def mod_97(characters: str) -> bool:
    """ISO 7064 MOD 97-10 as IBANs use it: the first four characters count last, letters as 10 to 35."""
    turned = characters[4:] + characters[:4]
    return int("".join(str(_LETTERS.get(one, one)) for one in turned)) % 97 == 1


def mod_11_10(digits: str) -> bool:
    """ISO 7064 MOD 11,10: the last digit checks all before it."""
    product = 10
    for digit in digits[:-1]:
        sum_of_both = (int(digit) + product) % 10 or 10
        product = sum_of_both * 2 % 11
    return (11 - product) % 10 == int(digits[-1])


def pension_number(characters: str) -> bool:
    """German pension insurance number (VKVV § 4): the letter as two digits, sums of weighted digits."""
    spelt = f"{characters[:8]}{ord(characters[8]) - 64:02d}{characters[9:11]}"
    pairs = zip(spelt, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True)
    weighted = (int(digit) * weight for digit, weight in pairs)
    return sum(value // 10 + value % 10 for value in weighted) % 10 == int(characters[11])


def machine_readable(characters: str, check: str) -> bool:
    """ICAO Doc 9303: weights 7, 3, 1 over the characters of a travel document, letters as 10 to 35."""
    return str(sum(_weighted(characters, (7, 3, 1))) % 10) == check


def _weighted(characters: str, weights: tuple[int, ...]) -> Iterable[int]:
    for place, one in enumerate(characters):
        yield int(_LETTERS.get(one, one if one.isdigit() else 0)) * weights[place % len(weights)]
