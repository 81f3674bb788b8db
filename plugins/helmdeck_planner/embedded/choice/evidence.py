"""Chooses the entry for a part by all its words and values: a probability for each entry.

The rules of ``choose`` want the verb and the object in words that the catalog has; what they choose is one feature among others. Here
the verb is what an everyday verb may mean (``acts.toml``), words stand for others (``concepts.toml``), and values count as much as
words. A conditional logistic model weighs the features of all entries, with a gap as one more choice;
``benchmarks/first_use/evidence.py`` fits its weights.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Container, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from helmdeck_core import EntryKind
from helmdeck_language import DELETING_WORDS, READING, WRITING, Action, Kind, Token, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import drafted
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.coverage import counts_others, lists_file
from helmdeck_planner.embedded.choice.effects import does_too_much, loses_content, requested_actions, undoes_verb
from helmdeck_planner.embedded.choice.features import (
    Seen,
    direct_object_of,
    meaning_features,
    names_statement,
    object_features,
    rule_features,
    value_features,
    word_fit,
    words_of,
)
from helmdeck_planner.embedded.choice.meanings import MAX_COMPARED, Meaning, meanings
from helmdeck_planner.embedded.choice.shapes import by_shape
from helmdeck_planner.embedded.choice.weighing import Weighted, is_catalog_word, weigh
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.request.concepts import strength
from helmdeck_planner.embedded.request.opposites import OPPOSITES, is_other_kind, requested_sides
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.readings import Reading, reading
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_selection import LexicalIndex

# Of a larger catalog, only the best entries by words and the closest ones by meaning are weighed.
_MAX_SEARCHED: Final = 60
_CANDIDATES: Final = 24
# So many of the closest entries may serve a part that shares no word with them.
_CLOSEST: Final = 3
# Probability by meaning from which the same holds for an entry that deletes something.
_DELETES: Final = 0.4
# Probability from which a part asks for a change, and for nothing.
_ASKED: Final = 0.35
_TOLD: Final = 0.5
# What the probability by meaning counts beside the words, for the order before inputs are filled.
_MEANT: Final = 4.0
# A part whose best entry is less likely has none.
_NEGLIGIBLE: Final = 0.15
# Candidates whose inputs are filled on trial.
_TRIED: Final = 8
_READ_WEIGHT: Final = 0.3
_MAX_COUNT: Final = 3
_REFERRING: Final = (Kind.ID, Kind.PATH, Kind.URL)
_NOUN_AND_VALUE: Final = 2
_PREDICATES: Final = word_list("being") | word_list("finite") | word_list("modals")
_DELETING: Final = frozenset(stem(word) for word in DELETING_WORDS) | {stem("archive")}
_ANY_TEXT: Final = (Role.QUERY, Role.CONTENT, Role.TEXT)
_JOINING: Final = frozenset({",", "and", "&"})
_ASKING: Final = word_list("asking")
_REMOVING: Final = frozenset({Action.DELETE})


@attrs.frozen
class Candidate:
    """An entry with its features.

    :ivar scored: what ``steps`` needs to know of a choice.
    :ivar left: the places of the words and values of the part that it neither takes nor has in its texts.
    :ivar used: the places that its inputs take.
    :ivar has_values: the part states values.
    :ivar names_statement: its texts name what the SQL of the part does.
    """

    scored: Scored
    features: Mapping[str, float]
    left: frozenset[int] = frozenset()
    used: frozenset[int] = frozenset()
    has_values: bool = False
    names_statement: bool = False


@cache
def weights() -> Mapping[str, float]:
    """Return the fitted weights of the features, and the constant."""
    found = json.loads(Path(__file__).with_name("evidence.json").read_text(encoding="utf-8"))
    return {str(name): float(weight) for name, weight in found.items()}


def choose_by_evidence(
    part: Part,
    sources: Sources,
    lexical: LexicalIndex,
    profiles: Profiles,
    rules: Sequence[Scored],
    context: Sequence[Token] = (),
) -> list[Scored]:
    """Return the entries that may do what a part requests with their probabilities, the best first.

    :param rules: the entries that ``choose`` returns.
    :param context: the part before, if this one refers to it and it has no entry of its own.
    """
    found = candidates(part, sources, lexical, profiles, rules, context)
    rows = sorted(zip(probabilities(found), found, strict=True), key=lambda row: -row[0])
    if not rows or rows[0][0] < _NEGLIGIBLE:
        return []
    rows = _completed(rows)
    return by_shape(_pooled([attrs.evolve(each.scored, evidence=share) for share, each in rows]), part, sources)


def _completed(rows: Sequence[tuple[float, Candidate]]) -> list[tuple[float, Candidate]]:
    """Give the share of an entry that lacks an id to one that does the same with what the part states: "post", not "reply"."""
    share, best = rows[0]
    actions = best.scored.profile.actions
    if not best.features["missing_ids"] or best.scored.profile.writes is False:
        return list(rows)
    for row in rows[1:]:
        other, each = row[0], row[1].scored
        is_alike = bool(actions & each.profile.actions)
        if other >= _NEGLIGIBLE and is_alike and each.is_complete and not each.unused:
            return [(share + other, row[1]), *(rest for rest in rows[1:] if rest is not row)]
    return list(rows)


def _pooled(found: Sequence[Scored]) -> list[Scored]:
    """Replace entries that read the same by one of them: "cat a.txt" is served by ``read_text_file`` and by ``read_file``."""
    if not found or not _reads(found[0]):
        return list(found)
    best = found[0].profile
    same = [each for each in found if _reads(each) and each.profile.verb == best.verb and _are_one(each.profile, best)]
    chosen = min(same, key=lambda each: each.profile.is_deprecated)
    pooled = attrs.evolve(chosen, evidence=sum(each.evidence or 0.0 for each in same))
    return [pooled, *(each for each in found if each not in same)]


def _reads(each: Scored) -> bool:
    """Whether an entry only reads, and takes all that a part states."""
    profile = each.profile
    return bool(profile.verb and profile.name) and profile.writes is False and each.is_complete and not each.unused


def _are_one(profile: Profile, other: Profile) -> bool:
    """Whether the name of one entry is that of the other with more words; "old boats" and "red boats" are two."""
    own, others = profile.nouns, other.nouns
    return profile.name[-1] == other.name[-1] and (own <= others or others <= own)


def probabilities(found: Sequence[Candidate]) -> list[float]:
    """Return the probability of each candidate; what they leave to 1 is that of a gap."""
    own = weights()
    scores = [
        own["constant"] + sum(own.get(name, 0.0) * value for name, value in each.features.items()) for each in found
    ]
    highest = max([0.0, *scores])
    shares = [math.exp(score - highest) for score in scores]
    whole = sum(shares) + math.exp(-highest)
    return [share / whole for share in shares]


def candidates(
    part: Part,
    sources: Sources,
    lexical: LexicalIndex,
    profiles: Profiles,
    rules: Sequence[Scored],
    context: Sequence[Token] = (),
) -> list[Candidate]:
    """Return the entries that a part may request, with their features."""
    if not part.tokens:
        return []
    wording = sources.wording
    intended = reading(part, wording)
    weighted = weigh(part, wording)
    query = dict(weighted.query)
    for term, share in intended.verbs.items():
        query.setdefault(term, _READ_WEIGHT * share)
    scores = lexical.weighted_scores(query)
    best = max(scores.values(), default=1.0)
    count = len(profiles.entries)
    indices = list(range(count))
    if count > _MAX_SEARCHED:
        indices = heapq.nlargest(_CANDIDATES, scores, key=lambda index: (scores[index], -index))
        indices += [profiles.place(each.profile) for each in rules if profiles.place(each.profile) not in indices]
    close = meanings(part, range(count) if count <= MAX_COMPARED else indices, profiles, context)
    if count > _MAX_SEARCHED:
        indices = list(dict.fromkeys([*indices, *(index for index, own in close.items() if own.place < _CLOSEST)]))
    words = words_of(part, intended, wording)
    seen = Seen(part, weighted, intended, words, wording, direct_object_of(part, words, wording))
    requested = _Requested.of(part, intended)
    rough = []
    for index in indices:
        profile = profiles[index]
        if not _may_serve(part, weighted, profile):
            continue
        is_safe = _is_safe(part, intended, profile, close[index])
        if requested.is_undone_by(profile) or not (is_safe or _may_be_meant(part, profile)):
            continue
        fit = word_fit(seen, profile)
        score = scores.get(index, 0.0) / best
        features = {
            **fit.features,
            **meaning_features(seen, profile, close[index]),
            **rule_features(rules, profile),
            "score": score,
            "unsafe": float(not is_safe),
            # A verb that an entry has nothing to do with requests something else.
            "far": float(not (seen.is_reading or fit.verb > 0 or close[index].place < _CLOSEST)),
        }
        rough.append((score + fit.order + _MEANT * close[index].share, -index, profile, features))
    tried = heapq.nlargest(_TRIED, rough)
    return _compared([_candidate(seen, profile, features, sources) for _, _, profile, features in tried])


@attrs.frozen
class _Requested:
    """What no entry for a part may undo.

    :ivar stems: of the words of the part.
    :ivar sides: the words of ``OPPOSITES`` that it has.
    :ivar verb_sides: those that its verb may stand for.
    """

    part: Part
    stems: frozenset[str]
    sides: frozenset[str]
    verb_sides: frozenset[str]

    @classmethod
    def of(cls, part: Part, intended: Reading) -> _Requested:
        """Read a part once for all entries."""
        stems = frozenset(stem(token.word) for token in part.tokens if token.is_word)
        verbs = frozenset(word for word in OPPOSITES if stem(word) in intended.verbs)
        return cls(part, stems, requested_sides(part), verbs)

    def is_undone_by(self, profile: Profile) -> bool:
        """Whether an entry undoes what the part requests, or serves another kind of a thing."""
        if loses_content(self.part, profile) or undoes_verb(self.part, profile):
            return True
        if is_other_kind(self.stems, {*profile.name, *profile.verbs}):
            return True
        # "open the lock" may mean to unlock it, and never to lock it.
        return any(
            any(OPPOSITES[word] in profile.sides for word in words) and not words & profile.sides
            for words in (self.sides, self.verb_sides)
        )


def _may_serve(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether an entry is about things of the kind that a part has; a question has none with an effect, also before a statement."""
    if profile.entry.kind is EntryKind.PIPELINE or counts_others(part, weighted, profile) or lists_file(part, profile):
        return False
    asks = not part.is_question and part.text.partition(" ")[0].lower() in _ASKING
    return not (asks and profile.writes) and not does_too_much(part, profile)


def _may_be_meant(part: Part, profile: Profile) -> bool:
    """Whether a part may mean an entry that does more than its words say: no question, and no deletion."""
    return not (profile.deletes or part.is_question)


def _is_safe(part: Part, intended: Reading, profile: Profile, close: Meaning) -> bool:
    """Whether an entry does no more than what the words of a part request."""
    own = profile.verbs | profile.choice_verbs
    # "get rid of a.txt" gets nothing.
    is_other = intended.is_phrase and stem(part.verb) not in intended.verbs
    verb = "" if is_other or (part.is_question and part.verb == "get") else stem(part.verb)
    is_intended = bool((intended.verbs.keys() | {verb}) & own)
    if profile.deletes:
        if _makes_thing(part):
            return False
        is_named = bool((intended.verbs.keys() | {verb}) & own & _DELETING)
        return not part.is_question and (is_named or (close.share >= _DELETES and _is_meant(part, profile, close)))
    if profile.writes and (_is_meant(part, profile, close) or names_statement(part, profile)):
        return True
    if part.is_question:
        return profile.answers
    if not (part.verb or intended.verbs):
        # "process 4 is stuck" kills none.
        may_act = profile.writes is None and bool(profile.verb) and not part.is_wish
        return not profile.writes and not (may_act and part.act.nothing >= _TOLD)
    if profile.writes or is_other:
        return is_intended
    actions = requested_actions(part)
    return is_intended or not actions or not actions <= WRITING or profile.writes is None


def _makes_thing(part: Part) -> bool:
    """Whether the noun at the start of a part is its verb: "snapshot vol-12 before you stop web"; "snapshot vol-12 can go" has another."""
    if part.verb or part.is_question or len(part.tokens) < _NOUN_AND_VALUE or not part.tokens[0].is_word:
        return False
    following = part.tokens[_NOUN_AND_VALUE:]
    return part.tokens[1].is_value and not (following and following[0].word in _PREDICATES)


def _is_meant(part: Part, profile: Profile, close: Meaning) -> bool:
    """Whether a part asks for a change, its wording may mean an entry, and its verb nothing else: "delete the branch" creates none."""
    asks = part.is_wish or part.act.change >= _ASKED
    if part.is_question or not asks or close.place >= _CLOSEST:
        return False
    actions, own = requested_actions(part), profile.actions
    if not part.verb or not actions or not own:
        return True
    if actions <= READING or actions <= _REMOVING or own <= _REMOVING:
        return bool(actions & own)
    return True


def _compared(found: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with the features that compare them."""
    if any(each.names_statement for each in found):
        found = [each for each in found if each.names_statement]
    exact = sum(map(_is_exact, found))
    compared = []
    for each in found:
        used = frozenset[int]().union(*(other.used for other in found if other is not each and _takes_all(other)))
        yields = len(each.left & used) if each.scored.is_complete else 0
        features = {
            **each.features,
            "sole": 1 / exact if _is_exact(each) else 0.0,
            # What it leaves is an input of another one: "what columns are in the table orders" lists no tables.
            "yields": float(min(yields, _MAX_COUNT)),
        }
        compared.append(attrs.evolve(each, features=features))
    return compared


def _is_exact(each: Candidate) -> bool:
    """Whether an entry takes all values of a part, and needs no others."""
    return each.scored.is_complete and each.has_values and not each.scored.unused


def _takes_all(each: Candidate) -> bool:
    """Whether an entry needs nothing more, and takes no text of any kind."""
    return each.scored.is_complete and not each.scored.profile.takes(*_ANY_TEXT)


def _following_alike(part: Part, draft: Draft) -> Container[int]:
    """Return the places of values behind one of their kind that an input takes: "list /srv and /opt" has a step for each."""
    found: set[int] = set()
    before = 0
    for place, token in enumerate(part.tokens):
        is_alike = place > 0 and part.tokens[before].kind is token.kind
        if is_alike and (before in draft.used_places or before in found):
            found.add(place)
        if token.word not in _JOINING:
            before = place
    return found


def _candidate(seen: Seen, profile: Profile, features: Mapping[str, float], sources: Sources) -> Candidate:
    """Return an entry with how well its inputs take the values of a part."""
    part, lexicon = seen.part, seen.weighted.lexicon
    draft = drafted(part, profile, sources)
    values = [
        place for place, token in enumerate(part.tokens) if token.is_value and not is_catalog_word(token, seen.wording)
    ]
    following = _following_alike(part, draft)
    left = [place for place in values if place not in draft.used_places and place not in following]
    foreign = [
        word.place
        for word in seen.words
        if word.place not in draft.used_places and not strength(word.stems, profile.text, lexicon)
    ]
    ids = [place for place in values if part.tokens[place].kind in _REFERRING]
    leaves_ids = bool(ids) and draft.used_places.isdisjoint(ids)
    by_value = value_features(profile, draft, len(left) / len(values) if values else 0.0)
    total, count = len(seen.words) + len(values), len(foreign) + len(left)
    unexplained = count / total if total else 0.0
    return Candidate(
        Scored(
            profile,
            total=0.0,
            stated=by_value["stated"],
            unused=by_value["unused"],
            unexplained=unexplained,
            leaves_ids=leaves_ids,
            is_complete=bool(by_value["complete"]),
            is_named=not (features["unsafe"] or features["unnamed_act"]),
            takes_any=bool(draft.used_places),
        ),
        {
            **features,
            **by_value,
            **object_features(seen, profile, draft),
            # "the lyrics of 'Bella'" are no tracks.
            "head_left": float(bool(seen.words) and seen.words[0].place in foreign),
            "left": float(min(count, _MAX_COUNT)),
        },
        left=frozenset([*foreign, *left]),
        used=frozenset(draft.used_places),
        has_values=bool(values),
        names_statement=names_statement(part, profile),
    )
