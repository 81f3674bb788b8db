"""Opens providers and hands requests to them; one connection pool per provider and event loop."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import functools
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

import attrs

from helmdeck_core.calling import Owned
from helmdeck_core.config import ProviderConfig, SecretRef
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
from helmdeck_core.domain.models import ModelId
from helmdeck_core.errors import AuthFailed, CallFailed, HelmdeckError, InvalidRequest, PluginError
from helmdeck_core.fitting import misfit
from helmdeck_core.runtime import Runtime


class Gateway:
    """Everything that can answer a request, by the first part of its model id."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # A pool belongs to the loop that made it; a deck may be used from several, one after the other or at once. Pools
        # hold their loop, so that weak keys would never go; those of closed loops are dropped when a new loop comes.
        self._open: dict[asyncio.AbstractEventLoop, dict[str, Provider]] = {}
        self._lock = threading.Lock()

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The providers that exist: contributed ones, and those that the configuration adds."""
        return tuple(sorted({*self._runtime.providers, *self._runtime.config.providers}))

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
        start = time.perf_counter()
        with self._named(model_id.provider, request, start):
            response = _checked(await provider.complete(request))
        return _timed(response, start)

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
        with self._named(model_id.provider, request, start):
            async with contextlib.aclosing(answer(attrs.evolve(request, stream=True))) as items:
                async for item in items:
                    if isinstance(item, ChatDelta):
                        yield (item,)
                    elif isinstance(item, list | tuple) and _are_pieces(item):
                        yield item
                    else:
                        yield _timed(_checked(item), start)
                        return
            raise TypeError("the stream ended without a ChatResponse")

    @contextlib.contextmanager
    def _named(self, provider: str, request: ChatRequest, start: float) -> Iterator[None]:
        """Let what is raised say whose request it was, and for how long it ran."""
        try:
            yield
        except CallFailed as exc:
            latency = exc.latency_s or time.perf_counter() - start
            facts = attrs.evolve(exc, model=exc.model or request.model, provider=provider, latency_s=latency)
            raise facts from exc.__cause__
        except HelmdeckError:
            raise
        except (Exception, SystemExit) as exc:
            raise self._fault(provider, "raised", exc) from exc

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
            spec = self._owned(name).value
            try:
                opened[name] = spec.open(self._settings(name, spec), self)
            except HelmdeckError:
                raise
            except (Exception, SystemExit) as exc:
                raise self._fault(name, "cannot be opened:", exc) from exc
        return opened[name]

    def normalise_stop(self, raw: str | None, dialect: str) -> StopReason:
        """Look a native stop reason up; part of what providers may use."""
        return self._runtime.normalise_stop(raw, dialect)

    def disposition_of(self, raw: str | None, reason: StopReason, dialect: str) -> Disposition:
        """What can be done about the way a turn ended; part of what providers may use."""
        return self._runtime.disposition_of(raw, reason, dialect)

    async def aclose(self) -> None:
        """Close the providers that this loop opened, all of them even if one fails.

        :raises PluginError: one failed.
        """
        with self._lock:
            opened = self._open.pop(asyncio.get_running_loop(), {})
        async with contextlib.AsyncExitStack() as stack:
            for name, provider in opened.items():
                stack.push_async_callback(self._close, name, provider)

    async def _close(self, name: str, provider: Provider) -> None:
        try:
            await provider.aclose()
        except Exception as exc:
            raise self._fault(name, "cannot be closed:", exc) from exc

    def _opened(self) -> dict[str, Provider]:
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            with self._lock:
                self._open = {each: pools for each, pools in self._open.items() if not each.is_closed()}
                self._open[loop] = {}
        return self._open[loop]

    def _owned(self, name: str) -> Owned[ProviderSpec]:
        config = self._runtime.config.providers.get(name)
        return self._runtime.providers[(config.kind if config else None) or name]

    def _fault(self, name: str, what: str, exc: BaseException) -> PluginError:
        return self._owned(name).fault(f"provider {name!r} {what} {type(exc).__name__}: {exc}")

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
            options={**spec.options, **config.options},
            **given,
        )


def _timed(response: ChatResponse, start: float) -> ChatResponse:
    return response if response.latency_s else attrs.evolve(response, latency_s=time.perf_counter() - start)


def _pieces_of(response: ChatResponse) -> Iterator[ChatDelta]:
    """An answer that came whole, as the pieces of a stream."""
    if response.reasoning:
        yield ChatDelta(reasoning=response.reasoning)
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
