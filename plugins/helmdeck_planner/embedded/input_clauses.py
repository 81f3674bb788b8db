"""Reads what a clause behind a step states for an input of that step: "and label it bug", "and make it private"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_language import READING, Action, Kind, Token, stem
from helmdeck_planner.embedded.arguments.described import states_only_inputs
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import arguments_of, drafted
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.confidence import is_gap
from helmdeck_planner.embedded.choice.meanings import MAX_COMPARED
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import word_list, word_rows
from helmdeck_planner.embedded.request.wording import Wording

_POINTING: Final = word_list("named_objects") | {"those", "these"}
_PLACES: Final = word_list("pointing_back")
_NAMING: Final = word_list("naming_verbs")
_RESULTS: Final = word_list("results_of_steps")
_TRANSFERRING: Final = word_list("transferring_verbs")
_WRITING: Final = word_list("writing_verbs")
_SETTING: Final = word_list("setting_verbs")
# The inputs for which everyday verbs state the value: "tag it bug".
_STATING: Final = word_rows("stating_verbs")
_PARTICLES: Final = word_list("particles") | word_list("sides")
_PEOPLE: Final = frozenset(map(stem, word_list("people")))
_LIMITING: Final = word_list("limiting")
_PLAIN: Final = (Role.CHOICE, Role.BOOLEAN, Role.NUMBER, Role.DATE)
_ISO_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
# Words of a value without quotation marks, and the letters that "describe" and "description" share.
_MOST_WORDS: Final = 3
_MIN_COMMON: Final = 6
# How often an update of what the step before shows is right.
_UPDATED: Final = 0.85


def with_further(before: Pick, after: Pick, sources: Sources) -> Pick | None:
    """Return the step of a part, with the arguments that the clause behind it states; ``None`` if that is a step of its own.

    :param sources: with the parts before both as the earlier ones.
    """
    profile = before.profile
    if profile is None or before.part.is_excluded:
        return None
    args = {**arguments_of(drafted(before.part, profile, sources)), **before.part.further}
    creates = Action.CREATE in profile.actions
    # What was only just created has no id that another step could take.
    is_own = after.profile is not None and after.profile is not profile and not creates
    if is_own and after.found[0].is_complete and (after.found[0].takes_any or after.found[0].is_named):
        stated = {} if _acts_alone(after) else _stated(after.part, profile, args, sources)
        return _with(before, after, stated, sources) if stated else None
    is_same = after.profile is profile and not after.part.further.keys() & args.keys()
    found = dict(after.part.further) if is_same else {}
    found = found or further(after.part, profile, args, sources)
    if not found and (after.profile in (None, profile) or not after.found[0].is_complete):
        found = _stated(after.part, profile, args, sources)
    return _with(before, after, found, sources) if found else None


def _is_labelled(draft: Draft) -> bool:
    """Whether a part has only values, the labels of their inputs, and empty words: "8 lines of context"."""
    return all(
        place == draft.part.verb_place
        or _is_taken(draft, place)
        or bool(draft.wording.preposition(token))
        or token.word in _LIMITING
        for place, token in enumerate(draft.tokens)
    )


def _acts_alone(pick: Pick) -> bool:
    """Whether a part may be a step of its own, whatever the step before takes of it: a question, a change, or one with a value."""
    part = pick.part
    is_change = pick.profile is not None and pick.profile.writes is not False
    return (
        is_change or part.is_question or any(token.is_value and token.kind is not Kind.NUMBER for token in part.tokens)
    )


def _with(before: Pick, after: Pick, found: Mapping[str, Any], sources: Sources) -> Pick:
    """Return the step of a part with further arguments."""
    text = sources.request[before.part.tokens[0].start : after.part.tokens[-1].end]
    return Pick(
        attrs.evolve(before.part, text=text, further={**before.part.further, **found}), before.profile, before.found
    )


def _stated(part: Part, profile: Profile, known: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    """Return the open inputs of a step that all words of a part behind it state: "press enter", "show those, at most 10"."""
    if len(part.tokens) > 1 and part.tokens[0].word == "say" and part.tokens[1].kind is Kind.NUMBER:
        part = attrs.evolve(part, tokens=part.tokens[1:], verb="", verb_place=-1)  # "a dry run, say 20 minutes"
    reads = part.actions <= READING
    alone = Sources(sources.request, sources.wording, defaults=known)
    draft = drafted(part if reads else attrs.evolve(part, verb="", verb_place=-1), profile, alone)
    stated = [each for each in profile.properties if each.name in draft.args.keys() - known.keys()]
    is_said = states_only_inputs(draft) or (bool(stated) and _is_labelled(draft))
    is_whole = not part.is_excluded and is_said and all(each.role in _PLAIN for each in stated)
    return {each.name: draft.args[each.name] for each in stated} if is_whole else {}


def updated(part: Part, found: Sequence[Scored], sources: Sources, profiles: Profiles) -> tuple[Part, Scored] | None:
    """Return the entry that updates what the step before is about, with the input that a clause about it states.

    :param found: the candidates of the clause, the best first.
    """
    before = sources.earlier[-1] if sources.earlier else None
    pointing = next((token for token in part.tokens if token.word in _POINTING), None)
    if before is None or before.profile is None or part.verb_place != 0 or pointing is None:
        return None
    # All other words are those of the input.
    about = attrs.evolve(part, tokens=(part.tokens[0], pointing))
    rows = []
    for profile in _of_server(before.profile, profiles):
        is_update = Action.UPDATE in profile.actions and not profile.deletes
        if not is_update or profile.writes is False or not set(profile.name) & set(before.profile.name):
            continue
        known = arguments_of(drafted(about, profile, sources))
        if all(each.name in known for each in profile.required):
            args = further(part, profile, known, sources)
            # The verb alone may be a state: "close it".
            is_state = len(part.tokens) == len(about.tokens) and len(known) > len(profile.required)
            rows += [(profile, args)] if args or is_state else []
    if len(rows) != 1:
        return None
    profile, args = rows[0]
    if not is_gap(found) and found[0].is_complete and found[0].profile is not profile:
        return None
    return attrs.evolve(about, further=args), _certain(profile, _UPDATED)


def commented(part: Part, found: Sequence[Scored], sources: Sources, profiles: Profiles) -> Scored | None:
    """Return the only entry that takes a text for all that the step before identifies: "write under it 'On it'" comments on an issue.

    :param found: the candidates of the clause, the best first.
    """
    before = sources.earlier[-1] if sources.earlier else None
    texts = [token for token in part.tokens if token.is_value]
    is_about = any(token.word in _POINTING | _PLACES for token in part.tokens)
    is_text = part.verb_place == 0 and part.tokens[0].word in _WRITING and [each.kind for each in texts] == [Kind.QUOTE]
    if before is None or before.profile is None or not (is_about and is_text):
        return None
    thing = {each.name: before.args.get(each.name) for each in before.profile.required}

    def takes_both(profile: Profile) -> bool:
        if not thing.keys() <= {each.name for each in profile.required}:
            return False
        args = arguments_of(drafted(part, profile, sources))
        own = [args[each.name] for each in profile.required if each.name in args]
        is_whole = len(own) == len(profile.required) and texts[0].value in own
        return is_whole and all(args.get(name) == value for name, value in thing.items())

    if not thing or (not is_gap(found) and takes_both(found[0].profile)):
        return None
    server = _of_server(before.profile, profiles)
    rows = [each for each in server if each.writes is not False and not each.deletes and takes_both(each)]
    return _certain(rows[0], _UPDATED) if len(rows) == 1 else None


def _of_server(profile: Profile, profiles: Profiles) -> Iterator[Profile]:
    """Yield the entries of the same server; none of a large catalog, whose entries would take too long to try."""
    if len(profiles.entries) <= MAX_COMPARED:
        yield from (each for each in profiles.all() if each.entry.source == profile.entry.source)


def _certain(profile: Profile, evidence: float) -> Scored:
    return Scored(profile, 0.0, 1.0, 0.0, 0.0, False, True, True, True, evidence=evidence)


def further(part: Part, profile: Profile, known: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    """Return the arguments that a clause about a step states for an open input of it; none unless they take all of the clause.

    :param known: the inputs that are set. A word that was taken for a name gives way to "call it Edge".
    """
    wording = sources.wording
    if part.tokens[0].word in _NAMING:
        known = {name: value for name, value in known.items() if not _is_word(value)}
    if part.verb_place != 0 or part.is_question or part.is_excluded:
        return {}
    rest, refers = _without_object(part.tokens[1:], profile, wording)
    inputs = [each for each in profile.properties if each.name not in known]
    verb = part.tokens[0].word
    for each in inputs if refers else ():
        unlabelled = [token for token in rest if not (token.is_word and _stems(token, wording) & each.stems)]
        if len(unlabelled) < len(rest) and (value := _value(each, unlabelled, sources)) is not None:
            return {each.name: value}
    for each in inputs:
        is_meant = _is_named_by(verb, each) and (refers or not _stands_alone(each))
        # "give it a star" names no person.
        is_meant = is_meant and (verb not in _TRANSFERRING or bool(rest and wording.preposition(rest[0])))
        if is_meant and (value := _value(each, rest, sources)) is not None:
            return {each.name: value}
    if not refers:
        return {}
    if not rest:
        return _state(verb, inputs)
    return _plain(rest, profile, known, sources) or _switch(verb, rest, inputs, wording)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.isalpha() and value.islower()


def _stands_alone(each: Property) -> bool:
    """Whether an input may be meant by a verb only where "it" is: "call it Edge", but "invite ann@example.org"."""
    return not (each.is_list and each.role is Role.EMAIL)


def _without_object(tokens: Sequence[Token], profile: Profile, wording: Wording) -> tuple[list[Token], bool]:
    """Return the words behind a verb without "it", "to it", "its" or "the result", and whether there was one of these."""
    rest: list[Token] = []
    refers = False
    for place, token in enumerate(tokens):
        before = token_at(tokens, place - 1)
        is_result = token.word in _RESULTS or stem(token.word) in profile.name
        if token.word in _POINTING or token.word == "its":
            refers = True
            if rest and rest[-1] is before and wording.preposition(rest[-1]):
                rest.pop()
        elif place == 1 and before is not None and before.word == "the" and is_result and len(tokens) > place + 1:
            refers = True
            rest.pop()
        else:
            rest.append(token)
    return rest, refers


def _stems(token: Token, wording: Wording) -> frozenset[str]:
    return frozenset(stem(word) for word in (token.word, *wording.nouns(token.word)))


def _is_named_by(verb: str, each: Property) -> bool:
    """Whether a verb says which input a clause states: "label" and "tag" for ``labels``, "describe" for ``description``."""
    if _STATING.get(verb, frozenset()) & each.stems or stem(verb) in each.stems:
        return True
    return len(verb) >= _MIN_COMMON and any(word.startswith(verb[:_MIN_COMMON]) for word in each.words)


def _value(each: Property, tokens: Sequence[Token], sources: Sources) -> Any:
    """Return what some words state for an input; ``None`` unless all of them are its value."""
    words = list(_stripped(tokens, sources.wording))
    if each.role is Role.BOOLEAN:
        return True if all(stem(token.word) in each.hints | each.stems for token in words) else None
    if not words or all(token.word in _PARTICLES for token in words):
        return None
    if each.is_list and each.role is not Role.OTHER:
        found = [_single(each, chunk, sources) for chunk in _chunks(words, sources.wording)]
        return found if all(value is not None for value in found) else None
    return None if each.is_list or each.is_object else _single(each, words, sources)


def _single(each: Property, tokens: Sequence[Token], sources: Sources) -> Any:
    tokens = list(_stripped(tokens, sources.wording))
    if not tokens:
        return None
    token = tokens[0] if len(tokens) == 1 else None
    text = sources.request[tokens[0].start : tokens[-1].end] if token is None else token.value
    if each.role is Role.CHOICE:
        folded = text.lower().replace(" ", "_").replace("-", "_")
        return next((choice for choice in each.choices if str(choice).lower().replace("-", "_") == folded), None)
    if each.role is Role.NUMBER:
        is_whole = token is not None and token.kind is Kind.NUMBER and token.value.isdecimal()
        return int(text) if is_whole else None
    if each.role is Role.DATE:
        return text if token is not None and _ISO_DATE.fullmatch(text) else None
    if token is not None and token.is_value:
        return text
    is_name = len(tokens) <= _MOST_WORDS and all(
        (other.is_word or other.kind is Kind.NUMBER) and not sources.wording.preposition(other) for other in tokens
    )
    return text if is_name else None


def _stripped(tokens: Sequence[Token], wording: Wording) -> Iterator[Token]:
    """Yield words without the prepositions, articles and "user" before a value."""
    own = list(tokens)
    while own and (own[-1].kind is Kind.MARK or own[-1].word in _PARTICLES):
        own.pop()
    place = 0
    while place < len(own) and not own[place].is_value:
        token = own[place]
        is_person = stem(token.word) in _PEOPLE and place + 1 < len(own)
        is_filler = wording.is_filler(token.word) and token.value.islower()
        is_filler = is_filler or token.kind is Kind.MARK or bool(wording.preposition(token))
        if not (is_filler or is_person or (token.word in _PARTICLES and place + 1 < len(own))):
            break
        place += 1
    yield from own[place:]


def _chunks(tokens: Sequence[Token], wording: Wording) -> Iterator[list[Token]]:
    current: list[Token] = []
    for token in tokens:
        if token.value == "," or (token.is_word and token.word in wording.language.joints):
            if current:
                yield current
            current = []
        else:
            current.append(token)
    if current:
        yield current


def _plain(rest: Sequence[Token], profile: Profile, known: Collection[str], sources: Sources) -> dict[str, Any]:
    """Return the choices, switches, numbers and dates that words state by their form, if these are all of the words."""
    text = sources.request[rest[0].start : rest[-1].end]
    draft = drafted(Part(text, tuple(rest), "", -1, False, False), profile, Sources(sources.request, sources.wording))
    roles = {each.name: each.role for each in profile.properties}
    args = {name: value for name, value in arguments_of(draft).items() if name not in known}
    is_plain = bool(args) and all(roles[name] in _PLAIN for name in args)
    return args if is_plain and all(_is_taken(draft, place) for place in range(len(draft.tokens))) else {}


def _is_taken(draft: Draft, place: int) -> bool:
    token = draft.tokens[place]
    labels = frozenset[str]().union(*(each.stems for each in draft.profile.properties if each.name in draft.args))
    return (
        place in draft.used_places
        or token.kind is Kind.MARK
        or draft.is_filler(place)
        or bool(draft.stems(place) & labels)
    )


def _state(verb: str, inputs: Sequence[Property]) -> dict[str, Any]:
    """Return the state that a verb leads to: "closed" for "close it"."""
    return next(
        (
            {each.name: choice}
            for each in inputs
            if each.role is Role.CHOICE and not each.is_list
            for choice in each.choices
            if str(choice).lower() != verb and stem(str(choice).lower()) == stem(verb)
        ),
        {},
    )


def _switch(verb: str, rest: Sequence[Token], inputs: Sequence[Property], wording: Wording) -> dict[str, Any]:
    """Return the switch that a key names: "confirm it with Enter" for ``submit``."""
    words = [stem(token.word) for token in _stripped(rest, wording)]
    if len(words) != 1 or verb in _SETTING or not rest[-1].is_capital:
        return {}
    return next(({each.name: True} for each in inputs if each.role is Role.BOOLEAN and words[0] in each.hints), {})
