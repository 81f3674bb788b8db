"""The endpoints of Google's Gemini API: the model and the method are in the path, the key in ``x-goog-api-key`` or the URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

import attrs
import msgspec

from helmdeck_gateway.calls.direct_calls import DirectCalls
from helmdeck_gateway.dialects import gemini as gemini_dialect
from helmdeck_gateway.dialects.gemini_schema import camel_case
from helmdeck_gateway.endpoints.bodies import JsonBody, send_whole
from helmdeck_gateway.endpoints.calls import CallEndpoint, CountTokens, Door
from helmdeck_gateway.endpoints.gemini_embeddings import GeminiEmbeddings
from helmdeck_gateway.problems import Problem

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

PATHS: Final = ("/v1beta/models", "/v1/models")
"""The versions of the API, of which clients choose one; the last one is also the list of models in OpenAI's form."""
_EMBEDDINGS: Final = ("embedContent", "batchEmbedContents")
METHODS: Final = ("generateContent", "streamGenerateContent", "countTokens", *_EMBEDDINGS)
_KEY: Final = b"x-goog-api-key"


def is_google(path: str, headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request about models comes from a client of Google's API."""
    return path.startswith("/v1beta/") or b"x-goog-api-key" in headers


def with_api_key(scope: Scope) -> Scope:
    """Return a request whose key is in ``x-api-key``, wherever Google's clients put it; two different keys are none."""
    keys = [value for name, value in scope["headers"] if name == _KEY]
    keys += [value.encode() for name, value in parse_qsl(scope["query_string"].decode("latin-1")) if name == "key"]
    if not keys:
        return scope
    headers = [each for each in scope["headers"] if each[0] != _KEY]
    return {**scope, "headers": [*headers, *((b"x-api-key", key) for key in dict.fromkeys(keys))]}


class GeminiEndpoint:
    """``/v1beta/models/{model}:{method}``."""

    def __init__(self, door: Door, calls: DirectCalls) -> None:
        self._generate = _Generate(door, gemini_dialect, "gemini")
        self._endpoints: Mapping[str, CallEndpoint] = {
            "countTokens": _Count(door, gemini_dialect, "count_tokens"),
            **dict.fromkeys(_EMBEDDINGS, GeminiEmbeddings(door, calls)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope = with_api_key(scope)
        model, _, method = scope["path"].partition("/models/")[2].rpartition(":")
        if not model or method not in METHODS:
            problem = Problem(
                message=f"the method {method[:80]!r} is not supported; supported: {', '.join(METHODS)}",
                status=404, kind="not_found_error", code="unknown_url",
            )  # fmt: skip
            await send_whole(send, 404, msgspec.json.encode(gemini_dialect.error(problem)), problem.headers)
            return
        scope["helmdeck.gemini"] = (model, method)
        await self._endpoints.get(method, self._generate)(scope, receive, send)


class _Generate(CallEndpoint):
    async def read(self, scope: Scope, receive: Receive) -> JsonBody:
        """Read the body, with the model and the form of the response."""
        body = await super().read(scope, receive)
        model, method = scope["helmdeck.gemini"]
        is_stream = method == "streamGenerateContent"
        is_events = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("alt") == "sse"
        stream = ("events" if is_events else "array") if is_stream else ""
        return attrs.evolve(body, fields={**body.fields, "model": model, "stream": stream})


class _Count(CountTokens):
    field = "totalTokens"

    async def read(self, scope: Scope, receive: Receive) -> JsonBody:
        """Read the body; the request may be inside of it."""
        body = await super().read(scope, receive)
        inner = camel_case(body.fields).get("generateContentRequest")
        fields = inner if isinstance(inner, dict) else body.fields
        return attrs.evolve(body, fields={**fields, "model": scope["helmdeck.gemini"][0], "stream": ""})
