"""The one way to a model, and the one way to run a pack.

A question goes: budget, prompt variant, selection, layout, dispatch, decode. Every caller takes this way, so that a fix
in one place fixes all.
"""

from __future__ import annotations

import asyncio
import difflib
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

from helmdeck_core.catalogs import load_catalog
from helmdeck_core.domain.asking import Answer, PromptVariant, Question, Selection
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, ResponseFormat, StopReason
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.domain.events import CallFinished, CallGaveUp, CatalogSelected, HistoryFailed, StopReasonUnknown
from helmdeck_core.domain.history import HistoryStore, PlanRecord
from helmdeck_core.domain.models import Budget, Tier, resolve_variant
from helmdeck_core.domain.packs import Output, Pack
from helmdeck_core.domain.plans import Task
from helmdeck_core.domain.ranking import RankIndex
from helmdeck_core.errors import (
    FAILURES,
    CallFailed,
    ContextWindowExceeded,
    HelmdeckError,
    InvalidRequest,
    PackError,
    PackErrorCode,
    PluginError,
)
from helmdeck_core.gateway import Gateway
from helmdeck_core.ladder import PreparedCatalog
from helmdeck_core.prompting import BYTES_PER_TOKEN, estimate_tokens, lay_out
from helmdeck_core.runtime import Runtime
from helmdeck_core.schemas import schema_problems
from helmdeck_core.selection import Limits, select

T = TypeVar("T")

LOCAL_CALLER = "local"
"""Who asks where nobody says."""

MESSAGE_TOKENS = 64
"""Room for what a chat template adds around two messages."""

SMALLEST_CATALOG_BYTES = 512
"""Below this no useful entry fits, and the request itself is what is too large."""


class Engine:
    """Answers questions and runs packs over one resolved runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.gateway = Gateway(runtime)
        # Indexes and ladders are built at the first use, perhaps by several threads at once.
        self._lock = threading.RLock()
        self._catalog: Catalog | None = None
        self._index: RankIndex | None = None
        self._prepared: dict[tuple[str, ...], PreparedCatalog] = {}
        self._history: HistoryStore | None = None
        self._unknown_stops: set[tuple[str, str, str]] = set()

    # -- what depends on the catalog alone ---------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """Everything that can be planned; loaded at the first use.

        :raises CatalogError: a source cannot be read.
        """
        if self._catalog is None:
            with self._lock:
                self._catalog = self._catalog or load_catalog(self.runtime)
        return self._catalog

    @property
    def index(self) -> RankIndex:
        """The configured ranker's index of the full catalog; built at the first use."""
        if self._index is None:
            with self._lock:
                if self._index is None:
                    owned = self.runtime.rankers[self.runtime.config.selection.ranker]
                    try:
                        self._index = owned.value.index(self.catalog)
                    except Exception as exc:
                        raise PluginError(owned.plugin, "helmdeck_rankers", f"{type(exc).__name__}: {exc}") from exc
        return self._index

    def prepared(self, budget: Budget) -> PreparedCatalog:
        """The catalog with all rungs of the ladder that applies to a model."""
        steps = self.runtime.ladder(budget.tier, budget.model)
        key = tuple(step.value.name for step in steps)
        if key not in self._prepared:
            with self._lock:
                if key not in self._prepared:
                    self._prepared[key] = PreparedCatalog(self.catalog, steps, self.runtime.emit)
        return self._prepared[key]

    # -- selection ---------------------------------------------------------------------------------------

    def limits(self, budget: Budget, other_tokens: int) -> Limits:
        """What a selection must keep to: the budget's cap, and what the window leaves beside the rest of the prompt.

        :param other_tokens: tokens of everything in the prompt that is not the catalog.
        """
        rules = self.runtime.config.selection
        room = (budget.input_tokens - other_tokens - MESSAGE_TOKENS) * BYTES_PER_TOKEN
        cap = budget.max_catalog_bytes
        # A catalog that the window takes whole needs no cap, and then nothing may be ranked or trimmed.
        if cap is None and self.prepared(budget).full_bytes > room:
            cap = room
        elif cap is not None:
            cap = min(cap, room)
        return Limits(cap=cap, max_entries=rules.max_entries[budget.tier], confidence=rules.confidence)

    def select(self, budget: Budget, request: str, other_tokens: int = 0) -> Selection:
        """Fit the catalog to a model and a request.

        :raises ContextWindowExceeded: the rest of the prompt leaves no room for any entry.
        """
        limits = self.limits(budget, other_tokens)
        if limits.cap is not None and limits.cap < SMALLEST_CATALOG_BYTES and len(self.catalog):
            raise ContextWindowExceeded(
                "the request leaves no room for a catalog",
                budget.model,
                detail=f"the prompt without it has about {other_tokens:,} tokens, the budget is {budget.input_tokens:,}",
            )
        return select(self.prepared(budget), _Late(lambda: self.index), request, limits)

    # -- the one way -------------------------------------------------------------------------------------

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
            served_model=response.served_model,
            variant=variant.variant,
            budget=budget,
            selection=selection,
            usage=response.usage,
            step=decoded.step,
            repairs=decoded.repairs,
            downgrades=response.downgrades,
            latency_s=response.latency_s,
        )

    async def dispatch(self, request: ChatRequest) -> ChatResponse:
        """Send one request as it is; an unknown stop reason is reported once per provider, model and word.

        :raises CallFailed: the subclass of the cause.
        """
        response = await self.gateway.complete(request)
        if response.stop_reason is StopReason.UNKNOWN and response.raw_stop_reason:
            provider = request.model.partition("/")[0]
            seen = (provider, request.model, response.raw_stop_reason)
            if seen not in self._unknown_stops:
                self._unknown_stops.add(seen)
                self.runtime.emit(StopReasonUnknown(provider=provider, model=request.model, raw=seen[2]))
        return response

    def _checked_model(self, caller: str, model: str) -> str:
        if not self.gateway.names:
            raise PackError(caller, PackErrorCode.INTERNAL, "no provider is available; enable a provider plugin")
        return str(self.gateway.check(model))

    def _variant(self, question: Question[Any], budget: Budget) -> PromptVariant:
        if question.instructions is not None:
            return PromptVariant(
                task=question.task,
                variant="plain",
                instructions=question.instructions,
                render=lambda task: task.request,
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
        rest = estimate_tokens(variant.instructions) + estimate_tokens(variant.render(task))
        if not question.needs_catalog:
            if rest + MESSAGE_TOKENS > budget.input_tokens:
                raise ContextWindowExceeded(
                    "the request is larger than the model's budget",
                    budget.model,
                    detail=f"it has about {rest:,} tokens, the budget is {budget.input_tokens:,}",
                )
            return task, None
        selection = self.select(budget, question.request, rest)
        shortlist: tuple[str, ...] = ()
        most = self.runtime.config.selection.shortlist
        if budget.supports_prefix_cache and not selection.depends_on_request and len(selection.catalog) > most:
            scores = self.index.rank(question.request).scores[:most]
            shortlist = tuple(score.id for score in scores if score.score > 0)
        return attrs.evolve(task, catalog=selection.catalog, shortlist=shortlist), selection

    # -- history -----------------------------------------------------------------------------------------

    def history(self) -> HistoryStore | None:
        """The configured store, opened at the first use; ``None`` when nothing is to be remembered.

        :raises PluginError: the store cannot be opened.
        """
        url = self.runtime.config.history.url
        if url is not None and self._history is None:
            scheme, _, target = url.partition(":")
            owned = self.runtime.history_stores[scheme]
            with self._lock:
                try:
                    self._history = self._history or owned.value.open(target, self.runtime.config.history.keep_days)
                except Exception as exc:
                    detail = f"{scheme}: {type(exc).__name__}: {exc}"
                    raise PluginError(owned.plugin, "helmdeck_history_stores", detail) from exc
        return self._history

    async def remember(self, record: PlanRecord) -> None:
        """Keep a record in a thread of its own; a failure is an event and nothing else."""
        if self.runtime.config.history.url is None:
            return
        try:
            store = self.history()
            if store is not None:
                await asyncio.to_thread(store.add, record)
        except Exception as exc:
            self.runtime.emit(HistoryFailed(caller=record.caller, detail=f"{type(exc).__name__}: {exc}"))

    # -- packs -------------------------------------------------------------------------------------------

    async def run(
        self,
        name: str,
        given: Mapping[str, Any],
        *,
        model: str | None = None,
        caller: str = LOCAL_CALLER,
        progress: Callable[[str], None] | None = None,
    ) -> Mapping[str, Any] | Output:
        """Run a pack: check the input, run the handler, check the output.

        :raises PackError: with a code of the closed set.
        :raises CallFailed: a model call of the pack failed.
        """
        pack = self._pack(name)
        if problems := schema_problems(pack.input_schema, given):
            raise PackError(name, PackErrorCode.INVALID_INPUT, "; ".join(problems))
        try:
            output = await pack.run(_Context(self, model, caller, progress or _silent), given)
        except (HelmdeckError, asyncio.CancelledError):
            raise
        except Exception as exc:
            raise PackError(name, PackErrorCode.HANDLER_FAILED, f"{type(exc).__name__}: {exc}") from exc
        if not isinstance(output, Mapping) and not hasattr(output, "to_dict"):
            raise PackError(name, PackErrorCode.INVALID_OUTPUT, f"returned {type(output).__name__}, not an object")
        wire = output if isinstance(output, Mapping) else output.to_dict()
        if problems := schema_problems(pack.output_schema, wire):
            raise PackError(name, PackErrorCode.INVALID_OUTPUT, "; ".join(problems))
        return output

    def _pack(self, name: str) -> Pack:
        owned = self.runtime.packs.get(name)
        if owned is None:
            known = list(self.runtime.packs)
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            detail = f"no installed pack has this name; {meant}packs that can run: {', '.join(known) or 'none'}"
            raise PackError(name, PackErrorCode.INVALID_INPUT, detail)
        return owned.value


def _silent(message: str) -> None:
    """Tell nobody."""


@attrs.frozen
class _Context:
    """What a running pack sees of the engine."""

    _engine: Engine
    model: str | None
    caller: str
    _tell: Callable[[str], None]

    def progress(self, message: str) -> None:
        self._tell(message)

    async def remember(self, record: PlanRecord) -> None:
        await self._engine.remember(record)

    @property
    def catalog(self) -> Catalog:
        return self._engine.catalog

    async def ask(self, question: Question[T]) -> Answer[T]:
        if question.model is None:
            question = attrs.evolve(question, model=self.model)
        return await self._engine.ask(question)


@attrs.frozen
class _Late:
    """An index that is built only if something has to be ranked."""

    _build: Callable[[], RankIndex]

    def rank(self, request: str) -> Any:
        return self._build().rank(request)


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
    return FAILURES[exc.cause](
        f"{question.caller}: {what}",
        model,
        stop_reason=response.stop_reason.value,
        raw_stop_reason=response.raw_stop_reason,
        raw_length=len(response.text.encode("utf-8", "surrogatepass")),
        latency_s=response.latency_s,
        sub_cause=exc.sub_cause,
        detail="" if exc.is_empty else str(exc),
        excerpt=exc.excerpt,
    )
