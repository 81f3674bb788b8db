"""Opens providers and hands requests to them; one connection pool per provider and event loop."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import functools
import itertools
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any

import attrs

from helmdeck_core.calls.schema_fallback import SchemaFallback
from helmdeck_core.config.types import ProviderConfig, SecretRef
from helmdeck_core.domain.chat import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Disposition,
    Provider,
    ProviderSettings,
    ProviderSpec,
    StopReason,
    ToolCallDelta,
)
from helmdeck_core.domain.constraints import Constraint
from helmdeck_core.domain.error_rules import ErrorRuleSet
from helmdeck_core.domain.models import ModelId
from helmdeck_core.errors import SCHEMA_REFUSED, AuthFailed, CallFailed, HelmdeckError, InvalidRequest
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.hooks.type_check import misfit
from helmdeck_core.redaction import (
    MIN_TELLING_CHARS,
    REDACTED,
    Secrets,
    header_secrets,
    url_secrets,
    without,
    without_cut_secret,
    without_scheme,
)
from helmdeck_core.resolve.runtime import Runtime

_MIN_UNIQUE_CHARS = 8
"""A secret of fewer characters may well stand in a text that has nothing to do with it."""
_TEXTS = ("headline", "detail", "excerpt", "raw_stop_reason", "request_id")
"""Of a failure: what may repeat what somebody said."""


class ProviderPool:
    """Everything that can answer a request, by the first part of its model id."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # A pool belongs to the loop that made it; a deck may be used from several, one after the other or at once. Pools
        # hold their loop, so that weak keys would never go; those of closed loops are dropped when a new loop comes.
        self._open: dict[asyncio.AbstractEventLoop, dict[str, Provider]] = {}
        self._keepers: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}
        self._lock = threading.Lock()
        self._offering = SchemaFallback()

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The providers that exist: contributed ones, and those that the configuration adds."""
        return tuple(sorted({*self._runtime.contributed(ProviderSpec), *self._runtime.config.providers}))

    def check(self, model: str) -> ModelId:
        """Split a model id and make sure that its provider exists.

        :raises InvalidRequest: with the names that exist.
        """
        model_id = ModelId.parse(model)
        if model_id.provider not in self.names:
            close = difflib.get_close_matches(model_id.provider, self.names, n=1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            raise InvalidRequest(
                f"there is no provider {model_id.provider!r}{meant}",
                model,
                sub_cause="unknown_provider",
                detail=f"providers: {', '.join(self.names)}; `helmdeck budgets` lists known models",
            )
        return model_id

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Hand one request to its provider and time it.

        :raises CallFailed: the subclass of the cause, with model, provider and latency filled in.
        :raises PluginError: the provider raised something else.
        """
        model_id = self.check(request.model)
        provider = self.open_provider(model_id.provider)
        request = self._offering.fitted(request)
        start = time.perf_counter()
        try:
            return _timed(_checked(await provider.complete(request)), start)
        except BaseException as exc:
            failure = self._passed_on(exc, model_id.provider, request, start)
        raise failure

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Hand one request to its provider: the pieces as they come, none or several at a time, and last the whole response.

        A provider that cannot stream answers all at once. Closing the iterator drops the connection.

        :raises CallFailed: as for ``complete``, also in the middle.
        :raises PluginError: the provider raised something else, or gave no response at the end.
        """
        model_id = self.check(request.model)
        provider = self.open_provider(model_id.provider)
        start = time.perf_counter()
        answer: Callable[[ChatRequest], AsyncGenerator[object, None]] | None
        answer = getattr(provider, "batches", None) or getattr(provider, "stream", None)
        if answer is None:
            response = await self.complete(request)
            yield list(_pieces_of(response))
            yield response
            return
        request = self._offering.fitted(request)
        try:
            async with contextlib.aclosing(answer(attrs.evolve(request, stream=True))) as items:
                async for item in items:
                    if isinstance(item, ChatDelta):
                        yield (item,)
                    elif isinstance(item, list | tuple) and _are_pieces(item):
                        yield item
                    else:
                        yield _timed(_checked(item), start)
                        return
                    del item  # so that no traceback with variables shows what was said
            raise TypeError("the stream ended without a ChatResponse")
        except GeneratorExit:
            raise
        except BaseException as exc:
            failure = self._passed_on(exc, model_id.provider, request, start)
        raise failure

    def _passed_on(self, exc: BaseException, provider: str, request: ChatRequest, start: float) -> BaseException:
        """What a provider raised, as it goes on from here: it says whose request it was, and for how long it ran."""
        if isinstance(exc, CallFailed):
            if exc.sub_cause == SCHEMA_REFUSED:
                with contextlib.suppress(HelmdeckError):  # the failure counts, whatever comes of taking note of it
                    self._offering.refused(request, exc, self._constrained(provider, request))
            latency = exc.latency_s or time.perf_counter() - start
            return attrs.evolve(exc, model=exc.model or request.model, provider=provider, latency_s=latency)
        return self._alone(exc, provider, "raised")

    def _alone(self, exc: BaseException, provider: str, what: str) -> BaseException:
        """An exception of a provider without where it was raised and what it goes back to.

        The variables there, and what a library's exceptions hold, are keys and requests that carry them, and many a log
        writes them down. Raise it where no other one is handled, so that nothing is attached to it again.
        """
        if isinstance(exc, HelmdeckError) or not isinstance(exc, (Exception, SystemExit)):
            exc.__cause__ = exc.__context__ = None
            return exc.with_traceback(None)
        return self._owned(provider).crash(f"provider {provider!r} {what}", exc, self._secrets(provider))

    def constraint(self, request: ChatRequest) -> Constraint | None:
        """How the answer to a request would be held to its form; ``None`` where the provider does not say.

        Nobody is asked, and no connection is opened.

        :raises InvalidRequest: there is no such provider, or a setting of it cannot be used.
        """
        return self._constrained(self.check(request.model).provider, self._offering.fitted(request))

    def _constrained(self, name: str, request: ChatRequest) -> Constraint | None:
        spec = self._owned(name).value
        if request.response_format is None:
            return Constraint()
        if spec.constrain is None:
            return None
        try:
            return spec.constrain(self._settings(name, spec), request)
        except BaseException as exc:
            failure = self._alone(exc, name, "cannot say what an answer is held to:")
        raise failure

    def open_provider(self, name: str) -> Provider:
        """Return the open provider of that name, opening it at first."""
        opened = self._opened()
        if name not in opened:
            if name not in self.names:
                raise InvalidRequest(
                    f"there is no provider {name!r}",
                    sub_cause="unknown_provider",
                    detail=f"providers: {', '.join(self.names)}",
                )
            opened[name] = self._opened_anew(name)
        return opened[name]

    def _opened_anew(self, name: str) -> Provider:
        spec = self._owned(name).value
        try:
            return spec.open(self._settings(name, spec), self)
        except BaseException as exc:
            failure = self._alone(exc, name, "cannot be opened:")
        raise failure

    def normalise_stop(self, raw: str | None, wire_format: str) -> StopReason:
        """Look a native stop reason up; part of what providers may use."""
        return self._runtime.normalise_stop(raw, wire_format)

    def disposition_of(self, raw: str | None, reason: StopReason, wire_format: str) -> Disposition:
        """What can be done about the way a turn ended; part of what providers may use."""
        return self._runtime.disposition_of(raw, reason, wire_format)

    def without_secrets(self, provider: str, text: str) -> str:
        """A text without the key and the headers of a provider; part of what providers may use.

        Short ones stay, which are words of a text as well: no recording should differ by the key of who plays it.
        """
        return without(Secrets(secret for secret in self._secrets(provider) if len(secret) >= _MIN_UNIQUE_CHARS), text)

    async def aclose(self) -> None:
        """Close the providers that this loop opened, all of them even if one fails.

        :raises PluginError: one failed.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            opened, keeper = self._open.pop(loop, {}), self._keepers.pop(loop, None)
        async with contextlib.AsyncExitStack() as stack:
            if keeper is not None:
                stack.push_async_callback(keeper.aclose)
            for name, provider in opened.items():
                stack.push_async_callback(self._close, name, provider)

    async def _close(self, name: str, provider: Provider) -> None:
        try:
            return await provider.aclose()
        except BaseException as exc:
            failure = self._alone(exc, name, "cannot be closed:")
        raise failure

    def _opened(self) -> dict[str, Provider]:
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            keeper = self._until_the_end(loop)
            with self._lock:
                self._open = {each: pools for each, pools in self._open.items() if not each.is_closed()}
                self._keepers = {each: kept for each, kept in self._keepers.items() if each in self._open}
                self._open[loop], self._keepers[loop] = {}, keeper
            with contextlib.suppress(StopIteration):  # it waits for nothing before it yields
                keeper.asend(None).send(None)
        return self._open[loop]

    async def _until_the_end(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        """Close what was opened if nobody did before the loop ends, which ends its generators first."""
        try:
            yield
        finally:
            if self._keepers.pop(loop, None) is not None:
                await self.aclose()

    def _owned(self, name: str) -> Contribution[ProviderSpec]:
        config = self._runtime.config.providers.get(name)
        return self._runtime.contributed(ProviderSpec)[(config.kind if config else None) or name]

    def hushed(self, failure: CallFailed, model: str) -> CallFailed:
        """A failure without the secrets of the provider of a model, in case that a text of it repeats one.

        A provider leaves them out of what it quotes; here this is made sure of, and for what was quoted of an answer, which
        may say anything.
        """
        names = self._runtime.budgets.names(model)  # of one that wraps others, theirs as well
        secrets = self._secrets(*(name.partition("/")[0] for name in names))
        texts = {name: text for name in _TEXTS if (text := getattr(failure, name))}
        clean: dict[str, Any] = {
            name: without_cut_secret(without(secrets, text), secrets) for name, text in texts.items()
        }
        if pattern := self._runtime.secret_pattern:  # an id of a request or a stop reason may look like a key
            clean |= {name: pattern.sub(REDACTED, clean[name]) for name in ("detail", "excerpt") if name in clean}
        return failure if clean == texts else attrs.evolve(failure, **clean)

    def _secrets(self, *names: str) -> Secrets:
        """What must not be shown of providers; it is read when something is to be told, and not kept."""
        found = itertools.chain(*(self._kept_by(name) for name in names if name in self.names))
        return Secrets(secret for secret in found if len(secret) >= MIN_TELLING_CHARS)

    def _kept_by(self, name: str) -> Iterator[str]:
        config = self._runtime.config.providers.get(name, ProviderConfig())
        spec = self._owned(name).value
        options = [value for value in {**spec.options, **config.options}.values() if isinstance(value, str)]
        for reference in (config.api_key, *map(_parsed, (spec.api_key, *options))):
            if reference is not None and reference.kind in ("env", "file") and (secret := reference.read()):
                yield from (secret, without_scheme(secret))
        yield from header_secrets(config.headers)
        yield from url_secrets(config.base_url or "")

    def _settings(self, name: str, spec: ProviderSpec) -> ProviderSettings:
        config = self._runtime.config.providers.get(name, ProviderConfig())
        given = {
            key: value
            for key in ("timeout_s", "connect_timeout_s", "idle_timeout_s", "max_response_bytes")
            if (value := getattr(config, key)) is not None
        }
        return ProviderSettings(
            name=name,
            base_url=config.base_url or spec.base_url,
            api_key=_key_reader(name, config.api_key or _parsed(spec.api_key)),
            headers=config.headers,
            open_transport=functools.partial(self._runtime.transports.open, name),
            options={**spec.options, **config.options},
            secret_pattern=self._runtime.secret_pattern,
            error_rules=tuple(
                rules
                for rules in self._runtime.contributions.values_of(ErrorRuleSet)
                if not rules.providers or {name, spec.name} & set(rules.providers)
            ),
            **given,
        )


def _timed(response: ChatResponse, start: float) -> ChatResponse:
    return response if response.latency_s else attrs.evolve(response, latency_s=time.perf_counter() - start)


def _pieces_of(response: ChatResponse) -> Iterator[ChatDelta]:
    """An answer that came whole, as the pieces of a stream."""
    if response.reasoning_content:
        yield ChatDelta(reasoning_content=response.reasoning_content)
    if response.text:
        yield ChatDelta(text=response.text)
    for index, call in enumerate(response.tool_calls):
        yield ChatDelta(tool_call=ToolCallDelta(index, call.id, call.name, call.arguments))


def _are_pieces(batch: Sequence[object]) -> bool:
    return set(map(type, batch)) <= {ChatDelta}


def _checked(response: object) -> ChatResponse:
    """Refuse what is no response, before something far away stumbles over it."""
    if not isinstance(response, ChatResponse):
        raise TypeError(f"not a ChatResponse: returned {type(response).__name__}")
    if (problem := misfit(response)) is not None:
        raise TypeError(f"not a ChatResponse: {problem}")
    return response


def _parsed(reference: str | None) -> SecretRef | None:
    if reference is None:
        return None
    kind, _, target = reference.partition(":")
    return SecretRef(kind, target)


def _key_reader(name: str, reference: SecretRef | None) -> Callable[[], str] | None:
    if reference is None:
        return None

    def read() -> str:
        key = reference.read()
        if key is None:
            where = (
                f"the variable {reference.target} is not set"
                if reference.kind == "env"
                else f"the file {reference.target} cannot be read"
            )
            raise AuthFailed(
                f"there is no key for provider {name!r}",
                provider=name,
                sub_cause="no_key",
                detail=f"{where}; or set providers.{name}.api_key",
            )
        return key

    return read
