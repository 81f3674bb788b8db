"""Decides whether an entry is about what a part requests."""

from __future__ import annotations

import itertools
from typing import Any, Final

from helmdeck_language import GENERAL, READING, Action, Kind, split_identifier, stem, words
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import drafted
from helmdeck_planner.embedded.arguments.replacement import takes_replacement
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.effects import requested_actions
from helmdeck_planner.embedded.choice.input_fit import FOLDER_STEMS, KIND_ROLES
from helmdeck_planner.embedded.choice.weighing import Weighted, is_file
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import REPLACING_VERBS
from helmdeck_planner.embedded.entries.units import UNIT_OF
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import stemmed, word_list

_MIN_COVER: Final = 0.45
_FILE: Final = (stem("file"),)
_OPENING_VERBS: Final = word_list("opening_verbs")
_WEB: Final = stemmed("web")
SEARCHING: Final = word_list("searching")
_PEOPLE: Final = stemmed("people")
_ARTICLES: Final = word_list("articles")
_NEARNESS: Final = word_list("nearness")
PLACE_STEMS: Final = stemmed("places")
_FREE_TEXT: Final = (Role.QUERY, Role.CONTENT, Role.EXPRESSION, Role.CODE, Role.SQL)


def name_stems(profile: Profile) -> frozenset[str]:
    """Return the stems of the whole name of an entry."""
    return profile.nouns | profile.verbs


def is_covered(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether an entry is about the object of a part."""
    if any(set(phrase) <= weighted.every for phrase in profile.phrases if len(phrase) > 1):
        return True
    if weighted.verbs & profile.verb_phrases:
        return True
    if connects_places(part, profile) or _runs_sql(part, profile) or _chooses(weighted, profile):
        return True
    has_verb = bool(weighted.verbs) and (
        weighted.matches(weighted.verbs, profile.verbs | profile.opening) > 0
        or bool(requested_actions(part) & profile.actions)
    )
    if counts_others(part, weighted, profile):
        return False
    if part.is_question and _answers_about_value(part, weighted, profile):
        return True
    if not weighted.objects:
        if (part.is_question or not part.verb) and _answers_with_file(part, profile):
            return True
        return _takes_value(part, profile, has_verb=has_verb) or _is_about_tail(weighted, profile)
    if _is_other_change(part, weighted, profile) or _asks_who(part, profile):
        return False
    covered = [weighted.matches(stems, profile.text) for stems in weighted.objects]
    share = sum(covered) / len(covered)
    in_opening = max(weighted.matches(stems, profile.opening) for stems in weighted.objects)
    if share >= _MIN_COVER and in_opening > 0:
        return True
    if _names_entry(weighted, profile) or _reads_value(part, weighted, profile):
        return True
    if part.verb in SEARCHING and profile.takes(Role.QUERY) and _is_about_tail(weighted, profile):
        return True
    if _searches_where(part, profile):
        return True
    # "echo good morning", "search tides": the verb is the whole name, and its object a text.
    if weighted.verbs & profile.verbs and not profile.name and share >= _MIN_COVER:
        return True
    # "refund 5 for order A-1": the verb is the entry's, and its object an input.
    labels = frozenset[str]().union(*(each.labels for each in profile.required))
    if weighted.verbs & {stem(profile.verb)} and any(stems & labels for stems in weighted.objects):
        return True
    is_named = bool(weighted.verbs & profile.verbs) or (part.verb in SEARCHING and profile.verb in SEARCHING)
    is_whole_name = is_named and not set(profile.name) - weighted.every - _WEB
    texts = profile.required or profile.properties
    return is_whole_name and any(each.role in _FREE_TEXT for each in texts)


def _runs_sql(part: Part, profile: Profile) -> bool:
    """Whether a statement of SQL is all that a part asks for: "find the rows SELECT ..."."""
    has_sql = any(token.kind is Kind.SQL for token in part.tokens)
    own = part.actions
    return has_sql and profile.takes(Role.SQL) and (own <= READING or Action.RUN in own)


def _chooses(weighted: Weighted, profile: Profile) -> bool:
    """Whether the object is a choice of a required input, of something that an entry is about: "go forward in the history"."""
    choices = frozenset(
        stem(word)
        for each in profile.required
        for choice in each.choices
        for word in words(split_identifier(str(choice)))
    )
    is_choice = bool(weighted.objects) and all(stems & choices for stems in weighted.objects)
    return is_choice and any(stems & profile.nouns for stems in weighted.tail)


def _is_other_change(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether an entry changes another thing: "create an invoice" is no refund, though both are about payments."""
    if not profile.writes or part.is_question or not weighted.objects or Action.SEND in requested_actions(part):
        return False
    if weighted.verbs & (profile.verbs | profile.opening) and (part.verb not in GENERAL or not profile.name):
        return False
    own = profile.nouns | profile.verbs
    # What follows a preposition is only where something is: "comment on the issue".
    is_named = any(weighted.matches(stems, own) for stems in weighted.objects)
    return not is_named and not any(stems & profile.lead for stems in weighted.objects)


def _asks_who(part: Part, profile: Profile) -> bool:
    """Whether "who" asks for people of whom an entry does not tell."""
    return part.is_question and part.tokens[0].word in ("who", "whose", "whom") and not _PEOPLE & profile.text


def counts_others(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether "how many" counts things that are not those that an entry is about; "how many km are 3 miles" counts none.

    A stated query counts anything.
    """
    words = [token.word for token in part.tokens[:3]]
    if (
        words[:2] != ["how", "many"]
        or any(token.kind is Kind.SQL for token in part.tokens)
        or words[-1] in UNIT_OF
        or READING.isdisjoint(profile.actions)
    ):
        return False
    return bool(weighted.objects) and not weighted.objects[0] & (profile.nouns | profile.lead)


def _searches_where(part: Part, profile: Profile) -> bool:
    """Whether "search PLACE for ..." names an entry that searches: by its name, or in its description."""
    written = [token.word for token in part.tokens]
    if part.verb not in SEARCHING or profile.verb not in SEARCHING or "for" not in written:
        return False
    where = [token for token in part.tokens[part.verb_place + 1 : written.index("for")] if token.is_word]
    texts = [each for each in profile.required if each.role in _FREE_TEXT]
    return (
        bool(where)
        and len(texts) == 1
        and all(
            token.word in _ARTICLES
            or stem(token.word) in profile.text
            or {stem(word) for word in words(split_identifier(token.value))} <= profile.text
            for token in where
        )
        and not all(token.word in _ARTICLES for token in where)
    )


def _names_entry(weighted: Weighted, profile: Profile) -> bool:
    """Whether the words before and after prepositions contain the whole name."""
    if not profile.name:
        return False
    words = [*weighted.objects, *weighted.tail]
    return all(any(weighted.matches(stems, frozenset({term})) == 1.0 for stems in words) for term in profile.name)


def _reads_value(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether the verb and the value fit an entry: "read every line of journal.txt" reads a file."""
    kinds = {token.kind for token in part.tokens if token.is_value} & KIND_ROLES.keys()
    takes = any(each.role in KIND_ROLES[kind] for kind in kinds for each in profile.required)
    if takes and weighted.verbs & profile.verbs and not set(profile.name) - weighted.hints:
        return True
    # "get the raw HTML of https://..."
    is_filled = all(any(each.role in KIND_ROLES[kind] for kind in kinds) for each in profile.required)
    is_reading = profile.actions & READING and not profile.writes
    return takes and is_filled and bool(is_reading) and part.verb in _OPENING_VERBS and Kind.URL in kinds


def _answers_with_file(part: Part, profile: Profile) -> bool:
    """Whether "what is in notes.txt" reads the file."""
    has_file = any(token.kind is Kind.PATH and is_file(token) for token in part.tokens)
    takes = any(each.role is Role.PATH for each in profile.required)
    return has_file and takes and profile.verb == "read" and profile.name == _FILE


def _answers_about_value(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether a question for an attribute of a value is what an entry returns: "how big is report.csv"."""
    kinds = {token.kind for token in part.tokens if token.is_value} & KIND_ROLES.keys()
    required = [each for each in profile.required if each.role not in (Role.BOOLEAN, Role.CHOICE)]
    is_filled = bool(required) and all(any(each.role in KIND_ROLES[kind] for kind in kinds) for each in required)
    words = [*weighted.objects, *weighted.tail]
    return (
        is_filled
        and not profile.writes
        and bool(words)
        and all(weighted.matches(stems, profile.text) for stems in words)
    )


def connects_places(part: Part, profile: Profile) -> bool:
    """Whether "from X to Y" is what an entry takes, asked by a question: "how do I get from Leeds to York"."""
    words = {token.word for token in part.tokens}
    sides = {each.side for each in profile.required if each.role is Role.PLACE}
    return part.is_question and {"from", "to"} <= words and {"source", "target"} <= sides and not profile.writes


def _is_about_tail(weighted: Weighted, profile: Profile) -> bool:
    return bool(weighted.tail) and any(weighted.matches(stems, profile.opening) == 1.0 for stems in weighted.tail[:2])


def _takes_value(part: Part, profile: Profile, *, has_verb: bool) -> bool:
    kinds = {token.kind for token in part.tokens if token.is_value}
    for kind in kinds & KIND_ROLES.keys():
        if profile.takes(*KIND_ROLES[kind]):
            is_telling = kind in (Kind.SQL, Kind.EXPRESSION) or len(part.tokens) == 1
            return has_verb or is_telling
    return has_verb and not kinds & {Kind.SQL, Kind.URL}


def is_used_up(part: Part, weighted: Weighted, profile: Profile, sources: Sources) -> bool:
    """Whether an entry has the verb of a part, and its inputs take every other word: "click e17", "drag e4 to e9"."""
    own = profile.verbs | profile.opening | profile.nouns
    has_verb = weighted.matches(weighted.verbs, own) > 0 or (
        part.verb in REPLACING_VERBS and takes_replacement(profile)
    )
    if not part.tokens or not has_verb or part.is_question:
        return False
    if _is_other_change(part, weighted, profile) and not takes_replacement(profile):
        return False
    draft = drafted(part, profile, sources)
    if not draft.used_places or not draft.is_complete:
        return False
    is_literal = bool(weighted.verbs & (profile.verbs | profile.opening))
    for each in profile.properties:
        value = draft.args.get(each.name)
        # By a synonym of the verb alone, any text would fit: "make a coffee" does not request an image.
        is_loose = value is not None and not is_literal and not takes_replacement(profile)
        if each.role in (*_FREE_TEXT, Role.TEXT) and (is_loose or _is_unquoted(draft, value)):
            return False
    left = [place for place in range(len(part.tokens)) if place not in draft.used_places and place != part.verb_place]
    return all(
        not (part.tokens[place].is_word or part.tokens[place].is_value)
        or draft.is_filler(place)
        or weighted.matches(draft.stems(place), profile.text) > 0
        for place in left
    )


def _is_unquoted(draft: Draft, value: Any) -> bool:
    """Whether a text is of several words without quotation marks."""
    return isinstance(value, str) and " " in value and all(token.value != value for token in draft.tokens)


def lists_file(part: Part, profile: Profile) -> bool:
    """Whether a folder's entry would get a file: "how big is video.mp4", "tell me the size of video.mp4"."""
    is_single_file = [is_file(token) for token in part.tokens if token.kind is Kind.PATH] == [True]
    if not is_single_file or profile.writes or not FOLDER_STEMS & set(profile.name):
        return False
    # "list /etc/cron.d", "the folder site.v2"
    names_folder = any(stem(token.word) in FOLDER_STEMS for token in part.tokens if token.is_word)
    return part.is_question or not (names_folder or part.verb == "list" or stem(part.verb) in profile.verbs)


def names_place(part: Part) -> bool:
    """Whether a part says where something is: "near the station", "in Leipzig", "the nearest"."""
    tokens = part.tokens
    return any(token.word in _NEARNESS for token in tokens if token.is_word) or any(
        token.word == "in" and following.is_word and following.is_capital
        for token, following in itertools.pairwise(tokens)
    )


def searches_places(profile: Profile) -> bool:
    """Whether an entry searches for places in the world by a text."""
    is_search = profile.verb in SEARCHING and not profile.writes
    return (
        is_search and any(each.role is Role.QUERY for each in profile.required) and bool(PLACE_STEMS & profile.opening)
    )
