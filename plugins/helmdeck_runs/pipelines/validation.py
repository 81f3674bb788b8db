"""Finds every mistake of a pipeline before anything runs: unknown packs, forward references, cycles, types by schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from helmdeck_core import (
    PIPELINE_RUN,
    Catalog,
    Entry,
    EntryKind,
    FailureClass,
    Mistake,
    PackErrorCode,
    did_you_mean,
    schema_problems,
)
from helmdeck_runs.pipelines.definition import Definition, PipelineStep, parts_of_entry, read_definition
from helmdeck_runs.pipelines.references import ALLOWED, Reference, parts_of, strings_of, whole_reference

CAUSES = (*(each.value for each in FailureClass), *(each.value for each in PackErrorCode))


def checked_definition(entry: Entry, catalog: Catalog) -> tuple[Definition, tuple[Mistake, ...]]:
    """Return the definition of an entry with all its mistakes; a definition with mistakes must not be run."""
    mistakes: list[Mistake] = []
    definition = read_definition(entry.id, parts_of_entry(entry), mistakes)
    mistakes += _Checker(definition, catalog).mistakes()
    mistakes += _cycles(entry, catalog)
    return definition, tuple(mistakes)


def stages(definition: Definition) -> list[list[str]]:
    """Return the ids of the steps that start at once, in the order of their start: each waits for one of the stage before."""
    places: dict[str, int] = {}
    found: list[list[str]] = []
    for step_id, needed in dependencies(definition).items():  # every step comes after those that it waits for
        places[step_id] = 1 + max((places[name] for name in needed if name in places), default=-1)
        found += [[] for _ in range(places[step_id] + 1 - len(found))]
        found[places[step_id]].append(step_id)
    return found


def dependencies(definition: Definition) -> dict[str, tuple[str, ...]]:
    """Return the steps that each step waits for."""
    return {
        step.id: tuple(dict.fromkeys((*step.needs, *(each.name for each in _step_references(step.arguments)))))
        for step in definition.steps
    }


def _step_references(value: object) -> Iterator[Reference]:
    for _, text in strings_of(value):
        for part in _parts(text):
            if isinstance(part, Reference) and part.root == "steps":
                yield part


def _parts(text: str) -> list[Any]:
    try:
        return list(parts_of(text))
    except ValueError:  # reported by the checker
        return []


class _Checker:
    def __init__(self, definition: Definition, catalog: Catalog) -> None:
        self.definition = definition
        self.catalog = catalog
        self.where = f"pipeline {definition.id}"
        self.steps = {step.id: step for step in definition.steps}

    def mistakes(self) -> Iterator[Mistake]:
        earlier: set[str] = set()
        for step in self.definition.steps:
            where = f"{self.where}: step {step.id}"
            for needed in step.needs:
                yield from self._step_mistakes(f"{where}: needs", needed, earlier, step.id)
            yield from self._references(where, step.arguments, earlier, step.id)
            yield from self._causes(where, step)
            yield from self._pack(where, step)
            earlier.add(step.id)
        yield from self._references(f"{self.where}: outputs", self.definition.outputs, earlier, "")
        for name, schema in self.definition.inputs.items():
            if "default" in schema:
                for problem in schema_problems(_value_schema(schema), schema["default"]):
                    yield Mistake(f"{self.where}: inputs.{name}.default", problem)

    def _causes(self, where: str, step: PipelineStep) -> Iterator[Mistake]:
        for cause in step.retry.on:
            if cause not in CAUSES:
                hint = did_you_mean(cause, CAUSES)
                yield Mistake(f"{where}: retry.on", f"unknown cause{hint}", repr(cause), ", ".join(CAUSES))

    def _step_mistakes(self, where: str, name: str, earlier: set[str], own: str) -> Iterator[Mistake]:
        if name in earlier:
            return
        known = ", ".join(sorted(earlier)) or "none: it is the first step"
        if name == own:
            yield Mistake(where, "a step cannot use its own output", repr(name), known)
        elif name in self.steps:
            yield Mistake(where, "the step comes later", repr(name), f"earlier steps: {known}")
        else:
            yield Mistake(where, f"unknown step{did_you_mean(name, list(self.steps))}", repr(name), known)

    def _references(self, where: str, value: object, earlier: set[str], own: str) -> Iterator[Mistake]:
        for path, text in strings_of(value):
            place = f"{where}{path and f': with{path}'}" if own else f"{where}{path}"
            try:
                parts = parts_of(text)
            except ValueError as exc:
                yield Mistake(place, str(exc), "", ALLOWED)
                continue
            for part in parts:
                if not isinstance(part, Reference):
                    continue
                if part.root == "steps":
                    yield from self._step_mistakes(place, part.name, earlier, own)
                    if part.name in earlier:
                        yield from self._output_mistakes(place, part)
                elif part.name not in self.definition.inputs:
                    names = list(self.definition.inputs)
                    hint = did_you_mean(part.name, names)
                    yield Mistake(
                        place, f"unknown input{hint}", repr(part.name), ", ".join(names) or "no input is declared"
                    )

    def _output_mistakes(self, where: str, reference: Reference) -> Iterator[Mistake]:
        """Whether the output schema of the pack rules a reference out."""
        schema = _output_schema(self.catalog, self.steps[reference.name].pack)
        if schema is not None and (problem := _path_problem(schema, reference.path)):
            yield Mistake(where, f"{{{{{reference}}}}}: {problem}")

    def _pack(self, where: str, step: PipelineStep) -> Iterator[Mistake]:
        if not step.pack or step.pack == PIPELINE_RUN:
            return
        entry = self.catalog.get(step.pack)
        if entry is None:
            hint = did_you_mean(step.pack, [each.id for each in self.catalog.entries])
            yield Mistake(f"{where}: pack", f"no entry of the catalog has this name{hint}", repr(step.pack))
            return
        yield from self._arguments(where, step, entry)

    def _arguments(self, where: str, step: PipelineStep, entry: Entry) -> Iterator[Mistake]:
        schema = entry.input_schema or {}
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return
        required = schema.get("required", ())
        for name in required if isinstance(required, (list, tuple)) else ():
            if name not in step.arguments:
                yield Mistake(f"{where}: with.{name}", f"required by {step.pack}, and missing")
        definitions = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
        for name, value in step.arguments.items():
            place = f"{where}: with.{name}"
            wanted = properties.get(name)
            if wanted is None:
                if schema.get("additionalProperties") is False:
                    hint = did_you_mean(name, list(properties))
                    yield Mistake(place, f"{step.pack} has no such input{hint}", "", ", ".join(properties))
            elif isinstance(wanted, Mapping):
                yield from self._value(place, value, {**definitions, **wanted})

    def _value(self, where: str, value: object, schema: Mapping[str, Any]) -> Iterator[Mistake]:
        has_marks = any("{{" in text for _, text in strings_of(value))
        if not has_marks:
            for problem in schema_problems(schema, value):
                yield Mistake(where, problem)
            return
        if not isinstance(value, str) or not (wanted := _types(schema)):
            return
        try:
            reference = whole_reference(value)
        except ValueError:
            return  # reported already
        given = {"string"} if reference is None else self._types_of(reference)
        if given and not given & wanted and not (given == {"integer"} and "number" in wanted):
            what = "text" if reference is None else f"{{{{{reference}}}}}"
            yield Mistake(where, f"{what} is of type {_listed(given)}", "", _listed(wanted))

    def _types_of(self, reference: Reference) -> set[str]:
        if reference.root == "inputs":
            schema: Mapping[str, Any] | None = self.definition.inputs.get(reference.name)
        else:
            step = self.steps.get(reference.name)
            schema = None if step is None else _output_schema(self.catalog, step.pack)
        for part in reference.path:
            schema = _child(schema, part) if schema is not None else None
        return set() if schema is None else _types(schema)


def _listed(types: set[str]) -> str:
    return " or ".join(sorted(types))


def _value_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in ("default", "optional", "required")}


def _types(schema: Mapping[str, Any]) -> set[str]:
    kinds = schema.get("type")
    if isinstance(kinds, str):
        return {kinds}
    return {each for each in kinds if isinstance(each, str)} if isinstance(kinds, (list, tuple)) else set()


def _output_schema(catalog: Catalog, pack: str) -> Mapping[str, Any] | None:
    entry = catalog.get(pack)
    for key in ("output_schema", "outputSchema"):
        if entry is not None and isinstance(schema := entry.data.get(key), Mapping):
            return schema
    return None


def _child(schema: Mapping[str, Any], part: str | int) -> Mapping[str, Any] | None:
    children = schema.get("properties") if isinstance(part, str) else schema.get("items")
    child = children.get(part) if isinstance(part, str) and isinstance(children, Mapping) else children
    return child if isinstance(child, Mapping) else None


def _path_problem(schema: Mapping[str, Any], path: tuple[str | int, ...]) -> str:
    for part in path:
        kinds, wanted = _types(schema), "array" if isinstance(part, int) else "object"
        if kinds and wanted not in kinds:
            return f"{part!r} is looked up in a value of type {_listed(kinds)}"
        properties = schema.get("properties")
        is_closed = isinstance(properties, Mapping) and schema.get("additionalProperties") is False
        if isinstance(part, str) and is_closed and part not in properties:  # type: ignore[operator]
            names = list(properties)  # type: ignore[arg-type]
            return f"no output {part!r}{did_you_mean(part, names)}; outputs: {', '.join(names)}"
        child = _child(schema, part)
        if child is None:
            return ""
        schema = child
    return ""


def _cycles(entry: Entry, catalog: Catalog) -> Iterator[Mistake]:
    """Pipelines that run each other."""
    found: list[tuple[str, ...]] = []

    def visit(each: Entry, path: tuple[str, ...]) -> None:
        steps = parts_of_entry(each).get("steps")
        for step in steps if isinstance(steps, (list, tuple)) else ():
            if not isinstance(step, Mapping):
                continue
            name = step.get("pack")
            if name == PIPELINE_RUN and isinstance(arguments := step.get("with"), Mapping):
                name = arguments.get("id")
            target = catalog.get(name) if isinstance(name, str) else None
            if target is None or target.kind is not EntryKind.PIPELINE:
                continue
            if target.id == entry.id:
                found.append((*path, target.id))
            elif target.id not in path:
                visit(target, (*path, target.id))

    visit(entry, (entry.id,))
    for path in found[:1]:
        yield Mistake(f"pipeline {entry.id}: steps", f"the pipeline runs itself: {' -> '.join(path)}")
