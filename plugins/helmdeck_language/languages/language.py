"""The words of one natural language, as the planner needs them: each with its English equivalent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from helmdeck_language.text import fold


def word_set(text: str) -> frozenset[str]:
    """Return the folded words of a text."""
    return frozenset(fold(word) for word in text.split())


def by_english(text: str) -> dict[str, str]:
    """Read lines such as ``read: lies lesen``; return the English word of each folded word.

    A line such as ``pull request: ...`` has two English words.
    """
    found: dict[str, str] = {}
    for line in text.strip().splitlines():
        english, _, words = line.partition(":")
        for word in words.split():
            found.setdefault(fold(word), english.strip())
    return found


Phrases = Mapping[str, tuple[tuple[str, ...], ...]]
"""Phrases as folded words, longest first, by their first word."""


def phrases(text: str) -> Phrases:
    """Read phrases separated by ``|``."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in text.split("|"):
        own = tuple(fold(word) for word in phrase.split())
        found.setdefault(own[0], []).append(own)
    return {first: tuple(sorted(rows, key=len, reverse=True)) for first, rows in found.items()}


_NONE: Final[Phrases] = {}


@attrs.frozen(kw_only=True)
class Language:
    """The words of a language. All words are folded: lower case, without accents.

    :ivar verbs: forms of verbs with the English verb.
    :ivar words: nouns, adjectives and numerals with the English words.
    :ivar prepositions: prepositions with the English ones that they stand for.
    :ivar function_words: words that identify the language.
    :ivar determiners: words before a noun, such as articles.
    :ivar lead_ins: words before the verb of a command, such as polite ones.
    :ivar lead_in_phrases: the same, of several words.
    :ivar joints: words between two commands; ``strong_joints`` never join two nouns.
    :ivar references: words that refer to something mentioned before.
    :ivar questions: question words.
    :ivar negators: words or phrases that exclude a command that they start.
    :ivar free_negators: words that exclude a command at any position.
    :ivar exclusions: words or phrases that exclude the rest of a command.
    :ivar action_exclusions: the same, if a verb follows.
    :ivar positive: phrases with a negation that request something: "don't forget to".
    :ivar action_endings: endings of the verb form that follows ``action_exclusions``.
    :ivar naming: words before a name or a text: "called", "saying".
    :ivar nothing: words that stand for everything excluded: "anything".
    """

    code: str
    verbs: Mapping[str, str]
    words: Mapping[str, str]
    prepositions: Mapping[str, str]
    function_words: frozenset[str]
    determiners: frozenset[str]
    lead_ins: frozenset[str]
    joints: frozenset[str]
    strong_joints: frozenset[str]
    references: frozenset[str]
    questions: frozenset[str]
    negators: Phrases
    exclusions: Phrases
    action_exclusions: frozenset[str]
    action_endings: tuple[str, ...]
    free_negators: frozenset[str] = frozenset()
    positive: Phrases = _NONE
    lead_in_phrases: Phrases = _NONE
    naming: frozenset[str] = frozenset()
    nothing: frozenset[str] = frozenset()
