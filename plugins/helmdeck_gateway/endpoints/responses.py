"""The endpoints of OpenAI's Responses API, with stores for conversations, and for responses in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_core import Role
from helmdeck_gateway.accounts.principals import Principal
from helmdeck_gateway.background.runner import RUN
from helmdeck_gateway.conversations.conversations import Conversations
from helmdeck_gateway.conversations.items import StoredItems, conversation_items, input_items
from helmdeck_gateway.conversations.response_store import ResponseStore, StoredResponse, answer_message
from helmdeck_gateway.dialects import responses as responses_dialect
from helmdeck_gateway.dialects.parsed import Parsed, field, names_stored_file, required
from helmdeck_gateway.dialects.reply import Opening, Reply
from helmdeck_gateway.dialects.responses import unknown_previous, unknown_response
from helmdeck_gateway.dialects.responses_writer import conversation_id, response_id, whole
from helmdeck_gateway.endpoints.background import BackgroundEndpoints
from helmdeck_gateway.endpoints.bodies import JsonBody
from helmdeck_gateway.endpoints.calls import CallEndpoint, Door
from helmdeck_gateway.endpoints.pages import Page, json_response, stored
from helmdeck_gateway.problems import Problem, invalid

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Scope

    from helmdeck_gateway.calls.work import Work


class ResponsesEndpoint(CallEndpoint):
    """``/v1/responses``: a request may continue a stored conversation, and may run in the background."""

    def __init__(self, door: Door) -> None:
        super().__init__(door, responses_dialect, "responses")
        self._store = ResponseStore(door.service.state.documents)
        self._background = BackgroundEndpoints(door.service.state, door.service.settings, door.counters)

    # -- the conversation of a request -------------------------------------------------------------------------

    async def parse(self, body: JsonBody, principal: Principal) -> Parsed:
        """Read a request; the messages of its stored conversation come first."""
        fields, caller = body.fields, principal.caller
        previous = field(fields, "previous_response_id", str)
        named = field(fields, "conversation", (str, dict))
        if named is not None and previous is not None:
            raise invalid("not possible beside conversation; send one of them", "previous_response_id")
        value = required(fields, "input", (str, list))
        if named is not None:
            name = named if isinstance(named, str) else required(named, "id", str, "conversation.")
            return await self._parse_in_conversation(body, principal, name)
        earlier = await self._earlier(previous, caller) if previous is not None else StoredResponse((), {"output": ()})
        own = await stored(self._items(caller).resolve(value, earlier.all_items))
        merged = attrs.evolve(body, fields={**fields, "input": own.value}, size=body.size + own.size)
        parsed = await self.parse_with(merged, principal, earlier.messages)
        names_files = own.names_files or any(map(names_stored_file, earlier.messages))
        return attrs.evolve(parsed, earlier_items=earlier.all_items, names_files=parsed.names_files or names_files)

    async def _earlier(
        self, name: str, caller: str, unknown: Callable[[str], Problem] = unknown_previous
    ) -> StoredResponse:
        """A stored response.

        :raises Problem: it is not stored, or not completed.
        """
        found = await self._store.find(name, caller)
        if found is not None:
            return found
        running = await stored(self._background.find(name, caller))
        if running is not None and running.is_open:
            raise Problem(
                message=f"the response {name!r} is {running.payload()['status']}; continue it when it is completed",
                status=409, code="response_not_completed", param=unknown(name).param,
            )  # fmt: skip
        raise unknown(name)

    async def _parse_in_conversation(self, body: JsonBody, principal: Principal, name: str) -> Parsed:
        """Read a request whose input follows the items of a conversation."""
        conversations = self._conversations(principal.caller)
        conversation = await stored(conversations.find(name, "conversation"))
        items = await stored(conversations.items(conversation))
        own = await stored(self._items(principal.caller).resolve(body.fields["input"], items.rows))
        added = conversation_items(own.value, conversation.id)
        await stored(conversations.check_room(conversation, added))
        fields, size = {**body.fields, "input": [*items.rows, *added]}, body.size + items.size + own.size
        parsed = await self.parse_with(attrs.evolve(body, fields=fields, size=size), principal)
        return attrs.evolve(
            parsed, body={**fields, "input": added}, earlier_items=items.rows,
            names_files=parsed.names_files or items.names_files or own.names_files,
        )  # fmt: skip

    def _items(self, caller: str) -> StoredItems:
        most = self.door.service.settings.max_request_bytes
        return StoredItems(self._store, lambda: self._conversations(caller), caller, most)

    def _conversations(self, caller: str) -> Conversations:
        service = self.door.service
        return Conversations(service.state.open_store(), caller, service.settings)

    async def finished(self, reply: Reply, principal: Principal) -> None:
        """Store the conversation, unless the client does not want it."""
        await super().finished(reply, principal)
        body = reply.parsed.body
        payload = whole(reply)
        if name := conversation_id(body):
            items = [*body["input"], *payload["output"]]
            await stored(self._conversations(principal.caller).append(name, items))
        if body.get("store") is False:
            return
        messages = reply.parsed.request.messages
        has_instructions = bool(body.get("instructions")) and messages[0].role is Role.SYSTEM
        conversation = (*messages[has_instructions:], answer_message(reply.response))
        name = response_id(reply.opening)
        items = input_items(body["input"], name, reply.parsed.earlier_items)
        await self._store.keep(name, principal.caller, StoredResponse(conversation, payload, items))

    # -- in the background -------------------------------------------------------------------------------------

    def opening(self, scope: Scope, work: Work) -> Opening:
        """Return the opening of a response; one that was queued has its id already."""
        if (run := scope.get(RUN)) is None:
            return super().opening(scope, work)
        return Opening(model=work.name, id=run.id.removeprefix("resp_"), created=run.created_s)

    async def queued(self, scope: Scope, body: JsonBody, work: Work) -> Response | None:
        """Queue a request that asks for it; return the response to it."""
        if not work.parsed.body.get("background") or RUN in scope:
            return None
        return await stored(self._background.create(scope, body, work))

    async def show(self, request: Request) -> Response:
        """Return or delete a stored response, or stream one in the background.

        :raises Problem: it is not stored.
        """
        caller, name = request.state.principal.caller, request.path_params["name"]
        running = await stored(self._background.find(name, caller))
        found = None if running is not None else await self._store.find(name, caller)
        if running is None and found is None:
            raise unknown_response(name)
        if request.method == "DELETE":
            await self._store.forget(name, caller)
            if running is not None:
                await stored(self._background.delete(name, caller))
            return json_response({"id": name, "object": "response", "deleted": True})
        if request.query_params.get("stream") == "true":
            return self._background.stream(request, running)
        payload: Mapping[str, Any] = running.payload() if running is not None else found.payload if found else {}
        return json_response(payload)

    async def input_items(self, request: Request) -> Response:
        """List what a stored response was made of.

        :raises Problem: it is not stored, or not completed.
        """
        page, caller = Page.of(request), request.state.principal.caller
        found = await self._earlier(request.path_params["name"], caller, unknown_response)
        return json_response(page.of_all(found.items))

    async def cancel(self, request: Request) -> Response:
        """Cancel a response in the background.

        :raises Problem: it is not stored, or does not run in the background.
        """
        caller, name = request.state.principal.caller, request.path_params["name"]
        running = await stored(self._background.find(name, caller))
        if running is None:
            if await self._store.find(name, caller) is None:
                raise unknown_response(name)
            raise invalid("only a response that was created with background can be cancelled", "response_id")
        return json_response(await stored(self._background.cancel(running, caller)))
