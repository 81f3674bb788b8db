"""What is searched for: the topic of a part, the sender of a mail, or the purpose that a sentence beside it states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import describes_entry, has_reference, topic
from helmdeck_planner.embedded.arguments.labels import named
from helmdeck_planner.embedded.arguments.phrases import end_of_phrase
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import SEARCHING_VERBS
from helmdeck_planner.embedded.request.parts import Part

_OF_TEXT: Final = re.compile(r"\btext\b|\breg(?:ular expression|exp?)\b", re.IGNORECASE)


def fill_query(draft: Draft, each: Property, background: Sequence[Part]) -> bool:
    """Set a query, and return whether a pasted document may not be one instead.

    :param background: the parts without a step of their own.
    """
    if searched := _sender(draft, each):
        return draft.set(each, *searched)
    is_named = draft.part.verb in SEARCHING_VERBS or draft.profile.writes or not each.is_required
    quotes = draft.free(Kind.QUOTE) if draft.profile.writes else []
    if len(quotes) == 1:
        return draft.set_text(each, quotes)
    places = named(draft, each) if is_named else []
    places = places or topic(draft)
    is_vague = draft.part.is_question or (bool(places) and describes_entry(draft, places[0]))
    if is_vague and _names_thing(draft, each) and not draft.preposition_before(places[0] if places else 0):
        # "which id does lodash have" names a library, and no topic
        _fill_from_purpose(draft, each, background)
        return True
    if places:
        is_purpose = places[0] > 1 and draft.tokens[places[0] - 2].word == "trying"
        before = [places[0] - 2, places[0] - 1] if is_purpose else []
        draft.set(each, draft.text(places[0], places[-1]).strip(), places, before)
    elif has_reference(draft):
        _fill_from_name(draft, each, background)
    return bool(places)


def fill_pattern(draft: Draft) -> None:
    """Set the only pattern of a text from the words behind "for": "grep for async def in *.py"."""
    inputs = [each for each in draft.open_inputs() if each.role is Role.PATTERN and _OF_TEXT.search(each.text)]
    if len(inputs) != 1 or inputs[0].is_list or draft.profile.writes:
        return
    for place in range(draft.part.verb_place + 1, len(draft.tokens) - 1):
        start = place + 1
        if draft.preposition(place) == "for" and draft.tokens[start].is_word and not draft.is_filler(start):
            end = end_of_phrase(draft, inputs[0], start, is_text=False)
            if end > start and not describes_entry(draft, start):
                draft.set(inputs[0], draft.text(start, end - 1), list(range(start, end)))
            return


def _sender(draft: Draft, each: Property) -> tuple[str, list[int]] | None:
    """Return "from:ada@example.org" for a query whose description shows this form."""
    for place in draft.free(Kind.EMAIL):
        before = draft.word(place - 1)
        if before and f"{before}:" in each.text.lower():
            return f"{before}:{draft.tokens[place].value}", [place - 1, place]
    return None


def _names_thing(draft: Draft, each: Property) -> bool:
    """Whether an entry requires the name of a thing beside a query about it."""
    return any(other.role is Role.NAME for other in draft.profile.required if other is not each)


def _fill_from_name(draft: Draft, each: Property, background: Sequence[Part]) -> None:
    """Set a query from the only name that a sentence gives to "it": "there is a film called Low Tide. Can you find it"."""
    found = []
    for part in background:
        stating = draft.beside(part)
        if part.tokens and not part.is_excluded and (places := named(stating, each)):
            found.append((part, stating.text(places[0], places[-1])))
    if len(found) == 1 and draft.set(each, found[0][1], []):
        draft.stated_by.append(found[0][0])


def _fill_from_purpose(draft: Draft, each: Property, background: Sequence[Part]) -> None:
    """Set a query from the only sentence that says what for: "I want stacked charts. Which id does Chart.js have?"."""
    parts = [part for part in background if not (part.is_excluded or part.is_question)]
    is_plain = len(parts) == 1 and len(parts[0].tokens) > 1 and all(token.is_word for token in parts[0].tokens)
    if is_plain and draft.set(each, parts[0].text, []):
        draft.stated_by.append(parts[0])
