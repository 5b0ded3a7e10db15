"""Addresses of machines: IPv4, IPv6 and MAC.

What belongs here: addresses that lead to one machine, and so to a person. What does not: addresses that
nobody has (documentation, loopback, any, broadcast, multicast), whole networks, and version numbers that
look the same.
"""

import ipaddress
import re
from collections.abc import Iterator

from qa_pipeline.documents.masking.items import Family, Item, before

_QUAD = re.compile(r"\d\.\d{1,3}\.\d{1,3}\.\d")
_IPV4 = re.compile(
    r"(?<![^\W_])(?<![\d.]\.)((?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3})"
    r"(?:/(\d{1,3}(?:\.\d{1,3}){3}|\d{1,2}))?(?![^\W_])(?!\.\d)"
)
_VERSION = re.compile(
    r"(?:\bv|versions?|ver\.?|release|rev(?:ision)?|build|firmware|§|sections?|kapitel|avsnitt|abschnitt|chapter|"
    r"kap\.?|abschn\.?|ziff(?:er|\.)|punkt|clause|appendix|annex|anhang|bilaga|"
    r"fig(?:ure|\.)?|table|[a-z]/|identifier\(|==|>=|<=|~=|!=|\^|~|\boid)\s?[:=]?\s?[\"'(]?$",
    re.IGNORECASE,
)
# Most versions and numbers of chapters have such parts, and few addresses.
_SMALL = re.compile(r"[1-9](?:\.\d\d?){3}")
_MACHINE = re.compile(
    r"//|\bip|ip\b|address|adress|host|server|\bdns|ping|ssh|listen|from|gateway|client|klient", re.IGNORECASE
)
_PORT = re.compile(r":\d{2,5}|/\d")
_OUTLINE = re.compile(r"[1-9]\d?(?:\.(?:[1-9]|[1-5]\d)){3}")
_REFERRED = re.compile(r"\b(?:see|siehe|se) $", re.IGNORECASE)
_INSIDE_TEXT = re.compile(r"(?:1[1-9]|2\d)(?:\.(?:[1-9]|[12]\d)){3}")
_TITLE = re.compile(r"[.:)]? {1,40}[^\W\d_]|[.:)]?$")
_TITLE_AFTER_TEN = re.compile(r"[.:)] {1,40}[^\W\d_]| {1,40}[A-ZÅÄÖÜ]")
"""Private networks begin with 10 as well, and lists of machines have their names behind their addresses."""
_IPV6 = re.compile(
    r"(?<![\w:.])\[?((?:[0-9A-Fa-f]{1,4}:|:){2,8}(?:[0-9A-Fa-f]{1,4}|:)?(?:\d{1,3}(?:\.\d{1,3}){3})?)"
    r"(?:%\w{1,16})?(?:/(\d{1,3}))?(?![\w:])"
)
_MAC = re.compile(
    r"(?<![\w:-])(?=[0-9A-Fa-f]{2}[:-]|[0-9A-Fa-f]{4}\.)"
    r"(?:[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2})(?![\w:-])"
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
        if not _is_number_of_something(text, match) and _is_somebodys(match[1], match[2]):
            yield Item("ip_address", *match.span(1), str(ipaddress.ip_address(match[1])))
    for match in _IPV6.finditer(text) if text.count(":") > 1 else ():
        if _GROUP.search(match[1]) and _is_somebodys(match[1], match[2]):
            yield Item("ip_address", *match.span(1), str(ipaddress.ip_address(match[1])))


def _is_number_of_something(text: str, match: re.Match[str]) -> bool:
    """Whether it is the number of a version, or of a chapter at the beginning of its line."""
    leads = before(text, match.start(), 24)
    if _VERSION.search(leads):
        return True
    if _MACHINE.search(leads) or _PORT.match(text, match.end(1)):
        return False
    if _SMALL.fullmatch(match[1]) or _INSIDE_TEXT.fullmatch(match[1]):
        return True
    if not _OUTLINE.fullmatch(match[1]):
        return False
    begins_line = match.start() == 0 or text[match.start() - 1] == "\n"
    title = _TITLE_AFTER_TEN if match[1].startswith("10.") else _TITLE
    return bool(_REFERRED.search(leads) or (begins_line and title.match(text, match.end())))


def _is_somebodys(written: str, network: str | None) -> bool:
    try:
        address = ipaddress.ip_address(written)
        whole = network is not None and _is_network(address, network)
    except ValueError:
        return False
    if address.is_loopback or address.is_unspecified or address.is_multicast or whole:
        return False
    if any(address.version == nobodys.version and address in nobodys for nobodys in _NOBODYS):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return any(address in given for given in _GIVEN_OUT)
    # 0.0.0.0/8 and what begins with 240 or more is given to nobody; netmasks and broadcasts stand there
    return 0 < int(address) >> 24 < 240


def _is_network(address: ipaddress.IPv4Address | ipaddress.IPv6Address, prefix: str) -> bool:
    """Whether an address with a prefix stands for many machines: none of the bits after it are set."""
    network = ipaddress.ip_network(f"{address}/{prefix}", strict=False)
    return network.network_address == address and network.prefixlen < _WIDEST_HOST[address.version]


def _find_mac(text: str) -> Iterator[Item]:
    for match in _MAC.finditer(text):
        digits = re.sub(r"[^0-9a-f]", "", match[0].lower())
        if len(set(digits)) > 2:
            yield Item("mac_address", match.start(), match.end(), digits)


IP = Family("ip_address", _find_ip, digits=2)
MAC = Family("mac_address", _find_mac, digits=2)
