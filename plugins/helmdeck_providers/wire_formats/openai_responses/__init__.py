"""The plugin ``responses``: OpenAI's Responses API, and the presets of servers that are compatible with it."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ProviderSpec, StopReasonTable, hookimpl
from helmdeck_providers.wire_formats.openai_responses.presets import PRESETS
from helmdeck_providers.wire_formats.openai_responses.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_providers.wire_formats.openai_responses.wire_format import NAME


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """One provider per known server."""
    return PRESETS


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of the Responses API."""
    return [StopReasonTable(name=NAME, reasons=REASONS, dispositions=DISPOSITIONS)]
