"""The provider ``anthropic``: Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec, StopReasonTable, hookimpl
from helmdeck_providers.http.wire_format import HttpProvider
from helmdeck_providers.wire_formats.anthropic.request import Options, constraint
from helmdeck_providers.wire_formats.anthropic.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_providers.wire_formats.anthropic.wire_format import NAME, make_wire_format


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, make_wire_format(Options.read(settings)))


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Anthropic's own servers."""
    return [
        ProviderSpec(
            name="anthropic",
            open=_open,
            summary="Anthropic",
            base_url="https://api.anthropic.com/v1",
            api_key="env:ANTHROPIC_API_KEY",
            constrain=lambda settings, request: constraint(request, Options.read(settings)),
        )
    ]


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of the Messages API."""
    return [StopReasonTable(name=NAME, reasons=REASONS, dispositions=DISPOSITIONS)]
