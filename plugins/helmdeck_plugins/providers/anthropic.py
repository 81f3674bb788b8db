"""The provider for Anthropic's messages.

How its parts divide the work: ``anthropic_request`` writes, ``native`` sends, ``anthropic_wire`` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from helmdeck_core import (
    ModelInfo,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    StopReasonTable,
    hookimpl,
)
from helmdeck_plugins.providers.anthropic_request import Options, constraint, render
from helmdeck_plugins.providers.anthropic_wire import DISPOSITIONS, REASONS, MessageAnswer
from helmdeck_plugins.providers.error_words import ERROR_WORDS, QUOTA_HEADERS
from helmdeck_provider_kit import HttpProvider, WireFormat, count, rows, string

WIRE_FORMAT = "anthropic"

_MODELS = "/models?limit=1000"


def wire_format(options: Options) -> WireFormat:
    """The interface, as one deployment uses it."""
    return WireFormat(
        name=WIRE_FORMAT,
        words=ERROR_WORDS,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: _headers(key, options),
        path=lambda _: "/messages",
        render=lambda request: render(request, options),
        answer=lambda _, terms: MessageAnswer(terms),
        models_path=_MODELS,
        models=_models,
    )


def _headers(key: str | None, options: Options) -> Mapping[str, str]:
    headers = {"anthropic-version": options.version}
    if options.betas:
        headers["anthropic-beta"] = ",".join(options.betas)
    if key:
        headers |= {"authorization": f"Bearer {key}"} if options.auth == "bearer" else {"x-api-key": key}
    return headers


def _models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    found = [
        ModelInfo(
            id=name,
            input_tokens=count(model, "max_input_tokens") or None,
            output_tokens=count(model, "max_tokens") or None,
        )
        for model in rows(page.get("data"))
        if (name := string(model.get("id")))
    ]
    last = string(page.get("last_id"))
    return found, f"{_MODELS}&after_id={quote(last, safe='')}" if page.get("has_more") is True and last else ""


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, wire_format(Options.read(settings)))


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Anthropic."""
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
    """The stop reasons of messages."""
    return [StopReasonTable(name=WIRE_FORMAT, reasons=REASONS, dispositions=DISPOSITIONS)]
