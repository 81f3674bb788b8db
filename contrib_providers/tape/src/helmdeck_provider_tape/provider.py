"""The provider: from the tape what is on it, from the wrapped provider what is not."""

from __future__ import annotations

import asyncio
import enum
import functools
from collections import Counter, defaultdict
from pathlib import Path

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
)
from helmdeck_provider_tape.exchange import Clean, Difference, Exchange, Request, key_of, recorded
from helmdeck_provider_tape.tape import Tape


class Mode(enum.StrEnum):
    """Where answers come from."""

    AUTO = "auto"
    RECORD = "record"
    REPLAY = "replay"


def open_tape(settings: ProviderSettings, context: ProviderContext) -> TapeProvider:
    """Open the tape that the options name.

    :raises ConfigError: with every mistake in the options, or the line of the tape that cannot be read.
    """
    path, mode = _options(settings)
    tape = Tape(path)
    try:
        if mode is Mode.REPLAY:
            path.stat()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
        tape.refresh()
    except OSError as exc:
        needed = "a tape that was recorded" if mode is Mode.REPLAY else "a file that can be read and written"
        where = f"providers.{settings.name}.options.file"
        raise ConfigError((Mistake(where, str(exc.strerror or exc), repr(str(path)), needed),)) from exc
    return TapeProvider(settings.name, tape, mode, context)


class TapeProvider:
    """Plays a tape, and records what it does not hold."""

    def __init__(self, name: str, tape: Tape, mode: Mode, context: ProviderContext) -> None:
        self._name = name
        self._tape = tape
        self._mode = mode
        self._context = context
        self._played: Counter[str] = Counter()
        # Equal requests at the same time wait for one another, so that the first one's answer serves them all.
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer from the tape or from the wrapped provider, as the mode says.

        :raises CallFailed: what the wrapped provider raised, now or when it was recorded.
        :raises InvalidRequest: the tape does not hold the request and nobody else may be asked.
        """
        wrapped = self._wrapped(request.model)
        request = attrs.evolve(request, model=str(wrapped))
        clean = functools.partial(self._context.without_secrets, wrapped.provider)
        written = recorded(request, clean)
        if self._mode is Mode.RECORD:
            return await self._ask(request, written, clean)
        key = key_of(written)
        async with self._turns[key]:
            if (exchange := self._next(key)) is not None:
                return exchange.play()
            if self._mode is Mode.REPLAY:
                raise self._missing(request.model, written)
            response = await self._ask(request, written, clean)
            self._played[key] = len(self._tape.takes(key))
            return response

    async def aclose(self) -> None:
        """Nothing is open between two exchanges; whoever opened the wrapped provider closes it."""

    def _wrapped(self, model: str) -> ModelId:
        name = ModelId.parse(model).name
        if "/" not in name:
            detail = f"give its whole id: {self._name}/PROVIDER/MODEL, such as {self._name}/openrouter/openrouter/free"
            raise InvalidRequest(f"model id {model!r} does not say whose traffic is taped", model, detail=detail)
        return ModelId.parse(name)

    def _next(self, key: str) -> Exchange | None:
        """The exchange whose turn it is, the last one again and again; ``None`` when the tape has none to give."""
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
        # A key that was missing or a limit that was hit must not be replayed for ever where one can ask again.
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
            detail = f"provider {name!r} is a tape; name the provider whose traffic is to be recorded"
            raise InvalidRequest("a tape cannot be recorded on a tape", detail=detail)
        return provider

    def _missing(self, model: str, written: Request) -> InvalidRequest:
        compared = [(Difference.between(written, take.exchange.request), take.line) for take in self._tape]
        if compared:
            difference, line = min(compared, key=lambda each: (*each[0].distance, each[1]))
            detail = f"the nearest recorded request (line {line}) differs in {difference}"
        else:
            detail = "nothing is recorded on it"
        remedy = f'record it with providers.{self._name}.options.mode = "{Mode.AUTO}"'
        return InvalidRequest(
            f"the tape {self._tape.path} does not hold this request", model, detail=f"{detail}; {remedy}"
        )


def _options(settings: ProviderSettings) -> tuple[Path, Mode]:
    given = dict(settings.options)
    file, mode = given.pop("file", None), given.pop("mode", Mode.AUTO)
    # The value of an option that does not exist may be anything, a key of the wrapped provider too.
    found = [(name, "there is no such option", "", "file, mode") for name in given]
    if not isinstance(file, str) or not file.strip():
        found.append(("file", "not a path", repr(file), 'the path of the tape, such as "tapes/demo.jsonl"'))
    if mode not in list(Mode):
        found.append(("mode", "there is no such mode", repr(mode), ", ".join(Mode)))
    if found:
        where = f"providers.{settings.name}.options"
        raise ConfigError(
            tuple(Mistake(f"{where}.{name}", what, shown, allowed) for name, what, shown, allowed in found)
        )
    return Path(str(file)).expanduser(), Mode(mode)
