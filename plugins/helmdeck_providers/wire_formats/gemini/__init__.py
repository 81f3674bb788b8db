"""The providers ``gemini`` and ``vertex``: Gemini's generateContent in the Gemini API and in Vertex AI."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import (
    ChatRequest,
    Constraint,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    StopReasonTable,
    hookimpl,
)
from helmdeck_providers.http.settings import refused_setting
from helmdeck_providers.http.wire_format import HttpProvider
from helmdeck_providers.wire_formats.gemini.request import Options, constraint
from helmdeck_providers.wire_formats.gemini.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_providers.wire_formats.gemini.wire_format import NAME, make_wire_format


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, make_wire_format(Options.read(settings)))


def _open_vertex(settings: ProviderSettings, context: ProviderContext) -> Provider:
    options = Options.read(settings)
    if options.auth == "bearer" and not options.project:
        raise refused_setting(settings, "options.project", "missing; an access token needs a project")
    if settings.base_url is None:
        region = "" if options.location == "global" else f"{options.location}-"
        settings = attrs.evolve(settings, base_url=f"https://{region}aiplatform.googleapis.com/v1beta1")
    return HttpProvider(settings, context, make_wire_format(options))


def _constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    return constraint(request, Options.read(settings))


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The Gemini API and Vertex AI."""
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
    """Stop reasons of generateContent."""
    return [StopReasonTable(name=NAME, reasons=REASONS, dispositions=DISPOSITIONS)]
