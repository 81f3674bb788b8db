"""Runs packs: input checked, handler run, output checked; and keeps what packs want to be remembered."""

from __future__ import annotations

import asyncio
import difflib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import attrs

from helmdeck_core.calls.engine import LOCAL_CALLER, Engine
from helmdeck_core.config.types import HistoryConfig
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.events import HistoryFailed
from helmdeck_core.domain.history import HistoryStore, HistoryStoreSpec, PlanRecord, intent_sha
from helmdeck_core.domain.packs import Pack, PackOutput
from helmdeck_core.domain.questions import Answer, Question
from helmdeck_core.domain.recovery import NO_LIMITS, CallLimits
from helmdeck_core.domain.tasks import CompletedStep
from helmdeck_core.errors import HelmdeckError, PackError, PackErrorCode, PluginError
from helmdeck_core.json_schema import schema_problems
from helmdeck_core.redaction import Secrets, url_secrets, without

T = TypeVar("T")
U = TypeVar("U")

HISTORY_REST_S = 30.0
"""How long a history that failed is left alone."""


GRACE_S = 1.0
"""How much longer than its deadline a pack may run: a call that ends at the deadline says more about it than ``timeout``."""


class Runner:
    """Runs the packs of one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.runtime = engine.runtime
        self._lock = threading.Lock()
        self._history: HistoryStore | None = None
        self._history_rests_until = 0.0

    async def run(
        self,
        name: str,
        given: Mapping[str, Any],
        *,
        model: str | None = None,
        caller: str = LOCAL_CALLER,
        progress: Callable[[str], None] | None = None,
        limits: CallLimits = NO_LIMITS,
    ) -> Mapping[str, Any] | PackOutput:
        """Run a pack: check the input, run the handler, check the output.

        :param limits: bounds of every call that the pack makes; the deadline is one for all of them, and for the pack.
        :raises PackError: with a code of the closed set; ``timeout`` when the deadline passed outside of a call.
        :raises CallFailed: a model call of the pack failed.
        """
        pack = self._pack(name)
        if problems := schema_problems(pack.input_schema, given, is_trusted=True):
            raise PackError(name, PackErrorCode.INVALID_INPUT, "; ".join(problems))
        start_s = time.monotonic()
        longest_s = None if limits.deadline_s is None else max(0.0, limits.deadline_s) + GRACE_S
        try:
            async with asyncio.timeout(longest_s):
                output = await pack.run(
                    _Context(self, name, model, caller, progress or _silent, limits, start_s), given
                )
        except HelmdeckError:
            raise
        except TimeoutError as exc:
            raise PackError(name, PackErrorCode.TIMEOUT, _told(exc, time.monotonic() - start_s)) from exc
        except (Exception, SystemExit) as exc:
            raise PackError(name, PackErrorCode.HANDLER_FAILED, _told(exc)) from exc
        except asyncio.CancelledError as exc:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            # Something within the handler was cancelled, and not the call.
            raise PackError(name, PackErrorCode.HANDLER_FAILED, _told(exc)) from exc
        if not isinstance(output, Mapping) and not hasattr(output, "to_dict"):
            raise PackError(name, PackErrorCode.INVALID_OUTPUT, f"returned {type(output).__name__}, not an object")
        if pack.output_schema:
            try:
                wire = output if isinstance(output, Mapping) else output.to_dict()
            except Exception as exc:
                raise PackError(name, PackErrorCode.INVALID_OUTPUT, f"to_dict failed: {_told(exc)}") from exc
            if problems := schema_problems(pack.output_schema, wire, is_trusted=True):
                raise PackError(name, PackErrorCode.INVALID_OUTPUT, "; ".join(problems))
        return output

    def _pack(self, name: str) -> Pack:
        owned = self.runtime.contributed(Pack).get(name)
        if owned is None:
            known = list(self.runtime.contributed(Pack))
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            detail = f"no installed pack has this name; {meant}packs that can run: {', '.join(known) or 'none'}"
            raise PackError(name, PackErrorCode.INVALID_INPUT, detail)
        return owned.value

    def history(self) -> HistoryStore | None:
        """The configured store, opened at the first use; ``None`` when nothing is to be remembered.

        :raises PluginError: the store cannot be opened.
        """
        if self.runtime.config.history.url is not None and self._history is None:
            with self._lock:
                found = self._history or self._opened_history(self.runtime.config.history)
                if not isinstance(found, PluginError):
                    self._history = found
            if isinstance(found, PluginError):
                raise found  # out here, where no variable is an address with a password
        return self._history

    def _opened_history(self, config: HistoryConfig) -> HistoryStore | PluginError:
        scheme, _, target = (config.url or "").partition(":")
        owned = self.runtime.contributed(HistoryStoreSpec)[scheme]
        try:
            return owned.value.open(target, config.keep_days)
        except Exception as exc:
            return owned.crash(f"{scheme}:", exc, Secrets(url_secrets(config.url or "")))

    async def remember(self, record: PlanRecord) -> None:
        """Keep a record in a thread of its own; a failure is an event and nothing else."""
        await self._with_history(record.caller, lambda store: store.add(record))

    async def planned_before(self, caller: str, request: str) -> tuple[str, ...]:
        """The ids that a caller's earlier plans for the same request picked, the most frequent first."""
        return await self._with_history(caller, lambda store: _picked(store.plans(caller), intent_sha(request))) or ()

    async def _with_history(self, caller: str, use: Callable[[HistoryStore], U]) -> U | None:
        url = self.runtime.config.history.url
        if url is None or time.monotonic() < self._history_rests_until:
            return None

        def used() -> U | None:
            store = self.history()
            return None if store is None else use(store)

        try:
            return await asyncio.to_thread(used)
        except Exception as exc:
            # A store that is locked or gone takes seconds to say so; plans must not pay that every time.
            self._history_rests_until = time.monotonic() + HISTORY_REST_S
            if self.runtime.sinks:
                detail = without(url_secrets(url), f"{type(exc).__name__}: {exc}")
                self.runtime.emit(HistoryFailed(caller=caller, detail=detail))
            return None


def request_input(
    intent: str, context: str, done: Iterable[CompletedStep], defaults: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The input of the pack that plans, or of the one that routes."""
    given: dict[str, Any] = {"intent": intent}
    if context:
        given["context"] = context
    if steps := [{"tool": step.tool, "output": step.output} for step in done]:
        given["done"] = steps
    if defaults:
        given["defaults"] = dict(defaults)
    return given


def _picked(records: Iterable[PlanRecord], sha: str) -> tuple[str, ...]:
    """The tools of the plans for one request, the most frequent first; of equals, those of the newest plan."""
    tools = (step.tool for record in records if record.intent_sha == sha and not record.cause for step in record.steps)
    return tuple(tool for tool, _ in Counter(tools).most_common())


def _told(exc: BaseException, elapsed_s: float | None = None) -> str:
    """An exception in a few words, also one that cannot say what it is."""
    try:
        said = str(exc)
    except Exception:
        said = "its message cannot be read"
    name = type(exc).__name__
    where = f" after {elapsed_s:.1f} s" if elapsed_s is not None else ""
    return f"{name}{where}: {said}" if said else f"{name}{where}"


def _silent(message: str) -> None:
    """Tell nobody."""


@attrs.frozen
class _Context:
    """What a running pack sees of the engine."""

    _runner: Runner
    _pack: str
    model: str | None
    caller: str
    _tell: Callable[[str], None]
    _limits: CallLimits
    _start_s: float

    def progress(self, message: str) -> None:
        self._tell(message)

    async def planned_before(self, request: str) -> tuple[str, ...]:
        return await self._runner.planned_before(self.caller, request)

    async def remember(self, record: PlanRecord) -> None:
        await self._runner.remember(record)

    @property
    def catalog(self) -> Catalog:
        return self._runner.engine.library.catalog

    async def ask(self, question: Question[T]) -> Answer[T]:
        if question.model is None:
            question = attrs.evolve(question, model=self.model)
        return await self._runner.engine.ask(question, caller=self.caller, limits=self._left())

    async def complete(self, request: ChatRequest, *, allows_empty: bool = False) -> ChatResponse:
        if not request.model.strip():
            engine = self._runner.engine
            request = attrs.evolve(request, model=engine.runtime.config.model if self.model is None else self.model)
        return await self._runner.engine.dispatch(
            request, allows_empty=allows_empty, pack=self._pack, caller=self.caller, limits=self._left()
        )

    def _left(self) -> CallLimits:
        """The limits of the pack's next call: of the deadline what is left."""
        limits = self._limits
        if limits.deadline_s is None:
            return limits
        return attrs.evolve(limits, deadline_s=max(0.0, self._start_s + limits.deadline_s - time.monotonic()))
