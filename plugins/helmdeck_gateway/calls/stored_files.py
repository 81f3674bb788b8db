"""Puts the contents of stored files in the messages that name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

from helmdeck_core import FilePart, ImagePart, Message, Part
from helmdeck_gateway.batches.files import Files, StoredFile, declared_type, media_type_of
from helmdeck_gateway.dialects.parsed import STORED, names_stored_file
from helmdeck_gateway.problems import Problem, invalid

PARAM: Final = "file_id"
SIGNATURES: Final[Mapping[bytes, str]] = {
    b"%PDF-": "application/pdf",
    b"\x89PNG\r\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
"""Types by the first bytes of a file."""


async def with_files(
    messages: Sequence[Message], files: Files, most: int, take: Callable[[int], None]
) -> tuple[Message, ...]:
    """Return messages with the contents of stored files.

    :param most: bytes that all files of a request may have together.
    :param take: gets the size of each file, before it is read.
    :raises Problem: the caller has no such file, it has no known type, or they are too large.
    :raises StorageError: the store does not answer.
    """
    known: dict[str, Part] = {}
    size = 0
    for message in filter(names_stored_file, messages):
        for file_id in filter(None, map(_id_of, message.parts)):
            if file_id in known:
                continue
            file = await files.find(file_id, PARAM)
            size += file.size
            if size > most:
                raise Problem(
                    message=f"the files of the request have {size:,} bytes together, more than {most:,}, the limit of the gateway",
                    status=413, kind="request_too_large", code="request_too_large", param=PARAM,
                )  # fmt: skip
            take(file.size)
            data = b"".join([part async for part in files.content(file_id)])
            known[file_id] = _part(file, data)
    return tuple(
        attrs.evolve(each, parts=tuple(_with_content(part, known) for part in each.parts))
        if names_stored_file(each)
        else each
        for each in messages
    )


def _with_content(part: Part, known: Mapping[str, Part]) -> Part:
    found = known.get(_id_of(part))
    return part if found is None else attrs.evolve(found, ends_prefix=part.ends_prefix)


def _id_of(part: Part) -> str:
    """The id of a stored file; empty for any other part."""
    url = part.url if isinstance(part, FilePart) else None
    return url.removeprefix(STORED) if url is not None and url.startswith(STORED) else ""


def _part(file: StoredFile, data: bytes) -> Part:
    found = (kind for start, kind in SIGNATURES.items() if data.startswith(start))
    kind = declared_type(file) or next(found, "") or media_type_of(file)
    if not kind:
        raise invalid(
            f"the type of {file.name!r} is unknown; store it under a name with an extension, such as .pdf", PARAM
        )
    return ImagePart(kind, data) if kind.startswith("image/") else FilePart(kind, data, name=file.name)
