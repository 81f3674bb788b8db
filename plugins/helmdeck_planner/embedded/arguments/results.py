"""The name that a result gets, and what a new file contains: "compress a.txt into a.gz", "with nothing but 3.12 in it"."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Action, Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import describes_entry
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import RESULT_HINTS

_HINTS: Final = frozenset(map(stem, RESULT_HINTS))
_COMMANDS: Final = frozenset(("command", "cmd"))
_WRITING: Final = ("write", "append", "put")
_MAX_LEAD: Final = 4
_VALUES: Final = (Kind.ID, Kind.NUMBER, Kind.EMAIL, Kind.URL, Kind.DATE, Kind.TIME, Kind.HASH)


def fill_result(draft: Draft) -> None:
    """Set the name that a result gets: "compress a.txt into a.txt.gz"."""
    inputs = [each for each in draft.open_inputs() if _takes_result(each)]
    places = [
        place
        for place in draft.free(Kind.PATH)
        if is_file(draft.tokens[place]) and draft.preposition_before(place) == "to"
    ]
    draft.set_only(inputs, places)


def takes_command(each: Property) -> bool:
    """Whether an input takes a command of a shell."""
    return each.is_required and not each.is_list and bool(_COMMANDS & set(each.words))


def fill_command(draft: Draft) -> None:
    """Set a command of a shell from the words behind "run": "run npm test"; "run the tests" states none."""
    inputs = [each for each in draft.open_inputs() if takes_command(each)]
    start = draft.part.verb_place + 1
    is_run = start > 0 and draft.part.actions & {Action.RUN}
    labels = [
        place for place in range(start, min(start + _MAX_LEAD, len(draft.tokens) - 1)) if _labels_command(draft, place)
    ]
    start = labels[-1] + 1 if labels else start
    if len(inputs) != 1 or not is_run or start >= len(draft.tokens) or draft.is_filler(start):
        return
    end = start
    while end < len(draft.tokens) and end not in draft.used_places and not _ends_command(draft, end):
        end += 1
    paths = [place for place in range(start, end) if draft.tokens[place].kind is Kind.PATH]
    words = [place for place in range(start, end) if place not in paths]
    draft.set(inputs[0], draft.text(start, end - 1) if words else "", words, paths)


def _labels_command(draft: Draft, place: int) -> bool:
    """Whether a word only says that a command follows: "run the command"."""
    return draft.tokens[place].word in _COMMANDS


def _ends_command(draft: Draft, place: int) -> bool:
    """Whether words behind a command start that say where or how it runs: "in the terminal", ", at most 5 s"."""
    following = place + 1
    is_tail = draft.tokens[place].value == "," or bool(draft.preposition(place))
    return is_tail and (
        following >= len(draft.tokens) or draft.is_filler(following) or draft.tokens[following].is_value
    )


def _takes_result(each: Property) -> bool:
    return each.role in (Role.NAME, Role.PATH) and not each.is_list and bool(_HINTS & each.hints)


def fill_content(draft: Draft) -> None:
    """Set what a file contains from a value after "with the text" or "with nothing but"."""
    needed = [each for each in draft.open_inputs() if each.is_required]
    if [each.role for each in needed] != [Role.CONTENT] or needed[0].is_list or not draft.profile.takes(Role.PATH):
        return
    if _fill_object(draft, needed[0]):
        return
    cues = [place for place in range(1, len(draft.tokens)) if _is_cue(draft, place)]
    if not draft.profile.writes or draft.free(Kind.QUOTE, Kind.CODE) or not cues:
        return
    start, end = cues[0] + 1, len(draft.tokens)
    while start < end and _leads_text(draft, start):
        start += 1
    while end > start and draft.is_filler(end - 1):
        end -= 1  # "in it"
    places = list(range(start, end))
    if len(places) == 1 and draft.tokens[start].kind in _VALUES:
        draft.set_text(needed[0], places)


def _fill_object(draft: Draft, each: Property) -> bool:
    """Set the words between "write" and the file, if they name nothing: "write port 80 to a.conf", but not "write the results to"."""
    start = draft.part.verb_place + 1
    to = next((place - 1 for place in sorted(draft.used_places) if draft.tokens[place].kind is Kind.PATH), -1)
    words = range(start, to)
    is_object = 0 < start < to and draft.part.verb in _WRITING and draft.preposition(to) in ("to", "in")
    if not is_object or draft.free(Kind.QUOTE, Kind.CODE) or draft.is_filler(start) or describes_entry(draft, start):
        return False
    is_text = all(token.is_word or token.kind in _VALUES for token in draft.tokens[start:to])
    is_reference = any(draft.is_reference(place) for place in words)
    return is_text and not is_reference and draft.set(each, draft.text(start, to - 1), list(words))


def _is_cue(draft: Draft, place: int) -> bool:
    return draft.preposition(place) in ("with", "matching")


def _leads_text(draft: Draft, place: int) -> bool:
    """Whether a word says that a value follows: "nothing but", "only", "the text"."""
    if (
        draft.is_one_of(place, "nothing_but")
        or draft.is_one_of(place, "kinds_of_text")
        or draft.is_one_of(place, "saying")
    ):
        return True
    return draft.is_determiner(place) and place + 1 < len(draft.tokens) and _leads_text(draft, place + 1)
