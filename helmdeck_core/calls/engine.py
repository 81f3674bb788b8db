"""The one way to a model.

A question goes: budget, prompt variant, selection, layout, dispatch, decode, and around again where a failure can be
recovered from. Every caller takes this way, so that a fix in one place fixes all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Generic, TypeVar

import attrs
import msgspec

from helmdeck_core.calls.dispatcher import Dispatcher
from helmdeck_core.calls.history_trimming import without_oldest
from helmdeck_core.calls.operation import CallResult, Helped, Prepared, provider_of
from helmdeck_core.calls.provider_pool import ProviderPool
from helmdeck_core.calls.recovery import NextAttempt
from helmdeck_core.context.composer import Composer, Prompt
from helmdeck_core.context.library import Library
from helmdeck_core.context.llm_filter import second_opinion
from helmdeck_core.context.prompt_layout import with_schema
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, Role, StopReason
from helmdeck_core.domain.decode import Decoded, DecodeFailed
from helmdeck_core.domain.events import CallFinished, CallRef, CatalogSelected, FilterFailed, SelectionFiltered
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.questions import Answer, FilterCall, PromptVariant, Question
from helmdeck_core.domain.recovery import NO_LIMITS, NO_REQUEST_CHANGES, CallLimits, RequestChanges
from helmdeck_core.errors import CallFailed, FailureClass, InvalidRequest, PackError, PackErrorCode, total_cost
from helmdeck_core.reading.diagnosis import empty_sub_cause, excerpt_of, failure, loop_of
from helmdeck_core.resolve.runtime import Runtime

T = TypeVar("T")

LOCAL_CALLER = "local"
"""Who asks where nobody says."""


class Engine:
    """Answers questions over one resolved runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.gateway = ProviderPool(runtime)
        self.library = Library(runtime)
        self.composer = Composer(runtime, self.library)
        self.dispatcher = Dispatcher(runtime, self.gateway)

    async def ask(
        self, question: Question[T], *, caller: str = LOCAL_CALLER, limits: CallLimits = NO_LIMITS, parent: str = ""
    ) -> Answer[T]:
        """Put a question to a model and decode its answer; what fails is recovered from as far as the rules say.

        :param caller: who asks the pack.
        :param limits: bounds that count beside the question's own, and both before the configuration's.
        :param parent: the call that this one helps.
        :raises CallFailed: the subclass of the last cause; the message starts with the pack's name.
        :raises PackError: ``internal`` when no provider exists at all.
        """
        model = question.model if question.model is not None else self.runtime.config.model
        if not self.gateway.names:
            raise PackError(
                question.caller, PackErrorCode.INTERNAL, "no provider is available; enable a provider plugin"
            )
        if not isinstance(model, str):
            problem = f"{question.caller}: a model id is a text, found {type(model).__name__}"
            raise InvalidRequest(problem, sub_cause="model_id")
        done = await self.dispatcher.run(
            _Asked(self, question),
            model.strip(),
            pack=question.caller,
            caller=caller,
            limits=limits.and_also(question.limits),
            parent=parent,
        )
        decoded = done.value
        self._finished(done, decoded.step, decoded.repairs)
        return Answer(
            value=decoded.value,
            model=done.prepared.request.model,
            requested_model=model.strip(),
            variant=done.prepared.variant,
            budget=done.prepared.budget,
            selection=done.prepared.selection,
            response=done.response,
            step=decoded.step,
            repairs=decoded.repairs,
            filter=done.prepared.filter,
            attempts=done.attempts,
            call_id=done.call.call_id,
            saved_usd=self._saved_usd(done),
        )

    async def dispatch(
        self,
        request: ChatRequest,
        *,
        allows_empty: bool = False,
        pack: str = "",
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> ChatResponse:
        """Send a request that the caller wrote; what fails is recovered from as far as the rules say.

        :param allows_empty: an answer without text and tool calls is as good as any.
        :param pack: the pack that wrote it; failures start with its name.
        :raises CallFailed: the subclass of the last cause.
        """
        work = _Written(self, request, allows_empty)
        done = await self.dispatcher.run(work, request.model.strip(), pack=pack, caller=caller, limits=limits)
        self._finished(done, "", ())
        return attrs.evolve(done.response, attempts=done.attempts)

    async def stream(
        self,
        request: ChatRequest,
        *,
        allows_empty: bool = False,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Send a request that the caller wrote: the pieces as they come, those that come together together; then the response.

        :raises CallFailed: as for ``dispatch``; once something visible was given on, nobody else is asked.
        """
        work = _Written(self, request, allows_empty)
        batches = self.dispatcher.stream(work, request.model.strip(), pack="", caller=caller, limits=limits)
        async with contextlib.aclosing(batches):
            async for batch in batches:
                if isinstance(batch, CallResult):
                    self._finished(batch, "", ())
                    yield attrs.evolve(batch.response, attempts=batch.attempts)
                else:
                    yield batch
                del batch  # so that no traceback with variables shows what was said

    def _saved_usd(self, done: CallResult[Any]) -> float | None:
        request, usage = done.prepared.request, done.response.usage
        return self.runtime.pricer.saved_usd(done.prepared.budget, request.model, usage)

    def _finished(self, done: CallResult[Any], step: str, repairs: tuple[str, ...]) -> None:
        if not self.runtime.sinks:
            return
        response = done.response
        self.runtime.emit(
            CallFinished(
                **done.call.place,
                model=done.prepared.request.model,
                served_model=response.served_model,
                variant=done.prepared.variant,
                stop_reason=response.stop_reason,
                raw_stop_reason=response.raw_stop_reason,
                usage=response.usage,
                cached_cost_usd=_cached_cost(done.prepared.budget, response),
                saved_usd=self._saved_usd(done),
                cost_usd=total_cost([each for each in done.attempts if not each.purpose]),
                latency_s=response.latency_s,
                decode_step=step,
                repairs=repairs,
                requested_model=done.model,
                downgrades=response.downgrades,
                unread=response.unread,
                constraint=response.constraint,
                total_s=done.total_s,
            )
        )

    # -- how a question is put -----------------------------------------------------------------------------

    async def prepare(
        self, question: Question[Any], ask: NextAttempt, call: CallRef, known: dict[str, FilterCall], helped: Helped
    ) -> Prepared:
        """Make the request for one model: its budget, its catalog, its prompt variant, its flags.

        :param known: filter calls of this question that were made already, by the model that was asked.
        :param helped: is given the attempts of those that are made now.
        :raises CallFailed: it cannot be made.
        """
        model = str(self.gateway.check(ask.model))
        budget = self._changed(self.runtime.budgets.find(model).budget, question, ask.changes)
        if question.needs_catalog and self.library.is_cold(budget):
            await asyncio.to_thread(self.library.warm, budget)
        prompt = self.composer.compose(question, budget)
        filtered: FilterCall | None = None
        if prompt.filter_model is not None:
            filtered = known.get(prompt.filter_model)
            if filtered is None:
                filtered = known[prompt.filter_model] = await self._second_opinion(
                    prompt, prompt.filter_model, ask, call, helped
                )
            prompt = self._narrowed(prompt, filtered, call)
        messages = prompt.messages
        if not ask.changes.strict_json and question.schema is not None:
            messages = with_schema(messages, question.schema, self.runtime.texts["schema.heading"])
        if prompt.selection is not None and self.runtime.sinks:
            self.runtime.emit(
                CatalogSelected(
                    **call.place,
                    model=model,
                    tier=budget.tier,
                    record=prompt.selection.record,
                    confidence=prompt.selection.confidence,
                )
            )
        request = ChatRequest(
            model=model,
            messages=messages,
            max_tokens=budget.max_tokens,
            temperature=question.temperature,
            tools=question.tools,
            tool_choice=question.tool_choice,
            response_format=prompt.response_format,
            task=prompt.task,
        )
        return Prepared(
            request=request,
            budget=budget,
            variant=prompt.variant.variant,
            selection=prompt.selection,
            filter=filtered,
        )

    async def _second_opinion(
        self, prompt: Prompt, model: str, ask: NextAttempt, call: CallRef, helped: Helped
    ) -> FilterCall:
        """Ask once which entries are needed; whatever goes wrong, there is the ranking."""
        share = self.runtime.weights["filter.max_time_share"]
        left_s = None if ask.until_s is None else (ask.until_s - self.dispatcher.clock()) * share
        limits = CallLimits(max_attempts=1, deadline_s=left_s, max_cost_usd=ask.left_usd)

        async def asked(question: Question[T]) -> Answer[T]:
            try:
                answer = await self.ask(question, caller=call.caller, limits=limits, parent=call.call_id)
            except CallFailed as exc:
                helped(exc.attempts)
                raise
            helped(answer.attempts)
            return answer

        return await second_opinion(asked, prompt.question.request, model, self.library.catalog)

    def _narrowed(self, prompt: Prompt, filtered: FilterCall, call: CallRef) -> Prompt:
        """The prompt with the entries that a filter call named, or as it was when that gave nothing."""
        if not filtered.failure:
            prompt = self.composer.narrowed(prompt, filtered.picks)
        if not self.runtime.sinks:
            return prompt
        asked = {**call.place, "model": prompt.budget.model, "filter_model": filtered.model}
        if filtered.failure:
            self.runtime.emit(FilterFailed(**asked, detail=filtered.cause, latency_s=filtered.latency_s))
            return prompt
        kept = len(prompt.selection.catalog) if prompt.selection is not None else 0
        facts: dict[str, Any] = {"picks": len(filtered.picks), "usage": filtered.usage, "latency_s": filtered.latency_s}
        self.runtime.emit(SelectionFiltered(**asked, kept=kept, **facts))
        return prompt

    def _changed(self, budget: Budget, question: Question[Any], changes: RequestChanges) -> Budget:
        """The budget with what recovery asks for; everything behind it reads the budget alone."""
        if changes == NO_REQUEST_CHANGES:
            return budget
        wanted = attrs.evolve(budget, wants_strict_json=budget.wants_strict_json and changes.strict_json)
        if changes.output_factor != 1.0:
            # The answer shares the window with the prompt.
            most = max(budget.output_tokens, budget.input_tokens - budget.max_tokens)
            wanted = attrs.evolve(wanted, output_tokens=min(int(budget.output_tokens * changes.output_factor), most))
        if changes.catalog_factor != 1.0 and question.needs_catalog:
            size = self.library.prepared(budget).full_bytes
            cap = size if budget.max_catalog_bytes is None else min(size, budget.max_catalog_bytes)
            wanted = attrs.evolve(wanted, max_catalog_bytes=max(1, int(cap * changes.catalog_factor)))
        if changes.variant is not None and f"{question.task}.{changes.variant}" in self.runtime.contributed(
            PromptVariant
        ):
            wanted = attrs.evolve(wanted, prompt_variant=changes.variant)
        return wanted

    def salvaged(self, question: Question[T], text: str) -> Decoded[T] | None:
        """What the caller's own reading makes of an answer that the decoder refused; reasoning is never part of it."""
        if question.salvage is None:
            return None
        stripped = self.runtime.decoder.strip(text)
        value = None if stripped.is_unclosed else question.salvage(stripped.text)
        return None if value is None else Decoded(value, "salvage", ("salvage",))


def _cached_cost(budget: Budget, response: ChatResponse) -> float | None:
    price = budget.cached_input_cost_usd_per_mtok
    return None if price is None else response.usage.cached_input_tokens * price / 1e6


@attrs.frozen
class _Asked(Generic[T]):
    """A question that an engine puts into words, for ``Dispatcher``."""

    engine: Engine
    question: Question[T]
    filter_calls: dict[str, FilterCall] = attrs.field(factory=dict)

    @property
    def type(self) -> type[T]:
        return self.question.type

    async def prepare(self, ask: NextAttempt, call: CallRef, helped: Helped) -> Prepared:
        return await self.engine.prepare(self.question, ask, call, self.filter_calls, helped)

    def read(self, prepared: Prepared, response: ChatResponse) -> Decoded[T]:
        if response.tool_calls and (called := self._called(response)) is not None:
            return called
        try:
            return self.engine.runtime.decoder.decode(
                response.text, self.question.type, response.stop_reason, output_tokens=response.usage.output_tokens
            )
        except DecodeFailed as exc:
            salvaged = self.engine.salvaged(self.question, response.text)
            if salvaged is None:
                raise _unusable(self.question, prepared.request, response, exc) from exc
            return salvaged

    def _called(self, response: ChatResponse) -> Decoded[T] | None:
        """What the calls of an answer come to; a call counts only if the turn ended for it."""
        if self.question.read_calls is None or response.stop_reason is not StopReason.TOOL_CALL:
            return None
        value = self.question.read_calls(response.tool_calls)
        return None if value is None else Decoded(value, "tool_calls")

    def is_final(self, failure: CallFailed) -> bool:
        return self.question.allows_empty and failure.is_empty


@attrs.frozen
class _Written:
    """A request that the caller wrote, for ``Dispatcher``."""

    engine: Engine
    request: ChatRequest
    allows_empty: bool
    type: None = None

    async def prepare(self, ask: NextAttempt, call: CallRef, helped: Helped) -> Prepared:  # noqa: ARG002
        model = str(self.engine.gateway.check(ask.model))
        request = self.request if model == self.request.model else attrs.evolve(self.request, model=model)
        budget = self.engine.runtime.budgets.find(model).budget
        if ask.changes.history_factor != 1.0:
            kept = without_oldest(request.messages, ask.changes.history_factor)
            left_out = len(request.messages) - len(kept)
            downgrades = (f"{left_out} oldest messages left out",) if left_out else ()
            return Prepared(request=attrs.evolve(request, messages=kept), budget=budget, downgrades=downgrades)
        return Prepared(request=request, budget=budget)

    def read(self, prepared: Prepared, response: ChatResponse) -> ChatResponse:
        text, stop = response.text, response.stop_reason
        facts = _facts(prepared.request, response)
        if not (text.strip() or response.tool_calls or self._is_empty_right(response)):
            sub_cause = empty_sub_cause(stop, text, has_reasoning=_has_thought(response), is_unclosed=False)
            what = "the model returned an empty answer"
            raise _told(response, failure(stop, sub_cause, "", is_empty=True).as_call(what, text, **facts))
        has_form = self.request.response_format is not None and not response.tool_calls
        if has_form and (loop := loop_of(text)) and not _is_json(text):
            what = "the model's output never came to the form that was asked for"
            raise failure(stop, loop, text).as_call(what, text, **facts)
        return response

    def _is_empty_right(self, response: ChatResponse) -> bool:
        """After a tool has done its work there may be nothing left to say."""
        messages = self.request.messages
        return self.allows_empty or (
            response.stop_reason is StopReason.END_TURN and bool(messages) and messages[-1].role is Role.TOOL
        )

    def is_final(self, failure: CallFailed) -> bool:  # noqa: ARG002
        return False


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _has_thought(response: ChatResponse) -> bool:
    """Whether the provider tells of reasoning beside the text."""
    return bool(response.reasoning_content or response.usage.reasoning_tokens)


def _facts(request: ChatRequest, response: ChatResponse) -> dict[str, Any]:
    return {
        "model": request.model,
        "provider": provider_of(request.model),
        "stop_reason": response.stop_reason.value,
        "raw_stop_reason": response.raw_stop_reason,
        "latency_s": response.latency_s,
        "request_id": response.request_id,
        "usage": response.usage,
        "max_tokens": request.max_tokens,
    }


def _unusable(question: Question[Any], request: ChatRequest, response: ChatResponse, exc: DecodeFailed) -> CallFailed:
    noun = question.caller.rpartition(".")[2]
    what = (
        f"the model returned an empty {noun} response"
        if exc.is_empty
        else "the model's output is not the JSON that was asked for"
    )
    if response.tool_calls:
        what = "the model called a tool instead of answering"
        exc = attrs.evolve(exc, cause=FailureClass.CONSTRAINED_DEADLOCK, sub_cause="tool_call", is_empty=False)
    elif exc.sub_cause in ("empty", "empty_though_finished") and _has_thought(response):
        exc = attrs.evolve(exc, sub_cause="only_reasoning")  # the decoder sees the text alone
    return _told(response, exc.as_call(f"{question.caller}: {what}", response.text, **_facts(request, response)))


def _told(response: ChatResponse, failure: CallFailed) -> CallFailed:
    """The failure of an answer, with what the answer says of itself: a refusal, and what came instead of text."""
    said = [failure.detail]
    if response.refusal:
        said.append(f"the provider says: {excerpt_of(response.refusal)}")
    if failure.is_empty and response.unread:
        said.append(f"no text came, but content of other kinds: {excerpt_of(', '.join(response.unread))}")
    return attrs.evolve(failure, detail="; ".join(filter(None, said)))
