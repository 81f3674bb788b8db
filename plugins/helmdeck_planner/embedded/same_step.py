"""Parts that state more of the step before them: "reserve 6 seats. Under the name Brandt, please"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_planner.embedded.arguments.fill import Sources, arguments_of, drafted, fill
from helmdeck_planner.embedded.continuations import together
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.request.parts import refers
from helmdeck_planner.embedded.request.word_lists import word_list

_ANOTHER: Final = word_list("another")


def of_same_step(before: Pick, after: Pick, sources: Sources) -> Sequence[Pick]:
    """Return one pick for two parts with the same entry where the second one states more of the same step.

    "read a.txt and read b.txt" are two steps, "create an issue 'Crash'. Label it bug" is one. Where the step cannot take what the second
    part states, that part becomes a gap.

    :param sources: with the parts before both as the earlier ones.
    :returns: both picks unchanged if they are two steps.
    """
    both, profile, tokens = (before, after), before.profile, after.part.tokens
    if profile is None or after.profile is not profile or not profile.properties:
        return both
    if (after.part.verb and after.part.verb == before.part.verb) or any(token.word in _ANOTHER for token in tokens):
        return both
    args = fill(before.part, profile, sources)
    own = arguments_of(drafted(after.part, profile, attrs.evolve(sources, earlier=())))
    if any(args.get(name, value) != value for name, value in own.items()):
        return (before, attrs.evolve(after, profile=None)) if refers(after.part, sources.wording) else both
    if profile.writes is not False and own and own.keys() <= args.keys():
        return both  # "press Tab, then press Tab"
    joined = together(before.part, after.part, sources.request)
    more = fill(joined, profile, sources)
    if all(more.get(name) == value for name, value in {**own, **args}.items()):
        return (attrs.evolve(before, part=joined),)
    return (before, attrs.evolve(after, profile=None)) if own else (before,)
