"""Made-up personal data that is valid by the rules of its issuers.

The numbers are drawn, so that nobody's is written here.
"""

import random
import string

from phonenumbers import is_valid_number, parse

Draw = random.Random


def digits(draw: Draw, count: int, first: str = string.digits) -> str:
    return draw.choice(first) + "".join(draw.choices(string.digits, k=count - 1))


def luhn_digit(number: str) -> str:
    doubled = [int(one) * (2 - place % 2) for place, one in enumerate(reversed(number))]
    return str(-sum(value // 10 + value % 10 for value in doubled) % 10)


def personnummer(draw: Draw) -> str:
    """Twelve digits; every fourth is a coordination number."""
    year, month, day = draw.randint(1930, 2015), draw.randint(1, 12), draw.randint(1, 28)
    body = f"{year % 100:02d}{month:02d}{day + draw.choice([0, 0, 0, 60]):02d}{draw.randint(0, 999):03d}"
    return f"{year // 100}{body}{luhn_digit(body)}"


def iban(draw: Draw) -> str:
    country, length = draw.choice([("SE", 24), ("DE", 22), ("GB", 22), ("NO", 15), ("FR", 27), ("AT", 20)])
    body = digits(draw, length - 4)
    body = "NWBK" + body[4:] if country == "GB" else body
    spelt = "".join(str(int(one, 36)) for one in f"{body}{country}00")
    return f"{country}{98 - int(spelt) % 97:02d}{body}"


def card(draw: Draw) -> str:
    start, length = draw.choice(
        [("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16)]
    )
    body = start + digits(draw, length - len(start) - 1)
    return body + luhn_digit(body)


def phone(draw: Draw) -> str:
    """An international number, without blanks."""
    while True:
        made = draw.choice(
            [
                f"+467{draw.choice('0236')}{digits(draw, 7)}",
                f"+468{digits(draw, 7, '1456')}",
                f"+4915{draw.choice('127')}{digits(draw, 8)}",
                f"+4930{digits(draw, 8, '2345678')}",
                f"+447{digits(draw, 9, '4578')}",
                f"+1212{digits(draw, 7, '23456789')}",
            ]
        )
        if is_valid_number(parse(made)):
            return made


def email(draw: Draw) -> str:
    name = f"{draw.choice(['anna', 'bo', 'jörg', 'sven-erik', 'maria'])}.{_small(draw, 6)}"
    end = draw.choice(["se", "de", "com", "co.uk", "museum"])
    return f"{name}@{draw.choice(['mail.', ''])}{_small(draw, 7)}.{end}"


def _small(draw: Draw, count: int) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=count))


def secret(draw: Draw) -> str:
    return draw.choice(["ghp_", "glpat-", "AIza", "xoxb-"]) + _random(draw, 35)


def _random(draw: Draw, count: int) -> str:
    return "".join(draw.choices(string.ascii_letters + string.digits, k=count))
