"""The one way to a model.

A question goes: budget, prompt variant, selection, layout, dispatch, decode. Every caller takes this way, so that a fix
in one place fixes all.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import attrs

from helmdeck_core.domain.asking import Answer, PromptVariant, Question, Selection
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, ResponseFormat, StopReason
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.domain.events import CallFinished, CallGaveUp, CatalogSelected, StopReasonUnknown
from helmdeck_core.domain.models import Budget, Tier, resolve_variant
from helmdeck_core.domain.tasks import Task
from helmdeck_core.errors import CallFailed, ContextWindowExceeded, InvalidRequest, PackError, PackErrorCode
from helmdeck_core.gateway import Gateway
from helmdeck_core.library import MESSAGE_TOKENS, Library
from helmdeck_core.prompting import estimate_tokens, lay_out
from helmdeck_core.runtime import Runtime

T = TypeVar("T")

MOST_UNKNOWN_STOPS = 1_000
"""Words that are remembered as reported; providers choose them, so that memory needs a bound."""


class Engine:
    """Answers questions over one resolved runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.gateway = Gateway(runtime)
        self.library = Library(runtime)
        self._unknown_stops: set[tuple[str, str, str]] = set()

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Put a question to a model and decode its answer.

        :raises CallFailed: the subclass of the cause; the message starts with the caller's name.
        :raises PackError: ``internal`` when no provider exists at all.
        """
        model = question.model if question.model is not None else self.runtime.config.model
        try:
            model = self._checked_model(question.caller, model)
            budget = self.runtime.budgets.find(model).budget
            return await self._ask(question, model, budget, self._variant(question, budget))
        except CallFailed as exc:
            failure = attrs.evolve(exc, headline=_headline(question.caller, exc.headline), model=exc.model or model)
            self.runtime.emit(
                CallGaveUp(
                    caller=question.caller,
                    model=model,
                    cause=failure.failure_class,
                    sub_cause=failure.sub_cause,
                    raw_stop_reason=failure.raw_stop_reason,
                    raw_length=failure.raw_length,
                    latency_s=failure.latency_s,
                )
            )
            raise failure from exc.__cause__

    async def _ask(self, question: Question[T], model: str, budget: Budget, variant: PromptVariant) -> Answer[T]:
        task, selection = self._task(question, budget, variant)
        messages = lay_out(variant, task, selection, caches_prefix=budget.supports_prefix_cache)
        if selection is not None:
            self.runtime.emit(
                CatalogSelected(
                    caller=question.caller,
                    model=model,
                    tier=budget.tier,
                    record=selection.record,
                    confidence=selection.confidence,
                )
            )
        request = ChatRequest(
            model=model,
            messages=messages,
            max_tokens=budget.max_tokens,
            temperature=question.temperature,
            response_format=_response_format(question, budget),
            task=task,
        )
        response = await self.dispatch(request)
        try:
            decoded = self.runtime.decoder.decode(response.text, question.type, response.stop_reason)
        except DecodeFailed as exc:
            raise _unusable(question, model, response, exc) from exc
        self.runtime.emit(
            CallFinished(
                caller=question.caller,
                model=model,
                served_model=response.served_model,
                variant=variant.variant,
                stop_reason=response.stop_reason,
                raw_stop_reason=response.raw_stop_reason,
                usage=response.usage,
                cached_cost_usd=_cached_cost(budget, response),
                latency_s=response.latency_s,
                decode_step=decoded.step,
                repairs=decoded.repairs,
            )
        )
        return Answer(
            value=decoded.value,
            model=model,
            variant=variant.variant,
            budget=budget,
            selection=selection,
            response=response,
            step=decoded.step,
            repairs=decoded.repairs,
        )

    async def dispatch(self, request: ChatRequest) -> ChatResponse:
        """Send one request as it is; an unknown stop reason is reported once per provider, model and word.

        :raises CallFailed: the subclass of the cause.
        """
        response = await self.gateway.complete(request)
        if response.stop_reason is StopReason.UNKNOWN and response.raw_stop_reason:
            provider = request.model.partition("/")[0]
            seen = (provider, request.model, response.raw_stop_reason)
            if seen not in self._unknown_stops and len(self._unknown_stops) < MOST_UNKNOWN_STOPS:
                self._unknown_stops.add(seen)
                self.runtime.emit(StopReasonUnknown(provider=provider, model=request.model, raw=seen[2]))
        return response

    def _checked_model(self, caller: str, model: str) -> str:
        if not self.gateway.names:
            raise PackError(caller, PackErrorCode.INTERNAL, "no provider is available; enable a provider plugin")
        if not isinstance(model, str):
            raise InvalidRequest(f"a model id is a text, found {type(model).__name__}")
        return str(self.gateway.check(model))

    def _variant(self, question: Question[Any], budget: Budget) -> PromptVariant:
        if question.instructions is not None:
            return PromptVariant(
                task=question.task,
                variant="plain",
                instructions=question.instructions,
                render=_plain,
            )
        wanted = resolve_variant(budget)
        variant = self.runtime.variant(question.task, wanted)
        if variant is None:
            known = ", ".join(self.runtime.variants) or "none"
            raise InvalidRequest(
                f"there is no prompt variant {wanted!r} of task {question.task!r}",
                detail=f"variants: {known}; set prompt_variant in the model's budget",
            )
        return variant

    def _task(self, question: Question[Any], budget: Budget, variant: PromptVariant) -> tuple[Task, Selection | None]:
        task = Task(
            name=question.task,
            variant=variant.variant,
            model=budget.model,
            request=question.request,
            catalog=Catalog(),
            context=question.context,
            done=question.done,
            defaults=question.defaults,
        )
        rest = sum(map(estimate_tokens, (variant.instructions, variant.catalog_heading, variant.render(task))))
        if not question.needs_catalog:
            if rest + MESSAGE_TOKENS > budget.input_tokens:
                raise ContextWindowExceeded(
                    "the request is larger than the model's budget",
                    budget.model,
                    detail=f"it has about {rest:,} tokens, the budget is {budget.input_tokens:,}",
                )
            return task, None
        most = self.runtime.config.selection.shortlist
        # Who stands on the shortlist is only known behind the selection; room for the longest ids is kept for it.
        longest = max((len(entry.id) for entry in self.library.catalog.entries), default=0)
        reserve = estimate_tokens(" " * most * (longest + 2)) if budget.supports_prefix_cache else 0
        selection = self.library.select(budget, question.request, rest + reserve)
        shortlist: tuple[str, ...] = ()
        if budget.supports_prefix_cache and not selection.depends_on_request and len(selection.catalog) > most:
            scores = self.library.rank(question.request).scores[:most]
            shortlist = tuple(score.id for score in scores if score.score > 0)
        return attrs.evolve(task, catalog=selection.catalog, shortlist=shortlist), selection


def _plain(task: Task) -> str:
    """Everything that a question without prompt variants says, the request last."""
    parts = [json.dumps(dict(task.defaults), ensure_ascii=False) if task.defaults else "", task.context]
    parts += [f"done: {step.tool} {step.output}".strip() for step in task.done]
    return "\n\n".join([*filter(None, parts), task.request])


def _response_format(question: Question[Any], budget: Budget) -> ResponseFormat | None:
    # Constrained decoding makes weak, quantised models stop dead, so tier C is never asked for it.
    if not budget.wants_strict_json or budget.tier is Tier.C:
        return None
    return ResponseFormat("json_object", question.task, question.schema)


def _cached_cost(budget: Budget, response: ChatResponse) -> float | None:
    price = budget.cached_input_cost_usd_per_mtok
    return None if price is None else response.usage.cached_input_tokens * price / 1e6


def _headline(caller: str, headline: str) -> str:
    return headline if headline.startswith(caller) else f"{caller}: {headline}"


def _unusable(question: Question[Any], model: str, response: ChatResponse, exc: DecodeFailed) -> CallFailed:
    noun = question.caller.rpartition(".")[2]
    what = (
        f"the model returned an empty {noun} response"
        if exc.is_empty
        else "the model's output is not the JSON that was asked for"
    )
    return exc.as_call(
        f"{question.caller}: {what}",
        response.text,
        model=model,
        provider=model.partition("/")[0],
        stop_reason=response.stop_reason.value,
        raw_stop_reason=response.raw_stop_reason,
        latency_s=response.latency_s,
    )
