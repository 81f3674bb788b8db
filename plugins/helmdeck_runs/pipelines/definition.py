"""What a pipeline declares: inputs, steps, outputs and limits, read from a catalog entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from helmdeck_core import EMPTY, Entry, Mistake, did_you_mean

PARTS = ("steps", "inputs", "outputs", "limits")
STEP_KEYS = ("id", "name", "pack", "with", "needs", "timeout_s", "retry")
LIMIT_KEYS = ("max_parallel", "timeout_s", "max_cost_usd")
RETRY_KEYS = ("attempts", "on", "wait_s")
MAX_PARALLEL = 4
MAX_STEPS = 200

START = "_start"
"""The id of the step that records when a run with a time limit started."""


@attrs.frozen(kw_only=True)
class Retry:
    """When a step is tried again.

    :ivar attempts: attempts in total.
    :ivar on: causes after which it is tried again; empty for every failure that is marked as retryable.
    :ivar wait_s: seconds before the second attempt; doubled before each later one.
    """

    attempts: int = 1
    on: tuple[str, ...] = ()
    wait_s: float = 1.0


@attrs.frozen(kw_only=True)
class PipelineStep:
    """One step.

    :ivar pack: the pack, or another entry that can run.
    :ivar arguments: its arguments, with references.
    :ivar needs: steps that end first, in addition to those that are referenced.
    :ivar timeout_s: seconds of one attempt.
    """

    id: str
    pack: str
    arguments: Mapping[str, Any] = EMPTY
    name: str = ""
    needs: tuple[str, ...] = ()
    timeout_s: float | None = None
    retry: Retry = Retry()


@attrs.frozen(kw_only=True)
class Definition:
    """A pipeline that can be run.

    :ivar inputs: JSON Schemas by name, perhaps with ``default`` and ``optional``.
    :ivar outputs: values with references, by name.
    :ivar max_parallel: steps that run side by side.
    :ivar timeout_s: seconds of a run, waits included.
    :ivar max_cost_usd: US dollars after which no further step starts.
    """

    id: str
    description: str = ""
    steps: tuple[PipelineStep, ...] = ()
    inputs: Mapping[str, Mapping[str, Any]] = EMPTY
    outputs: Mapping[str, Any] = EMPTY
    max_parallel: int = MAX_PARALLEL
    timeout_s: float | None = None
    max_cost_usd: float | None = None


def parts_of_entry(entry: Entry) -> dict[str, Any]:
    """Return what an entry declares; the keys of its metadata count where the entry itself has none."""
    found = {name: entry.data.get(name, entry.metadata.get(name)) for name in PARTS}
    return {"description": entry.description, **{name: value for name, value in found.items() if value is not None}}


def read_definition(pipeline_id: str, data: Mapping[str, Any], mistakes: list[Mistake]) -> Definition:
    """Return the definition of plain data; what has a mistake is left out.

    :param data: ``steps``, ``inputs``, ``outputs``, ``limits``, ``description``.
    :param mistakes: receives every mistake.
    """
    reader = _Reader(f"pipeline {pipeline_id}", mistakes)
    limits = reader.table(data.get("limits"), "limits")
    reader.known(limits, "limits", LIMIT_KEYS)
    outputs = reader.table(data.get("outputs"), "outputs")
    return Definition(
        id=pipeline_id,
        description=str(data.get("description", "")),
        steps=tuple(reader.steps(data.get("steps"))),
        inputs=dict(reader.inputs(data.get("inputs"))),
        outputs={name: _source_of(value) for name, value in outputs.items()},
        max_parallel=reader.number(limits, "limits", "max_parallel", MAX_PARALLEL, int),
        timeout_s=reader.number(limits, "limits", "timeout_s", None, float),
        max_cost_usd=reader.number(limits, "limits", "max_cost_usd", None, float),
    )


def _source_of(output: Any) -> Any:
    """The value of an output: ``{"from": ...}``, or the value itself."""
    return output["from"] if isinstance(output, Mapping) and "from" in output else output


class _Reader:
    def __init__(self, where: str, mistakes: list[Mistake]) -> None:
        self.where = where
        self.mistakes = mistakes

    def add(self, where: str, problem: str, found: object = "", allowed: str = "") -> None:
        self.mistakes.append(
            Mistake(f"{self.where}: {where}", problem, repr(found)[:80] if found != "" else "", allowed)
        )

    def table(self, value: object, where: str) -> Mapping[str, Any]:
        if value is None:
            return {}
        if isinstance(value, Mapping):
            return value
        self.add(where, "not an object", value, "an object")
        return {}

    def known(self, table: Mapping[str, Any], where: str, allowed: tuple[str, ...]) -> None:
        for key in table:
            if key not in allowed:
                self.add(
                    f"{where}.{key}", f"unknown key{did_you_mean(str(key), list(allowed))}", "", ", ".join(allowed)
                )

    def number(self, table: Mapping[str, Any], where: str, key: str, default: Any, kind: type) -> Any:
        value = table.get(key)
        if value is None:
            return default
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
        if is_number and (kind is float or isinstance(value, int)):
            return value
        self.add(f"{where}.{key}", "not a number above 0", value, "a number above 0")
        return default

    def text(self, table: Mapping[str, Any], where: str, key: str) -> str:
        value = table.get(key)
        if isinstance(value, str) and value.strip():
            return value
        self.add(f"{where}.{key}", "missing or not a string", "" if value is None else value, "a non-empty string")
        return ""

    def texts(self, table: Mapping[str, Any], where: str, key: str) -> tuple[str, ...]:
        value = table.get(key, ())
        if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
            return tuple(value)
        self.add(f"{where}.{key}", "not a list of strings", value, "a list of strings")
        return ()

    def inputs(self, value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, schema in self.table(value, "inputs").items():
            yield str(name), self.table(schema, f"inputs.{name}")

    def steps(self, value: object) -> Iterator[PipelineStep]:
        if not isinstance(value, (list, tuple)) or not value:
            found = "" if value is None else value
            self.add("steps", "a pipeline that runs has steps", found, "a list of steps")
            return
        if len(value) > MAX_STEPS:
            self.add("steps", f"more than {MAX_STEPS} steps", len(value))
            return
        seen: set[str] = set()
        for place, row in enumerate(value):
            where = f"steps[{place}]"
            if not isinstance(row, Mapping):
                self.add(where, "not an object", row, "an object")
                continue
            self.known(row, where, STEP_KEYS)
            step_id, pack = self.text(row, where, "id"), self.text(row, where, "pack")
            if step_id in seen:
                self.add(f"{where}.id", "an earlier step has this id", step_id, "an id that is used once")
            elif step_id == START:
                self.add(f"{where}.id", "a reserved id", step_id, "another id")
            elif step_id and not step_id.replace("-", "_").replace("_", "a").isalnum():
                self.add(f"{where}.id", "not an id", step_id, "letters, digits, - and _")
            seen.add(step_id)
            retry = self.table(row.get("retry"), f"{where}.retry")
            self.known(retry, f"{where}.retry", RETRY_KEYS)
            yield PipelineStep(
                id=step_id,
                pack=pack,
                arguments=self.table(row.get("with"), f"{where}.with"),
                name=str(row.get("name", "")),
                needs=self.texts(row, where, "needs"),
                timeout_s=self.number(row, where, "timeout_s", None, float),
                retry=Retry(
                    attempts=self.number(retry, f"{where}.retry", "attempts", 3 if retry else 1, int),
                    on=self.texts(retry, f"{where}.retry", "on"),
                    wait_s=self.number(retry, f"{where}.retry", "wait_s", 1.0, float),
                ),
            )
