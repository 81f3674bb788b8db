"""The provider ``ollama``: Ollama's own chat API."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ProviderSpec, StopReasonTable, hookimpl
from helmdeck_providers.http.provider import provider_spec
from helmdeck_providers.wire_formats.ollama.request import Options, constraint
from helmdeck_providers.wire_formats.ollama.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_providers.wire_formats.ollama.wire_format import NAME, make_wire_format


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Ollama on the same machine."""
    return [
        provider_spec(
            "ollama",
            "Ollama on this machine",
            "http://127.0.0.1:11434",
            None,
            Options(),
            make_wire_format,
            lambda request, _: constraint(request),
        )
    ]


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of Ollama's own chat API."""
    return [StopReasonTable(name=NAME, reasons=REASONS, dispositions=DISPOSITIONS)]
