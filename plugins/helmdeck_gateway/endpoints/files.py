"""The files APIs of OpenAI and Anthropic: files for batches, and images and PDF files that requests name.

Both have the same paths and the same files; the headers of Anthropic's API select its form.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from helmdeck_gateway.batches.files import PART_BYTES, Files, StoredFile, checked_purpose, media_type_of, too_large
from helmdeck_gateway.conversations.gateway_state import DAY_S, GatewayState
from helmdeck_gateway.endpoints.bodies import Disconnected, check_encoding, headers_of, is_anthropic
from helmdeck_gateway.endpoints.pages import Page, iso_time, json_response, stored
from helmdeck_gateway.problems import Problem, invalid
from helmdeck_gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from starlette.datastructures import FormData, UploadFile
    from starlette.requests import Request
    from starlette.types import Message, Receive

MAX_PAGE: Final = 1_000
FORM_BYTES: Final = 65_536
"""Bytes of a form beside its file."""
MAX_NAME: Final = 255
MAX_IDS: Final = 100
LIFETIME_S: Final = (3_600, 90 * DAY_S)
"""The shortest and the longest lifetime of a file that a request may set."""


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
            ends = {"type": "file_deleted"} if is_anthropic(request.scope) else {"object": "file", "deleted": True}
            return json_response({"id": name, **ends})
        return json_response(_form(request)(await stored(files.find(name))))

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
            fields = "field file" if is_anthropic(request.scope) else "fields purpose and file"
            raise invalid(f"a file is sent as multipart/form-data with the {fields}")
        check_encoding(headers_of(request.scope))
        most = self._settings.max_file_bytes
        request._receive = _limited(request.receive, most + FORM_BYTES, self._settings.body_s)  # noqa: SLF001
        try:
            return json_response(_form(request)(await self._save(request, files, most)))
        except HTTPException as exc:  # of the form
            raise invalid(f"the form cannot be read: {exc.detail}") from None

    async def _save(self, request: Request, files: Files, most: int) -> StoredFile:
        async with request.form(max_files=1, max_fields=16) as form:
            purpose, file = form.get("purpose"), form.get("file")
            if file is None or isinstance(file, str):
                raise invalid("this field is required, with a file", "file")
            lifetime = "expires_in_seconds" if is_anthropic(request.scope) else "expires_after[seconds]"
            if is_anthropic(request.scope):  # its API has no purposes
                purpose = "user_data"
            purpose = checked_purpose(purpose if isinstance(purpose, str) else "")
            name = "".join(each for each in file.filename or "" if each.isprintable())[-MAX_NAME:] or "file"
            media_type = file.content_type or ""
            return await files.save(
                _read(file), name=name, purpose=purpose, media_type=media_type, most=most,
                most_stored=self._settings.max_stored_file_bytes, most_files=self._settings.max_files, expires_in_s=_seconds(form, lifetime),
            )  # fmt: skip

    async def _list(self, request: Request, files: Files) -> Response:
        is_own = is_anthropic(request.scope)
        page = Page.of_anthropic(request) if is_own else Page.of(request, default=100, most=MAX_PAGE)
        purpose = None if is_own else request.query_params.get("purpose")
        if is_own and (ids := request.query_params.getlist("ids[]")):
            return json_response(page.anthropic_data(await _named(files, ids)))
        found: list[StoredFile] = []
        after = page.after
        while len(found) <= page.limit and (rows := await files.list(after=after, newest=page.newest)):
            found += [file for file in rows if purpose in (None, file.purpose)]
            after = rows[-1].id
        data = [_form(request)(file) for file in found]
        return json_response(page.anthropic_data(data) if is_own else page.data(data))


async def _named(files: Files, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The files among the ids; ids of no file are left out."""
    if len(ids) > MAX_IDS:
        raise invalid(f"at most {MAX_IDS} ids are allowed, found {len(ids):,}", "ids")
    found: list[dict[str, Any]] = []
    for each in dict.fromkeys(ids):
        with contextlib.suppress(Problem):
            found.append(anthropic_file_data(await files.find(each)))
    return found


def _seconds(form: FormData, name: str) -> int | None:
    """The lifetime of a file; ``None`` without one."""
    text = form.get(name)
    if text is None:
        return None
    least, most = LIFETIME_S
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or not least <= int(text[:9]) <= most:
        raise invalid(f"expected seconds from {least:,} to {most:,}", name)
    return int(text)


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
        if message["type"] == "http.disconnect":
            raise Disconnected
        size += len(message.get("body", b""))
        if size > most:
            raise too_large(most - FORM_BYTES)
        return message

    return limited


async def _read(file: UploadFile) -> AsyncIterator[bytes]:
    while data := await file.read(PART_BYTES):
        yield data


def _form(request: Request) -> Callable[[StoredFile], dict[str, Any]]:
    """The form of files in the API that a request uses."""
    return anthropic_file_data if is_anthropic(request.scope) else file_data


def anthropic_file_data(file: StoredFile) -> dict[str, Any]:
    """Return a file in the form of Anthropic's API."""
    return {
        "id": file.id,
        "type": "file",
        "filename": file.name,
        "mime_type": media_type_of(file) or "application/octet-stream",
        "size_bytes": file.size,
        "created_at": iso_time(file.created_s),
        "expires_at": iso_time(file.expires_s),
        "downloadable": True,
    }


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
