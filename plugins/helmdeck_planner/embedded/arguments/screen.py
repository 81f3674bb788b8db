"""Elements and keys of a screen: "click e42", "fill #email with ...", "press Enter"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import describes_entry
from helmdeck_planner.embedded.arguments.listed import set_names
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import KEY_NAMES

# References of snapshots, and selectors of CSS and XPath.
_ELEMENT: Final = re.compile(
    r"(?<![\w./#\[-])(?:(?:[a-z]{1,2}\d{1,6}){1,3}(?![\w.-])|\d{1,6}_\d{1,6}(?![\w.-])"
    r"|[a-z][\w-]{0,40}(?:\[[^\]\s]{1,100}\]|[#.][A-Za-z][\w-]{0,60})(?:[#.:\[][\w\-=\"'\]()]{1,80}){0,4}"
    r"|[#.][A-Za-z][\w-]{0,60}(?:[#.:\[][\w\-=\"'\]()]{1,80}){0,4}|\[[^\]\s]{1,100}\]|//[\w*\[\]@='\"/()-]{1,200})"
)
_KEY: Final = re.compile(r"(?:(?:ctrl|control|alt|shift|cmd|meta|command)\s?\+\s?)*[A-Za-z]+\d{0,2}|\w", re.IGNORECASE)

_FUNCTION_KEY: Final = re.compile(r"[Ff]\d{1,2}")


def fill_screen(draft: Draft) -> None:
    """Set the inputs that take a reference or selector of an element, and those that take the name of a key."""
    targets = [each for each in draft.open_inputs() if each.role is Role.TARGET]
    found = elements(draft) if targets else []
    if len(targets) == 1 and len(found) == 1:
        _set(draft, targets[0], found[0])
    elif len(targets) > 1:
        _fill_sides(draft, targets, found)
    for each in [each for each in draft.open_inputs() if each.role is Role.KEY and each.is_required]:
        if places := _key(draft):
            draft.set_text(each, places)


def fill_entered(draft: Draft) -> None:
    """Set the only text for an element from the object of the verb, or from what is after "to": "pick Austria in #country"."""
    needed = [each for each in draft.open_inputs() if each.is_required]
    has_target = any(each.role is Role.TARGET and each.name in draft.args for each in draft.profile.properties)
    if not has_target or [each.role for each in needed] != [Role.CONTENT] or draft.free(Kind.QUOTE, Kind.CODE):
        return
    first = draft.part.verb_place + 1
    behind = [place for place in range(1, len(draft.tokens)) if _follows_target(draft, place - 1)]
    for start in (first, *behind) if first > 0 else ():
        places = _entered(draft, start)
        if places and (start == first or places[-1] == len(draft.tokens) - 1):
            is_list = needed[0].is_list and any(map(draft.joins_list, places))
            set_names(draft, needed[0], places[:1] if is_list else places)
            return


def _entered(draft: Draft, start: int) -> list[int]:
    """Return the words of a text up to a preposition; none of "the password", but the last one of "the option Express"."""
    end = start
    while end < len(draft.tokens) and end not in draft.used_places and not draft.preposition(end):
        end += 1
    words = [place for place in range(start, end) if draft.tokens[place].kind is not Kind.BREAK]
    named = [place for place in words if describes_entry(draft, place)]
    has_article = bool(words) and draft.is_filler(start)
    if named and has_article:
        words = words[words.index(named[-1]) + 1 :]
    return [] if (has_article and not named) or (named and not has_article) else words


def _follows_target(draft: Draft, place: int) -> bool:
    return place - 1 in draft.used_places and draft.preposition(place) in ("to", "with")


def elements(draft: Draft) -> list[list[int]]:
    """Return the places of each element; a quoted string is none, unless it looks like a selector."""
    found = []
    first = min(token.start for token in draft.tokens)
    last = max(token.end for token in draft.tokens)
    for match in _ELEMENT.finditer(draft.source, first, last):
        own = [
            place
            for place, token in enumerate(draft.tokens)
            if token.start >= match.start() and token.end <= match.end()
        ]
        is_whole = own and draft.tokens[own[0]].start == match.start() and draft.tokens[own[-1]].end == match.end()
        if is_whole and not (len(own) == 1 and draft.tokens[own[0]].kind in (Kind.PATH, Kind.URL, Kind.EMAIL)):
            found.append(own)
    for place in draft.free(Kind.QUOTE, Kind.CODE):
        if _ELEMENT.fullmatch(draft.tokens[place].value):
            found.append([place])
    return sorted(found)


def _fill_sides(draft: Draft, targets: Sequence[Property], found: Sequence[list[int]]) -> None:
    """Set the elements of "drag e4 to e9"."""
    if len(found) != len(targets) or {each.side for each in targets} != {"source", "target"}:
        return
    at_target = [own for own in found if draft.preposition_before(own[0]) in ("to", "on", "into")]
    if len(at_target) == 1 and len(targets) == 2:
        for each in targets:
            own = at_target[0] if each.side == "target" else next(row for row in found if row is not at_target[0])
            _set(draft, each, own)


def _set(draft: Draft, each: Property, places: list[int]) -> None:
    draft.set_text(each, places)


def _key(draft: Draft) -> list[int]:
    """Return the places of the key in "press Enter", "press the Enter key", "hit Ctrl+C"."""
    tokens = draft.tokens
    places = [
        place
        for place in range(draft.part.verb_place + 1, len(tokens))
        if not draft.is_one_of(place, "key_words")
        and not (tokens[place].is_word and draft.is_filler(place) and len(tokens[place].value) > 1)
    ]
    if not places or places != list(range(places[0], places[-1] + 1)) or draft.part.verb_place < 0:
        return []
    text = draft.text(places[0], places[-1])
    return places if _KEY.fullmatch(text) and all(map(_is_key, re.split(r"\s?\+\s?", text))) else []


def _is_key(name: str) -> bool:
    """Whether a keyboard has a key of a name; "submit" is a button."""
    return len(name) == 1 or name.lower() in KEY_NAMES or bool(_FUNCTION_KEY.fullmatch(name))
