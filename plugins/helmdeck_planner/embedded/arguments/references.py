"""The part of a request that "it" refers to, and what a step takes from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import Action, Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import has_reference
from helmdeck_planner.embedded.arguments.ids import is_opaque, likely_of
from helmdeck_planner.embedded.arguments.refs import takes_repository
from helmdeck_planner.embedded.arguments.sources import Earlier, Sources
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import FOLDER_WORDS

_REFERRED: Final = {
    Role.PATH: (Kind.PATH,),
    Role.URL: (Kind.URL,),
    Role.EMAIL: (Kind.EMAIL,),
    Role.ID: (Kind.ID, Kind.HASH),
}

# An article and the noun that a description starts with.
_FIRST: Final = 2


def _referred(earlier: Sequence[Earlier], profile: Profile) -> Earlier | None:
    """Return the part that "it" refers to: the last one that is not excluded.

    What an excluded part states is meant only by an entry that reads, and if nothing else is stated: "never overwrite a.txt, just
    read it".
    """
    requested = [each for each in earlier if not each.part.is_excluded]
    if not earlier[-1].part.is_excluded or not _states_value(earlier[-1]):
        return requested[-1] if requested else None
    is_clear = profile.writes is False and not any(map(_states_value, requested))
    return earlier[-1] if is_clear else None


def _states_anything(earlier: Earlier) -> bool:
    """Whether a part states a value, or an id of letters."""
    return any(token.is_value or is_opaque(token) for token in earlier.part.tokens)


def _moved_to(earlier: Earlier) -> str:
    """Return where a step moves or copies a file to, which is what "it" is from then on; empty if it does neither."""
    sides = {
        each.side: earlier.args.get(each.name)
        for each in (earlier.profile.required if earlier.profile is not None else ())
        if each.side
    }
    target = sides.get("target") if "source" in sides else None
    return target if isinstance(target, str) else ""


def _alike_of(earlier: Earlier, each: Property, profile: Profile) -> str:
    """Return the only id of a step whose description starts with the name of an input: "The timestamp of the parent"; empty without one.

    What was only just created has no id yet.
    """
    if each.role is not Role.ID or each.is_list or not each.labels or earlier.profile is None:
        return ""
    if Action.CREATE in earlier.profile.actions:
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


def _makes_another(before: Earlier, profile: Profile) -> bool:
    """Whether the step before creates what an entry acts on, so that an id in its part is that of something else."""
    own = before.profile
    is_new = own is not None and Action.CREATE in own.actions
    return own is not None and is_new and bool(set(own.name) & set(profile.name))


def fill_references(draft: Draft, sources: Sources) -> None:
    """Set required inputs from the part before, if this part refers to it."""
    before = _referred(sources.earlier, draft.profile) if sources.earlier and has_reference(draft) else None
    if before is None:
        return
    # "on ab12 apply x, then I need types, and is it slower": the last part that states anything.
    stating = next((row for row in reversed(sources.earlier) if _states_anything(row)), before)
    stating = before if stating.part.is_excluded else stating
    needed = [each for each in draft.open_inputs() if each.is_required]
    for each in needed:
        if each.role in (Role.CONTENT, Role.QUERY, Role.BOOLEAN):
            continue
        if each.side == "target" and before.profile is draft.profile and each.name in before.args:
            continue  # "move a.txt into it" has its own new path
        if each.name in before.args and each.role is not Role.CHOICE:
            draft.set(each, before.args[each.name], [])
        elif value := _alike_of(before, each, draft.profile) or _stated_value(draft, each, before, stating, needed):
            draft.set(each, value, [])


def _stated_value(draft: Draft, each: Property, before: Earlier, stating: Earlier, needed: Sequence[Property]) -> str:
    """Return the only value of an input's kind in the part that states any; empty without one.

    :param before: the part that is referred to.
    :param needed: the required inputs that are open.
    """
    kinds = _REFERRED.get(Role.PATH if each.side == "source" and each.role is Role.TEXT else each.role, ())
    is_id, is_path = each.role is Role.ID, each.role is Role.PATH
    if is_id and _makes_another(before, draft.profile):
        return ""  # "create an invoice for cus_1 and finalize it": the id of the invoice is not known yet
    own = [token for token in stating.part.tokens if not (takes_repository(each) and is_file(token))]
    found = [token.value for token in own if token.kind in kinds or (is_id and is_opaque(token))]
    if is_path and (moved := _moved_to(before)):
        found = [moved]
    if is_id:
        found = [value for value in found if value not in draft.args.values()]
    if is_path and FOLDER_WORDS & set(each.words):
        found = [value for value in found if value[0] in "/~." or "." not in value.rpartition("/")[2]]
    if len(found) != 1:
        return ""
    alike = [other for other in needed if other.role is each.role and other.name not in before.args]
    is_own = not is_id or len(alike) == 1 or likely_of(draft, alike, found[0]) is each
    return found[0] if is_own else ""
