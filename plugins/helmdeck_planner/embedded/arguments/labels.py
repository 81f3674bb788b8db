"""Values next to a word that names their input: "issue 42", "the table customers", "titled 'Crash'"."""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import Action, Kind, Token, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.name_words import is_plain_word, whole_name, word_run
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import FILE_WORDS, KIND_WORDS, PLAIN_WORDS
from helmdeck_planner.embedded.entries.units import UNIT_OF

# Marks between a label and its value.
_MARKS: Final = (":", "=", "#", "(")
_NAME_OF: Final = re.compile(r"\bname of (?:the |an? )?(?:new )?(\w+)", re.IGNORECASE)
_KIND_AND_NOUN: Final = 2
_MAX_BETWEEN: Final = 3
_RELATIVE: Final = ("that", "which", "who")
_AUXILIARIES: Final = ("is", "are", "was", "were")
_MIN_LABEL: Final = 5
_CONTAINING: Final = ("with", "containing", "having")
# Endings of words for those who do something: "interviewer", "editor".
_AGENTS: Final = ("er", "or")
_NAME_ROLES: Final = (Role.NAME, Role.PATH, Role.ID, Role.TEXT)
_WORD_ROLES: Final = (Role.NAME, Role.ID, Role.TEXT, Role.PATH, Role.OWNER)
_PATH_LABELS: Final = frozenset(map(stem, FILE_WORDS))
_PEOPLE: Final = frozenset(map(stem, ("user", "person", "colleague")))
_QUOTE_ROLES: Final = (
    Role.NAME, Role.CONTENT, Role.QUERY, Role.TEXT, Role.ID, Role.PATTERN, Role.PATH, Role.PLACE, Role.CODE, Role.SQL,
)  # fmt: skip


def labels_of(draft: Draft, each: Property) -> frozenset[str]:
    """Return the stems that label an input; for a plain ``name`` or ``id`` those of the entry's object."""
    if each.role is Role.PATH:
        return each.labels | _PATH_LABELS
    if each.takes_people and each.role in (Role.TEXT, Role.NAME):
        return each.labels | _PEOPLE
    if each.labels:
        return each.labels
    if KIND_WORDS & set(each.words):
        return each.stems  # "the field 'Seed'" states no type
    # "key" is a label where it is the whole name; "id" and "name" are, beside the words for the object.
    return draft.profile.nouns | each.stems


def labelled(draft: Draft, each: Property) -> list[int]:
    """Return the places of the value after a label of an input; empty without one."""
    labels = labels_of(draft, each)
    if each.role is Role.NAME and [other for other in draft.profile.required if other.role in _NAME_ROLES] == [each]:
        object_labels = draft.profile.nouns | _described(each)
    else:
        object_labels = frozenset()
    makes = Action.CREATE in draft.profile.actions
    # Its own label first: in "the project Website of the workspace Acme", a workspace is "Acme".
    for known in (labels, object_labels - labels):
        for place in range(len(draft.tokens)):
            if place == draft.part.verb_place or not _is_label(draft.stems(place), known):
                continue
            if is_act_of(draft.tokens[place].word, each):
                continue
            value = _value_before(draft, each, place) or _value_after(draft, each, place)
            is_id = bool(value) and draft.tokens[value[0]].kind in (Kind.ID, Kind.HASH)
            # "take a snapshot of web-1" names no snapshot
            is_of_other = makes and each.role is Role.NAME and bool(value) and draft.tokens[value[0] - 1].word == "of"
            if value and not (is_id and known is not labels) and not is_of_other:
                return value
    if each.role is Role.NAME and not each.is_list:
        # The description says what the name is of: "an eagle emoji" for "the name of the emoji reaction".
        described = _described(each) - draft.profile.nouns
        places = word_before_label(draft, labels) or (word_before_label(draft, described) if each.is_required else [])
        if not places and len(terms := each.text.split()) == _KIND_AND_NOUN:
            # "the Eastgate branch" for "Home branch"
            places = word_before_label(draft, frozenset((stem(terms[-1].lower()),)))
            places = places if places and draft.tokens[places[0]].is_capital else []
        return (
            []
            if places and draft.tokens[places[0]].word in PLAIN_WORDS and not labels & draft.stems(places[0] + 1)
            else places
        )
    return []


def is_act_of(word: str, each: Property) -> bool:
    """Whether a word is what the person of an input does: "an interview of Ann" names no interviewer."""
    agents = [name for name in each.words if name.endswith(_AGENTS)]
    return word not in agents and any(stem(word) == stem(agent) and agent.startswith(word) for agent in agents)


def _described(each: Property) -> frozenset[str]:
    """Return the stems of what an input is the name of: "deployment" for "name of the deployment to scale"."""
    return frozenset(stem(word.lower()) for word in _NAME_OF.findall(each.text))


def is_labelled_otherwise(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word right before a value names another input or field: "Tomasz" in "Owner 'Tomasz'" is no type."""
    before = place - 1
    is_joined = before > 0 and draft.tokens[before].value == "="
    if is_joined:
        before -= 1
    if before < 0 or before == draft.part.verb_place or draft.is_filler(before) or not draft.tokens[before].is_word:
        return False
    if before == draft.part.verb_place + 1 and Action.SEND in draft.part.actions:
        return False  # 'send Anna "Hi"'
    is_field = is_joined or (draft.tokens[before].is_capital and before > 0)
    own = labels_of(draft, each) | each.hints | draft.profile.nouns | draft.profile.verbs
    is_other = draft.wording.verb(draft.tokens[before].word) or draft.is_naming(before)
    return (
        is_field and not is_other and not draft.is_one_of(before, "saying") and not _is_label(draft.stems(before), own)
    )


def _is_label(stems: frozenset[str], labels: frozenset[str]) -> bool:
    """Whether a word is a label, or ends with one: "worksheet" for ``sheet_name``."""
    return bool(stems & labels) or any(
        len(label) >= _MIN_LABEL and term.endswith(label) for term in stems for label in labels
    )


def _value_before(draft: Draft, each: Property, place: int) -> list[int]:
    """Return the places of a value between an article and a label, "the 7.4-alpine tag", or before both: "make Ann Lee the manager of Web"."""
    if each.role in (Role.NAME, Role.TEXT) and (run := _made(draft, place)):
        return run
    if draft.profile.writes is False and not each.is_required and (run := _contained(draft, place)):
        return run
    is_stated = place > 1 and draft.tokens[place - 1].is_value and _takes(each, draft.tokens[place - 1])
    has_article = is_stated and draft.is_determiner(place - 2)
    word = draft.tokens[place - 1].value.lower()
    is_id = has_article and draft.tokens[place - 1].kind is Kind.ID
    # "the 3-day document" has no id, and "the Context7 library" is that of the server.
    is_other = word.rpartition("-")[2] in UNIT_OF or stem(word) in draft.profile.text
    return [place - 1] if is_id and not is_other else []


def _made(draft: Draft, place: int) -> list[int]:
    """Return the name in capitals before "the manager of" and "the new manager of"."""
    tokens, determiners = draft.tokens, draft.wording.language.determiners
    is_of = draft.preposition(place + 1) == "of"
    if is_of and place > 1 and tokens[place - 1].word not in determiners:
        place -= 1
    is_made = is_of and place > 1 and tokens[place - 1].word in determiners
    start = end = place - 1
    while is_made and start - 1 > draft.part.verb_place and tokens[start - 1].is_word and tokens[start - 1].is_capital:
        start -= 1
    return list(range(start, end))


def _contained(draft: Draft, place: int) -> list[int]:
    """Return the value or the words before "in the title" behind "with"."""
    end = place - 1
    while end > 0 and draft.is_determiner(end):
        end -= 1
    start = end
    while start > 0 and draft.tokens[start].word not in _CONTAINING:
        start -= 1
    run = list(range(start + 1, end))
    is_plain = all(token.is_word or token.is_value for token in draft.tokens[start + 1 : end])
    is_inside = end > 1 and draft.preposition(end) == "in" and start > 0
    return run if is_inside and is_plain and len(run) <= _MAX_BETWEEN else []


def _value_after(draft: Draft, each: Property, place: int) -> list[int]:
    is_named = False
    for position in range(place + 1, min(place + 2 + _MAX_BETWEEN, len(draft.tokens))):
        token = draft.tokens[position]
        if position in draft.used_places:
            return []
        if token.is_value:
            return [position] if _takes(each, token) else []
        is_naming = token.word in draft.wording.language.naming
        is_joint = token.value in _MARKS or draft.is_one_of(position, "label_joints")
        if is_joint and token.is_word and KIND_WORDS & set(each.words):
            return [position]  # "a field of type number"
        # "update the order with 3 apples" states no id.
        is_loose = each.role is not Role.ID and draft.is_one_of(position, "loose_joints")
        # "pickup at Harbour Street", but not "an event at Central Station"
        own = (draft.stems(place) & each.labels) - draft.profile.nouns
        is_located = bool(own) and each.role is Role.NAME and position == place + 1 and token.word == "at"
        is_located = is_located and position + 1 < len(draft.tokens) and draft.tokens[position + 1].is_capital
        if is_joint or is_loose or is_naming or is_located:
            is_named = is_named or is_naming
            continue
        if each.role is Role.ID and is_named:
            return []
        if token.is_word and draft.stems(position) & each.hints and _names_next(draft, position):
            continue  # "the logs of the pod web-1"
        if token.is_word and draft.stems(position) & each.labels:
            continue  # "the commit title 'Tidy up'"
        if each.role in (Role.NAME, Role.TEXT) and not is_named and _is_state(draft, position):
            return [position, *word_run(draft, position + 1)]
        if (
            token.is_word
            and each.role in _WORD_ROLES
            and (is_plain_word(draft, position) or _ends_phrase(draft, position, in_list=each.is_list))
            and not _describes_other(draft, each, position)
        ):
            return whole_name(draft, each, position)
        return []
    return []


def _is_state(draft: Draft, place: int) -> bool:
    """Whether a preposition in capitals starts a name: "In Review", "On Hold"."""
    token, following = draft.tokens[place], place + 1
    is_start = token.value.istitle() and bool(draft.preposition(place)) and following < len(draft.tokens)
    return is_start and draft.tokens[following].is_word and draft.tokens[following].is_capital


def _names_next(draft: Draft, place: int) -> bool:
    """Whether a value or a coined word follows a word."""
    following = place + 1
    if following >= len(draft.tokens) or following in draft.used_places:
        return False
    token = draft.tokens[following]
    return token.is_value or (token.is_word and not draft.wording.is_known(token.word))


def _ends_phrase(draft: Draft, place: int, *, in_list: bool) -> bool:
    """Whether a word that may be a verb is a name: "the branch develop in /srv", "labels deploy and web"."""
    others = draft.profile.labels
    if draft.is_filler(place) or draft.stems(place) & (draft.profile.nouns | draft.profile.verbs | others):
        return False
    if place + 1 >= len(draft.tokens) or draft.wording.preposition(draft.tokens[place + 1]):
        return True
    return in_list and draft.joins_list(place + 1)


def _takes(each: Property, token: Token) -> bool:
    kind = token.kind
    if each.role is Role.ID:
        return (
            kind in (Kind.ID, Kind.HASH, Kind.NUMBER, Kind.QUOTE, Kind.SLUG)
            or _is_one_word(token)
            or (kind is Kind.PATH and (token.value.startswith("/") or not is_file(token)))
        )
    if each.role in (Role.PATH,):
        return kind in (Kind.PATH, Kind.SLUG, Kind.QUOTE, Kind.GLOB) or _is_one_word(token)
    if each.role is Role.CONTENT:
        return kind is Kind.QUOTE or kind is Kind.CODE
    if each.role is Role.NAME:
        return kind in (Kind.QUOTE, Kind.SLUG, Kind.PATH, Kind.ID, Kind.HASH, Kind.CODE)
    return each.role in _QUOTE_ROLES and kind in (Kind.QUOTE, Kind.PATH, Kind.ID, Kind.SLUG, Kind.CODE, Kind.GLOB)


def _is_one_word(token: Token) -> bool:
    """Whether code is a single value in back quotes: "the order `A-17`"."""
    return token.kind is Kind.CODE and bool(token.value) and not any(map(str.isspace, token.value))


def _describes_other(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word between an article and the label of another input is the value of that: "the sidecar container"."""
    following = draft.stems(place + 1)
    others = (other for other in draft.open_inputs() if other is not each and other.role in _WORD_ROLES)
    has_article = draft.is_determiner(place - 1)
    return has_article and any(following & other.labels - each.labels for other in others)


def word_before_label(draft: Draft, labels: frozenset[str]) -> list[int]:
    """Return the word in "the orders table"."""
    for place in range(1, len(draft.tokens)):
        if draft.stems(place) & labels and place - 1 != draft.part.verb_place and is_plain_word(draft, place - 1):
            before = draft.word(place - 2)
            # "tada emoji on 17"
            is_coined = place == 1 and not draft.wording.is_word(draft.tokens[0].word)
            if before in draft.wording.language.determiners or is_coined:
                return [place - 1]
    return []


def named(draft: Draft, each: Property) -> list[int]:
    """Return the places of the value after "called", "titled", "saying"."""
    for place, token in enumerate(draft.tokens):
        if not token.is_word or place + 1 >= len(draft.tokens):
            continue
        is_saying = draft.is_one_of(place, "saying")
        if token.word not in draft.wording.language.naming and not is_saying:
            continue
        if is_saying != (each.role is Role.CONTENT) or (is_saying and _labels_another(draft, each, place)):
            continue
        start = place + 1
        while start + 1 < len(draft.tokens) and (draft.tokens[start].value == ":" or draft.is_determiner(start)):
            start += 1
        following = draft.tokens[start]
        if start in draft.used_places:
            continue
        if following.is_value and following.kind is not Kind.NUMBER:
            return [start]
        if following.is_word and not is_saying:
            return _without_participle(draft, _until_preposition(draft, start))
    return []


def _without_participle(draft: Draft, run: list[int]) -> list[int]:
    """Return a name without the participle of a question behind it: "how is the table called readings built"."""
    last = draft.tokens[run[-1]]
    is_passive = any(token.word in _AUXILIARIES for token in draft.tokens[: run[0]])
    is_participle = last.value.islower() and (
        last.word in draft.wording.language.participles or last.word.endswith("ed")
    )
    return run[:-1] if len(run) > 1 and draft.part.is_question and is_passive and is_participle else run


def _labels_another(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word is the label of another input: "message" in "with the commit message 'Fix'" is no file content."""
    others = draft.profile.labels_besides(each)
    return bool(draft.stems(place) & (others - each.labels))


def _until_preposition(draft: Draft, start: int) -> list[int]:
    run = [start]
    while run[-1] + 1 < len(draft.tokens):
        token = draft.tokens[run[-1] + 1]
        continues_name = token.kind is Kind.NUMBER and draft.tokens[run[-1]].is_capital
        if (
            not (token.is_word or continues_name)
            or draft.wording.preposition(token)
            or run[-1] + 1 in draft.used_places
            or (token.word in _RELATIVE and draft.tokens[start].is_capital and token.value.islower())
        ):
            break
        run.append(run[-1] + 1)
    return run


def has_label(draft: Draft, each: Property, place: int) -> bool:
    """Whether a label of an input is right before or after a value."""
    labels = each.stems - {"id", "number", "nam"}
    near = [other for other in (place - 1, place + 1, place - 2) if 0 <= other < len(draft.tokens)]
    return any(draft.stems(other) & labels for other in near)
