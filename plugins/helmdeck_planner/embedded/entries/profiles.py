"""What an entry does, as the planner sees it: its verb, its words, its inputs, and whether it changes something."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import attrs

from helmdeck_core import Entry, EntryKind
from helmdeck_language import (
    ACTIONS,
    DELETING_WORDS,
    ENGLISH,
    NOUNS_TOO,
    READING,
    STOP_WORDS,
    WRITING,
    Action,
    CatalogLanguages,
    Lexicon,
    split_identifier,
    stem,
    terms,
    words,
)
from helmdeck_planner.embedded.entries.properties import QUOTED_ROLES, Property, Role
from helmdeck_planner.embedded.entries.schema_inputs import properties_of
from helmdeck_planner.embedded.request.opposites import OPPOSITES
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Vocabulary
from helmdeck_selection import Companions, LexicalIndex, keyword_phrases, meaning_model, name_words, step_packs

# A word at the start of this share of all names is a prefix, such as the name of the server.
_PREFIX_SHARE: Final = 0.6
_MIN_PREFIXED: Final = 4
_MAX_DESCRIPTION: Final = 400
_MAX_PRODUCERS: Final = 8
# How well an entry fits as the one that returns an id, if only the first words of its description name it.
_BY_LEAD: Final = 1.5
_MAX_LOOKING_UP: Final = 100
_STATUS: Final = frozenset({"status", "state"})
# What a question may request: "what is 5 km in miles?" converts.
_HARMLESS: Final = READING | {Action.PRODUCE}
_COMPUTING: Final = word_list("computing")
# Verbs at the start of a description that end what the second word does.
_ENDING: Final = ("stop", "undo", "end", "revert")
# Words at the start of a description that may have the verb.
_LEAD: Final = 6
# Names made from HTTP methods: "API-post-search".
_METHODS: Final = frozenset("get post put patch delete".split())


@attrs.frozen
class Profile:
    """An entry with what the planner compares.

    :ivar verb: the English verb of its name, else of its description; empty without one.
    :ivar name: stems of its name without the verb and a prefix of the catalog.
    :ivar verbs: stems of all verbs of its name and of the first word of its description.
    :ivar text: stems of its name, description, keywords, inputs and choices.
    :ivar opening: stems of its name and the first sentence of its description.
    :ivar lead: stems of the first sentence of its description up to its first preposition: what it acts on.
    :ivar phrases: stems of its keyword phrases; ``verb_phrases`` are those such as "remember this", which are one verb.
    :ivar forms: the words of its name as they are written, to tell "order" from "orders".
    :ivar choice_verbs: stems of the choices of a required input that says which action it takes, "approve", and of the states that it
        sets: "resolved".
    :ivar sides: the first and the last word of its name, if another word undoes it: "decode", "off"; not "pull" of a pull request.
    :ivar undone: the stem of the verb that it undoes, as its description says first: "share" for "Stop sharing a file".
    :ivar successor: the id of the entry that its description names in its place, if it is deprecated.
    :ivar writes: it changes something; ``None`` if it is unknown.
    :ivar answers: it is known to change nothing, so that a question may have it: it reads or computes something.
    """

    entry: Entry
    verb: str
    name: tuple[str, ...]
    verbs: frozenset[str]
    opening: frozenset[str]
    forms: frozenset[str]
    lead: frozenset[str]
    text: frozenset[str]
    phrases: tuple[tuple[str, ...], ...]
    verb_phrases: frozenset[str]
    properties: tuple[Property, ...]
    writes: bool | None
    deletes: bool
    is_deprecated: bool
    answers: bool
    choice_verbs: frozenset[str] = frozenset()
    sides: frozenset[str] = frozenset()
    undone: str = ""
    successor: str = ""

    @property
    def required(self) -> tuple[Property, ...]:
        """The required inputs."""
        return tuple(each for each in self.properties if each.is_required)

    @cached_property
    def actions(self) -> frozenset[Action]:
        """What its verb does."""
        return ACTIONS.get(self.verb, frozenset())

    @cached_property
    def nouns(self) -> frozenset[str]:
        """The stems of its name without the verb."""
        return frozenset(self.name)

    @cached_property
    def labels(self) -> frozenset[str]:
        """The labels of all inputs."""
        return frozenset[str]().union(*(each.labels for each in self.properties))

    def labels_besides(self, one: Property) -> frozenset[str]:
        """Return the labels of all other inputs."""
        return frozenset[str]().union(*(each.labels for each in self.properties if each is not one))

    @cached_property
    def texts(self) -> tuple[Property, ...]:
        """The inputs that take a quoted string."""
        return tuple(each for each in self.properties if each.role in QUOTED_ROLES)

    @cached_property
    def text_terms(self) -> Counter[str]:
        """How many of ``texts`` each stem of a label or a description is of."""
        return Counter(term for each in self.texts for term in each.hints | each.labels)

    @property
    def takes_nothing(self) -> bool:
        """Whether its schema says that it has no inputs."""
        schema = self.entry.input_schema
        return schema is not None and schema.get("properties") == {}

    def takes(self, *roles: Role) -> bool:
        """Whether an input has one of some roles."""
        return any(each.role in roles for each in self.properties)


class Profiles:
    """The profiles of a catalog, made on demand, and its vocabulary."""

    def __init__(self, entries: Sequence[Entry], lexicon: Lexicon) -> None:
        self.entries = entries
        self.lexicon = lexicon
        self._found: dict[int, Profile] = {}
        self._vectors: dict[int, Sequence[float]] = {}
        self._prefixes = _prefixes(entries)
        self._producers: Companions | None = None
        self._index_of = {entry.id: index for index, entry in enumerate(entries)}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """All words of the catalog."""
        names = [[word for word in name_words(entry) if word not in self._prefixes] for entry in self.entries]
        return Vocabulary(
            frozenset(word for entry in self.entries for word in _every_word(entry)),
            frozenset(name[0] if name else "" for name in names),
            frozenset(pair for name in names for pair in itertools.pairwise(name[1:])),
        )

    @cached_property
    def languages(self) -> CatalogLanguages:
        """The languages of the catalog."""
        return CatalogLanguages.of(self.entries, self.lexicon.languages)

    def __getitem__(self, index: int) -> Profile:
        found = self._found.get(index)
        if found is None:
            found = self._found[index] = self._make(self.entries[index])
        return found

    def all(self) -> Iterator[Profile]:
        """Yield the profiles of all entries."""
        return (self[index] for index in range(len(self.entries)))

    def vector(self, index: int) -> Sequence[float]:
        """Return the vector of an entry: what it means."""
        found = self._vectors.get(index)
        if found is None:
            found = self._vectors[index] = meaning_model().of_entry(self.entries[index])
        return found

    def place(self, profile: Profile) -> int:
        """Return the place of an entry in the catalog."""
        return self._index_of[profile.entry.id]

    def producers(self, profile: Profile, parameter: str, lexical: LexicalIndex) -> Sequence[tuple[Profile, float]]:
        """Return the entries that may return what a parameter of an entry identifies, with how well they fit, the best first.

        :param lexical: the index of the same catalog.
        """
        if self._producers is None:
            self._producers = Companions(self.entries, lexical.containing)
        index = self._index_of[profile.entry.id]
        found = list(self._producers.producers(index, parameter))[:_MAX_PRODUCERS]
        if not found and sum(each.role is Role.ID for each in profile.required) == 1:
            # "message_id" of "read_email" is the id of an email.
            for noun in profile.name:
                # "list_email_labels" returns labels, not emails.
                rows = self._producers.producers(index, f"{noun}_id")[:_MAX_PRODUCERS]
                found += [row for row in rows if self[row[0]].name[-1:] == (noun,)]
                found += [(other, _BY_LEAD) for other in self._looking_up(noun, index, lexical)]
        best = dict(sorted(found, key=lambda row: row[1]))
        return [(self[other], fit) for other, fit in sorted(best.items(), key=lambda row: (-row[1], row[0]))]

    def _looking_up(self, noun: str, index: int, lexical: LexicalIndex) -> Iterator[int]:
        """Yield the entries that search for something, by what their description says first, and require no id."""
        containing = lexical.containing(noun)
        for other in sorted(containing) if len(containing) <= _MAX_LOOKING_UP else ():
            profile = self[other]
            searches = profile.verb == "list" or Action.SEARCH in profile.actions
            needs_id = any(each.role is Role.ID for each in profile.required)
            if other != index and searches and not needs_id and not profile.writes and noun in profile.lead:
                yield other

    def of(self, entry_id: str) -> Profile | None:
        """Return the profile of an id; ``None`` if the catalog does not have it."""
        index = self._index_of.get(entry_id)
        return None if index is None else self[index]

    def _make(self, entry: Entry) -> Profile:
        own = [word for word in name_words(entry) if word not in self._prefixes] or name_words(entry)
        sentence = entry.description[:_MAX_DESCRIPTION].partition(". ")[0]
        opening = [*words(split_identifier(sentence)), *words(sentence)]
        first = next((_base_form(word) for word in opening[:1]), "")
        # The verb is at the start of a name, or at its end: "create_issue", "issue.create", "calendar.create_event".
        tail = [
            word for word in words(split_identifier(entry.id.rpartition(".")[2])) if word not in self._prefixes
        ] or own
        in_name = [word for word in (tail[0], tail[-1], own[0]) if word in ENGLISH.verbs]
        if len(tail) > 1 and first in ACTIONS and set(in_name) <= NOUNS_TOO - ACTIONS.keys():
            # "transition_issue" moves an issue.
            in_name = []
        acting = [word for word in in_name if word in ACTIONS] or in_name
        # "API-post-search" searches: the description decides between two verbs.
        acting = [first] if first in acting else acting
        others = [word for word in in_name if acting == [first] and word in _METHODS]
        verb = acting[0] if acting else (first if first in ENGLISH.verbs else "")
        found = properties_of(entry)
        choices = [str(choice) for each in found for choice in each.choices]
        writes, deletes = self._effect(entry, verb, first, opening)
        keywords = keyword_phrases(entry)
        return Profile(
            entry=entry,
            verb=verb,
            name=tuple(dict.fromkeys(stem(word) for word in own if word not in (verb, *others, *STOP_WORDS))),
            verbs=frozenset(stem(word) for word in (*in_name, first) if word),
            opening=frozenset(stem(word) for word in (*own, *opening)),
            lead=frozenset(stem(word) for word in _before_preposition(words(sentence))),
            forms=frozenset(word for word in own if word != verb and word not in STOP_WORDS),
            text=frozenset(
                stem(word)
                for word in (
                    *_every_word(entry),
                    *(word for each in found for word in each.words),
                    *(word for choice in choices for word in words(choice)),
                )
            ),
            phrases=tuple(parts for phrase in keywords if (parts := tuple(terms(phrase)))),
            verb_phrases=frozenset(
                stem(found_words[0])
                for phrase in keywords
                if (found_words := words(phrase)) and terms(phrase) == terms(found_words[0])
            ),
            properties=found,
            writes=writes,
            deletes=deletes,
            answers=self._answers(entry, writes, verb, opening, own),
            is_deprecated="deprecated" in entry.description[:_MAX_DESCRIPTION].lower(),
            choice_verbs=frozenset(
                stem(word)
                for each in found
                if each.is_required and each.choices and {"action", "event", "operation"} & set(each.words)
                for choice in each.choices
                for word in words(split_identifier(str(choice)))[:1]
            )
            | (_reached_by(found) if writes else frozenset()),
            sides=frozenset(word for word in (*own[:1], *own[-1:]) if word in OPPOSITES),
            undone=stem(opening[1]) if first in _ENDING and "".join(opening[1:2]).endswith("ing") else "",
            successor=self._successor(entry),
        )

    def _successor(self, entry: Entry) -> str:
        _, deprecated, rest = entry.description[:_MAX_DESCRIPTION].lower().partition("deprecated")
        if not deprecated:
            return ""
        # Names in a description are without the prefix of the server, as in "fs__read_file".
        named = [word.strip("`'\".,;:()") for word in rest.split()]
        near = [name for name in named if "_" in name or "-" in name or "." in name]
        ids = (other for other in self._index_of if other != entry.id)
        return next(
            (
                other
                for other in ids
                if any(other.lower() == name or other.lower().endswith(f"__{name}") for name in near)
            ),
            "",
        )

    def _effect(self, entry: Entry, verb: str, first: str, opening: Sequence[str]) -> tuple[bool | None, bool]:
        annotations = entry.data.get("annotations")
        hints: Mapping[str, Any] = annotations if isinstance(annotations, Mapping) else {}
        actions = ACTIONS.get(verb, frozenset())
        deletes = Action.DELETE in actions
        if entry.kind is EntryKind.PIPELINE:
            return any((other := self.of(pack)) and other.writes for pack in step_packs(entry)), False
        if hints.get("readOnlyHint") is True:
            return False, False
        if hints.get("readOnlyHint") is False or hints.get("destructiveHint") is True:
            return True, deletes or first in DELETING_WORDS
        # "Get or update the scale"
        others = (
            ACTIONS.get(_base_form(opening[2]), frozenset()) if opening[1:2] == ["or"] and opening[2:] else frozenset()
        )
        if actions & READING:
            return (None if others & WRITING else False), False
        if actions & WRITING:
            return True, deletes
        return None, False

    def _answers(
        self, entry: Entry, writes: bool | None, verb: str, opening: Sequence[str], own: Sequence[str]
    ) -> bool:
        """Whether an entry only reads or computes, by its effect, its description ("Convert a date") or a name without an act."""
        if entry.kind is EntryKind.PIPELINE:
            return all((other := self.of(pack)) is None or other.answers for pack in step_packs(entry))
        if writes is not None or opening[1:2] == ["or"]:
            return writes is False
        for word in (*map(_base_form, opening[:1]), verb):
            if word in _COMPUTING:
                return True
            if actions := ACTIONS.get(word):
                return actions <= _HARMLESS
        first, second = (*opening, "", "")[:2]
        acts = {f"{own[0]}s", f"{own[0]}es"} & set(opening[:_LEAD])  # "Flushes the cache"
        is_act = bool(verb or acts) or second in ENGLISH.determiners or _base_form(first) in ENGLISH.verbs
        return bool(opening) and not is_act


def _base_form(word: str) -> str:
    """Return the verb of "Lists", "Creates", "Searching"; the word itself if none is known."""
    for other in (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ies") + "y"):
        if other in ENGLISH.verbs:
            return other
    return word


def _reached_by(properties: Sequence[Property]) -> frozenset[str]:
    """Return the stems of the verbs that set a status: "resolve" for the choice "resolved"."""
    choices = [choice for each in properties if not _STATUS.isdisjoint(each.words) for choice in each.choices]
    return frozenset(stem(str(choice)) for choice in choices if str(choice).endswith("ed"))


def _before_preposition(sentence: Sequence[str]) -> Sequence[str]:
    end = next(
        (place for place, word in enumerate(sentence) if place > 1 and word in ENGLISH.prepositions and word != "of"),
        len(sentence),
    )
    return sentence[:end]


def _every_word(entry: Entry) -> list[str]:
    metadata = entry.metadata
    use = metadata.get("typical_use")
    return [
        *name_words(entry),
        *words(split_identifier(entry.description[:_MAX_DESCRIPTION])),
        *(word for phrase in keyword_phrases(entry) for word in words(phrase)),
        *(words(use) if isinstance(use, str) else ()),
    ]


def _prefixes(entries: Sequence[Entry]) -> frozenset[str]:
    firsts = Counter(found[0] for entry in entries if len(found := name_words(entry)) > 1)
    return frozenset(
        word
        for word, count in firsts.items()
        if count >= _MIN_PREFIXED and count >= _PREFIX_SHARE * len(entries) and word not in ACTIONS
    )
