"""The W3C trace context of the running call: providers send it with their requests, and tracing uses it as the parent."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

from helmdeck_core import EMPTY

TRACE_CONTEXT: ContextVar[Mapping[str, str]] = ContextVar("helmdeck_trace_context", default=EMPTY)
"""The headers ``traceparent`` and ``tracestate``; a server sets it for the task of a request, empty for none."""
