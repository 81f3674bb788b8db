"""Lists of tools in files of the data directory, so that a process that only plans starts no server.

A list belongs to the configuration of a server and to the files that it starts: the program, and arguments that are files. It is
used until it is older than ``tools_cache_s``, and written again whenever the server is started. Values of secrets are not part of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec

from helmdeck_core import Catalog, Entry, EntryKind, __version__
from helmdeck_mcp.client.options import ServerOptions
from helmdeck_storage import replace_private_file

MAX_BYTES = 8_000_000
"""A larger list is not kept."""

KEPT_S = 30 * 86_400.0
"""Age after which files of other configurations are deleted."""

_FORMAT = 1
_KEY_FIELDS = ("command", "args", "cwd", "env", "url", "headers", "protocol", "max_tools", "max_result_bytes")


@attrs.frozen(kw_only=True)
class KnownTools:
    """The tools of a server.

    :ivar names: the name of the tool by id of its entry.
    :ivar problem: what is wrong with the list; empty for nothing.
    """

    catalog: Catalog = attrs.field(factory=Catalog)
    names: Mapping[str, str] = attrs.field(factory=dict)
    problem: str = ""


class _File(msgspec.Struct, kw_only=True):
    format: int
    time: float
    entries: list[dict[str, Any]]
    names: dict[str, str]
    problem: str


class ToolsCache:
    """The file of one server.

    :param folder: of all files; it is created when the first one is written.
    """

    def __init__(self, folder: Path, server: str, options: ServerOptions) -> None:
        self._folder = folder
        self._server = server
        self._max_age_s = options.tools_cache_s
        self._path = folder / f"{server}-{_key(options)}.json"

    def read(self) -> KnownTools | None:
        """Return the list; ``None`` if there is none, or if it is too old."""
        try:
            if not self._max_age_s or self._path.stat().st_size > MAX_BYTES:
                return None
            file = msgspec.json.decode(self._path.read_bytes(), type=_File)
            age_s = time.time() - file.time
            if file.format != _FORMAT or not 0 <= age_s <= self._max_age_s:  # a time to come is that of another clock
                return None
            source = f"mcp.{self._server}"
            entries = [Entry(EntryKind.PACK, str(data["name"]), data, source) for data in file.entries]
        except (OSError, ValueError, KeyError, msgspec.MsgspecError):
            return None
        return KnownTools(catalog=Catalog(entries), names=file.names, problem=file.problem)

    def write(self, known: KnownTools) -> None:
        """Keep a list, best effort. A list without tools is not kept: its server may not be ready."""
        if not self._max_age_s or not known.catalog.entries:
            return
        entries = [dict(entry.data) for entry in known.catalog.entries]
        file = _File(format=_FORMAT, time=time.time(), entries=entries, names=dict(known.names), problem=known.problem)
        data = msgspec.json.encode(file)
        if len(data) > MAX_BYTES:
            return
        with contextlib.suppress(OSError):
            replace_private_file(self._path, lambda draft: draft.write(data))
            _delete_old(self._folder)


def _key(options: ServerOptions) -> str:
    """What a list depends on; secrets enter as their references, such as ``env:TOKEN``."""
    fields = {name: getattr(options, name) for name in _KEY_FIELDS}
    data = {name: dict(each) if isinstance(each, Mapping) else each for name, each in fields.items()}
    files = list(_files(options))
    return hashlib.sha256(msgspec.json.encode([__version__, data, files], order="sorted")).hexdigest()[:24]


def _files(options: ServerOptions) -> Iterator[tuple[str, int, int]]:
    """The files that are started: path, time and size, which differ for another version."""
    folder = Path(options.cwd or ".")
    program = shutil.which(options.command) if options.command else None
    for each in (program, *options.args):
        with contextlib.suppress(OSError, ValueError):
            if each and (path := folder / each).is_file():
                found = path.stat()
                yield str(path), found.st_mtime_ns, found.st_size


def _delete_old(folder: Path) -> None:
    limit = time.time() - KEPT_S
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.suffix in (".json", ".tmp") and path.stat().st_mtime < limit:
                path.unlink()
