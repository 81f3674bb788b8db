"""The front door: one object that plans, routes, completes, selects and decodes, async and sync."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from helmdeck_core import log
from helmdeck_core.calls.engine import LOCAL_CALLER, Engine
from helmdeck_core.calls.models import list_models
from helmdeck_core.config.load import KeyPath, LoadedConfig, load_config
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
from helmdeck_core.domain.packs import PackOutput
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
    """A deck: plugins, configuration and catalog, resolved once and ready to be asked.

    ::

        with Helmdeck() as deck:
            plan = deck.plan("remember this and draft a blog post about it")

        async with Helmdeck(model="acme/small") as deck:
            plan = await deck.aplan("remember this and draft a blog post about it")

    Methods that start with ``a`` are coroutines; the others wait. A deck may be used from several threads and loops.

    :param config: a finished configuration, or one as ``load_config`` read it; then nothing else is read.
    :param file: the configuration file; else ``HELMDECK_CONFIG``, else the nearest ``helmdeck.toml`` or
        ``[tool.helmdeck]`` from the current folder upwards.
    :param model: the model to ask when a call names none.
    :param catalog_sources: names of catalog sources, or paths of JSON or TOML files.
    :param plugins: plugin objects by name, beside the installed ones.
    :param overrides: configuration by key path, such as ``{("selection", "ranker"): "mine"}``.
    :param environ: environment variables; the process's own by default.
    :raises ConfigError: with every mistake of the configuration.
    :raises PluginError: a plugin cannot be loaded, raised, or clashes with another.
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
            raise TypeError("a finished configuration is given, so that nothing else can be said beside it")
        if config is not None:
            loaded = config if isinstance(config, LoadedConfig) else LoadedConfig(config, {})
        else:
            loaded = load_config(
                file=Path(file) if file is not None else None,
                environ=os.environ if environ is None else environ,
                arguments=arguments,
            )
        self.runtime = make_runtime(loaded, plugins)
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
        """Turn a request into a validated plan over the catalog.

        :param intent: the request in plain words; it may carry pasted documents.
        :param model: ``provider/model``; the deployment's default when left out.
        :param context: what else the planner should know.
        :param done: steps of an earlier plan for the same request that were run already.
        :param defaults: values that the caller usually gives, by input name.
        :param caller: who asks; a history, where one is configured, is kept apart by it.
        :param limits: attempts, seconds and cost of the call; what they leave open is the configuration's.
        :raises PackError: the input is not usable, such as a blank request.
        :raises CallFailed: the model gave nothing usable; the subclass is the cause.
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
        """Find the one pack or pipeline that serves a request, alternatives, and what nothing serves.

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
        """Send a request as it is and return what came back, with its stop reason in one language.

        A failure is recovered from as that of a plan is; ``attempts`` of the response lists what was tried. An answer without
        text and tool calls is a failure, unless it follows on the result of a tool. A conversation that is too large is sent
        again without its oldest turns, where ``[recovery] drop_turns`` allows it, and ``downgrades`` says so.

        :param allows_empty: an empty answer is as good as any.
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
        """Send a request as it is: the pieces of the answer as they come, and last the whole response.

        Another model takes over as long as nothing visible came; what was given on is never repeated. Closing the iterator
        drops the connection. Parameters are those of ``acomplete``.

        :raises CallFailed: the subclass of the cause, also in the middle of an answer.
        """
        return one_by_one(self._engine.stream(request, allows_empty=allows_empty, caller=caller, limits=limits))

    def plan(self, intent: str, **options: Any) -> Plan:
        """``aplan`` for callers that wait."""
        return self._portal.run(self.aplan(intent, **options))

    def route(self, intent: str, **options: Any) -> Route:
        """``aroute`` for callers that wait."""
        return self._portal.run(self.aroute(intent, **options))

    def run(self, pack: str, given: Mapping[str, Any], **options: Any) -> Mapping[str, Any]:
        """``arun`` for callers that wait."""
        return self._portal.run(self.arun(pack, given, **options))

    def complete(self, request: ChatRequest, **options: Any) -> ChatResponse:
        """``acomplete`` for callers that wait."""
        return self._portal.run(self.acomplete(request, **options))

    def stream(self, request: ChatRequest, **options: Any) -> Generator[ChatDelta | ChatResponse, None, None]:
        """``astream`` for callers that wait."""
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
        """The models that a provider lists, without its own name before theirs; none where it has no list.

        :raises CallFailed: the subclass of the cause.
        """
        return await list_models(self._engine.pool, provider)

    def models(self, provider: str) -> tuple[ModelInfo, ...]:
        """``amodels`` for callers that wait."""
        return self._portal.run(self.amodels(provider))

    # -- without a model ---------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """Everything that can be planned; loaded at the first use."""
        return self._engine.library.catalog

    def rank(self, intent: str, *, model: str | None = None) -> Ranking:
        """Order the whole catalog by what a request needs, on its full metadata, with the ranker of a model."""
        return self._engine.library.rank(intent, self.budget(model).budget)

    def prepared(self, model: str | None = None) -> PreparedCatalog:
        """The catalog on every rung of the ladder that applies to a model."""
        return self._engine.library.prepared(self.budget(model).budget)

    def select(self, intent: str, *, model: str | None = None) -> Selection:
        """Fit the catalog to a model and a request, as a plan would, without asking anyone."""
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
        """Say what would be sent for a request, and why, without asking anyone.

        :param task: ``plan``, ``route``, or another task that prompt variants serve.
        :raises ContextWindowExceeded: the request leaves no room for a catalog.
        :raises InvalidRequest: there is no prompt variant for the task.
        """
        pack = self.runtime.packs.get(f"helmdeck.{task}")
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
        model = self.runtime.config.model if model is None else model
        return explain(self._engine.composer, self._engine.client, question, model)

    def budget(self, model: str | None = None) -> BudgetLookup:
        """What a model is asked to take and to give, and where each field comes from."""
        return self.runtime.budgets.find(self.runtime.config.model if model is None else model)

    def plan_history(self, caller: str = LOCAL_CALLER, *, limit: int = 100) -> tuple[PlanRecord, ...]:
        """A caller's recorded plans, the newest first; empty when no history is configured."""
        store = self._runner.history()
        return store.plans(caller, limit) if store is not None else ()

    def sink(self, name: str) -> Any:
        """What a sink opened for this deck, such as the one whose ``render`` a metrics page shows; ``None`` if it is off.

        :param name: a name of ``[events] sinks``.
        """
        return next((owned.value.opened for owned in self.runtime.sinks if owned.value.name == name), None)

    @property
    def stores_traces(self) -> bool:
        """Whether a sink keeps the stories of calls."""
        return any(isinstance(owned.value.opened, TraceStore) for owned in self.runtime.sinks)

    def runs(self, limit: int = 20) -> tuple[CallTrace, ...]:
        """The stories of the last calls, the newest first; empty where no sink keeps them."""
        return self._kept(lambda keeper: keeper.runs(limit)) or ()

    def call_trace(self, call_id: str) -> CallTrace | None:
        """The story of one call; ``None`` where it is not kept."""
        return self._kept(lambda keeper: keeper.call_trace(call_id))

    def _kept(self, look: Callable[[TraceStore], T | None]) -> T | None:
        for owned in self.runtime.sinks:
            if isinstance(owned.value.opened, TraceStore):
                try:
                    return look(owned.value.opened)
                except Exception as exc:
                    raise owned.fault(f"{type(exc).__name__}: {exc}") from exc
        return None

    def budgets(self) -> list[BudgetLookup]:
        """Every known row, the fallback last."""
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
        """Read a model's answer: a value that it literally holds, or why there is none.

        :param type: a msgspec Struct, an attrs class, ``dict``, or a list of one of these.
        :param stop_reason: why the model stopped, in any provider's words.
        :param fits: a further condition, for a type that says little, such as ``dict``.
        :param output_tokens: what the provider says was generated; 0 when it does not say.
        :param tried: is told every way to read the answer that was tried, by its name, and what came of it.
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
        """Say which tool calls of an answer may be run: native ones, or else those that it holds as text.

        Nothing is ever completed: a call that was cut is flagged and not run, nor are the others of its list.

        :param tools: the tools that were offered, or their names; left out, every name passes. Definitions also tell
            text from numbers where a dialect writes arguments without types.
        :param stop_reason: for a text, why the model stopped, in any provider's words; a response has its own.
        :param model: who answered, for dialects that only some models write.
        :param partial: run the complete calls of an answer that was cut.
        """
        offered = None if tools is None else tuple(tools)
        if isinstance(answer, ChatResponse):
            return self.runtime.tool_calls.judge(answer, tools=offered, model=model or "", partial=partial)
        stop = None if stop_reason is None else self.runtime.normalise_stop(stop_reason, "")
        return self.runtime.tool_calls.read(answer, tools=offered, stop=stop, model=model or "", partial=partial)

    # -- end ---------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Close what the running loop opened, and what the waiting methods did."""
        try:
            await self._engine.pool.aclose()
        finally:
            if self._portal.is_started:
                await asyncio.to_thread(self.close)
            else:
                self.close()

    def close(self) -> None:
        """Close what the waiting methods opened, and the sinks."""
        try:
            if self._portal.is_started:
                try:
                    self._portal.cancel()  # a call whose connections go would look for others
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


def make_runtime(loaded: LoadedConfig, plugins: Mapping[str, object] | None = None) -> Runtime:
    """Load the plugins that a configuration asks for and resolve everything.

    :raises ConfigError: with every mistake of the configuration.
    :raises PluginError: a plugin cannot be loaded, raised, or clashes with another.
    """
    wanted = loaded.config.plugins
    found = load_plugins(extra=plugins, disable=wanted.disable, first=wanted.first, autoload=wanted.autoload)
    if loaded.config.log_level and loaded.config.log_level.upper() in LOG_LEVELS:
        log.enable(loaded.config.log_level)
    return resolve(found, loaded)
