"""What a server reports about a model without a chat request: whether it is served, and its context window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import attrs
import msgspec

from helmdeck_cli.checks.configured_providers import failure_text
from helmdeck_cli.model_checks.results import Result, Verdict
from helmdeck_cli.sockets import is_loopback
from helmdeck_core import CallFailed, ConfigError, HelmdeckError, ModelId, ModelInfo, ProviderPool, ProviderSettings
from helmdeck_providers import HttpConnection, count, decode_json, rows, string, table

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck

NAME = "context"

REQUEST_S = 5.0
"""Seconds of one request."""

_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)", re.MULTILINE)


async def context(deck: Helmdeck, model: str) -> Result:
    """The context window of a model in tokens, from the server that serves it."""
    provider, name = ModelId.provider_of(model), model.partition("/")[2]
    settings = ProviderPool(deck.runtime).registry.first_settings(provider)
    listed: tuple[ModelInfo, ...] = ()
    problem = ""
    try:
        listed = await deck.amodels(provider)
    except HelmdeckError as exc:
        problem = failure_text(exc)
    served = next((each for each in listed if each.id == name), listed[0] if len(listed) == 1 else None)
    facts: dict[str, Any] = {"is_own_server": is_own_server(settings)}
    if is_own_server(settings) and (found := await _own_server(settings, name)):
        window, source, more = found
        return Result(NAME, Verdict.YES, f"{window:,} tokens ({source})", {**facts, "context": window, **more})
    if served is not None and served.input_tokens:
        window = served.input_tokens
        return Result(NAME, Verdict.YES, f"{window:,} tokens (list of models)", {**facts, "context": window})
    if listed and served is None:
        names = ", ".join(each.id for each in listed[:5])
        return Result(NAME, Verdict.NO, f"the server lists {len(listed)} models, not {name}: {names}", facts)
    why = problem or "the server does not report it"
    return Result(
        NAME, Verdict.NOT_TRIED, f"unknown: {why}; set input_tokens to what the server was started with", facts
    )


def is_own_server(settings: ProviderSettings) -> bool:
    """Whether the server runs on this machine."""
    host = urlsplit(settings.base_url or "").hostname
    return host is not None and is_loopback(host)


async def _own_server(settings: ProviderSettings, name: str) -> tuple[int, str, dict[str, Any]] | None:
    """Window, source and further facts from the APIs of llama.cpp and Ollama, which have no place in a list of models."""
    parts = urlsplit(settings.base_url or "")
    root = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
    bounded = attrs.evolve(settings, base_url=root, timeout_s=REQUEST_S, connect_timeout_s=REQUEST_S)
    try:
        connection = HttpConnection(bounded)
    except (CallFailed, ConfigError):
        return None
    try:
        props = await _json(connection, "/props")
        if window := count(table(props.get("default_generation_settings")), "n_ctx"):
            return window, "/props of the server", {}
        shown = await _json(connection, "/api/show", {"model": name})
        info = table(shown.get("model_info"))
        most = count(info, *(key for key in info if key.endswith(".context_length")))
        if not most:
            return None
        running = await _json(connection, "/api/ps")
        loaded = [count(each, "context_length") for each in rows(running.get("models")) if each.get("name") == name]
        match = _NUM_CTX.search(string(shown.get("parameters")))
        window = (loaded[0] if loaded else 0) or (int(match[1]) if match else 0)
        facts = {"largest_context": most}
        return (window, "loaded by Ollama", facts) if window else (most, "of the model; Ollama may load less", facts)
    finally:
        await connection.aclose()


async def _json(connection: HttpConnection, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The JSON object at a path; empty if there is none."""
    try:
        key = connection.key()
        headers = {"authorization": f"Bearer {key}"} if key else {}
        if body is None:
            response = await connection.get(path, headers)
        else:
            response = await connection.post(path, msgspec.json.encode(body), headers)
        return table(decode_json(response.body)) if response.status == 200 else {}
    except CallFailed:
        return {}
