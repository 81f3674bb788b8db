"""Anthropic's Messages API as a wire format: paths, headers and the model list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from helmdeck_core import ModelInfo
from helmdeck_providers.http.bodies import count, rows, string
from helmdeck_providers.http.rendering import key_headers
from helmdeck_providers.http.wire_format import WireFormat
from helmdeck_providers.wire_formats.anthropic.request import Options, render
from helmdeck_providers.wire_formats.anthropic.response import MessageAnswer
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES, QUOTA_HEADERS

NAME = "anthropic"
"""Name of the stop-reason table."""

_DEFAULTS = Options()

_MODELS = "/models?limit=1000"


def make_wire_format(options: Options = _DEFAULTS) -> WireFormat:
    """Return the wire format with the options of one deployment."""
    return WireFormat(
        name=NAME,
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: _headers(key, options),
        path=lambda _: "/messages",
        render=lambda request: render(request, options),
        answer=lambda _, context: MessageAnswer(context),
        models_path=_MODELS,
        models=_read_models,
    )


def _headers(key: str | None, options: Options) -> Mapping[str, str]:
    headers = {"anthropic-version": options.version}
    if options.betas:
        headers["anthropic-beta"] = ",".join(options.betas)
    return {**headers, **key_headers(key, "authorization" if options.auth == "bearer" else options.auth)}


def _read_models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    models = [
        ModelInfo(
            id=name,
            input_tokens=count(model, "max_input_tokens") or None,
            output_tokens=count(model, "max_tokens") or None,
        )
        for model in rows(page.get("data"))
        if (name := string(model.get("id")))
    ]
    last = string(page.get("last_id"))
    return models, f"{_MODELS}&after_id={quote(last, safe='')}" if page.get("has_more") is True and last else ""
