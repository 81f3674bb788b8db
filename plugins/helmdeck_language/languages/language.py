"""The words of one natural language, as the planner needs them: each with its English equivalent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from helmdeck_language.text.terms import fold
from helmdeck_language.text.word_files import WordFile

Phrases = Mapping[str, tuple[tuple[str, ...], ...]]
"""Phrases as folded words, longest first, by their first word."""

_TABLES: Final = ("verbs", "words", "prepositions", "participles")
_PHRASES: Final = ("lead_in_phrases", "negators", "exclusions", "positive", "asking", "trailing_phrases", "inquiries")
_WORDS: Final = (
    "function_words", "determiners", "lead_ins", "joints", "strong_joints", "references", "questions", "free_negators",
    "action_exclusions", "naming", "nothing", "statements", "trailing", "passive", "empty", "wishes", "ordinals", "asking_fillers",
    "conditions", "clause_questions", "modals", "quantifiers",
)  # fmt: skip
_STEMS: Final = ("stems", "related")
_MAX_ENDING: Final = 12
VALUE_WORDS: Final = (
    "inside", "label_joints", "loose_joints", "saying", "files", "extensions", "counting", "first", "last", "at_most", "ends_topic",
    "particles", "clause_starts", "kinds_of_text", "key_words", "languages", "half", "quarter", "after_hour", "before_hour", "noon",
    "midnight", "before_noon", "after_noon", "whole_hour", "articles", "at_least", "none_of", "sent", "pronouns", "alone",
    "including", "off", "becoming", "field_joints", "mine", "after_sql", "excluding", "including_verbs", "nothing_but", "wishing", "asking_for",
)  # fmt: skip
"""The keys of the table ``values``: words beside the values of arguments."""
KEYS: Final = (
    "code", "name", "action_endings", "prefixes", "longest_ending", "compounds", *_WORDS, *_PHRASES, *_TABLES, *_STEMS, "values",
)  # fmt: skip
"""The keys of a file of a language."""


@attrs.frozen(kw_only=True, eq=False)
class Language:
    """The words of a language. All words are folded: lower case, without accents.

    :ivar name: the English name of the language.
    :ivar verbs: forms of verbs with the English verb.
    :ivar words: nouns, adjectives and numerals with the English words.
    :ivar stems: English words with stems of the language, for the ranker; the parts of a phrase are joined by ``+``.
    :ivar related: words of catalogs in the language with stems of what people say, for the ranker.
    :ivar prefixes: letters before a stem that belong to the form of a word, longest first.
    :ivar longest_ending: letters of an ending behind a stem; 0 is the default of the ranker.
    :ivar compounds: whether the last part of a word without spaces is its main part.
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
    :ivar statements: words of sentences that state or greet rather than request.
    :ivar asking: words or phrases before a question that is part of a sentence: "tell me", "check".
    :ivar asking_fillers: words between them and the question: "exactly".
    :ivar conditions: the words of such questions that want a yes or a no: "whether".
    :ivar clause_questions: the other question words of such questions.
    :ivar inquiries: phrases of the speaker that ask whether an act is possible or allowed: "may I".
    :ivar modals: the first words of such questions about a thing: "can" of "can it be deleted?".
    :ivar quantifiers: words for all of a kind: "every".
    :ivar trailing: words after a request that mean nothing, such as polite ones; ``trailing_phrases`` are of several words.
    :ivar empty: words that name nothing in particular: "everything", "still".
    :ivar wishes: words of lead-ins that ask for a thing rather than for an act: "need".
    :ivar passive: words before a participle that says what is to be done: "be" in "must be deleted".
    :ivar participles: participles that no rule derives from their verbs.
    :ivar ordinals: words before a number that say which ones are meant: "first".
    :ivar values: words beside the values of arguments, by the keys of ``VALUE_WORDS``.
    """

    code: str
    name: str
    verbs: Mapping[str, str]
    words: Mapping[str, str]
    stems: Mapping[str, tuple[str, ...]]
    related: Mapping[str, tuple[str, ...]]
    prefixes: tuple[str, ...]
    longest_ending: int
    compounds: bool
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
    free_negators: frozenset[str]
    positive: Phrases
    lead_in_phrases: Phrases
    naming: frozenset[str]
    nothing: frozenset[str]
    statements: frozenset[str]
    asking: Phrases
    asking_fillers: frozenset[str]
    conditions: frozenset[str]
    clause_questions: frozenset[str]
    inquiries: Phrases
    modals: frozenset[str]
    quantifiers: frozenset[str]
    trailing: frozenset[str]
    empty: frozenset[str]
    wishes: frozenset[str]
    trailing_phrases: Phrases
    passive: frozenset[str]
    participles: Mapping[str, str]
    ordinals: frozenset[str]
    values: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, file: WordFile) -> Language:
        """Read the language of a file.

        :raises ConfigError: a key is unknown, or has a wrong value.
        """
        file.only(KEYS)
        found: dict[str, Any] = {
            "code": file.text("code", "the code of a language, such as 'it'"),
            "name": file.text("name", "the English name of the language, such as 'Italian'"),
            "action_endings": file.words("action_endings"),
            "prefixes": tuple(sorted(map(fold, file.words("prefixes")), key=len, reverse=True)),
            "longest_ending": file.number("longest_ending", _MAX_ENDING),
            "compounds": file.flag("compounds"),
        }
        found |= {key: frozenset(map(fold, file.words(key))) for key in _WORDS}
        found |= {key: _phrases(file.lines(key)) for key in _PHRASES}
        found |= {key: _by_english(file.rows(key)) for key in _TABLES}
        values = file.table("values").only(VALUE_WORDS)
        found["values"] = {key: frozenset(map(fold, values.words(key))) for key in VALUE_WORDS}
        for key in _STEMS:
            found[key] = {means: tuple(map(fold, stems)) for means, stems in file.stems(key).items()}
        return cls(**found)

    def with_more(self, other: Language) -> Language:
        """Return this language with the words of another file of it; what it has already stays."""
        changes: dict[str, Any] = {
            "action_endings": (*self.action_endings, *other.action_endings),
            "prefixes": (*self.prefixes, *other.prefixes),
            "longest_ending": self.longest_ending or other.longest_ending,
            "compounds": self.compounds or other.compounds,
        }
        changes |= {key: getattr(self, key) | getattr(other, key) for key in _WORDS}
        changes |= {key: {**getattr(other, key), **getattr(self, key)} for key in _TABLES}
        changes["values"] = {key: self.values[key] | other.values[key] for key in VALUE_WORDS}
        for key in _STEMS:
            own, others = getattr(self, key), getattr(other, key)
            changes[key] = {means: (*own.get(means, ()), *others.get(means, ())) for means in {**own, **others}}
        for key in _PHRASES:
            own, others = getattr(self, key), getattr(other, key)
            every = [phrase for rows in (*own.values(), *others.values()) for phrase in rows]
            changes[key] = _by_first_word(dict.fromkeys(every))
        return attrs.evolve(self, **changes)


def _by_english(rows: Mapping[str, str]) -> dict[str, str]:
    """Return the English word of each folded word; an English key such as "pull request" has two words."""
    found: dict[str, str] = {}
    for english, words in rows.items():
        for word in words.split():
            found.setdefault(fold(word), english)
    return found


def _phrases(lines: Iterable[str]) -> Phrases:
    return _by_first_word(tuple(fold(word) for word in phrase.split()) for phrase in lines)


def _by_first_word(phrases: Iterable[tuple[str, ...]]) -> Phrases:
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in phrases:
        found.setdefault(phrase[0], []).append(phrase)
    return {first: tuple(sorted(rows, key=len, reverse=True)) for first, rows in found.items()}
