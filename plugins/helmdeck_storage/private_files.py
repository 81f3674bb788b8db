"""Files that only their owner can read, and that other processes never see half written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


def create_private_file(path: Path, content: bytes = b"") -> bool:
    """Create a file unless it exists; return whether it was created. Missing folders are created.

    With content, of several processes that do this at the same time one writes the file, and the others find it complete.

    >>> from pathlib import Path
    >>> from helmdeck_storage import create_private_file
    >>> create_private_file(Path("drafts/today.txt"), b"tide at nine")
    True
    >>> create_private_file(Path("drafts/today.txt"))
    False
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    if not content:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _FILE_MODE))
            return True
        return False
    draft = _draft(path, lambda file: file.write(content))
    try:
        os.link(draft, path)  # unlike a rename, it does not replace the file of a process that was faster
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def replace_private_file(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Replace a file as a whole, or create it. Missing folders are created.

    Several processes may do this at the same time: each writes a file of its own, and the last one stays.

    :param write: writes the content.
    :raises OSError: the file is as before.

    >>> from pathlib import Path
    >>> from helmdeck_storage import replace_private_file
    >>> replace_private_file(Path("notes.txt"), lambda file: file.write(b"tide at nine"))
    >>> Path("notes.txt").read_text()
    'tide at nine'
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    draft = _draft(path, write)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def cache_directory(name: str) -> Path:
    """Return a directory for data that can be computed again, in the user's cache directory; it is not created.

    :raises RuntimeError: the user has no home directory.

    >>> from helmdeck_storage import cache_directory
    >>> cache_directory("indexes").name
    'indexes'
    """
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return Path(base or "~/.cache").expanduser() / "helmdeck" / name


def _draft(path: Path, write: Callable[[IO[bytes]], object]) -> Path:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")  # for the owner only
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)
