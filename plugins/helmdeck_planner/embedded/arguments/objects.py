"""Fills an input that takes any fields: "add a row with Name 'Ada' and Age 36", "set Status to Archived"."""

from __future__ import annotations

from typing import Any, Final

import attrs

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Property
from helmdeck_planner.embedded.entries.property_words import REPLACING_VERBS, SETTING_VERBS

_VALUES: Final = (Kind.QUOTE, Kind.CODE, Kind.NUMBER, Kind.EMAIL, Kind.PHONE, Kind.URL, Kind.DATE)
# The same behind a word such as "to".
_SET_VALUES: Final = (*_VALUES, Kind.ID, Kind.PATH, Kind.SLUG, Kind.HASH)
# The same of cells.
_CELLS: Final = (Kind.QUOTE, Kind.NUMBER, Kind.EMAIL, Kind.PHONE, Kind.URL, Kind.DATE)
_MARKS: Final = (":", "=")
_LISTING: Final = (*_MARKS, "with", "where")


@attrs.frozen
class _Field:
    """A field with its value.

    :ivar places: of its name, of the words after it, and of its value.
    """

    name: str
    value: Any
    places: range


def fill_objects(draft: Draft) -> None:
    """Set the only required input that takes any fields, or a list of such objects."""
    inputs = [each for each in draft.open_inputs() if each.is_object and each.is_required]
    fields = _fields(draft) if len(inputs) == 1 else []
    if not fields:
        return
    found: list[dict[str, Any]] = [{}]
    for field in fields:
        if inputs[0].is_list and field.name in found[-1]:
            found.append({})
        found[-1][field.name] = field.value
    places = [place for field in fields for place in field.places]
    if all(item.keys() == found[0].keys() for item in found):
        draft.set(inputs[0], found if inputs[0].is_list else found[0], [])
        draft.used_places.update(places)


def fill_rows(draft: Draft) -> None:
    """Set the only required list of lists: "append the rows 'bolts', 40 and 'nuts', 12"."""
    inputs = [each for each in draft.open_inputs() if each.cell and each.is_required]
    rows = _rows(draft, inputs[0]) if len(inputs) == 1 else []
    if not rows:
        return
    is_text = inputs[0].cell == "string"
    tokens = [[draft.tokens[place] for place in row] for row in rows]
    cells = [
        [each.value if is_text or each.kind is Kind.QUOTE else typed_number(each.value) for each in row]
        for row in tokens
    ]
    draft.set(inputs[0], cells, [])
    draft.used_places.update(place for row in rows for place in row)


def _rows(draft: Draft, owner: Property) -> list[list[int]]:
    """Return the places of the values of each row; a conjunction is between two rows, a comma between two values."""
    others = draft.profile.labels_besides(owner)
    if (row := _row_of_words(draft)) is not None:
        return [row] if row else []
    rows: list[list[int]] = [[]]
    for place, token in enumerate(draft.tokens):
        if token.kind in (Kind.BREAK, Kind.SQL) or token.value == ";" or token.word in draft.wording.language.joints:
            rows.append([])
        is_cell = token.kind in _CELLS and place not in draft.used_places
        if is_cell and not (draft.stems(place - 1) & others):
            rows[-1].append(place)
    rows = [row for row in rows if row]
    if len({len(row) for row in rows}) > 1:
        is_several = any(token.word in owner.words and token.word.endswith("s") for token in draft.tokens)
        # "the row 'Ada', 'Bern' and 36"
        rows = [] if is_several else [[place for row in rows for place in row]]
    return rows


def _row_of_words(draft: Draft) -> list[int] | None:
    """Return the cells behind "row" where some are words, "the row Ann, 3, yes"; none if one has several words, ``None`` for values only."""
    start = next((place + 1 for place, token in enumerate(draft.tokens) if token.word == "row"), len(draft.tokens))
    end = next((place for place in range(start + 1, len(draft.tokens)) if draft.preposition(place)), len(draft.tokens))
    places = list(range(start, end))
    cells = [place for place in places if draft.tokens[place].kind is not Kind.MARK]
    is_listed = len(cells) > 1 and any(draft.tokens[place].value == "," for place in places)
    if not is_listed or all(draft.tokens[place].is_value for place in cells):
        return None
    is_single = all(draft.tokens[place - 1].value in (",", ":") for place in cells[1:])
    return cells if is_single else []


def _fields(draft: Draft) -> list[_Field]:
    """Return the fields in their order."""
    fields: list[_Field] = []
    is_listed = False
    place = draft.part.verb_place + 1
    while place < len(draft.tokens):
        is_listed = is_listed or draft.tokens[place].value in _LISTING
        if field := _field(draft, place, is_listed=is_listed or bool(fields)):
            fields.append(field)
            place = field.places[-1]
        place += 1
    return fields


def _field(draft: Draft, place: int, *, is_listed: bool) -> _Field | None:
    """Return the field whose name is at a place.

    :param is_listed: values follow the names of their fields directly there.
    """
    token = draft.tokens[place]
    is_name = token.is_word and place not in draft.used_places and not draft.is_filler(place)
    first = start = _after_owner(draft, place + 1)
    while start < len(draft.tokens) and _joins(draft, start):
        start += 1
    if not is_name or start >= len(draft.tokens) or start in draft.used_places or _is_own(draft, place, start):
        return None
    following, is_set = draft.tokens[start], start > first
    has_mark = draft.tokens[start - 1].value in _MARKS
    may_follow = is_set or is_listed or token.is_capital or following.kind is Kind.QUOTE
    if may_follow and following.kind in (_SET_VALUES if is_set else _VALUES):
        value = typed_number(following.value) if following.kind is Kind.NUMBER else following.value
        return _Field(token.value, value, range(place, start + 1))
    is_value = following.is_word and (has_mark or following.is_capital or not draft.is_filler(start))
    sets = draft.part.verb in REPLACING_VERBS | SETTING_VERBS
    if (is_set and is_value and (sets or has_mark)) or (is_listed and is_value and following.is_capital):
        end = _phrase_end(draft, start)
        return _Field(token.value, draft.text(start, end - 1), range(place, end))
    return None


def _after_owner(draft: Draft, start: int) -> int:
    """Return the place after "of contact 17" in "the phone of contact 17 is 5550": a thing that another input takes."""
    end = start
    while end < len(draft.tokens) and not (_joins(draft, end) or draft.tokens[end].kind is Kind.MARK):
        end += 1
    is_owner = draft.preposition(start) in ("of", "for") and not draft.used_places.isdisjoint(range(start, end))
    return end if is_owner else start


def _is_own(draft: Draft, place: int, start: int) -> bool:
    """Whether a word names the entry, or another input of it, unless a mark says that it is a field: "Name = Lamp"."""
    if draft.tokens[start - 1].value == "=":
        return False
    labels = frozenset[str]().union(*(each.labels for each in draft.profile.properties if not each.is_object))
    stems = draft.stems(place)
    is_labelled = place - 1 != draft.part.verb_place and bool(draft.stems(place - 1) & labels) if place else False
    return is_labelled or bool(stems & (draft.profile.nouns | draft.profile.verbs | labels))


def _joins(draft: Draft, place: int) -> bool:
    """Whether a token is between a field and its value: "is now", "to", "=" and the like."""
    is_verb = draft.tokens[place].word in ("should", "must") or draft.is_one_of(place, "becoming")
    return draft.tokens[place].value in _MARKS or draft.is_one_of(place, "field_joints") or is_verb


def _phrase_end(draft: Draft, start: int) -> int:
    end = start
    while end < len(draft.tokens) and end not in draft.used_places and draft.tokens[end].is_word:
        is_small = draft.tokens[end].value.islower()
        if draft.is_joint(end) or (is_small and draft.preposition(end)):
            break
        end += 1
    return end


def typed_number(text: str) -> str | int | float:
    """Return the number of a text; the text itself if it is none."""
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
