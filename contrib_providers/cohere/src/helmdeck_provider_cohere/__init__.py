"""The provider ``cohere``: Cohere's Chat API, version 2, whole or streamed."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import (
    ChatRequest,
    Constraint,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    StopReasonTable,
    hookimpl,
)

NAME = "cohere"


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Cohere."""
    return (
        ProviderSpec(
            name=NAME,
            open=_open,
            summary="Cohere, Chat API v2",
            base_url="https://api.cohere.com",
            api_key="env:CO_API_KEY",
            constrain=_constrain,
        ),
    )


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of version 2."""
    from helmdeck_provider_cohere.answer import REASONS
    from helmdeck_provider_cohere.provider import WIRE_FORMAT

    return (StopReasonTable(name=WIRE_FORMAT, reasons=REASONS),)


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    from helmdeck_provider_cohere.provider import open_cohere

    return open_cohere(settings, context)


def _constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    from helmdeck_provider_cohere.provider import constrain

    return constrain(settings, request)
