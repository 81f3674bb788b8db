"""Steps whose tool a chooser chose: their arguments without a model, where the request states them all, else those of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import GAP, PIPELINE_RUN, UNKNOWN_TOOL, Choice, Entry, EntryKind, Task
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.steps import quoted, understand, whole_inputs
from helmdeck_planner.packs.arguments import parse_arguments
from helmdeck_selection import LexicalIndex, required_inputs


def settled_steps(task: Task, choice: Choice) -> list[dict[str, Any]] | None:
    """Return the steps of a choice that needs no model: one, or none where everything is done.

    A tool needs no model if it requires no input, or if the request states every required one.
    """
    if choice.is_complete:
        return []
    entry = task.catalog.get(choice.entry_id)
    if entry is None:
        part = quoted(choice.part or task.request)
        return [{"tool": UNKNOWN_TOOL, "args": {}, "rationale": f"{GAP} nothing in the catalog fits {part}"}]
    arguments = stated_arguments(task, choice)
    if not set(required_inputs(entry)) <= arguments.keys():
        return None
    return [chosen_step(entry, arguments, choice)]


def stated_arguments(task: Task, choice: Choice) -> Mapping[str, Any]:
    """Return the values for the entry of a task that the request states, and the caller's defaults."""
    lexical = LexicalIndex(task.catalog)
    profiles = Profiles(task.catalog.entries, lexical.lexicon)
    understood = understand(task.request, lexical, profiles)
    # Another part of the request may state a value for another tool.
    own = tuple(pick for pick in understood.picks if pick.part.text in choice.part or choice.part in pick.part.text)
    return whole_inputs(attrs.evolve(understood, picks=own or understood.picks), profiles[0], task.defaults)


def chosen_step(entry: Entry, arguments: Mapping[str, Any], choice: Choice) -> dict[str, Any]:
    """Return the step that runs an entry."""
    why = f"fits {quoted(choice.part)}" if choice.part else ""
    if entry.kind is EntryKind.PIPELINE:
        return {"tool": PIPELINE_RUN, "args": {"id": entry.id, "inputs": dict(arguments)}, "rationale": why}
    return {"tool": entry.id, "args": dict(arguments), "rationale": why}


def arguments_of(entry: Entry, steps: Sequence[Any]) -> Mapping[str, Any]:
    """Return the arguments for the chosen entry among the steps that a model wrote, whatever tool it named."""
    for step in steps:
        arguments, _ = parse_arguments(step.args)
        if entry.kind is EntryKind.PIPELINE and "inputs" in arguments:
            arguments, _ = parse_arguments(arguments["inputs"])
        return arguments
    return {}
