"""The connection to Cohere: one request, its answer, and the list of models."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from urllib.parse import urlencode

import attrs

from helmdeck_core import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Constraint,
    ModelInfo,
    ProviderContext,
    ProviderSettings,
)
from helmdeck_core.http import Secrets, Transport, checked, may_be_events, one_by_one, refused_setting, together
from helmdeck_provider_cohere.answer import DIALECT, WORDS, AnswerReader, read_models
from helmdeck_provider_cohere.request import KINDS, Rendered, constraint, render
from helmdeck_provider_cohere.stream import StreamReader

_CHAT = "/v2/chat"
_EVENTS = "text/event-stream"
_MODELS = "/v1/models"
_PAGE_SIZE = 1000  # the most that is given
_MAX_PAGES = 20


def open_cohere(settings: ProviderSettings, context: ProviderContext) -> Cohere:
    """Open a connection.

    :raises InvalidRequest: a setting cannot be used.
    """
    return Cohere(settings, context, kinds_of(settings))


def kinds_of(settings: ProviderSettings) -> Sequence[str]:
    """The formats that are taken, as a deployment says in its one option.

    :raises InvalidRequest: there is no such option, or it is not a list of formats.
    """
    for name, value in settings.options.items():
        if name != "response_formats":
            raise refused_setting(settings, f"options.{name}", "there is no such option; allowed: response_formats")
        if not isinstance(value, (list, tuple)) or not set(value) <= set(KINDS):
            raise refused_setting(settings, f"options.{name}", f"not a list of {' and '.join(KINDS)}")
        return tuple(value)
    return KINDS


def constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    """How the answer to a request would be held to its form.

    :raises InvalidRequest: a setting cannot be used.
    """
    return constraint(request, kinds_of(settings))


class Cohere:
    """An open connection."""

    def __init__(self, settings: ProviderSettings, context: ProviderContext, kinds: Sequence[str]) -> None:
        self._kinds = kinds
        self._context = context
        self._transport = Transport(settings)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask once.

        :raises CallFailed: the subclass of the cause.
        """
        started = time.monotonic()
        rendered = render(attrs.evolve(request, stream=False), self._kinds)
        headers, secrets = self._authorised()
        received = await self._transport.post(_CHAT, rendered.body, headers, secrets)
        answer = self._reader(request, received.headers, secrets)
        for _ in answer.read(checked(received.status, received.headers, received.body, WORDS, secrets)):
            pass
        return self._finished(answer, rendered, started)

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Ask once, and give the pieces as they come, the whole response last.

        :raises CallFailed: the subclass of the cause, also in the middle.
        """
        return one_by_one(self.batches(request))

    async def batches(self, request: ChatRequest) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """The same, with the pieces of each read of the network together.

        :raises CallFailed: the subclass of the cause, also in the middle.
        """
        started = time.monotonic()
        rendered = render(attrs.evolve(request, stream=True), self._kinds)
        headers, secrets = self._authorised()
        async with self._transport.stream(_CHAT, rendered.body, headers, secrets) as incoming:
            answer = self._reader(request, incoming.headers, secrets)
            if incoming.status != 200 or _EVENTS not in incoming.headers.get("content-type", _EVENTS):
                received = await incoming.received()
                # An error, or the whole answer from somebody in between who does not stream.
                body = checked(received.status, received.headers, received.body, WORDS, secrets)
                for batch in together(answer.read(body)):
                    yield batch
            else:
                stream = StreamReader(answer)
                start: list[bytes] = []
                async for piece in incoming:
                    if not stream.has_begun:
                        start.append(piece)
                    for batch in together(stream.feed(piece)):
                        yield batch
                for batch in together(stream.finish()):
                    yield batch
                if not stream.has_begun and not may_be_events(whole := b"".join(start)):
                    for batch in together(answer.read(checked(200, incoming.headers, whole, WORDS, secrets))):
                        yield batch
        yield self._finished(answer, rendered, started)

    async def models(self) -> tuple[ModelInfo, ...]:
        """The models that can chat, in Cohere's order.

        :raises CallFailed: the subclass of the cause.
        """
        headers, secrets = self._authorised()
        query = {"endpoint": "chat", "page_size": str(_PAGE_SIZE)}
        found: list[ModelInfo] = []
        for _ in range(_MAX_PAGES):
            received = await self._transport.get(f"{_MODELS}?{urlencode(query)}", headers, secrets)
            page, token = read_models(checked(received.status, received.headers, received.body, WORDS, secrets))
            found += page
            if not token:
                break
            query["page_token"] = token
        return tuple(found)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def _authorised(self) -> tuple[Mapping[str, str], Secrets]:
        """The headers of a request, and what must not be quoted from its answer."""
        key = self._transport.key()
        return ({"authorization": f"Bearer {key}"} if key else {}), self._transport.secrets(key)

    def _reader(self, request: ChatRequest, headers: Mapping[str, str], secrets: Secrets) -> AnswerReader:
        return AnswerReader(
            headers,
            lambda raw: self._context.normalise_stop(raw, DIALECT),
            max_tokens=request.max_tokens,
            secrets=secrets,
        )

    def _finished(self, answer: AnswerReader, rendered: Rendered, started: float) -> ChatResponse:
        response = answer.response()
        return attrs.evolve(
            response,
            disposition=self._context.disposition_of(response.raw_stop_reason, response.stop_reason, DIALECT),
            downgrades=rendered.downgrades,
            constraint=rendered.constraint,
            latency_s=time.monotonic() - started,
        )
