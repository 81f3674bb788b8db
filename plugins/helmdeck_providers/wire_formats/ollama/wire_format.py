"""Ollama's own chat API as a wire format: paths, headers and the model list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import ModelInfo
from helmdeck_providers.http.bodies import rows, string
from helmdeck_providers.http.rendering import key_headers
from helmdeck_providers.http.wire_format import WireFormat
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES, QUOTA_HEADERS
from helmdeck_providers.wire_formats.ollama.request import Options, context_window, render
from helmdeck_providers.wire_formats.ollama.response import OllamaAnswer

NAME = "ollama"
"""Name of the stop-reason table."""

_DEFAULTS = Options()


def make_wire_format(options: Options = _DEFAULTS) -> WireFormat:
    """Return the wire format with the options of one deployment."""
    return WireFormat(
        name=NAME,
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        headers=key_headers,  # only for Ollama's cloud
        path=lambda _: "/api/chat",
        render=lambda request: render(request, options),
        answer=lambda request, context: OllamaAnswer(
            context,
            # A lower bound of the bytes is enough, and cheap.
            prompt_bytes=sum(len(message.text) for message in request.messages),
            window=context_window(request, options),
        ),
        has_lines=True,
        models_path="/api/tags",
        models=_read_models,
    )


def _read_models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    names = (string(model.get("name")) or string(model.get("model")) for model in rows(page.get("models")))
    return [ModelInfo(id=name) for name in names if name], ""
