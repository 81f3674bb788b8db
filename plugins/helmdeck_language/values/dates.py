"""Dates and times in a request, as patterns; ``dates.toml`` holds the names of months and days."""

from __future__ import annotations

import datetime
import re
from typing import Final

from helmdeck_language.text.word_files import WordFile

_FILE: Final = WordFile.beside(__file__, "dates.toml")
_MONTH_OF: Final = {word: int(number) for number, words in _FILE.rows("months").items() for word in words.split()}
_MONTHS: Final = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_WEEKDAYS: Final = "|".join(_FILE.words("weekdays"))
_RELATIVE_DAYS: Final = "|".join(_FILE.words("relative_days"))
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th|\.)?"
# The first pattern that matches is taken, so longer forms are first.
_DATES: Final = (
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?",
    # "4.17.20" is a version.
    r"\d{1,2}/\d{1,2}/\d{2,4}|(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.\d{2,4}(?![.\d])",
    rf"{_DAY}\ (?:of\ )?(?:{_MONTHS})\b(?:,?\ \d{{4}})?",
    rf"(?:{_MONTHS})\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}})?(?!:)",
    rf"(?:next|this|last)\ (?:{_WEEKDAYS}|week|month|year)\b",
    r"\d{1,3}\ (?:day|week|month|year|hour)s?\ ago\b",
    rf"(?:{_RELATIVE_DAYS}|{_WEEKDAYS})\b",
)
# "today.csv" is a file.
DATE: Final = rf"(?<![\w.])(?:{'|'.join(_DATES)})(?![\w-]{{0,40}}\.[a-z]\w)"
TIME: Final = r"(?<![\w.:])(?:\d{1,2}:\d{2}(?::\d{2})?(?:\ ?[ap]\.?m\b\.?)?|\d{1,2}\ ?[ap]m\b|noon\b|midnight\b)"
_WHOLE: Final = (
    re.compile(
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\ (?:of\ )?(?P<month>{_MONTHS}),?\ (?P<year>\d{{4}})", re.IGNORECASE
    ),
    re.compile(rf"(?P<month>{_MONTHS})\ (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<year>\d{{4}})", re.IGNORECASE),
    re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})"),
)


def iso_date(text: str) -> str:
    """Return a date with a day, month and year as ``YYYY-MM-DD``; empty for another, such as "tomorrow" or "3/4/2027".

    >>> from helmdeck_language import iso_date
    >>> iso_date("3rd of May 2027")
    '2027-05-03'
    """
    found = next((match for pattern in _WHOLE if (match := pattern.fullmatch(text))), None)
    if found is None:
        return ""
    month = _MONTH_OF.get(found["month"].lower()) or int(found["month"])
    try:
        return datetime.date(int(found["year"]), month, int(found["day"])).isoformat()
    except ValueError:
        return ""
