"""Exit codes by cause, and errors as plain data."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core.cli.signals import Terminated
from helmdeck_core.errors import (
    CallFailed,
    CatalogError,
    ConfigError,
    FailureClass,
    HelmdeckError,
    PackError,
    PackErrorCode,
    PluginError,
)


class ExitCode(enum.IntEnum):
    """The exit codes of the command line. The codes from 10 to 22 are the causes of failed model calls."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    PLUGIN = 3
    PACK = 4
    SAFETY_FILTERED = 10
    LENGTH_TRUNCATED = 11
    CONSTRAINED_DEADLOCK = 12
    LIKELY_TIMEOUT = 13
    RATE_LIMITED = 14
    QUOTA_EXHAUSTED = 15
    AUTH_FAILED = 16
    INVALID_REQUEST = 17
    CONTEXT_WINDOW_EXCEEDED = 18
    PROVIDER_UNAVAILABLE = 19
    CANCELLED = 20
    ARTIFACT_INVALID = 21
    TRANSIENT_UNKNOWN = 22
    NO_STEP = 23
    CHECK_FAILED = 24
    NOT_FINISHED = 25
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


BY_CAUSE: Mapping[FailureClass, ExitCode] = {cause: ExitCode[cause.name] for cause in FailureClass}

MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.OK: "success",
    ExitCode.UNEXPECTED: "unexpected error",
    ExitCode.USAGE: "invalid usage, configuration, catalog or input",
    ExitCode.PLUGIN: "a plugin cannot be loaded, or failed",
    ExitCode.PACK: "a pack failed",
    **{code: cause.value for cause, code in BY_CAUSE.items()},
    ExitCode.NO_STEP: "no executable step: nothing in the catalog serves the request",
    ExitCode.CHECK_FAILED: "a check of `helmdeck doctor` failed, a server of the catalog failed, or a calibration is incomplete",
    ExitCode.NOT_FINISHED: "an agent run ended before the request was done",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C)",
    ExitCode.BROKEN_PIPE: "broken pipe",
    ExitCode.TERMINATED: "terminated (SIGTERM)",
}
"""Every exit code with its meaning."""

HINT = "; --traceback shows the traceback"


@attrs.frozen
class UsageError(HelmdeckError):
    """The command line is invalid; the message says what to change."""

    message: str

    def __str__(self) -> str:
        return self.message


@attrs.frozen
class OutputError(HelmdeckError):
    """The result cannot be written to standard output, for instance because the disk is full."""

    detail: str

    def __str__(self) -> str:
        return f"the result cannot be written ({self.detail})"


def missing_directory_error(error: BaseException) -> UsageError | None:
    """Return a usage error if ``error`` means that the current directory does not exist; ``None`` otherwise."""
    if not isinstance(error, FileNotFoundError):
        return None
    try:
        os.getcwd()  # noqa: PTH109 (called for its error)
    except FileNotFoundError:
        return UsageError("the current directory does not exist any more; change to another one")
    return None


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code for an exception.

    >>> from helmdeck_core import LengthTruncated
    >>> from helmdeck_core.cli import exit_code_of
    >>> int(exit_code_of(LengthTruncated("plan")))
    11
    """
    match error:
        case Terminated():
            return ExitCode.TERMINATED
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case CallFailed():
            return BY_CAUSE[error.failure_class]
        case PackError():
            return ExitCode.USAGE if error.code is PackErrorCode.INVALID_INPUT else ExitCode.PACK
        case PluginError():
            return ExitCode.PLUGIN
        case UsageError() | ConfigError() | CatalogError():
            return ExitCode.USAGE
        case _:
            return ExitCode.UNEXPECTED


def error_data(error: BaseException) -> dict[str, Any]:
    """The exception as plain data, as ``--json`` prints it under ``error``.

    >>> from helmdeck_core import LengthTruncated
    >>> from helmdeck_core.cli import error_data
    >>> error_data(LengthTruncated("plan", model="acme/large"))["cause"]
    'length_truncated'
    """
    code = int(exit_code_of(error))
    facts: dict[str, Any] = {"kind": type(error).__name__, "message": error_message(error), "exit_code": code}
    match error:
        case CallFailed() | PackError():
            facts = {**facts, **error.to_dict()}
        case ConfigError() | CatalogError():
            facts["mistakes"] = [attrs.asdict(mistake) for mistake in error.mistakes]
        case PluginError():
            facts |= attrs.asdict(error)
        case _:
            pass
    return facts


def error_message(error: BaseException) -> str:
    """The message for an exception, without the type where the message alone is clear; it mentions a hidden traceback.

    >>> from helmdeck_core.cli import error_message
    >>> error_message(ZeroDivisionError("division by zero"))
    'unexpected ZeroDivisionError: division by zero; --traceback shows the traceback'
    """
    notes: Sequence[str] = getattr(error, "__notes__", ())
    if isinstance(error, KeyboardInterrupt):
        reason = "terminated" if isinstance(error, Terminated) else "interrupted"
        return "; ".join((reason, *notes))
    is_read = isinstance(error, CatalogError) and all(each.where.startswith("$") for each in error.mistakes)
    if isinstance(error, CatalogError) and is_read:
        from helmdeck_core.config.types import is_catalog_file  # most of the start of `helmdeck --version`

        if is_catalog_file(error.source):
            return f"{error}\n`helmdeck catalog check {error.source}` shows the lines"
    if isinstance(error, HelmdeckError):
        has_traceback = isinstance(error, PluginError | PackError) and (error.__cause__ is not None or notes)
        return f"{error}{HINT}" if has_traceback else str(error)
    if isinstance(error, SystemExit):
        return f"sys.exit({error.code!r}) was called during the command{HINT}"
    where = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
    message = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return f"unexpected {type(error).__name__}: {message}{where}{HINT}"
