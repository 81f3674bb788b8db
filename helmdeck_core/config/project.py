"""The project that a command line works in, by which it keeps its history apart from that of other projects."""

from __future__ import annotations

import hashlib
from pathlib import Path

SHARED = "*"
"""The project of a history that all projects share."""

ROOT_MARKS = (".git", ".hg", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
"""Files and folders in the root of a project, for projects without a configuration file."""


def project_root(file: Path | None, start: Path) -> Path:
    """Return the folder of the configuration file, else the nearest one from ``start`` upwards with a mark, else ``start``."""
    if file is not None:
        return file.absolute().parent
    start = start.absolute()
    return next((each for each in (start, *start.parents) if any((each / mark).exists() for mark in ROOT_MARKS)), start)


def project_name(root: Path) -> str:
    """Return a name for a project: that of its folder, with a hash of its path, since folders may have one name."""
    path = root.resolve()
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{path.name or 'root'}-{digest}"
