"""The facts of a question that vectors blur: numbers, signs, names, units, and words of negation, direction and time.

The lists are English. In other languages only numbers, names and symbols are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+(?:['’.:/_-][^\W_]+)*|[%$€£¥°<>=≤≥≠±+−×÷*/^#|&~-]")

_NUMBERS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion half double twice once first second third fourth fifth last next previous"
)
_NEGATIONS: Final = (
    "no not never none nothing nowhere neither nor cannot without except excluding including unless only yet lacks lacking "
    "missing instead"
)
_DIRECTIONS: Final = (
    "from to into before after above below over under up down left right north south east west in out on off import export "
    "increase decrease raise lower encrypt decrypt enable disable upload download ascending descending buy sell lock unlock "
    "open close start stop install uninstall add remove push pull send receive allow deny accept reject min max minimum maximum "
    "least most more less fewer larger smaller longest shortest highest lowest largest smallest biggest best worst oldest "
    "newest fastest slowest cheapest begin end inside outside since until compress decompress serialize deserialize encode decode "
    "mount unmount subscribe unsubscribe follow unfollow login logout read write input output client server"
)
_TIMES: Final = (
    "today tomorrow yesterday morning noon afternoon evening night midnight day week month quarter year spring summer autumn "
    "fall winter monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december daily weekly monthly yearly am pm now"
)
_UNITS: Final = (
    "km kilometre kilometer m metre meter cm mm mile foot feet inch yard hectare acre gram g kg mg kilogram ounce pound ton litre "
    "liter gallon pint celsius fahrenheit kelvin euro dollar yen franc cent percent bit byte kb mb gb tb hour minute "
    "millisecond microsecond ms s hz khz mhz ghz watt kw volt v kv amp square cubic"
)
_MARKED: Final = frozenset(f"{_NUMBERS} {_NEGATIONS} {_DIRECTIONS} {_TIMES} {_UNITS}".split())
_NOT_MARKED: Final = frozenset(
    ("in", "on", "to", "s", "m", "v", "may", "fall", "second", "right", "left", "most", "end", "read", "write")
)
"""Words of the lists that mostly have another meaning."""
_PREFIXES: Final = ("un", "non", "dis", "in", "im", "ir")


def facts_of(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the numbers, signs and names of a question in order, and its marked words."""
    ordered: list[str] = []
    marked: set[str] = set()
    is_first = True
    for match in _WORD.finditer(text):
        word = match[0]
        folded = word.casefold().replace("’", "'")
        if (
            any(char.isdigit() for char in word)
            or not word[0].isalnum()
            or (word[0].isupper() and not is_first and word != "I")
            or word[1:].lower() != word[1:]
        ):
            ordered.append(folded)
        marked.update(_marks(folded))
        is_first = text[match.end() : match.end() + 1] in (".", "?", "!", ":")
    return tuple(ordered), frozenset(marked)


def _marks(word: str) -> Iterator[str]:
    if word.endswith("n't"):
        yield "not"
    singular = word.removesuffix("s")
    for each in dict.fromkeys((word, singular)):
        if each in _MARKED and each not in _NOT_MARKED:
            yield each
            return
    if len(word) > 6 and word.startswith(_PREFIXES):
        yield next(prefix for prefix in _PREFIXES if word.startswith(prefix)) + "-"


def same_facts(first: str, second: str) -> bool:
    """Return whether two questions have the same facts."""
    return facts_of(first) == facts_of(second)
