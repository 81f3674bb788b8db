"""The provider ``ollama``: Ollama's own chat API."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec, StopReasonTable, hookimpl
from helmdeck_providers.http.wire_format import HttpProvider
from helmdeck_providers.wire_formats.ollama.request import Options, constraint
from helmdeck_providers.wire_formats.ollama.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_providers.wire_formats.ollama.wire_format import NAME, make_wire_format


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, make_wire_format(Options.read(settings)))


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Ollama on the same machine."""
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
    """Stop reasons of Ollama's own chat API."""
    return [StopReasonTable(name=NAME, reasons=REASONS, dispositions=DISPOSITIONS)]
