"""Checks names, ids and arguments of a model's answer against the catalog. Shared by the planning packs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core import PIPELINE_RUN, UNKNOWN_TOOL, Catalog, Entry, EntryKind, find_problems
from helmdeck_planner.packs.arguments import as_declared, parse_arguments
from helmdeck_reading import NameResolver

SELF_NAMES = frozenset({"helmdeckplan", "helmdeckroute"})
"""The planners themselves, normalised; a plan that names them would never end."""


@attrs.frozen(kw_only=True)
class Checked:
    """One step after the check.

    :ivar entry_id: the catalog entry of the step; empty for a gap.
    :ivar missing: the required arguments among ``problems`` that are missing.
    """

    tool: str
    args: Mapping[str, Any]
    rationale: str
    entry_id: str = ""
    problems: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    corrected_from: str | None = None
    suggestions: tuple[str, ...] = ()


class EntryResolver:
    """Finds the entry of a name: exactly, else ignoring case, separators and prefix where that is unambiguous."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._names = NameResolver(entry.id for entry in catalog.entries)

    def find(self, name: str) -> Entry | None:
        """Return the entry, or ``None`` where there is none or several."""
        found = self._names.find(name)
        return None if found is None else self.catalog.get(found)

    def nearest(self, name: str) -> tuple[str, ...]:
        """Return existing ids that are similar, best first."""
        return self._names.nearest(name)


@functools.lru_cache(4)
def resolver_of(catalog: Catalog) -> EntryResolver:
    """Return the resolver of a catalog; cached."""
    return EntryResolver(catalog)


class StepChecker:
    """Checks steps of plans against the whole catalog, not only the entries that the model saw.

    :ivar catalog: the whole catalog.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._names = resolver_of(catalog)

    def check(self, tool: str | None, args: Mapping[str, Any] | str | None, rationale: str | None) -> Checked:
        """Return the step with an existing name, or as a gap with the reason."""
        arguments, unread = parse_arguments(args)
        found = self._check((tool or "").strip(), arguments, (rationale or "").strip())
        return attrs.evolve(found, problems=(*unread, *found.problems)) if unread else found

    def _check(self, name: str, arguments: Mapping[str, Any], why: str) -> Checked:
        if not name or NameResolver.squash(name) == UNKNOWN_TOOL:
            return _gap(why or "no tool was named", arguments)
        if NameResolver.squash(name) in SELF_NAMES:
            return _gap(f"the planner named itself ({name}): {why}", arguments, name)
        if (
            NameResolver.squash(name) == NameResolver.squash(PIPELINE_RUN)
            or NameResolver.without_prefix(name) == "pipelinerun"
        ):
            return self._pipeline_run(name, arguments, why)
        entry = self._names.find(name)
        if entry is None:
            return _gap(f"there is no tool {name!r}: {why}", arguments, name, self._names.nearest(name))
        corrected = name if name != entry.id else None
        if entry.kind is EntryKind.PIPELINE:
            return _run_of(entry, arguments if "inputs" in arguments else {"inputs": dict(arguments)}, why, name)
        arguments = as_declared(entry, arguments)
        problems = find_problems(entry.input_schema or {}, arguments)
        return Checked(
            tool=entry.id,
            args=arguments,
            rationale=why,
            entry_id=entry.id,
            problems=tuple(map(str, problems)),
            missing=tuple(problem.path.removeprefix("$.") for problem in problems if problem.is_missing),
            corrected_from=corrected,
        )

    def _pipeline_run(self, name: str, args: Mapping[str, Any], why: str) -> Checked:
        wanted = args.get("id")
        corrected = name if name != PIPELINE_RUN else None
        if not isinstance(wanted, str) or not wanted.strip():
            return _gap(f"{PIPELINE_RUN} without the id of a pipeline: {why}", args, corrected)
        entry = self._names.find(wanted)
        if entry is None:
            return _gap(f"there is no pipeline {wanted!r}: {why}", args, wanted, self._names.nearest(wanted))
        if entry.kind is EntryKind.PACK:
            return _gap(f"{wanted!r} is a pack, not a pipeline: {why}", args, wanted, (entry.id,))
        return _run_of(entry, args, why, wanted if wanted != entry.id else corrected)


def _run_of(pipeline: Entry, args: Mapping[str, Any], why: str, corrected: str | None) -> Checked:
    arguments = {"id": pipeline.id, **{key: value for key, value in args.items() if key != "id"}}
    inputs = arguments.pop("inputs", None)
    unread: tuple[str, ...] = ()
    if inputs is None or isinstance(inputs, (Mapping, str)):
        read, unread = parse_arguments(inputs)
        inputs = as_declared(pipeline, read)
    if inputs:
        arguments["inputs"] = inputs
    return Checked(
        tool=PIPELINE_RUN,
        args=arguments,
        rationale=why,
        entry_id=pipeline.id,
        problems=unread,
        corrected_from=corrected,
    )


def _gap(why: str, args: Mapping[str, Any], corrected: str | None = None, suggestions: tuple[str, ...] = ()) -> Checked:
    return Checked(
        tool=UNKNOWN_TOOL,
        args=args,
        rationale=why.removesuffix(": "),
        corrected_from=corrected,
        suggestions=suggestions,
    )
