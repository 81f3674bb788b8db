"""The user's data directory: history, runs, artifacts, and the secrets of a deployment."""

from __future__ import annotations

import os
from pathlib import Path

DATA_DIR_VARIABLE = "HELMDECK_DATA_DIR"
"""The environment variable that moves the data directory."""

_DEFAULT = "~/.helmdeck"


def data_directory() -> Path:
    """Return the directory that ``HELMDECK_DATA_DIR`` names, else ``~/.helmdeck``; it is not created.

    :raises RuntimeError: the path starts with ``~``, and the user has no home directory.

    >>> import os
    >>> from helmdeck_core import data_directory
    >>> os.environ["HELMDECK_DATA_DIR"] = "/srv/helmdeck"
    >>> str(data_directory())
    '/srv/helmdeck'
    >>> del os.environ["HELMDECK_DATA_DIR"]
    """
    return Path(os.environ.get(DATA_DIR_VARIABLE) or _DEFAULT).expanduser()
