"""The provider for Ollama's own chat.

How its parts divide the work: ``ollama_request`` writes, ``native`` sends, ``ollama_wire`` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import (
    ModelInfo,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    StopReasonTable,
    hookimpl,
)
from helmdeck_plugins.providers.error_words import ERROR_WORDS, QUOTA_HEADERS
from helmdeck_plugins.providers.ollama_request import Options, constraint, render, window
from helmdeck_plugins.providers.ollama_wire import DISPOSITIONS, REASONS, OllamaAnswer
from helmdeck_provider_kit import HttpProvider, WireFormat, rows, string

WIRE_FORMAT = "ollama"


def wire_format(options: Options) -> WireFormat:
    """The interface, as one deployment uses it."""
    return WireFormat(
        name=WIRE_FORMAT,
        words=ERROR_WORDS,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: {"authorization": f"Bearer {key}"} if key else {},  # only for Ollama's cloud
        path=lambda _: "/api/chat",
        render=lambda request: render(request, options),
        answer=lambda request, terms: OllamaAnswer(
            terms,
            # A lower bound of the bytes will do, and is cheap.
            prompt_bytes=sum(len(message.text) for message in request.messages),
            window=window(request, options),
        ),
        has_lines=True,
        models_path="/api/tags",
        models=_models,
    )


def _models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    names = (string(model.get("name")) or string(model.get("model")) for model in rows(page.get("models")))
    return [ModelInfo(id=name) for name in names if name], ""


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, wire_format(Options.read(settings)))


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Ollama."""
    return [
        ProviderSpec(
            name="ollama",
            open=_open,
            summary="Ollama on this machine",
            base_url="http://127.0.0.1:11434",
            constrain=lambda _, request: constraint(request),
        )
    ]


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """The stop reasons of Ollama's own chat."""
    return [StopReasonTable(name=WIRE_FORMAT, reasons=REASONS, dispositions=DISPOSITIONS)]
