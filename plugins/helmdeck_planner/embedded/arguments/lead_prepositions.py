"""The prepositions that lead to what an input takes, as the descriptions of an entry and of its inputs say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from helmdeck_language import ENGLISH, stem, words
from helmdeck_planner.embedded.entries.profiles import Profile

_BEFORE_WHICH: Final = re.compile(r"\b(\w+) which\b")
_OF: Final = re.compile(r"(?:name|id|number|path|key) of (?:the |a |an )?(\w+)$", re.IGNORECASE)
_AT_END: Final = re.compile(r"\b[a-z]+ (\w+)\s?(?:[.,;(]|$)")


def lead_prepositions(profile: Profile) -> Mapping[str, frozenset[str]]:
    """Return the prepositions of each input, by its name; none that lead to several.

    "on" leads to the device of "start a film on a device", "with" to the "card it was paid with", "at" to the "branch at which it is
    collected".
    """
    inputs = tuple((each.name, each.labels, each.text) for each in profile.properties)
    return _lead_prepositions(profile.entry.description, inputs)


@lru_cache(1_000)
def _lead_prepositions(
    description: str, inputs: Sequence[tuple[str, frozenset[str], str]]
) -> Mapping[str, frozenset[str]]:
    whole = words(description)
    found = {name: _before(whole, labels | _described(text)) | _relative(text) for name, labels, text in inputs}
    count = Counter(preposition for own in found.values() for preposition in own)
    return {name: frozenset(each for each in own if count[each] == 1) for name, own in found.items()}


def _before(whole: Sequence[str], labels: frozenset[str]) -> frozenset[str]:
    """Return the prepositions before words that label an input, articles skipped."""
    found = set[str]()
    for place in (place for place, word in enumerate(whole) if stem(word) in labels):
        before = place - 1
        while before > 0 and whole[before] in ENGLISH.determiners:
            before -= 1
        if before >= 0 and whole[before] in ENGLISH.prepositions:
            found.add(ENGLISH.prepositions[whole[before]])
    return frozenset(found)


def _described(text: str) -> frozenset[str]:
    """Return the stem of what a description is the name, the id or the path of: "video" of "Path of the video"."""
    found = _OF.match(text)
    return frozenset((stem(found[1].lower()),)) if found else frozenset()


def _relative(text: str) -> frozenset[str]:
    found = {*_BEFORE_WHICH.findall(text.lower()), *_AT_END.findall(text.lower())}
    return frozenset(ENGLISH.prepositions[each] for each in found if each in ENGLISH.prepositions)
