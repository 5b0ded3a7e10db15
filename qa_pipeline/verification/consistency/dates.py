"""Dates of a claim: read in the words of its language, and held against those of the evidence."""

import functools
import re
from dataclasses import dataclass

from qa_pipeline.text.lexicon.languages import any_of_all, lexicon
from qa_pipeline.text.words import Occupied, first_runs, written_words
from qa_pipeline.verification.consistency.units import unit_after

_ISO = re.compile(r"(?<![\w.-])(?P<y>\d{4})[-/](?P<m>\d{1,2})(?:[-/](?P<d>\d{1,2}))?(?![\w-]|[./]\d)")
_DOTTED = re.compile(r"(?<![\w.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})(?!\w)")
_DAY_AND_MONTH = re.compile(
    r"(?:(?<=zum )|(?<=am )|(?<=bis )|(?<=vom )|(?<=ab )|(?<=den ))"
    r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?!\s?\d)"
)
"""German dates without a year, behind a word that makes them one: 3.1. may be a section."""
_SLASHED = re.compile(r"(?<![\w/])(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})(?![\w/])")
_YEAR = re.compile(r"(?<![\w.,:#$€£/-])(?P<y>1[0-9]{3}|20[0-9]{2})(?![\w%:]|[.,]\d|-\d)")
_ENDINGS = any_of_all("decade_endings")
_DECADE = re.compile(rf"(?<![\w.,:#$€£/-])(?P<y>1[0-9]{{2}}0|20[0-9]0){_ENDINGS}(?!\w)")
_DIGIT = re.compile(r"\d")
_SURE_YEARS = range(1800, 2100)


@dataclass(frozen=True, slots=True)
class Date:
    """A date as far as it is written; absent parts are None. `decade` says that the year stands for ten."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int
    text: str
    decade: bool = False


def find_dates(text: str, language: str) -> list[Date]:
    """Return the dates and years of `text` in order, disjoint, the most complete reading of each place."""
    dates: list[Date] = []
    if not _DIGIT.search(text):
        return dates
    used = Occupied(len(text))
    month_patterns = (
        () if written_words(text).isdisjoint(_month_words(language)) else _named_patterns(language)
    )
    for pattern in (_ISO, _DOTTED, _DAY_AND_MONTH, _SLASHED, *month_patterns, _DECADE, _YEAR):
        for match in pattern.finditer(text):
            if not used.free(match.start(), match.end()):
                continue
            date = _date(match, language, pattern)
            if date is not None and (pattern is not _YEAR or _is_year(date, text)):
                dates.append(date)
                used.take(date.start, date.end)
    return sorted(dates, key=lambda date: date.start)


@functools.cache
def _month_words(language: str) -> frozenset[str]:
    return first_runs(lexicon(language).months)


@functools.cache
def _named_patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns with month names: day month year, month day year, month year, day month, month day."""
    names = "|".join(sorted(lexicon(language).months, key=len, reverse=True))
    month = rf"(?P<name>{names})\b\.?"
    day = rf"(?P<d>\d{{1,2}})(?:\.|{any_of_all('ordinal_endings')})?"
    year = r"(?P<y>\d{4})(?!\d)"
    shapes = (
        rf"(?<!\w){day}\s(?:of\s)?{month},?\s{year}",
        rf"(?<!\w){month}\s{day},?\s{year}",
        rf"(?<!\w){month},?\s{year}",
        rf"(?<!\w){day}\s(?:of\s)?{month}(?!\w)",
        rf"(?<!\w){month}\s{day}(?![\w.,:]?\d)",
    )
    return tuple(re.compile(shape, re.IGNORECASE) for shape in shapes)


def _date(match: re.Match[str], language: str, pattern: re.Pattern[str]) -> Date | None:
    parts = match.groupdict()
    name = parts.get("name")
    month = lexicon(language).months[name.casefold()] if name else _integer(parts.get("m"))
    year, day = _integer(parts.get("y")), _integer(parts.get("d"))
    if pattern is _SLASHED and month is not None and day is not None and month > 12:
        month, day = day, month
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    text = match[0].strip()
    return Date(year, month, day, match.start(), match.end(), text, pattern is _DECADE)


def _integer(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _is_year(date: Date, text: str) -> bool:
    """Return whether a bare number is a year: a recent one without a unit, or one after a word for it."""
    if unit_after(text, date.end):
        return False
    lead = re.search(
        rf"\b{any_of_all('year_leads')}\s$",
        text[max(0, date.start - 12) : date.start],
        re.IGNORECASE,
    )
    return date.year in _SURE_YEARS or lead is not None
