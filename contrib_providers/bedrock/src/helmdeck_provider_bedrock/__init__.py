"""The provider ``bedrock``: all models of Amazon Bedrock's Converse API, whole or streamed."""

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
    """Amazon Bedrock."""
    return (
        ProviderSpec(
            name=NAME,
            open=_open,
            summary="Amazon Bedrock, all models of the Converse API",
            # Without an API key, requests are signed with the keys of an AWS account; see the options.
            api_key="env:AWS_BEARER_TOKEN_BEDROCK",
            constrain=_constrain,
        ),
    )


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of Converse."""
    from helmdeck_provider_bedrock.answer import REASONS
    from helmdeck_provider_bedrock.provider import WIRE_FORMAT

    return (StopReasonTable(name=WIRE_FORMAT, reasons=REASONS),)


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    from helmdeck_provider_bedrock.provider import open_bedrock

    return open_bedrock(settings, context)


def _constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    from helmdeck_provider_bedrock.provider import constrain

    return constrain(settings, request)
