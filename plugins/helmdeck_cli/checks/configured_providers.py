"""The providers that a deployment uses, and whether their API keys are present. No key is returned or kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from helmdeck_core import AuthFailed, CallFailed, ModelId, ProviderPool, ProviderSettings, ProviderSpec

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck


@attrs.frozen
class ConfiguredProvider:
    """A provider that is configured, that the default model or a fallback names, or whose API key is present.

    :ivar settings: what it is opened with.
    :ivar routes: the same for each of its keys and servers, if several are configured.
    :ivar route: for one of them, its position, such as ``key 2 of 3``; empty for the provider.
    :ivar key: the reference to its API key, such as ``env:ACME_API_KEY``; empty if it needs none.
    :ivar key_problem: why the key cannot be read; empty if it is present or not needed.
    :ivar is_named: whether the configuration names it, and not only its API key is present.
    :ivar is_default: whether the default model is one of its models.
    """

    settings: ProviderSettings
    key: str
    key_problem: str
    is_named: bool
    is_default: bool
    routes: tuple[ConfiguredProvider, ...] = ()
    route: str = ""

    @property
    def name(self) -> str:
        """The first part of its model ids."""
        return self.settings.name

    @property
    def label(self) -> str:
        """The name, and the position of the route."""
        return f"{self.name} ({self.route})" if self.route else self.name

    @property
    def each(self) -> tuple[ConfiguredProvider, ...]:
        """Its routes, or itself without any."""
        return self.routes or (self,)


def configured_providers(deck: Helmdeck) -> Sequence[ConfiguredProvider]:
    """Return the providers that a deck uses, by name. No connection is opened."""
    chosen: list[ConfiguredProvider] = []
    for provider in all_providers(deck):
        has_key = bool(provider.key) and not provider.key_problem
        # One key may serve several kinds of API of one vendor; a kind without a URL needs a table of its own.
        is_first = all(provider.key != each.key for each in chosen)
        if provider.is_named or (has_key and provider.settings.base_url and is_first):
            chosen.append(provider)
    return chosen


def all_providers(deck: Helmdeck) -> Sequence[ConfiguredProvider]:
    """Return every provider that a plugin contributes or the configuration adds, by name."""
    return [_provider(deck, name) for name in ProviderPool(deck.runtime).registry.names]


def _provider(deck: Helmdeck, name: str) -> ConfiguredProvider:
    config, registry = deck.runtime.config, ProviderPool(deck.runtime).registry
    settings = registry.settings(name)
    own = config.providers.get(name)
    references = [each.api_key for each in own.by_route] if own else [None]
    default = registry.contribution(name).value.api_key or ""
    models = [config.model, *(model for chain in config.fallback.values() for model in chain)]
    users = [ModelId.provider_of(model) for model in models]
    is_named = name in config.providers or name in users
    kind = "key" if len({each.base_url for each in settings}) == 1 else "route"
    found = [
        ConfiguredProvider(
            each,
            str(reference or default) if each.api_key else "",
            _key_problem(each),
            is_named,
            users[0] == name,
            route=f"{kind} {number} of {len(settings)}" if len(settings) > 1 else "",
        )
        for number, (each, reference) in enumerate(zip(settings, references, strict=True), 1)
    ]
    if len(found) == 1:
        return found[0]
    problem = "" if any(not each.key_problem for each in found) else found[0].key_problem
    return attrs.evolve(found[0], key_problem=problem, routes=tuple(found), route="")


def _key_problem(settings: ProviderSettings) -> str:
    if settings.api_key is not None:
        try:
            settings.api_key()
        except AuthFailed as exc:
            return exc.detail
    return ""


def key_hint(deck: Helmdeck) -> str:
    """How to configure a hosted provider: the environment variables of the contributed ones."""
    variables: dict[str, str] = {}
    for name, owned in deck.runtime.contributed(ProviderSpec).items():
        kind, _, variable = (owned.value.api_key or "").partition(":")
        if kind == "env" and owned.value.base_url:
            variables.setdefault(variable, name)
    listed = ", ".join(f"{variable} ({name})" for variable, name in variables.items())
    return f"set the environment variable of a provider: {listed}; or add [providers.NAME] to helmdeck.toml"


def failure_text(failure: BaseException) -> str:
    """The cause of a failed request in one line."""
    if not isinstance(failure, CallFailed):
        return str(failure)
    status = f"HTTP {failure.status}" if failure.status is not None else ""
    details = "; ".join(filter(None, [status, failure.detail]))
    detail = f" ({details})" if details else ""
    return f"{failure.failure_class.value}: {failure.headline}{detail}"
