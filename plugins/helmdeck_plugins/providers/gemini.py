"""The providers for Gemini's generateContent: the developer's interface, and Vertex AI.

How its parts divide the work: ``gemini_request`` writes, ``native`` sends, ``gemini_wire`` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import attrs

from helmdeck_core import (
    ChatRequest,
    Constraint,
    ModelInfo,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    StopReasonTable,
    hookimpl,
)
from helmdeck_plugins.providers.error_words import ERROR_WORDS, QUOTA_HEADERS
from helmdeck_plugins.providers.gemini_request import Options, address, constraint, render
from helmdeck_plugins.providers.gemini_wire import DISPOSITIONS, REASONS, GeminiAnswer
from helmdeck_provider_kit import HttpProvider, WireFormat, count, refused_setting, rows, string

WIRE_FORMAT = "gemini"


def wire_format(options: Options) -> WireFormat:
    """The interface, as one deployment uses it."""
    # Which models there are does not depend on the project.
    models_path = f"/{options.models_path}?pageSize=1000"
    return WireFormat(
        name=WIRE_FORMAT,
        words=ERROR_WORDS,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: _headers(key, options),
        path=lambda request: address(request, options),
        render=lambda request: render(request, options),
        answer=lambda _, terms: GeminiAnswer(terms),
        models_path=models_path,
        models=lambda page: _models(page, models_path),
    )


def _headers(key: str | None, options: Options) -> Mapping[str, str]:
    if not key:
        return {}
    return {"authorization": f"Bearer {key}"} if options.auth == "bearer" else {"x-goog-api-key": key}


def _models(page: Mapping[str, Any], path: str) -> tuple[Sequence[ModelInfo], str]:
    """Read a page; models that generate no content, such as those for embeddings, are left out."""
    found = [
        ModelInfo(
            id=name.rpartition("models/")[2],
            input_tokens=count(model, "inputTokenLimit") or None,
            output_tokens=count(model, "outputTokenLimit") or None,
        )
        for model in rows(page.get("models")) or rows(page.get("publisherModels"))
        if (name := string(model.get("name")))
        and "generateContent" in _listed(model.get("supportedGenerationMethods", ["generateContent"]))
    ]
    token = string(page.get("nextPageToken"))
    return found, f"{path}&pageToken={quote(token, safe='')}" if token else ""


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, wire_format(Options.read(settings)))


def _constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    return constraint(request, Options.read(settings))


def _open_vertex(settings: ProviderSettings, context: ProviderContext) -> Provider:
    options = Options.read(settings)
    if options.auth == "bearer" and not options.project:
        raise refused_setting(settings, "options.project", "there is none; an access token needs one")
    if settings.base_url is None:
        region = "" if options.location == "global" else f"{options.location}-"
        settings = attrs.evolve(settings, base_url=f"https://{region}aiplatform.googleapis.com/v1beta1")
    return HttpProvider(settings, context, wire_format(options))


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Gemini, at two places."""
    return [
        ProviderSpec(
            name="gemini",
            open=_open,
            summary="Gemini, with an API key",
            base_url="https://generativelanguage.googleapis.com/v1beta",
            api_key="env:GEMINI_API_KEY",
            constrain=_constrain,
        ),
        ProviderSpec(
            name="vertex",
            open=_open_vertex,
            summary="Gemini in Vertex AI, with an access token",
            api_key="env:CLOUDSDK_AUTH_ACCESS_TOKEN",
            options={"auth": "bearer", "models_path": "publishers/google/models"},
            constrain=_constrain,
        ),
    ]


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """The stop reasons of generateContent."""
    return [StopReasonTable(name=WIRE_FORMAT, reasons=REASONS, dispositions=DISPOSITIONS)]
