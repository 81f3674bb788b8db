"""The pack ``doc.parse``: reads a file in a process of its own, with limits of size, pages, time and memory."""

import asyncio
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
import msgspec

from helmdeck_core import PackContext, PackError, PackErrorCode
from helmdeck_runs import ProgramLimits, pack, program_pack

NAME: Final = "doc.parse"
MAX_OUTPUT_BYTES: Final = 32_000_000

Page = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


@attrs.frozen(kw_only=True)
class DocumentOptions:
    """Options of ``[packs.options.doc]``.

    :ivar root: files outside this folder are not read; relative to the folder of the configuration file.
    :ivar max_bytes: of a file.
    :ivar max_pages: of a PDF that are read at once.
    :ivar timeout_s: seconds of one document.
    :ivar max_memory_bytes: of the process that reads it; enforced on Linux.
    """

    root: str = "."
    max_bytes: int = 50_000_000
    max_pages: int = 500
    timeout_s: float = 180.0
    max_memory_bytes: int = 1_000_000_000


class Parsed(msgspec.Struct, omit_defaults=True):
    """A document: its text as Markdown, headings (``level``, ``text``, ``page``) and tables (``heading``, ``rows``, ``page``).

    ``pages`` is the number of pages of a PDF. The first row of a table has its headings.
    """

    path: str
    format: str
    title: str
    text: str
    headings: list[dict[str, Any]]
    tables: list[dict[str, Any]]
    pages: int = 0
    findings: list[str] = []


@pack(
    NAME,
    read_only=True,
    idempotent=True,
    open_world=False,
    options=DocumentOptions,
    description="Turn PDF, Word, HTML or Markdown files into clean text with headings and tables.",
    metadata={
        "accepts": ["pdf", "docx", "html", "markdown"],
        "produces": ["text", "tables"],
        "intent_keywords": ["read the PDF", "parse the document"],
        "typical_use": "Before anything that needs a document's words.",
        "limitations": ["Scanned pages need doc.ocr", "Tables of a PDF need ruling lines"],
    },
)
async def parse(context: PackContext, path: str, first_page: Page = 1, last_page: Page | None = None) -> Parsed:
    """Read a document.

    :param path: the file.
    :param first_page: of a PDF.
    :param last_page: of a PDF; left out, its last page.
    """
    options = context.options
    if last_page is not None and last_page < first_page:
        raise _failure(PackErrorCode.INVALID_INPUT, path, f"last_page {last_page} is before first_page {first_page}")
    context.progress(f"reading {Path(path[:200]).name}")
    with tempfile.TemporaryDirectory(prefix="helmdeck-doc-") as folder:
        await asyncio.to_thread(_copy, context.folder, options, path, Path(folder, "document"))
        request: dict[str, Any] = {"path": "document", "name": Path(path).name, "first_page": first_page}
        request |= {"max_pages": options.max_pages} | ({} if last_page is None else {"last_page": last_page})
        found = await _read(context, options, Path(folder), path, request)
    if "problem" in found:
        raise _failure(PackErrorCode.INVALID_INPUT, path, found["problem"])
    return msgspec.convert({"path": path, **found}, Parsed)


async def _read(
    context: PackContext, options: DocumentOptions, folder: Path, path: str, request: dict[str, Any]
) -> dict[str, Any]:
    # The same modules as here, but nothing from the folder with the document.
    places = [place for place in sys.path if Path(place).is_absolute()]
    code = f"import sys; sys.path[:] = {places!r}; from helmdeck_pack_documents.worker import main; main()"
    limits = ProgramLimits(
        timeout_s=options.timeout_s, max_output_bytes=MAX_OUTPUT_BYTES, max_memory_bytes=options.max_memory_bytes
    )
    argv = [sys.executable, "-I", "-c", code]
    program = program_pack(NAME, argv, description="", input_schema={}, limits=limits, folder=folder)
    try:
        return dict(await program.run(context, request))  # type: ignore[arg-type]
    except PackError as exc:
        if exc.code is PackErrorCode.TIMEOUT:
            detail = f"reading it took longer than [packs.options.doc] timeout_s, {options.timeout_s:g} s"
            raise _failure(exc.code, path, f"{detail}; read fewer pages") from exc
        if exc.code is PackErrorCode.INVALID_OUTPUT:
            detail = f"its content has more than {MAX_OUTPUT_BYTES:,} bytes; read fewer pages"
            raise _failure(PackErrorCode.INVALID_INPUT, path, detail) from exc
        raise _failure(PackErrorCode.INVALID_INPUT, path, f"the parser failed on it ({exc.detail})") from exc


def _copy(folder: Path, options: DocumentOptions, path: str, target: Path) -> None:
    """Copy a regular file below the root, so that the process sees nothing else and a later change has no effect.

    :raises PackError: there is no such file, or it is not allowed.
    """
    root = (folder / Path(options.root).expanduser()).resolve()
    try:
        found = (root / path).resolve(strict=True)
        if not found.is_relative_to(root):
            detail = f"it is outside {root}; [packs.options.doc] root allows another folder"
            raise _failure(PackErrorCode.INVALID_INPUT, path, detail)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(found, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _failure(PackErrorCode.INVALID_INPUT, path, "it is not a regular file")
            if status.st_size > options.max_bytes:
                detail = f"it has {status.st_size:,} bytes; [packs.options.doc] max_bytes is {options.max_bytes:,}"
                raise _failure(PackErrorCode.INVALID_INPUT, path, detail)
            with target.open("wb") as copy:
                shutil.copyfileobj(file, copy)
    except (OSError, ValueError) as exc:
        detail = getattr(exc, "strerror", None) or str(exc)
        raise _failure(PackErrorCode.INVALID_INPUT, path, detail) from exc


def _failure(code: PackErrorCode, path: str, detail: str) -> PackError:
    return PackError(NAME, code, f"{path[:200]!r}: {detail}")
