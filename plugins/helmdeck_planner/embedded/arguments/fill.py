"""Fills the inputs of an entry from one part of a request.

A value is text of the part, of what the part refers to ("it", "that file"), of a pasted document, or a default of the caller.
An input without such a value stays open: the caller can ask for a missing value, but cannot tell a guess from a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_language import ACTIONS, Action, Kind, stem
from helmdeck_planner.embedded.arguments.addresses import fill_addresses
from helmdeck_planner.embedded.arguments.background import fill_background
from helmdeck_planner.embedded.arguments.context import Earlier, fill_context, fill_shared
from helmdeck_planner.embedded.arguments.described import fill_described
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.examples import fill_slugs
from helmdeck_planner.embedded.arguments.exclusions import fill_own_exclusions
from helmdeck_planner.embedded.arguments.file_types import fill_patterns
from helmdeck_planner.embedded.arguments.free_text import (
    fill_payload,
    has_reference,
    is_titled,
    listed_text,
    stored_text,
    topic,
)
from helmdeck_planner.embedded.arguments.ids import fill_codes, fill_ids, is_id, is_opaque, likely_of
from helmdeck_planner.embedded.arguments.items import fill_items
from helmdeck_planner.embedded.arguments.labels import is_labelled_otherwise, labelled, named
from helmdeck_planner.embedded.arguments.led import fill_led, fill_named_as, fill_related
from helmdeck_planner.embedded.arguments.left_values import fill_left, fill_left_beside, replace_doubtful
from helmdeck_planner.embedded.arguments.names import fill_names, fill_versions
from helmdeck_planner.embedded.arguments.numbers import (
    fill_dimensions,
    fill_numbers,
    fill_portions,
    fill_units,
)
from helmdeck_planner.embedded.arguments.objects import fill_objects, fill_rows
from helmdeck_planner.embedded.arguments.only_value import fill_only_value
from helmdeck_planner.embedded.arguments.paths import fill_folders, fill_made_folder, fill_moved, fill_new_paths
from helmdeck_planner.embedded.arguments.phrases import fill_phrases
from helmdeck_planner.embedded.arguments.places import fill_places, may_be_place
from helmdeck_planner.embedded.arguments.proper_names import fill_proper_names
from helmdeck_planner.embedded.arguments.queries import fill_pattern, fill_query
from helmdeck_planner.embedded.arguments.quotes import fill_described_quotes
from helmdeck_planner.embedded.arguments.references import alike_of, makes_another, moved_to, referred, states_anything
from helmdeck_planner.embedded.arguments.refs import fill_commits, fill_refs, fill_revision_paths, takes_repository
from helmdeck_planner.embedded.arguments.replacement import fill_replacement
from helmdeck_planner.embedded.arguments.screen import fill_entered, fill_screen
from helmdeck_planner.embedded.arguments.sides import fill_field, fill_sides, fill_words_beside_to
from helmdeck_planner.embedded.arguments.told import fill_dated_title, fill_told
from helmdeck_planner.embedded.arguments.typed_values import fill_typed
from helmdeck_planner.embedded.arguments.zones import fill_zones
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import QUOTED_ROLES, Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    FOLDER_WORDS,
    NAMING_VERBS,
    SEARCHING_VERBS,
    STORING_VERBS,
    TITLES,
)
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording

# A longer document is left out of the arguments: plans are logged and sent on, and every step would repeat it.
MAX_DOCUMENT_CHARS: Final = 16_000
_QUOTES: Final = (Kind.QUOTE, Kind.CODE)
_NAMELIKE: Final = (Role.NAME, Role.QUERY, Role.CONTENT, Role.TEXT)
_REFERRED: Final = {
    Role.PATH: (Kind.PATH,),
    Role.URL: (Kind.URL,),
    Role.EMAIL: (Kind.EMAIL,),
    Role.ID: (Kind.ID, Kind.HASH),
}


@attrs.frozen
class Sources:
    """Where values come from besides the part itself.

    :ivar request: the whole request.
    :ivar earlier: the parts before, in order.
    :ivar settings: the parts that only state where the others act.
    :ivar background: the parts without a step that may state something for this one.
    :ivar is_chosen: the entry is chosen: what no rule uses is compared with its open inputs as well.
    :ivar drafts: what was drafted from these sources, since an entry is tried for a part by several rules.
    """

    request: str
    wording: Wording
    document: str = ""
    defaults: Mapping[str, Any] = attrs.Factory(dict)
    earlier: tuple[Earlier, ...] = ()
    settings: tuple[Part, ...] = ()
    background: tuple[Part, ...] = ()
    is_chosen: bool = False
    drafts: dict[tuple[int, int], Draft] = attrs.field(factory=dict, init=False, eq=False, repr=False)


def fill(part: Part, profile: Profile, sources: Sources) -> dict[str, Any]:
    """Return the arguments of an entry for a part, in the order of the entry's inputs."""
    return arguments_of(drafted(part, profile, sources))


def arguments_of(draft: Draft) -> dict[str, Any]:
    """Return the arguments of a draft in the order of the entry's inputs."""
    return {each.name: draft.args[each.name] for each in draft.profile.properties if each.name in draft.args}


def drafted(part: Part, profile: Profile, sources: Sources, without: Sequence[int] = ()) -> Draft:
    """Return the arguments of an entry for a part, with the words that they use.

    :param without: places of words that have another use.
    """
    if without:
        return _drafted(part, profile, sources, without)
    # A draft keeps its part and its entry alive, so that no other object gets their identities.
    key = (id(part), id(profile))
    found = sources.drafts.get(key)
    if found is None:
        found = sources.drafts[key] = _drafted(part, profile, sources)
    return found


def begun(part: Part, profile: Profile, sources: Sources, without: Sequence[int] = ()) -> Draft:
    """Return a draft up to its numbers, which follow what has a clearer form."""
    draft = Draft(sources.request, part, profile, sources.wording)
    draft.used_places.update(without)
    for each in profile.properties:
        stated = part.further if each.name in part.further else sources.defaults
        if each.name in stated:
            draft.args[each.name] = stated[each.name]
    if not part.tokens:
        return draft
    fill_screen(draft)
    fill_shared(draft, sources.earlier, sources.settings)
    fill_new_paths(draft)
    fill_moved(draft)
    fill_replacement(draft)
    fill_slugs(draft)
    fill_named_as(draft)
    fill_refs(draft)
    fill_items(draft, sources.earlier)
    fill_rows(draft)
    fill_dated_title(draft)
    _fill_listed(draft)
    fill_phrases(draft)
    fill_field(draft)
    fill_described_quotes(draft)
    _fill_labelled_quotes(draft)
    fill_background(draft, *_background(profile, sources), is_labelled=True)
    fill_own_exclusions(draft)
    fill_zones(draft)
    fill_units(draft)
    fill_dimensions(draft)
    fill_patterns(draft)
    fill_versions(draft)
    fill_led(draft)
    fill_typed(draft)
    fill_revision_paths(draft)
    fill_addresses(draft)
    fill_related(draft)
    fill_ids(draft)
    fill_codes(draft)
    fill_commits(draft)
    fill_objects(draft)
    return draft


def _background(profile: Profile, sources: Sources) -> tuple[Sequence[Part], Sequence[Part], Callable[[Part], Draft]]:
    alone = Sources(sources.request, sources.wording)
    return sources.settings, sources.background, lambda other: drafted(other, profile, alone)


def _drafted(part: Part, profile: Profile, sources: Sources, without: Sequence[int] = ()) -> Draft:
    draft = begun(part, profile, sources, without)
    if not part.tokens:
        return draft
    fill_numbers(draft)
    fill_words_beside_to(draft)
    fill_names(draft)
    fill_entered(draft)
    fill_told(draft, sources.background)
    fill_payload(draft)
    _fill_quotes(draft)
    fill_pattern(draft)
    fill_sides(draft)
    fill_places(draft)
    fill_proper_names(draft)
    fill_only_value(draft)
    if sources.is_chosen:
        replace_doubtful(draft)
        fill_left(draft)
    _fill_references(draft, sources)
    fill_background(draft, *_background(profile, sources))
    if sources.is_chosen:
        fill_left_beside(draft, sources.background)
    fill_context(draft, sources.earlier, sources.settings)
    _fill_texts(draft, sources)
    fill_folders(draft)
    fill_made_folder(draft, sources.earlier)
    fill_described(draft)
    return draft


def _fill_listed(draft: Draft) -> None:
    """Set the only required text from "add oil the winch to my list"."""
    texts = [each for each in draft.profile.required if each.role in _NAMELIKE and not each.is_list]
    if len(texts) == 1 and draft.profile.writes and (places := listed_text(draft)):
        draft.set(texts[0], draft.text(places[0], places[-1]), places)


def _fill_labelled_quotes(draft: Draft) -> None:
    """Set what a label names first: "with the subject 'Minutes' and the body 'See below'"."""
    for each in draft.open_inputs():
        if each.role not in (Role.NAME, Role.CONTENT, Role.QUERY, Role.TEXT, Role.ID):
            continue
        places = labelled(draft, each) or (named(draft, each) if each.role in (Role.CONTENT, Role.NAME) else [])
        kind = draft.tokens[places[0]].kind if places else Kind.WORD
        if each.role is Role.ID and places and not is_id(draft, each, places):
            continue
        if kind is Kind.QUOTE and each.is_list:
            places = [place for place in draft.free(Kind.QUOTE) if place >= places[0]]
            draft.set(each, [draft.tokens[place].value for place in places], places)
        elif kind in _QUOTES and not each.labels and _is_described_less(draft, each):
            continue  # of "the text" and "the text to disappear", the one that more words describe is meant
        elif kind in _QUOTES or (each.role is Role.NAME and kind is Kind.SLUG):
            draft.set(each, draft.tokens[places[0]].value, places[:1])


def _is_described_less(draft: Draft, each: Property) -> bool:
    own = _telling_words(draft, each)
    others = (other for other in draft.open_inputs() if other is not each and other.role in QUOTED_ROLES)
    return any(_telling_words(draft, other) > own for other in others)


def _fill_quotes(draft: Draft) -> None:
    if not draft.free(*_QUOTES):
        return
    only = _only_text(draft)
    _fill_purpose(draft)
    for each in sorted(draft.open_inputs(), key=lambda other: _quote_order(draft, other)):
        if not draft.free(*_QUOTES):
            return
        places = [place for place in draft.free(*_QUOTES) if not is_labelled_otherwise(draft, each, place)]
        if each.role is Role.NAME and draft.profile.writes:
            # "push a.md with 'hi'" names no branch.
            places = [place for place in places if draft.preposition_before(place) != "with"]
        if not places:
            continue
        if each.role not in QUOTED_ROLES or not (each.is_required or each is only):
            continue
        chosen = draft.own(places) if each.is_list else places[:1]
        values = [draft.tokens[place].value for place in chosen]
        draft.set(each, values if each.is_list else values[0], chosen)


def _fill_purpose(draft: Draft) -> None:
    """Set the only optional title from the only quoted string behind "for", if another one is no title: "book Aspen for 'Review'"."""
    titles = [each for each in draft.open_inputs() if each.role in QUOTED_ROLES and TITLES & set(each.words)]
    places = [place for place in draft.free(*_QUOTES) if draft.preposition_before(place) == "for"]
    if len(titles) == len(places) == 1 and not titles[0].is_required and draft.profile.writes:
        draft.set(titles[0], draft.tokens[places[0]].value, places)


def _quote_order(draft: Draft, each: Property) -> tuple[bool, int, int]:
    place = QUOTED_ROLES.index(each.role) if each.role in QUOTED_ROLES else len(QUOTED_ROLES)
    if each.role is Role.NAME and draft.part.verb in NAMING_VERBS:
        place = -1  # "rename issue 9 to 'Crash'"
    return not each.is_required, -_telling_words(draft, each), place


def _telling_words(draft: Draft, each: Property) -> int:
    """Return how many words of a part describe an input and none of the others that take a text."""
    own = 1 if each.role in QUOTED_ROLES else 0
    if len(draft.profile.texts) == own:
        return 0
    places = (place for place in range(len(draft.tokens)) if place != draft.part.verb_place)
    words = {term for place in places if not draft.is_filler(place) for term in draft.stems(place)}
    return sum(draft.profile.text_terms[term] <= own for term in (each.hints | each.labels) & words)


def _only_text(draft: Draft) -> Property | None:
    """Return the first input that takes a text, or the one that a part describes, of an entry that requires none."""
    if any(each.is_required for each in draft.profile.texts):
        return None
    return min(draft.profile.texts, key=lambda each: _quote_order(draft, each), default=None)


def _fill_references(draft: Draft, sources: Sources) -> None:
    """Set required inputs from the part before, if this part refers to it."""
    before = referred(sources.earlier, draft.profile) if sources.earlier and has_reference(draft) else None
    if before is None:
        return
    # "on ab12 apply x, then I need types, and is it slower": the last part that states anything.
    stating = next((row for row in reversed(sources.earlier) if states_anything(row)), before)
    stating = before if stating.part.is_excluded else stating
    inputs = [each for each in draft.open_inputs() if each.is_required]
    used_ids: list[str] = []
    for each in inputs:
        if each.role in (Role.CONTENT, Role.QUERY, Role.BOOLEAN):
            continue
        if each.side == "target" and before.profile is draft.profile and each.name in before.args:
            continue  # "move a.txt into it" has its own new path
        if each.name in before.args and each.role is not Role.CHOICE:
            draft.set(each, before.args[each.name], [])
        elif alike := alike_of(before, each, draft.profile):
            draft.set(each, alike, [])
        elif kinds := _REFERRED.get(Role.PATH if each.side == "source" and each.role is Role.TEXT else each.role):
            own = [token for token in stating.part.tokens if not (takes_repository(each) and is_file(token))]
            found = [token.value for token in own if token.kind in kinds or (each.role is Role.ID and is_opaque(token))]
            if each.role is Role.ID and makes_another(before, draft.profile):
                continue  # "create an invoice for cus_1 and finalize it": the id of the invoice is not known yet
            if each.role is Role.PATH and (moved := moved_to(before)):
                found = [moved]
            if each.role is Role.ID:
                found = [value for value in found if value not in draft.args.values()]
            if each.role is Role.PATH and FOLDER_WORDS & set(each.words):
                found = [value for value in found if value[0] in "/~." or "." not in value.rpartition("/")[2]]
            if len(found) != 1:
                continue
            needed = [other for other in inputs if other.role is each.role and other.name not in before.args]
            is_own = each.role is not Role.ID or len(needed) == 1 or likely_of(draft, needed, found[0]) is each
            if is_own and not (each.role is Role.ID and found[0] in used_ids):
                draft.set(each, found[0], [])
                used_ids.append(found[0])


def _fill_texts(draft: Draft, sources: Sources) -> None:
    """Set required texts: the topic of the part, the text after its verb, or the pasted document."""
    document = sources.document
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
        draft.set(each, draft.text(places[0], places[-1]), places)


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
        draft.set(each, draft.text(places[0], places[-1]), places)


def _fill_name(draft: Draft, each: Property) -> None:
    """Set a name from the words after the object: "look up the contact Hans Meier", "the article on bees"."""
    texts = [other for other in draft.profile.required if other.role in _NAMELIKE and other.name not in draft.args]
    if texts != [each]:
        return
    if draft.part.verb == "add" and draft.profile.verb == "add":
        # "add buy milk to my list"
        places = topic(draft)
        if places and places[0] == draft.part.verb_place + 1:
            places = fill_portions(draft, places)
            draft.set(each, draft.text(places[0], places[-1]), places)
        return
    if draft.profile.writes:
        following = draft.part.verb_place + 1
        is_reminder = draft.part.verb == "remind" and [
            token.word for token in draft.tokens[following : following + 1]
        ] == ["me"]
        if is_reminder and TITLES & set(each.words) and (places := stored_text(draft)):
            draft.set(each, draft.text(places[0], places[-1]), places)
        return
    places = topic(draft)
    # "of the branch fix/cart": "branch" is the label of what is set
    labels = frozenset[str]().union(*(other.labels for other in draft.profile.properties if other.name in draft.args))
    if places and draft.stems(places[0]) & labels:
        return
    if places and places[0] > 0 and draft.preposition_before(places[0]) in ("about", "on", "of", "for"):
        draft.set(each, draft.text(places[0], places[-1]), places)


def _refers_to_result(draft: Draft, sources: Sources) -> bool:
    """Whether "it" is what an earlier step makes: "summarize this text and post it"."""
    if not has_reference(draft) or not sources.earlier:
        return False
    return any(
        Action.PRODUCE in ACTIONS.get(before.part.verb, frozenset()) or before.part.verb == "write"
        for before in sources.earlier
    )
