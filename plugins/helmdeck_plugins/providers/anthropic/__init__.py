"""The provider ``anthropic``: Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec, StopReasonTable, hookimpl
from helmdeck_plugins.providers.anthropic.request import Options, constraint
from helmdeck_plugins.providers.anthropic.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_plugins.providers.anthropic.wire_format import NAME, make_wire_format
from helmdeck_provider_kit import HttpProvider


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
