"""Steps whose tool a chooser chose: their arguments without a model, where the request states them all, else those of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import GAP, PIPELINE_RUN, UNKNOWN_TOOL, Choice, Entry, EntryKind, Question, Task
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.schema_inputs import properties_of
from helmdeck_planner.embedded.picks import understand
from helmdeck_planner.embedded.steps import quoted, whole_inputs
from helmdeck_planner.packs.arguments import parse_arguments
from helmdeck_selection import LexicalIndex, required_inputs

GIVEN: Final = (Role.ID, Role.EMAIL)
"""Inputs whose values cannot be derived: they are stated somewhere, or a model has invented them."""


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


def given_inputs(entry: Entry) -> Mapping[str, Property]:
    """Return the inputs of an entry whose values cannot be derived, by name."""
    return {each.name: each for each in properties_of(entry) if each.role in GIVEN}


def without_invented(
    entry: Entry, arguments: Mapping[str, Any], question: Question[Any]
) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Return the arguments that a model wrote, less ids and addresses that occur nowhere, and the names of those.

    A small model writes an id wherever one is required. It may occur in the request, the context, the outcome of a step, the defaults of
    the caller, or the choices of the input.
    """
    given = given_inputs(entry)
    steps = [step.output for step in question.done]
    known = _letters(" ".join([question.request, question.context, *steps, *_texts(question.defaults)]))
    invented = [
        name
        for name, value in arguments.items()
        if name in given
        and any(_letters(text) not in known for text in _texts(value) if text not in given[name].choices)
    ]
    return {name: value for name, value in arguments.items() if name not in invented}, invented


def _texts(value: object) -> Iterator[str]:
    """All texts and numbers of a value, as texts."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _letters(text: str) -> str:
    """Letters and digits alone, since ids are written with and without their separators."""
    return "".join(char for char in text.casefold() if char.isalnum())
