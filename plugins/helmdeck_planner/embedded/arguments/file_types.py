"""Patterns of files: "all markdown files" is ``*.md``, "files ending in .jpg" is ``*.jpg``; the types are in ``property_words.toml``."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import FILE_TYPES

_PICTURES: Final = ("images", "pictures", "photos")


def fill_patterns(draft: Draft) -> None:
    """Set a required pattern of files from the type or the extension that a part names."""
    for each in draft.open_inputs():
        if each.role is not Role.PATTERN or not each.is_required or draft.free(Kind.GLOB):
            continue
        names = [
            place
            for place in draft.free(Kind.PATH)
            if is_file(draft.tokens[place]) and "/" not in draft.tokens[place].value
        ]
        if len(names) == 1 and any(other.role is Role.PATH for other in draft.profile.required):
            # "find invoices.csv": a name to look for, in a folder; "files ending in .test.ts" name a part of one.
            value = draft.tokens[names[0]].value
            draft.set(each, _pattern(each, value) if _is_ending(draft, names[0]) else value, names)
        elif (found := _stated(draft)) is not None:
            extension, places = found
            draft.set(each, _pattern(each, extension), places)


def _pattern(each: Property, ending: str) -> str:
    return f"**/*{ending}" if each.wants_subfolders else f"*{ending}"


def _is_ending(draft: Draft, place: int) -> bool:
    """Whether an extension is meant: "files ending in .ts"."""
    is_named = any(draft.is_one_of(other, key) for other in range(place) for key in ("extensions", "files"))
    return is_named and draft.tokens[place].value.startswith(".")


def _stated(draft: Draft) -> tuple[str, list[int]] | None:
    tokens = draft.tokens
    for place in range(len(tokens) - 1):
        first, second = tokens[place], tokens[place + 1]
        is_free = not {place, place + 1} & draft.used_places
        is_kind = first.is_word and (draft.is_one_of(place + 1, "files") or second.word in _PICTURES)
        if is_kind and is_free and (found := FILE_TYPES.get(first.word)):
            return f".{found}", [place, place + 1]
        # ".jpg" is a mark and a word.
        if not is_free or first.value != "." or not second.is_word or first.end != second.start:
            continue
        if _is_ending(draft, place) or draft.is_one_of(place + 2, "files"):
            return f".{second.value}", [place, place + 1]
    return None
