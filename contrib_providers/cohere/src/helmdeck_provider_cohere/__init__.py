"""The provider ``cohere``: Cohere's Chat API, version 2, whole or streamed."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import ProviderSpec, StopReasonTable, hookimpl
from helmdeck_provider_cohere.answer import REASONS
from helmdeck_provider_cohere.request import Options, constraint
from helmdeck_provider_cohere.wire_format import WIRE_FORMAT, make_wire_format
from helmdeck_providers import provider_spec

NAME = "cohere"


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Cohere."""
    summary = "Cohere, Chat API v2"
    spec = provider_spec(NAME, summary, "https://api.cohere.com", "CO_API_KEY", Options(), make_wire_format, constraint)
    return (attrs.evolve(spec, rerank_path="/v2/rerank"),)


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of version 2."""
    return (StopReasonTable(name=WIRE_FORMAT, reasons=REASONS),)
