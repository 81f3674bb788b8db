"""The ASGI application of the gateway."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from helmdeck_core import GatewayApp, Helmdeck
from helmdeck_gateway.accounts.endpoint_names import endpoint_names
from helmdeck_gateway.accounts.keys import StoredKeys
from helmdeck_gateway.accounts.ledger import Ledger
from helmdeck_gateway.accounts.local_only import LocalOnly
from helmdeck_gateway.accounts.principals import Authoriser, NoKeys, SharedKey
from helmdeck_gateway.background.runner import BackgroundRunner
from helmdeck_gateway.batches.runner import BatchRunner
from helmdeck_gateway.calls.call_record import SINK
from helmdeck_gateway.calls.direct_calls import DirectCalls
from helmdeck_gateway.calls.key_plans import KeyPlans
from helmdeck_gateway.calls.service import Service
from helmdeck_gateway.conversations.gateway_state import GatewayState
from helmdeck_gateway.dialects import chat as chat_dialect
from helmdeck_gateway.dialects import completions as completions_dialect
from helmdeck_gateway.dialects import gemini as gemini_dialect
from helmdeck_gateway.dialects import messages as messages_dialect
from helmdeck_gateway.dialects.reply import Dialect
from helmdeck_gateway.endpoints.admin import AdminEndpoints
from helmdeck_gateway.endpoints.batches import BatchEndpoints
from helmdeck_gateway.endpoints.bodies import Disconnected, headers_of, is_anthropic
from helmdeck_gateway.endpoints.calls import CallEndpoint, CountTokens, Door
from helmdeck_gateway.endpoints.conversations import ConversationEndpoints
from helmdeck_gateway.endpoints.embeddings import EmbeddingsEndpoint
from helmdeck_gateway.endpoints.files import FileEndpoints
from helmdeck_gateway.endpoints.gemini import PATHS as GEMINI_PATHS
from helmdeck_gateway.endpoints.gemini import GeminiEndpoint, is_google, with_api_key
from helmdeck_gateway.endpoints.message_batches import MessageBatchEndpoints
from helmdeck_gateway.endpoints.models import list_models
from helmdeck_gateway.endpoints.openapi import document
from helmdeck_gateway.endpoints.rerank import RerankEndpoint
from helmdeck_gateway.endpoints.responses import ResponsesEndpoint
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.problems import CLIENT_CLOSED, Problem
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_gateway.sign_in.authoriser import SignedTokens
from helmdeck_gateway.stores import GatewayStore

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

_encode = msgspec.json.Encoder().encode


class Gateway:
    """A gateway over one deck.

    :param authoriser: checks the senders of requests; by default the key of the settings and the keys of the store, if there
        are any.
    :param store: keys, limits, spend and what is remembered of conversations; it is not closed. By default the one of the
        settings.
    :param counters: those of a gateway of this process that this one replaces.
    :param state: that of a gateway that this one replaces, instead of ``store``.
    :ivar app: the ASGI application.
    :ivar plans: makes plans for keys outside of requests, such as for an operator in the console.
    """

    def __init__(
        self,
        deck: Helmdeck,
        settings: GatewaySettings | None = None,
        *,
        authoriser: Authoriser | None = None,
        store: GatewayStore | None = None,
        counters: Counters | None = None,
        state: GatewayState | None = None,
    ) -> None:
        self.deck = deck
        self.settings: GatewaySettings = settings or GatewaySettings.read(deck.runtime.config.gateway)
        self._authoriser = authoriser
        self.counters: Counters = counters or Counters()
        self.state: GatewayState = state or GatewayState(store, self.settings, self.counters)
        shared: Authoriser | None = SharedKey(self.settings.key) if self.settings.key is not None else None
        find_store, requires_keys = self.state.find_store, self.settings.requires_keys
        self.sign_in: SignedTokens | None = None
        if issuers := self.settings.issuers:
            sets, outcomes = self.state.key_sets, self.counters.sign_ins
            self.sign_in = SignedTokens(issuers, find_store, shared, key_sets=sets, outcomes=outcomes)
            shared = self.sign_in
        local = LocalOnly(self.settings.hosts)
        self.authoriser: Authoriser | StoredKeys = authoriser or StoredKeys(
            find_store, shared, local=local, is_required=requires_keys
        )
        is_tracked = any(sink.value.name == SINK for sink in deck.runtime.sinks)
        self.ledger: Ledger = Ledger(deck, find_store, self.counters.keys, is_tracked=is_tracked)
        self.service: Service = Service(deck, self.settings, self.state)
        self.plans: KeyPlans = KeyPlans(self.service, self.ledger, find_store)
        self.door: Door = Door(self.service, self.authoriser, self.counters, self.ledger)
        metrics_key = self.settings.metrics_key
        self._metrics_access = SharedKey(metrics_key, "gateway.metrics_key") if metrics_key is not None else NoKeys()
        self.app: Starlette = _App(
            routes=self._routes(),
            lifespan=self._lifespan,
            exception_handlers={404: _not_found, 405: _not_found},
        )

    def _routes(self) -> list[BaseRoute]:
        post = ["POST"]
        self._direct_calls = DirectCalls(self.deck, self.ledger.pricing)
        responses, gemini = ResponsesEndpoint(self.door), GeminiEndpoint(self.door, self._direct_calls)
        rerank = RerankEndpoint(self.door, self._direct_calls)
        return [
            Route("/v1/chat/completions", CallEndpoint(self.door, chat_dialect, "chat"), methods=post),
            Route("/v1/completions", CallEndpoint(self.door, completions_dialect, "completions"), methods=post),
            Route("/v1/messages", CallEndpoint(self.door, messages_dialect, "messages"), methods=post),
            Route("/v1/messages/count_tokens", CountTokens(self.door, messages_dialect, "count_tokens"), methods=post),
            Route("/v1/responses", responses, methods=post),
            Route("/v1/responses/{name}", self._checked(responses.show), methods=["GET", "DELETE"]),
            Route("/v1/responses/{name}/input_items", self._checked(responses.input_items), methods=["GET"]),
            Route("/v1/responses/{name}/cancel", self._checked(responses.cancel), methods=post),
            Route("/v1/embeddings", EmbeddingsEndpoint(self.door, self._direct_calls), methods=post),
            Route("/v1/rerank", rerank, methods=post),
            Route("/v2/rerank", rerank, methods=post),  # of Cohere's clients
            Route("/v1/realtime", _no_realtime, methods=["GET", "POST"]),
            Route("/v1/realtime/{name:path}", _no_realtime, methods=["GET", "POST"]),
            *self._stored_routes(),
            *AdminEndpoints(
                self.state.find_store, endpoint_names(self.deck.runtime), body_s=self.settings.body_s
            ).routes(self._checked),
            Route("/openapi.json", self._openapi, methods=["GET"]),
            Route("/api/hello", self._health, methods=["GET"]),  # which Claude Code asks for
            *(Route(path, self._checked(self._models), methods=["GET"]) for path in GEMINI_PATHS),
            *(Route(f"{path}/{{name:path}}", self._checked(self._model), methods=["GET"]) for path in GEMINI_PATHS),
            *(Route(f"{path}/{{name:path}}", gemini, methods=post) for path in GEMINI_PATHS),
            Route("/healthz", self._health, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            *self._contributed_apps(),
        ]

    def _stored_routes(self) -> Iterator[BaseRoute]:
        files = FileEndpoints(self.state, self.settings)
        batches = BatchEndpoints(self.state, self.settings, files)
        messages = MessageBatchEndpoints(self.state, self.settings, batches)
        conversations = ConversationEndpoints(self.state, self.settings)
        rows: tuple[tuple[str, Callable[[Request], Awaitable[Response]], list[str]], ...] = (
            ("/v1/files", files.serve, ["GET", "POST"]),
            ("/v1/files/{name}", files.one, ["GET", "DELETE"]),
            ("/v1/files/{name}/content", files.content, ["GET"]),
            ("/v1/batches", batches.serve, ["GET", "POST"]),
            ("/v1/batches/{name}", batches.one, ["GET"]),
            ("/v1/batches/{name}/cancel", batches.cancel, ["POST"]),
            ("/v1/messages/batches", messages.serve, ["GET", "POST"]),
            ("/v1/messages/batches/{name}", messages.one, ["GET", "DELETE"]),
            ("/v1/messages/batches/{name}/cancel", messages.cancel, ["POST"]),
            ("/v1/messages/batches/{name}/results", messages.results, ["GET"]),
            ("/v1/conversations", conversations.create, ["POST"]),
            ("/v1/conversations/{name}", conversations.one, ["GET", "POST", "DELETE"]),
            ("/v1/conversations/{name}/items", conversations.items, ["GET", "POST"]),
            ("/v1/conversations/{name}/items/{item}", conversations.item, ["GET", "DELETE"]),
        )
        for path, serve, methods in rows:
            yield Route(path, self._checked(serve), methods=methods)

    def _contributed_apps(self) -> Iterator[BaseRoute]:
        """The applications of plugins, such as the console."""
        for owned in self.deck.runtime.contributions.of(GatewayApp):
            with owned.faults():
                app = owned.value.open(self)
            if app is not None:
                yield Mount(owned.value.path, app=app)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        work = asyncio.create_task(self.stored_work(self.app, lambda: self.settings))
        try:
            yield
        finally:
            self.drain()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self.aclose()
            await self.state.aclose()

    async def stored_work(self, app: ASGIApp, settings: Callable[[], GatewaySettings]) -> None:
        """Run the batches of the store, and the responses in the background, until it is cancelled.

        :param app: serves their requests.
        :param settings: returns those of the gateway as they are now.
        """
        place = (app, self.state, settings, self.counters)
        await asyncio.gather(BatchRunner(*place).run(), BackgroundRunner(*place).run())

    def drain(self) -> None:
        """Refuse new requests; those under way are completed."""
        self.counters.is_draining = True

    def successor(self, deck: Helmdeck, settings: GatewaySettings) -> Gateway:
        """Return a gateway that replaces this one, with the same counters and state."""
        return Gateway(deck, settings, authoriser=self._authoriser, counters=self.counters, state=self.state)

    async def aclose(self) -> None:
        """Close what the gateway opened, and settle the calls that were aborted; its deck stays open."""
        await self._direct_calls.aclose()
        await self.service.guards.aclose()
        await self.ledger.aclose()

    # -- what is not a call ----------------------------------------------------------------------------------

    def _checked(self, serve: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            headers = headers_of(with_api_key(request.scope))
            try:
                request.state.principal = await self.door.authoriser.authorise(headers)
                return await serve(request)
            except Disconnected:
                self.counters.disconnects += 1
                return Response(status_code=CLIENT_CLOSED)  # which no client gets
            except Exception as exc:
                return refusal(self.door.failures.problem(exc, headers), _dialect_of(request))

        return checked

    async def _models(self, request: Request) -> Response:
        names = await self._names(request)
        if is_google(request.url.path, headers_of(request.scope)):
            return _json(gemini_dialect.models(names))
        return _json((messages_dialect if is_anthropic(request.scope) else chat_dialect).models(names))

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        for row in chat_dialect.models(await self._names(request))["data"]:
            if row["id"] == name:
                is_own = is_google(request.url.path, headers_of(request.scope))
                return _json(gemini_dialect.model(name) if is_own else row)
        raise Problem(
            message=f"there is no model {name[:200]!r}; GET /v1/models lists the models",
            status=404, kind="not_found_error", code="model_not_found", param="model",
        )  # fmt: skip

    async def _names(self, request: Request) -> list[tuple[str, str]]:
        """The models that the sender may use, with their owners."""
        names = await list_models(self.deck, self.service.targets)
        return [row for row in names if request.state.principal.may_use(row[0])]

    async def _openapi(self, _: Request) -> Response:
        return _json(document())

    async def _health(self, _: Request) -> Response:
        return _json({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        counters = self.counters
        config: dict[str, Any] = {"generation": counters.config.generation, "loaded_at": counters.config.loaded_at}
        if counters.config.error:
            config["last_error"] = counters.config.error
        status = "draining" if counters.is_draining else "ready"
        body = {"status": status, "requests_under_way": counters.under_way, "config": config}
        if self.sign_in is not None:
            body["sign_in"] = self.sign_in.state()
        response = _json(body, 503 if counters.is_draining else 200)
        if counters.is_draining:
            response.headers.update({"retry-after": "1", "connection": "close"})
        return response

    async def _metrics(self, request: Request) -> Response:
        try:
            await self._metrics_access.authorise(headers_of(request.scope))
        except Problem as exc:
            return refusal(exc)
        text = await asyncio.to_thread(self.metrics)
        shared = self.counters.shared
        if shared is not None:
            text = await asyncio.to_thread(shared.merged, text)
        return Response(text, media_type="text/plain; version=0.0.4")

    def metrics(self) -> str:
        """Return the metrics of this process in the text format of Prometheus; those of keys only if a key protects them."""
        sink = self.deck.sink("prometheus")
        keys = self.counters.keys.render() if self.settings.metrics_key is not None else ""
        return self.counters.render() + keys + (sink.render().decode() if sink is not None else "")


class _App(Starlette):
    """The application. The endpoints of calls get their requests directly, since each layer costs time in every chunk."""

    def __init__(self, *, routes: Iterable[BaseRoute], **options: Any) -> None:
        routes = tuple(routes)
        super().__init__(routes=routes, **options)
        self._calls = {
            route.path: route.endpoint
            for route in routes
            if isinstance(route, Route) and isinstance(route.endpoint, CallEndpoint)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the life of the application."""
        call = self._calls.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        await (super().__call__(scope, receive, send) if call is None else call(scope, receive, send))


def _json(data: Any, status: int = 200) -> Response:
    return Response(_encode(data), status, media_type="application/json")


def _dialect_of(request: Request) -> Dialect:
    if request.url.path.startswith("/v1/messages/") or is_anthropic(request.scope):
        return messages_dialect
    return gemini_dialect if is_google(request.url.path, headers_of(request.scope)) else chat_dialect


def refusal(problem: Problem, dialect: Dialect = chat_dialect) -> Response:
    """Return an error as a response."""
    return Response(_encode(dialect.error(problem)), problem.status, problem.headers, "application/json")


async def _no_realtime(_: Request) -> Response:
    return refusal(
        Problem(
            message="the realtime API is not supported: its audio sessions cannot be continued by another model;"
            " send audio to /v1/chat/completions",
            status=501,
            code="not_supported",
        )
    )


async def _not_found(request: Request, exc: Exception) -> Response:
    status = getattr(exc, "status_code", 404)
    problem = "does not accept" if status == 405 else "is not served for"
    return refusal(
        Problem(
            message=f"{request.url.path[:200]} {problem} {request.method}; GET /openapi.json lists the endpoints",
            status=status,
            kind="not_found_error",
            code="unknown_url",
        ),
        _dialect_of(request),
    )
