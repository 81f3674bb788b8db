"""What the planning packs take, and the question that they make of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from helmdeck_core import Answer, CompletedStep, PackError, PackErrorCode, Question, TrimRecord

INPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "intent": {"type": "string", "description": "The request in plain words; it may carry pasted documents."},
        "model": {"type": "string", "description": "provider/model; the deployment's default when left out."},
        "context": {"type": "string", "description": "What else the planner should know."},
        "done": {
            "type": "array",
            "description": "Steps of an earlier plan for the same request that were run already.",
            "items": {
                "type": "object",
                "properties": {"tool": {"type": "string"}, "output": {"type": "string"}},
                "required": ["tool"],
            },
        },
        "defaults": {"type": "object", "description": "Values that the caller usually gives, by input name."},
    },
    "required": ["intent"],
    "additionalProperties": False,
}


def make_question(
    given: Mapping[str, Any],
    *,
    caller: str,
    task: str,
    type: type[Any],
    schema: Mapping[str, Any],
) -> Question[Any]:
    """Make a question of a pack's input.

    :raises PackError: ``invalid_input`` for a blank request.
    """
    if not given["intent"].strip():
        raise PackError(caller, PackErrorCode.INVALID_INPUT, "intent is blank; say what is to be done")
    for name in ("intent", "context"):
        if not isinstance(given.get(name, ""), str):
            raise PackError(caller, PackErrorCode.INVALID_INPUT, f"{name} is not a text")
    try:
        json.dumps(given.get("defaults", {}), allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise PackError(caller, PackErrorCode.INVALID_INPUT, f"defaults cannot be written as JSON: {exc}") from exc
    return Question(
        caller=caller,
        task=task,
        type=type,
        schema=schema,
        request=given["intent"],
        model=given.get("model"),
        context=given.get("context", ""),
        done=tuple(CompletedStep(step["tool"], step.get("output", "")) for step in given.get("done", ())),
        defaults=given.get("defaults", {}),
    )


def compaction_of(answer: Answer[Any]) -> TrimRecord | None:
    """What was cut from the catalog, where anything was."""
    record = answer.selection.record if answer.selection else None
    return record if record is not None and (record.dropped or record.left_out) else None
