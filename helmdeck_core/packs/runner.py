"""Runs packs: checks the input, runs the handler, checks the output."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
import msgspec

from helmdeck_core import log
from helmdeck_core.artifacts import ArtifactError, ArtifactFolder, artifact_folder
from helmdeck_core.calls.engine import LOCAL_CALLER, Engine
from helmdeck_core.config.pack_options import missing_options, pack_options
from helmdeck_core.context.library import Library
from helmdeck_core.domain.catalog import Catalog, EntryKind
from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.history import History
from helmdeck_core.domain.pack_services import PackLogger, PackMemory, ProgressText
from helmdeck_core.domain.packs import Pack, PackContext, PackInput, PackOutput
from helmdeck_core.domain.plans import PIPELINE_RUN
from helmdeck_core.domain.questions import Answer, Question
from helmdeck_core.domain.recovery_actions import NO_LIMITS, CallLimits, check_limits
from helmdeck_core.domain.runs import COSTS, RunEngineSpec, RunProgram
from helmdeck_core.encoding import non_finite_number, plain_type, undecodable_text
from helmdeck_core.errors import HelmdeckError, PackError, PackErrorCode, Usage
from helmdeck_core.hooks.calls import attributed
from helmdeck_core.hooks.foreign_code import describe_error
from helmdeck_core.json_schema import MAX_WORK, schema_problems
from helmdeck_core.redaction import MAX_READ_CHARS, quoted, without
from helmdeck_core.resolve.history import open_history
from helmdeck_core.suggestions import did_you_mean, nearest_names
from helmdeck_core.timeouts import is_own_cancellation

T = TypeVar("T")

MAX_CHECK_WORK = 100 * MAX_WORK
"""Work of the check of a pack's input and output, which no model limits."""

MAX_ENTRY_OUTPUT_BYTES = 16_000_000
"""A larger output of a catalog entry, encoded as JSON, is a failure."""

MAX_DEPTH = 8  # packs that run each other

GRACE_S = 1.0
"""Seconds that a pack may exceed its deadline: the failure of a call at the deadline says more than ``timeout``."""


class Runner:
    """Runs the packs of one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.runtime = engine.runtime
        self.history: History = open_history(engine.runtime, lambda: engine.library.catalog)

    @functools.cached_property
    def runs(self) -> Any:
        """The run engine, opened at the first use."""
        config, history = self.runtime.config.runs, self.runtime.config.history.url or ""
        url = config.url or (history if history.partition(":")[0] in ("sqlite", "postgresql") else None)
        programs = {name: each.value for name, each in self.runtime.contributed(RunProgram).items()}
        engine = self.runtime.contributed(RunEngineSpec)[config.engine]
        opened = attributed(engine, engine.value.open, object)
        catalog = lambda: self.engine.library.catalog  # noqa: E731
        return opened(url=url, config=config, programs=programs, run=self.run, catalog=catalog)

    async def run(
        self,
        name: str,
        arguments: Mapping[str, Any] | PackInput,
        *,
        output_type: type[T] | None = None,
        model: str | None = None,
        caller: str = LOCAL_CALLER,
        progress: Callable[[str], None] | None = None,
        limits: CallLimits = NO_LIMITS,
        parent: _Context | None = None,
    ) -> T:
        """Run a pack, or an entry through its source: check the input, run the handler, check the output.

        :param arguments: plain data, or a value of the pack's input type, which needs no check.
        :param output_type: the type that the output must have; ``None`` for plain data or any ``PackOutput``.
        :param limits: limits of every call of the pack; the deadline applies to all of them together, and to the pack.
        :param parent: the context of the pack that runs this one.
        :raises PackError: with a code of the closed set; ``timeout`` when the deadline passed outside of a call.
        :raises PluginError: the output is of another type than ``output_type``.
        :raises CallFailed: a model call of the pack failed.
        """
        check_limits(limits)
        owned = self.runtime.contributed(Pack).get(name)
        pack = await self._entry_pack(name) if owned is None else owned.value
        # The schema of an entry may come from a server.
        checked = _checked_input(pack, arguments, is_trusted=owned is not None)
        config = self.runtime.config
        if missing := missing_options(config, pack):
            detail = f"not configured: set {' and '.join(missing)} in [packs.options.{pack.options_table}]"
            raise PackError(name, PackErrorCode.HANDLER_FAILED, detail)
        options = pack_options(config, pack)
        stack = (name,) if parent is None else (*parent.stack, name)
        artifacts = parent.artifacts if parent else artifact_folder(config.packs.artifacts, self.runtime.folder)
        start_s, report, library = time.monotonic(), progress or _no_progress, self.engine.library
        context = _Context(self, name, model, caller, report, limits, start_s, library, options, stack, artifacts)
        timeout_s = None if limits.deadline_s is None else max(0.0, limits.deadline_s) + GRACE_S
        hidden: PackError | None = None
        output: Any = None
        try:
            async with asyncio.timeout(timeout_s):
                output = await pack.run(context, checked)
        except (HelmdeckError, KeyboardInterrupt, GeneratorExit) as exc:
            hidden = self._without_secrets(exc, exc)
            if hidden is None:
                raise
        except BaseException as exc:
            if is_own_cancellation(exc):
                raise
            failure = _handler_error(name, exc, context.start_s)
            hidden = self._without_secrets(failure, exc)
            if hidden is None:
                raise failure from exc
        if hidden is not None:  # raised here: a chained exception would be shown with its message
            raise hidden
        size = _check_output(pack, output)
        if owned is None and size > MAX_ENTRY_OUTPUT_BYTES:
            detail = f"{size:,} bytes, of at most {MAX_ENTRY_OUTPUT_BYTES:,}"
            raise PackError(name, PackErrorCode.INVALID_OUTPUT, detail)
        if output_type is not None and not isinstance(output, output_type):
            detail = f"pack {name!r} returned {type(output).__name__}, not {output_type.__name__}"
            raise owned.fault(detail) if owned is not None else TypeError(detail)
        return output  # type: ignore[no-any-return]

    def shown(self, text: str) -> str:
        """A text of a pack without the secrets of the providers."""
        return without(self.engine.pool.registry.all_secrets(), text)

    def _without_secrets(self, failure: BaseException, cause: BaseException) -> PackError | None:
        """The failure of a pack without secrets of the providers, and with its traceback as a note; ``None`` if it has none."""
        if not isinstance(failure, PackError):
            return None
        secrets = self.engine.pool.registry.all_secrets()
        trace = "".join(traceback.format_exception(cause)).rstrip()
        if not secrets.are_in(failure.detail) and not secrets.are_in(trace):
            return None
        clean: PackError = attrs.evolve(failure, detail=quoted(failure.detail, secrets, MAX_READ_CHARS))
        clean.add_note(without(secrets, trace))
        return clean

    def can_run(self, name: str) -> bool:
        """Whether an id of the catalog can be run here: a configured pack, an entry that its source runs, or a pipeline of these."""
        if (owned := self.runtime.contributed(Pack).get(name)) is not None:
            return not missing_options(self.runtime.config, owned.value) and not self.missing_programs(name)
        if hasattr(self.engine.live_catalog.owner(name), "run"):
            return True
        entry = self.engine.library.catalog.get(name)
        if entry is None or entry.kind is not EntryKind.PIPELINE or PIPELINE_RUN not in self.runtime.contributed(Pack):
            return False
        steps = entry.metadata.get("steps") or ()
        packs = [step.get("pack") for step in steps if isinstance(step, Mapping)]
        return bool(packs) and all(pack != name and self.can_run(str(pack)) for pack in packs)

    def missing_programs(self, name: str) -> Sequence[tuple[str, str]]:
        """The programs that an installed pack needs and that are not installed, each with the command that installs it."""
        owned = self.runtime.contributed(Pack).get(name)
        if owned is None or owned.value.missing_programs is None:
            return ()
        function = owned.value.missing_programs
        return attributed(owned, lambda options: tuple(function(options)), tuple)(
            pack_options(self.runtime.config, owned.value)
        )

    async def _entry_pack(self, name: str) -> Pack:
        """An entry of the catalog as a pack that its source runs."""
        live, known = self.engine.live_catalog, list(self.runtime.contributed(Pack))
        entry = run = None
        with contextlib.suppress(HelmdeckError):  # a catalog that cannot be loaded lists nothing
            catalog = await self.engine.library.load()
            entry, run = catalog.get(name), getattr(live.owner(name), "run", None)
            known += (each.id for each in catalog.entries if hasattr(live.owner(each.id), "run"))
        starter = self.runtime.contributed(Pack).get(PIPELINE_RUN)
        if entry is not None and entry.kind is EntryKind.PIPELINE and run is None and starter is not None:
            start = starter.value.run
            run = lambda name, inputs, context: start(context, {"id": name, "inputs": inputs})  # noqa: E731
        if entry is not None and run is not None:
            schema = entry.input_schema or {}
            handler = functools.partial(_run_entry, run, name)
            return Pack(name=name, version="", description=entry.description, input_schema=schema, run=handler)
        if entry is None:
            for source in list(live.opened.values()):  # one that ran the entry before, such as a server that is down
                if (failure := getattr(source, "missing", lambda _: None)(name)) is not None:
                    raise failure
        packs = nearest_names(name, self.runtime.contributed(Pack)) or "none"
        detail = f"no installed pack has this name{did_you_mean(name, known)}; packs that can run: {packs}"
        if entry is not None:
            detail = "it is an entry of the catalog; plans use it, and the application runs it"
        raise PackError(name, PackErrorCode.INVALID_INPUT, detail)


async def _run_entry(run: Any, name: str, context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return await run(name, arguments, context)  # type: ignore[no-any-return]


def _checked_input(pack: Pack, arguments: Mapping[str, Any] | PackInput, *, is_trusted: bool) -> Any:
    """What the handler gets: typed input as it is, plain data after the check against the schema."""
    kind = pack.input_type
    if kind is not None and isinstance(arguments, kind):
        return arguments
    if not isinstance(arguments, Mapping) and not hasattr(arguments, "to_dict"):
        detail = f"the arguments are an object, such as a dict, found {type(arguments).__name__}"
        raise PackError(pack.name, PackErrorCode.INVALID_INPUT, detail)
    data = arguments if isinstance(arguments, Mapping) else arguments.to_dict()
    work = MAX_CHECK_WORK if is_trusted else MAX_WORK
    if problems := schema_problems(pack.input_schema, data, is_trusted=is_trusted, max_work=work):
        raise PackError(pack.name, PackErrorCode.INVALID_INPUT, "; ".join(problems))
    return data if kind is None else kind.from_dict(data)


def _check_output(pack: Pack, output: Mapping[str, Any] | PackOutput) -> int:
    """Check that the output is JSON and fits the schema of the pack; return its size as JSON, in bytes."""
    if not isinstance(output, Mapping) and not hasattr(output, "to_dict"):
        raise PackError(pack.name, PackErrorCode.INVALID_OUTPUT, f"returned {type(output).__name__}, not an object")
    try:
        wire = output if isinstance(output, Mapping) else output.to_dict()
    except Exception as exc:
        detail = f"to_dict failed: {describe_error(exc)}"
        raise PackError(pack.name, PackErrorCode.INVALID_OUTPUT, detail) from exc
    size = _json_size(pack.name, wire)
    if pack.output_schema and (
        problems := schema_problems(pack.output_schema, wire, is_trusted=True, max_work=MAX_CHECK_WORK)
    ):
        raise PackError(pack.name, PackErrorCode.INVALID_OUTPUT, "; ".join(problems))
    return size


def _json_size(name: str, wire: Mapping[str, Any]) -> int:
    """The size of plain data as JSON, in bytes. Encoding checks everything in a fraction of the time of a walk in Python."""
    try:
        encoded = _ENCODER.encode(wire)
        detail = non_finite_number(msgspec.to_builtins(wire, enc_hook=plain_type)) if b"null" in encoded else ""
        if not detail:
            return len(encoded)
    except RecursionError:  # its traceback has a thousand frames
        detail = "the output contains itself, or is nested too deeply for JSON"
    except UnicodeEncodeError:
        detail = undecodable_text(wire)
    except (TypeError, ValueError, OverflowError) as exc:
        detail = f"the output is not JSON: {exc}"
    raise PackError(name, PackErrorCode.INVALID_OUTPUT, detail)


_ENCODER = msgspec.json.Encoder(enc_hook=plain_type)


def _handler_error(pack: str, exc: BaseException, start_s: float) -> PackError:
    if isinstance(exc, ArtifactError):
        return PackError(pack, PackErrorCode.ARTIFACT_FAILED, str(exc))
    if isinstance(exc, TimeoutError):
        return PackError(
            pack, PackErrorCode.TIMEOUT, f"after {time.monotonic() - start_s:.1f} s, {describe_error(exc)}"
        )
    return PackError(pack, PackErrorCode.HANDLER_FAILED, describe_error(exc))


def _no_progress(message: str) -> None:
    """No-op progress callback."""


def _log(pack: str, level: str, message: str, facts: Mapping[str, object]) -> None:
    if log.is_enabled():
        log.logger().bind(pack=pack, **facts).log(level.upper(), "{}", message)


async def _counted(call: Coroutine[Any, Any, T]) -> T:
    """Await an answer, and add its cost to those of the run that it belongs to."""
    answer: Any = await call
    if (costs := COSTS.get()) is not None and answer.usage != Usage():
        costs.append(answer.cost_usd)
    return answer  # type: ignore[no-any-return]


@attrs.define
class _Context:
    """The ``PackContext`` of a running pack."""

    _runner: Runner
    _pack: str
    model: str | None
    caller: str
    _progress: Callable[[str], None]
    _limits: CallLimits
    start_s: float
    _library: Library
    options: Any
    stack: tuple[str, ...]
    artifacts: ArtifactFolder
    logger: PackLogger = attrs.Factory(lambda self: PackLogger(functools.partial(_log, self._pack)), takes_self=True)
    memory: PackMemory = attrs.Factory(lambda self: PackMemory(self.run), takes_self=True)

    def progress(self, message: str, fraction: float | None = None) -> None:
        self._progress(ProgressText(self._runner.shown(message), fraction))

    @property
    def folder(self) -> Path:
        return self._runner.runtime.folder or Path.cwd()

    async def run(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if name in self.stack or len(self.stack) >= MAX_DEPTH:
            why = "a pack cannot run itself" if name in self.stack else f"packs run each other {MAX_DEPTH} levels deep"
            detail = f"{' -> '.join((*self.stack, name))}: {why}"
            raise PackError(self._pack, PackErrorCode.HANDLER_FAILED, detail)
        options: Any = {"model": self.model, "caller": self.caller, "progress": self._progress, "limits": self.limits}
        output: Mapping[str, Any] | PackOutput = await self._runner.run(name, arguments, parent=self, **options)
        return output if isinstance(output, Mapping) else output.to_dict()

    @property
    def history(self) -> History:
        return self._runner.history

    @property
    def catalog(self) -> Catalog:
        return self._library.catalog

    @property
    def runs(self) -> Any:
        return self._runner.runs

    def ask(self, question: Question[T]) -> Coroutine[Any, Any, Answer[T]]:
        if question.model is None:
            question = attrs.evolve(question, model=self.model)
        ask = self._runner.engine.ask
        return _counted(ask(question, caller=self.caller, limits=self.limits, library=self._library))

    def complete(self, request: ChatRequest, *, allows_empty: bool = False) -> Coroutine[Any, Any, ChatResponse]:
        engine = self._runner.engine
        if not request.model.strip():
            request = attrs.evolve(request, model=engine.runtime.config.model if self.model is None else self.model)
        options: Any = {"allows_empty": allows_empty, "pack": self._pack, "caller": self.caller, "limits": self.limits}
        return _counted(engine.complete(request, **options))

    @property
    def limits(self) -> CallLimits:
        limits = self._limits
        if limits.deadline_s is None:
            return limits
        return attrs.evolve(limits, deadline_s=max(0.0, self.start_s + limits.deadline_s - time.monotonic()))
