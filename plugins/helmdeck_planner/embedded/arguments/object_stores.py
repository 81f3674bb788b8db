"""The bucket, the key and the local file of an object store: "upload /tmp/a.txt to logs-2027 as in/a.txt"."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Role

_BUCKET: Final = ("bucket",)
_KEY: Final = ("key",)
_PATHS: Final = (Kind.PATH, Kind.SLUG)
_LOCAL: Final = ("/", "~", ".")
_BEFORE_BUCKETS: Final = ("from", "to", "in", "of", "into")


def fill_stored_object(draft: Draft) -> None:
    """Set a key from the only relative path, a local file from the only other one, and a bucket from the name behind a preposition."""
    inputs = {each.words: each for each in draft.open_inputs() if each.is_required and not each.is_list}
    if _BUCKET not in inputs or _KEY not in inputs:
        return
    every = draft.free(*_PATHS)
    local = [place for place in every if draft.tokens[place].value.startswith(_LOCAL)]
    keys = [place for place in every if place not in local]
    files = [each for each in draft.open_inputs() if each.is_required and each.role is Role.PATH]
    if len(keys) == 1:
        draft.set_only([inputs[_KEY]], keys)
    draft.set_only(files, local)
    named = [
        place
        for place in range(1, len(draft.tokens))
        if draft.preposition(place - 1) in _BEFORE_BUCKETS and place not in draft.used_places
        if draft.tokens[place].is_word or draft.tokens[place].kind is Kind.ID
    ]
    if len(named) == 1 and not draft.is_filler(named[0]):
        draft.set_only([inputs[_BUCKET]], named)
