"""The input of the planning packs, and the question that they make of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from helmdeck_core import Learned, PackContext, PackError, PackErrorCode, PlanRecord, PlanRequest, Question, intent_sha

LEARNED_S = 1.0
"""Seconds that a plan waits for the history store at most, such as one on a host that does not answer."""

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
                "properties": {
                    "tool": {"type": "string"},
                    "output": {"type": "string"},
                    "failure": {"type": "string", "description": "Why the step failed; it may be planned again."},
                },
                "required": ["tool"],
            },
        },
        "defaults": {"type": "object", "description": "Values that the caller usually gives, by input name."},
    },
    "required": ["intent"],
    "additionalProperties": False,
}


def make_question(request: PlanRequest, *, caller: str, task: str, learned: Learned, **options: Any) -> Question[Any]:
    """Make the question of a planning pack.

    :param options: the type, schema and constraint of the answer.
    """
    return Question(
        caller=caller,
        task=task,
        request=request.intent,
        model=request.model,
        context=request.context,
        done=request.done,
        defaults=request.defaults,
        learned=learned,
        **options,
    )


async def learned_for(context: PackContext, intent: str) -> Learned:
    """Return what the history contributes to a request; nothing if the store does not answer within ``LEARNED_S``."""
    if not context.history.is_enabled:
        return Learned()
    try:
        async with asyncio.timeout(LEARNED_S):
            return await asyncio.to_thread(context.history.learned, context.caller, intent)
    except TimeoutError:  # the worker thread ends with the timeout of the store, which is then left alone for a while
        return Learned()


def own_values(question: Question[Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments without learned defaults: a default that counted as another use would confirm itself."""
    learned = {name: value for name, value in question.learned.defaults.items() if name not in question.defaults}
    return {name: value for name, value in arguments.items() if name not in learned or learned[name] != value}


def record_of(context: PackContext, question: Question[Any], start: tuple[float, float], **facts: Any) -> PlanRecord:
    """Return the record of a plan, a route or a failure.

    :param start: the time and the performance counter at the start.
    :param facts: the other fields of the record.
    """
    return PlanRecord(
        caller=context.caller,
        intent_sha=intent_sha(question.request),
        duration_s=time.perf_counter() - start[1],
        time=start[0],
        **facts,
    )


def check_request(request: PlanRequest, caller: str) -> None:
    """Check what the types and the input schema leave open.

    :raises PackError: ``invalid_input``, such as for an empty request.
    """
    for name in ("intent", "context"):
        if not isinstance(getattr(request, name), str):
            raise PackError(caller, PackErrorCode.INVALID_INPUT, f"{name} is not a string")
    if not request.intent.strip():
        raise PackError(caller, PackErrorCode.INVALID_INPUT, "intent is empty; describe what to do")
    if not all(isinstance(text, str) for step in request.done for text in (step.tool, step.output, step.failure)):
        raise PackError(caller, PackErrorCode.INVALID_INPUT, "done: tool, output and failure of a step are strings")
    try:
        json.dumps(dict(request.defaults), allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise PackError(caller, PackErrorCode.INVALID_INPUT, f"defaults cannot be written as JSON: {exc}") from exc
