"""Orders search results by what a ranker of single entries does not see: their neighbours, and the numbers that they need.

The tools of one server describe the same matter in few words each. If many of them match a request, the request is about that
matter, and the best of them is more likely to serve it than a tool of a server that matches by chance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import attrs

from helmdeck_core import Catalog, Entry, Score

CONSIDERED = 60
"""Best entries of the ranking by which families are compared."""

_NEIGHBOURS = 6
"""Best entries of a family that count."""

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w/])")
_FITTING_NUMBER = 1.4
"""For each of the numbers: two that fit are better evidence than one."""

_MISSING_NUMBERS = 0.9


def family_of(entry_id: str) -> str:
    """Return the part of an id that the tools of one server share: ``git`` for ``git__status`` and ``git.status``."""
    return re.split(r"__|[./]", entry_id, maxsplit=1)[0]


def by_family(scores: Sequence[Score]) -> Sequence[Score]:
    """Return scores, each raised by the share that its family has of the best family's score, the highest first."""
    families: dict[str, list[float]] = defaultdict(list)
    for score in sorted(scores, key=lambda each: -each.score):
        families[family_of(score.id)].append(score.score)
    strength = {family: sum(found[:_NEIGHBOURS]) for family, found in families.items()}
    best = max(strength.values(), default=0.0) or 1.0
    raised = [attrs.evolve(each, score=each.score * (1 + strength[family_of(each.id)] / best)) for each in scores]
    return sorted(raised, key=lambda each: -each.score)


def by_numbers(scores: Sequence[Score], catalog: Catalog, request: str) -> Sequence[Score]:
    """Return scores, raised where the request has exactly the numbers that an entry requires, lowered where some are missing."""
    given = len(_NUMBER.findall(request))

    def factor(score: Score) -> float:
        entry = catalog.get(score.id)
        needed = _required_numbers(entry) if entry is not None else 0
        if not needed or needed < given:
            return 1.0
        return _FITTING_NUMBER**needed if needed == given else _MISSING_NUMBERS

    return [attrs.evolve(each, score=each.score * factor(each)) for each in scores]


def _required_numbers(entry: Entry) -> int:
    schema = entry.input_schema or {}
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, (list, tuple)):
        return 0
    found = (properties.get(name) for name in required if isinstance(name, str))
    return sum(isinstance(each, Mapping) and each.get("type") in ("number", "integer") for each in found)
