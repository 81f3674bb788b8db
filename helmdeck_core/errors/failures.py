"""Failed model calls: ``CallFailed`` and one subclass per ``FailureClass``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from helmdeck_core.errors.attempts import Attempt, bounded, summary
from helmdeck_core.errors.base import HelmdeckError, Mistake
from helmdeck_core.errors.causes import FailureClass
from helmdeck_core.errors.hints import ANY_PROVIDER, find_hint
from helmdeck_core.errors.pack_codes import PackErrorCode
from helmdeck_core.errors.usage import Usage

_MIN_SHOWN_S = 0.05
"""The shortest duration that a message mentions."""

WINDOW_FULL_REASON = "ContextWindowExceeded"
"""The normalised stop reason of an answer that filled the context window."""


@attrs.frozen
class CallFailed(HelmdeckError):
    """A model call ended without a usable answer.

    :ivar headline: the start of the message: the pack, and what failed.
    :ivar model: the model id that was called, ``provider/model``.
    :ivar provider: the first part of ``model``.
    :ivar raw_stop_reason: the provider's native stop reason; ``None`` when it sent none.
    :ivar stop_reason: the normalised stop reason.
    :ivar raw_length: UTF-8 bytes of the answer before reasoning was stripped.
    :ivar latency_s: seconds from sending the request to the end of the response.
    :ivar attempt: 1 for the first attempt.
    :ivar status: the HTTP status, when there was a response.
    :ivar request_id: the provider's id of the request; its support asks for it.
    :ivar retry_after_s: seconds that the provider asks to wait before the next request.
    :ivar sub_cause: a finer cause within the class, such as ``wrong_shape``; it may have a hint of its own.
    :ivar detail: details of the failure, such as the provider's error message; bounded and redacted.
    :ivar excerpt: the start of the answer, a few hundred characters at most; redacted.
    :ivar is_empty: the response has no visible text.
    :ivar usage: tokens of the unusable answer, as reported by the provider.
    :ivar max_tokens: the output limit of the request; ``None`` when there was none, or no response.
    :ivar call_id: the id shared by all events of the call; empty outside of a call.
    :ivar attempts: what was attempted, this failure last; at most eight, the first and the last ones.
    :ivar cost_usd: US dollars of the whole call, including attempts that are not listed; ``None`` when a price is unknown.
    :ivar mistakes: the invalid settings, when the configuration is the cause.
    :ivar partial: the ``ChatResponse`` with the longest truncated text of the attempts; ``None`` when there was none. It is
        not part of the message and of the plain data, which only state that it exists, as ``incomplete``.
    :ivar partial_model: the model that wrote it.
    """

    failure_class: ClassVar[FailureClass] = FailureClass.TRANSIENT_UNKNOWN
    usual_code: ClassVar[PackErrorCode] = PackErrorCode.HANDLER_FAILED
    sub_codes: ClassVar[Mapping[str, PackErrorCode]] = {}
    retryable: ClassVar[bool] = False

    headline: str
    model: str = ""
    provider: str = ""
    raw_stop_reason: str | None = None
    stop_reason: str = ""
    raw_length: int = 0
    latency_s: float = 0.0
    attempt: int = 1
    status: int | None = None
    retry_after_s: float | None = None
    sub_cause: str = ""
    detail: str = ""
    excerpt: str = ""
    is_empty: bool = False
    call_id: str = ""
    attempts: tuple[Attempt, ...] = attrs.field(default=(), converter=bounded)
    request_id: str = ""
    usage: Usage = Usage()
    max_tokens: int | None = None
    cost_usd: float | None = None
    mistakes: tuple[Mistake, ...] = ()
    partial: Any = attrs.field(default=None, repr=False, eq=False)
    partial_model: str = ""

    def __str__(self) -> str:
        facts = ", ".join(self.facts())
        hint, next_action = self.advice()
        parts = [self.headline, f" ({facts})" if facts else "", f": {self.detail}" if self.detail else ""]
        return f"{''.join(parts)}; {hint}; next: {next_action}{self._tried()}"

    def _tried(self) -> str:
        """The attempts, or why there was only one."""
        if len(self.attempts) > 1:
            return f"; tried: {summary(self.attempts)}"
        return "".join(f"; {one.then}" for one in self.attempts if one.reason)

    @property
    def code(self) -> PackErrorCode:
        """The error code of a pack that does not handle the failure."""
        return self.sub_codes.get(self.sub_cause, self.usual_code)

    def facts(self) -> list[str]:
        """Return the known facts of the call, each as a short phrase."""
        facts = [f"model {self.model}"] if self.model else []
        if self.status is not None:
            facts.append(f"HTTP {self.status}")
        if self.request_id:
            facts.append(f"request id {self.request_id}")
        if self.retry_after_s is not None:
            facts.append(f"retry after {self.retry_after_s:g} s")
        if self.stop_reason:
            facts.append(f"stop reason {self.raw_stop_reason!r}" if self.raw_stop_reason else "no stop reason")
            facts.append(f"{self.raw_length:,} bytes")
        if self.usage.output_tokens:
            facts.append(self._tokens())
        if self.stop_reason or self.latency_s >= _MIN_SHOWN_S:
            facts.append(f"{self.latency_s:.1f} s")
        return facts

    def _tokens(self) -> str:
        usage = self.usage
        # A sum over several requests can exceed the limit of one.
        is_one = self.max_tokens is not None and usage.output_tokens <= self.max_tokens
        limit = f" of at most {self.max_tokens:,}" if is_one else ""
        reasoning = f", {usage.reasoning_tokens:,} of them reasoning" if usage.reasoning_tokens else ""
        return f"{usage.output_tokens:,}{limit} output tokens{reasoning}"

    def advice(self) -> tuple[str, str]:
        """Return what was seen, and what would change it."""
        usage, limit = self.usage.output_tokens, self.max_tokens or 0
        facts = {
            "at_limit": usage >= limit > 0,
            "below_limit": 0 < usage < limit - limit // 10,  # servers count a few tokens differently
            "within_a_second": self.latency_s < 1.0,
            "no_stop_reason": not self.raw_stop_reason,
            "stop_reason": bool(self.raw_stop_reason),
            "window_full": self.stop_reason == WINDOW_FULL_REASON,
        }
        values = {
            "provider": f"providers.{self.provider}" if self.provider else ANY_PROVIDER,
            "tokens": f"{usage:,}",
            "max_tokens": f"{limit:,}",
            "stop_reason": repr(self.raw_stop_reason),
        }
        return find_hint(self.failure_class, self.sub_cause, [name for name, holds in facts.items() if holds], values)

    @property
    def hint(self) -> str:
        """What was seen."""
        return self.advice()[0]

    @property
    def next_action(self) -> str:
        """What would change it."""
        return self.advice()[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as plain data, for ``--json`` and for events."""
        shown = attrs.evolve(self, partial=None)
        facts = attrs.asdict(shown, recurse=False, filter=lambda _, value: value not in ("", None, (), Usage()))
        if self.partial is not None:
            facts["incomplete"] = True
        if self.usage != Usage():
            facts["usage"] = self.usage.to_dict()
        if self.attempts:
            facts["attempts"] = [attempt.to_dict() for attempt in self.attempts]
        if self.mistakes:
            facts["mistakes"] = [attrs.asdict(mistake) for mistake in self.mistakes]
        hint, next_action = self.advice()
        return {
            "class": type(self).__name__,
            "cause": self.failure_class.value,
            "code": self.code.value,
            "retryable": self.retryable,
            "message": str(self),
            "hint": hint,
            "next_action": next_action,
            **facts,
        }


class SafetyFiltered(CallFailed):
    """The provider withheld the answer for safety."""

    failure_class = FailureClass.SAFETY_FILTERED


class LengthTruncated(CallFailed):
    """The answer was truncated at the output limit before it was usable."""

    failure_class = FailureClass.LENGTH_TRUNCATED
    retryable = True


class ConstrainedDeadlock(CallFailed):
    """The model finished, but its answer cannot be decoded."""

    failure_class = FailureClass.CONSTRAINED_DEADLOCK
    retryable = True


class LikelyTimeout(CallFailed):
    """An empty answer without an error: usually an upstream timeout, or a prompt that the model cannot handle."""

    failure_class = FailureClass.LIKELY_TIMEOUT
    retryable = True
    sub_codes: ClassVar[Mapping[str, PackErrorCode]] = dict.fromkeys(
        ("deadline", "deadline_share", "timeout", "idle", "first_token"), PackErrorCode.TIMEOUT
    )


class RateLimited(CallFailed):
    """The provider's rate limit was exceeded."""

    failure_class = FailureClass.RATE_LIMITED
    retryable = True


class QuotaExhausted(CallFailed):
    """The account has no quota or credit left; waiting does not help."""

    failure_class = FailureClass.QUOTA_EXHAUSTED


class AuthFailed(CallFailed):
    """The provider rejected the credentials."""

    failure_class = FailureClass.AUTH_FAILED


SCHEMA_REFUSED = "schema_refused"
"""The sub-cause of a request that was rejected because of its response format."""


class InvalidRequest(CallFailed):
    """The request is invalid; ``detail`` names the valid values."""

    failure_class = FailureClass.INVALID_REQUEST
    usual_code = PackErrorCode.INVALID_INPUT


class ContextWindowExceeded(CallFailed):
    """The prompt does not fit the model's context window."""

    failure_class = FailureClass.CONTEXT_WINDOW_EXCEEDED


class ProviderUnavailable(CallFailed):
    """The provider is unreachable or failing."""

    failure_class = FailureClass.PROVIDER_UNAVAILABLE
    retryable = True


class Cancelled(CallFailed):
    """The call was cancelled before it ended."""

    failure_class = FailureClass.CANCELLED


class ArtifactInvalid(CallFailed):
    """Strict validation rejected an artifact."""

    failure_class = FailureClass.ARTIFACT_INVALID
    usual_code = PackErrorCode.ARTIFACT_FAILED


class TransientUnknown(CallFailed):
    """The provider failed in a way that no other class covers."""

    failure_class = FailureClass.TRANSIENT_UNKNOWN
    retryable = True


FAILURES: dict[FailureClass, type[CallFailed]] = {
    cls.failure_class: cls
    for cls in (
        SafetyFiltered, LengthTruncated, ConstrainedDeadlock, LikelyTimeout, RateLimited, QuotaExhausted, AuthFailed,
        InvalidRequest, ContextWindowExceeded, ProviderUnavailable, Cancelled, ArtifactInvalid, TransientUnknown,
    )
}  # fmt: skip
