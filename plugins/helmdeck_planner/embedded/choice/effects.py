"""Compares what a part requests with what an entry does: reading, writing, deleting."""

from __future__ import annotations

import itertools
import re
from typing import Final

from helmdeck_language import ENGLISH, GENERAL, READING, WRITING, Action, Kind, Lexicon, stem
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.property_words import STORING_VERBS
from helmdeck_planner.embedded.request.opposites import OPPOSITES, requested_sides
from helmdeck_planner.embedded.request.part import ActDone, Part
from helmdeck_planner.embedded.request.word_lists import stemmed, word_list

_LIGHT: Final = word_list("light")
_TURNING: Final = word_list("turning")
# Of the verbs that read, those that request more than to see something: "validate the file" is not to read it.
_SPECIFIC: Final = word_list("specific")
# Those that read in one catalog and change something in another: "resolve" a name or a ticket.
_ACTING_TOO: Final = word_list("acting_too")
# A change that could be any of its class: "set the status", but not "rename the task".
_VAGUE: Final = word_list("vague")
_CHANGING: Final = frozenset((Action.CREATE, Action.UPDATE, Action.MOVE))
_APPENDING: Final = stemmed("appending")
_OVERWRITING: Final = frozenset({stem("overwrite")})
_EXCLUDING: Final = word_list("excluding_inputs")
_FILE: Final = stem("file")
_ENDS: Final = word_list("ends")
# "light.kitchen", and "Entity id of the light".
_TYPED_ID: Final = re.compile(r"([a-z]{3,20}(?:_[a-z]{3,20})?)\.[a-z][a-z0-9_]{1,60}")
_ID_OF: Final = re.compile(r"^Entity id of (?:the|a|an) (\w+)", re.IGNORECASE)
_DEFINITE: Final = word_list("possessives")
_KEEPING: Final = stemmed("keeping")
_UNDOING: Final = "un"
_STOPPING: Final = ("stop", "halt", "end", "quit")
_STARTING: Final = ("start", "trigger", "sound", "launch", "begin", "run", "play")
_RESTORING: Final = ("rollback", "revert", "undo")
_RESTORED: Final = word_list("restoring")
_READING_SQL: Final = re.compile(r"\s*(?:select|with|pragma|explain|show)\b", re.IGNORECASE)
_CREATING_SQL: Final = re.compile(r"\s*create\b", re.IGNORECASE)


def requested_actions(part: Part) -> frozenset[Action]:
    """Return what the verb of a part does; reading for a question, and for a part without a verb."""
    if part.verb in _TURNING and any(token.word == "into" for token in part.tokens):
        return frozenset({Action.PRODUCE})  # "turn the talk into slides"
    for token in part.tokens:
        if token.kind is Kind.SQL:
            if _CREATING_SQL.match(token.value):
                return frozenset({Action.CREATE, Action.UPDATE})
            return frozenset({Action.READ if _READING_SQL.match(token.value) else Action.UPDATE})
    if part.is_question or not part.verb:
        return frozenset({Action.READ})
    after = [token.word for token in part.tokens[part.verb_place + 1 : part.verb_place + 3]]
    is_indefinite = after[:1] in (["a"], ["an"])
    if (is_indefinite and part.verb == "open") or (is_indefinite and after[1:] == ["new"] and part.verb in _LIGHT):
        return frozenset({Action.CREATE})  # "open a pull request", "start a new branch"
    if part.verb == "tell" and not {token.word for token in part.tokens[1:2]} & {"me", "us"}:
        return frozenset({Action.SEND})  # "tell the team that ..."
    return part.actions


def loses_content(part: Part, profile: Profile) -> bool:
    """Whether a part adds to something that an entry overwrites: "put 'done' at the end of a.txt"."""
    if not profile.text >= _OVERWRITING or not _APPENDING.isdisjoint(profile.text):
        return False
    words = [token.word for token in part.tokens]
    at_end = any(pair[0] == "the" and pair[1] in _ENDS for pair in itertools.pairwise(words))
    return part.verb in word_list("appending") or at_end


def undoes_verb(part: Part, profile: Profile) -> bool:
    """Whether an entry undoes the verb of a part, or the reverse: "share" and "Stop sharing a file", "unpause" and ``pause_playback``."""
    first = part.tokens[0].word if part.tokens else ""
    bare = first.removeprefix(_UNDOING)
    is_reversed = bare != first and bare in ENGLISH.verbs and stem(bare) in profile.verbs
    if is_reversed and stem(first) not in profile.text:
        return True
    if part.verb in _STOPPING and profile.verb in _STARTING and stem(part.verb) not in profile.text:
        return True  # "stop the siren" sounds none
    verbs = {part.verb, first} - {""}
    return any(stem(verb) == profile.undone or stem(_UNDOING + verb) in profile.name for verb in verbs)


def does_too_much(part: Part, profile: Profile) -> bool:
    """Whether an entry has an effect that a question does not request, that was had, that spares nothing of what a part leaves out, or that shows what a part changes."""
    if profile.writes is not False and any(_does_again(done, profile) for done in part.done):
        return True
    if part.only_reads and not _may_answer(part, profile):
        return True
    if Action.CREATE in profile.actions and _keeps(part):
        return True
    if profile.verb in _RESTORING and not any(token.word in _RESTORED for token in part.tokens):
        return True  # "deploy 1.4.3" rolls nothing back
    if profile.writes is not False and _lists_open(part):
        return True  # "open tickets of Ann"
    if part.verb == "rename" and profile.verb == "move" and _FILE not in profile.text:
        return True  # a card that moves keeps its name
    if (profile.writes is not False and _takes_another_kind(part, profile)) or _only_lists(part, profile):
        return True
    leaves_out = any(not _EXCLUDING.isdisjoint(each.words) for each in profile.properties)
    return part.is_partial and not (profile.answers or leaves_out)


def _lists_open(part: Part) -> bool:
    """Whether "open" describes the things that are meant, and is not a command: before a plural without an article."""
    following = part.tokens[part.verb_place + 1 : part.verb_place + 2]
    is_plural = any(token.is_word and token.value.islower() and token.word.endswith("s") for token in following)
    return (
        part.verb_place == 0
        and part.verb == "open"
        and is_plural
        and not any(token.kind is Kind.QUOTE for token in part.tokens)
    )


def _only_lists(part: Part, profile: Profile) -> bool:
    """Whether a command changes a state that an entry without inputs shows: "block 198.51.100.4" is no ``list_blocked``."""
    changes = part.verb_place == 0 and part.verb in OPPOSITES and not requested_actions(part) & READING
    return changes and not (profile.writes or profile.properties or part.verb == profile.verb)


def _keeps(part: Part) -> bool:
    """Whether a part leaves a thing that exists as it is: "keep the source branch"."""
    following = part.tokens[part.verb_place + 1 : part.verb_place + 2]
    is_definite = any(token.word in _DEFINITE for token in following)
    is_definite = is_definite and all(token.kind is not Kind.QUOTE for token in part.tokens)  # 'leave the text "Nice"'
    return part.verb_place >= 0 and stem(part.tokens[part.verb_place].word) in _KEEPING and is_definite


def _takes_another_kind(part: Part, profile: Profile) -> bool:
    """Whether an id says that it is of another kind than the only one that an entry takes: "cover.blind" for "Entity id of the light"."""
    kinds = {stem(kind) for each in profile.required for kind in _ID_OF.findall(each.text)}
    typed = [found[1].split("_") for token in part.tokens if (found := _TYPED_ID.fullmatch(token.value))]
    return bool(kinds) and any(kinds.isdisjoint(map(stem, names)) for names in typed)


def _does_again(done: ActDone, profile: Profile) -> bool:
    """Whether an entry would repeat an act of the past; one that records what happened does not."""
    is_same = done.verb == profile.verb and profile.verb not in STORING_VERBS
    return is_same and (not (done.side and profile.sides) or done.side in profile.sides)


def _may_answer(part: Part, profile: Profile) -> bool:
    """Whether an entry may serve a part that asks: "is the ticket resolved?" resolves none, though "resolve" may look something up."""
    actions = profile.actions
    is_plain = profile.verb not in _ACTING_TOO and actions <= READING | {Action.PRODUCE}
    verb = stem(profile.verb)
    return profile.answers and (is_plain or all(stem(token.word) != verb for token in part.tokens if token.is_word))


def is_allowed(part: Part, profile: Profile, lexicon: Lexicon) -> bool:
    """Whether an entry does no more than a part requests: nothing that asks may have an effect, and only deletions delete."""
    actions = requested_actions(part)
    sides = requested_sides(part)
    if loses_content(part, profile) or does_too_much(part, profile):
        return False
    if any(OPPOSITES[side] in profile.sides for side in sides) and not sides & profile.sides:
        return False
    if undoes_verb(part, profile):
        return False
    names_verb = bool(part.verb) and stem(part.verb) in profile.verbs
    if not profile.writes or not actions <= READING:
        # The author of the catalog says that the entry does what the request says.
        words = frozenset(stem(token.word) for token in part.tokens if token.is_word) | {stem(part.verb)}
        if any(len(phrase) > 1 and stem(part.verb) in phrase and set(phrase) <= words for phrase in profile.phrases):
            return True
    if not names_verb and not _is_related(part, actions, profile, lexicon):
        return False
    if profile.deletes and Action.DELETE not in actions and not names_verb:
        return False
    if Action.DELETE in actions and not actions - {Action.DELETE} and not names_verb:
        return profile.deletes
    if actions and actions <= READING:
        return not profile.writes
    if actions and actions <= WRITING and profile.writes is False:
        return names_verb
    return True


def _is_related(part: Part, actions: frozenset[Action], profile: Profile, lexicon: Lexicon) -> bool:
    """Whether the verb of a part has anything to do with an entry: "push the branch" does not create one."""
    own = profile.actions
    if part.is_question or not part.verb or (not profile.verb and not profile.writes):
        return True
    if part.verb not in _SPECIFIC:
        shared = actions & own
        stands_for = (
            GENERAL
            if part.verb in _VAGUE or part.verb in _LIGHT or not shared <= _CHANGING
            else GENERAL & {profile.verb}
        )
        if shared and (shared & READING or {part.verb, profile.verb} & (stands_for | _TURNING)):
            return True
        if actions & READING and own & READING:
            return True
    verb = stem(part.verb)
    if verb in profile.choice_verbs:
        return True
    if verb in profile.opening or lexicon.synonyms(verb) & profile.verbs:
        return True
    if not profile.writes and lexicon.synonyms(verb) & set(profile.name):
        return True
    if any(verb in phrase for phrase in profile.phrases):
        return True
    if part.verb in _LIGHT and part.verb != "start" and not profile.writes:
        # "take a screenshot": the object is the action.
        return any(stem(token.word) in profile.name for token in part.content if token.is_word)
    return not own and not profile.writes and actions <= READING and bool(actions)
