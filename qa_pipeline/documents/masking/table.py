"""The kinds of personal data that are looked for: pattern, check and normal form of each.

A telephone number in national form is tried with the plans of `documents.masking.phone_regions`.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from phonenumbers import (
    SUPPORTED_REGIONS,
    Leniency,
    PhoneNumberMatcher,
    national_significant_number,
)

from qa_pipeline.errors import SettingsError
from qa_pipeline.text.lexicon.languages import any_of, any_of_all, of_all


@dataclass(frozen=True, slots=True)
class Item:
    """An item of personal data; `value` is its normal form, equal for every way to write it."""

    kind: str
    start: int
    end: int
    value: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to find items in a folded text; `digits` and `hints` skip texts without any."""

    kind: str
    find: Callable[[str], Iterable[Item]]
    digits: int = 0
    hints: tuple[str, ...] = ()


def _rule(
    kind: str,
    pattern: re.Pattern[str],
    value: Callable[[str], str],
    check: Callable[[re.Match[str]], bool] = bool,
    digits: int = 0,
    hints: Iterable[str] = (),
) -> Rule:
    """Return a rule by pattern; where the check fails, the search goes on inside the match."""

    def find(text: str) -> Iterator[Item]:
        match = pattern.search(text)
        while match:
            is_item = check(match)
            if is_item:
                yield Item(kind, *match.span(), value(match[0]))
            match = pattern.search(text, match.end() if is_item else match.start() + 1)

    return Rule(kind, find, digits, tuple(hints))


def digits_of(text: str) -> str:
    """Return the digits of a folded text."""
    return "".join(character for character in text if character.isdigit())


def characters_of(text: str) -> str:
    """Return the letters, in upper case, and digits of a folded text."""
    return "".join(character for character in text.upper() if character.isalnum())


# Tokens in the forms that their issuers document, JSON web tokens (RFC 7519) and private keys.
_ISSUED = (
    r"A(?:KI|SI|RO|ID)A[A-Z0-9]{16,17}", r"gh[pousr]_\w{30,255}", r"github_pat_\w{40,255}",
    r"glpat-[\w-]{20,64}", r"xox[abeprs]-[\w-]{10,255}", r"xapp-[\w-]{20,255}",
    r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,64}", r"AIza[\w-]{35}", r"ya29\.[\w-]{20,512}",
    r"GOCSPX-[\w-]{20,64}", r"[sr]k_(?:live|test)_\w{16,255}", r"whsec_[\w+/=]{16,255}",
    r"sk-(?=[\w-]{0,255}\d)(?:[a-z]{2,12}-){0,3}\w[\w-]{30,255}", r"hf_[A-Za-z0-9]{30,64}",
    r"npm_[A-Za-z0-9]{36}", r"pypi-AgE[\w-]{50,512}", r"SG\.[\w-]{16,32}\.[\w-]{16,64}",
    r"dop_v1_[0-9a-f]{64}", r"shpat_[0-9a-fA-F]{32}", r"dckr_pat_[\w-]{20,64}",
    r"AccountKey=[A-Za-z0-9+/]{16,100}={0,2}", r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    r"eyJ[\w-]{8,2048}\.eyJ[\w-]{2,8192}\.[\w-]{0,2048}",
)  # fmt: skip
_ISSUED_HINTS = (
    "akia", "asia", "aroa", "aida", "_", "glpat-", "xox", "xapp-", "hooks.slack", "aiza", "ya29.", "gocspx-",
    "sk-", "pypi-", "sg.", "accountkey=", "age-secret", "eyj",
)  # fmt: skip
_KEY = r"(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = re.compile(rf"-----BEGIN {_KEY}(?:.*?-----END {_KEY}|.*)", re.DOTALL)

_LOGIN = re.compile(r"(?<=://)[^\s/?#@\"'<>\[\]|`\\]{1,256}(?:@[^\s/?#@\"'<>\[\]|`\\:]{1,64})?(?=@[\w\[])")
_STANDS_FOR = re.compile(r"[$%]?[{(][^{}()]{1,40}[)}]|\$\w+|\*+|\.\.\.|x{3,}", re.IGNORECASE)
_ANYBODY = {
    "", "user", "username", "usr", "name", "login", "me", "you", "anonymous", "ftp", "git", "hg", "svn",
    "root", "admin", "postgres", "mysql", "foo", "bar", "password", "passwd", "pass", "pwd", "pw", "secret",
    "token", "key", "apikey", *of_all("labels.users"), *of_all("labels.passwords"),
}  # fmt: skip


def _is_personal(match: re.Match[str]) -> bool:
    """Return True unless name and password stand for any."""
    parts = match[0].split(":", 1)
    return any(part.casefold() not in _ANYBODY and not _STANDS_FOR.fullmatch(part) for part in parts)


_LETTER = r"[^\W_]"
# in a URL it may begin after an encoded character
_LOCAL = r"(?:(?<=%[0-9a-f]{2})|(?<!\w)(?!(?<=%)[0-9a-f]{2}))(?:\w[\w.%+~-]{0,63}|\"[^\"\n@]{1,64}\")"
_LABEL = rf"{_LETTER}(?:[\w-]{{0,61}}{_LETTER})?"
_TOP = r"(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![^\W_])"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL}){{0,8}}\.{_TOP}"
# white space may have come in after the sign
_EMAIL = re.compile(rf"{_LOCAL}(?:@|%40)[ \n]?(?:{_DOMAIN}|\[[0-9a-f.:]{{7,45}}\])", re.IGNORECASE)
_ATS = of_all("labels.at")
_AT_SIGN = rf"\s{{0,2}}[(\[{{<]{any_of(_ATS)}[)\]}}>]\s{{0,2}}"
_DOT_WORD = any_of_all("labels.dot")
_DOT = rf"(?:\s{{0,2}}[(\[{{<](?:{_DOT_WORD}|\.)[)\]}}>]\s{{0,2}}|\.|\s{_DOT_WORD}\s)"
_HIDDEN = re.compile(rf"{_LOCAL}{_AT_SIGN}{_LABEL}(?:{_DOT}{_LABEL}){{0,5}}{_DOT}{_TOP}", re.IGNORECASE)
_SIGN, _DOTS = re.compile(rf"{_AT_SIGN}|%40", re.IGNORECASE), re.compile(_DOT, re.IGNORECASE)
_FILES = {
    "css", "gif", "html", "jpeg", "jpg", "js", "json", "map", "min", "png", "service", "socket", "svg",
    "target", "tgz", "timer", "webp", "whl",
}  # fmt: skip


def _address_of(text: str) -> str:
    return "".join(_SIGN.sub("@", _DOTS.sub(".", text)).split()).casefold()


def _is_mail_address(match: re.Match[str]) -> bool:
    """Return True unless it is a user of version control, a file such as `logo@2x.png` or a decorator."""
    address, text = _address_of(match[0]), match.string
    is_server = address.startswith(("git@", "hg@", "svn@")) and text[match.end() : match.end() + 1] in (
        ":",
        "/",
    )
    is_escape = address[1:2] == "@" and text[match.start() - 1 : match.start()] == "\\"
    return not (is_server or is_escape or address.rpartition(".")[2] in _FILES)


# Characters of an account number by country, from the IBAN registry (ISO 13616).
_ACCOUNTS = {
    15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HN HU LB NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC",
    32: "LC", 33: "RU",
}  # fmt: skip
_FORMS = "|".join(
    rf"(?:{'|'.join(countries.split())})(?:[ \n-]?\d){{2}}(?:[ \n-]?[A-Z0-9]){{{length - 4}}}"
    for length, countries in _ACCOUNTS.items()
)
_IBAN = re.compile(rf"(?<![^\W_])(?:{_FORMS})(?![^\W_])", re.IGNORECASE)


def _is_iban(match: re.Match[str]) -> bool:
    """Check ISO 7064 MOD 97-10."""
    characters = characters_of(match[0])
    return int("".join(str(int(one, 36)) for one in characters[4:] + characters[:4])) % 97 == 1


_CARD = re.compile(
    r"(?<![^\W_])(?<!\d\.)(?:\d{13,16}|\d{4}(?:[ \n.-]\d{4}){3}"
    r"|\d{4}[ \n.-]\d{6}[ \n.-]\d{4,5})(?![^\W_])(?!\.\d|[ ]?\*)"
)
# First digits and lengths of the issuers (ISO/IEC 7812): Visa, Mastercard, American Express, Diners Club,
# Discover, JCB, UnionPay, and Maestro as far as it differs from other numbers.
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|"
    r"3[47]\d{13}|3(?:0[0-59]|[689]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|"
    r"62\d{14,17}|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{12}"
)


def _is_card(match: re.Match[str]) -> bool:
    digits = digits_of(match[0])
    return bool(_ISSUERS.fullmatch(digits)) and luhn(digits) and len(set(digits)) > 1


def luhn(digits: str) -> bool:
    """Return True if the check digit fits (ISO/IEC 7812-1, annex B): every second digit counts twice."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


_MONTH, _DAY = r"(0[1-9]|1[0-2])", r"(0[1-9]|[1-8]\d|9[01])"
_PERSONNUMMER = re.compile(
    rf"(?:(?<![^\W_])|(?<=nr))(?<!\d\.)(?:(18|19|20)?(\d\d){_MONTH}{_DAY}|(18|19|20)(\d\d)-{_MONTH}-{_DAY})"
    r"(?:[ \n]?[-+][ \n]?|([ \n])|)(\d{4})(?![^\W_])(?!\.\d)"
)
_COORDINATION = 60  # added to the day of birth in a Swedish coordination number
_TIME_OF_DAY = re.compile(r"(?:[01]\d|2[0-3])[0-5]\d")


def _is_personnummer(match: re.Match[str]) -> bool:
    century, year, month, day = (match[group] or match[group + 4] for group in range(1, 5))
    years = [int(part + year) for part in ([century] if century else ["19", "20"])]
    born = int(day) - (_COORDINATION if int(day) > _COORDINATION else 0)
    is_date = 1 <= born <= max(monthrange(full_year, int(month))[1] for full_year in years)
    is_clock = match[9] is not None and _TIME_OF_DAY.fullmatch(match[10])  # a date with the time
    return is_date and not is_clock and luhn(digits_of(match[0])[-10:])


# numbers of publications, decimal numbers, ZIP codes and dates
_OTHER_NUMBER = re.compile(
    r"(?:isbn(?:-1[03])?|issn|orcid|rfc|sfs|§|doi|arxiv)\W{0,5}[\w./-]{0,24}|\b10\.\d{4,9}/[\w./-]{0,24}|"
    r"(?<![\d.])\d+\.\d{4,}(?![\d.-])|(?<![\d-])\d{5}-\d{4}(?![\d-])|"
    r"(?<!\d)(?:19|20)\d\d([./-]?)(?:0\d|1[0-2])\1[0-3]\d(?!\d)|"
    r"(?<!\d)[0-3]?\d([./-])[0-3]?\d\2(?:19|20)\d\d(?!\d)",
    re.IGNORECASE,
)
_PHONE_START = re.compile(r"\+|\(?0\d|\([2-9]\d\d\)|[2-9]\d\d[ .-][2-9]\d\d[.-]\d{4}")
"""The start of a telephone number: a country code, an area code, or an American number."""
_FEWEST_DIGITS = 8  # fewer are file modes and parts of other numbers


def _phone_rule(regions: tuple[str, ...]) -> Rule:
    for region in regions:
        if region not in SUPPORTED_REGIONS:
            raise SettingsError(f"documents.masking.phone_regions: {region} is not a country code")

    def find(text: str) -> Iterator[Item]:
        text = _OTHER_NUMBER.sub(lambda match: "_" * len(match[0]), text).replace("\n", " ")
        for region in regions:
            for match in PhoneNumberMatcher(text, region, leniency=Leniency.VALID):
                written = match.raw_string
                if _PHONE_START.match(written) and len(digits_of(written)) >= _FEWEST_DIGITS:
                    number = national_significant_number(match.number)
                    yield Item("phone", match.start, match.end, number)

    return Rule("phone", find, digits=_FEWEST_DIGITS)


_PATTERNS = (
    _rule("secret", _PRIVATE_KEY, characters_of, hints=["private key"]),
    _rule("secret", re.compile(rf"(?<!\w)(?:{'|'.join(_ISSUED)})(?![\w-])"), str, hints=_ISSUED_HINTS),
    _rule("url_login", _LOGIN, str, _is_personal, hints=["://"]),
    _rule("email", _EMAIL, _address_of, _is_mail_address, hints=["@", "%40"]),
    _rule(
        "email", _HIDDEN, _address_of, hints=[f"{sign}{at}" for sign in "([{<" for at in of_all("labels.at")]
    ),
    _rule("iban", _IBAN, characters_of, _is_iban, digits=6),
    _rule("card", _CARD, digits_of, _is_card, digits=13),
    _rule("personnummer", _PERSONNUMMER, lambda text: digits_of(text)[-10:], _is_personnummer, digits=10),
)


def rules_of(kinds: Iterable[str], phone_regions: tuple[str, ...]) -> tuple[Rule, ...]:
    """Return the rules of the kinds asked for, in order; raises a SettingsError for an unknown region."""
    return tuple(rule for rule in (*_PATTERNS, _phone_rule(phone_regions)) if rule.kind in kinds)
