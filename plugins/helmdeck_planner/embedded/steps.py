"""Turns a request into steps: one for each part, a gap for a part that no entry covers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import GAP, PIPELINE_RUN, UNKNOWN_TOOL, CompletedStep, Entry, EntryKind
from helmdeck_language import ACTIONS, ENGLISH, READING, Token, detect, knows, scan, separate, stem
from helmdeck_planner.embedded.arguments.context import Earlier, settings_of
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.enumerations import one_value_each
from helmdeck_planner.embedded.arguments.fill import Sources, arguments_of, drafted, fill
from helmdeck_planner.embedded.choice.choose import Scored, choose
from helmdeck_planner.embedded.choice.confidence import UNSURE, is_guess, lacks_evidence, probability
from helmdeck_planner.embedded.choice.evidence import choose_by_evidence
from helmdeck_planner.embedded.choice.pipelines import covering_pipeline
from helmdeck_planner.embedded.choice.weighing import weigh
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.look_ups import look_up
from helmdeck_planner.embedded.request.parts import Part, split_parts
from helmdeck_planner.embedded.request.readings import reading
from helmdeck_planner.embedded.request.wording import Wording
from helmdeck_selection import LexicalIndex

_MAX_QUOTE_CHARS: Final = 100
# Requests are short: what follows is not planned.
_MAX_PARTS: Final = 50
_MIN_WORDS: Final = 2
# How often a look-up is right if the step that needs it is.
_LOOKED_UP: Final = 0.9


@attrs.frozen
class Pick:
    """A part with its entry, if any.

    :ivar found: the candidates, the best first; a gap has some where none is probable enough.
    """

    part: Part
    profile: Profile | None
    found: Sequence[Scored] = ()

    @property
    def probability(self) -> float | None:
        """The probability that the best candidate is right; ``None`` without one."""
        return probability(self.found) if self.found else None

    @property
    def is_unsure(self) -> bool:
        """Whether the step is one to check."""
        return (self.probability or 1.0) < UNSURE

    @property
    def tools(self) -> tuple[str, ...]:
        """Tool names that an executed step of this pick can have."""
        if self.profile is None:
            return (UNKNOWN_TOOL,)
        entry = self.profile.entry
        return (entry.id, PIPELINE_RUN) if entry.kind is EntryKind.PIPELINE else (entry.id,)


@attrs.frozen
class Understood:
    """A request after its parts were matched with the catalog.

    :ivar picks: the requested parts in order, each with its entry; excluded parts are left out.
    :ivar pipeline: the pipeline that covers all parts.
    :ivar is_foreign: the request is in a language that the planner does not know.
    :ivar settings: the parts that only state where the others act; they have no step.
    :ivar is_not_of_catalog: the catalog does not use that language either.
    """

    request: str
    parts: tuple[Part, ...]
    picks: tuple[Pick, ...]
    document: str
    wording: Wording
    pipeline: Entry | None
    is_foreign: bool
    is_not_of_catalog: bool = False
    lexical: LexicalIndex | None = None
    profiles: Profiles | None = None
    settings: tuple[Part, ...] = ()


def understand(request: str, lexical: LexicalIndex, profiles: Profiles) -> Understood:
    """Split a request into parts and choose an entry for each."""
    separated = separate(request, lexical.read(request))
    tokens = scan(separated.request)
    language = detect((token.word for token in tokens if token.is_word), lexical.lexicon.languages)
    wording = Wording(language, lexical.lexicon, profiles.vocabulary, lexical.verbs)
    parts = split_parts(separated.request, tokens, wording)[:_MAX_PARTS]
    picks: tuple[Pick, ...] = ()
    every: list[Part] = []
    settings = settings_of(parts, wording)
    for part in parts:
        if part.is_excluded or part in settings:
            every.append(part)
            continue
        for own in _objects(part, wording, lexical, profiles, separated.request):
            found = choose(own, wording, lexical, profiles, separated.request)
            if found and _is_meant_otherwise(own, found[0].profile, wording):
                found = []
            if not _is_settled(found):
                found = _by_evidence(own, found, wording, lexical, profiles, separated.request)
            profile = found[0].profile if found else None
            single = [own] if profile is None else one_value_each(own, profile, separated.request, wording)
            if len(single) > 1 and (all_at_once := _taking_all(found)):
                found = [all_at_once, *(row for row in found[1:] if row is not all_at_once)]
                profile, single = all_at_once.profile, [own]
            elif len(single) > 1:
                # The other values are not left over: they have steps of their own.
                found = choose(single[0], wording, lexical, profiles, separated.request) or found
            if found and _is_gap(found):
                profile, single = None, [own]
            if picks and (_asks_again(own, profile, picks[-1], wording) or _only_shows(own, picks[-1], wording)):
                continue
            every += single
            picks += tuple(Pick(each, profile, found) for each in single)
    parts = every
    picks = _without_background(picks, lexical.lexicon.statements)
    is_foreign = _is_foreign(tokens, wording)
    is_not_of_catalog = is_foreign and profiles.languages.lack(separated.request)
    if is_not_of_catalog:
        # What matches is a number or a name: a coincidence.
        picks = tuple(attrs.evolve(pick, profile=None) for pick in picks)
    pipeline = covering_pipeline([pick.part for pick in picks], [pick.profile for pick in picks], wording, profiles)
    return Understood(
        request=separated.request,
        parts=tuple(parts),
        picks=picks,
        document=separated.document,
        wording=wording,
        pipeline=pipeline,
        settings=settings,
        is_foreign=is_foreign and all(pick.profile is None for pick in picks),
        is_not_of_catalog=is_not_of_catalog,
        lexical=lexical,
        profiles=profiles,
    )


def _is_gap(found: Sequence[Scored]) -> bool:
    return not found or is_guess(found) or lacks_evidence(found[0])


def _is_settled(found: Sequence[Scored]) -> bool:
    """Whether a part has an entry whose required inputs it states."""
    return not _is_gap(found) and found[0].is_complete


def _is_meant_otherwise(part: Part, profile: Profile, wording: Wording) -> bool:
    """Whether particles give a verb another meaning than that of an entry: "get rid of" gets nothing."""
    meant = reading(part, wording)
    return meant.is_phrase and meant.verbs.keys().isdisjoint(profile.verbs | profile.choice_verbs | profile.opening)


def _by_evidence(
    part: Part,
    found: list[Scored],
    wording: Wording,
    lexical: LexicalIndex,
    profiles: Profiles,
    request: str,
) -> list[Scored]:
    """Return the candidates by evidence for a part that no rule covers, or of which another entry takes more."""
    if wording.language is not ENGLISH:
        return found
    other = choose_by_evidence(part, wording, lexical, profiles, request)
    if not other or is_guess(other):
        return found
    is_better = other[0].is_complete and probability(other) >= UNSURE
    return other if _is_gap(found) or is_better else found


def _taking_all(found: Sequence[Scored]) -> Scored | None:
    """Return the entry that does what the best one does with all values at once: "read a.txt and the file b.txt"."""
    best = found[0]
    return next(
        (
            row
            for row in found[1:]
            if row.is_complete
            and row.unused < best.unused
            and row.unused == 0
            and row.profile.verb == best.profile.verb
            and set(best.profile.name) & set(row.profile.name)
            and any(each.is_list for each in row.profile.required)
        ),
        None,
    )


def _objects(part: Part, wording: Wording, lexical: LexicalIndex, profiles: Profiles, request: str) -> Sequence[Part]:
    """Return a part for each object of "list the containers and images", if each of them is the name of another entry."""
    joints = [
        place
        for place in range(part.verb_place + 2, len(part.tokens) - 1)
        if part.tokens[place].word in wording.language.joints and not part.tokens[place - 1].is_value
    ]
    if part.verb_place != 0 or part.is_question or len(joints) != 1:
        return [part]
    first = attrs.evolve(part, tokens=part.tokens[: joints[0]])
    second = attrs.evolve(part, tokens=(part.tokens[0], *part.tokens[joints[0] + 1 :]))
    names: list[tuple[Profile, frozenset[str]]] = []
    for own in (first, second):
        found = choose(own, wording, lexical, profiles, request)
        stems = frozenset(stem(word) for token in own.content if token.is_word for word in wording.nouns(token.word))
        if not found:
            return [part]
        names.append((found[0].profile, stems))
    (one, its_words), (other, other_words) = names
    is_apart = one is not other and its_words & set(one.name) and other_words & set(other.name)
    is_mixed = its_words & set(other.name) or other_words & set(one.name)
    return [first, second] if is_apart and not is_mixed else [part]


def _only_shows(part: Part, before: Pick, wording: Wording) -> bool:
    """Whether a part requests no more than the result of the step before: "open a.txt and show me what is in it"."""
    profile = before.profile
    is_reading = part.is_question or bool(ACTIONS.get(part.verb, frozenset()) & READING)
    refers = any(token.word in wording.language.references for token in part.tokens)
    if profile is None or profile.writes or not is_reading or not refers or profile.entry.kind is EntryKind.PIPELINE:
        return False
    has_object = any(
        token.is_value
        or (token.is_word and not wording.is_filler(token.word) and token.word not in wording.language.references)
        for token in part.content
    )
    return not has_object and bool(ACTIONS.get(profile.verb, frozenset()) & READING)


def _asks_again(part: Part, profile: Profile | None, before: Pick, wording: Wording) -> bool:
    """Whether a question is about what the step before returns as well: "how big is it, and when was it changed"."""
    if before.profile is None or before.profile.writes or not (part.is_question and before.part.is_question):
        return False
    if any(token.is_value for token in part.tokens):
        return False
    return profile is before.profile or (profile is None and _describes(part, before.profile, wording))


def _describes(part: Part, profile: Profile, wording: Wording) -> bool:
    """Whether a question about "it" has only words that describe what an entry returns."""
    weighted = weigh(part, wording)
    stems = [*weighted.objects, *weighted.tail]
    refers = any(token.word in wording.language.references for token in part.tokens)
    return refers and bool(stems) and all(weighted.matches(each, profile.text) for each in stems)


def _without_background(picks: tuple[Pick, ...], statements: frozenset[str]) -> tuple[Pick, ...]:
    """Remove sentences that request nothing, beside parts that do, as in "My disk is full. List the files", and greetings."""
    asking = tuple(pick for pick in picks if pick.part.verb or not _is_statement(pick.part, statements))
    return asking or picks


def _is_statement(part: Part, statements: frozenset[str]) -> bool:
    words = [token.word for token in part.tokens if token.is_word]
    return not words or not statements.isdisjoint(words) or len(part.tokens) == 1


def _is_foreign(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether hardly a word of a request belongs to a known language or to the catalog."""
    words = [token.word for token in tokens if token.is_word]
    if not words:
        return False
    if any(not _is_latin(word) for word in words):
        return sum(not _is_latin(word) for word in words) * 2 >= len(words)
    known = sum(
        any(knows(language, [word]) for language in wording.lexicon.languages) or wording.is_known(word)
        for word in words
    )
    return len(words) >= _MIN_WORDS and known * 3 < len(words)


def _is_latin(word: str) -> bool:
    return all(char < "\u0250" or "\u1e00" <= char <= "\u1eff" for char in word)


def steps_of(
    understood: Understood, defaults: Mapping[str, Any], done: Sequence[CompletedStep]
) -> list[dict[str, Any]]:
    """Return the steps that are not done yet, without their numbers."""
    if understood.pipeline is not None:
        executed = {step.tool for step in done}
        if PIPELINE_RUN in executed or understood.pipeline.id in executed:
            return []
        if not executed:
            return [_pipeline_step(understood, defaults)]
    left = _all_steps(understood, defaults)
    for completed in done:
        found = next((row for row in left if completed.tool in row[0]), None)
        if found is not None:
            left.remove(found)
            executed_steps = [found[1]]
            # The result of a look-up is known once the step that needs it was executed.
            for row in reversed(left):
                if any(row[2] is each for each in executed_steps):
                    executed_steps.append(row[1])
            left = [row for row in left if not any(row[1] is each for each in executed_steps)]
    return [step for _, step, _ in left]


def _sources(understood: Understood, defaults: Mapping[str, Any], earlier: Iterable[Earlier] = ()) -> Sources:
    return Sources(
        understood.request, understood.wording, understood.document, defaults, tuple(earlier), understood.settings
    )


def _background(understood: Understood, part: Part) -> tuple[Part, ...]:
    """Return the parts without a step that may state something for a step: all if it is the only one, else those right after it."""
    steps = [pick.part for pick in understood.picks if pick.profile is not None]
    parts = understood.parts if len(steps) == 1 else understood.parts[understood.parts.index(part) + 1 :]
    if len(steps) > 1:
        parts = tuple(itertools.takewhile(lambda other: other not in steps, parts))
    return tuple(other for other in parts if other not in (*steps, *understood.settings))


_Row = tuple[tuple[str, ...], dict[str, Any], dict[str, Any] | None]


def _all_steps(understood: Understood, defaults: Mapping[str, Any]) -> list[_Row]:
    """Return the steps with the tools that an executed one can have, and for a look-up the step that it is for."""
    steps: list[_Row] = []
    earlier: list[Earlier] = []
    by_part = {id(pick.part): pick for pick in understood.picks}
    gaps: list[tuple[Part, dict[str, Any]]] = []
    stated: list[Part] = []
    for part in understood.parts:
        pick = by_part.get(id(part))
        args: dict[str, Any] = {}
        if pick is not None:
            looked_up: list[dict[str, Any]] = []
            if pick.profile is not None:
                sources = _sources(understood, defaults, earlier)
                draft = drafted(part, pick.profile, attrs.evolve(sources, background=_background(understood, part)))
                args = arguments_of(draft)
                stated += draft.stated_by
                looked_up = _looked_up(understood, pick, pick.profile, draft)
            step = _step(pick, args, is_foreign=understood.is_not_of_catalog)
            if pick.profile is None:
                gaps.append((part, step))
            is_gap = pick.profile is None or pick.probability is None
            step = step if is_gap else {**step, "probability": round(pick.probability or 0.0, 2)}
            for place, found in enumerate(looked_up):
                # One look-up of the channels serves two messages; two places need two searches.
                if all(not _is_same(found, before) for _, before, _ in steps):
                    needing = looked_up[place + 1] if place + 1 < len(looked_up) else step
                    steps.append(((found["tool"],), found, needing))
            steps.append((pick.tools, step, None))
        earlier.append(Earlier(part, args, pick.profile if pick else None))
    # What a part states for a step is no gap.
    used = [step for part, step in gaps if part in stated]
    return [row for row in steps if not any(row[1] is step for step in used)]


def _is_same(step: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(step["tool"] == other["tool"] and step["args"] == other["args"])


def _looked_up(understood: Understood, pick: Pick, profile: Profile, draft: Draft) -> list[dict[str, Any]]:
    """Return the steps that find an id that a step requires, if the request only names the thing."""
    lexical, profiles = understood.lexical, understood.profiles
    is_open = any(each.name not in draft.args for each in profile.required)
    if not is_open or lexical is None or profiles is None or profile.entry.kind is EntryKind.PIPELINE:
        return []
    found = look_up(draft, lexical, profiles)
    needing = [*(each.profile.entry.id for each in found), profile.entry.id][1:]
    return [
        {
            "tool": each.profile.entry.id,
            "args": each.args,
            "rationale": f"inferred: finds {' and '.join(each.needed)} of {quoted(each.thing)} for {entry_id}",
            "probability": round(_LOOKED_UP ** len(found) * (pick.probability or 0.0), 2),
            "inferred_for": list(each.needed),
        }
        for each, entry_id in zip(found, needing, strict=True)
    ]


def _step(pick: Pick, args: dict[str, Any], *, is_foreign: bool) -> dict[str, Any]:
    quote = quoted(pick.part.text)
    if pick.profile is None:
        why = f"{quote} is in a language that the catalog does not use" if is_foreign else ""
        if pick.found and not is_foreign:
            why = f"unsure of {quote}: {pick.found[0].profile.entry.id} is the nearest ({pick.probability:.0%})"
        return {"tool": UNKNOWN_TOOL, "args": {}, "rationale": f"{GAP} {why or f'nothing in the catalog fits {quote}'}"}
    entry = pick.profile.entry
    if entry.kind is EntryKind.PIPELINE:
        return {
            "tool": PIPELINE_RUN,
            "args": {"id": entry.id, "inputs": args},
            "rationale": f"the pipeline fits {quote}",
        }
    return {"tool": entry.id, "args": args, "rationale": f"fits {quote}"}


def whole_inputs(understood: Understood, profile: Profile, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of one entry from all requested parts; the first part that states a value decides."""
    inputs: dict[str, Any] = {}
    for pick in understood.picks:
        for name, value in fill(pick.part, profile, _sources(understood, defaults)).items():
            inputs.setdefault(name, value)
    return inputs


def _pipeline_step(understood: Understood, defaults: Mapping[str, Any]) -> dict[str, Any]:
    pipeline = understood.pipeline
    assert pipeline is not None
    profile = next((pick.profile for pick in understood.picks if pick.profile and pick.profile.entry is pipeline), None)
    inputs = whole_inputs(understood, profile or Profiles([pipeline], understood.wording.lexicon)[0], defaults)
    quote = quoted("; ".join(pick.part.text for pick in understood.picks))
    return {
        "tool": PIPELINE_RUN,
        "args": {"id": pipeline.id, "inputs": inputs},
        "rationale": f"the pipeline fits {quote}",
    }


def quoted(text: str) -> str:
    """Quote a part of a request for display: one line, bounded length, valid UTF-8."""
    line = " ".join(text.split()).encode("utf-8", "replace").decode()
    return f"'{line if len(line) <= _MAX_QUOTE_CHARS else line[: _MAX_QUOTE_CHARS - 1] + '…'}'"


def unsure_advice(understood: Understood) -> str:
    """Return one line about the parts whose step may be wrong; empty if there is none."""
    parts = [f"{quoted(pick.part.text)} ({pick.probability:.0%})" for pick in understood.picks if pick.is_unsure]
    if not parts or understood.pipeline is not None:
        return ""
    return f"unsure of {', '.join(parts)}: check the step, or plan with a language model: helmdeck plan --model PROVIDER/MODEL"


def model_advice(wording: Wording) -> str:
    """Return the advice for a request in a language that the planner does not know."""
    *names, last = [language.name for language in wording.lexicon.languages]
    return (
        f"use a language model (--model PROVIDER/MODEL): local/lexical knows {', '.join(names)} and {last}, "
        "and hardly any word of this request"
    )
