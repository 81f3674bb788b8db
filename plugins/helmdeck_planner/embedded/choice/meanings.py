"""Compares what a part means with what entries do, whether or not they share a word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from helmdeck_core import EntryKind
from helmdeck_language import Token
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_selection import meaning_model, similarity

MAX_COMPARED: Final = 300
"""A larger catalog is searched by its words only: the vectors of its entries would take more time than the plan."""


@attrs.frozen
class Meaning:
    """How close the meaning of a part is to that of an entry.

    :ivar share: the probability that it is right, of all entries compared and none.
    :ivar place: 0 for the closest entry.
    """

    share: float
    place: int


def meanings(
    part: Part, indices: Iterable[int], profiles: Profiles, context: Sequence[Token] = ()
) -> dict[int, Meaning]:
    """Return how close each of some entries is to a part.

    :param context: what the part refers to: "the sandbox burns money" before "put it to sleep".
    """
    model = meaning_model()
    own = model.of_request(part.tokens)
    if context:
        # The mean of both similarities: the part before does not choose alone.
        both = model.of_request((*context, *part.tokens))
        own = [(first + second) / 2 for first, second in zip(own, both, strict=True)]
    found = [
        (similarity(own, profiles.vector(index)), -index)
        for index in indices
        if profiles.entries[index].kind is not EntryKind.PIPELINE
    ]
    found.sort(reverse=True)
    shares = model.shares([value for value, _ in found])
    return {-minus: Meaning(share, place) for place, ((_, minus), share) in enumerate(zip(found, shares, strict=True))}
