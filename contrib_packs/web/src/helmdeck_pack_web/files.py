"""Files of the configured folder: which ones are read, and their text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import attrs

from helmdeck_runs import html_text

TABLE: Final = "web"
SUFFIXES: Final = (".md", ".markdown", ".txt", ".html", ".htm")
MAX_FILES: Final = 2_000
MAX_FILE_BYTES: Final = 2_500_000
_TITLE = re.compile(r"#{1,3}[ \t]+(\S.*)")


@attrs.frozen(kw_only=True)
class WebOptions:
    """Options of ``[packs.options.web]``.

    :ivar folder: the folder whose files ``web.search`` finds and ``web.scrape`` reads, relative to the configuration file.
    :ivar allow: hosts, IP addresses and networks that may be read although they are not public.
    :ivar max_bytes: of a page, compressed and not.
    :ivar timeout_s: seconds for each page.
    """

    folder: str = ""
    allow: tuple[str, ...] = ()
    max_bytes: int = 2_500_000
    timeout_s: float = 30.0

    def root(self, base: Path) -> Path:
        """Return the folder.

        :raises FileError: it does not exist.
        """
        try:
            root = (base / Path(self.folder).expanduser()).resolve()
            if root.is_dir():
                return root
        except (OSError, RuntimeError, ValueError):  # RuntimeError: there is no home directory
            pass
        raise FileError(f"[packs.options.{TABLE}] folder {self.folder!r} is not a folder")


class FileError(Exception):
    """A file cannot be read; the message contains the reason."""


@attrs.frozen
class Document:
    """The text of a file.

    :ivar url: with the scheme ``file``.
    """

    url: str
    title: str
    text: str


def is_file_url(url: str) -> bool:
    """Whether a URL names a file."""
    return url[:5].lower() == "file:"


def read_url(url: str, root: Path) -> Document:
    """Read the file of a URL below a folder.

    :raises FileError: it is not below the folder, not of a known type, or too large.
    """
    try:
        resolved = Path(unquote(urlsplit(url).path)).resolve()
        if not resolved.is_relative_to(root):
            raise FileError("it is not below the folder")
        if not resolved.is_file():
            raise FileError("it is not a file")
    except (OSError, ValueError):
        raise FileError("it is not a file") from None
    return read(resolved, root)


def documents(root: Path) -> Iterator[Document]:
    """Yield the files of a folder in the order of their names; those that cannot be read are left out.

    Hidden files and links that lead out of the folder are not read.
    """
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or not name.lower().endswith(SUFFIXES):
                continue
            count += 1
            if count > MAX_FILES:
                return
            path = Path(folder, name).resolve()
            if path.is_relative_to(root) and path.is_file():
                try:
                    yield read(path, root)
                except FileError:
                    continue


def read(path: Path, root: Path) -> Document:
    """Read a file that was found to be below a folder.

    :raises FileError: with the reason.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise FileError(f"its type is none of {', '.join(SUFFIXES)}")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as exc:
        raise FileError(f"{exc.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise FileError(f"it has more than {MAX_FILE_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError("it is not UTF-8") from None
    title, text = html_text(text) if path.suffix.lower() in (".html", ".htm") else ("", text)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    heading = _TITLE.fullmatch(first)
    title = title or (heading[1] if heading else path.relative_to(root).with_suffix("").as_posix())
    return Document(path.as_uri(), title[:200], text)
