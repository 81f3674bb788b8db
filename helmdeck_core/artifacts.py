"""A folder for the files that packs write: safe names, size limits, and files that only their owner can read."""

from __future__ import annotations

import contextlib
import hashlib
import mimetypes
import os
import re
import secrets
import stat
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import attrs

from helmdeck_core.directories import data_directory

MAX_FOLDER_BYTES = 100_000_000
"""Bytes of all artifacts of a run."""

MAX_ARTIFACTS = 100
"""Artifacts of a run."""

MAX_NAME_CHARS = 100
_CHUNK_BYTES = 262_144
_SAFE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME_CHARS - 1}}}")
_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)))
)
_UNKNOWN = "application/octet-stream"


class ArtifactError(ValueError):
    """An artifact cannot be written: its name or its size is not allowed, or the disk refuses it."""


@attrs.frozen
class Artifact:
    """A file that a pack wrote.

    :ivar path: absolute.
    :ivar bytes: its size.
    :ivar sha256: hexadecimal.
    :ivar media_type: such as ``image/svg+xml``.
    """

    path: Path
    bytes: int
    sha256: str
    media_type: str

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, as in the field ``artifacts`` of an output."""
        return {"path": str(self.path), "bytes": self.bytes, "sha256": self.sha256, "media_type": self.media_type}


class ArtifactFolder:
    """The artifacts of one run. The folder is created with the first one.

    :param folder: where the files are written.
    :param max_bytes: of all files of the run.

    >>> from pathlib import Path
    >>> from helmdeck_core import ArtifactFolder
    >>> artifact = ArtifactFolder(Path("out")).write("tides.txt", b"high at nine", "text/plain")
    >>> artifact.path.name, artifact.bytes
    ('tides.txt', 12)
    """

    def __init__(self, folder: Path, max_bytes: int = MAX_FOLDER_BYTES) -> None:
        self.folder = folder
        self._left = max_bytes
        self._max_bytes = max_bytes
        self._written: list[Artifact] = []

    @property
    def written(self) -> tuple[Artifact, ...]:
        """The artifacts of the run so far."""
        return tuple(self._written)

    def write(self, name: str, data: bytes | str | Path, media_type: str = "") -> Artifact:
        """Write a file; an existing one is never replaced: the new one gets a number.

        :param name: letters, digits, ``.``, ``_`` and ``-``; at most 100 characters.
        :param data: the content, or the path of a regular file that is copied.
        :param media_type: left out: guessed from the name.
        :raises ArtifactError: the name is not safe, a limit is exceeded, or the disk refuses the file.
        """
        if (
            not _SAFE.fullmatch(name)
            or ".." in name
            or name.endswith(".")
            or name.partition(".")[0].lower() in _DEVICES
        ):
            allowed = "letters, digits, '.', '_' and '-', at most 100 characters, first a letter or a digit"
            raise ArtifactError(f"the name {name[:MAX_NAME_CHARS]!r} is not safe: use {allowed}")
        if len(self._written) >= MAX_ARTIFACTS:
            raise ArtifactError(f"a run writes at most {MAX_ARTIFACTS} artifacts")
        try:
            with contextlib.closing(_chunks(data)) as chunks:
                artifact = self._write(name, chunks, media_type or mimetypes.guess_type(name)[0] or _UNKNOWN)
        except OSError as exc:
            raise ArtifactError(f"{name}: {exc.strerror or exc} (folder {self.folder})") from exc
        self._written.append(artifact)
        return artifact

    def _write(self, name: str, chunks: Iterator[bytes], media_type: str) -> Artifact:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self.folder / f".{secrets.token_hex(8)}.part"
        digest, size = hashlib.sha256(), 0
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)  # else Windows translates line ends
        descriptor = os.open(draft, flags, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in chunks:
                    size += len(chunk)
                    if size > self._left:
                        raise ArtifactError(f"{name}: a run writes at most {self._max_bytes:,} bytes of artifacts")
                    digest.update(chunk)
                    file.write(chunk)
            path = self._place(draft, name)
        finally:
            draft.unlink(missing_ok=True)
        self._left -= size
        return Artifact(path, size, digest.hexdigest(), media_type)

    def _place(self, draft: Path, name: str) -> Path:
        """Give the complete file its name; other processes may write to the same folder."""
        stem, dot, suffix = name.partition(".")
        for number in range(1, 10_000):
            path = self.folder.absolute() / (name if number == 1 else f"{stem}-{number}{dot}{suffix}")
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # fails for a link, too
                return draft.replace(path)
        raise ArtifactError(f"{name}: the folder {self.folder} has too many files of this name")


def artifact_folder(configured: str | None, base: Path | None = None) -> ArtifactFolder:
    """Return the artifacts of a new run: in the configured folder, else in a new one in the user's data directory.

    :param base: the folder that a relative one starts from.
    """
    if configured is not None:
        return ArtifactFolder((base or Path()) / Path(configured).expanduser())
    return ArtifactFolder(data_directory() / "artifacts" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}")


def safe_name(text: str, suffix: str, default: str = "file") -> str:
    """Return a safe name of an artifact that is made of the first words of a text, such as ``the-new-model.svg``.

    >>> from helmdeck_core import safe_name
    >>> safe_name("The new model: what's in it?", ".svg")
    'the-new-model-what-s-in.svg'
    """
    words = re.findall(r"[a-z0-9]+", text[:1_000].lower())[:6]
    return ("-".join(words)[:60].strip("-") or default) + suffix


def _chunks(data: bytes | str | Path) -> Generator[bytes, None, None]:
    if isinstance(data, Path):
        # A symbolic link or a pipe in place of the file would lead to another file, or block.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(data, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ArtifactError(f"{data.name}: not a regular file")
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
    else:
        yield data.encode() if isinstance(data, str) else data
