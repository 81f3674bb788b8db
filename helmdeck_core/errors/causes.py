"""The classes of failed model calls."""

from __future__ import annotations

import enum


class FailureClass(enum.StrEnum):
    """Why a model call returned no usable answer."""

    SAFETY_FILTERED = "safety_filtered"
    LENGTH_TRUNCATED = "length_truncated"
    CONSTRAINED_DEADLOCK = "constrained_deadlock"
    LIKELY_TIMEOUT = "likely_timeout"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    AUTH_FAILED = "auth_failed"
    INVALID_REQUEST = "invalid_request"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    CANCELLED = "cancelled"
    ARTIFACT_INVALID = "artifact_invalid"
    TRANSIENT_UNKNOWN = "transient_unknown"
