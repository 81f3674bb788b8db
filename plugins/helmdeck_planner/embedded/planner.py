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
    GAP,
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
from helmdeck_planner.embedded.entries.indexed import index_of
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import MAX_TOKENS, Understood, understand
from helmdeck_planner.embedded.steps import model_advice, quoted, steps_of, unsure_advice, whole_inputs
from helmdeck_selection import LexicalIndex

MODEL: Final = "lexical"
_SINGLE_PICK: Final = "single_pick"
_ALTERNATIVES: Final = 3
# Minimum score of an alternative, relative to the recommendation.
_MIN_RELATIVE_SCORE: Final = 0.25


class LexicalPlanner:
    """The provider of ``local/lexical``.

    :param words: a file or folder of word lists beside those of the package.
    """

    def __init__(self, name: str, words: str = "") -> None:
        self._name = name
        self._words = words
        # A deck passes the same catalog object with every request unless the catalog was trimmed.
        self._latest: tuple[Catalog, LexicalIndex, Profiles] | None = None

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer a plan or a route request.

        :raises InvalidRequest: the model is not ``lexical``, or the request is neither a plan nor a route.
        """
        started = time.perf_counter()
        task = self._task(request)
        lexical, profiles = self._index(task.catalog)
        understood = understand(task.request, lexical, profiles)
        answer = _plan(understood, task) if task.name == "plan" else _route(lexical, profiles, understood, task)
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

    def _index(self, catalog: Catalog) -> tuple[LexicalIndex, Profiles]:
        latest = self._latest
        if latest is None or latest[0] is not catalog:
            latest = self._latest = (catalog, *index_of(catalog, self._words))
        return latest[1], latest[2]


# -- plan --------------------------------------------------------------------------------------------------


def _plan(understood: Understood, task: Task) -> dict[str, Any]:
    steps = steps_of(understood, task.defaults, task.done)
    if not steps and not task.done:
        steps = [_nothing_requested(understood, task.request)]
    numbered = [{"order": number, **step} for number, step in enumerate(steps, 1)]
    answer: dict[str, Any] = {
        "steps": numbered,
        "complexity": _complexity(numbered),
        "reasoning": _reasoning(understood, numbered),
    }
    if understood.is_foreign:
        answer["advice"] = model_advice(understood.wording)
    elif advice := unsure_advice(understood):
        answer["advice"] = advice
    if task.variant == _SINGLE_PICK:
        answer |= {
            "steps": numbered[:1],
            "complexity": _complexity(numbered[:1]),
            "more_steps_likely": len(numbered) > 1,
        }
    return answer


def _nothing_requested(understood: Understood, request: str) -> dict[str, Any]:
    """Return the gap of a request without a part to plan: an empty one, or one that only excludes."""
    excluded = [quoted(part.text) for part in understood.parts if part.is_excluded or part.is_withdrawn]
    if understood.is_too_long:
        why = (
            f"{GAP} {quoted(request)} has more than {MAX_TOKENS:,} words, values and marks, the most that local/lexical reads: "
            "shorten it, pass a long text as the document, or use a language model (--model PROVIDER/MODEL)"
        )
    elif excluded:
        why = f"{GAP} the request only excludes {', '.join(excluded)}, and asks for nothing"
    else:
        why = f"{GAP} nothing in the catalog fits {quoted(request)}"
    return {"tool": UNKNOWN_TOOL, "args": {}, "rationale": why}


def _complexity(steps: Sequence[Mapping[str, Any]]) -> str:
    if len(steps) > 1:
        return "pack-chain"
    return "pipeline-direct" if steps and steps[0]["tool"] == PIPELINE_RUN else "single-action"


def _reasoning(understood: Understood, steps: Sequence[Mapping[str, Any]]) -> str:
    if not steps:
        return "every part of the request is done"
    requested = [step for step in steps if "inferred_for" not in step]
    gaps = sum(step["tool"] == UNKNOWN_TOOL for step in requested)
    matched = f"matched by words: {len(requested) - gaps} of {len(requested)} parts of the request fit the catalog"
    excluded = [quoted(part.text) for part in understood.parts if part.is_excluded or part.is_withdrawn]
    return f"{matched}; excluded: {', '.join(excluded)}" if excluded else matched


# -- route -------------------------------------------------------------------------------------------------


def _route(lexical: LexicalIndex, profiles: Profiles, understood: Understood, task: Task) -> dict[str, Any]:
    fitting = [pick.profile.entry for pick in understood.picks if pick.profile is not None]
    best = understood.pipeline or (fitting[0] if fitting else None)
    others = [entry for entry in [*fitting, *_runners_up(lexical, understood)] if entry is not best]
    return {
        "recommendation": _recommendation(best, understood, profiles, task),
        "alternatives": [
            {"kind": entry.kind.value, "id": entry.id, "why": _summary(entry)}
            for entry in {entry.id: entry for entry in others}.values()
        ][:_ALTERNATIVES],
        "gap_warning": _gap_warning(understood, task.request),
        "reasoning": model_advice(understood.wording)
        if understood.is_foreign
        else "matched by the words of the request and of the catalog",
    }


def _runners_up(lexical: LexicalIndex, understood: Understood) -> list[Entry]:
    leading = lexical.rank("; ".join(pick.part.text for pick in understood.picks)).leading(_ALTERNATIVES + 1)
    return [lexical.entries[index] for index, score in leading if score >= _MIN_RELATIVE_SCORE * leading[0][1]]


def _recommendation(entry: Entry | None, understood: Understood, profiles: Profiles, task: Task) -> dict[str, Any]:
    profile = profiles.of(entry.id) if entry else None
    if entry is None or profile is None:
        return {"kind": "none", "id": "", "suggested_inputs": {}, "why": "nothing in the catalog fits the request"}
    inputs = whole_inputs(understood, profile, task.defaults)
    return {"kind": entry.kind.value, "id": entry.id, "suggested_inputs": inputs, "why": _summary(entry)}


def _summary(entry: Entry) -> str:
    kind = "the pipeline" if entry.kind is EntryKind.PIPELINE else "the pack"
    return f"{kind} is described as {quoted(entry.description)}" if entry.description else f"{kind} fits by its name"


def _gap_warning(understood: Understood, request: str) -> str | None:
    missing = [quoted(pick.part.text) for pick in understood.picks if pick.profile is None]
    if not understood.picks:
        return f"nothing in {quoted(request)} asks for something that the catalog could do"
    return f"nothing in the catalog fits {', '.join(missing)}" if missing else None
