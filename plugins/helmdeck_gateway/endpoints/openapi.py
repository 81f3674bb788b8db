"""The description of the gateway in OpenAPI, for ``/openapi.json``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from helmdeck_core import __version__

ENDPOINTS: Mapping[tuple[str, str], str] = {
    ("post", "/v1/chat/completions"): "OpenAI's chat completions, whole or streamed",
    (
        "post",
        "/v1/completions",
    ): "OpenAI's text completions, whole or streamed; the prompt becomes a message of the user",
    ("post", "/v1/responses"): "OpenAI's Responses, whole or streamed",
    ("get", "/v1/responses/{response_id}"): "A stored response; with stream=true, the events of one in the background",
    ("delete", "/v1/responses/{response_id}"): "Delete a stored response",
    ("get", "/v1/responses/{response_id}/input_items"): "The items that a stored response was made of",
    ("post", "/v1/responses/{response_id}/cancel"): "Cancel a response in the background",
    ("post", "/v1/conversations"): "Create a conversation, to which responses are added",
    ("get", "/v1/conversations/{conversation_id}"): "One conversation",
    ("post", "/v1/conversations/{conversation_id}"): "Replace the metadata of a conversation",
    ("delete", "/v1/conversations/{conversation_id}"): "Delete a conversation with its items",
    ("get", "/v1/conversations/{conversation_id}/items"): "The items of a conversation",
    ("post", "/v1/conversations/{conversation_id}/items"): "Add items to a conversation",
    ("get", "/v1/conversations/{conversation_id}/items/{item_id}"): "One item of a conversation",
    ("delete", "/v1/conversations/{conversation_id}/items/{item_id}"): "Delete an item of a conversation",
    ("post", "/v1/messages"): "Anthropic's Messages, whole or streamed",
    ("post", "/v1/messages/count_tokens"): "An estimate of the input tokens of a Messages request",
    ("post", "/v1/embeddings"): "OpenAI's embeddings, passed through to the provider or a fallback of the same model",
    ("post", "/v1/rerank"): "Documents by relevance, in the form of Cohere's and Jina's APIs",
    ("post", "/v2/rerank"): "The same",
    ("post", "/v1beta/models/{model}:generateContent"): "Gemini's generateContent",
    (
        "post",
        "/v1beta/models/{model}:streamGenerateContent",
    ): "The same as a stream: events with alt=sse, else one JSON array",
    ("post", "/v1beta/models/{model}:countTokens"): "An estimate of the input tokens of a generateContent request",
    ("post", "/v1beta/models/{model}:embedContent"): "The vector of a text, as from /v1/embeddings",
    ("post", "/v1beta/models/{model}:batchEmbedContents"): "The vectors of several texts",
    ("get", "/v1beta/models"): "The models in the form of Gemini's API",
    ("get", "/v1beta/models/{model}"): "One model in the form of Gemini's API",
    ("post", "/v1/files"): "Store a file; multipart/form-data with the fields purpose and file",
    ("get", "/v1/files"): "The files",
    ("get", "/v1/files/{file_id}"): "One file",
    ("delete", "/v1/files/{file_id}"): "Delete a file",
    ("get", "/v1/files/{file_id}/content"): "The content of a file",
    ("post", "/v1/batches"): "Run the requests of a file in the background",
    ("get", "/v1/batches"): "The batches",
    ("get", "/v1/batches/{batch_id}"): "One batch with the number of finished requests",
    ("post", "/v1/batches/{batch_id}/cancel"): "Cancel a batch",
    ("post", "/v1/messages/batches"): "Run Messages requests in the background",
    ("get", "/v1/messages/batches"): "The message batches",
    ("get", "/v1/messages/batches/{batch_id}"): "One message batch with the number of finished requests",
    ("delete", "/v1/messages/batches/{batch_id}"): "Delete a message batch that has ended",
    ("post", "/v1/messages/batches/{batch_id}/cancel"): "Cancel a message batch",
    ("get", "/v1/messages/batches/{batch_id}/results"): "The results of a message batch as JSON lines",
    ("get", "/v1/realtime"): "Not supported; answers with 501",
    ("get", "/v1/realtime/{name}"): "Not supported; answers with 501",
    ("get", "/v1/models"): "The models: aliases, helmdeck/plan, and those that the providers list",
    ("get", "/v1/models/{model}"): "One model",
    ("get", "/v1/me"): "The key, its teams, their limits, use, and what is left",
    ("get", "/v1/admin/keys"): "The keys; for keys with the role admin, as the next ones",
    ("post", "/v1/admin/keys"): "Create a key, which is shown once",
    ("get", "/v1/admin/keys/{name}"): "One key with its use",
    ("patch", "/v1/admin/keys/{name}"): "Change fields of a key",
    ("delete", "/v1/admin/keys/{name}"): "Revoke a key",
    (
        "post",
        "/v1/admin/keys/{name}/rotate",
    ): "Give a key a new secret; the earlier one is accepted for `grace_s` seconds",
    ("post", "/v1/admin/keys/{name}/restore"): "Accept the tokens of a revoked account again",
    ("get", "/v1/admin/teams"): "The teams",
    ("post", "/v1/admin/teams"): "Create a team",
    ("get", "/v1/admin/teams/{name}"): "One team with its use",
    ("patch", "/v1/admin/teams/{name}"): "Change fields of a team",
    ("delete", "/v1/admin/teams/{name}"): "Revoke a team and the keys below it",
    ("get", "/v1/admin/audit"): "The audit log, the newest entries first",
    ("get", "/healthz"): "Whether the process runs",
    ("get", "/readyz"): "Whether requests are accepted",
    ("get", "/metrics"): "Metrics in the text format of Prometheus",
}

HEADERS: Mapping[str, str] = {
    "x-helmdeck-call-id": "The id of the call; `helmdeck explain --run ID` shows its trace",
    "x-helmdeck-model": "The model that answers",
    "x-helmdeck-attempts": "The number of attempts so far, if there were several",
    "x-helmdeck-ranker": "The local ranker, where no provider ranked the documents",
    "x-helmdeck-dropped": "Fields of the request that the target does not take",
    "x-helmdeck-downgrades": "Parts of the request that the provider does not support; not for streams",
    "x-helmdeck-tools": "How many tools are sent, and what was trimmed, if they exceed the model's budget",
    "x-helmdeck-tools-left-out": "The names of the tools that are left out",
    "x-helmdeck-key": "The name of the key",
    "x-helmdeck-team": "The team of the key",
    "x-helmdeck-budget-left": "US dollars that the lowest spend limit leaves; a stream counts by its upper estimate",
}
"""The headers of responses."""


_NO_CALLS: Final = ("/v1/messages/count_tokens", "/v1beta/models/{model}:countTokens")


def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), summary in ENDPOINTS.items():
        is_call = method == "post" and path not in _NO_CALLS and "/admin/" not in path
        headers = {name: {"description": text, "schema": {"type": "string"}} for name, text in HEADERS.items()}
        operation: dict[str, Any] = {
            "summary": summary,
            "responses": {
                "200": {"description": "The response", **({"headers": headers} if is_call else {})},
                "default": {"description": "An error with message, code, hint and next action"},
            },
        }
        if names := re.findall(r"{(\w+)}", path):
            operation["parameters"] = [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
            ]
        if method in ("post", "patch"):
            operation["requestBody"] = {
                "required": True,
                "content": {"application/json": {"schema": {"type": "object", "additionalProperties": True}}},
            }
        paths.setdefault(path, {})[method] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Helmdeck gateway", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}, {}],
    }
