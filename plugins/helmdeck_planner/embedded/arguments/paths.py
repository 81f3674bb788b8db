"""A path that a request states in two places: "a folder called backups in /srv"."""

from __future__ import annotations

from typing import Final

from helmdeck_language import ACTIONS, Action, Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.properties import Role

_WRITING: Final = frozenset((Action.CREATE, Action.UPDATE))
_NAMES: Final = (Kind.WORD, Kind.SLUG, Kind.QUOTE, Kind.PATH)


def fill_new_paths(draft: Draft) -> None:
    """Join the folder and the name of a thing that an entry creates or writes, where its only path takes both."""
    inputs = draft.profile.properties
    paths = [each for each in inputs if each.role is Role.PATH and not each.is_list]
    if any(each.role in (Role.NAME, Role.ID) for each in inputs):
        return
    if len(paths) != 1 or not _WRITING & ACTIONS.get(draft.profile.verb, frozenset()):
        return
    folders = [
        place
        for place in draft.free(Kind.PATH)
        if place
        and "/" in draft.tokens[place].value
        and not is_file(draft.tokens[place])
        and draft.is_one_of(place - 1, "inside")
    ]
    names = [
        place
        for place in range(1, len(draft.tokens))
        if draft.tokens[place - 1].word in draft.wording.language.naming
        and draft.tokens[place].kind in _NAMES
        and not draft.tokens[place].value.startswith(("/", "~"))
        and place not in draft.used_places
    ]
    if len(folders) == len(names) == 1:
        folder, name = draft.tokens[folders[0]].value, draft.tokens[names[0]].value
        draft.set(paths[0], f"{folder.rstrip('/')}/{name}", [folders[0]], names)
