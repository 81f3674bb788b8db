"""``/v1/embeddings``: passed through to the provider of the model, with its key and its connection settings."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_core import TRACE_CONTEXT, CallFailed, Helmdeck, InvalidRequest, ProviderPool, Usage
from helmdeck_gateway.accounts.principals import Principal, tags_of
from helmdeck_gateway.accounts.request_costs import FREE_CAUSES, embedding_tokens, embedding_usage
from helmdeck_gateway.calls.request_ids import trace_context_of
from helmdeck_gateway.calls.service import MODEL_FIELDS
from helmdeck_gateway.calls.targets import listed
from helmdeck_gateway.calls.work import account_headers
from helmdeck_gateway.dialects import chat as chat_dialect
from helmdeck_gateway.dialects.parsed import required
from helmdeck_gateway.endpoints.bodies import Disconnected, headers_of, read_json, send_whole
from helmdeck_gateway.endpoints.calls import CallEndpoint, Door
from helmdeck_providers import ErrorRules, HttpConnection, decode_body, encode_payload

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

FAMILIES = frozenset(("openai", "responses"))
"""The plugins whose providers have the endpoint."""


class EmbeddingsEndpoint(CallEndpoint):
    """Sends requests for vectors."""

    def __init__(self, door: Door, deck: Helmdeck) -> None:
        super().__init__(door, chat_dialect, "embeddings")
        self._deck = deck
        self._connections: dict[str, HttpConnection] = {}

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> int:
        model, sent_headers = "", headers_of(scope)
        try:
            principal = await self.door.open(scope)
            principal.check_endpoint(self.name, tags_of(sent_headers))
            sent = await read_json(scope, receive, self.door.service.settings)
            body = sent.fields
            name = required(body, "model", str)
            principal.check_model(name)
            target = self.door.service.targets.find(name)
            model = target.model
            provider, _, upstream_model = model.partition("/")
            if not upstream_model or not target.families & FAMILIES:
                detail = "embeddings need a model of a provider with OpenAI's API, as provider/model"
                raise InvalidRequest(f"{model!r} has no embeddings", sub_cause="model", detail=detail, model=model)
            connection = self._connection(provider)
            key = connection.key()
            secrets = connection.secrets(key)
            headers = {"authorization": f"Bearer {key}"} if key else {}
            left_out = [] if not principal.has_model_limit else [field for field in body if field in MODEL_FIELDS]
            fields = {field: value for field, value in body.items() if field not in left_out}
            if self.door.service.guards:
                fields["input"] = await self._guarded(fields.get("input"), principal, name, model)
            payload = encode_payload({**fields, "model": upstream_model}, {})
            TRACE_CONTEXT.set(trace_context_of(sent_headers))
            async with self._booked(principal, model, body.get("input")) as booked:
                response = await connection.post("/embeddings", payload, headers, secrets)
                booked.append(decode_body(response.status, response.headers, response.body, ErrorRules(), secrets))
            self.check_size(len(response.body))
        except Disconnected:
            raise
        except asyncio.CancelledError:
            return await self._refuse(send, sent_headers, self.stopped(), None)
        except CallFailed as exc:
            return await self._refuse(send, sent_headers, attrs.evolve(exc, model=exc.model or model), None)
        except Exception as exc:
            return await self._refuse(send, sent_headers, exc, None)
        response_headers = {"x-helmdeck-model": listed([model]), **account_headers(principal, None)}
        if left_out:
            response_headers["x-helmdeck-dropped"] = listed(left_out)
        await send_whole(send, 200, response.body, response_headers)
        return 200

    async def _guarded(self, value: Any, principal: Principal, name: str, model: str) -> Any:
        """Return the input as the guards leave it; tokens instead of texts are not checked."""
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            return value
        checked = await self.door.service.check_texts(texts, principal, name, model, self.name)
        return checked[0] if isinstance(value, str) else checked

    @contextlib.asynccontextmanager
    async def _booked(self, principal: Principal, model: str, value: Any) -> AsyncIterator[list[Any]]:
        """Admit the request of a key, and settle it by the payload that is put into the list."""
        found: list[Any] = []
        if principal.key is None:
            yield found
            return
        ledger, tokens = self.door.ledger, embedding_tokens(value)
        booking = await ledger.admit(principal.key, model, tokens, 0, fallbacks=(), teams=principal.teams)
        most_usd = ledger.pricing.cost_usd(model, Usage(input_tokens=max(1, tokens)))
        booking.spend.is_unpriced = most_usd is None
        cost_usd = most_usd or 0.0  # what an aborted request may cost
        try:
            yield found
            usage = embedding_usage(found[0], max(1, tokens))
            cost_usd, tokens = ledger.pricing.cost_usd(model, usage) or 0.0, usage.input_tokens
        except CallFailed as exc:
            is_refused = exc.sub_cause in FREE_CAUSES or (exc.status or 0) >= 400
            cost_usd, tokens = (0.0, 0) if is_refused else (cost_usd, tokens)
            raise
        finally:
            await booking.settle(cost_usd=cost_usd, tokens=tokens)

    def _connection(self, provider: str) -> HttpConnection:
        if provider not in self._connections:
            settings = ProviderPool(self._deck.runtime).registry.first_settings(provider)
            self._connections[provider] = HttpConnection(settings)
        return self._connections[provider]

    async def aclose(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.aclose()
