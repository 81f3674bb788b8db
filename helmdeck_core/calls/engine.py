"""The entry to all model calls: questions of packs, and requests that a caller wrote."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Sequence
from typing import Any, TypeVar

import attrs

from helmdeck_core.calls.chat_operation import ChatOperation
from helmdeck_core.calls.choice import ChoiceCalls
from helmdeck_core.calls.dispatcher import Dispatcher
from helmdeck_core.calls.operation import CallOptions, CallResult, copy_response
from helmdeck_core.calls.provider_client import ProviderClient
from helmdeck_core.calls.provider_pool import ProviderPool
from helmdeck_core.calls.question_operation import QuestionOperation
from helmdeck_core.context.completed_steps import check_completed
from helmdeck_core.context.composer import Composer
from helmdeck_core.context.library import Library
from helmdeck_core.context.live_catalog import LiveCatalog
from helmdeck_core.domain.attempt_texts import AttemptTexts
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse
from helmdeck_core.domain.constraints import SchemaForm
from helmdeck_core.domain.decode import Decoded
from helmdeck_core.domain.events import CallFinished
from helmdeck_core.domain.models import ModelId
from helmdeck_core.domain.questions import Answer, Question
from helmdeck_core.domain.recovery_actions import NO_LIMITS, CallLimits, check_limits
from helmdeck_core.errors import CallFailed, InvalidRequest, PackError, PackErrorCode, total_cost
from helmdeck_core.resolve.runtime import Runtime

T = TypeVar("T")

LOCAL_CALLER = "local"
"""The default caller."""


class Engine:
    """Makes calls over one resolved runtime. Every call goes from here down to a provider and never back up."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.pool: ProviderPool = ProviderPool(runtime)
        self.client: ProviderClient = ProviderClient(self.pool)
        self.live_catalog: LiveCatalog = LiveCatalog(runtime, self.pool.registry.first_settings)
        self._forms: dict[tuple[str, str], SchemaForm] = {}
        self.dispatcher: Dispatcher = Dispatcher(runtime, self.client)
        config = runtime.config.recovery
        self._default_limits = CallLimits(
            max_attempts=config.max_attempts, deadline_s=config.deadline_s or None, max_cost_usd=config.max_cost_usd
        )

    @property
    def library(self) -> Library:
        """The current version of the catalog."""
        return self.live_catalog.library

    def composer(self, library: Library) -> Composer:
        """Return the composer of prompts over one version of the catalog."""
        return Composer(self.runtime, library, self._forms)

    async def ask(
        self,
        question: Question[T],
        *,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
        parent: str = "",
        library: Library | None = None,
    ) -> Answer[T]:
        """Send a question to a model and decode the response; failures are recovered from by the rules.

        :param limits: limits in addition to the question's own; the configuration's apply where both leave one open.
        :param parent: the id of the call that this one is a side call of.
        :param library: the version of the catalog; left out: the current one.
        :raises CallFailed: the subclass of the last cause; the message starts with the pack's name.
        :raises PackError: ``internal`` when no provider exists at all; ``invalid_input`` for an executed step that the
            catalog does not have.
        """
        model = self._model_of(question)
        library = library or self.library
        if question.done and question.needs_catalog:
            check_completed(question.caller, question.done, await library.load())
        composer, side_call = self.composer(library), functools.partial(self.ask, library=library)
        choices, clock = ChoiceCalls(composer, self.client), self.dispatcher.services.clock
        operation = QuestionOperation(question, composer, self.pool.registry, side_call, clock, choices)
        options = self.options(model, question.caller, caller, limits, question.limits, parent=parent)
        result = await self.dispatcher.run(operation, options)
        self._emit_finished(result, result.value.step, result.value.repairs)
        return self._answer(result, result.value)

    async def complete(
        self,
        request: ChatRequest,
        *,
        allows_empty: bool = False,
        allows_truncated: bool = True,
        pack: str = "",
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> ChatResponse:
        """Send a request that the caller wrote; failures are recovered from by the rules.

        :param allows_empty: accept a response without text and tool calls.
        :param allows_truncated: accept a text that stays truncated. Otherwise it is a failure whose ``partial`` is the
            response, unless the request sets ``max_tokens``.
        :param pack: the pack that wrote the request; failures start with its name.
        :raises CallFailed: the subclass of the last cause.
        """
        call = self._chat_call(request, pack, caller, limits, allows_empty, allows_truncated, checks_calls=True)
        return self._response(await self.dispatcher.run(*call))

    async def ask_text(
        self,
        request: ChatRequest,
        *,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
        streams: bool = False,
    ) -> Answer[str]:
        """Send a request like ``complete``; return the text with the facts of the call.

        A text that stays truncated is a failure; ``partial_answer`` returns it.

        :param streams: see ``CallOptions``.
        """
        operation, call = self._chat_call(request, "ask", caller, limits, allows_truncated=False, within_budget=True)
        result = await self.dispatcher.run(operation, attrs.evolve(call, streams=streams))
        return self._answer(result, Decoded(self._response(result).text, "text"))

    def report_texts(self, call_id: str, request: ChatRequest, response: ChatResponse) -> None:
        """Pass the texts of a call without a request to the sinks that record texts."""
        if self.runtime.records_texts:
            mask, calls = self.pool.registry.mask, response.tool_calls
            self.runtime.emit_texts(
                AttemptTexts(
                    call_id=call_id, attempt=1, request=request, answer=response.text, tool_calls=calls, mask=mask
                )
            )

    def partial_answer(self, request: ChatRequest, failure: CallFailed) -> Answer[str]:
        """Return the truncated text of a failed call as an answer that is marked as incomplete; raise the failure without one.

        :raises CallFailed: the failure.
        """
        if failure.partial is None:
            raise failure
        return Answer(
            value=failure.partial.text,
            model=failure.partial_model,
            requested_model=self.pool.registry.full_id(request.model),
            variant="",
            budget=self.runtime.budgets.find(failure.partial_model).budget,
            selection=None,
            response=failure.partial,
            step="text",
            repairs=(),
            attempts=failure.attempts,
            call_id=failure.call_id,
            notices=self._notices(failure.partial_model),
            incomplete=failure.failure_class,
        )

    def stream(
        self,
        request: ChatRequest,
        *,
        allows_empty: bool = False,
        allows_truncated: bool = True,
        within_budget: bool = False,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Send a request that the caller wrote: yield the chunks in batches as they arrive, and last the response.

        A text that is interrupted is continued; tool calls of a continuation come with the response only. With
        ``allows_truncated=False``, the next model of the chain continues a text that stays truncated.

        :raises CallFailed: as for ``complete``.
        """
        call = self._chat_call(request, "", caller, limits, allows_empty, allows_truncated, within_budget)
        return self.dispatcher.stream(*call, self._response)

    def _model_of(self, question: Question[Any]) -> str:
        model = question.model if question.model is not None else self.runtime.config.model
        if not self.pool.registry.names:
            detail = "no provider is available; enable a provider plugin"
            raise PackError(question.caller, PackErrorCode.INTERNAL, detail)
        if not isinstance(model, str):
            problem = f"{question.caller}: a model id is a text, found {type(model).__name__}"
            raise InvalidRequest(problem, sub_cause="model_id")
        return self.pool.registry.full_id(model)

    def _notices(self, model: str) -> tuple[str, ...]:
        notice = self.runtime.budgets.find(model).notice
        return (*self.pool.registry.notices(ModelId.provider_of(model)), *([notice] if notice else []))

    def _chat_call(
        self,
        request: ChatRequest,
        pack: str,
        caller: str,
        limits: CallLimits,
        allows_empty: bool = False,
        allows_truncated: bool = True,
        within_budget: bool = False,
        checks_calls: bool = False,
    ) -> tuple[ChatOperation, CallOptions]:
        """A call with a request that the caller wrote, with the whole id of its model."""
        model = self.pool.registry.full_id(request.model)
        request = request if model == request.model else attrs.evolve(request, model=model)
        operation = ChatOperation(
            request,
            allows_empty,
            self.runtime.budgets,
            self.pool.registry,
            allows_truncated=allows_truncated,
            within_budget=within_budget,
            checks_calls=checks_calls,
            reminder=self.runtime.texts["retry.call"],
        )
        return operation, self.options(model, pack, caller, limits)

    def options(self, model: str, pack: str, caller: str, *limits: CallLimits, parent: str = "") -> CallOptions:
        """Return the options of a call with the tightest limits, and the configuration's where all leave one open."""
        return CallOptions(model=model, pack=pack, caller=caller, limits=self._limits(*limits), parent=parent)

    def _limits(self, *limits: CallLimits) -> CallLimits:
        """The tightest of some limits; the configuration's defaults where all leave one open."""
        tightest = NO_LIMITS
        for each in limits:
            check_limits(each)
            tightest = each if tightest is NO_LIMITS else tightest if each is NO_LIMITS else tightest.and_also(each)
        return self._default_limits if tightest is NO_LIMITS else tightest.within(self._default_limits)

    # -- results -------------------------------------------------------------------------------------------

    def _response(self, result: CallResult[ChatResponse]) -> ChatResponse:
        self._emit_finished(result, "", ())
        return copy_response(result.response, attempts=result.attempts)

    def _answer(self, result: CallResult[Any], decoded: Decoded[T]) -> Answer[T]:
        prepared = result.prepared
        return Answer(
            value=decoded.value,
            model=prepared.request.model,
            requested_model=result.model,
            variant=prepared.variant,
            budget=prepared.budget,
            selection=prepared.selection,
            response=result.response,
            step=decoded.step,
            repairs=decoded.repairs,
            filter=prepared.filter,
            attempts=result.attempts,
            call_id=result.call.call_id,
            saved_usd=self._saved_usd(result),
            notices=self._notices(prepared.request.model),
            choice=prepared.choice,
        )

    def _saved_usd(self, result: CallResult[Any]) -> float | None:
        request, usage = result.prepared.request, result.response.usage
        return self.runtime.pricer.saved_usd(result.prepared.budget, request.model, usage)

    def _emit_finished(self, result: CallResult[Any], step: str, repairs: tuple[str, ...]) -> None:
        if not self.runtime.sinks:
            return
        response, budget = result.response, result.prepared.budget
        price = budget.cached_input_cost_usd_per_mtok
        self.runtime.emit(
            CallFinished(
                **result.call.place,
                model=result.prepared.request.model,
                served_model=response.served_model,
                variant=result.prepared.variant,
                stop_reason=response.stop_reason,
                raw_stop_reason=response.raw_stop_reason,
                usage=response.usage,
                cached_cost_usd=None if price is None else response.usage.cached_input_tokens * price / 1e6,
                saved_usd=self._saved_usd(result),
                cost_usd=total_cost([each for each in result.attempts if not each.purpose]),
                latency_s=response.latency_s,
                decode_step=step,
                repairs=repairs,
                requested_model=result.model,
                downgrades=response.downgrades,
                unread=response.unread,
                constraint=response.constraint,
                total_s=result.total_s,
            )
        )
