"""Dates and times in a request, as patterns; ``dates.toml`` holds the names of months and days."""

from __future__ import annotations

from typing import Final

from helmdeck_language.text.word_files import WordFile

_FILE: Final = WordFile.beside(__file__, "dates.toml")
_MONTHS: Final = "|".join(sorted(_FILE.words("months"), key=len, reverse=True))
_WEEKDAYS: Final = "|".join(_FILE.words("weekdays"))
_RELATIVE_DAYS: Final = "|".join(_FILE.words("relative_days"))
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th|\.)?"
# The first pattern that matches is taken, so longer forms are first.
_DATES: Final = (
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?",
    r"\d{1,2}[./]\d{1,2}[./]\d{2,4}",
    rf"{_DAY}\ (?:of\ )?(?:{_MONTHS})\b(?:,?\ \d{{4}})?",
    rf"(?:{_MONTHS})\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}})?(?!:)",
    rf"(?:next|this|last)\ (?:{_WEEKDAYS}|week|month|year)\b",
    r"\d{1,3}\ (?:day|week|month|year|hour)s?\ ago\b",
    rf"(?:{_RELATIVE_DAYS}|{_WEEKDAYS})\b",
)
DATE: Final = rf"(?<![\w.])(?:{'|'.join(_DATES)})"
TIME: Final = r"(?<![\w.:])(?:\d{1,2}:\d{2}(?::\d{2})?(?:\ ?[ap]\.?m\b\.?)?|\d{1,2}\ ?[ap]m\b|noon\b|midnight\b)"
