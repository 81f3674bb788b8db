"""The provider: replays recorded exchanges, and records new ones from the wrapped provider."""

from __future__ import annotations

import asyncio
import enum
import functools
from collections import Counter
from pathlib import Path
from weakref import WeakValueDictionary

import attrs

from helmdeck_core import (
    CallFailed,
    ChatRequest,
    ChatResponse,
    ConfigError,
    InvalidRequest,
    Mistake,
    ModelId,
    Provider,
    ProviderContext,
    ProviderSettings,
    non_empty,
    read_options,
)
from helmdeck_provider_tape.exchange import Clean, Difference, Exchange, Request, key_of, recorded
from helmdeck_provider_tape.tape import Tape, open_private


class Mode(enum.StrEnum):
    """The source of responses."""

    AUTO = "auto"
    RECORD = "record"
    REPLAY = "replay"


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.tape.options]``.

    :ivar file: path of the tape, such as ``tapes/demo.jsonl``.
    :ivar mode: the source of responses.
    """

    file: str = attrs.field(validator=non_empty)
    mode: Mode = Mode.AUTO


def open_tape(settings: ProviderSettings, context: ProviderContext) -> TapeProvider:
    """Open the tape of the options.

    :raises ConfigError: with every mistake in the options, or the first unreadable line of the tape.
    """
    options = read_options(settings.options, Options, "providers", settings.name, "options")
    path, mode = Path(options.file).expanduser(), options.mode
    tape = Tape(path)
    try:
        if mode is Mode.REPLAY:
            path.stat()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            open(path, "ab", opener=open_private).close()
        tape.refresh()
    except OSError as exc:
        needed = "a recorded tape" if mode is Mode.REPLAY else "a readable and writable file"
        where = f"providers.{settings.name}.options.file"
        raise ConfigError((Mistake(where, str(exc.strerror or exc), repr(str(path)), needed),)) from exc
    return TapeProvider(settings.name, tape, mode, context)


class TapeProvider:
    """Replays a tape and records new exchanges."""

    def __init__(self, name: str, tape: Tape, mode: Mode, context: ProviderContext) -> None:
        self._name = name
        self._tape = tape
        self._mode = mode
        self._context = context
        self._played: Counter[str] = Counter()
        # Concurrent equal requests wait for the first one, whose response serves them all.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return a response from the tape or from the wrapped provider, depending on the mode.

        :raises CallFailed: the failure of the wrapped provider, recorded or new.
        :raises InvalidRequest: the request is not on the tape, and the mode is ``replay``.
        """
        wrapped = self._wrapped(request.model)
        request = attrs.evolve(request, model=str(wrapped))
        clean = functools.partial(self._context.without_secrets, wrapped.provider)
        written = recorded(request, clean)
        if self._mode is Mode.RECORD:
            return await self._ask(request, written, clean)
        key = key_of(written)
        async with self._turns.setdefault(key, asyncio.Lock()):
            if (exchange := self._next(key)) is not None:
                return exchange.play()
            if self._mode is Mode.REPLAY:
                raise self._missing(request.model, written)
            response = await self._ask(request, written, clean)
            self._played[key] = len(self._tape.takes(key))
            return response

    async def aclose(self) -> None:
        """Do nothing: the file is closed after each exchange, and the wrapped provider belongs to the deck."""

    def _wrapped(self, model: str) -> ModelId:
        name = ModelId.parse(model).name
        if "/" not in name:
            detail = (
                f"use the full model id: {self._name}/PROVIDER/MODEL, such as {self._name}/openrouter/openrouter/free"
            )
            raise InvalidRequest(f"model id {model!r} does not name the wrapped model", model, detail=detail)
        return ModelId.parse(name)

    def _next(self, key: str) -> Exchange | None:
        """Return the next exchange of a request, repeating the last one; ``None`` if there is none."""
        if not self._has(key):
            self._tape.refresh()
            if not self._has(key):
                return None
        takes = self._tape.takes(key)
        position = min(self._played[key], len(takes) - 1)
        self._played[key] += 1
        return takes[position]

    def _has(self, key: str) -> bool:
        takes = self._tape.takes(key)
        # Recorded failures, such as a rate limit, are not replayed if the provider can be called again.
        return bool(takes) and (self._mode is Mode.REPLAY or takes[-1].is_answered)

    async def _ask(self, request: ChatRequest, written: Request, clean: Clean) -> ChatResponse:
        provider = self._open(ModelId.parse(request.model).provider)
        try:
            response = await provider.complete(request)
        except CallFailed as exc:
            self._tape.append(Exchange(written, exc), clean)
            raise
        self._tape.append(Exchange(written, response), clean)
        return response

    def _open(self, name: str) -> Provider:
        provider = self._context.open_provider(name)
        if isinstance(provider, TapeProvider):
            detail = f"provider {name!r} is a tape; name the provider to record"
            raise InvalidRequest("a tape cannot record another tape", detail=detail)
        return provider

    def _missing(self, model: str, written: Request) -> InvalidRequest:
        compared = [(Difference.between(written, take.exchange.request), take.line) for take in self._tape]
        if compared:
            difference, line = min(compared, key=lambda each: (*each[0].distance, each[1]))
            detail = f"the nearest recorded request (line {line}) differs in {difference}"
        else:
            detail = "the tape is empty"
        remedy = f'record it with providers.{self._name}.options.mode = "{Mode.AUTO}"'
        return InvalidRequest(f"the request is not on the tape {self._tape.path}", model, detail=f"{detail}; {remedy}")
