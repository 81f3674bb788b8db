"""OpenAI's chat completions as a wire format: paths, headers and the model list."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from helmdeck_core import ChatRequest
from helmdeck_providers.http.rendering import key_headers
from helmdeck_providers.http.response_reader import ReaderContext
from helmdeck_providers.http.wire_format import WireFormat
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES, QUOTA_HEADERS
from helmdeck_providers.wire_formats.openai_chat.likelihoods import TOKENS, LikelihoodAnswer
from helmdeck_providers.wire_formats.openai_chat.request import Options, render
from helmdeck_providers.wire_formats.openai_chat.response import ChatAnswer
from helmdeck_providers.wire_formats.openai_models import read_models

NAME = "openai"
"""Name of the stop-reason table."""

_DEFAULTS = Options()


class _Prefill:
    """Whether the server continues answers: one option may stand for servers of which only some do."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._is_seen = not options.prefill_server

    def observe(self, headers: Mapping[str, str]) -> None:
        """Recognise the server by the headers of a response."""
        self._is_seen = self._is_seen or headers.get("server", "").startswith(self._options.prefill_server)

    def options(self, request: ChatRequest) -> Options:
        """Return the options for a request; a server that is not recognised gets no continuation."""
        is_unknown = request.continues and not self._is_seen
        return attrs.evolve(self._options, prefill="none") if is_unknown else self._options


def _reader(request: ChatRequest, context: ReaderContext, options: Options) -> ChatAnswer:
    if request.likelihood is not None and options.likelihoods != "none":
        return LikelihoodAnswer(context, request.likelihood, options.likelihoods)
    return ChatAnswer(
        context, returned_fields=options.returned_fields, is_final_without_reason=options.is_final_without_reason
    )


def make_wire_format(options: Options = _DEFAULTS) -> WireFormat:
    """Return the wire format with the options of one server."""
    prefill = _Prefill(options)

    def answer(request: ChatRequest, context: ReaderContext) -> ChatAnswer:
        prefill.observe(context.headers)
        return _reader(request, context, options)

    return WireFormat(
        name=NAME,
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: key_headers(key, options.key_header),
        path=options.request_path,
        render=lambda request: render(request, prefill.options(request)),
        answer=answer,
        preliminary=TOKENS if options.likelihoods == "grammar" else None,
        models_path=options.versioned(options.models_path),
        models=read_models,
    )
