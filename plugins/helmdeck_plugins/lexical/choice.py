"""Chooses the entry for a part of a request, or none."""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import attrs

from helmdeck_core import EntryKind
from helmdeck_plugins.lexical.fields import step_packs
from helmdeck_plugins.lexical.index import SYNONYMS_OF, LexicalIndex
from helmdeck_plugins.lexical.parts import Part
from helmdeck_plugins.lexical.profiles import Profile, Profiles
from helmdeck_plugins.lexical.properties import Role
from helmdeck_plugins.lexical.property_words import COUNT_WORDS, UNITS
from helmdeck_plugins.lexical.text import stem, word_terms
from helmdeck_plugins.lexical.tokens import Kind, Token
from helmdeck_plugins.lexical.verb_classes import ACTIONS, GENERAL, READING, WRITING, Action
from helmdeck_plugins.lexical.wording import Wording

# Weights of the words of a part: the object of the verb counts more than what follows a preposition, a name hardly.
_VERB: Final = 0.7
_OBJECT: Final = 1.0
_TAIL: Final = 0.45
_NAME: Final = 0.15
_HINT: Final = 0.5
_CANDIDATES: Final = 16
_MIN_COMPOUND: Final = 5
# Larger catalogs are searched by their words only.
_MAX_SEARCHED: Final = 300
# Weight of a synonym, and of a word that a value stands for.
_SYNONYM: Final = 0.7
# Minimum share of the object that an entry covers.
_MIN_COVER: Final = 0.45

# Words that a value stands for.
_KIND_WORDS: Final = {
    Kind.URL: ("url", "page", "web"),
    Kind.EMAIL: ("email",),
    Kind.PATH: ("file",),
    Kind.GLOB: ("file", "pattern"),
    Kind.SQL: ("sql", "query"),
    Kind.CODE: ("code",),
    Kind.EXPRESSION: ("expression", "calculate"),
}
_KIND_ROLES: Final = {
    Kind.URL: (Role.URL,),
    Kind.EMAIL: (Role.EMAIL,),
    Kind.PATH: (Role.PATH, Role.ID, Role.TEXT, Role.URL),
    Kind.GLOB: (Role.PATTERN, Role.PATH),
    Kind.SQL: (Role.SQL, Role.CODE),
    Kind.CODE: (Role.CODE, Role.SQL, Role.CONTENT, Role.EXPRESSION),
    Kind.EXPRESSION: (Role.EXPRESSION, Role.CODE),
    Kind.DATE: (Role.DATE,),
    Kind.ID: (Role.ID, Role.NAME),
}
_CLAUSE_STARTS: Final = frozenset("that dass que".split())
_EMPTY_VERBS: Final = frozenset("get go do make have does did come".split())
_ID_KINDS: Final = {Kind.ID, Kind.HASH, Kind.NUMBER, Kind.PATH, Kind.SLUG, Kind.QUOTE}
_COUNTING: Final = frozenset("first last top latest recent most".split())
# Words of any request that has a number of something.
_COUNTED: Final = frozenset("first last top result results item items entry entries hit hits match matches".split())
_LIGHT: Final = frozenset("take make do perform have use start".split())
_TURNING: Final = frozenset("turn make convert transform".split())
_FILE: Final = (stem("file"),)
_FOLDER_STEMS: Final = frozenset(stem(word) for word in ("directory", "folder", "directories", "folders", "tree"))
_OPENING_VERBS: Final = frozenset("read show get open view display fetch download load print".split())
_READING_SQL: Final = re.compile(r"\s*(?:select|with|pragma|explain|show)\b", re.IGNORECASE)
_WEB: Final = frozenset(stem(word) for word in "web internet online".split())
_SEARCHING: Final = frozenset("search find look lookup query research google locate".split())
_FREE_TEXT: Final = (Role.QUERY, Role.CONTENT, Role.EXPRESSION, Role.CODE, Role.SQL)


@attrs.frozen
class Weighted:
    """The words of a part, as stems with weights.

    :ivar verbs: stems of the verb and of what it means.
    :ivar objects: groups of stems, one group per word of the object; any of a group counts as the word.
    :ivar tail: the same of the words after a preposition.
    :ivar hints: stems of the words that values stand for.
    """

    verbs: frozenset[str]
    objects: tuple[frozenset[str], ...]
    tail: tuple[frozenset[str], ...]
    hints: frozenset[str]
    query: dict[str, float]

    @property
    def every(self) -> frozenset[str]:
        """All stems."""
        return self.verbs.union(self.hints, *self.objects, *self.tail)


def weigh(part: Part, wording: Wording) -> Weighted:
    """Return the weighted words of a part."""
    query: dict[str, float] = {}
    objects: list[frozenset[str]] = []
    tail: list[frozenset[str]] = []
    hints: set[str] = set()
    in_tail = after_naming = in_clause = counted = False
    for place, token in enumerate(part.tokens):
        if token.is_value:
            for word in _hints_of(token, part.verb):
                hints.add(stem(word))
                query.setdefault(stem(word), _HINT)
            if token.kind is Kind.SQL:
                query[stem(token.value.split()[0].lower())] = _OBJECT
                hints.add(stem(token.value.split()[0].lower()))
            continue
        if not token.is_word or place == part.verb_place:
            continue
        if wording.preposition(token):
            in_tail = in_tail or counted or bool(objects)
            continue
        if token.word in wording.language.naming:
            after_naming = True
            continue
        if token.word in _CLAUSE_STARTS and place == part.verb_place + 1 and part.verb_place >= 0:
            # "remember that the room is locked": the text is no description of the tool.
            in_clause = len(part.tokens) > place + 2
            continue
        if (part.is_question and token.word in _EMPTY_VERBS) or token.word in _COUNTED:
            counted = counted or token.word in _COUNTED
            continue
        if place and part.tokens[place - 1].kind is Kind.NUMBER and token.word in UNITS:
            counted = True
            continue
        if wording.is_filler(token.word):
            continue
        stems = frozenset(term for word in wording.nouns(token.word) for term in word_terms(word))
        if not stems:
            continue
        is_name = after_naming or in_clause or _is_name(place, token, stems, wording)
        weight = _NAME if is_name else (_TAIL if in_tail else _OBJECT)
        for term in stems:
            query[term] = max(query.get(term, 0.0), weight)
        if is_name:
            continue
        (tail if in_tail else objects).append(stems)
    verbs: set[str] = set()
    if part.verb and (not part.is_question or part.verb != "get"):
        verbs.add(stem(part.verb))
        for term in word_terms(part.verb):
            query[term] = max(query.get(term, 0.0), _VERB)
    return Weighted(frozenset(verbs), tuple(objects), tuple(tail), frozenset(hints), query)


def _is_name(place: int, token: Token, stems: frozenset[str], wording: Wording) -> bool:
    """Whether a word in capitals is a name that the catalog does not contain; German nouns always have capitals."""
    is_capital = place > 0 and token.value[:1].isupper() and wording.language.code != "de"
    return is_capital and not stems & wording.vocabulary.stems


def _hints_of(token: Token, verb: str) -> Sequence[str]:
    if token.kind is Kind.PATH and not _is_file(token):
        is_folder = token.value.endswith("/") or verb == "list"
        return ("directory", "folder") if is_folder else ("file", "directory", "folder")
    return _KIND_WORDS.get(token.kind, ())


def _is_file(token: Token) -> bool:
    return "." in token.value.rpartition("/")[2].lstrip(".")


def choose(part: Part, wording: Wording, lexical: LexicalIndex, profiles: Profiles) -> Profile | None:
    """Return the entry that does what a part requests; ``None`` if none does."""
    weighted = weigh(part, wording)
    scores = lexical.weighted_scores(weighted.query)
    if not scores:
        return None
    best = max(scores.values())
    leading = heapq.nlargest(_CANDIDATES, scores.items(), key=lambda row: (row[1], -row[0]))
    leading += _between_places(part, profiles, scores)
    found: list[tuple[float, int, Profile]] = []
    for index, score in leading:
        profile = profiles[index]
        if not is_allowed(part, profile) or not is_covered(part, weighted, profile):
            continue
        if profile.entry.kind is not EntryKind.PIPELINE or does_only(profile, weighted.every, profiles):
            found.append((score / best + fit(part, weighted, profile), -index, profile))
    return max(found, key=lambda row: row[:2])[2] if found else None


def _between_places(part: Part, profiles: Profiles, scores: Mapping[int, float]) -> list[tuple[int, float]]:
    """Return entries that take "from X to Y", for a question that names no tool."""
    words = {token.word for token in part.tokens}
    if not part.is_question or not {"from", "to"} <= words or len(profiles.entries) > _MAX_SEARCHED:
        return []
    every = range(len(profiles.entries))
    return [(index, 0.0) for index in every if index not in scores and _connects_places(part, profiles[index])]


def does_only(profile: Profile, words: frozenset[str], profiles: Profiles, chosen: Collection[str] = ()) -> bool:
    """Whether a pipeline is what a request names, and every step of it that changes something is requested.

    :param words: stems of the request.
    :param chosen: the entries of its parts.
    """
    if not is_named(profile, words) and not chosen:
        return False
    for pack in step_packs(profile.entry):
        step = profiles.of(pack)
        if step is None or not step.writes or pack in chosen:
            continue
        if words.isdisjoint({*step.name, *step.verbs, *(term for phrase in step.phrases for term in phrase)}):
            return False
    return True


def is_named(profile: Profile, words: frozenset[str]) -> bool:
    """Whether a request contains a keyword phrase of an entry, or its whole name."""
    return any(set(phrase) <= words for phrase in profile.phrases if len(phrase) > 1) or (
        len(profile.name) > 1 and {stem(profile.verb), *profile.name} <= words
    )


# -- effects -----------------------------------------------------------------------------------------------


def requested_actions(part: Part) -> frozenset[Action]:
    """Return what the verb of a part does; reading for a question, and for a part without a verb."""
    if part.verb in _TURNING and any(token.word == "into" for token in part.tokens):
        return frozenset({Action.PRODUCE})  # "turn the talk into slides"
    for token in part.tokens:
        if token.kind is Kind.SQL:
            return frozenset({Action.READ if _READING_SQL.match(token.value) else Action.UPDATE})
    if part.is_question or not part.verb:
        return frozenset({Action.READ})
    if part.verb == "tell" and not {token.word for token in part.tokens[1:2]} & {"me", "us"}:
        return frozenset({Action.SEND})  # "tell the team that ..."
    return ACTIONS.get(part.verb, frozenset())


def is_allowed(part: Part, profile: Profile) -> bool:
    """Whether an entry does no more than a part requests: nothing that reads may write, and only deletions delete."""
    actions = requested_actions(part)
    names_verb = bool(part.verb) and stem(part.verb) in profile.verbs
    if not names_verb and not _is_related(part, actions, profile):
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


def _is_related(part: Part, actions: frozenset[Action], profile: Profile) -> bool:
    """Whether the verb of a part has anything to do with an entry: "push the branch" does not create one."""
    own = ACTIONS.get(profile.verb, frozenset())
    if part.is_question or not part.verb or not profile.verb:
        return True
    if actions & own and (actions & own & READING or {part.verb, profile.verb} & (GENERAL | _TURNING)):
        return True
    if actions & READING and own & READING:
        return True
    verb = stem(part.verb)
    if verb in profile.opening or _synonyms(verb) & profile.verbs:
        return True
    if any(verb in phrase for phrase in profile.phrases):
        return True
    if part.verb in _LIGHT and not profile.writes:
        # "take a screenshot": the object is the action.
        return any(stem(token.word) in profile.name for token in part.content if token.is_word)
    return not own and not profile.writes and actions <= READING and bool(actions)


# -- coverage ----------------------------------------------------------------------------------------------


@lru_cache(4096)
def _synonyms(term: str) -> frozenset[str]:
    return frozenset(SYNONYMS_OF.get(term, ()))


def _matches(stems: Iterable[str], known: frozenset[str]) -> float:
    """Return how well a word is among known stems: 1 literally, less by a synonym."""
    own = frozenset(stems)
    if own & known:
        return 1.0
    if any(len(term) >= _MIN_COMPOUND and other.endswith(term) for term in own for other in known):
        return _SYNONYM  # "sheet" and "worksheet"
    return _SYNONYM if any(_synonyms(term) & known for term in own) else 0.0


def _name_stems(profile: Profile) -> frozenset[str]:
    return frozenset(profile.name) | profile.verbs


def is_covered(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether an entry is about the object of a part."""
    if any(set(phrase) <= weighted.every for phrase in profile.phrases if len(phrase) > 1):
        return True
    if weighted.verbs & profile.verb_phrases:
        return True
    if _connects_places(part, profile):
        return True
    has_verb = bool(weighted.verbs) and (
        _matches(weighted.verbs, profile.verbs | profile.opening) > 0
        or bool(requested_actions(part) & ACTIONS.get(profile.verb, frozenset()))
    )
    if not weighted.objects:
        if part.is_question and _answers_with_file(part, profile):
            return True
        return _takes_value(part, profile, has_verb=has_verb) or _is_about_tail(weighted, profile)
    covered = [_matches(stems, profile.text) for stems in weighted.objects]
    share = sum(covered) / len(covered)
    in_opening = max(_matches(stems, profile.opening) for stems in weighted.objects)
    if share >= _MIN_COVER and in_opening > 0:
        return True
    if _names_entry(weighted, profile) or _reads_value(part, weighted, profile):
        return True
    if part.verb in _SEARCHING and profile.takes(Role.QUERY) and _is_about_tail(weighted, profile):
        return True
    # "echo good morning", "search tides": the verb is the whole name, and its object a text.
    if weighted.verbs & profile.verbs and not profile.name and share >= _MIN_COVER:
        return True
    is_named = bool(weighted.verbs & profile.verbs) or (part.verb in _SEARCHING and profile.verb in _SEARCHING)
    is_whole_name = is_named and not set(profile.name) - weighted.every - _WEB
    texts = profile.required or profile.properties
    return is_whole_name and any(each.role in _FREE_TEXT for each in texts)


def _names_entry(weighted: Weighted, profile: Profile) -> bool:
    """Whether the words before and after prepositions contain the whole name."""
    if not profile.name:
        return False
    words = [*weighted.objects, *weighted.tail]
    return all(any(_matches(stems, frozenset({term})) == 1.0 for stems in words) for term in profile.name)


def _reads_value(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether the verb and the value fit an entry: "read every line of journal.txt" reads a file."""
    kinds = {token.kind for token in part.tokens if token.is_value} & _KIND_ROLES.keys()
    takes = any(each.role in _KIND_ROLES[kind] for kind in kinds for each in profile.required)
    if takes and weighted.verbs & profile.verbs and not set(profile.name) - weighted.hints:
        return True
    # "get the raw HTML of https://..."
    is_filled = all(any(each.role in _KIND_ROLES[kind] for kind in kinds) for each in profile.required)
    is_reading = ACTIONS.get(profile.verb, frozenset()) & READING and not profile.writes
    return takes and is_filled and bool(is_reading) and part.verb in _OPENING_VERBS and Kind.URL in kinds


def _answers_with_file(part: Part, profile: Profile) -> bool:
    """Whether "what is in notes.txt" reads the file."""
    has_file = any(token.kind is Kind.PATH and _is_file(token) for token in part.tokens)
    takes = any(each.role is Role.PATH for each in profile.required)
    return has_file and takes and profile.verb == "read" and profile.name == _FILE


def _connects_places(part: Part, profile: Profile) -> bool:
    """Whether "from X to Y" is what an entry takes, asked by a question: "how do I get from Leeds to York"."""
    words = {token.word for token in part.tokens}
    sides = {each.side for each in profile.required if each.role is Role.PLACE}
    return part.is_question and {"from", "to"} <= words and {"source", "target"} <= sides and not profile.writes


def _is_about_tail(weighted: Weighted, profile: Profile) -> bool:
    return bool(weighted.tail) and any(_matches(stems, profile.opening) == 1.0 for stems in weighted.tail[:2])


def _takes_value(part: Part, profile: Profile, *, has_verb: bool) -> bool:
    kinds = {token.kind for token in part.tokens if token.is_value}
    for kind in kinds & _KIND_ROLES.keys():
        if profile.takes(*_KIND_ROLES[kind]):
            is_telling = kind in (Kind.SQL, Kind.EXPRESSION) or len(part.tokens) == 1
            return has_verb or is_telling
    return has_verb and not kinds & {Kind.SQL, Kind.URL}


# -- fit ---------------------------------------------------------------------------------------------------


def fit(part: Part, weighted: Weighted, profile: Profile) -> float:
    """Return how well an entry fits a part beyond its score: its name, its verb, its inputs."""
    every = weighted.every
    total = 0.0
    if profile.name:
        covered = [_best_match(term, weighted) for term in profile.name]
        total += 1.2 * sum(covered) / len(covered)
        total -= 0.25 * sum(value == 0 for value in covered)
        known = _name_stems(profile)
    else:
        # A name such as "git_log": what the description says first takes the place of the other words.
        total += 0.3
        known = profile.opening
        if weighted.objects:
            total += 0.7 * sum(_matches(stems, known) for stems in weighted.objects) / len(weighted.objects)
    in_name = [max(_matches(stems, known), 0.5 * _matches(stems, profile.opening)) for stems in weighted.objects]
    if in_name:
        total += 0.8 * sum(in_name) / len(in_name)
    total += 0.3 * bool(profile.forms & {token.word for token in part.tokens if token.is_word})
    if _connects_places(part, profile):
        total += 0.8
    total += _verb_fit(part, weighted, profile)
    total += _input_fit(part.tokens, profile) + _label_fit(part, weighted, profile)
    # The author of the catalog says so.
    is_keyword = any(set(phrase) <= every for phrase in profile.phrases if len(phrase) > 1)
    if is_keyword or weighted.verbs & profile.verb_phrases:
        total += 1.6
    return total - (0.3 if profile.is_deprecated else 0.0)


def _best_match(term: str, weighted: Weighted) -> float:
    own = frozenset({term})
    if term in weighted.verbs:
        return 1.0
    words = [*weighted.objects, *weighted.tail]
    if any(term in stems for stems in words):
        return 1.0
    if any(any(term in _synonyms(each) for each in stems) for stems in words):
        return _SYNONYM
    return _SYNONYM if weighted.hints & own else 0.0


def _verb_fit(part: Part, weighted: Weighted, profile: Profile) -> float:
    needs_id = any(each.role is Role.ID for each in profile.required)
    if part.verb == "search" and needs_id and Action.SEARCH not in ACTIONS.get(profile.verb, frozenset()):
        return -1.0
    if part.is_question and weighted.verbs & profile.verbs and weighted.objects:
        # "which columns does the table have" lists columns, not tables.
        return 0.6 if _matches(weighted.objects[0], frozenset(profile.name)) else 0.2
    if weighted.verbs & profile.verbs:
        return 0.8 if stem(profile.verb) in weighted.verbs or not profile.name else 0.5
    actions, own = requested_actions(part), ACTIONS.get(profile.verb, frozenset())
    if actions & own:
        return 0.4
    if weighted.verbs & profile.opening:
        return 0.4
    if any(_synonyms(term) & profile.verbs for term in weighted.verbs):
        return 0.35
    if actions <= READING and own & READING and actions:
        return 0.2
    if part.verb and not part.is_question and not actions & READING and own and own <= READING:
        return -0.7
    if not own:
        return -0.5 if actions and not actions & READING else 0.0
    return -0.3 if actions or part.verb else 0.0


def _label_fit(part: Part, weighted: Weighted, profile: Profile) -> float:
    """Return how many required inputs a part names: "latitude 48.85 and longitude 2.35"."""
    states_value = any(token.is_value or token.value[:1].isupper() for token in part.tokens[1:])
    every = weighted.every
    known = set(profile.name)
    return min(
        0.9, (0.4 if states_value else 0.2) * sum(bool((each.labels - known) & every) for each in profile.required)
    )


def _input_fit(tokens: Sequence[Token], profile: Profile) -> float:
    """Return whether the values of a part fit the inputs of an entry."""
    total = 0.0
    kinds = {token.kind for token in tokens if token.is_value}
    for kind in kinds & _KIND_ROLES.keys():
        total += 0.4 if profile.takes(*_KIND_ROLES[kind]) else (-0.5 if kind is Kind.ID else -0.2)
    if any(token.kind is Kind.PATH and _is_file(token) for token in tokens) and _FOLDER_STEMS & set(profile.name):
        total -= 0.6
    for each in profile.required:
        wanted = [kind for kind, roles in _KIND_ROLES.items() if each.role in roles[:2]]
        if each.role in (Role.URL, Role.EMAIL, Role.SQL, Role.EXPRESSION) and not kinds & set(wanted):
            total -= 0.3
        if each.role is Role.ID and not kinds & _ID_KINDS and not any(token.value.isupper() for token in tokens):
            total -= 0.4
        if each.role is Role.DATE and Kind.DATE not in kinds:
            total -= 0.2
        if each.role in (Role.TIME, Role.ZONE) and not kinds & {Kind.TIME, Kind.SLUG}:
            total -= 0.25
        if each.role is Role.TEXT and not kinds:
            total -= 0.1
        if each.role is Role.PLACE and sum(token.kind is Kind.NUMBER for token in tokens) > 1:
            total -= 0.4
        if each.role is Role.PATTERN and not kinds & {Kind.GLOB, Kind.QUOTE, Kind.CODE}:
            total -= 0.3
        if each.role is Role.NUMBER and not kinds & {Kind.NUMBER, Kind.HASH, Kind.EXPRESSION}:
            total -= 0.35
    if any(token.word in _COUNTING for token in tokens) and Kind.NUMBER in kinds:
        counts = any(each.role is Role.NUMBER and COUNT_WORDS & set(each.words) for each in profile.properties)
        total += 0.8 if counts else -0.1
    numbers = sum(token.kind is Kind.NUMBER for token in tokens)
    if numbers > 1 and numbers == sum(each.role is Role.NUMBER for each in profile.required):
        total += 0.5
    has_number = bool(kinds & {Kind.NUMBER, Kind.HASH})
    if has_number and any(each.role is Role.NUMBER for each in profile.required):
        total += 0.4
    plural = sum(token.kind is Kind.PATH for token in tokens)
    if plural > 1 and any(each.role is Role.PATH and each.is_list for each in profile.required):
        total += 0.2
    return total
