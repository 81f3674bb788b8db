"""OpenAI's files API: files for batches, and images and PDF files that requests name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from helmdeck_gateway.accounts.keys import unavailable
from helmdeck_gateway.batches.files import ID, PART_BYTES, Files, StoredFile, checked_purpose, too_large
from helmdeck_gateway.conversations.gateway_state import DAY_S, GatewayState
from helmdeck_gateway.problems import Problem, invalid
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_storage import StorageError

if TYPE_CHECKING:
    from starlette.datastructures import UploadFile
    from starlette.requests import Request
    from starlette.types import Message, Receive

T = TypeVar("T")

MAX_PAGE: Final = 1_000
FORM_BYTES: Final = 65_536
"""Bytes of a form beside its file."""
MAX_NAME: Final = 255


class FileEndpoints:
    """The endpoints below ``/v1/files``."""

    def __init__(self, state: GatewayState, settings: GatewaySettings) -> None:
        self._state = state
        self._settings = settings

    def files_of(self, caller: str) -> Files:
        """Return the files of a caller."""
        return Files(self._state.open_store(), caller, self._settings.stored_days * DAY_S)

    async def serve(self, request: Request) -> Response:
        """Store a file, or list them."""
        files = self.files_of(request.state.principal.caller)
        return await stored(self._create(request, files) if request.method == "POST" else self._list(request, files))

    async def one(self, request: Request) -> Response:
        """Return or delete a file."""
        files, name = self.files_of(request.state.principal.caller), request.path_params["name"]
        if request.method == "DELETE":
            await stored(files.delete(name))
            return json_response({"id": name, "object": "file", "deleted": True})
        return json_response(file_data(await stored(files.find(name))))

    async def content(self, request: Request) -> Response:
        """Return the content of a file."""
        files = self.files_of(request.state.principal.caller)
        file = await stored(files.find(request.path_params["name"]))
        # A browser must not run what another client stored.
        headers = {"content-length": str(file.size), "content-disposition": "attachment"}
        return StreamingResponse(files.content(file.id), media_type="application/octet-stream", headers=headers)

    async def _create(self, request: Request, files: Files) -> Response:
        if find_spec("python_multipart") is None:
            raise Problem(
                message="uploads need the package python-multipart: pip install 'helmdeck[serve]'",
                status=501, code="not_supported",
            )  # fmt: skip
        if not request.headers.get("content-type", "").startswith("multipart/form-data"):
            raise invalid("a file is sent as multipart/form-data with the fields purpose and file")
        most = self._settings.max_file_bytes
        request._receive = _limited(request.receive, most + FORM_BYTES, self._settings.body_s)  # noqa: SLF001
        async with request.form(max_files=1, max_fields=16) as form:
            purpose, file = form.get("purpose"), form.get("file")
            if file is None or isinstance(file, str):
                raise invalid("this field is required, with a file", "file")
            purpose = checked_purpose(purpose if isinstance(purpose, str) else "")
            if (left := self._settings.max_stored_file_bytes - await files.size()) < (file.size or 0):
                raise Problem(
                    message=f"the files of this key may have {self._settings.max_stored_file_bytes:,} bytes together;"
                    f" {max(0, left):,} are left; delete files",
                    status=413, kind="request_too_large", code="file_quota_exceeded", param="file",
                )  # fmt: skip
            name = "".join(each for each in file.filename or "" if each.isprintable())[-MAX_NAME:] or "file"
            media_type = file.content_type or ""
            saved = await files.save(_read(file), name=name, purpose=purpose, media_type=media_type, most=most)
        return json_response(file_data(saved))

    async def _list(self, request: Request, files: Files) -> Response:
        limit, after, newest = page_of(request, default=100, most=MAX_PAGE)
        purpose = request.query_params.get("purpose")
        found: list[StoredFile] = []
        while len(found) <= limit and (page := await files.list(after=after, newest=newest)):
            found += [file for file in page if purpose in (None, file.purpose)]
            after = page[-1].id
        return json_response(page_data([file_data(file) for file in found], limit))


def _limited(receive: Receive, most: int, idle_s: float) -> Callable[[], Any]:
    """Limit the size of a body, and the time between its parts."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        try:
            async with asyncio.timeout(idle_s):
                message = await receive()
        except TimeoutError:
            message_text = f"no part of the body arrived within {idle_s:g} seconds"
            raise Problem(message=message_text, status=408, kind="timeout_error", code="request_timeout") from None
        size += len(message.get("body", b""))
        if size > most:
            raise too_large(most - FORM_BYTES)
        return message

    return limited


async def _read(file: UploadFile) -> AsyncIterator[bytes]:
    while data := await file.read(PART_BYTES):
        yield data


def file_data(file: StoredFile) -> dict[str, Any]:
    """Return a file in the form of OpenAI's API."""
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.size,
        "created_at": file.created_s,
        "expires_at": file.expires_s,
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
    }


def page_of(request: Request, *, default: int, most: int) -> tuple[int, str, bool]:
    """Return the limit of a page, the id that it starts after, and whether the newest come first.

    :raises Problem: one of them is invalid.
    """
    query = request.query_params
    text, after, order = query.get("limit", str(default)), query.get("after", ""), query.get("order", "desc")
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= most:
        raise invalid(f"expected a number from 1 to {most:,}, found {text[:20]!r}", "limit")
    if after and not ID.fullmatch(after):
        raise invalid(f"{after[:80]!r} is not an id", "after")
    if order not in ("asc", "desc"):
        raise invalid(f"expected 'asc' or 'desc', found {order[:20]!r}", "order")
    return int(text[:9]), after, order == "desc"


def page_data(rows: Sequence[dict[str, Any]], limit: int) -> dict[str, Any]:
    """Return a page in the form of both APIs."""
    shown = rows[:limit]
    ends = {"first_id": shown[0]["id"] if shown else None, "last_id": shown[-1]["id"] if shown else None}
    return {"object": "list", "data": shown, **ends, "has_more": len(rows) > limit}


async def stored(work: Awaitable[T]) -> T:
    """Return the result of work in the store.

    :raises Problem: the store does not answer.
    """
    try:
        return await work
    except StorageError as exc:
        raise unavailable(exc) from exc


def json_response(data: Any) -> Response:
    """Return data as a response."""
    return Response(msgspec.json.encode(data), media_type="application/json")
