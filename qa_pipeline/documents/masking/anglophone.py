"""Numbers of persons in Britain and the United States.

What belongs here: National Insurance numbers and Social Security numbers, neither of which has a check digit.
What does not: passports (`identity_documents`).
"""

import re
from collections.abc import Iterator

from qa_pipeline.documents.masking.items import Family, Item, before, characters_of, digits_of

# HMRC, NIM39110: letters that are never issued, prefixes that are never issued, suffix A to D.
_BRITISH = re.compile(
    r"(?<![^\W_])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    r"[ \n-]?\d\d[ \n-]?\d\d[ \n-]?\d\d[ \n-]?[A-D](?![^\W_])"
)
# SSA, RM 10201: no area 000, 666 or 900 to 999, no group 00, no serial number 0000.
_AMERICAN = re.compile(
    r"(?<![^\W_])(?<!\d[-.])(?!000|666|9)\d{3}([- \n]?)(?!00)\d\d\1(?!0000)\d{4}(?![^\W_])(?![-.]\d)"
)
_AMERICAN_NAMED = re.compile(r"\bssn\b|social\s+security", re.IGNORECASE)


def _find_british(text: str) -> Iterator[Item]:
    for match in _BRITISH.finditer(text):
        yield Item("uk_nino", match.start(), match.end(), characters_of(match[0]))


def _find_american(text: str) -> Iterator[Item]:
    for match in _AMERICAN.finditer(text):
        if match[1] == "-" or _AMERICAN_NAMED.search(before(text, match.start())):
            yield Item("us_ssn", match.start(), match.end(), digits_of(match[0]))


BRITISH = Family("uk_nino", _find_british, digits=6)
AMERICAN = Family("us_ssn", _find_american, digits=9)
