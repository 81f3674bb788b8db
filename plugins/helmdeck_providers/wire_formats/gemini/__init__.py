"""The providers ``gemini`` and ``vertex``: Gemini's generateContent in the Gemini API and in Vertex AI."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec, StopReasonTable, hookimpl
from helmdeck_providers.http.provider import HttpProvider, provider_spec
from helmdeck_providers.http.settings import refused_setting
from helmdeck_providers.wire_formats.gemini.request import Options, constraint
from helmdeck_providers.wire_formats.gemini.stop_reasons import DISPOSITIONS, REASONS
from helmdeck_providers.wire_formats.gemini.wire_format import NAME, make_wire_format


def _open_vertex(settings: ProviderSettings, context: ProviderContext) -> Provider:
    options = Options.read(settings)
    if options.auth == "bearer" and not options.project:
        raise refused_setting(settings, "options.project", "missing; an access token needs a project")
    if settings.base_url is None:
        region = "" if options.location == "global" else f"{options.location}-"
        settings = attrs.evolve(settings, base_url=f"https://{region}aiplatform.googleapis.com/v1beta1")
    return HttpProvider(settings, context, make_wire_format(options))


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The Gemini API and Vertex AI."""
    gemini = provider_spec(
        "gemini",
        "Gemini, with an API key",
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        Options(),
        make_wire_format,
        constraint,
        "gemini-2.5-flash",
    )
    vertex = provider_spec(
        "vertex",
        "Gemini in Vertex AI, with an access token",
        None,
        "CLOUDSDK_AUTH_ACCESS_TOKEN",
        Options(auth="bearer", models_path="publishers/google/models"),
        make_wire_format,
        constraint,
    )
    return [gemini, attrs.evolve(vertex, open=_open_vertex)]


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Stop reasons of generateContent."""
    return [StopReasonTable(name=NAME, reasons=REASONS, dispositions=DISPOSITIONS)]
