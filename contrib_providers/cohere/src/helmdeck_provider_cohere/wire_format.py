"""Cohere's Chat API as a wire format: paths, headers and the model list."""

from __future__ import annotations

from helmdeck_provider_cohere.answer import ERROR_RULES, MODELS, QUOTA_HEADERS, CohereAnswer, read_models
from helmdeck_provider_cohere.request import Options, render
from helmdeck_providers import WireFormat, key_headers

WIRE_FORMAT = "cohere-v2"

_DEFAULTS = Options()


def make_wire_format(options: Options = _DEFAULTS) -> WireFormat:
    """Return the wire format with the options of one deployment."""
    return WireFormat(
        name=WIRE_FORMAT,
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        headers=key_headers,
        path=lambda _: "/v2/chat",
        render=lambda request: render(request, options),
        answer=lambda _, context: CohereAnswer(context),
        models_path=MODELS,
        models=read_models,
    )
