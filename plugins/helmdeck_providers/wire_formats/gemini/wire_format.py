"""Gemini's generateContent as a wire format: paths, headers and the model list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from helmdeck_core import ModelInfo
from helmdeck_providers.http.bodies import count, rows, string
from helmdeck_providers.http.rendering import key_headers
from helmdeck_providers.http.wire_format import WireFormat
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES, QUOTA_HEADERS
from helmdeck_providers.wire_formats.gemini.request import Options, render, request_path
from helmdeck_providers.wire_formats.gemini.response import GeminiAnswer

NAME = "gemini"
"""Name of the stop-reason table."""

_DEFAULTS = Options()


def make_wire_format(options: Options = _DEFAULTS) -> WireFormat:
    """Return the wire format with the options of one deployment."""
    # The list of models does not depend on the project.
    models_path = f"/{options.models_path}?pageSize=1000"
    return WireFormat(
        name=NAME,
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: key_headers(key, "authorization" if options.auth == "bearer" else "x-goog-api-key"),
        path=lambda request: request_path(request, options),
        render=lambda request: render(request, options),
        answer=lambda _, context: GeminiAnswer(context),
        models_path=models_path,
        models=lambda page: _read_models(page, models_path),
    )


def _read_models(page: Mapping[str, Any], path: str) -> tuple[Sequence[ModelInfo], str]:
    """Read a page of the model list; models that generate no content, such as embedding models, are left out."""
    models = [
        ModelInfo(
            id=name.rpartition("models/")[2],
            input_tokens=count(model, "inputTokenLimit") or None,
            output_tokens=count(model, "outputTokenLimit") or None,
        )
        for model in rows(page.get("models")) or rows(page.get("publisherModels"))
        if (name := string(model.get("name")))
        and "generateContent" in _list_of(model.get("supportedGenerationMethods", ["generateContent"]))
    ]
    token = string(page.get("nextPageToken"))
    return models, f"{path}&pageToken={quote(token, safe='')}" if token else ""


def _list_of(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
