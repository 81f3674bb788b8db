"""The part of a request that "it" refers to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import ACTIONS, Action, stem
from helmdeck_planner.embedded.arguments.context import Earlier
from helmdeck_planner.embedded.arguments.ids import is_opaque
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import UNNEEDED

# An article and the noun that a description starts with.
_FIRST: Final = 2


def referred(earlier: Sequence[Earlier], profile: Profile) -> Earlier | None:
    """Return the part that "it" refers to: the last one that is not excluded.

    What an excluded part states is meant only by an entry that reads, and if nothing else is stated: "never overwrite a.txt, just
    read it".
    """
    requested = [each for each in earlier if not each.part.is_excluded]
    if not earlier[-1].part.is_excluded or not _states_value(earlier[-1]):
        return requested[-1] if requested else None
    # "we don't need the rule ar-7 any more, bin it"
    is_spare = Action.DELETE in ACTIONS.get(profile.verb, frozenset()) and any(
        token.word in UNNEEDED for token in earlier[-1].part.tokens
    )
    is_clear = (profile.writes is False or is_spare) and not any(map(_states_value, requested))
    return earlier[-1] if is_clear else None


def states_anything(earlier: Earlier) -> bool:
    """Whether a part states a value, or an id of letters."""
    return any(token.is_value or is_opaque(token) for token in earlier.part.tokens)


def moved_to(earlier: Earlier) -> str:
    """Return where a step moves or copies a file to, which is what "it" is from then on; empty if it does neither."""
    sides = {
        each.side: earlier.args.get(each.name)
        for each in (earlier.profile.required if earlier.profile is not None else ())
        if each.side
    }
    target = sides.get("target") if "source" in sides else None
    return target if isinstance(target, str) else ""


def alike_of(earlier: Earlier, each: Property, profile: Profile) -> str:
    """Return the only id of a step whose description starts with the name of an input: "The timestamp of the parent"; empty without one.

    What was only just created has no id yet.
    """
    if each.role is not Role.ID or each.is_list or not each.labels or earlier.profile is None:
        return ""
    if Action.CREATE in ACTIONS.get(earlier.profile.verb, frozenset()):
        return ""
    names = {other.name for other in profile.properties}
    found = {
        str(earlier.args[other.name])
        for other in earlier.profile.required
        if other.name in earlier.args and other.name not in names and other.role is Role.ID and not other.is_list
        if each.labels <= {stem(word) for word in other.text.lower().split()[:_FIRST]}
    }
    return found.pop() if len(found) == 1 else ""


def _states_value(earlier: Earlier) -> bool:
    return any(token.is_value for token in earlier.part.tokens)


def makes_another(before: Earlier, profile: Profile) -> bool:
    """Whether the step before creates what an entry acts on, so that an id in its part is that of something else."""
    own = before.profile
    is_new = own is not None and Action.CREATE in ACTIONS.get(own.verb, frozenset())
    return own is not None and is_new and bool(set(own.name) & set(profile.name))
