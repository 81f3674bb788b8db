"""Loguru's logger, imported on first use and silent until an application enables it.

Importing loguru costs more than the rest of the start-up together, so nothing here imports it before a line is
written. ``enable()`` is for applications; a library that is merely imported writes nothing.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loguru import Logger

# loguru filters by package prefix, so both import packages are named.
PACKAGES = ("helmdeck_core", "helmdeck_plugins")

_enabled = False
_handler: int | None = None


def logger() -> Logger:
    """Return loguru's logger with this project's packages switched off or on as the application chose."""
    from loguru import logger as loguru_logger

    if not _enabled:
        for package in PACKAGES:
            loguru_logger.disable(package)
    return loguru_logger


def is_enabled() -> bool:
    """Whether an application asked for log lines; sinks test this before they do any work."""
    return _enabled


def enable(level: str = "INFO") -> None:
    """Write log lines of at least ``level`` to standard error, as one line each."""
    import sys

    from loguru import logger as loguru_logger

    global _enabled, _handler
    disable()
    _enabled = True
    with contextlib.suppress(ValueError):  # loguru's own first handler would write every line twice
        loguru_logger.remove(0)
    # Handlers of the application stay; ours writes our lines and no others.
    _handler = loguru_logger.add(
        sys.stderr,
        level=level.upper(),
        format="{time:HH:mm:ss} {level: <7} {message} {extra}",
        filter=lambda record: str(record["name"]).startswith(PACKAGES),
        diagnose=False,  # an exception shows where it was raised, and not with which values
    )
    for package in PACKAGES:
        loguru_logger.enable(package)


def disable() -> None:
    """Fall silent again."""
    from loguru import logger as loguru_logger

    global _enabled, _handler
    _enabled = False
    if _handler is not None:
        with contextlib.suppress(ValueError):  # the application may have removed all handlers
            loguru_logger.remove(_handler)
        _handler = None
    for package in PACKAGES:
        loguru_logger.disable(package)
