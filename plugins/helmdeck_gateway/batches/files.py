"""The files of callers: a record, and the content in parts."""

from __future__ import annotations

import contextlib
import hashlib
import mimetypes
import os
import re
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Final

import msgspec

from helmdeck_gateway.batches.byte_use import ByteUse, check_count
from helmdeck_gateway.problems import Problem, invalid
from helmdeck_gateway.stores.rows import RowStore, group_of
from helmdeck_storage import StorageError

PURPOSES: Final = ("batch", "vision", "user_data", "assistants", "fine-tune", "evals")
"""Purposes of uploaded files that OpenAI's API names; the gateway uses the first three."""
PART_BYTES: Final = 1_000_000
PUT_BYTES: Final = 4_000_000
"""Bytes that one step stores."""
PAGE: Final = 100
ID: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a file.

    :ivar digest: SHA-256 of the content, in hexadecimal digits.
    """

    id: str
    size: int
    created_s: int
    expires_s: int
    name: str
    purpose: str
    media_type: str
    digest: str


UNKNOWN_TYPES: Final = ("", "application/octet-stream", "multipart/form-data")
"""Media types that say nothing about a file."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredFile).decode


def declared_type(file: StoredFile) -> str:
    """Return the media type that a file was stored with; empty if it says nothing."""
    kind = file.media_type.partition(";")[0].strip().lower()
    return "" if kind in UNKNOWN_TYPES else kind


def media_type_of(file: StoredFile) -> str:
    """Return the media type of a file by its declaration or its name; empty if it is unknown."""
    return declared_type(file) or mimetypes.guess_type(file.name)[0] or ""


def new_id(prefix: str) -> str:
    """Return an id that sorts by its time: milliseconds, their parts in steps of 16 ns, 64 random bits."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    return f"{prefix}{milliseconds:012x}{nanoseconds >> 4:04x}{os.urandom(8).hex()}"


class Files:
    """The files of one caller.

    :param kept_s: seconds that a file is kept.
    """

    def __init__(self, store: RowStore, caller: str, kept_s: float) -> None:
        self._store = store
        self._group = group_of("files", caller)
        self._kept_s = kept_s
        self._use = ByteUse(store, "files", caller, kept_s, self._size)

    async def save(
        self,
        content: AsyncIterable[bytes],
        *,
        name: str,
        purpose: str,
        media_type: str = "",
        file_id: str = "",
        most: int | None = None,
        most_stored: int | None = None,
        most_files: int | None = None,
        expires_in_s: int | None = None,
    ) -> StoredFile:
        """Store a file.

        :param content: in parts of any size.
        :param file_id: replaces the file that has it.
        :param most: bytes that it may have.
        :param most_stored: bytes that all files of the caller may have.
        :param most_files: files that the caller may have; an empty one has no bytes.
        :param expires_in_s: seconds that it is kept, if they are fewer than for other files.
        :raises Problem: it has more, or they have.
        """
        if most_files is not None:
            await check_count(self._store, self._group, "files", most_files)
        kept_s = min(self._kept_s, self._kept_s if expires_in_s is None else expires_in_s)
        is_new, file_id = not file_id, file_id or new_id("file-")
        place, digest, size, number = f"content:{file_id}", hashlib.sha256(), 0, 0
        try:
            async for data in _joined(content, PUT_BYTES):
                if most is not None and size + len(data) > most:
                    raise too_large(most)
                await self._use.add(len(data), most_stored, "file")
                size += len(data)
                digest.update(data)
                starts = range(0, len(data), PART_BYTES)
                parts = {f"{number + i:08}": data[start : start + PART_BYTES] for i, start in enumerate(starts)}
                number += len(parts)
                await self._store.put_rows(place, parts, kept_s)
        except BaseException:
            with contextlib.suppress(StorageError):  # otherwise the parts expire
                if is_new:  # another process may have stored the same file meanwhile
                    await self._store.delete_rows(place)
                await self._use.add(-size)
            raise
        now = int(time.time())
        record = StoredFile(
            id=file_id, size=size, created_s=now, expires_s=now + int(kept_s), name=name, purpose=purpose,
            media_type=media_type, digest=digest.hexdigest(),
        )  # fmt: skip
        await self._store.put_rows(self._group, {file_id: _encode(record)}, kept_s)
        return record

    async def find(self, file_id: str, param: str | None = None) -> StoredFile:
        """Return a file.

        :raises Problem: the caller has none with the id.
        """
        row = await self._store.get_row(self._group, file_id) if ID.fullmatch(file_id) else None
        if row is None:
            raise unknown("file", file_id, param)
        return _decode(row.data)

    async def content(self, file_id: str) -> AsyncIterator[bytes]:
        """Yield the parts of the content of a file that ``find`` has found."""
        after = ""
        while rows := await self._store.list_rows(f"content:{file_id}", after=after, limit=PUT_BYTES // PART_BYTES):
            for row in rows:
                yield row.data
            after = rows[-1].name

    async def list(self, *, after: str = "", limit: int = PAGE, newest: bool = True) -> list[StoredFile]:
        """Return a page of files."""
        rows = await self._store.list_rows(self._group, after=after, limit=limit, newest=newest)
        return [_decode(row.data) for row in rows]

    async def _size(self) -> int:
        """The bytes of all files."""
        total, after = 0, ""
        while files := await self.list(after=after):
            total, after = total + sum(file.size for file in files), files[-1].id
        return total

    async def delete(self, file_id: str) -> None:
        """Delete a file.

        :raises Problem: the caller has none with the id.
        """
        file = await self.find(file_id)
        if await self._store.delete_rows(self._group, file_id):
            await self._store.delete_rows(f"content:{file_id}")
            await self._use.add(-file.size)


async def _joined(content: AsyncIterable[bytes], size: int) -> AsyncIterator[bytes]:
    """Yield the content in larger parts."""
    waiting = bytearray()
    async for data in content:
        waiting += data
        if len(waiting) >= size:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


async def joined_lines(content: AsyncIterable[bytes], most: int) -> AsyncIterator[bytes | None]:
    """Yield the lines of a content, without their ends; ``None`` for one that has more bytes than ``most``."""
    parts: list[bytes] = []
    size = 0
    async for data in content:
        *ends, rest = data.split(b"\n")
        for end in ends:
            size += len(end)
            yield b"".join((*parts, end)) if size <= most else None
            parts, size = [], 0
        size += len(rest)
        parts = [*parts, rest] if size <= most else []
    if size:
        yield b"".join(parts) if size <= most else None


async def parts_of(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the parts."""
    for part in parts:
        yield part


def unknown(kind: str, name: str, param: str | None = None) -> Problem:
    """Return the error for an id that the caller has nothing under."""
    return Problem(
        message=f"there is no {kind} {name[:80]!r}; it was deleted, has expired, or belongs to another key",
        status=404, kind="not_found_error", code=f"{kind.replace(' ', '_')}_not_found", param=param,
    )  # fmt: skip


def too_large(most: int) -> Problem:
    """Return the error for a file that is too large."""
    return Problem(
        message=f"the file is larger than {most:,} bytes, the limit of the gateway",
        status=413, kind="request_too_large", code="file_too_large", param="file",
    )  # fmt: skip


def checked_purpose(purpose: str) -> str:
    """Return the purpose of a file.

    :raises Problem: it is unknown.
    """
    if purpose not in PURPOSES:
        raise invalid(f"{purpose[:80]!r} is not a purpose; allowed: {', '.join(PURPOSES)}", "purpose")
    return purpose
