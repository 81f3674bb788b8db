"""Loguru's logger, imported on first use and silent until an application enables it.

Importing loguru takes longer than the rest of the start-up, so it is imported when the first line is written. Only
applications call ``enable()``; an imported library writes nothing.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from helmdeck_core.packages import CAPABILITIES, LIBRARIES

if TYPE_CHECKING:
    from loguru import Logger

# loguru filters by package, so each one is named.
PACKAGES = ("helmdeck_core", *LIBRARIES, *CAPABILITIES)

_enabled = False
_handler: int | None = None


def logger() -> Logger:
    """Return loguru's logger; this project's packages are disabled unless the application called ``enable()``."""
    from loguru import logger as loguru_logger

    if not _enabled:
        for package in PACKAGES:
            loguru_logger.disable(package)
    return loguru_logger


def is_enabled() -> bool:
    """Whether the application enabled logging; sinks check this before they do any work."""
    return _enabled


def enable(level: str = "INFO") -> None:
    """Write log records of at least ``level`` to standard error, one line each."""
    import sys

    from loguru import logger as loguru_logger

    global _enabled, _handler
    disable()
    _enabled = True
    with contextlib.suppress(ValueError):  # loguru's default handler would write every line twice
        loguru_logger.remove(0)
    # Handlers of the application stay; this handler writes this project's records only.
    _handler = loguru_logger.add(
        sys.stderr,
        level=level.upper(),
        format="{time:HH:mm:ss} {level: <7} {message} {extra}",
        filter=lambda record: str(record["name"]).startswith(PACKAGES),
        diagnose=False,  # tracebacks show locations but no values
    )
    for package in PACKAGES:
        loguru_logger.enable(package)


def disable() -> None:
    """Disable logging and remove the handler."""
    from loguru import logger as loguru_logger

    global _enabled, _handler
    _enabled = False
    if _handler is not None:
        with contextlib.suppress(ValueError):  # the application may have removed all handlers
            loguru_logger.remove(_handler)
        _handler = None
    for package in PACKAGES:
        loguru_logger.disable(package)
