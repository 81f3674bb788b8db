"""Required texts without a label: the words behind the verb, the topic, or the pasted document."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Action, Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import (
    has_reference,
    is_titled,
    listed_text,
    stored_text,
    topic,
)
from helmdeck_planner.embedded.arguments.numbers import fill_portions
from helmdeck_planner.embedded.arguments.places import may_be_place
from helmdeck_planner.embedded.arguments.queries import fill_query
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.entries.properties import TEXT_ROLES, Property, Role
from helmdeck_planner.embedded.entries.property_words import SEARCHING_VERBS, STORING_VERBS, TITLES

# A longer document is left out of the arguments: plans are logged and sent on, and every step would repeat it.
MAX_DOCUMENT_CHARS: Final = 16_000


def fill_listed(draft: Draft) -> None:
    """Set the only required text from "add oil the winch to my list"."""
    texts = [each for each in draft.profile.required if each.role in TEXT_ROLES and not each.is_list]
    if len(texts) == 1 and draft.profile.writes and (places := listed_text(draft)):
        draft.set_text(texts[0], places)


def _fill_about(draft: Draft) -> None:
    """Set the only optional query of an entry that reads from the words behind "about": "mails from ann@x.org about the budget"."""
    queries = [each for each in draft.open_inputs() if each.role is Role.QUERY and not each.is_list]
    place = next((place for place, token in enumerate(draft.tokens) if token.word == "about"), -1) + 1
    if len(queries) != 1 or queries[0].is_required or draft.profile.writes is not False or not place:
        return
    while draft.is_determiner(place):
        place += 1
    end = place
    while end < len(draft.tokens) and draft.tokens[end].is_word and not draft.preposition(end):
        end += 1
    if end > place and draft.used_places.isdisjoint(range(place, end)):
        draft.set_text(queries[0], list(range(place, end)))


def fill_texts(draft: Draft, sources: Sources) -> None:
    """Set required texts: the topic of the part, the text after its verb, or the pasted document."""
    document = sources.document
    _fill_about(draft)
    for each in draft.open_inputs():
        if not each.is_required and not _is_only_query(draft, each):
            continue
        if each.role is Role.QUERY:
            is_set = fill_query(draft, each, sources.background)
            if not is_set and document and not _refers_to_result(draft, sources):
                whole = "brief" in each.words
                if not whole or len(document) <= MAX_DOCUMENT_CHARS:
                    draft.set(each, document if whole else document.partition("\n")[0].strip(), [])
        elif each.role in (Role.CONTENT, Role.CODE, Role.SQL):
            _fill_content(draft, each, sources)
        elif each.role in (Role.NAME, Role.TEXT):
            _fill_name(draft, each)
        elif each.role is Role.EXPRESSION or (
            each.role is Role.PLACE and (stem(draft.part.verb) in draft.profile.verbs or draft.part.verb_place < 0)
        ):
            _fill_object(draft, each)


def _is_only_query(draft: Draft, each: Property) -> bool:
    """Whether an entry that requires nothing searches for what an input takes: "find the page Holiday plan"."""
    is_named = draft.part.is_question or draft.part.verb_place < 0
    is_named = is_named and any(
        token.word in draft.wording.language.naming or is_titled(draft, place)
        for place, token in enumerate(draft.tokens)
    )
    is_search = (
        (draft.part.verb in SEARCHING_VERBS or is_named)
        and draft.profile.writes is False
        and not draft.profile.required
    )
    return is_search and [other for other in draft.profile.properties if other.role is Role.QUERY] == [each]


def _fill_content(draft: Draft, each: Property, sources: Sources) -> None:
    if sources.document and not _refers_to_result(draft, sources):
        if len(sources.document) <= MAX_DOCUMENT_CHARS:
            draft.set(each, sources.document, [])
        return
    texts = [other for other in draft.profile.required if other.role in (Role.CONTENT, Role.QUERY)]
    is_storing = draft.part.verb in STORING_VERBS and texts == [each] and each.role is Role.CONTENT
    if is_storing and (places := stored_text(draft)):
        draft.set_text(each, places)


def _fill_object(draft: Draft, each: Property) -> None:
    """Set an input of which the verb is the whole name: "geocode 10 Downing Street", "calculate 15% of 80"."""
    places = topic(draft)
    has_number = any(draft.tokens[place].kind is Kind.NUMBER for place in places)
    starts_well = bool(places) and not draft.part.is_question and draft.tokens[places[0]].kind is not Kind.DATE
    if starts_well and len(places) == 1 and draft.tokens[places[0]].value.islower():
        starts_well = not draft.wording.verb(draft.tokens[places[0]].word)  # "delete" of a taken-back command
    if starts_well and each.role is Role.PLACE and draft.preposition_before(places[0]):
        starts_well = may_be_place(draft, each, places[0])
    elif starts_well and each.side and draft.tokens[places[0]].value.islower():
        starts_well = False  # "we lost 2 in Hamburg"
    if starts_well and (has_number or each.role is Role.PLACE):
        draft.set_text(each, places)


def _fill_name(draft: Draft, each: Property) -> None:
    """Set a name from the words after the object: "look up the contact Hans Meier", "the article on bees"."""
    texts = [other for other in draft.profile.required if other.role in TEXT_ROLES and other.name not in draft.args]
    if texts != [each]:
        return
    if draft.part.verb == "add" and draft.profile.verb == "add":
        # "add buy milk to my list"
        places = topic(draft)
        if places and places[0] == draft.part.verb_place + 1:
            draft.set_text(each, fill_portions(draft, places))
        return
    if draft.profile.writes:
        following = draft.part.verb_place + 1
        is_reminder = draft.part.verb == "remind" and [
            token.word for token in draft.tokens[following : following + 1]
        ] == ["me"]
        if is_reminder and TITLES & set(each.words) and (places := stored_text(draft)):
            draft.set_text(each, places)
        return
    places = topic(draft)
    # "of the branch fix/cart": "branch" is the label of what is set
    labels = frozenset[str]().union(*(other.labels for other in draft.profile.properties if other.name in draft.args))
    if places and draft.stems(places[0]) & labels:
        return
    if places and places[0] > 0 and draft.preposition_before(places[0]) in ("about", "on", "of", "for"):
        draft.set_text(each, places)


def _refers_to_result(draft: Draft, sources: Sources) -> bool:
    """Whether "it" is what an earlier step makes: "summarize this text and post it"."""
    if not has_reference(draft) or not sources.earlier:
        return False
    return any(Action.PRODUCE in before.part.actions or before.part.verb == "write" for before in sources.earlier)
