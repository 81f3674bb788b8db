"""Phone numbers: international ones, national ones in the usual groups, and others behind a word such as ``Tel``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from helmdeck_guards.plain_text import PlainText

_COUNTRY: Final = re.compile(
    r"1|7|2(?:[07]|[1-6]\d|[89]\d)|3(?:[0-469]|[578]\d)|4(?:[013-9]|2\d)|5(?:[1-8]|[09]\d)|6(?:[0-6]|[789]\d)|8(?:[1246]|[058]\d)|9(?:[0-58]|[679]\d)"
)
"""Country codes of E.164."""
_GAP: Final = r"[ .\-/]?"
_INTERNATIONAL: Final = re.compile(
    rf"(?<![\w+.])(?:\+|(?<!\d )00(?=[1-9])) ?\d(?:(?:{_GAP}\(?|\)?{_GAP})\d){{6,14}}(?![\w]|[.,]\d)", re.ASCII
)
_SUM: Final = re.compile(r"\+ \d+(?:\.\d)?")
"""The second part of a sum, as in ``x + 12345678``."""
_NANP: Final = re.compile(
    r"(?<![\w.\-/+])(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{4}(?![\w]|[.,\-/]\d)", re.ASCII
)
_TRUNK: Final = re.compile(
    r"(?<![\w.,\-/+:])(?<!\d )(?:\(0[1-9]\d{0,4}\) ?|0[1-9]\d{0,4}[ \-/])\d{2,8}(?:[ \-]\d{2,8}){0,4}(?![\w]|[.,:\-/]\d)",
    re.ASCII,
)
_DATE: Final = re.compile(
    r"(?:(?:19|20)\d\d[-./ ]\d\d?[-./ ]\d\d?|\d\d?[-./ ]\d\d?[-./ ](?:19|20)\d\d|(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d$)(?!\d)"
)
_VERSION: Final = re.compile(r"(?!1\.\d{3}\.)(?:\d+\.)*\d(?:\.\d+)+|(?:\d+\.)+\d")
_NUMBER: Final = r"((?<![A-Za-z0-9_.\-/])[(]?\d(?:[ .\-/()]{0,2}\d){5,13})(?![A-Za-z0-9_]|[.,\-/:]\d)"
_NOUNS: Final = (
    r"\b(?:tel|tél|tlf|phone|fone|fon|tele(?:fon|f[oó]n|phone)\w*|téléphone|handy\w*|whatsapp|fax|rufnummer|móvil|celular\w*|cellulare|"
    r"gsm|numer|nummer (?:ist|is)|тел|телефон\w*|هاتف\w*|جوال\w*|मोबाइल|फ़ोन|फोन|"
    r"text me|rufen sie|ruf mich|appelez|appelle|llám\w+|llam\w+|chiam\w+)\b|电话|手机|電話|携帯|휴대폰|전화"
)
_ACTS: Final = r"\b(?:call|ring|cell|mobile?|portable|signal|bel)\b"
"""Words that numbers of other things follow, too: ``call id``, ``cell B2``, ``signal strength``."""
_BETWEEN: Final = (
    r"(?:[ :.=,\-]|\b(?:me|us|him|her|them|back|now|today|at|on|under|to|is|my|our|your|the|this|office|home|work|phone|number|no|nr|moi|au|"
    r"mij|op|ist|est|es|è)\b){0,24}?"
)
_AFTER_WORD: Final = re.compile(
    PlainText(
        rf"(?i)(?:(?:{_NOUNS})[^\d\n@#]{{0,24}}?|{_ACTS}{_BETWEEN}(?!\d{{1,8}}(?!\d|[ .\-/]\d))){_NUMBER}|\bwa\.me/(\d{{7,15}})\b"
    ).plain
)
"""Detectors read look-alikes of Latin letters as these, so the words have them, too."""
PHONE_END: Final = re.compile(r"(?<!\d)(?:\+|\(|\+?\(?\d[\d .\-/()]{0,40})$")
"""The end of a text that may be the start of a phone number."""


def phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield the phone numbers."""
    found = list[tuple[int, int]]()
    for match in _INTERNATIONAL.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        digits = digits if match[0].startswith("+") else digits[2:]
        is_other = _SUM.fullmatch(match[0]) or _DATE.match(match[0].lstrip("+ "))
        if 8 <= len(digits) <= 15 and _COUNTRY.match(digits) and not is_other:
            found.append(match.span())
    found += (match.span() for match in _NANP.finditer(text))
    for match in _TRUNK.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if 10 <= len(digits) <= 12 and not _DATE.match(match[0]):
            found.append(match.span())
    for match in _AFTER_WORD.finditer(text):
        number = match[match.lastindex or 0]
        digits = re.sub(r"\D", "", number)
        if 7 <= len(digits) <= 13 and not _DATE.match(number.lstrip("(")) and not _VERSION.fullmatch(number):
            found.append(match.span(match.lastindex or 0))
    end = 0
    for start, stop in sorted(found):
        if start >= end:
            yield start, stop
            end = stop
