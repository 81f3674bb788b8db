"""The screen *Try*: what a request would select and send, its plan, and a link that shows the same again."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from helmdeck_console.web.access import Refused, Visitor
from helmdeck_console.web.page_request import PageRequest
from helmdeck_core import CallFailed, CallLimits, Explanation, Helmdeck, HelmdeckError, Plan, Usage
from helmdeck_gateway import Problem

DEADLINE_S: Final = 120.0
"""Seconds of a plan that an operator tries."""

MAX_REQUEST_CHARS: Final = 20_000
MAX_DOCUMENT_CHARS: Final = 500_000
TOP: Final = 12
"""Candidates that are shown."""

CALLER: Final = "console"
"""The caller of operators without a key; that of a key is its own."""


NO_LOG: Final = "The request log cannot be used, so that the request is not stored under a link: {}"


async def show(page: PageRequest, *, error: str = "", status: int = 200) -> Response:
    """Show the form, and below it the result that the URL names."""
    return await page.read(_shown, page, error, status)


def _shown(page: PageRequest, error: str, status: int) -> Response:
    try_id = page.query("id")
    data: Mapping[str, Any] = page.form
    if try_id and (log := page.sources.log) is not None:
        saved = log.saved_try(try_id, page.team)
        if saved is None:
            raise Refused("No stored request has this id: it was deleted, or belongs to another team.", 404)
        data = saved
    deck = page.sources.deck
    explanation = None
    if data.get("request") and not error:
        try:
            explanation = explain(deck, data, page.visitor)
        except HelmdeckError as exc:
            error = str(exc)
    none: Sequence[str] = ()
    recorded, problem = page.use_log(lambda log: log.values("model", page.team).values, none)
    return page.shown(
        "try.html",
        status,
        data=data,
        error=error,
        explanation=explanation,
        result=data.get("result"),
        try_id=try_id,
        models=_models(page, recorded),
        default=deck.runtime.config.model,
        top=TOP,
        limits=(MAX_REQUEST_CHARS, MAX_DOCUMENT_CHARS),
        has_log=not problem and page.sources.log is not None,
        problem=NO_LOG.format(problem) if problem else "",
    )


def explain(deck: Helmdeck, data: Mapping[str, Any], visitor: Visitor) -> Explanation:
    """Return what would be sent for a request; no model is called."""
    return deck.explain(
        str(data["request"]),
        model=data.get("model") or None,
        context=str(data.get("document", "")),
        caller=CALLER if visitor.key is None else visitor.key.caller,
    )


def _models(page: PageRequest, recorded: Sequence[str]) -> list[str]:
    deck = page.sources.deck
    names = [*deck.runtime.chain(deck.runtime.config.model), *(each for each in recorded if "/" in each)]
    return list(dict.fromkeys(names))[:100]


async def create(page: PageRequest) -> Response:
    """Rank a request, or run it as well, and show it under a link of its own."""
    # Browsers send the line breaks of a form as CR LF.
    form = {name: value.replace("\r\n", "\n") for name, value in page.form.items()}
    request, document, model = form.get("request", "").strip(), form.get("document", ""), form.get("model", "").strip()
    if not request:
        return await show(page, error="Type a request, such as: draft a blog post about our launch.", status=422)
    if len(request) > MAX_REQUEST_CHARS or len(document) > MAX_DOCUMENT_CHARS:
        text = f"A request has up to {MAX_REQUEST_CHARS:,} characters, a document up to {MAX_DOCUMENT_CHARS:,}."
        return await show(page, error=text, status=422)
    data: dict[str, Any] = {"request": request, "document": document, "model": model, "by": page.visitor.name}
    try:
        await page.read(explain, page.sources.deck, data, page.visitor)
    except HelmdeckError as exc:
        return await show(page, error=str(exc), status=422)
    if form.get("run") == "on":
        if not page.visitor.is_admin:
            raise Refused("A run calls a model. Sign in with a key of the role admin.", 403)
        try:
            data["result"] = await _run(page, data)
        except Problem as exc:
            return await show(page, error=f"{exc.message[:1].upper()}{exc.message[1:]}.", status=exc.status)
    try_id, _ = await page.read(page.use_log, lambda log: log.save_try(data, page.team), "")
    if try_id:
        return page.redirect(f"/try?id={try_id}")
    page.form = data  # without a log, there is no link
    return await show(page)


async def _plan(page: PageRequest, data: Mapping[str, Any]) -> Plan:
    """Plan a request at the cost of the operator's key and its teams; without a key, at that of the deck.

    :raises Problem: the key may not make the call, or a limit is reached.
    """
    key, plans, limits = page.visitor.key, page.sources.plans, CallLimits(deadline_s=DEADLINE_S)
    if key is not None and plans is not None:
        return await plans.plan(key, data["request"], model=data["model"], context=data["document"], limits=limits)
    if page.team:
        raise Refused("A run is at the cost of all teams; an operator of one team runs it at a gateway.", 403)
    return await page.sources.deck.aplan(
        data["request"], model=data["model"] or None, context=data["document"], caller=CALLER, limits=limits
    )


async def _run(page: PageRequest, data: Mapping[str, Any]) -> dict[str, Any]:
    start_s = time.monotonic()
    try:
        plan = await _plan(page, data)
    except CallFailed as exc:
        return {"error": str(exc), "call_id": exc.call_id, "seconds": time.monotonic() - start_s}
    except HelmdeckError as exc:
        return {"error": str(exc), "call_id": "", "seconds": time.monotonic() - start_s}
    steps = [
        {
            "order": step.order, "tool": step.tool, "is_gap": step.is_gap, "rationale": step.rationale,
            "args": json.dumps(dict(step.args), ensure_ascii=False, indent=1, default=str), "missing": list(step.missing),
            "problems": list(step.problems), "suggestions": list(step.suggestions), "corrected_from": step.corrected_from,
        }
        for step in plan.steps
    ]  # fmt: skip
    return {
        "outcome": plan.outcome.value, "model": plan.model, "steps": steps, "reasoning": plan.reasoning,
        "call_id": plan.call_id, "cost_usd": plan.cost_usd, "is_used": plan.usage != Usage(), "seconds": time.monotonic() - start_s,
        "more": plan.more_steps_likely, "advice": plan.advice,
    }  # fmt: skip


async def show_prompt(page: PageRequest) -> Response:
    """Return the messages of the prompt exactly as they would be sent."""
    log = page.sources.log
    saved = await page.read(log.saved_try, page.query("id"), page.team) if log is not None else None
    if saved is None:
        raise Refused("No stored request has this id: it was deleted, or belongs to another team.", 404)
    explanation = await page.read(explain, page.sources.deck, saved, page.visitor)
    messages = [{"role": each.role.value, "text": each.text} for each in explanation.messages]
    return Response(
        json.dumps({"model": explanation.lookup.budget.model, "messages": messages}, ensure_ascii=False),
        media_type="application/json",
        headers={"content-disposition": 'attachment; filename="helmdeck-prompt.json"'},
    )
