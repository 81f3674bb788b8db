"""The packs ``fs.read``, ``fs.write`` and ``fs.list``: files below one configured folder.

Every part of a path is opened relative to the folder before it and without following links, so that neither a path nor a
link that appears meanwhile leads out of the folder.
"""

import contextlib
import csv
import errno
import io
import json
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs
import msgspec

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode, hookimpl, undecodable_byte
from helmdeck_runs.pack_builder.functions import pack

MAX_FILE_BYTES: Final = 4_000_000
MAX_ROWS: Final = 10_000
MAX_ENTRIES: Final = 1_000
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _FLAGS


@attrs.frozen(kw_only=True)
class FileOptions:
    """Options of ``[packs.options.fs]``.

    :ivar root: the folder; nothing outside it is read or written. Relative to the folder of the configuration file.
    """

    root: str = ""


class _Refused(Exception):
    """A path that leads out of the folder, or to something that is no regular file."""


class _Unusable(Exception):
    """The configured folder cannot be used."""


class Text(msgspec.Struct, omit_defaults=True):
    """The content of a file: ``text``, or ``rows`` of a table."""

    path: str
    bytes: int
    text: str | None = None
    rows: list[dict[str, Any]] | None = None


class Written(msgspec.Struct):
    """A file that was written."""

    path: str
    bytes: int
    replaced: bool


class Listing(msgspec.Struct):
    """The entries of a folder; ``is_complete`` is false if there are more."""

    entries: list[dict[str, Any]]
    is_complete: bool


_SHARED: Final[dict[str, Any]] = {"options": FileOptions, "requires": ("root",)}


@pack(
    "fs.read",
    read_only=True,
    open_world=False,
    description="Read a file from the workspace as text or rows.",
    metadata={"intent_keywords": ["open the file", "show file contents"]},
    **_SHARED,
)
def read_file(context: PackContext, path: str, format: Literal["text", "rows"] = "text") -> Text:
    """Read a file of at most 4 MB.

    :param path: relative to the workspace.
    :param format: rows of a CSV, TSV, JSON or JSON Lines file, else text.
    """
    with _failures("fs.read", path), _folder_of(context, path) as (folder, name):
        # Without O_NONBLOCK, a pipe would block the thread for ever.
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _FLAGS, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _Refused("not a regular file")
            data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise PackError("fs.read", PackErrorCode.INVALID_INPUT, f"{path}: larger than {MAX_FILE_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise PackError("fs.read", PackErrorCode.INVALID_INPUT, f"{path}: not text, {undecodable_byte(exc)}") from exc
    if format == "text":
        return Text(path, len(data), text=text)
    try:
        return Text(path, len(data), rows=_rows(text, Path(path).suffix.lower()))
    except (ValueError, csv.Error, RecursionError) as exc:
        raise PackError("fs.read", PackErrorCode.INVALID_INPUT, f"{path}: no rows: {exc}") from exc


@pack(
    "fs.write",
    destructive=True,
    open_world=False,
    description="Write text to a file in the workspace.",
    metadata={"intent_keywords": ["save as file", "write to disk"], "limitations": ["Replaces files only on request"]},
    **_SHARED,
)
def write_file(context: PackContext, path: str, text: str, overwrite: bool = False) -> Written:
    """Write a file; folders in its path are created.

    :param path: relative to the workspace.
    :param text: the whole content.
    :param overwrite: replace the file if there is one.
    """
    data = text.encode()
    if len(data) > MAX_FILE_BYTES:
        raise PackError("fs.write", PackErrorCode.INVALID_INPUT, f"text: larger than {MAX_FILE_BYTES:,} bytes")
    with _failures("fs.write", path), _folder_of(context, path, creates=True) as (folder, name):
        try:
            existing = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            existing = None
        if existing is not None and not stat.S_ISREG(existing.st_mode):
            raise _Refused("not a regular file")
        if existing is not None and not overwrite:
            raise _Refused("the file exists; set overwrite to replace it")
        draft = f".{secrets.token_hex(8)}.part"
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _FLAGS, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), 0o644 if existing is None else stat.S_IMODE(existing.st_mode) & 0o777)
            if not overwrite:  # fails for a file that appeared meanwhile
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _FLAGS, 0o600, dir_fd=folder))
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
    return Written(path, len(data), existing is not None)


@pack(
    "fs.list",
    read_only=True,
    open_world=False,
    description="List files and folders in the workspace with size and date.",
    **_SHARED,
)
def list_files(
    context: PackContext, path: str = ".", limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_ENTRIES)] = MAX_ENTRIES
) -> Listing:
    """List a folder.

    :param path: relative to the workspace; left out, the workspace itself.
    :param limit: entries at most.
    """
    with _failures("fs.list", path), _opened(context, _parts(path)) as folder:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # of a descriptor
        entries = [_entry(folder, name) for name in names[:limit]]
    return Listing(entries, len(names) <= limit)


def _entry(folder: int, name: str) -> dict[str, Any]:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "link"))
    kind = next((kind for check, kind in kinds if check(found.st_mode)), "special")
    modified = datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec="seconds")
    shown = name.encode("utf-8", "backslashreplace").decode()  # a name need not be UTF-8, JSON is
    return {"name": shown, "kind": kind, "bytes": found.st_size, "modified": modified}


def _rows(text: str, suffix: str) -> list[dict[str, Any]]:
    if suffix in (".csv", ".tsv"):
        reader = csv.DictReader(io.StringIO(text), delimiter="\t" if suffix == ".tsv" else ",", restkey="")
        found: list[Any] = [{key: value for key, value in row.items() if key} for row in reader]
    elif suffix == ".json":
        found = json.loads(text)
    else:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError("rows are a list of objects")
    if len(found) > MAX_ROWS:
        raise ValueError(f"{len(found):,} rows; at most {MAX_ROWS:,} are read")
    return found


# -- paths -------------------------------------------------------------------------------------------------


def _parts(path: str) -> Sequence[str]:
    """The parts of a path; a part that leads upwards is refused, also where it would stay inside."""
    if not path or "\0" in path or path.startswith(("/", "~")) or "\\" in path or Path(path).is_absolute():
        raise _Refused("not a relative path such as notes/today.txt")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _Refused("it leads out of the workspace")
    return parts


@contextlib.contextmanager
def _folder_of(context: PackContext, path: str, *, creates: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder of a file, and return the file's name."""
    parts = _parts(path)
    if not parts:
        raise _Refused("a folder and not a file")
    with _opened(context, parts[:-1], creates=creates) as folder:
        yield folder, parts[-1]


@contextlib.contextmanager
def _opened(context: PackContext, parts: Sequence[str], *, creates: bool = False) -> Iterator[int]:
    """Open a folder below the workspace, part by part."""
    if os.open not in os.supports_dir_fd:
        raise _Unusable("this operating system cannot open files relative to a folder")
    root = (context.folder / Path(context.options.root).expanduser()).resolve()
    if not root.is_dir():
        raise _Unusable(f"[packs.options.fs] root is no folder: {root}; create it, or correct the option")
    folder = os.open(root, _FOLDER)
    try:
        for part in parts:
            if creates:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


@contextlib.contextmanager
def _failures(name: str, path: str) -> Iterator[None]:
    try:
        yield
    except _Unusable as exc:
        raise PackError(name, PackErrorCode.HANDLER_FAILED, str(exc)) from None
    except _Refused as exc:
        raise PackError(name, PackErrorCode.INVALID_INPUT, f"path {path!r}: {exc}") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, FileExistsError) as exc:
        reason = "a link or not a folder" if isinstance(exc, NotADirectoryError) else exc.strerror
        raise PackError(name, PackErrorCode.INVALID_INPUT, f"path {path!r}: {reason}") from None
    except OSError as exc:
        # ELOOP is how the system reports a link that must not be followed.
        reason = "a symbolic link, which is not followed" if exc.errno == errno.ELOOP else exc.strerror
        code = PackErrorCode.INVALID_INPUT if exc.errno == errno.ELOOP else PackErrorCode.HANDLER_FAILED
        raise PackError(name, code, f"path {path!r}: {reason}") from None


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The packs of the area ``fs``."""
    return (read_file, write_file, list_files)
