"""OpenAI's Responses API as a wire format: paths, headers, background responses and the model list."""

from __future__ import annotations

from helmdeck_providers.http.background import Background
from helmdeck_providers.http.rendering import key_headers
from helmdeck_providers.http.wire_format import WireFormat
from helmdeck_providers.wire_formats.error_codes import QUOTA_HEADERS
from helmdeck_providers.wire_formats.openai_models import read_models
from helmdeck_providers.wire_formats.openai_responses.error_rules import ERROR_RULES
from helmdeck_providers.wire_formats.openai_responses.request import Options, render
from helmdeck_providers.wire_formats.openai_responses.response import ResponsesAnswer, path_of_pending

NAME = "openai-responses"
"""Name of the stop-reason table."""

_DEFAULTS = Options()


def make_wire_format(options: Options = _DEFAULTS) -> WireFormat:
    """Return the wire format with the options of one server."""
    return WireFormat(
        name=NAME,
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: key_headers(key, options.key_header),
        path=lambda _: "/responses",
        render=lambda request: render(request, options),
        answer=lambda _, context: ResponsesAnswer(context),
        background=Background(path=path_of_pending, cancel="/cancel", pause_s=options.poll_ms / 1_000),
        models_path="/models",
        models=read_models,
    )
