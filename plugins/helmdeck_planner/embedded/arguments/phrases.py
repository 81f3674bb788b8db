"""Texts and titles of several words without quotation marks: "title Add a mute button", "rename 7 to Lamp is loose", "reason: wet lens"."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.quantities import quantity_at
from helmdeck_planner.embedded.entries.properties import TEXT_ROLES, Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    CONTENT_LABELS,
    NAMING_VERBS,
    REPLACING_VERBS,
    SETTING_VERBS,
    TEXT_LABELS,
    TITLES,
)
from helmdeck_planner.embedded.entries.roles import NAME_OF
from helmdeck_planner.embedded.request.states import is_thing

_JOINING: Final = ("and", "with", "the", "a")
# Values that are no word of a title.
_APART: Final = (
    Kind.QUOTE,
    Kind.CODE,
    Kind.SQL,
    Kind.URL,
    Kind.EMAIL,
    Kind.PATH,
    Kind.GLOB,
    Kind.SLUG,
    Kind.HASH,
    Kind.PHONE,
)
_MIN_WORDS: Final = 2
_CONTENT_LABELS: Final = frozenset(map(stem, CONTENT_LABELS))
_WORTH: Final = ("worth", "including")
_RELATIVE: Final = ("that", "which", "who")
# "Tuesday plan", "3 new lamps"
_STARTS: Final = (Kind.WORD, Kind.DATE, Kind.NUMBER)


def fill_phrases(draft: Draft) -> None:
    """Set texts of several words behind the label of an input, a naming word, or the "to" of a verb that renames."""
    for each in draft.open_inputs():
        if each.role not in TEXT_ROLES or each.is_list or (each.role is Role.QUERY and not TITLES & set(each.words)):
            continue
        for place in range(len(draft.tokens) - 1):
            start, is_text = _start(draft, each, place)
            if start <= place or draft.tokens[start].kind not in _STARTS:
                continue
            is_renaming = draft.preposition(place) == "to"
            if NAME_OF.match(each.text) and draft.tokens[start].value.islower() and not is_renaming:
                continue  # "the topic orders from the beginning"
            end = end_of_phrase(draft, each, start, is_text=is_text)
            if end - start >= _MIN_WORDS or (end > start and _is_coined(draft, start)):
                draft.set(each, draft.text(start, end - 1), list(range(start, end)), [place])
                break


def _start(draft: Draft, each: Property, place: int) -> tuple[int, bool]:
    """Return where the text of an input starts, and whether it may have commas; -1 if no word at the place leads to one."""
    if place == draft.part.verb_place or place in draft.used_places:
        return -1, False
    following = place + 1
    is_label = bool(draft.stems(place) & each.labels)
    if is_label and draft.tokens[following].value == ":":
        return following + 1, each.role is not Role.NAME
    if (title := _title_behind_colon(draft, each, place)) > place:
        return title, False
    is_small = draft.is_filler(following) and not draft.tokens[following].is_capital
    if draft.profile.writes is False or is_small or draft.is_one_of(following, "saying"):
        is_renaming = draft.preposition(place) == "to" and _is_renamed(draft, each, place)
        return (following if is_renaming and draft.tokens[following].is_capital else -1), False
    token = draft.tokens[place]
    language = draft.wording.language
    if token.word in TEXT_LABELS and _is_named_by(draft, each, place):
        is_other = draft.tokens[following].word in language.naming | language.joints or _is_last_word(draft, following)
        return (-1 if is_other else following), False
    is_naming = token.word in language.naming and not draft.is_one_of(place, "saying") and each.role is Role.NAME
    is_renaming = draft.preposition(place) == "to" and _is_renamed(draft, each, place)
    # "change the agenda to budget and hiring"
    is_set = (
        is_renaming
        and draft.part.verb in SETTING_VERBS | REPLACING_VERBS | NAMING_VERBS
        and TEXT_LABELS & set(each.words)
    )
    is_start = (draft.tokens[following].is_capital or is_set) and (is_naming or is_renaming)
    return (following if is_start and (is_renaming or _is_only_name(draft, each)) else -1), False


def _title_behind_colon(draft: Draft, each: Property, place: int) -> int:
    """Return where the name of a new thing starts behind a word for it and a colon: "one more column: Waiting for parts"; else -1."""
    start = place + 1 + (draft.tokens[place + 1].value == ":")
    if start >= len(draft.tokens) or not (draft.profile.writes and each.is_required and _is_only_name(draft, each)):
        return -1
    gap = draft.source[draft.tokens[place].end : draft.tokens[start].start]
    labels = draft.profile.labels
    is_title = draft.tokens[start].is_capital and not draft.stems(start) & labels
    is_object = bool(draft.stems(place) & draft.profile.nouns)
    return start if gap.strip() == ":" and is_object and is_title else -1


def _is_named_by(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word such as "subject" or "text" is the name of an input, or of the only one that takes a longer text."""
    word = draft.tokens[place].word
    if word in each.words:
        return True
    if draft.stems(place) & draft.profile.nouns:
        return False  # "create a note Packing list"
    contents = [other for other in draft.profile.properties if other.role is Role.CONTENT]
    is_taken = any(word in other.words for other in draft.profile.properties)
    return contents == [each] and word in CONTENT_LABELS and not is_taken


def _is_renamed(draft: Draft, each: Property, to: int) -> bool:
    """Whether the words before "to" say that a thing gets another name: "rename 7 to", "change the title to"."""
    if each.is_old_text:
        return False
    before = range(max(draft.part.verb_place, 0), to)
    # "with the title 'Leak', it goes to ana" gives no other title.
    is_named = any(
        draft.stems(place) & each.labels and draft.tokens[place + 1].kind is not Kind.QUOTE for place in before
    )
    return is_named or (draft.part.verb in NAMING_VERBS and _is_only_name(draft, each))


def _is_only_name(draft: Draft, each: Property) -> bool:
    names = [other for other in draft.open_inputs() if _takes_title(other)]
    return names == [each] or [other for other in names if other.is_required] == [each]


def _takes_title(each: Property) -> bool:
    return not each.is_list and (each.role is Role.NAME or bool(TITLES & set(each.words)))


def _is_coined(draft: Draft, place: int) -> bool:
    """Whether a word of no list ends a part: "with the text prod-eu"."""
    is_last = place + 1 == len(draft.tokens)
    return is_last and not draft.wording.is_known(draft.tokens[place].word)


def _is_last_word(draft: Draft, place: int) -> bool:
    return draft.tokens[place].word in draft.wording.language.trailing or draft.tokens[place].kind not in _STARTS


def end_of_phrase(draft: Draft, each: Property, start: int, *, is_text: bool) -> int:
    """Return the place after a text of several words.

    :param is_text: commas and values belong to it, unless the label of another input follows.
    """
    tokens = draft.tokens
    others = [other for other in draft.profile.properties if other is not each]
    labels = frozenset[str]().union(*(other.labels for other in others))
    if any(other.role is Role.CONTENT for other in others):
        labels |= _CONTENT_LABELS
    end = start
    while end < len(tokens) and end not in draft.used_places and not _ends(draft, end, labels, is_text=is_text):
        end += 1
    while end > start and (
        (tokens[end - 1].kind is Kind.MARK and tokens[end - 1].value not in ")]?!")
        or tokens[end - 1].word in draft.wording.language.trailing
    ):
        end -= 1
    return end


def _ends(draft: Draft, place: int, labels: frozenset[str], *, is_text: bool) -> bool:
    token, following = draft.tokens[place], place + 1
    while following < len(draft.tokens) and draft.tokens[following].word in _JOINING:
        following += 1
    is_last = following >= len(draft.tokens)
    is_file = token.kind is Kind.PATH and is_last and "/" not in token.value and draft.tokens[place - 1].is_word
    if is_file and not is_text:
        return False  # "rename f12 to Budget 2027.xlsx"
    if token.kind is Kind.BREAK or (not is_text and (token.kind in _APART or token.value in ",;(")):
        return True
    if token.value in ",;" or token.word in draft.wording.language.joints:
        is_act = not is_text and not is_last and bool(draft.wording.verb(draft.tokens[following].word))
        return is_act or (not is_last and bool(draft.stems(following) & labels))
    if not is_text and place and token.value in _RELATIVE and draft.tokens[place - 1].is_capital:
        return not is_last  # "a coupon named Early Bird that takes 12 % off"
    if not is_text and token.word in _WORTH and not is_last:
        return draft.tokens[following].is_value  # "Welcome worth $5 off"
    if not is_text and draft.preposition(place) and not is_last:
        return _starts_other(draft, place, following, labels)
    is_label = bool(draft.stems(place) & labels) and place + 1 < len(draft.tokens)
    return is_label and draft.tokens[place + 1].value == ":"


def _starts_other(draft: Draft, place: int, following: int, labels: frozenset[str]) -> bool:
    """Whether a preposition starts the value of another input: "in acme/web", "with label bug", "on 4 May"."""
    token = draft.tokens[following]
    if token.kind in (*_APART, Kind.ID) or is_thing(token):
        return True
    choices = (choice for each in draft.open_inputs() if each.role is Role.CHOICE for choice in each.choices)
    if any(str(choice).lower() == token.value for choice in choices):
        return True  # "Renovation in green"
    if token.kind in (Kind.DATE, Kind.TIME):
        return any(each.role in (Role.DATE, Role.TIME) for each in draft.open_inputs())
    if (quantity := quantity_at(draft, following)) is not None:
        # "with 15 percent off"
        dimensions = {each.unit.dimension for each in draft.open_inputs() if each.role is Role.NUMBER and each.unit}
        return quantity.unit.dimension in dimensions
    is_label = bool(draft.stems(following) & labels)
    after = draft.tokens[following + 1] if following + 1 < len(draft.tokens) else None
    has_value = after is not None and (after.is_value or after.is_capital)
    return is_label and (has_value or draft.preposition(place) == "with")
