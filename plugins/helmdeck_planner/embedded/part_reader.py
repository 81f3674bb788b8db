"""Chooses the entry for each part of a request, one after the other, and joins parts that one step serves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_core import EntryKind
from helmdeck_language import ENGLISH
from helmdeck_planner.embedded.arguments.enumerations import one_id_each, one_value_each
from helmdeck_planner.embedded.arguments.fill import fill
from helmdeck_planner.embedded.arguments.sources import Earlier, Sources
from helmdeck_planner.embedded.choice.choose import Scored, choose
from helmdeck_planner.embedded.choice.confidence import UNSURE, is_gap, score
from helmdeck_planner.embedded.choice.evidence import choose_by_evidence
from helmdeck_planner.embedded.choice.ranked import choose_by_rank
from helmdeck_planner.embedded.choice.weighing import weigh
from helmdeck_planner.embedded.continuations import continued, joined_act, with_subject
from helmdeck_planner.embedded.divisions import divided, enumerated
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.facts import is_fact, is_statement, with_fact
from helmdeck_planner.embedded.hints import is_hint_of
from helmdeck_planner.embedded.input_clauses import commented, updated
from helmdeck_planner.embedded.object_parts import joined_objects
from helmdeck_planner.embedded.parallel import named_objects, parallel, several_acts, with_rest
from helmdeck_planner.embedded.pick import Pick, is_risky, taking_all
from helmdeck_planner.embedded.request.parts import Part, refers
from helmdeck_planner.embedded.request.readings import reading, recorded_readings
from helmdeck_planner.embedded.request.texts import with_text
from helmdeck_planner.embedded.request.wording import Wording
from helmdeck_planner.embedded.same_step import adds_nothing, of_same_step
from helmdeck_selection import LexicalIndex

# Parts that one entry may serve together.
_MAX_JOINED: Final = 4
_ORDERING: Final = ENGLISH.lead_ins | ENGLISH.strong_joints | ENGLISH.references
# Probability from which a part requests a change.
_CHANGES: Final = 0.8
# Probability by evidence from which an entry serves a part that rules choose.
_POSSIBLE: Final = 0.15


@attrs.define
class PartReader:
    """Chooses entries for the parts of a request, one after the other.

    :ivar sources: with the parts so far as the earlier ones.
    :ivar is_bare_catalog: no entry has an input schema.
    :ivar parts: the parts so far, excluded ones and settings included.
    """

    sources: Sources
    lexical: LexicalIndex
    profiles: Profiles
    is_bare_catalog: bool = False
    parts: list[Part] = attrs.Factory(list)
    picks: list[Pick] = attrs.Factory(list)
    headings: list[Pick] = attrs.Factory(list)

    def add(self, part: Part, *, is_added: bool = False) -> None:
        """Choose the entry of a part, or of several if it states several objects or values.

        :param is_added: "also" joins the part to the one before or behind it, so that it is requested even if it only states a fact.
        """
        if part.is_heading:
            self._append_heading(part)
            return
        if part.is_excluded or part in self.sources.settings:
            self._append(part, None, ())
            return
        if is_fact(part, self.sources.wording):
            # A fact is no step as long as another part has one.
            found = self._chosen(part, self.sources)
            is_step = is_added and not is_gap(found) and not is_risky(found) and found[0].is_complete
            self._append(part, found[0].profile if is_step else None, found)
            return
        for act in several_acts(part, self.sources, self._chosen):
            for own in named_objects(act, self._by_rules, self.sources.wording):
                self._add_single(own)

    def _add_single(self, own: Part) -> None:
        """Add a part with one act; it may be several steps, or state more of the step before."""
        wording = self.sources.wording
        if self.picks and is_hint_of(own, self.picks[-1], wording):
            # "pid 482 is stuck, give it to Ada": the first part is no request of its own.
            self.picks[-1] = attrs.evolve(self.picks[-1], profile=None)
            earlier = (*self.sources.earlier[:-1], Earlier(self.parts[-1], {}))
            self.sources = attrs.evolve(self.sources, earlier=earlier)
        if own.recording:
            own = self._recorded(own)
        found = self._of_same_thing(own, self._chosen(own, self.sources))
        before = self.picks[-1] if self.picks else None
        if comment := commented(own, found, self.sources, self.profiles):
            found = [comment]
        if update := updated(own, found, self.sources, self.profiles):
            own, best = update
            self._append(own, best.profile, [best])
            return
        if sides := enumerated(own, self.sources, self._chosen) or divided(own, found, self.sources, self._chosen):
            for side in sides:
                self._add_single(side)
            return
        if several := parallel(own, found, self.sources, self._chosen):
            self._append_all(several)
            return
        self._add_step(own, found, before)

    def _add_step(self, own: Part, found: list[Scored], before: Pick | None) -> None:
        """Add the step of a part, or one for each of its values.

        :param found: the candidates of the part, the best first.
        """
        wording = self.sources.wording
        profile = found[0].profile if found else None
        if is_gap(found) and (each_found := self._one_each(own)):
            found, profile = each_found, each_found[0].profile
        single = [own] if profile is None else one_value_each(own, profile, self.sources.request, wording)
        if len(single) > 1 and (all_at_once := taking_all(found)):
            found = [all_at_once, *(row for row in found[1:] if row is not all_at_once)]
            profile, single = all_at_once.profile, [own]
        elif len(single) > 1:
            # The other values are not left over: they have steps of their own.
            found = self._by_rules(single[0]) or found
        if len(single) == 1 and (rest := with_rest(own, found, self.sources, self._chosen)):
            self._append_all(rest)
            return
        adds = bool(found) and self._only_states(own, found[0].profile)
        if found and (adds or is_gap(found)):
            profile, single = None, [own]
        if not adds and (other := self._read_otherwise(own, profile, found)):
            other_part, found = other
            profile, single = found[0].profile, [other_part]
        if before is not None and adds_nothing(own, profile, before, wording):
            return
        for each in single:
            self._append(each, profile, found)

    def _read_otherwise(
        self, part: Part, profile: Profile | None, found: Sequence[Scored]
    ) -> tuple[Part, list[Scored]] | None:
        """Return a part with its text as a quoted string, or as a wish, if an entry serves that better; ``None`` if none does."""
        is_open = profile is None or not found[0].is_complete
        if is_open and (told := with_text(part, self.sources.request)) is not None:
            with_told = self._chosen(told, self.sources)
            if not is_gap(with_told) and _serves_wish(with_told[0]) and not with_told[0].unused:
                return told, with_told
        if profile is None and _is_maybe_wish(part, self.sources.wording):
            # "6 replicas of checkout", "viewport 1280 by 720": a noun was read as a verb.
            wish = attrs.evolve(part, verb="", verb_place=-1, is_wish=True)
            as_wish = self._chosen(wish, self.sources)
            if not is_gap(as_wish) and _serves_wish(as_wish[0]):
                return wish, as_wish
        return None

    def _recorded(self, part: Part) -> Part:
        """Return a statement that is to be recorded as it is, behind the verb "record", or with the clause that asks for that."""
        readings = recorded_readings(part, self.sources.wording)
        rows = [(each, self._chosen(each, self.sources)) for each in readings]
        served = [
            (each, found[0]) for each, found in rows if not is_gap(found) and found[0].profile.writes is not False
        ]
        whole = [each for each, best in served if best.is_complete and not best.unused]
        return next(iter([*whole, *(each for each, _ in served)]), readings[-1])

    def _one_each(self, part: Part) -> list[Scored]:
        """Return the candidates for the first of several ids, if the best one takes one id at a time."""
        wording = self.sources.wording
        first = next(iter(one_id_each(part, wording)), None)
        found = self._chosen(first, self.sources) if first is not None else []
        if is_gap(found) or not found[0].is_complete or found[0].unused:
            return []
        return found if len(one_value_each(part, found[0].profile, self.sources.request, wording)) > 1 else []

    def _append_all(self, picks: Sequence[Pick]) -> None:
        for each in picks:
            self._append(each.part, each.profile, each.found)

    def _append(self, part: Part, profile: Profile | None, found: Sequence[Scored]) -> None:
        self.parts.append(part)
        if not part.is_excluded and part not in self.sources.settings:
            self.picks.append(Pick(part, profile, found))
        self._know(part, profile)

    def _know(self, part: Part, profile: Profile | None) -> None:
        args = fill(part, profile, self.sources) if profile is not None else {}
        earlier = (*self.sources.earlier, Earlier(part, args, profile))
        self.sources = attrs.evolve(self.sources, earlier=earlier)

    def _append_heading(self, part: Part) -> None:
        """Add a part that has no step, with the entry that reads what it names, whose inputs the next steps may need."""
        found = self._chosen(part, self.sources)
        reads = not is_gap(found) and found[0].is_complete and found[0].profile.writes is False
        profile = found[0].profile if reads else None
        self.parts.append(part)
        if profile is not None:
            self.headings.append(Pick(part, profile, found))
        self._know(part, profile)

    def join(self) -> None:
        """Join consecutive parts that one entry serves: "pid 482 is stuck, terminate it", "draft a mail. Subject: Wreaths"."""
        start = 0
        while start < len(self.parts):
            length, pick = self._joined_from(start)
            if pick is None:
                start += 1
                continue
            self._replace(start, length, pick)
        self._join_same()

    def _join_same(self) -> None:
        """Join each step with the one before that has the same entry, if both are one."""
        place = 1
        while place < len(self.picks):
            before, after = self.picks[place - 1 : place + 1]
            first, last = self.parts.index(before.part), self.parts.index(after.part)
            both = (before, after)
            same = both if after.part.is_other_object else of_same_step(*both, self._before(first))
            if len(same) == 1:
                self._replace(first, last - first + 1, same[0])
                continue
            if same[1] is not after:
                self._replace(last, 1, same[1])
            place += 1

    def _joined_from(self, start: int) -> tuple[int, Pick | None]:
        """Return how many parts from a place are one, and their step."""
        following = [self.parts[start], *itertools.takewhile(_may_join, self.parts[start + 1 : start + _MAX_JOINED])]
        if objects := joined_objects(following, self._pick_of, self._before(start), self._chosen):
            return objects
        run = list(itertools.takewhile(self._is_open, following))
        after = next(iter(self.parts[start + len(run) :]), None)
        if after is not None and after.verb and refers(after, self.sources.wording):
            # "pid 482 is stuck, terminate it": what a step is about is no step of its own.
            run = run[:-1]
        for length in range(len(run), 1, -1):
            if pick := joined_act(run[:length], self._before(start), self._chosen):
                return length, pick
        first = self._pick_of(self.parts[start])
        length = next((n for n, part in enumerate(self.parts[start + 1 :], 1) if not part.is_excluded), 0)
        second = self._pick_of(self.parts[start + length]) if length else None
        if first is None or second is None or second.part.is_other_object:
            return 1, None
        before = self._before(start)
        joined = continued(first, second, before, self._chosen) or with_subject(first, second, before, self._chosen)
        return length + 1, joined or with_fact(first, second, self.sources.wording)

    def _replace(self, start: int, length: int, pick: Pick) -> None:
        """Replace parts by one, with its step; excluded parts among them stay."""
        old = self.parts[start : start + length]
        kept = [part for part in old if part.is_excluded]
        if condition := next((part.condition for part in old if part.condition), ""):
            pick = attrs.evolve(pick, part=attrs.evolve(pick.part, condition=condition))
        places = [place for place, each in enumerate(self.picks) if any(each.part is part for part in old)]
        self.picks[places[0] : places[-1] + 1] = [pick]
        self.parts[start : start + length] = [pick.part, *kept]
        args = fill(pick.part, pick.profile, self._before(start)) if pick.profile is not None else {}
        before, after = self.sources.earlier[:start], self.sources.earlier[start + length :]
        excluded = (Earlier(part, {}) for part in kept)
        self.sources = attrs.evolve(
            self.sources, earlier=(*before, Earlier(pick.part, args, pick.profile), *excluded, *after)
        )

    def _pick_of(self, part: Part) -> Pick | None:
        return next((pick for pick in self.picks if pick.part is part), None)

    def _is_open(self, part: Part) -> bool:
        """Whether a part is requested, and has no entry."""
        pick = self._pick_of(part)
        return pick is not None and pick.profile is None

    @property
    def _alone(self) -> Sources:
        """Sources without what other parts state."""
        return Sources(self.sources.request, self.sources.wording)

    def _before(self, place: int) -> Sources:
        return attrs.evolve(self.sources, earlier=self.sources.earlier[:place])

    def _by_rules(self, part: Part) -> list[Scored]:
        return choose(part, self.sources, self.lexical, self.profiles)

    def _chosen(self, part: Part, sources: Sources) -> list[Scored]:
        """Return the candidates for a part, the best first."""
        found = choose(part, sources, self.lexical, self.profiles)
        if found and _is_meant_otherwise(part, found[0].profile, self.sources.wording):
            found = []
        if self.is_bare_catalog and (ranked := choose_by_rank(part, self.lexical, self.profiles)):
            return ranked
        if self.sources.wording.language is not ENGLISH or (found and self._is_declared(part, found[0].profile)):
            return found
        last = sources.earlier[-1] if sources.earlier else None
        is_about_last = last is not None and last.profile is None and refers(part, sources.wording)
        context = last.part.tokens if last is not None and is_about_last else ()
        known = tuple(each for each in sources.earlier if each.profile is not None or (is_about_last and each is last))
        if len(known) < len(sources.earlier):
            sources = attrs.evolve(sources, earlier=known)
        other = choose_by_evidence(part, sources, self.lexical, self.profiles, found, context)
        return found if is_gap(other) and _is_settled(part, found, other) else other

    def _is_declared(self, part: Part, profile: Profile) -> bool:
        """Whether the catalog itself says that an entry serves a part: by a keyword phrase, or as a pipeline."""
        weighted = weigh(part, self.sources.wording)
        is_phrase = any(set(phrase) <= weighted.every for phrase in profile.phrases if len(phrase) > 1)
        return profile.entry.kind is EntryKind.PIPELINE or is_phrase or bool(weighted.verbs & profile.verb_phrases)

    def _only_states(self, part: Part, profile: Profile) -> bool:
        """Whether a part without an act has the entry of the step before, of which it states more: "labels ui and mobile"."""
        is_act = part.verb or part.is_question or part.is_wish
        if is_act or not (self.picks and self.picks[-1].profile is profile and profile.writes):
            return False
        # "OPS-5 to done. OPS-6 to in progress" has two objects.
        own, before = fill(part, profile, self._alone), self.sources.earlier[-1].args
        return all(own.get(each.name, None) in (None, before.get(each.name)) for each in profile.required)

    def _of_same_thing(self, part: Part, found: list[Scored]) -> list[Scored]:
        """Put the entry first that acts on what the step before acts on, if a part only has "it" and values: "move the card and archive it"."""
        before = self.sources.earlier[-1].profile if self.sources.earlier else None
        wording = self.sources.wording
        is_bare_act = all(
            place == part.verb_place or wording.is_filler(token.word) or token.word in _ORDERING or token.is_value
            for place, token in enumerate(part.tokens)
        )
        if before is None or not is_bare_act or not found or not refers(part, wording):
            return found
        best = found[0].profile
        alike = [each for each in found if each.is_complete and each.profile.verb == best.verb]
        same = [each for each in alike if set(each.profile.name) & set(before.name)]
        is_other = not set(best.name) & set(before.name)
        if not same or not is_other:
            return found
        return [attrs.evolve(same[0], evidence=found[0].evidence), *(each for each in found if each is not same[0])]


def _may_join(part: Part) -> bool:
    return not part.is_other_object


def _is_maybe_wish(part: Part, wording: Wording) -> bool:
    """Whether what is read as the verb of a part without an entry may be a noun."""
    if part.is_question or part.is_wish or is_statement(part, wording):
        return False
    if part.verb_place == 0 and any(token.word in wording.language.references for token in part.tokens[1:2]):
        return False  # "rebase it in"
    return part.verb_place != 0 or part.verb not in ENGLISH.verbs or wording.is_of_catalog(part.tokens[0].word)


def _serves_wish(best: Scored) -> bool:
    """Whether an entry does what a part needs that names no act: entries that only read serve no such part."""
    return best.is_complete and best.profile.writes is not False and score([best]) >= UNSURE


def _is_settled(part: Part, found: Sequence[Scored], others: Sequence[Scored]) -> bool:
    """Whether rules choose an entry that only reads, whose inputs a part states, and that evidence does not exclude."""
    if part.act.change >= _CHANGES or is_gap(found) or not found[0].is_complete or found[0].profile.writes is not False:
        return False
    return any(each.profile is found[0].profile and (each.evidence or 0.0) >= _POSSIBLE for each in others)


def _is_meant_otherwise(part: Part, profile: Profile, wording: Wording) -> bool:
    """Whether particles give a verb another meaning than that of an entry: "get rid of" gets nothing."""
    meant = reading(part, wording)
    return meant.is_phrase and meant.verbs.keys().isdisjoint(profile.verbs | profile.choice_verbs | profile.opening)
