"""OpenAI's Conversations API: conversations with their items, which responses are added to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from helmdeck_core import EMPTY
from helmdeck_gateway.batches.files import new_id
from helmdeck_gateway.conversations.conversations import Conversation, Conversations
from helmdeck_gateway.conversations.gateway_state import GatewayState
from helmdeck_gateway.conversations.items import conversation_items
from helmdeck_gateway.dialects.parsed import objects, required
from helmdeck_gateway.dialects.responses import parse
from helmdeck_gateway.endpoints.batches import read_metadata
from helmdeck_gateway.endpoints.bodies import read_json
from helmdeck_gateway.endpoints.pages import Page, json_response, stored
from helmdeck_gateway.problems import invalid
from helmdeck_gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MAX_ADDED: Final = 20
"""Items that one request may add, as in OpenAI's API."""


class ConversationEndpoints:
    """The endpoints below ``/v1/conversations``."""

    def __init__(self, state: GatewayState, settings: GatewaySettings) -> None:
        self._state = state
        self._settings = settings

    async def create(self, request: Request) -> Response:
        """Create a conversation."""
        body = await self._body(request)
        conversations, name = self._conversations(request), new_id("conv_")
        items = _read_items(body, name) if body.get("items") else []
        return json_response(data_of(await stored(conversations.create(name, read_metadata(body) or {}, items))))

    async def one(self, request: Request) -> Response:
        """Return, change or delete a conversation."""
        conversations, name = self._conversations(request), request.path_params["name"]
        if request.method == "DELETE":
            await stored(conversations.delete(name))
            return json_response({"id": name, "object": "conversation.deleted", "deleted": True})
        found = await stored(conversations.find(name))
        if request.method == "POST":
            metadata = read_metadata(await self._body(request))
            if metadata is None:
                raise invalid("this field is required", "metadata")
            found = await stored(conversations.set_metadata(found, metadata))
        return json_response(data_of(found))

    async def items(self, request: Request) -> Response:
        """List the items of a conversation, or add some."""
        conversations = self._conversations(request)
        found = await stored(conversations.find(request.path_params["name"]))
        if request.method == "POST":
            items = _read_items(await self._body(request), found.id)
            await stored(conversations.add(found, items))
            return json_response(Page(limit=len(items), after="", newest=False).data(items))
        page = Page.of(request)
        return json_response(page.of_all((await stored(conversations.items(found))).rows))

    async def item(self, request: Request) -> Response:
        """Return or delete an item of a conversation."""
        conversations, item_id = self._conversations(request), request.path_params["item"]
        found = await stored(conversations.find(request.path_params["name"]))
        if request.method == "DELETE":
            return json_response(data_of(await stored(conversations.remove(found, item_id))))
        return json_response((await stored(conversations.item(found, item_id)))[1])

    def _conversations(self, request: Request) -> Conversations:
        return Conversations(self._state.open_store(), request.state.principal.caller, self._settings)

    async def _body(self, request: Request) -> Mapping[str, Any]:
        return (await read_json(request.scope, request.receive, self._settings)).fields


def _read_items(body: Mapping[str, Any], conversation: str) -> list[dict[str, Any]]:
    """The items of a request.

    :raises Problem: they are no items that a request to ``/v1/responses`` may have.
    """
    items = objects(required(body, "items", list), "items")
    if not 1 <= len(items) <= MAX_ADDED:
        raise invalid(f"1 to {MAX_ADDED} items are expected, found {len(items)}", "items")
    # The message that is put first lets items that no message is made of pass.
    parse({"input": [{"role": "user", "content": "x"}, *items]}, lambda _: EMPTY)
    return conversation_items(items, conversation)


def data_of(conversation: Conversation) -> dict[str, Any]:
    """Return a conversation in the form of OpenAI's API."""
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.created_s,
        "metadata": conversation.metadata,
    }
