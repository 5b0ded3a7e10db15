"""Find personal data in texts, and replace it.

Each kind has a pattern, a check and a normal form. A token is the kind and 8 hexadecimal digits of
HMAC-SHA256 (RFC 2104) over kind and normal form: equal for the same item everywhere, and not reversible
without the key.
"""

import hashlib
import hmac
import re
import tomllib
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from phonenumbers import Leniency, PhoneNumberMatcher, national_significant_number

from qa_pipeline.documents.corpus.files import SUFFIXES
from qa_pipeline.errors import CorpusError, SettingsError
from qa_pipeline.records import Mask, Masked, keep
from qa_pipeline.settings.documents import MASKED_KINDS, MaskingSettings
from qa_pipeline.text.words import clean, fold_signs


@dataclass(frozen=True, slots=True)
class Item:
    """An item of personal data; `value` is its normal form, equal for every way to write it."""

    kind: str
    start: int
    end: int
    value: str


@dataclass(frozen=True)
class Rule:
    """A pattern of items, with their normal form and a check.

    Texts with fewer than `digits` digits, or without any of the `hints`, are skipped.
    """

    kind: str
    pattern: re.Pattern[str]
    value: Callable[[str], str]
    check: Callable[[re.Match[str]], bool] = bool
    digits: int = 0
    hints: tuple[str, ...] = ()

    def find(self, text: str) -> Iterator[Item]:
        """Yield the items of a folded text; where the check fails, the search goes on inside the match."""
        match = self.pattern.search(text)
        while match:
            is_item = self.check(match)
            if is_item:
                yield Item(self.kind, *match.span(), self.value(match[0]))
            match = self.pattern.search(text, match.end() if is_item else match.start() + 1)


def digits_of(text: str) -> str:
    """Return the digits of a folded text."""
    return "".join(character for character in text if character.isdigit())


def characters_of(text: str) -> str:
    """Return the letters, in upper case, and digits of a folded text."""
    return "".join(character for character in text.upper() if character.isalnum())


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_KEY = r"(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = re.compile(rf"-----BEGIN {_KEY}(?:.*?-----END {_KEY}|.*)", re.DOTALL)
_SECRET = re.compile(rf"(?<!\w)(?:{'|'.join(_DATA['secrets']['forms'])})(?![\w-])")
_LOGIN = re.compile(r"(?<=://)(?=[^\s/@]*\d)[^\s/?#@:\"'<>]{1,256}:[^\s/?#@\"'<>]{1,256}(?=@[\w\[])")
"""A login in an address, as in `https://anna:s3cret@host`; without digits it may be an example."""
_LETTER = r"[^\W_]"
_LOCAL = r"(?<!\w)(?:\w[\w.%+~-]{0,63}|\"[^\"\n@]{1,64}\")"
_LABEL = rf"{_LETTER}(?:[\w-]{{0,61}}{_LETTER})?"
_TOP = r"(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![^\W_])"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL}){{0,8}}\.{_TOP}"
# white space may have come in after the sign
_EMAIL = re.compile(rf"{_LOCAL}(?:@|%40)[ \n]?(?:{_DOMAIN}|\[[0-9a-f.:]{{7,45}}\])", re.IGNORECASE)


def _address_of(text: str) -> str:
    return "".join(text.replace("%40", "@").split()).casefold()


def _is_mail_address(match: re.Match[str]) -> bool:
    """Return True unless it is a user of version control, or a file such as `logo@2x.png`."""
    address, following = _address_of(match[0]), match.string[match.end() : match.end() + 1]
    is_server = address.startswith(("git@", "hg@", "svn@")) and following in (":", "/")
    return not (is_server or address.rpartition(".")[2] in _DATA["examples"]["file_endings"])


_IBAN_FORMS = "|".join(
    rf"(?:{'|'.join(countries.split())})(?:[ \n-]?\d){{2}}(?:[ \n-]?[A-Z0-9]){{{int(length) - 4}}}"
    for length, countries in _DATA["iban_countries"].items()
)
_IBAN = re.compile(rf"(?<![^\W_])(?:{_IBAN_FORMS})(?![^\W_])", re.IGNORECASE)


def _is_iban(match: re.Match[str]) -> bool:
    """Check ISO 7064 MOD 97-10."""
    characters = characters_of(match[0])
    rearranged = characters[4:] + characters[:4]  # the country and check digits come last
    return int("".join(str(int(character, 36)) for character in rearranged)) % 97 == 1


_CARD = re.compile(
    r"(?<![^\W_])(?<!\d\.)(?:\d{13,16}|\d{4}(?:[ \n.-]\d{4}){3}"
    r"|\d{4}[ \n.-]\d{6}[ \n.-]\d{4,5})(?![^\W_])(?!\.\d|[ ]?\*)"
)
_CARD_ISSUERS = re.compile("|".join(_DATA["card_issuers"].values()))


def _is_card(match: re.Match[str]) -> bool:
    digits = digits_of(match[0])
    return bool(_CARD_ISSUERS.fullmatch(digits)) and luhn(digits) and len(set(digits)) > 1


def luhn(digits: str) -> bool:
    """Return True if the check digit fits (ISO/IEC 7812-1, annex B): every second digit counts twice."""
    from_right = [int(digit) for digit in reversed(digits)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in from_right[1::2])  # 7 counts as 1 + 4
    return (sum(from_right[::2]) + sum(doubled)) % 10 == 0


_PERSONNUMMER = re.compile(
    r"(?:(?<![^\W_])|(?<=nr))(?<!\d\.)(?P<century>18|19|20)?(?P<year>\d\d)-?"
    r"(?P<month>0[1-9]|1[0-2])-?(?P<day>0[1-9]|[1-8]\d|9[01])"
    r"(?:[ \n]?[-+][ \n]?|(?P<blank>[ \n])|)(?P<serial>\d{4})(?![^\W_])(?!\.\d)"
)  # a Swedish personal number, such as 811218-9876 or 1981-12-18-9876
_COORDINATION = 60  # added to the day of birth in a Swedish coordination number
_TIME_OF_DAY = re.compile(r"(?:[01]\d|2[0-3])[0-5]\d")


def _is_personnummer(match: re.Match[str]) -> bool:
    """Check the date of birth and the last digit; a date with a time, such as 240115 0834, is refused."""
    centuries = [match["century"]] if match["century"] else ["19", "20"]  # a day of either is enough
    last_day = max(monthrange(int(century + match["year"]), int(match["month"]))[1] for century in centuries)
    day = int(match["day"])
    day_of_birth = day - _COORDINATION if day > _COORDINATION else day
    is_time = match["blank"] is not None and _TIME_OF_DAY.fullmatch(match["serial"])
    return 1 <= day_of_birth <= last_day and not is_time and luhn(digits_of(match[0])[-10:])  # no century


# numbers of publications, decimal numbers, ZIP codes such as 02110-1301, and dates
_OTHER_NUMBER = re.compile(
    r"(?:isbn(?:-1[03])?|issn|orcid|rfc|sfs|§|doi|arxiv)\W{0,5}[\w./-]{0,24}|\b10\.\d{4,9}/[\w./-]{0,24}|"
    r"(?<![\d.])\d+\.\d{4,}(?![\d.-])|(?<![\d-])\d{5}-\d{4}(?![\d-])|"
    r"(?<!\d)(?:19|20)\d\d([./-]?)(?:0\d|1[0-2])\1[0-3]\d(?!\d)|"
    r"(?<!\d)[0-3]?\d([./-])[0-3]?\d\2(?:19|20)\d\d(?!\d)",
    re.IGNORECASE,
)
PHONE_REGIONS = ("SE", "DE", "GB", "US")
_PHONE_START = re.compile(r"\+|\(?0\d|\([2-9]\d\d\)|[2-9]\d\d[ .-][2-9]\d\d[.-]\d{4}")
"""The start of a telephone number: a country code, an area code, or an American number."""


class _PhoneRule(Rule):
    """Telephone numbers, which a library finds; `pattern` is that of their start."""

    def find(self, text: str) -> Iterator[Item]:
        """Yield numbers in international form, or in the national form of `PHONE_REGIONS`."""
        text = _OTHER_NUMBER.sub(lambda match: "_" * len(match[0]), text).replace("\n", " ")
        for region in PHONE_REGIONS:
            for match in PhoneNumberMatcher(text, region, leniency=Leniency.VALID):
                written = match.raw_string
                if self.pattern.match(written) and len(digits_of(written)) >= self.digits:
                    yield Item(self.kind, match.start, match.end, national_significant_number(match.number))


_PATTERNS = (
    Rule("secret", _PRIVATE_KEY, characters_of, hints=("private key",)),
    Rule("secret", _SECRET, str, hints=tuple(_DATA["secrets"]["hints"])),
    Rule("secret", _LOGIN, str, hints=("://",)),
    Rule("email", _EMAIL, _address_of, _is_mail_address, hints=("@", "%40")),
    Rule("iban", _IBAN, characters_of, _is_iban, digits=6),
    Rule("card", _CARD, digits_of, _is_card, digits=13),
    Rule("personnummer", _PERSONNUMMER, lambda text: digits_of(text)[-10:], _is_personnummer, digits=10),
    _PhoneRule("phone", _PHONE_START, str, digits=8),  # fewer are file modes and parts of other numbers
)


def rules_of(kinds: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules of the kinds asked for, in order."""
    return tuple(rule for rule in _PATTERNS if rule.kind in kinds)


PLACE_HOLDER = "\ufffc"  # the character for an object in a text; no rule takes it for a part of an item


def find_items(text: str, rules: Sequence[Rule]) -> list[Item]:
    """Return the items of a text in order, without overlaps: earlier rules go first."""
    folded = fold_signs(text)
    lowered, digit_count = folded.lower(), sum(map(folded.count, "0123456789"))
    items: list[Item] = []
    for rule in rules:
        has_hint = not rule.hints or any(hint in lowered for hint in rule.hints)
        if digit_count < rule.digits or not has_hint:
            continue
        # of items that overlap, the first counts, and the longest of those with its start
        found = sorted(rule.find(folded), key=lambda item: (item.start, -item.end))
        parts, end = [], 0  # the text up to `end`, with placeholders for items, which later rules skip
        for item in found:
            if item.start >= end:
                items.append(item)
                parts += [folded[end : item.start], PLACE_HOLDER * (item.end - item.start)]
                end = item.end
        folded = "".join([*parts, folded[end:]])
    return sorted(items, key=lambda item: item.start)


REMOVED = "[removed]"
_TOKEN_DIGITS = 8  # hex digits of a token, as in `email-0123abcd`
_NAMES = "|".join(kind.upper() for kind in MASKED_KINDS)
_BRACKETED = re.compile(rf"\[(?:(?:{_NAMES})-[0-9a-f]{{{_TOKEN_DIGITS}}}|removed)\]|{PLACE_HOLDER}")
_BARE = re.compile(rf"(?:{_NAMES})-[0-9a-f]{{{_TOKEN_DIGITS}}}|removed|{PLACE_HOLDER}")
Write = Callable[[Item], str]


@cache
def text_mask(settings: MaskingSettings, *, bare: bool = False) -> Mask:
    """Return a function that masks a text; `bare` tokens, for paths and URLs, lack brackets."""
    if settings.action == "off":
        return keep
    rules = rules_of(settings.kinds)
    write = _token_writer(settings, bare=bare)
    tokens = _BARE if bare else _BRACKETED

    def mask(text: str) -> Masked:
        masked = _replace(text, rules, write, tokens)
        return Masked(text, masked.counts) if settings.action == "flag" else masked  # a flag only counts

    return mask


def _token_writer(settings: MaskingSettings, *, bare: bool) -> Write:
    """Return a function that writes an item as a token, such as `[EMAIL-0123abcd]`, or as `[removed]`."""
    if settings.action != "mask":
        return lambda item: REMOVED.strip("[]") if bare else REMOVED
    if settings.key is None:
        raise SettingsError("documents.masking.key is not set; set QA_PIPELINE_DOCUMENTS__MASKING__KEY")
    key = settings.key.get_secret_value().encode()

    def token(item: Item) -> str:
        content = f"{item.kind}\0{item.value}".encode("utf-8", "surrogatepass")
        digest = hmac.new(key, content, hashlib.sha256).hexdigest()
        name = f"{item.kind.upper()}-{digest[:_TOKEN_DIGITS]}"
        return name if bare else f"[{name}]"

    return token


def _replace(text: str, rules: Sequence[Rule], write: Write, tokens: re.Pattern[str]) -> Masked:
    """Replace items until all are found; tokens count as placeholders, so they stay as they are."""
    counts: Counter[str] = Counter()
    # Of `070-174 06 05.811218-9876` the second is found only once the first is a token.
    while items := find_items(tokens.sub(lambda token: PLACE_HOLDER * len(token[0]), text), rules):
        counts.update(item.kind for item in items)
        parts, last = [], 0
        for item in items:
            parts += [text[last : item.start], write(item)]
            last = item.end
        text = "".join([*parts, text[last:]])
    return Masked(text, counts)


def check_name(batch: str, settings: MaskingSettings) -> None:
    """Raise a CorpusError if the name of a batch holds personal data, as files and tables repeat it."""
    name = text_mask(settings, bare=True)(batch)
    if settings.action in ("mask", "drop") and name.counts:
        kinds = ", ".join(sorted(name.counts))
        raise CorpusError(f"the name of batch {name.text} holds personal data ({kinds}); rename the folder")


_BORDER = re.compile(r"([/\\;|#\[\]])")  # between names in a path or reference, so never in a token
_SUFFIXES = re.compile(rf"(?:\.(?:{'|'.join(suffix[1:] for suffix in SUFFIXES)}|zip))+\Z", re.IGNORECASE)


def mask_path(path: str, mask: Mask) -> Masked:
    """Mask each name in a path or `[source:a/b.md#c]`; `mask` must write tokens such as `EMAIL-0123abcd`."""
    counts: Counter[str] = Counter()
    names = []
    for name in _BORDER.split(path):  # also the signs between the names
        stem = _SUFFIXES.sub("", name)  # with its suffix, `a@b.se.md` reads as an address in Moldova (.md)
        masked = mask(clean(stem))
        counts.update(masked.counts)
        names.append(masked.text + name[len(stem) :] if masked.counts else name)
    return Masked("".join(names), counts)


def texts_mask(settings: MaskingSettings) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that masks texts; a text without items stays as it is, not even cleaned."""
    mask = text_mask(settings)

    def mask_texts(texts: Sequence[str]) -> list[str]:
        masked = [mask(clean(text)) for text in texts]
        return [new.text if new.counts else text for text, new in zip(texts, masked, strict=True)]

    return mask_texts


def reference_mask(settings: MaskingSettings) -> Callable[[str], str]:
    """Return a function that masks names of documents like their paths."""
    mask = text_mask(settings, bare=True)
    return lambda reference: mask_path(reference, mask).text
