"""Errors of the gateway, independent of the dialect in which a client reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core import CallFailed, ConfigError, FailureClass, HelmdeckError, PackError
from helmdeck_guards import GuardBlocked

CLIENT_CLOSED = 499
"""Status of a request whose client disconnected; only metrics show it."""

DRAINING = "draining"
"""The code of errors of a gateway that is about to stop."""

_STATUSES: Mapping[FailureClass, tuple[int, str, str]] = {
    FailureClass.SAFETY_FILTERED: (400, "invalid_request_error", "content_filter"),
    FailureClass.LENGTH_TRUNCATED: (502, "api_error", "length_truncated"),
    FailureClass.CONSTRAINED_DEADLOCK: (502, "api_error", "constrained_deadlock"),
    FailureClass.LIKELY_TIMEOUT: (504, "timeout_error", "likely_timeout"),
    FailureClass.RATE_LIMITED: (429, "rate_limit_error", "rate_limit_exceeded"),
    FailureClass.QUOTA_EXHAUSTED: (429, "rate_limit_error", "insufficient_quota"),
    # The key of the gateway was rejected upstream, not the key of the client.
    FailureClass.AUTH_FAILED: (502, "api_error", "upstream_authentication"),
    FailureClass.INVALID_REQUEST: (400, "invalid_request_error", "invalid_request"),
    FailureClass.CONTEXT_WINDOW_EXCEEDED: (400, "invalid_request_error", "context_length_exceeded"),
    FailureClass.PROVIDER_UNAVAILABLE: (503, "overloaded_error", "provider_unavailable"),
    FailureClass.CANCELLED: (503, "overloaded_error", "cancelled"),
    FailureClass.ARTIFACT_INVALID: (422, "invalid_request_error", "artifact_invalid"),
    FailureClass.TRANSIENT_UNKNOWN: (502, "api_error", "upstream_error"),
}

PAUSE_S = 8.0
"""The ``Retry-After`` of an unavailable provider that names none: clients that do not read ``x-should-retry`` wait that long. It
is the default cooldown of a model, so that the next request finds it tested."""

HIDDEN_URL = "(a URL that the log of the gateway has)"
_URL = re.compile(r"(?i)\b[a-z][a-z0-9+.-]*://[^\s'\",;)]*[^\s'\",;):.]")
_UNKNOWN_MODEL = ("model", "model_id", "provider", "unknown_provider", "unknown_model")


@attrs.frozen(kw_only=True)
class Problem(Exception):
    """A request that the gateway answers with an error.

    :ivar status: HTTP status; in a stream that has begun, the error is an event instead.
    :ivar kind: one of Anthropic's error types; the other dialects show it as ``type``.
    :ivar code: a stable code, such as ``context_length_exceeded``.
    :ivar param: the field of the request that is wrong, such as ``messages[2].content``.
    :ivar details: cause, hint, next action, call id and attempts, where a call failed.
    :ivar ends_connection: the connection is closed after the error.
    :ivar is_worth_retrying: whether the same request may succeed; the gateway has used up its own retries.
    """

    message: str
    status: int = 400
    kind: str = "invalid_request_error"
    code: str = "invalid_request"
    param: str | None = None
    retry_after_s: float | None = None
    is_worth_retrying: bool = False
    details: Mapping[str, Any] = attrs.field(factory=dict)
    ends_connection: bool = False

    def __str__(self) -> str:
        return self.message

    @property
    def headers(self) -> dict[str, str]:
        """The headers of an error response."""
        # OpenAI's and Anthropic's clients read this one; without it they repeat every 5xx twice.
        headers = {"x-should-retry": "true" if self.is_worth_retrying else "false"}
        if self.code == DRAINING or self.ends_connection:  # the next request should reach another process
            headers["connection"] = "close"
        if self.retry_after_s is not None:
            milliseconds = max(0, math.ceil(self.retry_after_s * 1000))
            headers["retry-after"] = str(math.ceil(milliseconds / 1000))
            if milliseconds % 1000:  # both SDKs read it, and would come too early or too late otherwise
                headers["retry-after-ms"] = str(milliseconds)
        return headers


def invalid(message: str, param: str | None = None) -> Problem:
    """Return the error for a request that has a wrong field."""
    return Problem(message=f"{param}: {message}" if param else message, param=param)


def problem_of(error: Exception) -> Problem:
    """Return the error for an exception of a call; details of unexpected exceptions stay in the log."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, CallFailed):
        return _failure(error)
    if isinstance(error, PackError):
        cause = error.__cause__
        if isinstance(cause, CallFailed):
            return _failure(cause)
        return Problem(message=str(error), code=error.code.value, details={"cause": error.code.value})
    if isinstance(error, GuardBlocked):
        return _blocked(error)
    if isinstance(error, ConfigError | HelmdeckError):
        return Problem(message=str(error), status=500, kind="api_error", code="configuration")
    message = "the gateway failed to process the request; its log has the details under the request id"
    return Problem(message=message, status=500, kind="api_error", code="internal_error")


def without_addresses(failure: CallFailed) -> CallFailed:
    """Return a failure without the URLs of the operator's network, which are no matter of clients.

    What a provider writes in an error of its own stays, such as a link to its documentation.
    """
    if failure.status is None:
        detail = _URL.sub(HIDDEN_URL, failure.detail)
    else:
        detail = "" if 300 <= failure.status < 400 else failure.detail
    return failure if detail == failure.detail else attrs.evolve(failure, detail=detail)


def _blocked(block: GuardBlocked) -> Problem:
    """The error of a guard; after a failure of the guard itself, the same request may succeed."""
    details: dict[str, Any] = {"guard": block.guard, "stage": block.stage}
    if block.failure:
        return Problem(
            message=str(block), status=503, kind="overloaded_error", code="guard_failed", retry_after_s=1,
            is_worth_retrying=True, details=details,
        )  # fmt: skip
    return Problem(message=str(block), code="content_filter", details={**details, "findings": dict(block.kinds)})


def _failure(failure: CallFailed) -> Problem:
    failure = without_addresses(failure)
    status, kind, code = _STATUSES[failure.failure_class]
    param = None
    if failure.failure_class is FailureClass.INVALID_REQUEST and failure.sub_cause in _UNKNOWN_MODEL:
        status, kind, code, param = 404, "not_found_error", "model_not_found", "model"
    hint, next_action = failure.advice()
    details: dict[str, Any] = {
        "cause": failure.failure_class.value,
        "sub_cause": failure.sub_cause,
        "hint": hint,
        "next_action": next_action,
        "model": failure.model,
        "call_id": failure.call_id,
        "attempts": [str(attempt) for attempt in failure.attempts],
    }
    retry_after_s = failure.retry_after_s
    if retry_after_s is None and failure.failure_class is FailureClass.PROVIDER_UNAVAILABLE:
        retry_after_s = PAUSE_S
    is_rate_limit = failure.failure_class is FailureClass.RATE_LIMITED
    return Problem(
        message=str(failure),
        status=status,
        kind=kind,
        code=code,
        param=param,
        retry_after_s=retry_after_s,
        is_worth_retrying=is_rate_limit or (status >= 500 and failure.retry_after_s is not None),
        details={name: value for name, value in details.items() if value},
    )
