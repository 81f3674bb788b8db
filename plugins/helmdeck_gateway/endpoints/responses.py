"""The endpoints of OpenAI's Responses API, with a store for conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from helmdeck_core import Role
from helmdeck_gateway.accounts.principals import Principal
from helmdeck_gateway.conversations.response_store import ResponseStore, StoredResponse, answer_message
from helmdeck_gateway.dialects import responses as responses_dialect
from helmdeck_gateway.dialects.parsed import Parsed, field
from helmdeck_gateway.dialects.reply import Reply
from helmdeck_gateway.dialects.responses import unknown_response
from helmdeck_gateway.dialects.responses_writer import response_id, whole
from helmdeck_gateway.endpoints.bodies import JsonBody, headers_of
from helmdeck_gateway.endpoints.calls import CallEndpoint, Door

if TYPE_CHECKING:
    from starlette.requests import Request


class ResponsesEndpoint(CallEndpoint):
    """``/v1/responses``: a request may continue a stored conversation."""

    def __init__(self, door: Door) -> None:
        super().__init__(door, responses_dialect, "responses")
        self._store = ResponseStore(door.service.state.documents)

    async def parse(self, body: JsonBody, principal: Principal) -> Parsed:
        """Read a request; the messages of its stored conversation come first."""
        previous = field(body.fields, "previous_response_id", str)
        if previous is None:
            return await super().parse(body, principal)
        stored = await self._store.find(previous, principal.caller)
        if stored is None:
            raise unknown_response(previous)
        return await self.parse_with(body, principal, stored.messages)

    async def finished(self, reply: Reply, principal: Principal) -> None:
        """Store the conversation, unless the client does not want it."""
        await super().finished(reply, principal)
        if reply.parsed.body.get("store") is False:
            return
        messages = reply.parsed.request.messages
        has_instructions = bool(reply.parsed.body.get("instructions")) and messages[0].role is Role.SYSTEM
        conversation = (*messages[has_instructions:], answer_message(reply.response))
        stored = StoredResponse(conversation, whole(reply))
        await self._store.keep(response_id(reply.opening), principal.caller, stored)

    async def show(self, request: Request) -> Response:
        """Return or delete a stored response.

        :raises Problem: it is not stored.
        """
        principal = await self.door.authoriser.authorise(headers_of(request.scope))
        name = request.path_params["name"]
        stored = await self._store.find(name, principal.caller)
        if stored is None:
            raise unknown_response(name)
        payload: Mapping[str, Any] = stored.payload
        if request.method == "DELETE":
            await self._store.forget(name, principal.caller)
            payload = {"id": name, "object": "response", "deleted": True}
        return Response(msgspec.json.encode(payload), media_type="application/json")
