"""Starts pipelines: finds the entry, checks it and the inputs, and hands a run to the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    Catalog,
    Entry,
    EntryKind,
    PackContext,
    PackError,
    PackErrorCode,
    did_you_mean,
    nearest_names,
    non_finite_number,
    schema_problems,
    undecodable_text,
)
from helmdeck_runs.failures import failure_error
from helmdeck_runs.pipelines.definition import START, Definition, parts_of_entry
from helmdeck_runs.pipelines.program import WITHIN
from helmdeck_runs.pipelines.validation import checked_definition
from helmdeck_runs.runs import Run, RunEngine, RunRecord, RunState

KIND = "pipeline"


async def start(context: PackContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a pipeline: the handler of the pack ``helmdeck__pipeline-run``.

    :returns: ``run_id``, ``outputs``, and ``coalesced`` if a run with the same inputs was under way and was joined.
    :raises PackError: ``invalid_input`` with every mistake; or the code of the step that failed.
    :raises CallFailed: a model call of a step failed; the subclass is the cause.
    """
    run = make_run(
        context.catalog,
        arguments["id"],
        arguments.get("inputs") or {},
        caller=context.caller,
        model=context.model,
        max_cost_usd=context.limits.max_cost_usd,
    )
    if run.name in run.within:
        chain = " -> ".join((*run.within, run.name))
        raise PackError(run.name, PackErrorCode.INVALID_INPUT, f"the pipeline runs itself: {chain}")
    engine: RunEngine = context.runs
    return result_of(run, await engine.execute(run, context.progress))


def result_of(run: Run, record: RunRecord) -> dict[str, Any]:
    """Return what the caller of a run gets.

    :raises HelmdeckError: the run failed.
    """
    if record.state is not RunState.SUCCEEDED:
        failure = dict(record.failure or {"message": f"the run is {record.state.value}"})
        resume = f"; to continue with the failed step: helmdeck pipeline resume {record.run.id}"
        failure["message"] = f"{failure.get('message', '')}{resume}"
        raise failure_error(run.name, failure)
    coalesced = {"coalesced": True} if record.is_joined else {}
    return {"run_id": record.run.id, **coalesced, "outputs": record.output}


def make_run(
    catalog: Catalog,
    pipeline_id: str,
    inputs: Mapping[str, Any],
    *,
    caller: str,
    model: str | None,
    max_cost_usd: float | None = None,
) -> Run:
    """Return the run of a pipeline with checked inputs. A run with another cost limit is another run.

    :raises PackError: ``invalid_input`` with every mistake of the pipeline or of the inputs.
    """
    entry = pipeline_entry(catalog, pipeline_id)
    definition, mistakes = checked_definition(entry, catalog)
    if mistakes:
        count = "" if len(mistakes) == 1 else f"{len(mistakes)} mistakes: "
        raise PackError(pipeline_id, PackErrorCode.INVALID_INPUT, count + "; ".join(map(str, mistakes)))
    checked = checked_inputs(definition, inputs)
    data = parts_of_entry(entry)
    content = msgspec.json.encode([KIND, pipeline_id, caller, model, max_cost_usd, checked, data], order="sorted")
    return Run(
        kind=KIND,
        name=pipeline_id,
        inputs=checked,
        definition=data,
        caller=caller,
        model=model,
        max_cost_usd=max_cost_usd,
        key=hashlib.sha256(content).hexdigest()[:32],
        within=WITHIN.get(),
    )


def pipeline_entry(catalog: Catalog, pipeline_id: str) -> Entry:
    """Return the entry of a pipeline.

    :raises PackError: there is none.
    """
    entry = catalog.get(pipeline_id)
    if entry is not None and entry.kind is EntryKind.PIPELINE:
        return entry
    known = [each.id for each in catalog.pipelines]
    detail = f"no pipeline has this id{did_you_mean(pipeline_id, known)}; pipelines: {nearest_names(pipeline_id, known) or 'none'}"
    if entry is not None:
        detail = "it is a pack, not a pipeline"
    raise PackError(pipeline_id, PackErrorCode.INVALID_INPUT, detail)


def checked_inputs(definition: Definition, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs with defaults.

    :raises PackError: ``invalid_input`` with every mistake.
    """
    problems = []
    known = list(definition.inputs)
    for name in inputs:
        if name not in definition.inputs:
            allowed = ", ".join(known) or "none"
            problems.append(f"unknown input {name!r}{did_you_mean(name, known)}; inputs: {allowed}")
    found: dict[str, Any] = {}
    for name, declared in definition.inputs.items():
        schema = {key: each for key, each in declared.items() if key not in ("default", "optional", "required")}
        if name in inputs:
            found[name] = inputs[name]
            problems += [f"{name}: {problem}" for problem in schema_problems(schema, inputs[name])]
        elif "default" in declared:
            found[name] = declared["default"]
        elif not is_optional(declared):
            problems.append(f"the input {name!r} is missing")
    for name, value in found.items():  # records are JSON
        problems += filter(None, [undecodable_text(value, name) or non_finite_number(value, name)])
    if problems:
        raise PackError(definition.id, PackErrorCode.INVALID_INPUT, "; ".join(problems))
    return found


def is_optional(declared: Mapping[str, Any]) -> bool:
    """Whether an input may be left out."""
    return "default" in declared or declared.get("optional") is True or declared.get("required") is False


def resumed(record: RunRecord) -> Run:
    """Return a run that continues another one with its failed step; finished steps keep their results."""
    done = {step.id: step.result for step in record.steps if step.failure is None}
    done.pop(START, None)  # the time limit counts from now
    return attrs.evolve(record.run, id="", done=done, resumes=record.run.id)
