"""The public API: one object that plans, routes, asks, completes, selects and decodes, async and sync."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack, overload

from helmdeck_core import log
from helmdeck_core.calls.engine import LOCAL_CALLER, Engine
from helmdeck_core.calls.models import list_models
from helmdeck_core.config.load import LoadedConfig
from helmdeck_core.config.structure import KeyPath
from helmdeck_core.config.types import Config
from helmdeck_core.config.validate import LOG_LEVELS
from helmdeck_core.deck.arguments import check_type, load_arguments, plan_request
from helmdeck_core.deck.inspection import Inspection
from helmdeck_core.deck.portal import Portal, RunningCalls, blocking, stoppable, stops_at_close
from helmdeck_core.deck.questions import AskOptions, make_request, typed_question
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, Role
from helmdeck_core.domain.chat_input import ChatInput
from helmdeck_core.domain.delta_batches import one_by_one
from helmdeck_core.domain.packs import PackOutput
from helmdeck_core.domain.plans import Plan, Route
from helmdeck_core.domain.providers import ModelInfo
from helmdeck_core.domain.questions import Answer
from helmdeck_core.domain.recovery_actions import NO_LIMITS, CallLimits
from helmdeck_core.domain.tasks import CompletedStep
from helmdeck_core.errors import CallFailed, PluginError
from helmdeck_core.hooks.manager import load_plugins
from helmdeck_core.packs.runner import Runner
from helmdeck_core.resolve import event_sinks
from helmdeck_core.resolve.runtime import Runtime, resolve_runtime

T = TypeVar("T")

PLAN_PACK = "helmdeck.plan"
ROUTE_PACK = "helmdeck.route"


class Helmdeck(Inspection):
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
    :param catalog_sources: names of catalog sources, or paths of JSON or TOML files; one, or several.
    :param plugins: plugin objects by name, in addition to the installed ones.
    :param overrides: configuration by key path, such as ``{("selection", "ranker"): "mine"}``; or by dotted key, such as
        ``{"selection.ranker": "mine"}``, unless a part of the key contains a dot.
    :param environ: environment variables with settings; the process's own by default. Keys (``env:NAME``) are read from the
        process's own in any case.
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
        catalog_sources: str | Path | Iterable[str | Path] | None = None,
        plugins: Mapping[str, object] | None = None,
        overrides: Mapping[KeyPath, Any] | Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        autoload: bool | None = None,
        http_clients: Mapping[str, object] | None = None,
    ) -> None:
        loaded = load_arguments(
            config,
            file=file,
            environ=environ,
            overrides=overrides,
            model=model,
            catalog_sources=catalog_sources,
            autoload=autoload,
        )
        self.runtime: Runtime = make_runtime(loaded, plugins, http_clients or {})
        self._engine = Engine(self.runtime)
        self._runner = Runner(self._engine)
        self._portal = Portal()
        self._calls = RunningCalls()

    # -- planning ----------------------------------------------------------------------------------------

    @stops_at_close
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
        :param defaults: default values by input name; ``notices`` of the plan names those that no entry has an input for.
        :param caller: the caller; a configured history is separate per caller.
        :param limits: attempts, seconds and cost of the call; the configuration's limits apply to the rest.
        :raises PackError: the input is invalid, such as a blank request, or a step of ``done`` that the catalog does not have.
        :raises CallFailed: there is no usable response; the subclass is the cause.
        """
        request = plan_request(intent, context, done, defaults)
        return await self._runner.run(
            PLAN_PACK, request, output_type=Plan, model=model, caller=caller, progress=progress, limits=limits
        )

    @stops_at_close
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
        request = plan_request(intent, context, (), defaults)
        return await self._runner.run(
            ROUTE_PACK, request, output_type=Route, model=model, caller=caller, progress=progress, limits=limits
        )

    @stops_at_close
    async def arun(
        self,
        pack: str,
        arguments: Mapping[str, Any],
        *,
        model: str | None = None,
        caller: str = LOCAL_CALLER,
        progress: Callable[[str], None] | None = None,
        limits: CallLimits = NO_LIMITS,
    ) -> Mapping[str, Any]:
        """Run an installed pack, or an entry whose source runs it, and return its output as plain data.

        :param pack: the name of the pack, or the id of the entry, such as a step of a plan.
        :raises PackError: with a code of the closed set.
        :raises CallFailed: a model call of the pack failed.
        """
        output: Mapping[str, Any] | PackOutput
        with self.history.recording(caller, pack, arguments):
            output = await self._runner.run(
                pack, arguments, model=model, caller=caller, progress=progress, limits=limits
            )
        return output if isinstance(output, Mapping) else output.to_dict()

    @overload
    async def aask(self, request: ChatInput, **options: Unpack[AskOptions]) -> Answer[str]: ...
    @overload
    async def aask(self, request: ChatInput, type: type[T], **options: Unpack[AskOptions]) -> Answer[T]: ...
    @overload
    async def aask(self, request: ChatInput, type: object, **options: Unpack[AskOptions]) -> Answer[Any]: ...
    async def aask(self, request: ChatInput, type: Any = str, **options: Unpack[AskOptions]) -> Answer[Any]:
        """Ask a model; the value of the answer has the requested type.

        ::

            deck.ask("What is the capital of France?").value
            deck.ask(text, type=Invoice, system="Amounts are in euros.", images="scan.png").value.total

        :param request: the question, or a conversation whose last message is the user's.
        :param type: ``str`` for text; a Pydantic model, dataclass, attrs class, msgspec Struct, ``TypedDict``, ``list[...]``,
            ``Literal`` or another type that a plugin supports; or a JSON Schema as a dict, for plain data.
        :param options: see ``AskOptions``.
        :returns: the value, with the model, the attempts and the cost.
        :raises TypeError: the type is not supported; the message lists the supported ones.
        :raises CallFailed: there is no usable answer; the subclass is the cause.
        """
        return await self._ask(request, type, options)

    @stops_at_close
    async def _ask(self, request: ChatInput, type: Any, options: AskOptions) -> Answer[Any]:
        caller, limits = options.get("caller", LOCAL_CALLER), options.get("limits", NO_LIMITS)
        chat = make_request(self.runtime, request, options)
        if (role := chat.messages[-1].role) is not Role.USER:
            raise ValueError(f"the last message must have the role user, found {role.value}")
        if type is str:
            try:
                streams = options.get("streams", False)
                return await self._engine.ask_text(chat, caller=caller, limits=limits, streams=streams)
            except CallFailed as exc:
                if not options.get("partial"):
                    raise
                return self._engine.partial_answer(chat, exc)
        return await self._engine.ask(typed_question(self.runtime, chat, type), caller=caller, limits=limits)

    @stops_at_close
    async def acomplete(
        self,
        request: ChatRequest | ChatInput,
        *,
        model: str | None = None,
        allows_empty: bool = False,
        allows_truncated: bool = True,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> ChatResponse:
        """Send a request unchanged, a string or a conversation; return the response, with a normalised stop reason.

        Failures are recovered from as for a plan; ``attempts`` of the response lists all attempts. A response without text and
        tool calls is a failure, unless it follows a tool result. A conversation that exceeds the window is sent again without
        its oldest turns, where ``[recovery] drop_turns`` allows it; ``downgrades`` reports that.

        :param model: ``provider/model``; the default is that of the ``ChatRequest``, else the deck's.
        :param allows_empty: accept an empty response.
        :param allows_truncated: accept a text that stays truncated after its continuations. Otherwise it is a failure, after
            which the next model of the chain is called; ``partial`` of the error is the longest truncated response. It is
            accepted where the request sets ``max_tokens``.
        :raises CallFailed: the subclass of the cause.
        """
        request = make_request(self.runtime, request, {"model": model})
        return await self._engine.complete(
            request, allows_empty=allows_empty, allows_truncated=allows_truncated, caller=caller, limits=limits
        )

    def astream(
        self,
        request: ChatRequest | ChatInput,
        *,
        model: str | None = None,
        allows_empty: bool = False,
        allows_truncated: bool = True,
        within_budget: bool = False,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Send a request, a string or a conversation: yield the chunks of the response as they arrive, and last the response.

        Fallbacks apply until a chunk was visible; no chunk is repeated. Closing the iterator closes the connection. Parameters
        are those of ``acomplete``.

        :param within_budget: raise ``ContextWindowExceeded`` for a request that exceeds the input limit of a model's budget, as
            ``ask`` does, instead of leaving that to the provider.
        :raises CallFailed: the subclass of the cause, also between chunks.
        """
        options: Any = {"allows_empty": allows_empty, "allows_truncated": allows_truncated}
        options |= {"within_budget": within_budget, "caller": caller, "limits": limits}
        return one_by_one(self.astream_batches(make_request(self.runtime, request, {"model": model}), **options))

    def astream_batches(
        self,
        request: ChatRequest,
        *,
        allows_empty: bool = False,
        allows_truncated: bool = True,
        within_budget: bool = False,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Like ``astream``, with the chunks that arrived together in one sequence."""
        batches = self._engine.stream(
            request,
            allows_empty=allows_empty,
            allows_truncated=allows_truncated,
            within_budget=within_budget,
            caller=caller,
            limits=limits,
        )
        return stoppable(self._calls, batches)

    plan = blocking(aplan)
    route = blocking(aroute)
    run = blocking(arun)
    complete = blocking(acomplete)

    @overload
    def ask(self, request: ChatInput, **options: Unpack[AskOptions]) -> Answer[str]: ...
    @overload
    def ask(self, request: ChatInput, type: type[T], **options: Unpack[AskOptions]) -> Answer[T]: ...
    @overload
    def ask(self, request: ChatInput, type: object, **options: Unpack[AskOptions]) -> Answer[Any]: ...
    def ask(self, request: ChatInput, type: Any = str, **options: Unpack[AskOptions]) -> Answer[Any]:
        """``aask`` as a blocking call."""
        return self._portal.run(self.aask(request, type, **options))

    def stream(
        self,
        request: ChatRequest | ChatInput,
        *,
        model: str | None = None,
        allows_empty: bool = False,
        allows_truncated: bool = True,
        within_budget: bool = False,
        caller: str = LOCAL_CALLER,
        limits: CallLimits = NO_LIMITS,
    ) -> Generator[ChatDelta | ChatResponse, None, None]:
        """``astream`` as a blocking call."""
        request = make_request(self.runtime, request, {"model": model})
        batches = self._engine.stream(
            request,
            allows_empty=allows_empty,
            allows_truncated=allows_truncated,
            within_budget=within_budget,
            caller=caller,
            limits=limits,
        )
        with contextlib.closing(self._portal.iterate(batches)) as items:
            for batch in items:
                if isinstance(batch, ChatResponse):
                    yield batch
                else:
                    yield from batch

    def report_texts(self, call_id: str, request: ChatRequest, response: ChatResponse) -> None:
        """Pass the texts of a call that made no request, such as an answer from a cache, to the sinks that record texts.

        :param call_id: that of the events of the call.
        """
        self._engine.report_texts(call_id, request, response)

    @stops_at_close
    async def amodels(self, provider: str) -> tuple[ModelInfo, ...]:
        """Return the models that a provider lists, without the provider's name; empty where it cannot list them.

        :raises CallFailed: the subclass of the cause.
        """
        return await list_models(self._engine.pool, provider)

    models = blocking(amodels)

    # -- end ---------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Stop the calls of the running loop and close what it opened, and what the blocking methods opened.

        The stopped calls raise ``Cancelled``.
        """
        try:
            await self._calls.stop()  # otherwise a call without its connection would open another one
            await self._engine.pool.aclose()
        finally:
            if self._portal.is_started or self._engine.live_catalog.opened or "runs" in vars(self._runner):
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
            try:
                self._engine.live_catalog.close()
                self.history.close()
                self._engine.dispatcher.services.chains.close()
                if "runs" in vars(self._runner):
                    vars(self._runner).pop("runs").close()
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


def make_runtime(loaded: LoadedConfig, plugins: Mapping[str, object] | None, clients: Mapping[str, object]) -> Runtime:
    """Load the plugins of a configuration and resolve everything.

    :raises ConfigError: with every mistake of the configuration.
    :raises PluginError: a required plugin, a built-in or one of ``plugins`` cannot be loaded, raised, or conflicts with another.
    """
    if plugins is not None and not isinstance(plugins, Mapping):
        raise TypeError(f'plugins is a {type(plugins).__name__}; pass plugins by name, such as {{"acme": acme_plugin}}')
    for name, plugin in (plugins or {}).items():
        if plugin is None or isinstance(plugin, (str, Path)):  # it has no hooks, and would be ignored
            raise TypeError(
                f"plugins[{name!r}] is a {type(plugin).__name__}; pass the plugin itself, or its file as an override of plugins.files"
            )
    check_type("http_clients", clients, Mapping)
    wanted = loaded.config.plugins
    found = load_plugins(
        extra=plugins,
        files=wanted.files,
        disable=wanted.disable,
        first=wanted.first,
        autoload=wanted.autoload,
        required=wanted.required,
        limit_s=wanted.load_timeout_s,
    )
    if loaded.config.log_level and loaded.config.log_level.upper() in LOG_LEVELS:
        log.enable(loaded.config.log_level)
    while True:
        try:
            return resolve_runtime(found, loaded, clients)
        except PluginError as exc:
            found = found.without(exc)
