"""Measures whether the values of a part fit the inputs of an entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind, Token, stem
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import COUNT_WORDS
from helmdeck_planner.embedded.request.word_lists import word_list

KIND_ROLES: Final = {
    Kind.URL: (Role.URL,),
    Kind.EMAIL: (Role.EMAIL,),
    Kind.PATH: (Role.PATH, Role.ID, Role.TEXT, Role.URL),
    Kind.GLOB: (Role.PATTERN, Role.PATH),
    Kind.SQL: (Role.SQL, Role.CODE),
    Kind.CODE: (Role.CODE, Role.SQL, Role.CONTENT, Role.EXPRESSION),
    Kind.EXPRESSION: (Role.EXPRESSION, Role.CODE),
    Kind.DATE: (Role.DATE,),
    Kind.ID: (Role.ID, Role.NAME),
    Kind.TIME: (Role.TIME, Role.DATE),
}
"""The roles of inputs that take a kind of value."""

# The kinds of values that a required input needs, and the cost of each input without one.
_NEEDS: Final = {
    Role.URL: ((Kind.URL,), 0.3),
    Role.EMAIL: ((Kind.EMAIL,), 0.3),
    Role.SQL: ((Kind.SQL, Kind.CODE), 0.3),
    Role.EXPRESSION: ((Kind.EXPRESSION, Kind.CODE, Kind.NUMBER), 0.3),
    Role.ID: ((Kind.ID, Kind.HASH, Kind.NUMBER, Kind.PATH, Kind.SLUG, Kind.QUOTE), 0.4),
    Role.DATE: ((Kind.DATE,), 0.2),
    Role.TIME: ((Kind.TIME,), 0.4),
    Role.ZONE: ((Kind.SLUG,), 0.3),
    Role.PATTERN: ((Kind.GLOB, Kind.QUOTE, Kind.CODE), 0.3),
    Role.NUMBER: ((Kind.NUMBER, Kind.HASH, Kind.EXPRESSION), 0.45),
}
_FITTING: Final = 0.4
_UNFITTING: Final = 0.2
# An id that no input takes, and a folder's entry for a file, are strong evidence against.
_FOREIGN_ID: Final = 0.5
_FOREIGN_FILE: Final = 1.2
_COUNTING: Final = word_list("counting")
FOLDER_STEMS: Final = frozenset(stem(word) for word in ("directory", "folder", "directories", "folders", "tree"))


def input_fit(tokens: Sequence[Token], profile: Profile) -> float:
    """Return how well the values of a part fit the inputs of an entry; below 0 if they do not."""
    counts = Counter(token.kind for token in tokens if token.is_value)
    total = 0.0
    for kind in counts.keys() & KIND_ROLES.keys():
        if profile.takes(*KIND_ROLES[kind]):
            total += _FITTING
        else:
            total -= _FOREIGN_ID if kind is Kind.ID else _UNFITTING
    if any(token.kind is Kind.PATH and is_file(token) for token in tokens) and FOLDER_STEMS & set(profile.name):
        total -= _FOREIGN_FILE
    return total - _missing(tokens, counts, profile) + _number_fit(tokens, counts, profile)


def _missing(tokens: Sequence[Token], counts: Counter[Kind], profile: Profile) -> float:
    """Return the cost of required inputs for which a part has no value."""
    needed = Counter(each.role for each in profile.required if not each.is_list or each.role is not Role.ID)
    has_symbol = any(token.is_word and token.value.isupper() for token in tokens)
    total = 0.0
    for role, (kinds, cost) in _NEEDS.items():
        if role in (Role.ID, Role.ZONE) and has_symbol:
            continue
        total += cost * max(0, needed[role] - sum(counts[kind] for kind in kinds))
    if needed[Role.TEXT] and not counts:
        total += 0.1
    if needed[Role.PLACE] and counts[Kind.NUMBER] > 1:
        total += 0.4
    return total


def _number_fit(tokens: Sequence[Token], counts: Counter[Kind], profile: Profile) -> float:
    total = 0.0
    required = sum(each.role is Role.NUMBER for each in profile.required)
    if any(token.word in _COUNTING for token in tokens) and counts[Kind.NUMBER]:
        takes = any(each.role is Role.NUMBER and COUNT_WORDS & set(each.words) for each in profile.properties)
        total += 0.8 if takes else -0.1
    if counts[Kind.NUMBER] > 1 and counts[Kind.NUMBER] == required:
        total += 0.5
    if required and (counts[Kind.NUMBER] or counts[Kind.HASH]):
        total += _FITTING
    if counts[Kind.PATH] > 1 and any(each.role is Role.PATH and each.is_list for each in profile.required):
        total += 0.2
    return total
