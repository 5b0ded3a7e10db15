"""Telephone numbers, e-mail addresses, logins in URLs, and addresses of machines.

A telephone number in national form is tried with the plans of `documents.masking.phone_regions`. Its token is
made of the digits without country and trunk prefix, so that both forms of a number get the same.
"""

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from phonenumbers import (
    SUPPORTED_REGIONS,
    Leniency,
    PhoneNumberMatch,
    PhoneNumberMatcher,
    PhoneNumberType,
    is_valid_number,
    length_of_national_destination_code,
    national_significant_number,
    number_type,
)

from qa_pipeline.documents.masking.items import Family, Item, digits_of, pattern_family, text_before
from qa_pipeline.errors import SettingsError
from qa_pipeline.text.lexicon.languages import any_of_all, of_all

_WINDOW = re.compile(
    r"(?<![^\W_])(?<!\d[.,:])(?:\+ ?|\((?=[0+2-9])\+?)?\d(?:[ ()./\n-]{0,3}\d){6,18}(?![^\W_])(?![.,:]\d)"
)
_LABEL = (
    r"(?:tele(?:phone|fax)?|\btel|phone|mobile?|cell|fax|call|hotline|\bsms|whatsapp|contact|dial|telefon"
    r"|fon|mobil|"
    r"\bring|växel|kontakt|\bnås|nummer|handy|rufnummer|durchwahl)\w{0,8}"
)
_IS = any_of_all("labels.copulas")
_PHONE_LABEL = re.compile(_LABEL + r"[^\w\n]{0,3}(?:\w{1,6}[^\w\n]{1,3}){0,3}$", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?:\btel(?:ephone|efax)?|phone|mobile?|\bfax|(?:tele)?phone number|\btelefon|mobil|telefonnummer"
    r"|handy|rufnummer)"
    rf"{any_of_all('labels.numbers')}?(?: {_IS})?[^\w\n+(]{{0,3}}$",
    re.IGNORECASE,
)
_OTHER_NAMED = re.compile(
    r"(?:isbn(?:-1[03])?|issn|orcid|rfc|sfs|§)\W{0,3}$|"
    r"(?:(?:doi|arxiv)\W{0,5}|\b10\.\d{4,9}/)[\w./-]{0,16}$",
    re.IGNORECASE,
)
_OTHER_NUMBER = re.compile(
    r"(?<![\d.])(?:0|[1-9]\d*)\.\d{5,}(?![\d.])|"  # decimal numbers
    r"(?<![\d.-])\d{4}\.\d{4,5}(?![\d.-])|"  # articles in an archive
    r"(?<![\d-])\d{5}-\d{4}(?![\d-])|"  # ZIP codes
    r"(?<!\d)(?:19|20)\d\d([./-]?)(?:0\d|1[0-2])\1[0-3]\d(?!\d)|"  # dates
    r"(?<!\d)[0-3]?\d([./-])[0-3]?\d\2(?:19|20)\d\d(?!\d)"
)
_AMERICAN = re.compile(r"(?:\+?1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[.-]\d{4}")
_BEGINS = re.compile(r"\+|(?<![\d.])0\d|[2-9]\d\d\)? ?[.-]?[2-9]\d\d[.-]\d{4}")
_TRUNK = re.compile(r"(?<![\d.])\(?(?:\+|0)\d")
_GROUP_END = re.compile(r"\d\)?(?!\d)")
_FEWEST_DIGITS, _MOST_DIGITS = 8, 13  # of a number in a row of cells: shorter and longer ones are rare
_MOST_GROUPS, _MOST_BEGINNINGS, _MOST_TRIES = 7, 2, 8  # each try asks the library, which is slow
_REMEMBERED = 4096  # places: tables repeat numbers, and a corpus repeats its letterheads
_FIRST_GROUP = re.compile(r"\(?(\d+)\)?")
_TATTERED = re.compile(r"(?:\D\d(?!\d)){3}|^[^(]*\)")
_LONGEST_NATIONAL = 11  # digits behind the trunk prefix; longer ones are parts of another number
_MOBILE_CODE = 4
"""Digits of a mobile code as people part it from the rest, where the plan's own code is longer."""


def phone_family(regions: tuple[str, ...]) -> Family:
    """Return the family of telephone numbers; national forms follow the plans of regions (ISO 3166-1).

    Raises:
        SettingsError: no plan is known for a region.
    """
    for region in regions:
        if region not in SUPPORTED_REGIONS:
            raise SettingsError(
                f"documents.masking.phone_regions names {region}, which is not a country code"
            )

    def find(text: str) -> Iterator[Item]:
        text = _OTHER_NUMBER.sub(lambda match: "_" * len(match[0]), text)
        for window in _WINDOW.finditer(text):
            yield from _in_window(text, window, regions)

    return Family("phone", find, digits=7)


def _in_window(text: str, window: re.Match[str], regions: tuple[str, ...]) -> Iterator[Item]:
    start, written = window.start(), window[0].replace("\n", " ")
    leads = text_before(text, start)
    is_labelled = _PHONE_LABEL.search(leads) is not None
    if not (is_labelled or _BEGINS.search(written)) or _OTHER_NAMED.search(text_before(text, start, 24)):
        return
    # a plan may be younger than the library's: where a label leaves no doubt, the length must do
    sure = written.startswith("+") or _LABELLED.search(leads)
    leniency = Leniency.POSSIBLE if sure else Leniency.VALID
    for first, match in _all_numbers(written, regions, leniency, is_labelled=is_labelled):
        value = national_significant_number(match.number)
        yield Item("phone", start + first, start + first + len(match.raw_string), value)


@lru_cache(maxsize=_REMEMBERED)
def _all_numbers(
    written: str, regions: tuple[str, ...], leniency: int, *, is_labelled: bool
) -> list[tuple[int, PhoneNumberMatch]]:
    """Return the numbers in a place, with where they begin; else the first among the cells of a line."""
    if numbers := _numbers(written, regions, leniency, is_labelled=is_labelled):
        return numbers
    for begin in islice(_TRUNK.finditer(written), _MOST_BEGINNINGS):
        ends = [begin.start() + end.end() for end in _GROUP_END.finditer(written[begin.start() :])]
        for end in reversed(ends[:_MOST_GROUPS]):
            piece = written[begin.start() : end]
            if not _FEWEST_DIGITS <= len(digits_of(piece)) <= _MOST_DIGITS:
                continue
            for first, match in _numbers(piece, regions, leniency, is_labelled=is_labelled, tries=1):
                if first == 0 and len(match.raw_string) == len(piece):
                    return [(begin.start(), match)]
    return []


def _numbers(
    written: str, regions: tuple[str, ...], leniency: int, *, is_labelled: bool, tries: int = _MOST_TRIES
) -> list[tuple[int, PhoneNumberMatch]]:
    """Return the numbers the library sees, with where they begin; the longest where two plans disagree."""
    matches: list[PhoneNumberMatch] = []
    for region in regions:
        plan = PhoneNumberMatcher(written, region, leniency, max_tries=tries)
        matches += (match for match in plan if _is_phone(match, region, is_labelled))
    matches.sort(key=lambda match: (match.start - match.end, not is_valid_number(match.number)))
    taken: list[PhoneNumberMatch] = []
    for match in matches:
        if all(match.end <= other.start or other.end <= match.start for other in taken):
            taken.append(match)
    return [(match.start, match) for match in taken]


def _is_phone(match: PhoneNumberMatch, region: str, is_labelled: bool) -> bool:
    """Return whether a number is a telephone number: by country code, label or way of writing."""
    written = match.raw_string
    if is_labelled or written.startswith(("+", "00")):
        return not written.startswith("+ ") or is_labelled
    if region == "US":
        return _AMERICAN.fullmatch(written) is not None
    mobile = number_type(match.number) == PhoneNumberType.MOBILE
    if digits_of(written) == written:
        return mobile
    length = length_of_national_destination_code(match.number)
    area = "0" + national_significant_number(match.number)[:length]
    first = _FIRST_GROUP.match(written)
    codes = (area, area[:_MOBILE_CODE]) if mobile else (area,)
    is_long = len(digits_of(written)) > _LONGEST_NATIONAL + 1
    is_tattered = _TATTERED.search(" ".join(written.split())) is not None
    return first is not None and first[1] in codes and not (is_long or is_tattered)


_LETTER = r"[^\W_]"
# in a URL it may begin after an encoded character
_LOCAL = r"(?:(?<=%[0-9a-f]{2})|(?<!\w)(?!(?<=%)[0-9a-f]{2}))(\w[\w.%+~-]{0,63}|\"[^\"\n@]{1,64}\")"
_MAIL_LABEL = rf"{_LETTER}(?:[\w-]{{0,61}}{_LETTER})?"
_TOP = r"(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![^\W_])"
_DOMAIN = rf"{_MAIL_LABEL}(?:\.{_MAIL_LABEL}){{0,8}}\.{_TOP}"
_PLAIN = re.compile(
    # white space may have come in after the sign, and a line may end with the only dot
    rf"{_LOCAL}(?:@|%40)[ \n]?({_DOMAIN}|{_MAIL_LABEL}\.\n{_TOP}|\[[0-9a-f.:]{{7,45}}\])",
    re.IGNORECASE,
)
_KNOWN_TOPS = "at|be|biz|ch|com|cz|de|dk|edu|es|eu|fi|fr|gov|ie|info|io|it|mil|net|nl|no|org|pl|pt|se|uk|us"
_BROKEN = re.compile(
    rf"{_LOCAL}[ \n]?@[ \n]?({_MAIL_LABEL}(?:\n?\.\n?{_MAIL_LABEL}){{0,4}}\n?\.\n?(?:{_KNOWN_TOPS}))(?![\w-])"
)
"""An address with blanks or a line end in it, where its ending is a known one: programs write `a @ b.T`."""
_AT_SIGN = rf"[(\[{{<]{any_of_all('labels.at')}[)\]}}>]"
_AT = rf"\s{{0,2}}{_AT_SIGN}\s{{0,2}}"
_DOT_WORD = any_of_all("labels.dot")
_DOT = rf"(?:\s{{0,2}}[(\[{{<](?:{_DOT_WORD}|\.)[)\]}}>]\s{{0,2}}|\.|\s{_DOT_WORD}\s)"
_HIDDEN = re.compile(
    rf"{_LOCAL}{_AT}({_MAIL_LABEL}(?:{_DOT}{_MAIL_LABEL}){{0,5}}{_DOT}{_TOP})", re.IGNORECASE
)
_WORD = r"\w[\w+-]{0,63}"
_SPOKEN = re.compile(
    rf"(?<!\w)({_WORD}(?:\sdot\s{_WORD}){{0,3}})\sat\s({_MAIL_LABEL}(?:\sdot\s{_MAIL_LABEL})"
    rf"{{0,4}}\sdot\s{_TOP})|"
    rf"(?<=<){_LOCAL}\sat\s({_MAIL_LABEL}(?:\.{_MAIL_LABEL}){{0,5}}\.{_TOP})(?=>)",
    re.IGNORECASE,
)
_SIGN = re.compile(_AT_SIGN, re.IGNORECASE)
_FILES = {
    "css", "gif", "html", "jpeg", "jpg", "js", "json", "map", "min", "png", "service", "socket", "svg",
    "target", "tgz", "timer", "webp", "whl",
}  # fmt: skip
_ENDS = re.compile(rf"\.(?:{_KNOWN_TOPS})$")
"""The part before a line end is an address already, and the line end the end of a sentence."""
_DOTS = re.compile(_DOT, re.IGNORECASE)


def _find_emails(text: str) -> Iterator[Item]:
    patterns = [_PLAIN] if "@" in text or "%40" in text else []
    if "@" in text and ("\n" in text or " @" in text):
        patterns.append(_BROKEN)
    if any(bracket in text for bracket in "([{<") and _SIGN.search(text):
        patterns.append(_HIDDEN)
    if " at " in text or " AT " in text:
        patterns.append(_SPOKEN)
    for pattern in patterns:
        for match in pattern.finditer(text):
            local, domain = (group for group in match.groups() if group is not None)
            first_line, line_end, _ = domain.partition("\n")
            ends_sentence = pattern is _BROKEN and line_end and _ENDS.search(first_line)
            if not ends_sentence and _is_mail_address(text, match, local, domain):
                address = f"{_DOTS.sub('.', local)}@{_DOTS.sub('.', domain.replace(chr(10), ''))}"
                yield Item("email", match.start(), match.end(), address.casefold())


def _is_mail_address(text: str, match: re.Match[str], local: str, domain: str) -> bool:
    """Return whether an address is no user of version control, file such as `logo@2x.png` or decorator."""
    if len(local) == 1 and text[match.start() - 1 : match.start()] == "\\":
        return False
    server = local.casefold() in ("git", "hg", "svn") and text[match.end() : match.end() + 1] in (":", "/")
    return not server and domain.rpartition(".")[2].casefold() not in _FILES


EMAILS = Family("email", _find_emails)


_LOGIN = re.compile(r"(?<=://)([^\s/?#@\"'<>\[\]|`\\]{1,256}(?:@[^\s/?#@\"'<>\[\]|`\\:]{1,64})?)@(?=[\w\[])")
_OPTION = re.compile(
    r"\b(?:curl|https?)\b[^\n]{0,200}?\s(?:-u|--user|-a|--auth)[ =]?[\"']?"
    r"([^\s:\"'@/]{1,64}:[^\s\"']{3,128})"
)
_STANDS_FOR = re.compile(r"[$%]?[{(][^{}()]{1,40}[)}]|\$\w+|\*+|\.\.\.|x{3,}", re.IGNORECASE)
_ANYBODY = {
    "user", "username", "usr", "name", "login", "me", "you", "anonymous", "ftp", "git", "hg", "svn", "root",
    "admin", "postgres", "mysql", "foo", "bar", "password", "passwd", "pass", "pwd", "pw", "secret", "token",
    "key", "apikey", *of_all("labels.users"), *of_all("labels.passwords"),
}  # fmt: skip


def _find_logins(text: str) -> Iterator[Item]:
    for match in _LOGIN.finditer(text) if "@" in text and "://" in text else ():
        if any(_is_personal(part) for part in match[1].split(":", 1)):
            yield Item("url_login", match.start(), match.end(1), match[1])
    for match in _OPTION.finditer(text) if "-u" in text or "-a" in text else ():
        if _is_personal(match[1].partition(":")[2]):
            yield Item("url_login", *match.span(1), match[1])


def _is_personal(part: str) -> bool:
    """Return whether a part is somebody's, and no placeholder."""
    return bool(part) and part.casefold() not in _ANYBODY and not _STANDS_FOR.fullmatch(part)


LOGINS = Family("url_login", _find_logins)


_QUAD = re.compile(r"\d\.\d{1,3}\.\d{1,3}\.\d")
_IPV4 = re.compile(
    r"(?<![^\W_])(?<![\d.]\.)((?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3})"
    r"(?:/(\d{1,3}(?:\.\d{1,3}){3}|\d{1,2}))?(?![^\W_])(?!\.\d)"
)
_VERSION = re.compile(
    rf"(?:\bv|versions?|ver\.?|release|rev(?:ision)?|build|firmware|§|{any_of_all('layout.sections')}|"
    r"[a-z]/|identifier\(|==|>=|<=|~=|!=|\^|~|\boid)\s?[:=]?\s?[\"'(]?$",
    re.IGNORECASE,
)
# Most versions and numbers of chapters have such parts, and few addresses.
_SMALL = re.compile(r"[1-9](?:\.\d\d?){3}")
_MACHINE = re.compile(
    rf"//|\bip|ip\b|{any_of_all('labels.machines')}|host|server|\bdns|ping|ssh|listen|from|gateway",
    re.IGNORECASE,
)
_PORT = re.compile(r":\d{2,5}|/\d")
_IPV6 = re.compile(
    r"(?<![\w:.])\[?((?:[0-9A-Fa-f]{1,4}:|:){2,8}(?:[0-9A-Fa-f]{1,4}|:)?(?:\d{1,3}(?:\.\d{1,3}){3})?)"
    r"(?:%\w{1,16})?(?:/(\d{1,3}))?(?![\w:])"
)
_MAC = re.compile(
    r"(?<![\w:-])(?=[0-9A-Fa-f]{2}[:-]|[0-9A-Fa-f]{4}\.)"
    r"(?:[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2})"
    r"(?![\w:-])"
)
_GROUP = re.compile(r"[0-9A-Fa-f]{4}")
_NOBODYS = tuple(
    ipaddress.ip_network(network)
    for network in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")
)
_GIVEN_OUT = tuple(map(ipaddress.IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10")))
_WIDEST_HOST = {4: 31, 6: 127}


def _find_ip(text: str) -> Iterator[Item]:
    for match in _IPV4.finditer(text) if _QUAD.search(text) else ():
        if not _is_number_of_something(text, match) and _is_assigned(match[1], match[2]):
            yield Item("ip_address", *match.span(1), str(ipaddress.ip_address(match[1])))
    for match in _IPV6.finditer(text) if text.count(":") > 1 else ():
        if _GROUP.search(match[1]) and _is_assigned(match[1], match[2]):
            yield Item("ip_address", *match.span(1), str(ipaddress.ip_address(match[1])))


def _is_number_of_something(text: str, match: re.Match[str]) -> bool:
    """Return whether a number is rather that of a version or chapter than of a machine."""
    leads = text_before(text, match.start(), 24)
    if _VERSION.search(leads):
        return True
    if _MACHINE.search(leads) or _PORT.match(text, match.end(1)):
        return False
    return _SMALL.fullmatch(match[1]) is not None


def _is_assigned(written: str, network: str | None) -> bool:
    try:
        address = ipaddress.ip_address(written)
        around = ipaddress.ip_network(f"{address}/{network}" if network else address, strict=False)
    except ValueError:
        return False
    # with a prefix after which no bits are set it is many machines
    many = around.network_address == address and around.prefixlen < _WIDEST_HOST[address.version]
    if address.is_loopback or address.is_unspecified or address.is_multicast or many:
        return False
    if any(address.version == nobodys.version and address in nobodys for nobodys in _NOBODYS):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return any(address in example for example in _GIVEN_OUT)
    # 0.0.0.0/8 and what begins with 240 or more is given to nobody; netmasks and broadcasts look so
    return 0 < int(address) >> 24 < 240


def _hex_digits(address: str) -> str:
    return re.sub(r"[^0-9a-f]", "", address.lower())


def _is_machine(match: re.Match[str]) -> bool:
    """Return whether an address has more than two digits: broadcasts and examples repeat one or two."""
    return len(set(_hex_digits(match[0]))) > 2


IP = Family("ip_address", _find_ip, digits=2)
MAC = pattern_family("mac_address", _hex_digits, _MAC, is_right=_is_machine, digits=2)
