"""Failures of runs as plain data, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from helmdeck_core import FAILURES, Cancelled, FailureClass, HelmdeckError, PackError, PackErrorCode

MAX_MESSAGE_CHARS = 4_000
MAX_FINDINGS = 50
MAX_FINDING_CHARS = 1_000


class UnsupportedError(HelmdeckError):
    """The configured run engine cannot do what was requested."""


class RecordsError(HelmdeckError):
    """The database of the runs cannot be read or written; the message has no secrets."""


class RunInUseError(HelmdeckError):
    """Another process resumes the same run."""

    def __init__(self, run_id: str, other: str, executor: str) -> None:
        super().__init__(
            f"the run {run_id} is already resumed, as run {other} of the process {executor}; "
            f"wait until it ends; if its process has ended, resume the run {other}"
        )


class StepFailedError(HelmdeckError):
    """A step of a run failed.

    :ivar step_id: the step.
    :ivar failure: its failure as plain data, see ``failure_data``.
    """

    def __init__(self, step_id: str, failure: Mapping[str, Any]) -> None:
        self.step_id: str = step_id
        self.failure: Mapping[str, Any] = failure
        super().__init__(f"step {step_id!r}: {failure.get('message', 'failed')}")


def failure_data(error: BaseException) -> dict[str, Any]:
    """Return a failure as plain data: ``class``, ``cause``, ``code``, ``retryable``, ``message``, perhaps ``step``.

    ``findings`` are those of a pack that failed, as strings; at most ``MAX_FINDINGS``.

    >>> from helmdeck_core import LengthTruncated
    >>> from helmdeck_runs import failure_data
    >>> data = failure_data(LengthTruncated("plan"))
    >>> data["class"], data["code"], data["retryable"]
    ('LengthTruncated', 'handler_failed', True)
    """
    if isinstance(error, StepFailedError):
        return {**error.failure, "step": error.step_id}
    if isinstance(error, asyncio.CancelledError):
        error = Cancelled("the run was cancelled")
    if (to_dict := getattr(error, "to_dict", None)) is not None:
        data: Mapping[str, Any] = to_dict()
    else:
        data = {"class": type(error).__name__, "cause": "internal", "code": "internal", "message": str(error)}
    kept = {name: data[name] for name in ("class", "cause", "code", "message", "next_action") if data.get(name)}
    kept["message"] = str(kept.get("message", ""))[:MAX_MESSAGE_CHARS]
    findings = error.output.get("findings") if isinstance(error, PackError) else None
    if isinstance(findings, (list, tuple)) and findings:
        kept["findings"] = [str(each)[:MAX_FINDING_CHARS] for each in findings[:MAX_FINDINGS]]
    return {**kept, "retryable": bool(data.get("retryable"))}


def failure_error(name: str, failure: Mapping[str, Any]) -> HelmdeckError:
    """Return the exception for a failed run: the class of the cause, else a ``PackError`` with the code.

    :param name: what ran.

    >>> from helmdeck_core import LengthTruncated
    >>> from helmdeck_runs import failure_data, failure_error
    >>> type(failure_error("blog.draft", failure_data(LengthTruncated("plan")))).__name__
    'LengthTruncated'
    """
    message = str(failure.get("message", "failed"))
    if step := failure.get("step"):
        message = f"step {step!r}: {message}"
    if failure.get("cause") in tuple(FailureClass):
        return FAILURES[FailureClass(failure["cause"])](name, detail=message)
    output = {"findings": failure["findings"]} if failure.get("findings") else {}
    return PackError(name, PackErrorCode(str(failure.get("code", "internal"))), message, output)
