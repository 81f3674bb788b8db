"""Values that a request states once for several parts: "in /srv/app, stage a.txt and commit it"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from helmdeck_language import ENGLISH, NOUNS_TOO, Kind, Token
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import has_reference
from helmdeck_planner.embedded.arguments.ids import is_humped, is_opaque
from helmdeck_planner.embedded.arguments.refs import takes_ref, takes_repository
from helmdeck_planner.embedded.arguments.sources import Earlier
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import FOLDER_WORDS, SEARCHING_VERBS
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.word_lists import stemmed, word_list
from helmdeck_planner.embedded.request.wording import Wording

_KINDS: Final = (Kind.PATH, Kind.SLUG)
_OBJECTS: Final = (Kind.ID, Kind.HASH, Kind.NUMBER, Kind.QUOTE, Kind.EMAIL, Kind.SLUG)
_MAX_LABELS: Final = 5
_LEAST_THINGS: Final = 2
# A shorter number is a count.
_MIN_ID: Final = 5
# "the md5 of the same thing"
_ANYTHING: Final = stemmed("anything")
_PARENT: Final = "parent"
_PRONOUNS: Final = word_list("person_pronouns")
_POSSESSIVES: Final = word_list("person_possessives")


def is_setting(part: Part, wording: Wording) -> bool:
    """Whether a part only states where the others act: "in /srv/app", "the repo is /srv/app"."""
    values = [token for token in part.tokens if token.is_value]
    return (
        not part.verb
        and not part.is_question
        and not part.is_excluded
        and [token.kind for token in values] in ([Kind.PATH], [Kind.SLUG])
        and all(
            not token.is_word
            or wording.is_filler(token.word)
            or wording.preposition(token)
            or token.word in FOLDER_WORDS
            for token in part.tokens
        )
    )


def settings_of(parts: Sequence[Part], wording: Wording) -> tuple[Part, ...]:
    """Return the parts that only state where the others act; the first one may state what they act on: "OPS-12: ..."."""
    if sum(not part.is_excluded for part in parts) < 2:
        return ()
    return tuple(
        part
        for part in parts
        if is_setting(part, wording)
        or _names_things(part, wording)
        or (part is parts[0] and (part.is_heading or _is_subject(part, wording)))
    )


def _names_things(part: Part, wording: Wording) -> bool:
    """Whether a part is nothing but labels and their ids: "base app91, table tblRooms"."""
    tokens = [token for token in part.tokens if token.kind is not Kind.MARK and not _is_lead(token, wording)]
    labels, things = tokens[::2], tokens[1::2]
    is_act = bool(part.verb) or part.is_question or part.is_excluded
    return (
        not is_act
        and len(things) == len(labels) >= _LEAST_THINGS
        and all(token.is_word and wording.is_of_catalog(token.word) for token in labels)
        and all(is_thing(token) or is_humped(token) for token in things)
    )


def _is_lead(token: Token, wording: Wording) -> bool:
    return token.is_word and (wording.is_filler(token.word) or bool(wording.preposition(token)))


def _is_subject(part: Part, wording: Wording) -> bool:
    """Whether a part is an id or a number with its label: "OPS-12", "acme/web PR 66", "page 5dd-21"."""
    # "on record recZ51 in tblStaff5, leave a comment": neither a noun nor an id is a verb or a word.
    is_lead = bool(wording.preposition(part.tokens[0])) and wording.language is ENGLISH
    has_verb = bool(part.verb) and not (is_lead and part.verb_place > 0 and part.verb in NOUNS_TOO)
    values = [token for token in part.tokens if token.is_value or (is_lead and is_thing(token))]
    kinds = [token.kind for token in values]
    is_count = kinds == [Kind.NUMBER] and (not is_lead or len(values[0].value) < _MIN_ID)
    words = [token for token in part.tokens if token.is_word and token not in values]
    # "OPS-12 to done" says what to do with it.
    has_state = any(token.word == "to" for token in part.tokens[1:])
    return (
        not (has_verb or has_state or part.is_question or part.is_excluded)
        and bool(kinds)
        and set(kinds) <= {Kind.SLUG, Kind.ID, Kind.HASH, Kind.NUMBER, Kind.WORD}
        and not is_count
        and len(words) <= _MAX_LABELS
        and all(
            wording.is_filler(token.word)
            or wording.is_of_catalog(token.word)
            or token.word in NUMBER_WORDS
            or token.word in wording.language.empty
            for token in words
        )
    )


def fill_shared(draft: Draft, earlier: Sequence[Earlier], settings: Sequence[Part]) -> None:
    """Set what is stated once for several parts, before other values take its place."""
    _fill_repository(draft, earlier, settings)
    _fill_same(draft, earlier)


def _fill_repository(draft: Draft, earlier: Sequence[Earlier], settings: Sequence[Part]) -> None:
    """Set the folder of a repository that is stated once for several parts.

    "in /srv/shop stage a.txt and b.txt" has three paths.
    """
    needed = [each for each in draft.open_inputs() if each.is_required and takes_repository(each)]
    if len(needed) != 1 or not all(is_file(draft.tokens[place]) for place in draft.free(Kind.PATH)):
        return
    stated = [token.value for part in settings for token in part.tokens if token.kind is Kind.PATH]
    before = [row.args.get(needed[0].name) for row in earlier if _is_of_server(row, draft.profile)]
    found = {value for value in stated or before if value is not None}
    if len(found) == 1:
        draft.set(needed[0], found.pop(), [])


def fill_context(draft: Draft, earlier: Sequence[Earlier], settings: Sequence[Part]) -> None:
    """Set the folder or repository of a part that states none, if the request states a single one for the others."""
    _fill_person(draft, earlier)
    if draft.free(*_KINDS):
        return
    _fill_same_object(draft, earlier)
    inputs = [each for each in draft.open_inputs() if each.is_required and _is_context(each)]
    for each in inputs:
        before = [row.args[each.name] for row in earlier if _is_of_server(row, draft.profile) and each.name in row.args]
        if before and all(value == before[-1] for value in before):
            draft.set(each, before[-1], [])
    _fill_from_gap(draft, earlier)
    if len(settings) != 1 or not is_setting(settings[0], draft.wording):
        return
    [value] = [token for token in settings[0].tokens if token.is_value]
    owner, _, repo = value.value.partition("/")
    is_repo = value.kind is Kind.SLUG and any(each.role is Role.OWNER for each in draft.profile.properties)
    by_role = {Role.OWNER: owner, Role.REPO: repo} if is_repo else {Role.PATH: value.value}
    for each in draft.open_inputs():
        # A part without a path of its own acts on the folder itself: "in /tmp/build, list everything".
        if each.is_required and not each.is_list and each.side != "target" and each.role in by_role:
            draft.set(each, by_role[each.role], [])


def _fill_person(draft: Draft, earlier: Sequence[Earlier]) -> None:
    """Set the mail address of "mail him" from the only one that the parts before state."""
    following = (*draft.tokens[1:], None)
    is_person = any(
        token.word in _PRONOUNS
        and not (after is not None and after.is_word and not draft.wording.is_filler(after.word))
        for token, after in zip(draft.tokens, following, strict=True)
    )  # "her report" is a thing
    if not is_person or draft.free(Kind.EMAIL):
        return
    parts = [row.part for row in earlier if not row.part.is_excluded]
    found = {token.value for part in parts for token in part.tokens if token.kind is Kind.EMAIL}
    needed = [each for each in draft.open_inputs() if each.is_required and each.role is Role.EMAIL]
    if len(found) == len(needed) == 1:
        [value] = found
        draft.set(needed[0], [value] if needed[0].is_list else value, [])


def _fill_same(draft: Draft, earlier: Sequence[Earlier]) -> None:
    """Set what "in the same channel" and "same repo" mean from the last step of the server that has it."""
    meant = frozenset[str]().union(
        *(
            draft.stems(place + 1)
            for place, token in enumerate(draft.tokens[:-1])
            if token.word == "same" and place not in draft.used_places
        )
    )
    rows = [row for row in earlier if _is_of_server(row, draft.profile)]
    for each in draft.open_inputs() if meant and rows else ():
        is_named = bool(meant & (each.labels | _ANYTHING))
        values = [row.args[each.name] for row in rows if each.name in row.args]
        if each.is_required and not each.is_list and is_named and values:
            draft.set(each, values[-1], [])


def _fill_same_object(draft: Draft, earlier: Sequence[Earlier]) -> None:
    """Set the id of the step before, if the part names no object of its own: "assign SUP-5 to me and leave the comment 'On it'"."""
    steps = [row for row in earlier if row.profile is not None and not row.part.is_excluded]
    if not steps or not _is_of_server(steps[-1], draft.profile) or draft.free(*_OBJECTS) or _names_another(draft):
        return
    for each in draft.open_inputs():
        is_object = each.is_required and not each.is_list and each.role in (Role.ID, Role.NUMBER)
        is_object = is_object and not _labels_another(draft, each)
        is_object = is_object and (each.role is Role.ID or bool({"number", "index"} & set(each.words)))
        # "create the branch fix/a and switch over"
        is_object = is_object or (each.is_required and takes_ref(draft.profile, each) and each.role is Role.NAME)
        if is_object and (value := _value_before(steps[-1], each)) is not None:
            draft.set(each, value, [])


def _value_before(earlier: Earlier, each: Property) -> Any:
    """Return the value of the same input of a step, or of its ``id`` for an ``issue_id`` of a step about issues."""
    own = earlier.profile
    if own is not None and each.words[:1] == (_PARENT,) and each.name not in earlier.args:
        # "give it a subtask": its id is that of the task before.
        same = [other.name for other in own.properties if other.words == each.words[1:]]
        return earlier.args.get(same[0]) if same else None
    if each.name in earlier.args or own is None or not each.labels & own.nouns:
        return earlier.args.get(each.name)
    return earlier.args.get("id")


def _labels_another(draft: Draft, each: Property) -> bool:
    """Whether a word follows the label of an input: "the list backlog"."""
    return any(
        draft.stems(place - 1) & each.labels and place not in draft.used_places and not draft.is_filler(place)
        for place in range(1, len(draft.tokens))
        if draft.tokens[place].is_word and place - 1 != draft.part.verb_place
    )


def _names_another(draft: Draft) -> bool:
    """Whether a part has a name in capitals that no input takes."""
    return any(
        token.is_word and token.is_capital and place > draft.part.verb_place and place not in draft.used_places
        for place, token in enumerate(draft.tokens)
    )


def _fill_from_gap(draft: Draft, earlier: Sequence[Earlier]) -> None:
    """Set what the part right before states, if it has no step: the folder, or the id of "Who is U04KJ77? I need their profile"."""
    before = earlier[-1] if earlier else None
    if before is None or before.profile is not None or before.part.is_excluded:
        return
    tokens = before.part.tokens
    folders = [token.value for token in tokens if token.kind is Kind.PATH]
    ids = [token.value for token in tokens if is_opaque(token)]
    names = [token.value for token in tokens if token.is_word and "_" in token.value.strip("_")]
    needed = [each for each in draft.open_inputs() if each.is_required and not each.is_list]
    for each in needed:
        if (
            _is_context(each)
            and each.role is Role.PATH
            and len(folders) == 1
            and (before.part.is_purpose or _refers_back(draft))
        ):
            draft.set(each, folders[0], [])
    if len(needed) != 1 or needed[0].name in draft.args:
        return
    is_theirs = any(token.word in _POSSESSIVES for token in draft.tokens) and not draft.part.is_question
    if needed[0].role is Role.ID and is_theirs and len(ids) == 1:
        draft.set(needed[0], ids[0], [])
        draft.stated_by.append(before.part)
    elif needed[0].role is Role.PATTERN and draft.part.verb in SEARCHING_VERBS and len(names) == 1:
        draft.set(needed[0], names[0], [])
        draft.stated_by.append(before.part)


def _refers_back(draft: Draft) -> bool:
    """Whether a part is about what is stated before it: "take everything back", "undo it"."""
    return has_reference(draft) or any(
        draft.tokens[place].word in ("everything", "there") for place in range(len(draft.tokens))
    )


def _is_context(each: Property) -> bool:
    """Whether an input takes where an entry acts: a repository, or a folder beside what it acts on."""
    if each.role is Role.PATH:
        return not each.is_list and each.side != "target" and bool(FOLDER_WORDS & set(each.words))
    return each.role in (Role.OWNER, Role.REPO)


def _is_of_server(earlier: Earlier, profile: Profile) -> bool:
    before = earlier.profile
    return before is not None and not earlier.part.is_excluded and before.entry.source == profile.entry.source
