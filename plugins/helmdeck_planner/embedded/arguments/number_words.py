"""Reads numbers in words: "twenty-five", "two hundred and ten", "half a dozen", "third"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from helmdeck_language import Token
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS

_SCALES: Final = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_SIGNS: Final = "$\u20ac\u00a3\u00a5#%"
_DECIMAL_COMMA: Final = re.compile(r"-?\d{1,30}(?:\.\d{3}){0,9},\d{1,2}")
_SHORT: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([km])", re.IGNORECASE)
_ARTICLES: Final = ("a", "an")
_ORDINALS: Final = {
    word: number
    for number, word in enumerate(
        "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=2
    )
}
_TEN: Final = 10
_MOST_TENS: Final = 90


def digits_of(text: str) -> str:
    """Return a number without its sign and the marks of its thousands: "1250.75" for "\u20ac1.250,75", "1500" for "$1.5k"."""
    text = text.strip(_SIGNS)
    if _DECIMAL_COMMA.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    if found := _SHORT.fullmatch(text):
        return str(int(Fraction(found[1]) * _SCALES["thousand" if found[2] in "kK" else "million"]))
    return text.replace(",", "")


def scaled(number: float, tokens: Sequence[Token], end: int) -> tuple[int | float | Fraction, int]:
    """Return the number of "2.5 million", and the place behind it."""
    scale = _SCALES.get(tokens[end].word) if end < len(tokens) and tokens[end].is_word else None
    return (Fraction(str(number)) * scale, end + 1) if scale else (number, end)


def ordinal(word: str) -> int | None:
    """Return the number of "third"."""
    return _ORDINALS.get(word)


def counted(tokens: Sequence[Token], place: int) -> tuple[Fraction, int] | None:
    """Return the whole number that starts at a place, and the place behind it; an article is one before a scale only: "a dozen"."""
    words = [token.word for token in tokens[place : place + 3] if token.is_word]
    if words == ["half", "a", "dozen"]:
        return Fraction(6), place + 3
    total, last, end = Fraction(0), Fraction(0), place
    while end < len(tokens) and tokens[end].is_word:
        word = tokens[end].word
        following = tokens[end + 1].word if end + 1 < len(tokens) else ""
        if word == "and" and total >= _SCALES["hundred"] and _value(following) is not None:
            end += 1
            continue
        if end == place and word in _ARTICLES and following in _SCALES:
            total = last = Fraction(1)
        elif word in _SCALES:
            total = last = (total or Fraction(1)) * _SCALES[word]
        else:
            number = _value(word)
            joins = not total or last >= _SCALES["hundred"] or (last <= _MOST_TENS and last % _TEN == 0 and last > _TEN)
            is_smaller = (
                number is not None and (not total or number < last) and (last >= 100 or number < _TEN or not total)
            )
            if number is None or not joins or not is_smaller:
                break
            total, last = total + number, number
        end += 1
    return (total, end) if total else None


def _value(word: str) -> Fraction | None:
    """Return the number of one word: "five", "twenty-five"."""
    if word in _ARTICLES or word in _SCALES or word == "half":
        return None
    first, _, second = word.partition("-")
    tens, ones = NUMBER_WORDS.get(first), NUMBER_WORDS.get(second)
    if not second:
        return tens
    is_pair = (
        tens is not None and ones is not None and _TEN < tens <= _MOST_TENS and tens % _TEN == 0 and 0 < ones < _TEN
    )
    return tens + ones if is_pair and tens is not None and ones is not None and second not in _ARTICLES else None
