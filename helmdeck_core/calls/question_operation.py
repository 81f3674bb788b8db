"""A call with a question of a pack: budget, catalog, prompt variant, and the decoded response."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import attrs

from helmdeck_core.calls.choice import CHOICE_PURPOSE, ChoiceCalls, chooser_by_size, is_chosen, unsure
from helmdeck_core.calls.operation import Prepared, SideAttempts
from helmdeck_core.calls.parsed import decode_parsed
from helmdeck_core.calls.provider_registry import ProviderRegistry
from helmdeck_core.calls.recovery_policy import NextAttempt
from helmdeck_core.calls.response_failures import decode_failure, unsure_failure
from helmdeck_core.calls.visible_text import may_start_in_reasoning
from helmdeck_core.context.composer import Composer, Prompt
from helmdeck_core.context.library import Library
from helmdeck_core.context.llm_filter import request_filter
from helmdeck_core.context.prompt_layout import with_schema, with_text
from helmdeck_core.context.schema_bounds import Bounds, bounded_offer
from helmdeck_core.domain.chain_policies import CHAIN_SAMPLE, ChainRequest
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.choosing import Choice
from helmdeck_core.domain.constraints import ResponseFormat
from helmdeck_core.domain.decode import Decoded, DecodeFailed
from helmdeck_core.domain.events import CallRef, CatalogSelected, FilterFailed, SelectionFiltered
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.questions import Answer, FilterCall, PromptVariant, Question
from helmdeck_core.domain.recovery_actions import NO_REQUEST_CHANGES, CallLimits, RequestChanges
from helmdeck_core.errors import CallFailed, FailureClass
from helmdeck_core.resolve.runtime import Runtime

T = TypeVar("T")
U = TypeVar("U")


PROBLEMS: Mapping[str, str] = {"repeated_token": "it repeats itself and does not end"}
"""What a retry says about an answer without a value, by sub-cause."""

CHARS_PER_TOKEN = 2
"""Characters of an output token at least: small models indent JSON, and write three to four in plain English."""

BOUNDED = "lists and strings of the schema bounded, since the answer did not end"
"""The downgrade of a response whose schema allows less than the requested type."""


class SideCall(Protocol):
    """Makes another call that helps to prepare a request."""

    async def __call__(self, question: Question[U], *, caller: str, limits: CallLimits, parent: str) -> Answer[U]:
        """Make the call, as ``Engine.ask`` does."""
        ...


@attrs.frozen
class QuestionOperation(Generic[T]):
    """Composes a prompt per model, and decodes the response into the question's type.

    :ivar clock: the clock of the attempts' deadlines.
    :ivar filter_calls: the filter calls that were made for this question, by model.
    :ivar problems: why the last answer of a model had the wrong shape.
    :ivar made_choices: the choices of choosers that were made for this question, by model.
    """

    question: Question[T]
    composer: Composer
    registry: ProviderRegistry
    side_call: SideCall
    clock: Callable[[], float]
    choices: ChoiceCalls
    filter_calls: dict[str, FilterCall] = attrs.field(factory=dict)
    problems: dict[str, str] = attrs.field(factory=dict)
    made_choices: dict[str, Choice] = attrs.field(factory=dict)

    @property
    def type(self) -> type[T]:
        """The type of the question."""
        return self.question.type

    @property
    def runtime(self) -> Runtime:
        """The resolved plugins and configuration."""
        return self.composer.runtime

    # -- request -------------------------------------------------------------------------------------------

    async def prepare(self, step: NextAttempt, call: CallRef, record: SideAttempts) -> Prepared:
        """Implement ``Operation.prepare``."""
        question, library = self.question, self.composer.library
        model = str(self.registry.check(step.model))
        budget = self._budget(model, step.changes)
        if model in self.made_choices or is_chosen(self.runtime, question, budget):
            return await self._prepare_chosen(budget, step, record)
        if question.needs_catalog or question.lists_catalog:
            await library.load()
        if question.needs_catalog and library.is_cold(budget):
            await asyncio.to_thread(library.warm, budget)
        if question.needs_catalog and library.is_blocking(budget):
            prompt = await asyncio.to_thread(self.composer.compose, question, budget)
        else:
            prompt = self.composer.compose(question, budget)
        filter_call: FilterCall | None = None
        if prompt.filter_model is not None:
            filter_call = await self._filter(prompt, prompt.filter_model, step, call, record)
            prompt = self._narrowed(prompt, filter_call, call)
        request = self._request(prompt, step)
        if chooser := chooser_by_size(self.runtime, self.choices.client, prompt, request):
            return await self._prepare_chosen(attrs.evolve(budget, chooser=chooser), step, record)
        self._emit_selected(prompt, call)
        return Prepared(
            request=request,
            downgrades=_downgrades(request),
            budget=budget,
            variant=prompt.variant.variant,
            selection=prompt.selection,
            filter=filter_call,
            min_probability=None if step.is_last else step.min_probability,
        )

    async def _prepare_chosen(self, budget: Budget, step: NextAttempt, record: SideAttempts) -> Prepared:
        """Prepare the request for the arguments of a tool that the chooser chooses; none is sent where they are known."""
        question, model = self.question, budget.model
        await self.composer.library.load()
        if model not in self.made_choices:
            self.made_choices[model] = await self.choices.choose(question, budget, record)
        choice = self.made_choices[model]
        if not (step.is_last or _is_accepted(choice, step)):
            raise unsure(choice, budget)
        prompt = self.composer.chosen(question, budget, choice)
        value = question.settle(prompt.task, choice) if question.settle is not None else None
        request = self._request(prompt, step)
        return Prepared(
            request=request,
            downgrades=_downgrades(request),
            budget=budget,
            variant=prompt.variant.variant,
            selection=prompt.selection,
            choice=choice,
            settled=None if value is None else Decoded(value, CHOICE_PURPOSE),
        )

    def _request(self, prompt: Prompt, step: NextAttempt) -> ChatRequest:
        question, budget, model = self.question, prompt.budget, prompt.budget.model
        messages = prompt.messages
        if step.changes.shows_problem and (problem := self.problems.get(model)):
            messages = with_text(messages, self.runtime.texts["retry.problem"].format(problem=problem))
        if not step.changes.strict_json and question.schema is not None:
            messages = with_schema(messages, question.schema, self.runtime.texts["schema.heading"])
        return ChatRequest(
            model=model,
            messages=messages,
            max_tokens=budget.max_tokens,
            temperature=question.temperature,
            tools=question.tools,
            tool_choice=question.tool_choice,
            response_format=self._response_format(prompt, step.changes),
            task=prompt.task,
        )

    def _response_format(self, prompt: Prompt, changes: RequestChanges) -> ResponseFormat | None:
        wanted = self.composer.response_format(prompt)
        if not changes.bounds_values or wanted is None or wanted.offer is None:
            return wanted
        weights = self.runtime.weights
        bounds = Bounds(items=int(weights["bounds.items"]), chars=int(weights["bounds.chars"]))
        room = prompt.budget.output_tokens * CHARS_PER_TOKEN
        return attrs.evolve(wanted, schema=bounded_offer(wanted.offer, room, bounds))

    def _budget(self, model: str, changes: RequestChanges) -> Budget:
        """The budget with the changes of a retry applied; all later steps read the budget alone."""
        budget = self.runtime.budgets.find(model).budget
        if changes == NO_REQUEST_CHANGES:
            return budget
        is_strict = changes.strict_json
        changed = attrs.evolve(
            budget,
            wants_strict_json=budget.wants_strict_json and is_strict,
            enforces_schema=budget.enforces_schema and is_strict,
        )
        if changes.output_factor != 1.0:
            # The output shares the window with the prompt.
            limit = max(budget.output_tokens, budget.input_tokens - budget.max_tokens)
            changed = attrs.evolve(changed, output_tokens=min(int(budget.output_tokens * changes.output_factor), limit))
        if changes.catalog_factor != 1.0 and self.question.needs_catalog:
            size = self.composer.library.prepared(budget).full_bytes
            cap = size if budget.max_catalog_bytes is None else min(size, budget.max_catalog_bytes)
            changed = attrs.evolve(changed, max_catalog_bytes=max(1, int(cap * changes.catalog_factor)))
        if changes.variant is not None and f"{self.question.task}.{changes.variant}" in self.runtime.contributed(
            PromptVariant
        ):
            changed = attrs.evolve(changed, prompt_variant=changes.variant)
        return changed

    # -- filter call ---------------------------------------------------------------------------------------

    async def _filter(
        self, prompt: Prompt, model: str, step: NextAttempt, call: CallRef, record: SideAttempts
    ) -> FilterCall:
        """Ask once per model which entries are needed; a failure leaves the selection by rank."""
        if model in self.filter_calls:
            return self.filter_calls[model]
        share = self.runtime.weights["filter.max_time_share"]
        left_s = None if step.until_s is None else (step.until_s - self.clock()) * share
        limits = CallLimits(max_attempts=1, deadline_s=left_s, max_cost_usd=step.left_usd)

        async def ask(question: Question[U]) -> Answer[U]:
            try:
                answer = await self.side_call(question, caller=call.caller, limits=limits, parent=call.call_id)
            except CallFailed as exc:
                record(exc.attempts)
                raise
            record(answer.attempts)
            return answer

        catalog = self.composer.library.catalog
        self.filter_calls[model] = await request_filter(ask, prompt.question.request, model, catalog)
        return self.filter_calls[model]

    def _narrowed(self, prompt: Prompt, filter_call: FilterCall, call: CallRef) -> Prompt:
        """The prompt with the entries that a filter call named, or unchanged when it failed."""
        if not filter_call.failure:
            prompt = self.composer.narrowed(prompt, filter_call.picks)
        if not self.runtime.sinks:
            return prompt
        fields: dict[str, Any] = {
            **call.place,
            "model": prompt.budget.model,
            "filter_model": filter_call.model,
            "latency_s": filter_call.latency_s,
        }
        if filter_call.failure:
            self.runtime.emit(FilterFailed(**fields, detail=filter_call.cause))
            return prompt
        kept = len(prompt.selection.catalog) if prompt.selection is not None else 0
        picks = len(filter_call.picks)
        self.runtime.emit(SelectionFiltered(**fields, kept=kept, picks=picks, usage=filter_call.usage))
        return prompt

    def _emit_selected(self, prompt: Prompt, call: CallRef) -> None:
        if prompt.selection is None or not self.runtime.sinks:
            return
        self.runtime.emit(
            CatalogSelected(
                **call.place,
                model=prompt.budget.model,
                tier=prompt.budget.tier,
                record=prompt.selection.record,
                confidence=prompt.selection.confidence,
            )
        )

    # -- response ------------------------------------------------------------------------------------------

    def read(self, prepared: Prepared, response: ChatResponse) -> Decoded[T]:
        """Implement ``Operation.read``."""
        if prepared.settled is not None:
            return prepared.settled
        if response.tool_calls and (decoded := self._read_calls(response)) is not None:
            return decoded
        try:
            decode = functools.partial(
                self.runtime.decoder.decode,
                output_tokens=response.usage.output_tokens,
                may_start_in_reasoning=may_start_in_reasoning(prepared.budget, response),
            )
            return decode_parsed(decode, response.text, self.question.type, response.stop_reason, self.question.parse)
        except DecodeFailed as exc:
            # A truncated bare value, such as a number, would be another value.
            is_truncated = exc.cause is FailureClass.LENGTH_TRUNCATED and self.question.parse is not None
            salvaged = None if is_truncated or exc.is_empty else self._salvage(response.text)
            if salvaged is None:
                if problem := str(exc) if exc.path else PROBLEMS.get(exc.sub_cause):
                    self.problems[prepared.request.model] = problem
                raise decode_failure(self.question.caller, prepared.request, response, exc) from exc
            return salvaged

    def _read_calls(self, response: ChatResponse) -> Decoded[T] | None:
        """The value of the tool calls of a turn that ended for them."""
        if self.question.read_calls is None or response.stop_reason is not StopReason.TOOL_CALL:
            return None
        value = self.question.read_calls(response.tool_calls)
        return None if value is None else Decoded(value, "tool_calls")

    def _salvage(self, text: str) -> Decoded[T] | None:
        """The value that the question's own reader finds in a text without reasoning."""
        if self.question.salvage is None:
            return None
        stripped = self.runtime.decoder.strip(text)
        return None if stripped.is_unclosed else self.question.salvage(stripped.text)

    def unsure(self, prepared: Prepared, value: Decoded[T]) -> CallFailed | None:
        """Implement ``Operation.unsure``."""
        minimum, certainty = prepared.min_probability, self.question.certainty
        if minimum is None or certainty is None:
            return None
        model = prepared.request.model
        probability = certainty(value.value, model)
        return None if probability is None or probability >= minimum else unsure_failure(model, probability, minimum)

    def chain_facts(self) -> ChainRequest:
        """Implement ``Operation.chain_facts``."""
        return question_facts(self.question, self.composer.library)

    def is_final(self, failure: CallFailed) -> bool:
        """Implement ``Operation.is_final``."""
        return self.question.allows_empty and failure.is_empty


def _is_accepted(choice: Choice, step: NextAttempt) -> bool:
    """Whether a choice is sure enough: by the chain policy where it sets a threshold, else by the chooser."""
    if step.min_probability is None or choice.probability is None:
        return choice.is_sure
    return choice.probability >= step.min_probability


def question_facts(question: Question[Any], library: Library) -> ChainRequest:
    """Return what a chain policy sees of a question: for a selection from the catalog its task, else the answer type."""
    uses_catalog = question.needs_catalog or question.lists_catalog
    return ChainRequest(
        models=(),
        answer=question.task if uses_catalog else getattr(question.type, "__name__", str(question.type)),
        size_bytes=len(question.request) + len(question.context),
        catalog_entries=len(library.catalog) if uses_catalog else 0,
        sample=question.request[:CHAIN_SAMPLE],
    )


def _downgrades(request: ChatRequest) -> tuple[str, ...]:
    wanted = request.response_format
    return (BOUNDED,) if wanted is not None and wanted.offer is not None and wanted.offer.is_bounded else ()
