"""The methods of a deck that call no model: the catalog, budgets, dry runs, stored traces, and decoding."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, Unpack

import attrs

from helmdeck_core.calls.engine import LOCAL_CALLER, Engine
from helmdeck_core.calls.model_health import ModelHealth
from helmdeck_core.calls.parsed import decode_parsed
from helmdeck_core.calls.question_operation import question_facts
from helmdeck_core.context.completed_steps import check_completed
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.deck.arguments import check_request, check_type, plan_request
from helmdeck_core.deck.explain import Explanation, explain
from helmdeck_core.deck.portal import Portal
from helmdeck_core.deck.questions import AskOptions, cached_decodable, make_request
from helmdeck_core.domain.catalog import Catalog, OpenSource
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, StopReason, ToolDefinition
from helmdeck_core.domain.chat_input import ChatInput
from helmdeck_core.domain.decode import Decoded, DecodeFailed, Tried
from helmdeck_core.domain.models import BudgetLookup
from helmdeck_core.domain.packs import Pack
from helmdeck_core.domain.questions import Question, Selection
from helmdeck_core.domain.ranking import Ranking
from helmdeck_core.domain.tasks import CompletedStep
from helmdeck_core.domain.tool_calls import ToolCalls
from helmdeck_core.domain.traces import CallTrace, TraceStore
from helmdeck_core.packs.runner import Runner
from helmdeck_core.resolve.runtime import Runtime

T = TypeVar("T")


class Inspection:
    """The part of ``Helmdeck`` that calls no model."""

    runtime: Runtime
    _engine: Engine
    _runner: Runner
    _portal: Portal

    @functools.cached_property
    def _decodable(self) -> Callable[[Any], tuple[Any, Callable[[Any], Any] | None]]:
        return cached_decodable(self.runtime)

    @property
    def catalog(self) -> Catalog:
        """All entries; loaded at the first use."""
        return self._engine.library.catalog

    @property
    def open_sources(self) -> Mapping[str, OpenSource]:
        """The opened catalog sources by name, such as ``mcp``; the first use of the catalog opens them."""
        return self._engine.live_catalog.opened

    @property
    def history(self) -> Any:
        """The history of plans, a ``helmdeck_history.DeckHistory``; it is empty where no store is configured."""
        return self._runner.history

    def can_run(self, entry_id: str) -> bool:
        """Whether ``run`` can run an entry of the catalog; the application runs the others, which serve planning alone."""
        return self._runner.can_run(entry_id)

    def missing_programs(self, pack: str) -> Sequence[tuple[str, str]]:
        """The programs that an installed pack needs and that are not installed, each with the command that installs it."""
        return self._runner.missing_programs(pack)

    @property
    def runs(self) -> Any:
        """The run engine, a ``helmdeck_runs.RunEngine``, which executes and records runs of pipelines and agents."""
        return self._runner.runs

    def rank(self, intent: str, *, model: str | None = None, caller: str = LOCAL_CALLER) -> Ranking:
        """Rank the whole catalog for a request, on its full metadata, with the ranker of a model.

        :param caller: as for ``select``.
        :raises TypeError: the request is not a string.
        :raises ValueError: the request is undecodable input.
        """
        check_request(intent)
        return self._engine.library.rank(
            intent, self.budget(model).budget, self.history.learned(caller, intent).planned
        )

    def prepared(self, model: str | None = None) -> PreparedCatalog:
        """Return the catalog with the ladder that applies to a model."""
        return self._engine.library.prepared(self.budget(model).budget)

    def select(self, intent: str, *, model: str | None = None, caller: str = LOCAL_CALLER) -> Selection:
        """Fit the catalog to a model and a request, as a plan does. No model is called.

        :param caller: the caller, whose earlier plans for similar requests raise the scores of their entries.
        :raises TypeError: the request is not a string.
        :raises ValueError: the request is undecodable input.
        """
        check_request(intent)
        planned = self.history.learned(caller, intent).planned
        return self._engine.library.select(self.budget(model).budget, intent, planned=planned)

    def explain(
        self,
        intent: str,
        *,
        model: str | None = None,
        task: str = "plan",
        context: str = "",
        done: Iterable[CompletedStep] = (),
        defaults: Mapping[str, Any] | None = None,
        caller: str = LOCAL_CALLER,
    ) -> Explanation:
        """Dry run: return what would be sent for a request, and why. No model is called.

        :param task: ``plan``, ``route``, or another task that prompt variants serve.
        :param caller: as for ``select``.
        :raises ContextWindowExceeded: the request leaves no room for a catalog.
        :raises InvalidRequest: there is no prompt variant for the task.
        :raises PackError: a step of ``done`` is not in the catalog.
        :raises TypeError: the request is not a string.
        :raises ValueError: the request is undecodable input.
        """
        check_request(intent)
        asked = plan_request(intent, context, done, defaults)
        check_completed(f"helmdeck.{task}", asked.done, self.catalog)
        pack = self.runtime.contributed(Pack).get(f"helmdeck.{task}")
        question = Question(
            caller=f"helmdeck.{task}",
            task=task,
            type=dict,
            request=intent,
            context=context,
            done=asked.done,
            defaults=asked.defaults,
            learned=self.history.learned(caller, intent),
            constraint=pack.value.constraint if pack is not None else None,
            chosen_in=pack.value.chosen_in if pack is not None else (),
            chosen_by_name=pack.value.chosen_by_name if pack is not None else "",
        )
        model = self._engine.pool.registry.full_id(self.runtime.config.model if model is None else model)
        engine, library = self._engine, self._engine.library
        explanation = explain(engine.composer(library), engine.client, question, model)
        options = engine.options(model, question.caller, caller, question.limits)
        facts = functools.partial(question_facts, question, library)
        chain = engine.dispatcher.services.chains.order(facts, options, is_dry_run=True)
        return attrs.evolve(explanation, chain=chain)

    def chat_request(self, request: ChatRequest | ChatInput, **options: Unpack[AskOptions]) -> ChatRequest:
        """Return the request that ``ask`` sends for text; ``stream`` takes it."""
        return make_request(self.runtime, request, options)

    def budget(self, model: str | None = None) -> BudgetLookup:
        """Return the budget of a model, and the source of each field."""
        check_type("model", model or "", str)
        name = self._engine.pool.registry.full_id(self.runtime.config.model if model is None else model)
        return self.runtime.budgets.find(name, lists_prices=True)

    @property
    def health(self) -> ModelHealth:
        """The cooldowns of models, which calls that the deck does not make share.

        .. versionadded:: 0.2
        """
        return self._engine.dispatcher.services.health

    def sink(self, name: str) -> Any:
        """Return the open sink of this deck, such as the one whose ``render`` serves a metrics page; ``None`` if it is off.

        :param name: a name of ``[events] sinks``.
        """
        return next((owned.value.opened for owned in self.runtime.sinks if owned.value.name == name), None)

    @property
    def stores_traces(self) -> bool:
        """Whether an event sink stores call traces."""
        return any(isinstance(owned.value.opened, TraceStore) for owned in self.runtime.sinks)

    def traces(self, limit: int = 20) -> tuple[CallTrace, ...]:
        """Return the traces of the most recent calls, newest first; empty if no sink stores traces."""
        stores = list(self._from_trace_stores(lambda store: store.traces(limit)))
        if len(stores) < 2:
            return stores[0] if stores else ()
        found = {trace.call_id: trace for traces in stores for trace in traces}
        return tuple(sorted(found.values(), key=lambda trace: -trace.time)[:limit])

    def call_trace(self, call_id: str) -> CallTrace | None:
        """Return the trace of one call; ``None`` if it is not stored."""
        return next(
            (trace for trace in self._from_trace_stores(lambda store: store.call_trace(call_id)) if trace), None
        )

    def _from_trace_stores(self, read: Callable[[TraceStore], T]) -> Iterator[T]:
        for owned in self.runtime.sinks:
            if isinstance(owned.value.opened, TraceStore):
                with owned.faults():
                    found = read(owned.value.opened)
                yield found

    def budgets(self) -> list[BudgetLookup]:
        """Return all known rows, the fallback last."""
        return self.runtime.budgets.rows()

    def decode(
        self,
        raw: str | bytes,
        type: type[T],
        stop_reason: str | None = None,
        *,
        fits: Callable[[T], bool] | None = None,
        output_tokens: int = 0,
        tried: Tried | None = None,
    ) -> Decoded[T]:
        """Decode a model's answer: return a value that it literally contains.

        :param type: a msgspec Struct, an attrs class, ``dict``, or a list of one of these; or a Pydantic model or another
            type that a plugin supports; or a JSON Schema.
        :param stop_reason: the native stop reason of any provider.
        :param fits: a further condition, for an unspecific type such as ``dict``.
        :param output_tokens: the output tokens that the provider reports; 0 when it does not.
        :param tried: receives the name and the result of every decode step that was tried.
        :raises CallFailed: the subclass of the cause.
        :raises TypeError: an argument is of another type, or the type of the value is not supported.
        """
        check_type("the answer", raw, str, bytes, bytearray)
        stop = self._stop(stop_reason)
        check_type("output_tokens", output_tokens, int)
        decode_as, parse = self._decodable(type)
        decode = functools.partial(self.runtime.decoder.decode, output_tokens=output_tokens, tried=tried)
        try:
            return decode_parsed(decode, raw, decode_as, stop, parse, fits)
        except DecodeFailed as exc:
            what = "is empty" if exc.is_empty else "is not the requested JSON"
            raise exc.as_call(f"decode: the answer {what}", raw, raw_stop_reason=stop_reason) from exc

    def tool_calls(
        self,
        answer: str | ChatResponse,
        *,
        tools: Iterable[str | ToolDefinition] | None = None,
        stop_reason: str | None = None,
        model: str | None = None,
        partial: bool = False,
    ) -> ToolCalls:
        """Return the tool calls of an answer that may be executed: native ones, or else those in its text.

        Nothing is completed: a truncated call is reported and not executed, nor are the others of its list.

        :param tools: the offered tools, or their names; left out, every name is accepted. Definitions also distinguish
            strings from numbers where a format writes arguments without types.
        :param stop_reason: for a text, the native stop reason of any provider; a response has its own.
        :param model: the model, for formats that only some models write.
        :param partial: include the complete calls of a truncated answer.
        :raises TypeError: an argument is of another type, such as a single string as ``tools``.
        """
        if tools is not None and (isinstance(tools, str) or not isinstance(tools, Iterable)):
            raise TypeError(f"tools must be a list of names or definitions, found {tools!r}")
        offered = None if tools is None else tuple(tools)
        for each in offered or ():
            check_type("a tool", each, str, ToolDefinition)
        check_type("model", model or "", str)
        if isinstance(answer, ChatResponse):
            return self.runtime.tool_calls.judge(answer, tools=offered, model=model or "", partial=partial)
        check_type("the answer", answer, str)
        stop = self._stop(stop_reason)
        return self.runtime.tool_calls.read(answer, tools=offered, stop=stop, model=model or "", partial=partial)

    def _stop(self, stop_reason: str | None) -> StopReason | None:
        if stop_reason is None:
            return None
        check_type("stop_reason", stop_reason, str)
        return self.runtime.normalise_stop(stop_reason, "")
