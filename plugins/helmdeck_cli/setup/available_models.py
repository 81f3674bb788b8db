"""The models that this machine can call without further configuration: API keys in the environment, and local servers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from helmdeck_cli.checks.configured_providers import ConfiguredProvider, all_providers
from helmdeck_cli.sockets import is_loopback
from helmdeck_core import HelmdeckError, ProviderSpec

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck

TIMEOUT_S = 1.0
"""Seconds that all servers together get to list their models."""

MAX_MODELS = 5
"""Models of a server that are kept."""


@attrs.frozen(kw_only=True)
class Source:
    """A provider whose models can be called.

    :ivar provider: the first part of its model ids.
    :ivar summary: what it is, such as ``Ollama on this machine``.
    :ivar models: ids of models to start with, the best guess first; at most ``MAX_MODELS``, and none where none is known.
    :ivar base_url: the URL of a local server; empty for a hosted provider.
    :ivar key: the reference to the API key that was found, such as ``env:OPENAI_API_KEY``; empty for a local server.
    """

    provider: str
    summary: str
    models: tuple[str, ...] = ()
    base_url: str = ""
    key: str = ""

    def __str__(self) -> str:
        if self.key:
            return f"{self.key.removeprefix('env:')} is set"
        return f"{self.summary} answers at {self.base_url}" + ("" if self.models else ", without a model")


@attrs.frozen(kw_only=True)
class AvailableModels:
    """What ``find_models`` found.

    :ivar servers: local servers that answer, in the order of their names.
    :ivar hosted: hosted providers whose API keys are in the environment.
    :ivar called: URLs of all local servers that were called.
    """

    servers: tuple[Source, ...] = ()
    hosted: tuple[Source, ...] = ()
    called: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources with a model to start with, local servers first, since they cost nothing."""
        return tuple(each for each in (*self.servers, *self.hosted) if each.models)


async def find_models(deck: Helmdeck, timeout_s: float = TIMEOUT_S) -> AvailableModels:
    """Find the models that a deck can call: one request to each known local server, at the same time, and no other.

    :param timeout_s: seconds after which servers that did not answer are left out.
    """
    specs = {name: owned.value for name, owned in deck.runtime.contributed(ProviderSpec).items()}
    local = [each for each in all_providers(deck) if _is_local(each)]
    found = await asyncio.gather(*(_models_of(deck, each.name, timeout_s) for each in local))
    servers: dict[str, Source] = {}
    for each, models in zip(local, found, strict=True):
        url = each.settings.base_url or ""
        # Two providers may speak to one server, such as Ollama's own API and the compatible one.
        if models is not None and (place := urlsplit(url).netloc) not in servers:
            ids = tuple(f"{each.name}/{model}" for model in models[:MAX_MODELS])
            servers[place] = Source(provider=each.name, summary=_summary(specs, each.name), models=ids, base_url=url)
    called = tuple(dict.fromkeys(each.settings.base_url or "" for each in local))
    return AvailableModels(servers=tuple(servers.values()), hosted=tuple(_hosted(deck, specs)), called=called)


def _is_local(provider: ConfiguredProvider) -> bool:
    url = provider.settings.base_url
    return bool(url) and not provider.routes and is_loopback(urlsplit(url or "").hostname or "")


async def _models_of(deck: Helmdeck, name: str, timeout_s: float) -> Sequence[str] | None:
    """The models of a server; ``None`` where none answers."""
    try:
        async with asyncio.timeout(timeout_s):
            return [each.id for each in await deck.amodels(name)]
    except (HelmdeckError, TimeoutError):
        return None


def _hosted(deck: Helmdeck, specs: dict[str, ProviderSpec]) -> Sequence[Source]:
    sources: dict[str, Source] = {}
    for each in all_providers(deck):
        is_usable = each.key and not each.key_problem and each.settings.base_url and not _is_local(each)
        # One key may serve several kinds of API of one vendor.
        if is_usable and each.key not in sources:
            spec = specs.get(each.name)
            models = (f"{each.name}/{spec.example_model}",) if spec is not None and spec.example_model else ()
            sources[each.key] = Source(
                provider=each.name, summary=_summary(specs, each.name), models=models, key=each.key
            )
    return tuple(sources.values())


def _summary(specs: dict[str, ProviderSpec], name: str) -> str:
    return specs[name].summary if name in specs and specs[name].summary else f"the server {name!r}"
