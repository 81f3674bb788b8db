"""``local/lexical``: a planner without a model or a network.

It matches the words of a plan or route request with those of the catalog. As the last entry of a fallback chain it always
works, costs nothing and never names an entry that is not in the catalog.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from helmdeck_core import (
    PIPELINE_RUN,
    UNKNOWN_TOOL,
    Catalog,
    ChatRequest,
    ChatResponse,
    Entry,
    EntryKind,
    InvalidRequest,
    StopReason,
    Task,
    Usage,
)
from helmdeck_plugins.lexical.index import LexicalIndex
from helmdeck_plugins.lexical.request import Clause, Reading
from helmdeck_plugins.lexical.steps import (
    Pick,
    asking_clauses,
    covering_pipeline,
    known_inputs,
    pick_entries,
    quoted,
    to_step,
    without_done,
)

MODEL: Final = "lexical"
_SINGLE_PICK: Final = "single_pick"
_ALTERNATIVES: Final = 3
# Minimum score of an alternative, relative to the recommendation.
_MIN_RELATIVE_SCORE: Final = 0.25


class LexicalPlanner:
    """The provider of ``local/lexical``."""

    def __init__(self, name: str) -> None:
        self._name = name
        # A deck passes the same catalog object with every request unless the catalog was trimmed.
        self._latest: tuple[Catalog, LexicalIndex] | None = None

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer a plan or a route request.

        :raises InvalidRequest: the model is not ``lexical``, or the request is neither a plan nor a route.
        """
        started = time.perf_counter()
        task = self._task(request)
        lexical = self._index(task.catalog)
        answer = _plan(lexical, task) if task.name == "plan" else _route(lexical, task)
        return ChatResponse(
            text=json.dumps(answer, ensure_ascii=False, separators=(",", ":"), default=str),
            stop_reason=StopReason.END_TURN,
            raw_stop_reason="stop",
            strict_stop_reason=StopReason.END_TURN,
            usage=Usage(),
            served_model=MODEL,
            latency_s=time.perf_counter() - started,
        )

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _task(self, request: ChatRequest) -> Task:
        model = request.model.partition("/")[2]
        if model != MODEL:
            raise self._refusal(request, f"unknown model {model!r}; the only model is {self._name}/{MODEL}")
        task = request.task
        if task is None or task.name not in ("plan", "route"):
            found = "a chat request without a task" if task is None else repr(task.name)
            raise self._refusal(request, f"{self._name}/{MODEL} supports only plan and route requests, found {found}")
        return task

    def _refusal(self, request: ChatRequest, detail: str) -> InvalidRequest:
        return InvalidRequest(
            headline=f"{self._name} cannot serve the request",
            model=request.model,
            provider=self._name,
            sub_cause="unsupported_task",
            detail=detail,
        )

    def _index(self, catalog: Catalog) -> LexicalIndex:
        latest = self._latest
        if latest is None or latest[0] is not catalog:
            latest = self._latest = (catalog, LexicalIndex(catalog))
        return latest[1]


# -- plan --------------------------------------------------------------------------------------------------


def _plan(lexical: LexicalIndex, task: Task) -> dict[str, Any]:
    steps = [{"order": number, **step} for number, step in enumerate(_open_steps(lexical, task), 1)]
    answer: dict[str, Any] = {
        "steps": steps,
        "complexity": _complexity(steps),
        "reasoning": _reasoning(steps),
    }
    if task.variant == _SINGLE_PICK:
        answer |= {"steps": steps[:1], "complexity": _complexity(steps[:1]), "more_steps_likely": len(steps) > 1}
    return answer


def _open_steps(lexical: LexicalIndex, task: Task) -> list[dict[str, Any]]:
    """Return the steps that are not done yet."""
    reading = lexical.read(task.request)
    picks = pick_entries(lexical, reading)
    if not picks and not task.done:
        return [to_step(None, Clause(task.request, (), asks=False), task.request, task.defaults)]
    pipeline = covering_pipeline(lexical, reading, picks)
    if pipeline is not None:
        whole = Clause("; ".join(clause.text for clause in asking_clauses(reading)), (), asks=True)
        executed = {step.tool for step in task.done}
        if PIPELINE_RUN in executed or pipeline.id in executed:
            return []
        if not executed:
            return [to_step(pipeline, whole, task.request, task.defaults, reading.document)]
    return [
        to_step(pick.entry, pick.clause, task.request, task.defaults, reading.document)
        for pick in without_done(picks, task.done)
    ]


def _complexity(steps: Sequence[Mapping[str, Any]]) -> str:
    if len(steps) > 1:
        return "pack-chain"
    return "pipeline-direct" if steps and steps[0]["tool"] == PIPELINE_RUN else "single-action"


def _reasoning(steps: Sequence[Mapping[str, Any]]) -> str:
    if not steps:
        return "every part of the request is done"
    gaps = sum(step["tool"] == UNKNOWN_TOOL for step in steps)
    return f"matched by words: {len(steps) - gaps} of {len(steps)} parts of the request fit the catalog"


# -- route -------------------------------------------------------------------------------------------------


def _route(lexical: LexicalIndex, task: Task) -> dict[str, Any]:
    reading = lexical.read(task.request)
    picks = pick_entries(lexical, reading)
    fitting = [pick.entry for pick in picks if pick.entry is not None]
    best = covering_pipeline(lexical, reading, picks) or (fitting[0] if fitting else None)
    others = [entry for entry in [*fitting, *_runners_up(lexical, reading)] if entry is not best]
    return {
        "recommendation": _recommendation(best, task),
        "alternatives": [
            {"kind": entry.kind.value, "id": entry.id, "why": _summary(entry)}
            for entry in {entry.id: entry for entry in others}.values()
        ][:_ALTERNATIVES],
        "gap_warning": _gap_warning(picks, task.request),
        "reasoning": "matched by the words of the request and of the catalog",
    }


def _runners_up(lexical: LexicalIndex, reading: Reading) -> list[Entry]:
    leading = lexical.rank_reading(reading).leading(_ALTERNATIVES + 1)
    return [lexical.entries[index] for index, score in leading if score >= _MIN_RELATIVE_SCORE * leading[0][1]]


def _recommendation(entry: Entry | None, task: Task) -> dict[str, Any]:
    if entry is None:
        return {"kind": "none", "id": "", "suggested_inputs": {}, "why": "nothing in the catalog fits the request"}
    inputs = known_inputs(entry, task.request, task.request, task.defaults)
    return {"kind": entry.kind.value, "id": entry.id, "suggested_inputs": inputs, "why": _summary(entry)}


def _summary(entry: Entry) -> str:
    kind = "the pipeline" if entry.kind is EntryKind.PIPELINE else "the pack"
    return f"{kind} is described as {quoted(entry.description)}" if entry.description else f"{kind} fits by its name"


def _gap_warning(picks: Sequence[Pick], request: str) -> str | None:
    missing = [quoted(pick.clause.text) for pick in picks if pick.entry is None]
    if not picks:
        return f"nothing in {quoted(request)} asks for something that the catalog could do"
    return f"nothing in the catalog fits {', '.join(missing)}" if missing else None
