"""What the planning packs share: their input, the question that they ask a model, and its record in the history."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import (
    Answer,
    CallFailed,
    CompletedStep,
    Learned,
    Pack,
    PackContext,
    PackError,
    PackErrorCode,
    PlanRecord,
    PlanRequest,
    Question,
    SchemaForm,
    Task,
    intent_sha,
    undecodable_text,
)

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


Constrain = Callable[[Task], Sequence[SchemaForm]]
"""Returns the schemas of an answer over the entries that a model is shown."""


def planning_pack(
    name: str,
    description: str,
    run: Callable[[PackContext, PlanRequest], Awaitable[Any]],
    constraint: Constrain,
    chosen_in: tuple[str, ...] = (),
    chosen_by_name: str = "",
    options: type[Any] | None = None,
) -> Pack:
    """Declare a planning pack; it is not listed, because a plan must never name it.

    :param chosen_in: prompt variants in which a chooser may choose the entry.
    :param chosen_by_name: the chooser for a model that chooses itself, where one schema for everything would be too large.
    """
    return Pack(
        name=name,
        version="1",
        description=description,
        run=run,
        input_schema=INPUT_SCHEMA,
        input_type=PlanRequest,
        constraint=constraint,
        chosen_in=chosen_in,
        chosen_by_name=chosen_by_name,
        is_listed=False,
        options_type=options,
        options_table="helmdeck",
    )


@attrs.frozen
class Inquiry:
    """One question of a planning pack, and its record in the history.

    :ivar kind: the kind of the record: ``plan`` or ``route``.
    """

    context: PackContext
    question: Question[Any]
    kind: str
    _time: float = attrs.field(factory=time.time, init=False)
    _start_s: float = attrs.field(factory=time.perf_counter, init=False)

    @classmethod
    async def begin(
        cls, context: PackContext, request: PlanRequest, *, caller: str, kind: str, **options: Any
    ) -> Inquiry:
        """Check a request and make the question of it, with what the history contributes.

        :param options: the type, schema and constraint of the answer.
        :raises PackError: ``invalid_input``, such as for an empty request.
        """
        check_request(request, caller)
        question: Question[Any] = Question(
            caller=caller,
            task=kind,
            request=request.intent,
            model=request.model,
            context=request.context,
            done=request.done,
            defaults=request.defaults,
            learned=await learned_for(context, request.intent),
            **options,
        )
        return cls(context, question, kind)

    async def ask(self) -> Answer[Any]:
        """Ask the model; a failure is recorded.

        :raises CallFailed: the model gave nothing usable.
        """
        try:
            return await self.context.ask(self.question)
        except CallFailed as exc:
            self.remember((), model=exc.model, outcome="failed", cause=exc.failure_class.value)
            raise

    def remember(self, inputs: Sequence[Mapping[str, Any]], **facts: Any) -> None:
        """Record the plan, the route or the failure.

        :param inputs: the arguments of each entry.
        :param facts: the other fields of the record.
        """
        record = PlanRecord(
            caller=self.context.caller,
            intent_sha=intent_sha(self.question.request),
            duration_s=time.perf_counter() - self._start_s,
            time=self._time,
            kind=self.kind,
            **facts,
        )
        self.context.history.remember(record, self.question.request, [self._own_values(each) for each in inputs])

    def _own_values(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments without learned defaults: a default that counted as another use would confirm itself."""
        question = self.question
        learned = {name: value for name, value in question.learned.defaults.items() if name not in question.defaults}
        return {name: value for name, value in arguments.items() if name not in learned or learned[name] != value}


async def learned_for(context: PackContext, intent: str) -> Learned:
    """Return what the history contributes to a request; nothing if the store does not answer within ``LEARNED_S``."""
    if not context.history.is_enabled:
        return Learned()
    try:
        async with asyncio.timeout(LEARNED_S):
            return await asyncio.to_thread(context.history.learned, context.caller, intent)
    except TimeoutError:  # the worker thread ends with the timeout of the store, which is then left alone for a while
        return Learned()


def check_request(request: PlanRequest, caller: str) -> None:
    """Check what the types and the input schema leave open.

    :raises PackError: ``invalid_input``, such as for an empty request.
    """
    if not all(isinstance(step, CompletedStep) for step in request.done):
        raise PackError(
            caller, PackErrorCode.INVALID_INPUT, 'done: a step is a CompletedStep, such as CompletedStep("web.search")'
        )
    texts = {"intent": request.intent, "context": request.context}
    texts |= {
        f"done[{at}].{name}": text for at, step in enumerate(request.done) for name, text in attrs.asdict(step).items()
    }
    for name, text in texts.items():
        if not isinstance(text, str):
            raise PackError(caller, PackErrorCode.INVALID_INPUT, f"{name} is not a string")
        if problem := undecodable_text(text, name):
            raise PackError(caller, PackErrorCode.INVALID_INPUT, problem)
    if not request.intent.strip():
        raise PackError(caller, PackErrorCode.INVALID_INPUT, "intent is empty; describe what to do")
    if not all(isinstance(name, str) for name in request.defaults):
        raise PackError(caller, PackErrorCode.INVALID_INPUT, "defaults: the names of inputs are strings")
    try:
        json.dumps(dict(request.defaults), allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise PackError(caller, PackErrorCode.INVALID_INPUT, f"defaults cannot be written as JSON: {exc}") from exc
