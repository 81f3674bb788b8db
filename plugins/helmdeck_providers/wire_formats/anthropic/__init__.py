"""The provider ``anthropic``: Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ProviderSpec, StopReasonTable, hookimpl
from helmdeck_providers.http.provider import provider_spec
from helmdeck_providers.wire_formats.anthropic.request import Options, constraint
from helmdeck_providers.wire_formats.anthropic.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_providers.wire_formats.anthropic.wire_format import NAME, make_wire_format


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Anthropic's own servers."""
    return [
        provider_spec(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            Options(),
            make_wire_format,
            constraint,
            "claude-haiku-4-5",
            output_limit=lambda options: options.max_tokens,
        )
    ]


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of the Messages API."""
    return [StopReasonTable(name=NAME, reasons=REASONS, dispositions=DISPOSITIONS)]
