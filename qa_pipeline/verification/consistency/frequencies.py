"""How often and how much of it: bi-weekly is not weekly, every other week is not every week.

What belongs here: words that a prefix or a skipping word in front changes. What does not: negations
(`polarity.py`), numbers with units (`quantities.py`).
"""

import functools
import re
from collections.abc import Iterator

from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.reading import Reading, bound_words
from qa_pipeline.verification.words import content_stems

_COUNTING = re.compile(
    r"(?:bi|semi|tri|half|two|three|halv|två|tre|kvarts|halb|zwei|drei|vier|viertel)"
    r"-?(?=\w{3,40}$)(\w*(?:ly|annual|lich|lig|ligen|vis|s))",
    re.IGNORECASE,
)
_SKIPPING = {
    "en": r"every\s(?:other|second|third|fourth|fifth|sixth|two|three|four|five|six|\d{1,4})\s(\w{1,40})",
    "sv": r"(?:varannan|vartannat|vart?\s(?:andra|annat|tredje|fjärde|femte|sjätte|\d{1,4}:e))\s(\w{1,40})",
    "de": r"(?:alle\s(?:zwei|drei|vier|fünf|sechs|\d{1,4})|jede[nrsm]?\s(?:zweite|dritte|vierte)[nrsm]?)"
    r"\s(\w{1,40})",
}
_EVERY = {
    "en": r"(?:every|each|per|an?)\s(\w{1,40})",
    "sv": r"(?:varje|per|en\sgång\si|en\sgång\sper|i)\s(\w{1,40})",
    "de": r"(?:jede[nrsm]?|pro|je)\s(\w{1,40})",
}


def frequency_findings(claim: Reading, evidence: Reading) -> Findings:
    """A word that stands with a counting prefix or a skipping word on one side only."""
    sides = ((claim, evidence), (evidence, claim))
    found = [words for mine, theirs in sides for words in (*_prefixed(mine, theirs), *_skipped(mine, theirs))]
    return Findings(tuple(dict.fromkeys(found)))


def _prefixed(counted: Reading, other: Reading) -> Iterator[str]:
    mine, theirs = bound_words(counted.text, counted.language), bound_words(other.text, other.language)
    for word in sorted(mine - theirs):
        found = _COUNTING.fullmatch(word)
        if found and found[1] in theirs and found[1] not in mine:
            yield f"{word} against {found[1]}"


def _skipped(skipping: Reading, other: Reading) -> Iterator[str]:
    rare, every = _patterns(skipping.language)
    theirs = {stem for found in rare.finditer(other.text) for stem in content_stems(found[1], other.language)}
    plain = {stem for found in every.finditer(other.text) for stem in content_stems(found[1], other.language)}
    for found in rare.finditer(skipping.text):
        stems = set(content_stems(found[1], skipping.language))
        if stems & plain and not stems & theirs:
            yield f"{found[0].casefold()} against every one"


@functools.cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    rare, every = (forms.get(language, forms["en"]) for forms in (_SKIPPING, _EVERY))
    return re.compile(rf"\b{rare}", re.IGNORECASE), re.compile(rf"\b{every}", re.IGNORECASE)
