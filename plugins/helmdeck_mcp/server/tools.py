"""The tools that a deck offers to MCP clients: what each is called, takes, returns and does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from helmdeck_core import EMPTY, PIPELINE_RUN, CallLimits, Helmdeck, Pack, PackError, PackErrorCode, schema_problems
from helmdeck_history import history_of

PLAN = "helmdeck__plan"
ROUTE = "helmdeck__route"
RUN = "helmdeck__run"
EXPLAIN = "helmdeck__explain"
FORGET = "helmdeck__forget"

LOCAL_USER = "local"
"""The caller of a server without tokens."""

MAX_NAME_CHARS = 64
"""Model APIs accept no longer tool names."""

READS: Mapping[str, bool] = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
"""Hints of a tool that changes nothing."""


@attrs.frozen(kw_only=True)
class ToolCall:
    """One call of a tool.

    :ivar caller: the caller by its token; ``None`` for the local user.
    :ivar progress: reports progress to the client.
    """

    deck: Helmdeck
    arguments: Mapping[str, Any]
    caller: str | None = None
    progress: Callable[[str], None]
    limits: CallLimits

    @property
    def options(self) -> dict[str, Any]:
        """The options of every call of the deck."""
        options = {"progress": self.progress, "limits": self.limits}
        return options if self.caller is None else {**options, "caller": self.caller}


@attrs.frozen(kw_only=True)
class Tool:
    """A tool as clients see it.

    :ivar hints: annotations by their names on the wire, such as ``readOnlyHint``.
    :ivar run: returns the structured result.
    :ivar checks_input: whether ``run`` leaves the check of the arguments to the server.
    """

    name: str
    title: str = ""
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    hints: Mapping[str, Any] = EMPTY
    run: Callable[[ToolCall], Awaitable[Mapping[str, Any]]]
    checks_input: bool = True

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Check the arguments.

        :raises PackError: ``invalid_input``, with every problem.
        """
        if self.checks_input and (problems := schema_problems(self.input_schema, arguments)):
            raise PackError(self.name, PackErrorCode.INVALID_INPUT, "; ".join(problems))

    def to_wire(self) -> dict[str, Any]:
        """Return the tool as in ``tools/list``."""
        wire: dict[str, Any] = {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
        wire |= {"title": self.title} if self.title else {}
        output = result_schema(self.output_schema) if self.output_schema else None
        wire |= {"outputSchema": output} if output else {}
        return wire | ({"annotations": dict(self.hints)} if self.hints else {})


def object_schema(
    properties: Mapping[str, Mapping[str, Any]], required: tuple[str, ...] = (), *, is_open: bool = False
) -> dict[str, Any]:
    """Return the schema of an object.

    :param is_open: whether other keys are allowed, as in results.
    """
    schema: dict[str, Any] = {"type": "object", "properties": {name: dict(each) for name, each in properties.items()}}
    schema |= {"required": list(required)} if required else {}
    return schema if is_open else {**schema, "additionalProperties": False}


def result_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of a result that may also be a failure; ``None`` if they cannot be combined.

    Clients compare failures with the output schema too, although the protocol does not require it of them.
    """
    if schema.get("type") != "object" or not schema.keys() <= COMBINED:
        return None
    required = schema.get("required")
    combined = {key: value for key, value in schema.items() if key != "required"}
    combined["properties"] = {**schema.get("properties", {}), "error": FAILURE}
    return {**combined, "anyOf": [{"required": list(required)}, {"required": ["error"]}]} if required else combined


COMBINED = frozenset(
    ("type", "properties", "required", "additionalProperties", "title", "description", "$schema", "$defs")
)
"""Keywords of an object that allow another property to be added."""

TEXT = {"type": "string"}
TEXTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}
OBJECT = {"type": "object"}
FAILURE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"cause": TEXT, "message": TEXT, "hint": TEXT, "next_action": TEXT, "retryable": {"type": "boolean"}},
    "required": ["cause", "message"],
}
"""The schema of ``error`` in a failed result."""

_STEP = object_schema(
    {
        "order": {"type": "integer"},
        "tool": TEXT,
        "args": OBJECT,
        "rationale": TEXT,
        "problems": TEXTS,
        "suggestions": TEXTS,
    },
    ("order", "tool", "args"),
    is_open=True,
)
PLAN_OUTPUT = object_schema(
    {
        "steps": {"type": "array", "items": _STEP},
        "outcome": {"type": "string", "enum": ["planned", "partial", "gap", "complete", "no_steps"]},
        "complexity": TEXT,
        "rewritten_prompt": TEXT,
        "reasoning": TEXT,
        "model": TEXT,
        "more_steps_likely": {"type": "boolean"},
    },
    ("steps", "outcome", "complexity", "model"),
    is_open=True,
)
_RECOMMENDATION = object_schema(
    {"kind": {"type": "string", "enum": ["pack", "pipeline", "none"]}, "id": TEXT, "why": TEXT},
    ("kind", "id"),
    is_open=True,
)
ROUTE_OUTPUT = object_schema(
    {
        "recommendation": _RECOMMENDATION,
        "alternatives": {"type": "array", "items": _RECOMMENDATION},
        "gap_warning": {"type": ["string", "null"]},
        "reasoning": TEXT,
        "model": TEXT,
    },
    ("recommendation", "alternatives", "model"),
    is_open=True,
)
EXPLAIN_OUTPUT = object_schema({"model": TEXT, "tier": TEXT, "selection": OBJECT}, ("model", "tier"), is_open=True)


def own_tools(deck: Helmdeck, id_of: Callable[[str], str]) -> Iterator[Tool]:
    """Return the tools of Helmdeck itself; those of a blocked pack are missing.

    :param id_of: returns the id of the entry that a client names; another name unchanged. It may load the catalog.
    """
    packs = deck.runtime.contributed(Pack)
    if "helmdeck.plan" in packs:
        yield Tool(
            name=PLAN,
            title="Plan a request",
            description=(
                "Turn a request into ordered, validated steps over all tools of this deployment. Call it first when "
                "several tools may be needed or the right one is unclear; then run the steps in order."
            ),
            input_schema=packs["helmdeck.plan"].value.input_schema,
            output_schema=PLAN_OUTPUT,
            hints={**READS, "openWorldHint": True},
            run=lambda call: _run_planner("helmdeck.plan", call, id_of),
            checks_input=False,
        )
    if "helmdeck.route" in packs:
        yield Tool(
            name=ROUTE,
            title="Find the tool for a request",
            description="Find the one tool or pipeline that serves a request, its inputs, and alternatives.",
            input_schema=packs["helmdeck.route"].value.input_schema,
            output_schema=ROUTE_OUTPUT,
            hints={**READS, "openWorldHint": True},
            run=lambda call: _run_planner("helmdeck.route", call, id_of),
            checks_input=False,
        )
    yield Tool(
        name=PIPELINE_RUN,
        title="Run a pipeline",
        description="Run a tested sequence of tools by its id, as named by a plan or a route.",
        input_schema=object_schema(
            {"id": {**TEXT, "description": "The id of the pipeline."}, "inputs": OBJECT}, ("id",)
        ),
        hints={"readOnlyHint": False, "openWorldHint": True},
        run=_run_pipeline,
    )
    yield Tool(
        name=RUN,
        title="Run a tool by name",
        description="Run any tool of the catalog by its name, as named by a plan, with its arguments.",
        input_schema=object_schema(
            {"tool": {**TEXT, "description": "The name of the tool."}, "arguments": OBJECT, "model": TEXT}, ("tool",)
        ),
        hints={"readOnlyHint": False, "openWorldHint": True},
        run=_run_by_name,
    )
    yield Tool(
        name=EXPLAIN,
        title="Explain what a plan would send",
        description="Show what would be sent to a model for a request, and why. No model is called.",
        input_schema=object_schema(
            {
                "intent": {**TEXT, "minLength": 1, "description": "The request in plain words."},
                "model": TEXT,
                "task": {"type": "string", "enum": ["plan", "route"]},
                "context": TEXT,
                "top": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 200,
                    "description": "Entries to return; default 12.",
                },
            },
            ("intent",),
        ),
        output_schema=EXPLAIN_OUTPUT,
        hints={**READS, "openWorldHint": False},
        run=_explain,
    )

    yield Tool(
        name=FORGET,
        title="Forget what was learned",
        description=(
            "Delete what this deployment recorded of your plans, routes and runs: by request, tool or age, or all of it. "
            "It cannot be undone; other callers are not affected."
        ),
        input_schema=object_schema(
            {
                "request": {**TEXT, "minLength": 1, "description": "Records of this request, in its own words."},
                "tool": {**TEXT, "minLength": 1, "description": "Records with this tool."},
                "older_than_days": {"type": "number", "minimum": 0},
                "all": {
                    "type": "boolean",
                    "description": "Every record, and stored facts; needed without a condition.",
                },
            }
        ),
        output_schema=object_schema({"deleted": {"type": "integer"}}, ("deleted",), is_open=True),
        hints={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        run=_forget,
    )


async def _run_planner(pack: str, call: ToolCall, id_of: Callable[[str], str]) -> Mapping[str, Any]:
    """Plan or route; executed steps may have the names that ``tools/list`` has."""
    arguments, done = call.arguments, call.arguments.get("done")
    if isinstance(done, list):
        steps = await asyncio.to_thread(lambda: [_with_id(step, id_of) for step in done])
        arguments = {**arguments, "done": steps}
    return await call.deck.arun(pack, arguments, **call.options)


def _with_id(step: object, id_of: Callable[[str], str]) -> object:
    tool = step.get("tool") if isinstance(step, dict) else None
    return {**step, "tool": id_of(tool)} if isinstance(step, dict) and isinstance(tool, str) else step


async def _run_pipeline(call: ToolCall) -> Mapping[str, Any]:
    arguments = call.arguments
    return await call.deck.arun(arguments["id"], arguments.get("inputs", {}), **call.options)


async def _run_by_name(call: ToolCall) -> Mapping[str, Any]:
    arguments = call.arguments
    return await call.deck.arun(
        arguments["tool"], arguments.get("arguments", {}), model=arguments.get("model"), **call.options
    )


async def _forget(call: ToolCall) -> Mapping[str, Any]:
    arguments, history = call.arguments, history_of(call.deck)
    conditions: dict[str, Any] = {name: arguments[name] for name in ("request", "tool") if name in arguments}
    if "older_than_days" in arguments:
        conditions["before"] = time.time() - arguments["older_than_days"] * 86_400
    if bool(conditions) == bool(arguments.get("all")):
        detail = "name request, tool or older_than_days; or set all to true to delete everything"
        raise PackError(FORGET, PackErrorCode.INVALID_INPUT, detail)
    note = {} if history.is_enabled else {"note": NO_HISTORY}
    return {"deleted": await history.aforget(call.caller or LOCAL_USER, **conditions), **note}


NO_HISTORY = "no history is configured, so nothing is recorded; [history] url enables it"


async def _explain(call: ToolCall) -> Mapping[str, Any]:
    arguments = dict(call.arguments)
    top = arguments.pop("top", 12)
    options: dict[str, Any] = {} if call.caller is None else {"caller": call.caller}
    explanation = await asyncio.to_thread(lambda: call.deck.explain(**arguments, **options))
    data = explanation.to_dict()
    return {**data, "entries": data["entries"][:top]}
