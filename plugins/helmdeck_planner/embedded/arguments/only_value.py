"""Sets the only open required input from the only value that no other rule uses."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import is_gerund
from helmdeck_planner.embedded.entries.properties import Property, Role

_KINDS: Final = (Kind.PATH, Kind.SLUG, Kind.ID, Kind.CODE, Kind.QUOTE, Kind.HASH)
_ROLES: Final = (Role.TEXT, Role.QUERY, Role.NAME, Role.CONTENT)
_ENTERED: Final = (Kind.EMAIL, Kind.PHONE, Kind.URL, Kind.NUMBER, Kind.DATE)
# Before what the other values are of, or in: "delete r1 from example.org".
_WHOLES: Final = ("of", "in", "from", "for")
_WHOLE_KINDS: Final = (Kind.ID, Kind.PATH, Kind.SLUG)


def fill_only_value(draft: Draft) -> None:
    """Set the only open required text from the only value that is left: "subscribe to plant/line2/temp"."""
    needed = [each for each in draft.open_inputs() if each.is_required]
    if len(needed) != 1 or _is_entered(draft, needed[0]):
        return
    left = [place for place, token in enumerate(draft.tokens) if token.is_value and place not in draft.used_places]
    if len(left) != 1:
        return
    token = draft.tokens[left[0]]
    is_opaque = token.kind is Kind.ID and draft.profile.writes is False
    if is_opaque and {"=", "%"} & set(token.value) and stem("decode") not in draft.profile.verbs:
        return
    # "what is aGVsbG8= in plain text"
    is_encoded = is_opaque and needed[0].role in (Role.CONTENT, Role.TEXT)
    if is_encoded or (needed[0].role in _ROLES and token.kind in _KINDS and _is_object(draft, needed[0], left[0])):
        draft.set(needed[0], token.value, left)


def _is_entered(draft: Draft, each: Property) -> bool:
    """Set a text from the object of the verb: "enter ann@example.org in the field"."""
    direct = draft.part.verb_place + 1
    if each.role is not Role.CONTENT or not 0 < direct < len(draft.tokens) - 1:
        return False
    is_meant = draft.tokens[direct].kind in _ENTERED and draft.preposition(direct + 1) in ("in", "to")
    return is_meant and draft.set_text(each, [direct])


def _is_object(draft: Draft, each: Property, place: int) -> bool:
    """Whether only words for the input and for the entry are before a value, and nothing behind it."""
    if any(not draft.is_filler(other) for other in range(place + 1, len(draft.tokens))):
        return False
    before = [
        other
        for other in range(draft.part.verb_place + 1, place)
        if not (draft.is_filler(other) or is_gerund(draft, other))
    ]
    preposition = draft.preposition_before(place)
    is_whole = preposition in _WHOLES and draft.tokens[place].kind in _WHOLE_KINDS
    if (is_whole and each.role in (Role.NAME, Role.TEXT)) or (
        preposition == "to" and each.role in (Role.QUERY, Role.TEXT)
    ):
        before = [other for other in before if other not in draft.used_places]
    labels = each.labels | draft.profile.nouns
    return all(draft.stems(other) & labels for other in before)
