"""Responses in the background, as the endpoints of OpenAI's Responses API offer them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from helmdeck_gateway.background.event_log import read_events
from helmdeck_gateway.background.responses import Background, BackgroundResponses, Queued
from helmdeck_gateway.batches.batch import sender_of
from helmdeck_gateway.batches.files import new_id
from helmdeck_gateway.conversations.gateway_state import DAY_S, GatewayState
from helmdeck_gateway.dialects.reply import Opening
from helmdeck_gateway.dialects.responses_writer import Writer, first_events, last_event, queued
from helmdeck_gateway.endpoints.bodies import JsonBody, headers_of
from helmdeck_gateway.endpoints.pages import json_response
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.problems import invalid
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_storage import StorageError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

    from helmdeck_gateway.calls.work import Work

POLL_S: Final = 0.25
"""Seconds between two reads of the events of a response that runs."""


class BackgroundEndpoints:
    """What the endpoints of Responses need for those in the background."""

    def __init__(self, state: GatewayState, settings: GatewaySettings, counters: Counters) -> None:
        self._state = state
        self._settings = settings
        self._counters = counters

    def _responses(self, caller: str) -> BackgroundResponses:
        return BackgroundResponses(self._state.open_store(), caller, self._settings.stored_days * DAY_S)

    async def find(self, name: str, caller: str) -> Background | None:
        """Return a response; ``None`` if the caller has none with the id."""
        return None if self._state.find_store() is None else await self._responses(caller).find(name)

    async def create(self, scope: Scope, body: JsonBody, work: Work) -> Response:
        """Queue a request.

        :raises Problem: too many of the caller are queued.
        """
        headers, created_s, response_id = headers_of(scope), int(time.time()), new_id("resp_")
        opening = Opening(model=work.name, id=response_id.removeprefix("resp_"), created=created_s)
        payload = queued(opening, work.parsed)
        made = Queued(
            id=response_id,
            sender=sender_of(work.principal, headers.get(b"x-helmdeck-tags", b"").decode("latin-1")),
            body=msgspec.json.encode(body.fields),
            shown=msgspec.json.encode(payload),
            created_s=created_s,
            is_stream=work.parsed.is_stream,
        )
        responses = self._responses(work.principal.caller)
        await responses.add(made, self._settings.max_background)
        self._state.background_changed.set()
        return self._events(responses, made, -1) if made.is_stream else json_response(payload)

    async def cancel(self, response: Background, caller: str) -> dict[str, Any]:
        """Cancel a response; return it."""
        responses, name = self._responses(caller), response.queued.id
        await responses.cancel(response)
        if (run := self._state.runs.get(name)) is not None:
            run.cancel()
        found = await responses.find(name)
        return (found or response).payload()

    async def delete(self, name: str, caller: str) -> None:
        """Delete a response."""
        await self._responses(caller).delete(name)
        if (run := self._state.runs.get(name)) is not None:
            run.cancel()

    def stream(self, request: Request, response: Background | None) -> Response:
        """Return the events of a response after one that the client has.

        :raises Problem: it was not created with ``background`` and ``stream``.
        """
        if response is None or not response.queued.is_stream:
            raise invalid("only a response that was created with background and stream can be streamed", "stream")
        text = request.query_params.get("starting_after", "-1")
        if text != "-1" and not (text.isascii() and text.isdigit() and len(text) <= 8):
            raise invalid(f"expected the number of an event, found {text[:20]!r}", "starting_after")
        return self._events(self._responses(request.state.principal.caller), response.queued, int(text))

    def _events(self, responses: BackgroundResponses, made: Queued, after: int) -> Response:
        headers = {
            "cache-control": "no-cache",
            "x-accel-buffering": "no",
        }  # proxies such as nginx would hold events back
        content = self._read(responses, made, after)
        return StreamingResponse(content, headers=headers, media_type=Writer.content_type.decode())

    async def _read(self, responses: BackgroundResponses, made: Queued, after: int) -> AsyncIterator[bytes]:
        """Yield the events with a higher number, until the response is finished."""
        blank: dict[str, Any] = {
            "status": "queued",
            "output": [],
            "usage": None,
            "error": None,
            "incomplete_details": None,
        }
        for number, event in enumerate(first_events({**msgspec.json.decode(made.shown), **blank})):
            if number > after:
                yield event
                after = number
        idle_s = time.monotonic()
        while not self._counters.is_draining:  # then the client resumes with another process
            try:
                response = await responses.find(made.id)
                events = await read_events(responses.store, made.id, after)
            except StorageError:
                return  # the client resumes where it is
            for number, event in events:
                yield event
                after, idle_s = number, time.monotonic()
            if response is None:  # it was deleted
                return
            if not events and not response.is_open:
                yield last_event(response.payload(), after + 1)
                return
            if not events:
                await asyncio.sleep(POLL_S)
                if time.monotonic() - idle_s >= self._settings.ping_s:
                    idle_s = time.monotonic()
                    yield Writer.ping
