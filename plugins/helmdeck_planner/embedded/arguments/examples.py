"""Fills inputs from the words that their descriptions have as examples: "pods" for "(e.g., pods, services)"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import is_in_topic
from helmdeck_planner.embedded.arguments.name_words import is_plain_word
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import KIND_WORDS
from helmdeck_planner.embedded.request.word_lists import word_list

_EXAMPLES: Final = re.compile(r"(?:e\.g\.,?|such as)\s+([^).;]{3,120})")
_REPOSITORY: Final = frozenset(("repo", "repository"))
_SLUG_EXAMPLE: Final = re.compile(
    r"(?:e\.g\.,?|such as|like|example:?)\s+['\"`]?[\w.-]{1,40}/[\w.-]{1,40}(?![\w/])", re.IGNORECASE
)
_ANY: Final = word_list("demonstratives")
_NAMES: Final = (Role.NAME, Role.TEXT, Role.ID)
_WORD: Final = re.compile(r"[A-Za-z]{3,20}")
_PLAIN_NAMES: Final = (("name",), ("id",))


def fill_examples(draft: Draft) -> None:
    """Set texts from the only word that a description has as an example: "pods" for "(e.g., pods, services)".

    Of inputs that take no kind of thing, those that a look-up may be restricted by: "with a fork" for "Motif such as fork or pin".
    """
    for each in draft.open_inputs():
        is_kind = bool(KIND_WORDS & set(each.words))
        is_filter = draft.profile.writes is False and not each.is_required
        if each.role not in (Role.TEXT, Role.NAME) or each.is_list or not (is_kind or is_filter):
            continue
        places = [
            place
            for place in draft.free(Kind.WORD)
            if place != draft.part.verb_place
            and is_example(each, draft.tokens[place].word)
            and (is_kind or _restricts(draft, place))
        ]
        value = _example(each, draft.tokens[places[0]].value) if len(places) == 1 else ""
        if draft.set(each, value, places) and is_kind:
            fill_name_beside(draft, places[0])


def fill_slugs(draft: Draft) -> None:
    """Set a text from the only "group/app" that is in, of or for something, where a description has such an example, or a repository."""
    inputs = [each for each in draft.open_inputs() if each.role in _NAMES]
    shown = [each for each in inputs if _SLUG_EXAMPLE.search(each.text)]
    inputs = shown or [each for each in inputs if not _REPOSITORY.isdisjoint(each.words)]
    places = draft.free(Kind.SLUG)
    if len(inputs) != 1 or inputs[0].is_list or not places:
        return
    meant = [place for place in places if draft.preposition_before(place) in ("in", "of", "for", "on", "at")]
    if not shown:
        # "of the branch fix/cart" names no repository.
        meant = [place for place in meant if draft.stems(place - 1) <= inputs[0].labels or draft.preposition(place - 1)]
    if len(chosen := meant or (places if shown else [])) == 1:
        draft.set_text(inputs[0], chosen)


def fill_name_beside(draft: Draft, kind: int) -> None:
    """Set the name of a thing whose kind a word says: "the pod web-1", "the api deployment"."""
    names = [each for each in draft.open_inputs() if each.words in _PLAIN_NAMES and not each.is_list]
    if len(names) != 1:
        return
    is_called = draft.is_naming(kind + 1)
    for place in (kind + 1 + is_called, kind - 1):
        token = draft.tokens[place] if 0 <= place < len(draft.tokens) else None
        if token is None or place in draft.used_places or place == draft.part.verb_place or draft.is_filler(place):
            continue
        is_before = place < kind
        has_article = not is_before or draft.is_determiner(max(place - 1, 0))
        is_name = token.kind in (Kind.ID, Kind.QUOTE, Kind.SLUG) or (
            token.is_word and has_article and is_plain_word(draft, place)
        )
        if is_name and draft.set(names[0], token.value, [place]):
            return


def is_example(each: Property, word: str) -> bool:
    """Whether a description has a word as an example: "pods" of "(e.g., pods, services)"."""
    return stem(word.lower()) in {stem(found.lower()) for found in _examples(each)}


def _example(each: Property, word: str) -> str:
    """Return a word in the case of the example that it is: "Inbox" for "inbox"."""
    return next((found for found in _examples(each) if found.casefold() == word.casefold()), word)


def _examples(each: Property) -> Sequence[str]:
    items = re.split(r"\s*(?:,|\bor\b|\band\b|/)\s*", ",".join(_EXAMPLES.findall(each.text)))
    return [found for item in items if _WORD.fullmatch(found := item.strip("'\"` "))]


def _restricts(draft: Draft, place: int) -> bool:
    """Whether a word says which of the entry's things are wanted: "puzzles with a fork", "fork puzzles", "anything overdue"."""
    if draft.stems(place + 1) & draft.profile.nouns:
        return True
    is_last = place + 1 >= len(draft.tokens) or draft.tokens[place + 1].kind is Kind.MARK
    is_object = place > 0 and (draft.word(place - 1) in _ANY or place - 1 == draft.part.verb_place)
    is_meant = draft.preposition_before(place) in ("with", "in") or (is_last and is_object)
    return is_meant and not is_in_topic(draft, place)
