"""An old and a new text: "replace oranges with apples in list.txt", "change DEBUG to RELEASE"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import TEXT_ROLES, Property
from helmdeck_planner.embedded.entries.property_words import REPLACING_VERBS, SWAPPING_VERBS
from helmdeck_planner.embedded.request.clauses import base_form
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.word_lists import word_list

# English prepositions before the new text, and after it.
_WITH: Final = ("with", "by", "to")
_ENDS: Final = ("in", "at", "of", "from", "on")
_EVERYWHERE: Final = ("everywhere", "throughout")
_RESTRICTING: Final = word_list("restricting")


def replaced(draft: Draft) -> tuple[list[int], list[int]] | None:
    """Return the places of the old and of the new text; ``None`` if the part states no such pair."""
    tokens = draft.tokens
    if pair := _becoming(draft):
        return pair
    verb, start = _replacing(draft)
    if verb not in REPLACING_VERBS or start < 0:
        return None
    prepositions = [draft.wording.preposition(token) for token in tokens]
    middle = next(
        (
            place
            for place in range(start + 2, len(tokens))
            if prepositions[place] in _WITH or (prepositions[place] == "for" and verb in SWAPPING_VERBS)
        ),
        len(tokens),
    )
    # "change the color from red to blue"
    first = next((place + 1 for place in range(start + 1, middle) if prepositions[place] == "from"), None)
    stop = next(
        (
            place
            for place in range(middle + 2, len(tokens))
            if tokens[place].word in _EVERYWHERE
            or (
                prepositions[place] in _ENDS
                and (_names_place(draft, place + 1) or any(token.kind is Kind.PATH for token in tokens[place:]))
            )
        ),
        len(tokens),
    )
    stop = min([stop, *(place for place in range(middle + 2, stop) if _ends_text(draft, place))])
    old, new = _text(draft, first or start + 1, middle), _text(draft, middle + 1, stop)
    if len(new) == 1 and tokens[new[0]].is_value and old and tokens[old[-1]].kind is tokens[new[0]].kind:
        # "change version 1.2 to 1.3"
        old = old[-1:]
    if not old or not new or any(tokens[place].kind is Kind.PATH for place in (*old, *new)):
        return None
    return old, new


def _names_place(draft: Draft, place: int) -> bool:
    """Whether "in" is before what the text is in: "in the note Team plan", "in Sheet1"."""
    tokens = draft.tokens
    while draft.is_determiner(place):
        place += 1
    if place < len(tokens) and is_thing(tokens[place]):
        return True
    return place + 1 < len(tokens) and bool(draft.stems(place) & draft.profile.nouns)


def _ends_text(draft: Draft, place: int) -> bool:
    """Whether a full stop is the end of a sentence, not that of "1.5", or a comma is before "just a preview"."""
    token = draft.tokens[place]
    if token.value == ",":
        following = draft.source[token.end :].lower().split()[:1]
        return not _RESTRICTING.isdisjoint(following)
    is_joint = token.start == token.end  # between two sentences that are one part
    return token.value == "." and (is_joint or not draft.source[token.end : token.end + 1].strip())


def _pairs(draft: Draft) -> list[tuple[list[int], list[int]]]:
    """Return the places of several old and new strings: "change 'a' to 'b' and 'c' to 'd'"."""
    quotes = draft.free(Kind.QUOTE, Kind.CODE)
    pairs = list(zip(quotes[::2], quotes[1::2], strict=False))
    if len(pairs) < 2 or len(quotes) % 2 or not all(_follows_with(draft, new) for _, new in pairs):
        return []
    return [([old], [new]) for old, new in pairs]


def _follows_with(draft: Draft, new: int) -> bool:
    """Whether a string is the new one of a verb such as "replace"."""
    return _replacing(draft)[0] in REPLACING_VERBS and draft.preposition_before(new) in _WITH


def _replacing(draft: Draft) -> tuple[str, int]:
    """Return the verb that replaces, and its place: of "preview changing 'a' to 'b'" it is "change"."""
    part, following = draft.part, draft.part.verb_place + 1
    verb = base_form(draft.tokens[following].word, draft.wording) if following < len(draft.tokens) else ""
    return (part.verb, part.verb_place) if part.verb in REPLACING_VERBS or not verb else (verb, following)


def _becoming(draft: Draft) -> tuple[list[int], list[int]] | None:
    """Return the places of two quoted strings, of which one should become the other."""
    quotes = draft.free(Kind.QUOTE, Kind.CODE)
    if len(quotes) != 2:
        return None
    between = range(quotes[0] + 1, quotes[1])
    becomes = any(draft.is_one_of(place, "becoming") for place in between)
    return (quotes[:1], quotes[1:]) if becomes else None


def _text(draft: Draft, start: int, end: int) -> list[int]:
    quotes = [place for place in range(start, end) if draft.tokens[place].kind in (Kind.QUOTE, Kind.CODE)]
    if quotes:
        return quotes if len(quotes) == 1 else []
    places = list(range(start, end))
    is_reference = all(map(draft.is_reference, places))
    return [] if is_reference or draft.used_places & set(places) else places


def takes_replacement(profile: Profile) -> bool:
    """Whether an entry takes an old and a new text."""
    required = profile.required
    return any(each.replacement for each in required) or (
        any(each.is_old_text for each in required)
        and any(each.is_new_text for each in required)
        and profile.writes is not False
    )


def fill_replacement(draft: Draft) -> None:
    """Set the fields or inputs that take the old and the new text."""
    if not takes_replacement(draft.profile):
        return
    if pairs := _pairs(draft):
        for each in draft.open_inputs():
            if each.replacement and each.is_list:
                _set_pairs(draft, each, each.replacement, pairs)
        return
    if (found := replaced(draft)) is None:
        return
    old, new = (draft.text(places[0], places[-1]) for places in found)
    if any(len(places) > 1 and not text for places, text in zip(found, (old, new), strict=True)):
        return  # words that are no tokens of the part stand between
    for each in draft.open_inputs():
        if each.replacement and each.is_list:
            _set_pairs(draft, each, each.replacement, [found])
        elif each.is_required and each.role in TEXT_ROLES and (each.is_old_text or each.is_new_text):
            draft.set(each, old if each.is_old_text else new, found[0] if each.is_old_text else found[1])


def _set_pairs(
    draft: Draft, each: Property, names: tuple[str, str], pairs: Sequence[tuple[list[int], list[int]]]
) -> None:
    texts = [[draft.text(places[0], places[-1]) for places in pair] for pair in pairs]
    draft.set(each, [dict(zip(names, pair, strict=True)) for pair in texts], list(chain.from_iterable(chain(*pairs))))
