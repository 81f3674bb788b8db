"""Phone numbers: international ones, national ones in the usual groups, and others behind a word such as ``Tel``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_COUNTRY: Final = re.compile(
    r"1|7|2(?:[07]|[1-6]\d|[89]\d)|3(?:[0-469]|[578]\d)|4(?:[013-9]|2\d)|5(?:[1-8]|[09]\d)|6(?:[0-6]|[789]\d)|8(?:[1246]|[058]\d)|9(?:[0-58]|[679]\d)"
)
"""Country codes of E.164."""
_GAP: Final = r"[ .\-/]?"
_INTERNATIONAL: Final = re.compile(
    rf"(?<![\w+.])(?:\+|00(?=[1-9])) ?\d(?:(?:{_GAP}\(?|\)?{_GAP})\d){{6,14}}(?![\w]|[.,]\d)", re.ASCII
)
_NANP: Final = re.compile(
    r"(?<![\w.\-/+])(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{4}(?![\w]|[.,\-/]\d)", re.ASCII
)
_TRUNK: Final = re.compile(
    r"(?<![\w.,\-/+:])(?:\(0[1-9]\d{0,4}\) ?|0[1-9]\d{0,4}[ \-/])\d{2,8}(?:[ \-]\d{2,8}){0,4}(?![\w]|[.,:\-/]\d)",
    re.ASCII,
)
_DATE: Final = re.compile(r"0?\d[-/ ]\d\d?[-/ ](?:19|20)\d\d")
_AFTER_WORD: Final = re.compile(
    r"(?i)\b(?:tel|tél|tlf|phone|fone|fon|telefon\w*|teléfono|téléphone|telephone|mobile?|móvil|portable|cell|call|ring|text me|handy\w*|"
    r"whatsapp|signal|fax|handynummer|rufnummer|rufen sie|ruf mich|appelez|appelle|llám\w+|llam\w+|chiam\w+|cellulare|bel|nummer ist)\b"
    r"[^\d\n@#]{0,24}?((?<![A-Za-z0-9_.\-/])[(]?\d(?:[ .\-/()]{0,2}\d){5,13})(?![A-Za-z0-9_]|[.,\-/:]\d)"
)
PHONE_END: Final = re.compile(r"(?<!\d)(?:\+|\(|\+?\(?\d[\d .\-/()]{0,40})$")
"""The end of a text that may be the start of a phone number."""


def phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield the phone numbers."""
    found = list[tuple[int, int]]()
    for match in _INTERNATIONAL.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        digits = digits if match[0].startswith("+") else digits[2:]
        if 8 <= len(digits) <= 15 and _COUNTRY.match(digits):
            found.append(match.span())
    found += (match.span() for match in _NANP.finditer(text))
    for match in _TRUNK.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if 10 <= len(digits) <= 12 and not _DATE.match(match[0]):
            found.append(match.span())
    for match in _AFTER_WORD.finditer(text):
        digits = re.sub(r"\D", "", match[1])
        if 7 <= len(digits) <= 13 and not _DATE.fullmatch(match[1]):
            found.append(match.span(1))
    end = 0
    for start, stop in sorted(found):
        if start >= end:
            yield start, stop
            end = stop
