"""The connection that adapters share: asks once, in one piece or in many, and lists the models.

What is special about an interface stands in its ``WireFormat``: how a request is written, where it goes, how an answer is read.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import (
    CallFailed,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ModelInfo,
    ProviderContext,
    ProviderSettings,
    TransientUnknown,
    one_by_one,
    together,
)
from helmdeck_core.redaction import Secrets
from helmdeck_provider_kit.answer_reader import END_MARK, ReaderContext, ResponseReader
from helmdeck_provider_kit.background import Background, cancel, waited_for
from helmdeck_provider_kit.bodies import NOT_JSON, checked, decoded
from helmdeck_provider_kit.connection import HttpConnection, HttpResponse, HttpStream
from helmdeck_provider_kit.error_rules import combined_rules
from helmdeck_provider_kit.failures import ErrorRules
from helmdeck_provider_kit.rendering import Rendered
from helmdeck_provider_kit.sse import EventDecoder, LineDecoder, may_be_events

_MAX_PAGES = 20
"""Of a list of models: a server whose list never ends is not asked for ever."""


@attrs.frozen(kw_only=True)
class WireFormat:
    """What is special about one interface; a subclass may read error bodies or the bytes of a stream in its own way.

    :ivar name: of the table of its stop reasons.
    :ivar words: what the words of its errors mean.
    :ivar quota_headers: beginnings of the names of headers that say how much is left.
    :ivar headers: takes the key; what a request carries, the key among it.
    :ivar path: where a request goes, from the base URL on.
    :ivar render: writes a request.
    :ivar answer: makes what the events of an answer are put together in.
    :ivar has_lines: a stream consists of lines of JSON, not of server-sent events.
    :ivar end_mark: the data of the event that ends a stream; empty for none.
    :ivar background: how to wait for an answer that is made in the background; ``None`` where there are none.
    :ivar models_path: where the list of models stands, from the base URL on.
    :ivar models: reads a page of the list: the models on it, and the path of the next one; empty after the last.
    """

    name: str
    words: ErrorRules = ErrorRules()
    quota_headers: tuple[str, ...] = ()
    headers: Callable[[str | None], Mapping[str, str]]
    path: Callable[[ChatRequest], str]
    render: Callable[[ChatRequest], Rendered]
    answer: Callable[[ChatRequest, ReaderContext], ResponseReader]
    has_lines: bool = False
    end_mark: bytes = END_MARK
    background: Background | None = None
    models_path: str
    models: Callable[[Mapping[str, Any]], tuple[Sequence[ModelInfo], str]]

    def checked(self, received: HttpResponse, secrets: Secrets) -> Any:
        """Return the decoded body of an answer that is no error by its status.

        :raises CallFailed: it is an error, a redirect, or not JSON.
        """
        return checked(received.status, received.headers, received.body, self.words, secrets)

    def events(self, answer: ResponseReader) -> EventFeed:
        """What takes the bytes of a stream apart for the reader of an answer."""
        return EventFeed(answer, has_lines=self.has_lines)


@attrs.frozen
class _Asked:
    """A request on its way."""

    request: ChatRequest
    path: str
    body: bytes
    headers: Mapping[str, str] = attrs.field(repr=False)
    secrets: Secrets
    downgrades: tuple[str, ...]
    constraint: str
    sent_s: float = attrs.field(factory=time.perf_counter)


class HttpProvider:
    """An open connection to one server; a subclass may sign its requests."""

    def __init__(self, settings: ProviderSettings, context: ProviderContext, interface: WireFormat) -> None:
        rules = [rules for rules in settings.error_rules if isinstance(rules, ErrorRules)]
        self._interface = attrs.evolve(interface, words=combined_rules(*rules, interface.words)) if rules else interface
        self._secret_pattern = settings.secret_pattern
        self._secrets = (Secrets(), Secrets())
        self._connection = HttpConnection(settings)
        self._timeout_s = settings.timeout_s
        name = interface.name
        self._normalise = lambda raw: context.normalise_stop(raw, name)
        self._dispose = lambda raw, reason: context.disposition_of(raw, reason, name)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask once.

        :raises CallFailed: the subclass of the cause.
        """
        asked = self._asked(attrs.evolve(request, stream=False) if request.stream else request)
        received = await self._connection.post(asked.path, asked.body, asked.headers, asked.secrets)
        received, body = await self._done(asked, received)
        answer = self._answer(asked, received)
        try:
            for _ in answer.read(body):
                pass
        except CallFailed as exc:
            raise answer.broken(exc) from exc.__cause__
        return answer.finish()

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Ask once, and give the answer as it comes; last the whole response.

        :raises CallFailed: the subclass of the cause.
        """
        return one_by_one(self.batches(request))

    async def batches(self, request: ChatRequest) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """The same, with the pieces of each read of the network together.

        :raises CallFailed: the subclass of the cause.
        """
        asked = self._asked(attrs.evolve(request, stream=True))
        async with self._connection.stream(asked.path, asked.body, asked.headers, asked.secrets) as incoming:
            if incoming.is_whole:
                received, body = await self._done(asked, await incoming.received())
                answer = self._answer(asked, received)
                with _told(answer):
                    for batch in together(answer.read(body)):
                        yield batch
            else:
                answer = self._answer(asked, incoming)
                events = self._interface.events(answer)
                start: list[bytes] = []
                try:
                    with _told(answer):
                        async for piece in incoming:
                            if not events.have_come:
                                start.append(piece)
                            for batch in together(events.feed(piece)):
                                yield batch
                        for batch in together(events.finish()):
                            yield batch
                        if not events.have_come and not may_be_events(whole := b"".join(start)):
                            # A page, an error that is no event, or an answer in one piece, whatever it calls itself.
                            _, body = await self._done(asked, HttpResponse(incoming.status, incoming.headers, whole))
                            for batch in together(answer.read(body)):
                                yield batch
                finally:
                    if answer.goes_on_at and (background := self._interface.background):
                        await cancel(self._connection, background, answer.goes_on_at, asked.headers, asked.secrets)
            yield answer.finish()

    async def models(self) -> tuple[ModelInfo, ...]:
        """The models, in the server's order.

        :raises CallFailed: the subclass of the cause.
        """
        found: list[ModelInfo] = []
        path = self._interface.models_path
        for _ in range(_MAX_PAGES):
            headers, secrets = self._authorised(path, None)
            secrets = self._redacting(secrets)
            received = await self._connection.get(path, headers, secrets)
            data = self._interface.checked(received, secrets)
            if isinstance(data, list):  # some give the bare list
                data = {"data": data}
            if not isinstance(data, dict):
                headline = "the provider's answer is not a list of models"
                raise TransientUnknown(headline, status=received.status, sub_cause="wrong_shape")
            page, path = self._interface.models(data)
            found += page
            if not path:
                break
        return tuple(found)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.aclose()

    async def _done(self, asked: _Asked, received: HttpResponse) -> tuple[HttpResponse, Any]:
        """An answer that came in one piece, and its decoded body; one that is still being made is waited for."""
        body = self._interface.checked(received, asked.secrets)
        background = self._interface.background
        if background is None or not (path := background.path(body)):
            return received, body
        return await waited_for(
            self._connection, background, path, asked.headers, asked.secrets, self._interface.words, self._timeout_s
        )

    def _asked(self, request: ChatRequest) -> _Asked:
        rendered, path = self._interface.render(request), self._interface.path(request)
        headers, secrets = self._authorised(path, rendered.body)
        secrets = self._redacting(secrets)
        return _Asked(
            request
            if request.max_tokens == rendered.max_tokens
            else attrs.evolve(request, max_tokens=rendered.max_tokens),
            path,
            rendered.body,
            headers,
            secrets,
            rendered.downgrades,
            rendered.constraint,
        )

    def _authorised(self, path: str, body: bytes | None) -> tuple[Mapping[str, str], Secrets]:  # noqa: ARG002
        """What a request carries, the key among it, and what must not be quoted from its answer.

        :param path: from the base URL on.
        :param body: of a POST; ``None`` for a GET.
        :raises AuthFailed: there is no key that could be sent.
        """
        key = self._connection.key()
        return self._interface.headers(key), self._connection.secrets(key)

    def _redacting(self, secrets: Secrets) -> Secrets:
        """The secrets with the deployment's pattern; made anew only where the secrets have changed."""
        if self._secrets[0] is not secrets:
            self._secrets = (secrets, secrets.with_pattern(self._secret_pattern))
        return self._secrets[1]

    def _answer(self, asked: _Asked, head: HttpResponse | HttpStream) -> ResponseReader:
        terms = ReaderContext(
            words=self._interface.words,
            quota_headers=self._interface.quota_headers,
            end_mark=self._interface.end_mark,
            normalise=self._normalise,
            dispose=self._dispose,
            status=head.status,
            headers=head.headers,
            max_tokens=asked.request.max_tokens,
            secrets=asked.secrets,
            downgrades=asked.downgrades,
            constraint=asked.constraint,
            sent_s=asked.sent_s,
        )
        return self._interface.answer(asked.request, terms)


@contextlib.contextmanager
def _told(answer: ResponseReader) -> Iterator[None]:
    """Let every failure in the middle of an answer say what came before it."""
    try:
        yield
    except CallFailed as exc:
        raise answer.broken(exc) from exc.__cause__


class EventFeed:
    """The events of a stream, decoded, and what they say.

    :ivar have_come: whether there was one.
    """

    def __init__(self, answer: ResponseReader, *, has_lines: bool) -> None:
        self.have_come = False
        self._answer = answer
        self._decoder: LineDecoder | EventDecoder = LineDecoder() if has_lines else EventDecoder()

    def feed(self, piece: bytes) -> Iterator[ChatDelta]:
        """Take the next piece; give what the events that are now complete add.

        :raises CallFailed: one of them is an error, or is not JSON.
        """
        answer, end_mark = self._answer, self._answer.end_mark
        for found in self._decoder.feed(piece):
            self.have_come = True
            name, data = ("message", found) if isinstance(found, bytes) else found
            if name == "error":
                event = decoded(data)
                yield from answer.feed(event if isinstance(event, dict) and event.get("error") else {"error": event})
            elif data == end_mark:
                answer.done()
            elif data:
                yield from answer.take(data)

    def finish(self) -> Iterator[ChatDelta]:
        """What the end of the body left over; half an event is none."""
        rest = self._decoder.finish()
        for data in [rest] if isinstance(rest, bytes) else [event.data for event in rest]:
            event = decoded(data)
            if data.strip() == self._answer.end_mark:
                self._answer.done()
            elif event is not NOT_JSON:
                self.have_come = True
                yield from self._answer.feed(event)
