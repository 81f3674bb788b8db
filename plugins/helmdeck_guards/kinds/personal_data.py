"""Personal data by pattern and checksum: mail addresses, IBANs, card numbers and phone numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal

import attrs

from helmdeck_core import Guard, GuardFinding, GuardServices, GuardSpec
from helmdeck_guards.kinds.phones import PHONE_END, phones

PersonalKind = Literal["email", "iban", "card", "phone"]
Span = tuple[int, int]


@attrs.frozen(kw_only=True)
class PersonalDataOptions:
    """The options of ``personal_data``.

    :ivar detect: what is detected.
    """

    detect: tuple[PersonalKind, ...] = ("email", "iban", "card", "phone")


# -- mail addresses ----------------------------------------------------------------------------------------------

# A mark before the first letter belongs to the name only if a letter precedes it: O'Hara@, but 'jane@ in quotation marks.
_LOCAL_PART: Final = r"(?<!\w)(?<!\w[.+%'-])\w[\w.+%'-]{0,63}"
_LOCAL: Final = re.compile(rf"{_LOCAL_PART}$")
_JOINED: Final = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Letters of scripts that write the following word or particle without a space: Thai, Japanese, Chinese, Korean."""
_DOMAIN: Final = re.compile(
    rf"(?:[^\W_](?:[\w-]{{0,61}}[^\W_])?\.)+(?:([A-Za-z]{{2,24}})(?=[{_JOINED}])|([^\W\d_]{{2,24}})(?!-?[^\W_]|@))"
)
_LATIN_LOCAL: Final = re.compile(rf"(?<=[{_JOINED}])[A-Za-z][A-Za-z0-9.+%'_-]+$")
_NOT_DOMAINS: Final = frozenset(("png", "jpg", "jpeg", "gif", "svg", "webp"))
"""Endings of file names such as ``icon@2x.png``."""
_EMAIL_END: Final = re.compile(rf"{_LOCAL_PART}(?:@[\w.-]{{0,255}})?$")
_MAX_LOCAL, _MAX_EMAIL = 64, 320


def emails(text: str) -> Iterator[Span]:
    """Yield the mail addresses."""
    at = text.find("@")
    while at >= 0:
        local = _LOCAL.search(text[max(0, at - _MAX_LOCAL - 1) : at])
        domain = _DOMAIN.match(text, at + 1, at + 256)
        if local and domain and domain[domain.lastindex or 0].lower() not in _NOT_DOMAINS and local[0] != "git":
            start = at - len((_LATIN_LOCAL.search(local[0]) or local)[0])
            if not _is_userinfo(text, start):
                yield start, domain.end()
        at = text.find("@", at + 1)


def _is_userinfo(text: str, start: int) -> bool:
    """Whether the part before ``@`` belongs to a URL, such as ``https://user:password@host``."""
    before = text[max(0, start - 80) : start]
    return "://" in before and not re.search(r"[\s\"'<>]", before[before.rindex("://") :])


# -- IBANs -----------------------------------------------------------------------------------------------------

IBAN_CHARS: Final[Mapping[str, int]] = {
    name: int(size)
    for name, size in (
        each.split(":")
        for each in (
            "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BI:27 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 DJ:27 DK:18 DO:28 "
            "EE:20 EG:29 ES:24 FI:18 FK:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HN:28 HR:21 HU:28 IE:22 IL:23 IQ:23 IS:26 "
            "IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 MK:19 MN:20 MR:27 MT:31 MU:30 NI:28 "
            "NL:18 NO:15 OM:23 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 RU:33 SA:24 SC:31 SD:18 SE:24 SI:19 SK:24 SM:27 SO:23 ST:25 "
            "SV:28 TL:23 TN:24 TR:26 UA:29 VA:22 VG:24 XK:20 YE:30"
        ).split()
    )
}
"""Length by country, from the IBAN registry."""
_IBAN_START: Final = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})[ -]?\d[ -]?\d")
_IBAN_END: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{1,2}(?:[ -]?\d(?:[ -]?\d(?:[ -]?[A-Za-z0-9]){0,30})?)?[ -]?$")
_MAX_IBAN: Final = 72


def ibans(text: str) -> Iterator[Span]:
    """Yield the IBANs of known countries with the right length and checksum, with or without single separators."""
    for match in _IBAN_START.finditer(text):
        size = IBAN_CHARS.get(match[1].upper())
        if size is None:
            continue
        chars, at, has_gap = list[str](), match.start(), True
        while at < len(text) and len(chars) < size:
            char = text[at]
            if char.isascii() and char.isalnum():
                chars.append(char)
                has_gap = False
            elif char in " -" and not has_gap:
                has_gap = True
            else:
                break
            at += 1
        following = text[at : at + 1]
        if (
            len(chars) == size
            and not (following.isascii() and following.isalnum())
            and _has_iban_checksum("".join(chars).upper())
        ):
            yield match.start(), at


def _has_iban_checksum(iban: str) -> bool:
    return int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 == 1


# -- card numbers ----------------------------------------------------------------------------------------------

# Letters of scripts that are written without spaces may precede and follow a number: 卡号4111…
_CARD: Final = re.compile(r"(?<![\w.+])(?<![0-9A-Fa-f]{4}-)\d(?:[ -]?\d){11,18}(?![\w]|[.,-]\d)", re.ASCII)
_CARD_END: Final = re.compile(r"(?<![\w.+])\d(?:[ -]?\d){0,18}[ -]?$", re.ASCII)
_ISSUERS: Final = (
    (re.compile(r"4"), (16, 19)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"6011|64[4-9]|65|62|60[689]|81"), (16, 17, 18, 19)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 17, 18, 19)),
    (re.compile(r"30[0-5]|309|36|3[89]"), (14, 16, 19)),
    (re.compile(r"50|5[678]|6"), (12, 16, 18, 19)),
    (re.compile(r"220[0-4]"), (16, 17, 18, 19)),
)
"""Prefixes of the issuers of cards and the lengths of their numbers. Visa's old length of 13 is that of German EANs."""


def cards(text: str) -> Iterator[Span]:
    """Yield the card numbers of known issuers with the right length and checksum."""
    for match in _CARD.finditer(text):
        digits = re.sub("[ -]", "", match[0])
        is_known = any(len(digits) in sizes and prefix.match(digits) for prefix, sizes in _ISSUERS)
        if is_known and _has_luhn_checksum(digits):
            yield match.span()


def _has_luhn_checksum(digits: str) -> bool:
    numbers = [int(char) for char in reversed(digits)]
    doubled = [2 * each - 9 * (each > 4) for each in numbers[1::2]]
    return len(set(numbers)) > 1 and (sum(numbers[::2]) + sum(doubled)) % 10 == 0


# -- the guard -------------------------------------------------------------------------------------------------

_DIGIT: Final = re.compile(r"[0-9]")
_FINDERS: Final[Mapping[str, Callable[[str], Iterator[Span]]]] = {
    "email": emails,
    "iban": ibans,
    "card": cards,
    "phone": phones,
}
_ENDS: Final[Mapping[str, tuple[re.Pattern[str], int]]] = {
    "email": (_EMAIL_END, _MAX_EMAIL),
    "iban": (_IBAN_END, _MAX_IBAN),
    "card": (_CARD_END, 38),
    "phone": (PHONE_END, 48),
}
"""What the end of a text looks like that may be the start of a match, and its longest length."""


def find(detect: Sequence[str], text: str) -> list[GuardFinding]:
    """Return the matches in order; of overlapping ones, the kind that is first in the list of kinds."""
    has_digit = _DIGIT.search(text) is not None
    found = list[GuardFinding]()
    for kind in detect:
        if has_digit or kind == "email":
            for start, stop in _FINDERS[kind](text):
                if all(stop <= each.start or start >= each.stop for each in found):
                    found.append(GuardFinding(kind, start, stop))
    return sorted(found, key=lambda each: each.start)


def held_from(detect: Sequence[str], text: str) -> int:
    """Return from where the end of a text may be the start of a match."""
    size = len(text)
    held = size
    for kind in detect:
        end, most = _ENDS[kind]
        first = max(0, size - most)
        if kind == "email":  # a mail address is a part of the last word
            if size == 0 or text[-1].isspace():
                continue
            first = max(first, size - len(text.rsplit(None, 1)[-1]))
        elif kind != "iban" and text[-1:] not in ("+", "(") and _DIGIT.search(text, first) is None:
            continue
        # The character before the first one decides whether a word begins, so the text is not sliced.
        if match := end.search(text, first):
            held = min(held, match.start())
    return held


def _open(options: PersonalDataOptions, _: GuardServices) -> Guard:
    # Checksums first: a card number contains what looks like a phone number.
    detect = tuple(kind for kind in _FINDERS if kind in options.detect)
    return Guard(find=lambda text: find(detect, text), held_from=lambda text: held_from(detect, text))


PERSONAL_DATA: Final = GuardSpec(
    name="personal_data",
    options=PersonalDataOptions,
    open=_open,
    summary="mail addresses, IBANs, card numbers and phone numbers, by pattern and checksum",
    order=10,
)
