"""Keys, tokens and passwords."""

import binascii
import json
import math
import re
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Iterator

from qa_pipeline.documents.masking.items import Family, Item
from qa_pipeline.text.lexicon.languages import any_of_all, of_all

# What each token begins with, and how it goes on; the forms are those that the issuers document.
_FORMS = {
    "AKIA": r"[A-Z0-9]{16}", "ASIA": r"[A-Z0-9]{16}", "AROA": r"[A-Z0-9]{16,17}", "AIDA": r"[A-Z0-9]{16,17}",
    "ghp_": r"\w{30,255}", "gho_": r"\w{30,255}", "ghu_": r"\w{30,255}", "ghs_": r"\w{30,255}",
    "ghr_": r"\w{30,255}", "github_pat_": r"\w{40,255}", "glpat-": r"[\w-]{20,64}",
    "xoxa-": r"[\w-]{10,255}", "xoxb-": r"[\w-]{10,255}", "xoxe-": r"[\w-]{10,255}",
    "xoxp-": r"[\w-]{10,255}", "xoxr-": r"[\w-]{10,255}", "xoxs-": r"[\w-]{10,255}",
    "xapp-": r"[\w-]{20,255}", "hooks.slack.com/services/": r"T\w{6,}/B\w{6,}/\w{16,64}",
    "AIza": r"[\w-]{35}", "ya29.": r"[\w-]{20,512}", "GOCSPX-": r"[\w-]{20,64}",
    "sk_live_": r"\w{16,255}", "sk_test_": r"\w{16,255}", "rk_live_": r"\w{16,255}",
    "rk_test_": r"\w{16,255}", "whsec_": r"[\w+/=]{16,255}",
    "sk-": r"(?=[\w-]{0,255}\d)(?:[a-z]{2,12}-){0,3}\w[\w-]{30,255}",
    "hf_": r"[A-Za-z0-9]{30,64}", "npm_": r"[A-Za-z0-9]{36}", "pypi-AgE": r"[\w-]{50,512}",
    "SG.": r"[\w-]{16,32}\.[\w-]{16,64}", "dop_v1_": r"[0-9a-f]{64}", "shpat_": r"[0-9a-fA-F]{32}",
    "dckr_pat_": r"[\w-]{20,64}", "AccountKey=": r"[A-Za-z0-9+/]{16,100}={0,2}",
    "AGE-SECRET-KEY-1": r"[0-9A-Z]{58}",
}  # fmt: skip
_TOKEN = re.compile(
    rf"(?<!\w)(?:{'|'.join(re.escape(start) + rest for start, rest in _FORMS.items())})(?![\w-])"
)
_SCORED = tuple(start for start in _FORMS if "_" in start)
_STARTS = tuple(start for start in _FORMS if "_" not in start)
_WEB_TOKEN = re.compile(r"(?<![\w-])(eyJ[\w-]{8,2048})\.([\w-]{2,8192})\.([\w-]{0,2048})(?![\w-])")
_KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")

_SCHEMES = ("bearer ", "basic ", "token ")
_SENT = re.compile(
    r"\b(?:bearer|basic|token)[ \n]([A-Za-z0-9._~+/-]{16,4096}={0,2})(?![\w/+])", re.IGNORECASE
)
_CHOSEN = ("pass", "pwd", *of_all("labels.passwords"))
_NAMES = (*_CHOSEN, "secret", "token", "key", "credential")
_IS = (":", "=", "->", *(f" {word} " for word in of_all("labels.copulas")))
_ASSIGNED = re.compile(
    r"(?<![^\W_])(?:\w{0,40}?[_.-])?"
    rf"(pass(?:word|wd|phrase)?|{any_of_all('labels.passwords')}|pwd|secret|api[ _-]?key|access[ _-]?key|"
    r"(?:private|secret|auth|encryption|signing)[ _-]?key|token|credentials?)"
    r"(?:[_-]?(?:id|key|value|hash|base64))?[\"'`]?\s{0,3}"
    rf"(?:=>|->|:=|[:=]|\s{any_of_all('labels.copulas')}(?=\s))\s{{0,3}}"
    r"(?:[bru]{0,2}([\"'`])([^\"'`\n]{6,512})\2|([^\s\"'`<>,;(){}\[\]|]{6,512}))",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"(?<!\w)--(?:[a-z]{1,20}-){0,2}(?:password|passwd|token|secret|key)[ =][\"']?([^\s\"'`<>;|]{6,512})",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(r"[$%{<(\[ ]|\.\.\.|\*\*|x{4}|://|your|example|changeme|placeholder", re.IGNORECASE)
_NAME_IN_CODE = re.compile(
    r"[A-Za-z]*(?:[._/-]+(?:[A-Za-z]+|\d{1,4}))*[._/-]*|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+"
)
_FEWEST_BITS = 2.5  # a character: random letters and digits have more, repeated ones and words less
_SHORTEST, _SHORTEST_SENT = 6, 16  # characters of a password that people choose, and of a token that is sent


def _find_issued(text: str) -> Iterator[Item]:
    yield from _find_private_keys(text)
    if any(start in text for start in _STARTS) or ("_" in text and any(start in text for start in _SCORED)):
        for match in _TOKEN.finditer(text):
            yield Item("secret", match.start(), match.end(), match[0])
    if "eyJ" in text:
        for match in _WEB_TOKEN.finditer(text):
            if _is_header(match[1]):
                yield Item("secret", match.start(), match.end(), match[0])


def _find_private_keys(text: str) -> Iterator[Item]:
    """Yield private keys from first line to last; one without an end goes on to the end of the text."""
    begins = _KEY_BEGINS.search(text) if "PRIVATE KEY" in text else None
    while begins:
        ends = _KEY_ENDS.search(text, begins.end())
        end = ends.end() if ends else len(text)
        yield Item("secret", begins.start(), end, "".join(text[begins.end() : end].split()))
        begins = _KEY_BEGINS.search(text, end)


def _is_header(encoded: str) -> bool:
    """Return whether a text is the first part of a JSON web token (RFC 7519), with an algorithm."""
    try:
        header = json.loads(urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def _find_named(text: str) -> Iterator[Item]:
    """Yield what is sent or assigned as a secret, if no person would write it as a word or a name."""
    folded = text.lower()
    if any(scheme in folded for scheme in _SCHEMES):
        for match in _SENT.finditer(text):
            if _looks_random(match[1], _SHORTEST_SENT):
                yield Item("secret", *match.span(1), match[1])
    if "--" in text:
        for match in _OPTION.finditer(text):
            if _looks_random(match[1], _SHORTEST) or _looks_chosen(match[1]):
                yield Item("secret", *match.span(1), match[1])
    if any(sign in text for sign in _IS) and any(name in folded for name in _NAMES):
        for match in _ASSIGNED.finditer(text):
            group = 3 if match[2] is not None else 4
            value = match[group].rstrip(".:!?") if group == 4 else match[group]
            chosen = match[1].lower().startswith(_CHOSEN)
            if _looks_random(value, _SHORTEST) or (chosen and _looks_chosen(value)):
                yield Item("secret", match.start(group), match.start(group) + len(value), value)


def _looks_random(value: str, fewest: int) -> bool:
    """Return whether a value is neither a word, a name in a program nor a place holder for a secret."""
    if len(value) < fewest or _STANDS_FOR.search(value) or _NAME_IN_CODE.fullmatch(value):
        return False
    letters = any(map(str.isalpha, value))
    return letters and any(map(str.isdigit, value)) and _bits(value) >= _FEWEST_BITS


def _looks_chosen(value: str) -> bool:
    """Return whether a value is a password as people choose them: letters with digits or signs."""
    value = value.rstrip(".:!?")
    if len(value) < _SHORTEST or _STANDS_FOR.search(value) or _NAME_IN_CODE.fullmatch(value):
        return False
    others = [character for character in value if not character.isalpha()]
    return 0 < len(others) < len(value)


def _bits(value: str) -> float:
    """Return the Shannon entropy of a character, in bits."""
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)


ISSUED = Family("secret", _find_issued)
LABELLED = Family("secret", _find_named)
