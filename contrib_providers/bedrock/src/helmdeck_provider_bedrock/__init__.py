"""The provider ``bedrock``: every model that Amazon Bedrock serves through Converse, whole or as a stream."""

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

NAME = "bedrock"


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The one provider."""
    return (
        ProviderSpec(
            name=NAME,
            open=_open,
            summary="Amazon Bedrock, every model that speaks Converse",
            # Without an API key, requests are signed with the keys of an AWS account; see the options.
            api_key="env:AWS_BEARER_TOKEN_BEDROCK",
            constrain=_constrain,
        ),
    )


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """The stop reasons of Converse."""
    from helmdeck_provider_bedrock.answer import REASONS
    from helmdeck_provider_bedrock.provider import WIRE_FORMAT

    return (StopReasonTable(name=WIRE_FORMAT, reasons=REASONS),)


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    from helmdeck_provider_bedrock.provider import open_bedrock

    return open_bedrock(settings, context)


def _constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    from helmdeck_provider_bedrock.provider import constrain

    return constrain(settings, request)
