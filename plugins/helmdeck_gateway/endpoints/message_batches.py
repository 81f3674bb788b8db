"""Anthropic's message batches: requests that run in the background."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import StreamingResponse

from helmdeck_gateway.batches.batch import (
    CANCELLED,
    ERRORED,
    EXPIRED,
    SUCCEEDED,
    Batch,
    Batches,
    Line,
    sender_of,
)
from helmdeck_gateway.batches.files import new_id
from helmdeck_gateway.batches.lines import PUT_LINES, anthropic_line, check_body
from helmdeck_gateway.calls.aside import aside
from helmdeck_gateway.conversations.gateway_state import GatewayState
from helmdeck_gateway.dialects.parsed import objects, required
from helmdeck_gateway.endpoints.batches import BatchEndpoints
from helmdeck_gateway.endpoints.bodies import read_json
from helmdeck_gateway.endpoints.pages import Page, iso_time, json_response, stored
from helmdeck_gateway.problems import Problem, invalid
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_gateway.stores.rows import OPEN

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

KIND: Final = "anthropic"
ENDPOINT: Final = "/v1/messages"
WINDOW_S: Final = 86_400
MAX_REQUESTS: Final = 100_000
_CUSTOM_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class MessageBatchEndpoints:
    """The endpoints below ``/v1/messages/batches``."""

    def __init__(self, state: GatewayState, settings: GatewaySettings, batches: BatchEndpoints) -> None:
        self._state = state
        self._settings = settings
        self._batches = batches

    async def serve(self, request: Request) -> Response:
        """Create a batch, or list them."""
        return await stored(self._create(request) if request.method == "POST" else self._list(request))

    async def one(self, request: Request) -> Response:
        """Return a batch, or delete one that has ended."""
        batches, batch = await self._find(request)
        if request.method == "DELETE":
            if not batch.has_ended:
                raise invalid("the batch has not ended; cancel it first")
            await stored(batches.delete(batch))
            return json_response({"id": batch.id, "type": "message_batch_deleted"})
        return json_response(_data(request, batch, await stored(batches.counts(batch))))

    async def cancel(self, request: Request) -> Response:
        """Cancel a batch; requests that run are finished."""
        batches, batch = await self._find(request)
        batch = await stored(batches.cancel(batch))
        self._state.batches_changed.set()
        return json_response(_data(request, batch, await stored(batches.counts(batch))))

    async def results(self, request: Request) -> Response:
        """Return the results as JSON lines."""
        batches, batch = await self._find(request)
        if not batch.has_ended:
            raise Problem(message="the batch has no results before it has ended", status=404, kind="not_found_error")

        async def lines() -> AsyncIterator[bytes]:
            async for state, result in batches.results(batch):
                yield anthropic_line(state, result)

        return StreamingResponse(lines(), media_type="application/x-jsonl")

    async def _find(self, request: Request) -> tuple[Batches, Batch]:
        batches = self._batches.batches_of(request.state.principal.caller)
        return batches, await stored(batches.find(request.path_params["name"], KIND))

    async def _create(self, request: Request) -> Response:
        principal = request.state.principal
        body = await read_json(request.scope, request.receive, self._settings)
        lines = await aside(body.size, read_requests, required(body.fields, "requests", list))
        batches = self._batches.batches_of(principal.caller)
        await batches.take_room(body.size, self._settings.max_stored_file_bytes, self._settings.max_batches)
        batch_id, now = new_id("msgbatch_"), int(time.time())
        for start in range(0, len(lines), PUT_LINES):
            await batches.add_lines(batch_id, dict(enumerate(lines[start : start + PUT_LINES], start)))
        batch = Batch(
            id=batch_id, kind=KIND, endpoint=ENDPOINT, total=len(lines), created_s=now, expires_s=now + WINDOW_S,
            sender=sender_of(principal, request.headers.get("x-helmdeck-tags", "")), status="in_progress",
            size=body.size,
        )  # fmt: skip
        await batches.add(batch)
        self._state.batches_changed.set()
        return json_response(_data(request, batch, {OPEN: len(lines)}))

    async def _list(self, request: Request) -> Response:
        page, batches = Page.of_anthropic(request), self._batches.batches_of(request.state.principal.caller)
        found = await batches.list(KIND, after=page.after, limit=page.limit + 1, newest=page.newest)
        return json_response(page.anthropic_data([_data(request, each, await batches.counts(each)) for each in found]))


def read_requests(requests: list[Any]) -> list[Line]:
    """Read the requests of a batch.

    :raises Problem: one of them is invalid.
    """
    if not requests:
        raise invalid("at least one request is expected", "requests")
    known: set[str] = set()
    lines: list[Line] = []
    for number, row in enumerate(objects(requests, "requests", MAX_REQUESTS)):
        where = f"requests[{number}]."
        custom_id, params = required(row, "custom_id", str, where), required(row, "params", dict, where)
        if not _CUSTOM_ID.fullmatch(custom_id):
            raise invalid("1 to 64 letters, digits, '_' and '-' are expected", f"{where}custom_id")
        if custom_id in known:
            raise invalid(f"{custom_id!r} is not unique in the batch", f"{where}custom_id")
        known.add(custom_id)
        check_body(params, f"{where}params.")
        lines.append(Line(custom_id, msgspec.json.encode(params)))
    return lines


def _data(request: Request, batch: Batch, counts: Mapping[int, int]) -> dict[str, Any]:
    """A batch in the form of Anthropic's API."""
    status = "ended" if batch.has_ended else "canceling" if batch.status == "cancelling" else "in_progress"
    url = f"{request.base_url}v1/messages/batches/{batch.id}/results" if batch.has_ended else None
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": {
            "processing": counts.get(OPEN, 0),
            "succeeded": counts.get(SUCCEEDED, 0),
            "errored": counts.get(ERRORED, 0),
            "canceled": counts.get(CANCELLED, 0),
            "expired": counts.get(EXPIRED, 0),
        },
        "created_at": iso_time(batch.created_s),
        "expires_at": iso_time(batch.expires_s),
        "ended_at": iso_time(batch.ended_s),
        "cancel_initiated_at": iso_time(batch.cancelling_s),
        "archived_at": None,
        "results_url": url,
    }
