"""The ASGI application of the gateway."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from helmdeck_core import Helmdeck
from helmdeck_gateway import chat_dialect, messages_dialect
from helmdeck_gateway.counters import Counters
from helmdeck_gateway.embeddings import EmbeddingsEndpoint
from helmdeck_gateway.endpoint import CallEndpoint, CountTokens, Door, headers_of
from helmdeck_gateway.models import list_models
from helmdeck_gateway.openapi import document
from helmdeck_gateway.principals import Authoriser, NoKeys, SharedKey
from helmdeck_gateway.problems import Problem, problem_of
from helmdeck_gateway.responses_endpoint import ResponsesEndpoint
from helmdeck_gateway.service import Service
from helmdeck_gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from starlette.requests import Request

_encode = msgspec.json.Encoder().encode


class Gateway:
    """A gateway over one deck.

    :param authoriser: checks the senders of requests; by default the key of the settings, if there is one.
    :ivar app: the ASGI application.
    """

    def __init__(
        self, deck: Helmdeck, settings: GatewaySettings | None = None, *, authoriser: Authoriser | None = None
    ) -> None:
        self.deck = deck
        self.settings = settings or GatewaySettings.read(deck.runtime.config.gateway)
        if authoriser is None:
            authoriser = SharedKey(self.settings.key) if self.settings.key is not None else NoKeys()
        self.counters = Counters()
        self.service = Service(deck, self.settings)
        self.door = Door(self.service, authoriser, self.counters)
        self.app = Starlette(
            routes=self._routes(),
            lifespan=self._lifespan,
            exception_handlers={404: _not_found, 405: _not_found},
        )

    def _routes(self) -> list[Route]:
        post = ["POST"]
        responses = ResponsesEndpoint(self.door)
        self._embeddings = EmbeddingsEndpoint(self.door, self.deck)
        return [
            Route("/v1/chat/completions", CallEndpoint(self.door, chat_dialect, "chat"), methods=post),
            Route("/v1/messages", CallEndpoint(self.door, messages_dialect, "messages"), methods=post),
            Route("/v1/messages/count_tokens", CountTokens(self.door, messages_dialect, "count_tokens"), methods=post),
            Route("/v1/responses", responses, methods=post),
            Route("/v1/responses/{name}", self._checked(responses.show), methods=["GET", "DELETE"]),
            Route("/v1/embeddings", self._embeddings, methods=post),
            Route("/openapi.json", self._openapi, methods=["GET"]),
            Route("/api/hello", self._health, methods=["GET"]),  # which Claude Code asks for
            Route("/v1/models", self._checked(self._models), methods=["GET"]),
            Route("/v1/models/{name:path}", self._checked(self._model), methods=["GET"]),
            Route("/healthz", self._health, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
        ]

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self.door.is_draining = True
            await self._embeddings.aclose()

    def drain(self) -> None:
        """Refuse new requests; those under way are completed."""
        self.door.is_draining = True

    # -- what is not a call ----------------------------------------------------------------------------------

    def _checked(self, serve: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            try:
                await self.door.authoriser.authorise(headers_of(request.scope))
                return await serve(request)
            except Exception as exc:
                return refusal(problem_of(exc))

        return checked

    async def _models(self, request: Request) -> Response:
        names = await list_models(self.deck, self.service.targets)
        is_anthropic = "anthropic-version" in request.headers
        return _json(messages_dialect.models(names) if is_anthropic else chat_dialect.models(names))

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        for row in chat_dialect.models(await list_models(self.deck, self.service.targets))["data"]:
            if row["id"] == name:
                return _json(row)
        raise Problem(
            message=f"there is no model {name!r}; GET /v1/models lists the models",
            status=404, kind="not_found_error", code="model_not_found", param="model",
        )  # fmt: skip

    async def _openapi(self, _: Request) -> Response:
        return _json(document())

    async def _health(self, _: Request) -> Response:
        return _json({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        if self.door.is_draining:
            return _json({"status": "draining", "requests_under_way": self.door.under_way}, 503)
        return _json({"status": "ready", "requests_under_way": self.door.under_way})

    async def _metrics(self, _: Request) -> Response:
        text = self.counters.render(self.door.under_way).encode()
        if (sink := self.deck.sink("prometheus")) is not None:
            text += await asyncio.to_thread(sink.render)
        return Response(text, media_type="text/plain; version=0.0.4")


def _json(data: Any, status: int = 200) -> Response:
    return Response(_encode(data), status, media_type="application/json")


def refusal(problem: Problem) -> Response:
    """Return an error as a response."""
    return Response(_encode(chat_dialect.error(problem)), problem.status, problem.headers, "application/json")


async def _not_found(request: Request, exc: Exception) -> Response:
    status = getattr(exc, "status_code", 404)
    problem = "does not accept" if status == 405 else "is not served for"
    return refusal(
        Problem(
            message=f"{request.url.path[:200]} {problem} {request.method}; GET /openapi.json lists the endpoints",
            status=status,
            kind="not_found_error",
            code="unknown_url",
        )
    )
