"""Turns a request into steps: one for each part, a gap for a part that no entry covers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import GAP, PIPELINE_RUN, UNKNOWN_TOOL, CompletedStep, EntryKind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import arguments_of, drafted, fill
from helmdeck_planner.embedded.arguments.name_words import word_run
from helmdeck_planner.embedded.arguments.sources import Earlier, Sources
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.facts import requests_act
from helmdeck_planner.embedded.look_ups import look_up
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.picks import Understood
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.wording import Wording

_MAX_QUOTE_CHARS: Final = 100
# How often a look-up is right if the step that needs it is.
_LOOKED_UP: Final = 0.9
# Score from which an entry almost serves a part.
_ALMOST: Final = 0.5
# When a change is wanted, where it is not at once.
_DEFERRING: Final = re.compile(
    r"\b(?:at the (?:end|start|beginning) of (?:the |this |next )?\w+|tonight|later(?: today)?|next (?:week|month|year)|in an? (?:hour|week|month)|"
    r"in \d+ (?:seconds?|minutes?|hours?|days?|weeks?|months?)|after \d+ (?:seconds?|minutes?|hours?|days?|weeks?|months?))\b",
    re.IGNORECASE,
)
# Verbs of entries that only set their optional inputs, and the inputs that say of which thing.
_UPDATING: Final = ("update", "edit", "modify", "change", "patch")
_THINGS: Final = (Role.ID, Role.NUMBER, Role.OWNER, Role.REPO)
_LEAST_OPTIONAL: Final = 2


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
    """Return the parts without a step that may state something for a step.

    These are all if it is the only one, else those before the first step and those right after it.
    """
    steps = [pick.part for pick in understood.picks if pick.profile is not None]
    parts = understood.parts if len(steps) == 1 else understood.parts[understood.parts.index(part) + 1 :]
    if len(steps) > 1:
        before = itertools.takewhile(lambda other: other not in steps, understood.parts)
        parts = (*before, *itertools.takewhile(lambda other: other not in steps, parts))
    names = frozenset(name for pick in understood.picks if pick.profile is not None for name in pick.profile.name)
    others = [pick.part for pick in understood.picks if _asks_for_other(pick, names)]
    taken = (*steps, *understood.settings, *others)
    return tuple(other for other in parts if other not in taken and not other.is_other_object)


def _asks_for_other(pick: Pick, names: frozenset[str]) -> bool:
    """Whether a part without a step is a command that an entry about another thing almost serves: what it states is for that one.

    :param names: the words of the names of the entries that have steps.
    """
    is_command = pick.profile is None and pick.part.verb_place == 0 and not pick.part.is_question
    is_served = is_command and bool(pick.found) and pick.score >= _ALMOST
    return is_served and names.isdisjoint(pick.found[0].profile.name)


_Row = tuple[tuple[str, ...], dict[str, Any], dict[str, Any] | None]


def _all_steps(understood: Understood, defaults: Mapping[str, Any]) -> list[_Row]:
    """Return the steps with the tools that an executed one can have, and for a look-up the step that it is for."""
    steps: list[_Row] = []
    earlier: list[Earlier] = []
    by_part = {id(pick.part): pick for pick in understood.picks}
    gaps: list[tuple[Part, dict[str, Any]]] = []
    stated: list[Part] = []
    headings = {id(pick.part): pick.profile for pick in understood.headings}
    for part in understood.parts:
        pick, heading = by_part.get(id(part)), headings.get(id(part))
        sources = _sources(understood, defaults, earlier)
        args = fill(part, heading, sources) if heading is not None else {}
        if pick is not None:
            draft = None
            if pick.profile is not None:
                sources = attrs.evolve(sources, background=_background(understood, part), is_chosen=True)
                draft = drafted(part, pick.profile, sources)
                args = arguments_of(draft)
                stated += draft.stated_by
            step, looked_up = _with_look_ups(understood, pick, draft)
            if step["tool"] == UNKNOWN_TOOL:
                gaps.append((part, step))
            for place, found in enumerate(looked_up):
                # One look-up of the channels serves two messages; two places need two searches.
                if all(not _is_same(found, before) for _, before, _ in steps):
                    needing = looked_up[place + 1] if place + 1 < len(looked_up) else step
                    steps.append(((found["tool"],), found, needing))
            steps.append((pick.tools, step, None))
        earlier.append(Earlier(part, args, pick.profile if pick else heading))
    # What a part states for a step is no gap, but a command is one.
    used = [step for part, step in gaps if part in stated and not requests_act(part)]
    return [row for row in steps if not any(row[1] is step for step in used)]


def _with_look_ups(
    understood: Understood, pick: Pick, draft: Draft | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the step of a part, and those that find what it requires.

    :param draft: the arguments of its entry; ``None`` without one.
    """
    if draft is None:
        return _step(pick, {}, is_foreign=understood.is_not_of_catalog), []
    args = arguments_of(draft)
    if draft.profile.deletes and (when := _deferred(draft)):
        return _gap(f"{quoted(pick.part.text)} is for later ({when}), and {draft.profile.entry.id} acts at once"), []
    if _changes_nothing(draft.profile, args):
        return _gap(f"{quoted(pick.part.text)} states nothing that {draft.profile.entry.id} changes"), []
    step = _step(pick, args, is_foreign=understood.is_not_of_catalog)
    looked_up = _looked_up(understood, pick, draft.profile, draft)
    # What a look-up finds is used.
    sought = "".join(each["rationale"] for each in looked_up)
    if unused := [value for value in _unused(draft) if value.lstrip("#@") not in sought]:
        step["rationale"] += f"; left unused: {', '.join(map(quoted, unused))}"
    if pick.probability is not None:
        step["probability"] = round(pick.probability, 2)
    return step, looked_up


def _unused(draft: Draft) -> list[str]:
    """Return the values of a part that its step does not take: the date of "refund pi_1 on 2026-12-01", "UPS" of "ship it via UPS"."""
    entry = draft.profile.entry
    deferred = [when] if (when := _deferred(draft)) else []
    taken = " ".join((str(arguments_of(draft)), entry.id, entry.description)).casefold()
    return [
        draft.text(place, word_run(draft, place)[-1]) if token.is_word and not is_thing(token) else token.value
        for place, token in enumerate(draft.tokens)
        if place not in draft.used_places and place != draft.part.verb_place
        if token.is_value or is_thing(token) or _is_name_behind_preposition(draft, place)
        if token.value.casefold() not in taken and token.value not in "".join(deferred)
    ] + deferred


def _deferred(draft: Draft) -> str:
    """Return when a change is wanted, if it is not at once and no input takes that; else an empty string."""
    if draft.profile.writes is False or draft.profile.takes(Role.DATE, Role.TIME):
        return ""
    later = _DEFERRING.search(draft.part.text)
    return later[0] if later else ""


def _is_name_behind_preposition(draft: Draft, place: int) -> bool:
    token = draft.tokens[place]
    is_name = token.is_word and token.is_capital and not draft.is_filler(place)
    is_label = place + 1 in draft.used_places  # "on PR 7"
    return is_name and not is_label and place > draft.part.verb_place and bool(draft.preposition(place - 1))


def _is_same(step: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(step["tool"] == other["tool"] and step["args"] == other["args"])


def _looked_up(understood: Understood, pick: Pick, profile: Profile, draft: Draft) -> list[dict[str, Any]]:
    """Return the steps that find an id that a step requires, if the request only names the thing."""
    lexical, profiles = understood.lexical, understood.profiles
    is_open = not draft.is_complete
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


def _gap(why: str) -> dict[str, Any]:
    return {"tool": UNKNOWN_TOOL, "args": {}, "rationale": f"{GAP} {why}"}


def _changes_nothing(profile: Profile, args: Mapping[str, Any]) -> bool:
    """Whether an entry that updates a thing has its id and none of what could change: "lower the priority of 4512"."""
    required = [each.name for each in profile.required]
    is_update = profile.verb in _UPDATING and all(each.role in _THINGS for each in profile.required)
    has_choice = len(profile.properties) - len(required) >= _LEAST_OPTIONAL
    return is_update and has_choice and bool(args) and args.keys() <= set(required)


def _step(pick: Pick, args: dict[str, Any], *, is_foreign: bool) -> dict[str, Any]:
    quote = quoted(pick.part.text)
    if pick.profile is None:
        why = f"{quote} is in a language that the catalog does not use" if is_foreign else ""
        if pick.part.condition and not pick.found:
            why = f"{quote} depends on {quoted(pick.part.condition)}, which no step checks"
        if pick.found and not is_foreign:
            why = f"unsure of {quote}: {pick.found[0].profile.entry.id} is the nearest ({pick.probability:.0%})"
        return _gap(why or f"nothing in the catalog fits {quote}")
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
