"""The public API: one object that plans, routes, completes, selects and decodes, async and sync."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from helmdeck_core import log
from helmdeck_core.calls.engine import LOCAL_CALLER, Engine
from helmdeck_core.calls.models import list_models
from helmdeck_core.config.load import LoadedConfig, load_config
from helmdeck_core.config.structure import KeyPath
from helmdeck_core.config.types import Config
from helmdeck_core.config.validate import LOG_LEVELS
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.deck.explain import Explanation, explain
from helmdeck_core.deck.portal import Portal
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, ModelInfo, ToolDefinition
from helmdeck_core.domain.decode import Decoded, DecodeFailed, Tried
from helmdeck_core.domain.delta_batches import one_by_one
from helmdeck_core.domain.history import PlanRecord
from helmdeck_core.domain.models import BudgetLookup
from helmdeck_core.domain.packs import Pack, PackOutput
from helmdeck_core.domain.plans import Plan, PlanRequest, Route
from helmdeck_core.domain.questions import Question, Selection
from helmdeck_core.domain.ranking import Ranking
from helmdeck_core.domain.recovery import NO_LIMITS, CallLimits
from helmdeck_core.domain.tasks import CompletedStep
from helmdeck_core.domain.tool_calls import ToolCalls
from helmdeck_core.domain.traces import CallTrace, TraceStore
from helmdeck_core.hooks.manager import load_plugins
from helmdeck_core.packs.runner import Runner
from helmdeck_core.resolve import event_sinks
from helmdeck_core.resolve.runtime import Runtime, resolve

T = TypeVar("T")

PLAN_PACK = "helmdeck.plan"
ROUTE_PACK = "helmdeck.route"


class Helmdeck:
    """A deck: plugins, configuration and catalog, resolved once.

    ::

        with Helmdeck() as deck:
            plan = deck.plan("remember this and draft a blog post about it")

        async with Helmdeck(model="acme/small") as deck:
            plan = await deck.aplan("remember this and draft a blog post about it")

    Methods that start with ``a`` are coroutines; the others block. Thread-safe; may be used from several event loops.

    :param config: a complete configuration, or the result of ``load_config``; then nothing else is read.
    :param file: the configuration file; else ``HELMDECK_CONFIG``, else the nearest ``helmdeck.toml`` or
        ``[tool.helmdeck]`` from the current folder upwards.
    :param model: the default model.
    :param catalog_sources: names of catalog sources, or paths of JSON or TOML files.
    :param plugins: plugin objects by name, in addition to the installed ones.
    :param overrides: configuration by key path, such as ``{("selection", "ranker"): "mine"}``.
    :param environ: environment variables; the process's own by default.
    :param http_clients: HTTP clients by name of a provider, such as an ``httpx2.AsyncClient``; the deck does not close them.
    :raises ConfigError: with every mistake of the configuration.
    :raises PluginError: a plugin cannot be loaded, raised, or conflicts with another.
    """

    def __init__(
        self,
        config: Config | LoadedConfig | None = None,
        *,
        file: str | Path | None = None,
        model: str | None = None,
        catalog_sources: str | Iterable[str] | None = None,
        plugins: Mapping[str, object] | None = None,
        overrides: Mapping[KeyPath, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        autoload: bool | None = None,
        http_clients: Mapping[str, object] | None = None,
    ) -> None:
        arguments: dict[KeyPath, tuple[Any, str]] = {
            path: (value, ".".join(path)) for path, value in (overrides or {}).items()
        }
        if model is not None:
            arguments["model",] = (model, "model")
        if catalog_sources is not None:
            sources = [catalog_sources] if isinstance(catalog_sources, str) else list(catalog_sources)
            arguments["catalog", "sources"] = (sources, "catalog_sources")
        if autoload is not None:
            arguments["plugins", "autoload"] = (autoload, "autoload")
        if config is not None and (arguments or file is not None or environ is not None):
            raise TypeError("config is complete: it cannot be combined with other configuration arguments")
        if config is not None:
            loaded = config if isinstance(config, LoadedConfig) else LoadedConfig(config, {})
        else:
            path = Path(file) if file is not None else None
            loaded = load_config(file=path, environ=os.environ if environ is None else environ, arguments=arguments)
        self.runtime = make_runtime(loaded, plugins, http_clients or {})
        self._engine = Engine(self.runtime)
        self._runner = Runner(self._engine)
        self._portal = Portal()

    # -- planning ----------------------------------------------------------------------------------------

    async def aplan(
        self,
        intent: str,
        *,
        model: str | None = None,
        context: str = "",
        done: Iterable[CompletedStep] = (),
        defaults: Mapping[str, Any] | None = None,
        caller: str = LOCAL_CALLER,
        progress: Callable[[str], None] | None = None,
        limits: CallLimits = NO_LIMITS,
    ) -> Plan:
        """Plan a request: return validated steps over the catalog.

        :param intent: the request in plain words; it may contain documents.
        :param model: ``provider/model``; the default model when left out.
        :param context: additional information for the planner.
        :param done: steps of an earlier plan for the same request that were executed already.
        :param defaults: default values by input name.
        :param caller: the caller; a configured history is separate per caller.
        :param limits: attempts, seconds and cost of the call; the configuration's limits apply to the rest.
        :raises PackError: the input is invalid, such as a blank request.
        :raises CallFailed: there is no usable response; the subclass is the cause.
        """
        request = PlanRequest(intent, context=context, done=tuple(done), defaults=dict(defaults or {}))
        return await self._runner.run(
            PLAN_PACK, request, output_type=Plan, model=model, caller=caller, progress=progress, limits=limits
        )

    async def aroute(
        self,
        intent: str,
        *,
        model: str | None = None,
        context: str = "",
        defaults: Mapping[str, Any] | None = None,
        caller: str = LOCAL_CALLER,
        progress: Callable[[str], None] | None = None,
        limits: CallLimits = NO_LIMITS,
    ) -> Route:
        """Find the one pack or pipeline that serves a request, alternatives, and what no entry serves.

        Parameters and errors are those of ``aplan``.
        """
        request = PlanRequest(intent, context=context, defaults=dict(defaults or {}))
        return await self._runner.run(
            ROUTE_PACK, request, output_type=Route, model=model, caller=caller, progress=progress, limits=limits
        )

    async def arun(
        self,
        pack: str,
        given: Mapping[str, Any],
        *,
        model: str | None = None,
        caller: str = LOCAL_CALLER,
        progress: Callable[[str], None] | None = None,
        limits: CallLimits = NO_LIMITS,
    ) -> Mapping[str, Any]:
        """Run an installed pack and return its output as plain data.

        :raises PackError: with a code of the closed set.
        :raises CallFailed: a model call of the pack failed.
        """
        output: Mapping[str, Any] | PackOutput = await self._runner.run(
            pack, given, model=model, caller=caller, progress=progress, limits=limits
        )
        return output if isinstance(output, Mapping) else output.to_dict()

    async def acomplete(
        self,
        request: ChatRequest,
        *,
        allows_empty: bool = False,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> ChatResponse:
        """Send a request as it is and return the response, with a normalised stop reason.

        Failures are recovered from as for a plan; ``attempts`` of the response lists all attempts. A response without text and
        tool calls is a failure, unless it follows a tool result. A conversation that exceeds the window is sent again without
        its oldest turns, where ``[recovery] drop_turns`` allows it; ``downgrades`` reports that.

        :param allows_empty: accept an empty response.
        :raises CallFailed: the subclass of the cause.
        """
        return await self._engine.complete(request, allows_empty=allows_empty, caller=caller, limits=limits)

    def astream(
        self,
        request: ChatRequest,
        *,
        allows_empty: bool = False,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Send a request as it is: yield the chunks of the response as they arrive, and last the whole response.

        Fallbacks apply until a chunk was visible; no chunk is repeated. Closing the iterator closes the connection. Parameters
        are those of ``acomplete``.

        :raises CallFailed: the subclass of the cause, also between chunks.
        """
        return one_by_one(self._engine.stream(request, allows_empty=allows_empty, caller=caller, limits=limits))

    def plan(self, intent: str, **options: Any) -> Plan:
        """``aplan`` as a blocking call."""
        return self._portal.run(self.aplan(intent, **options))

    def route(self, intent: str, **options: Any) -> Route:
        """``aroute`` as a blocking call."""
        return self._portal.run(self.aroute(intent, **options))

    def run(self, pack: str, given: Mapping[str, Any], **options: Any) -> Mapping[str, Any]:
        """``arun`` as a blocking call."""
        return self._portal.run(self.arun(pack, given, **options))

    def complete(self, request: ChatRequest, **options: Any) -> ChatResponse:
        """``acomplete`` as a blocking call."""
        return self._portal.run(self.acomplete(request, **options))

    def stream(self, request: ChatRequest, **options: Any) -> Generator[ChatDelta | ChatResponse, None, None]:
        """``astream`` as a blocking call."""
        batches = self._engine.stream(request, **options)
        try:
            while (batch := self._portal.run(_next(batches))) is not None:
                if isinstance(batch, ChatResponse):
                    yield batch
                else:
                    yield from batch
        finally:
            self._portal.run(batches.aclose())

    async def amodels(self, provider: str) -> tuple[ModelInfo, ...]:
        """Return the models that a provider lists, without the provider's name; empty where it cannot list them.

        :raises CallFailed: the subclass of the cause.
        """
        return await list_models(self._engine.pool, provider)

    def models(self, provider: str) -> tuple[ModelInfo, ...]:
        """``amodels`` as a blocking call."""
        return self._portal.run(self.amodels(provider))

    # -- no model is called --------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """All entries; loaded at the first use."""
        return self._engine.library.catalog

    def rank(self, intent: str, *, model: str | None = None) -> Ranking:
        """Rank the whole catalog for a request, on its full metadata, with the ranker of a model."""
        return self._engine.library.rank(intent, self.budget(model).budget)

    def prepared(self, model: str | None = None) -> PreparedCatalog:
        """Return the catalog with the ladder that applies to a model."""
        return self._engine.library.prepared(self.budget(model).budget)

    def select(self, intent: str, *, model: str | None = None) -> Selection:
        """Fit the catalog to a model and a request, as a plan does. No model is called."""
        return self._engine.library.select(self.budget(model).budget, intent)

    def explain(
        self,
        intent: str,
        *,
        model: str | None = None,
        task: str = "plan",
        context: str = "",
        done: Iterable[CompletedStep] = (),
        defaults: Mapping[str, Any] | None = None,
    ) -> Explanation:
        """Dry run: return what would be sent for a request, and why. No model is called.

        :param task: ``plan``, ``route``, or another task that prompt variants serve.
        :raises ContextWindowExceeded: the request leaves no room for a catalog.
        :raises InvalidRequest: there is no prompt variant for the task.
        """
        pack = self.runtime.contributed(Pack).get(f"helmdeck.{task}")
        question = Question(
            caller=f"helmdeck.{task}",
            task=task,
            type=dict,
            request=intent,
            context=context,
            done=tuple(done),
            defaults=dict(defaults or {}),
            constraint=pack.value.constraint if pack is not None else None,
        )
        model = self._engine.pool.registry.full_id(self.runtime.config.model if model is None else model)
        return explain(self._engine.composer, self._engine.client, question, model)

    def budget(self, model: str | None = None) -> BudgetLookup:
        """Return the budget of a model, and the source of each field."""
        name = self._engine.pool.registry.full_id(self.runtime.config.model if model is None else model)
        return self.runtime.budgets.find(name, lists_prices=True)

    def plan_history(self, caller: str = LOCAL_CALLER, *, limit: int = 100) -> tuple[PlanRecord, ...]:
        """Return a caller's recorded plans, newest first; empty when no history is configured."""
        store = self._runner.history()
        return store.plans(caller, limit) if store is not None else ()

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
        return self._from_trace_store(lambda store: store.traces(limit)) or ()

    def call_trace(self, call_id: str) -> CallTrace | None:
        """Return the trace of one call; ``None`` if it is not stored."""
        return self._from_trace_store(lambda store: store.call_trace(call_id))

    def _from_trace_store(self, read: Callable[[TraceStore], T | None]) -> T | None:
        for owned in self.runtime.sinks:
            if isinstance(owned.value.opened, TraceStore):
                try:
                    return read(owned.value.opened)
                except Exception as exc:
                    raise owned.fault(f"{type(exc).__name__}: {exc}") from exc
        return None

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

        :param type: a msgspec Struct, an attrs class, ``dict``, or a list of one of these.
        :param stop_reason: the native stop reason of any provider.
        :param fits: a further condition, for an unspecific type such as ``dict``.
        :param output_tokens: the output tokens that the provider reports; 0 when it does not.
        :param tried: receives the name and the result of every decode step that was tried.
        :raises CallFailed: the subclass of the cause.
        """
        stop = self.runtime.normalise_stop(stop_reason, "")
        try:
            return self.runtime.decoder.decode(raw, type, stop, fits=fits, output_tokens=output_tokens, tried=tried)
        except DecodeFailed as exc:
            what = "is empty" if exc.is_empty else "is not the JSON that was asked for"
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
        """
        offered = None if tools is None else tuple(tools)
        if isinstance(answer, ChatResponse):
            return self.runtime.tool_calls.judge(answer, tools=offered, model=model or "", partial=partial)
        stop = None if stop_reason is None else self.runtime.normalise_stop(stop_reason, "")
        return self.runtime.tool_calls.read(answer, tools=offered, stop=stop, model=model or "", partial=partial)

    # -- end ---------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Close what the running loop opened, and what the blocking methods opened."""
        try:
            await self._engine.pool.aclose()
        finally:
            if self._portal.is_started:
                await asyncio.to_thread(self.close)
            else:
                self.close()

    def close(self) -> None:
        """Close what the blocking methods opened, and the sinks."""
        try:
            if self._portal.is_started:
                try:
                    self._portal.cancel()  # otherwise a call without its connection would open another one
                    self._portal.run(self._engine.pool.aclose())
                finally:
                    self._portal.close()
        finally:
            event_sinks.close(self.runtime.sinks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


async def _next(batches: AsyncGenerator[T, None]) -> T | None:
    return await anext(batches, None)


def make_runtime(loaded: LoadedConfig, plugins: Mapping[str, object] | None, clients: Mapping[str, object]) -> Runtime:
    """Load the plugins of a configuration and resolve everything.

    :raises ConfigError: with every mistake of the configuration.
    :raises PluginError: a plugin cannot be loaded, raised, or conflicts with another.
    """
    wanted = loaded.config.plugins
    found = load_plugins(extra=plugins, disable=wanted.disable, first=wanted.first, autoload=wanted.autoload)
    if loaded.config.log_level and loaded.config.log_level.upper() in LOG_LEVELS:
        log.enable(loaded.config.log_level)
    return resolve(found, loaded, clients)
