"""The plugin ``openai``: OpenAI's chat completions, and the presets of servers that are compatible with them."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ProviderSpec, StopReasonTable, hookimpl
from helmdeck_providers.wire_formats.openai_chat.presets import PRESETS
from helmdeck_providers.wire_formats.openai_chat.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_providers.wire_formats.openai_chat.wire_format import NAME


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """One provider per known server."""
    return PRESETS


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of chat completions."""
    return [StopReasonTable(name=NAME, reasons=REASONS, dispositions=DISPOSITIONS)]
