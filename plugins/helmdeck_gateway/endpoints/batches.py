"""OpenAI's batch API: the requests of a file, which run in the background."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from helmdeck_gateway.batches.batch import ERRORED, EXPIRED, SUCCEEDED, Batch, Batches, sender_of
from helmdeck_gateway.batches.files import new_id
from helmdeck_gateway.batches.lines import ENDPOINTS, read_lines
from helmdeck_gateway.conversations.gateway_state import DAY_S, GatewayState
from helmdeck_gateway.dialects.parsed import field, one_of, required
from helmdeck_gateway.endpoints.bodies import read_json
from helmdeck_gateway.endpoints.files import FileEndpoints
from helmdeck_gateway.endpoints.pages import Page, json_response, stored
from helmdeck_gateway.problems import invalid
from helmdeck_gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MAX_WINDOW_S: Final = 7 * DAY_S
_WINDOW: Final = re.compile(r"([1-9][0-9]{0,2})([hd])")


class BatchEndpoints:
    """The endpoints below ``/v1/batches``."""

    def __init__(self, state: GatewayState, settings: GatewaySettings, files: FileEndpoints) -> None:
        self._state = state
        self._settings = settings
        self._files = files

    def batches_of(self, caller: str) -> Batches:
        """Return the batches of a caller."""
        return Batches(self._state.open_store(), caller, self._settings.stored_days * DAY_S)

    async def serve(self, request: Request) -> Response:
        """Create a batch, or list them."""
        return await stored(self._create(request) if request.method == "POST" else self._list(request))

    async def one(self, request: Request) -> Response:
        """Return a batch."""
        batches = self.batches_of(request.state.principal.caller)
        batch = await stored(batches.find(request.path_params["name"], "openai"))
        return json_response(batch_data(batch, await stored(batches.counts(batch))))

    async def cancel(self, request: Request) -> Response:
        """Cancel a batch; lines that run are finished."""
        batches = self.batches_of(request.state.principal.caller)
        batch = await stored(batches.cancel(await stored(batches.find(request.path_params["name"], "openai"))))
        self._state.batches_changed.set()
        return json_response(batch_data(batch, await stored(batches.counts(batch))))

    async def _create(self, request: Request) -> Response:
        principal = request.state.principal
        body = (await read_json(request.scope, request.receive, self._settings)).fields
        endpoint = one_of(required(body, "endpoint", str), ENDPOINTS, "endpoint")
        window, metadata = required(body, "completion_window", str), read_metadata(body)
        window_s = _seconds(window)
        files, batches = self._files.files_of(principal.caller), self.batches_of(principal.caller)
        file = await files.find(required(body, "input_file_id", str), "input_file_id")
        if file.purpose != "batch":
            raise invalid(f"the file has the purpose {file.purpose!r}, expected 'batch'", "input_file_id")
        await batches.take_room(file.size, self._settings.max_stored_file_bytes, self._settings.max_batches)
        batch_id, now = new_id("batch_"), int(time.time())
        total, mistakes = await read_lines(
            files.content(file.id), endpoint, batches, batch_id, self._settings.max_request_bytes
        )
        batch = Batch(
            id=batch_id, kind="openai", endpoint=endpoint, total=total, created_s=now, input_file=file.id,
            sender=sender_of(principal, request.headers.get("x-helmdeck-tags", "")), window=window, metadata=metadata,
            expires_s=now + window_s, status="failed" if mistakes else "in_progress", errors=tuple(mistakes),
            ended_s=now if mistakes else 0, size=file.size,
        )  # fmt: skip
        if mistakes:
            await batches.store.delete_rows(batch.lines)
            await batches.give_room(file.size)
        await batches.add(batch)
        self._state.batches_changed.set()
        return json_response(batch_data(batch, {}))

    async def _list(self, request: Request) -> Response:
        page = Page.of(request)
        batches = self.batches_of(request.state.principal.caller)
        found = await batches.list("openai", after=page.after, limit=page.limit + 1, newest=page.newest)
        return json_response(page.data([batch_data(batch, await batches.counts(batch)) for batch in found]))


def _seconds(window: str) -> int:
    match = _WINDOW.fullmatch(window)
    seconds = int(match[1]) * (3_600 if match[2] == "h" else DAY_S) if match else 0
    if not 0 < seconds <= MAX_WINDOW_S:
        raise invalid(f"expected hours or days up to 7d, such as '24h', found {window[:20]!r}", "completion_window")
    return int(seconds)


def read_metadata(body: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the metadata of a request; ``None`` if it has none.

    :raises Problem: they are too many, too long, or no strings.
    """
    metadata = field(body, "metadata", dict)
    if metadata is None:
        return None
    if len(metadata) > 16 or not all(
        isinstance(value, str) and len(name) <= 64 and len(value) <= 512 for name, value in metadata.items()
    ):
        raise invalid("at most 16 strings of up to 512 characters with names of up to 64 are allowed", "metadata")
    return dict(metadata)


def batch_data(batch: Batch, counts: Mapping[int, int]) -> dict[str, Any]:
    """Return a batch in the form of OpenAI's API."""
    ended = {
        f"{name}_at": batch.ended_s if batch.status == name else None
        for name in ("completed", "failed", "expired", "cancelled")
    }
    errors = {"object": "list", "data": list(batch.errors)} if batch.errors else None
    completed, failed = counts.get(SUCCEEDED, 0), counts.get(ERRORED, 0) + counts.get(EXPIRED, 0)
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "errors": errors,
        "input_file_id": batch.input_file,
        "completion_window": batch.window,
        "status": batch.status,
        "output_file_id": batch.output_file or None,
        "error_file_id": batch.error_file or None,
        "created_at": batch.created_s,
        "in_progress_at": None if batch.status == "failed" else batch.created_s,
        "expires_at": batch.expires_s,
        "finalizing_at": batch.ended_s or None,
        **ended,
        "cancelling_at": batch.cancelling_s or None,
        "request_counts": {"total": batch.total, "completed": completed, "failed": failed},
        "metadata": batch.metadata,
    }
