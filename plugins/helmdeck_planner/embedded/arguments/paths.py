"""A path that a request states in two places: "a folder called backups in /srv"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from helmdeck_language import Action, Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.sources import Earlier
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import NAMING_VERBS

_WRITING: Final = frozenset((Action.CREATE, Action.UPDATE))
_MAKING: Final = frozenset((Action.CREATE, Action.PRODUCE))
_MOVED: Final = (("source", "from"), ("target", "to"))
_NAMES: Final = (Kind.WORD, Kind.SLUG, Kind.QUOTE, Kind.PATH)


def fill_new_paths(draft: Draft) -> None:
    """Join the folder and the name of a thing that an entry creates or writes, where its only path takes both."""
    inputs = draft.profile.properties
    paths = [each for each in inputs if each.role is Role.PATH and not each.is_list]
    if any(each.role in (Role.NAME, Role.ID) for each in inputs):
        return
    if len(paths) != 1 or not _WRITING & draft.profile.actions:
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
        if draft.is_naming(place - 1)
        and not draft.is_one_of(place - 1, "saying")
        and draft.tokens[place].kind in _NAMES
        and not draft.tokens[place].value.startswith(("/", "~"))
        and place not in draft.used_places
    ]
    if len(folders) == len(names) == 1:
        folder, name = draft.tokens[folders[0]].value, draft.tokens[names[0]].value
        draft.set(paths[0], f"{folder.rstrip('/')}/{name}", [folders[0]], names)


def fill_moved(draft: Draft) -> None:
    """Join both folders of "move a.txt from /in to /out" with the name of the file."""
    inputs = {each.side: each for each in draft.open_inputs() if each.is_required and each.side and not each.is_list}
    paths = [place for place in draft.free(Kind.PATH) if draft.tokens[place].value != "/"]
    files = [place for place in paths if is_file(draft.tokens[place]) and "/" not in draft.tokens[place].value]
    folders = [place for place in paths if not is_file(draft.tokens[place])]
    sides = [draft.preposition_before(place) for place in folders]
    if len(files) != 1 or len(paths) != 3 or sorted(sides) != ["from", "to"] or set(inputs) != {"source", "target"}:
        return
    name = draft.tokens[files[0]].value
    for side, preposition in _MOVED:
        place = folders[sides.index(preposition)]
        folder = draft.tokens[place].value.rstrip("/")
        draft.set(inputs[side], f"{folder}/{name}", files if side == "source" else [place])
    draft.used_places.update(folders)


def fill_folders(draft: Draft) -> None:
    """Put the folder of "rename a.txt to b.txt in /home/ann" before names of files that have none; a new name has that of the old one."""
    _fill_same_folder(draft)
    stated = {token.value for token in draft.tokens if token.kind is Kind.PATH}
    paths = [
        each
        for each in draft.profile.properties
        if each.name in draft.args
        and (each.role is Role.PATH or each.side)
        and stated.issuperset(_listed(draft.args[each.name]))
    ]
    folders = [
        place
        for place in draft.free(Kind.PATH)
        if not is_file(draft.tokens[place]) and draft.is_one_of(place - 1, "inside")
    ]
    values = [value for each in paths for value in _listed(draft.args[each.name])]
    if len(folders) != 1 or not values or any("/" in value or "*" in value for value in values):
        return
    folder = draft.tokens[folders[0]].value.rstrip("/")
    for each in paths:
        value = draft.args[each.name]
        draft.args[each.name] = [f"{folder}/{name}" for name in value] if each.is_list else f"{folder}/{value}"
    draft.used_places.update(folders)


def _fill_same_folder(draft: Draft) -> None:
    """Put the folder of "rename /srv/a.txt to b.txt" before the new name."""
    sides = {each.side: each for each in draft.profile.required if each.side and not each.is_list}
    old, new = (draft.args.get(sides[side].name) if side in sides else None for side in ("source", "target"))
    names = [token.value for token in draft.tokens if token.kind is Kind.PATH and is_file(token)]
    is_renamed = draft.part.verb in NAMING_VERBS
    if is_renamed and isinstance(old, str) and isinstance(new, str) and "/" in old and old in names and new in names:
        draft.args[sides["target"].name] = new if "/" in new else f"{old.rpartition('/')[0]}/{new}"


def fill_made_folder(draft: Draft, earlier: Sequence[Earlier]) -> None:
    """Set the folder of "move a.txt into it" and "put b.txt there" from the step before, if that creates one or changes a file in one."""
    if not any(_is_into_it(draft, place) for place in range(len(draft.tokens))):
        return
    # "move a.txt and b.txt into it": the step before is another of the same entry.
    others = [row for row in earlier if row.profile is not draft.profile]
    folder = _folder_before(draft, others[-1]) if others else ""
    if not folder.startswith(("/", "~")):
        return
    folder = folder.rstrip("/")
    sides = {each.side: each for each in draft.profile.required if each.side and not each.is_list}
    source = draft.args.get(sides["source"].name) if sides.keys() == {"source", "target"} else None
    if isinstance(source, str) and sides["target"].name not in draft.args:
        draft.set(sides["target"], f"{folder}/{source.rstrip('/').rpartition('/')[2]}", [])
    for each in draft.profile.required:
        name = draft.args.get(each.name)
        is_name = isinstance(name, str) and "/" not in name and any(token.value == name for token in draft.tokens)
        if each.role is Role.PATH and each.side != "source" and is_name:
            draft.args[each.name] = f"{folder}/{name}"


def _folder_before(draft: Draft, before: Earlier) -> str:
    """Return the folder that a step creates; for "there" also the only one with the files of a step."""
    if before.profile is None:
        return ""
    inputs = [each for each in before.profile.required if each.role is Role.PATH and not each.is_list]
    paths = [value for value in before.args.values() if isinstance(value, str) and "/" in value]
    if _MAKING & before.profile.actions and len(inputs) == len(before.args) == len(paths) == 1:
        return paths[0]
    folders = {path.rpartition("/")[0] for path in paths}
    is_there = any(token.word == "there" for token in draft.tokens)
    has_files = all("." in path.rpartition("/")[2].lstrip(".") for path in paths)
    is_own = before.profile.entry.source == draft.profile.entry.source
    return folders.pop() if is_there and is_own and has_files and len(folders) == 1 else ""


def _is_into_it(draft: Draft, place: int) -> bool:
    """Whether a word refers to a place: the "it" of "into it", and "there"."""
    word = draft.tokens[place].word
    is_thing = word in draft.wording.language.references and draft.preposition(place - 1) in ("in", "to")
    return is_thing or (word == "there" and place > draft.part.verb_place >= 0)


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
