"""The kind and the key of a configured provider, and notices about keys that reach the wrong server."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from urllib.parse import SplitResult, urlsplit

from helmdeck_core.config.types import ProviderConfig, SecretRef
from helmdeck_core.domain.providers import ProviderSpec

_KEY_HEADERS = ("authorization", "key", "token")
"""Parts of the names of headers that carry keys."""


def kind_of(name: str, config: ProviderConfig | None, specs: Mapping[str, ProviderSpec]) -> str:
    """Return the contributed provider behind a configured one: its kind, its name, or the generic kind for a ``base_url``."""
    if config is not None and config.kind:
        return config.kind
    return (name not in specs and config is not None and config.base_url and generic_kind(specs)) or name


def generic_kind(specs: Mapping[str, ProviderSpec]) -> str:
    """Return the kind of servers that no plugin knows; empty if none is contributed."""
    return next((name for name, spec in specs.items() if spec.is_generic), "")


def key_reference(config: ProviderConfig, spec: ProviderSpec) -> SecretRef | None:
    """Return the reference to the key: the configured one, else the default one if its own host is called."""
    if config.api_key is not None or spec.api_key is None or _is_foreign(config, spec):
        return config.api_key
    kind, _, target = spec.api_key.partition(":")
    return SecretRef(kind, target)


def key_notices(name: str, config: ProviderConfig, specs: Mapping[str, ProviderSpec]) -> Iterator[str]:
    """Yield what a deployment should know about the kind and the key of a provider before its first request."""
    kind = kind_of(name, config, specs)
    spec, generic, url = specs[kind], generic_kind(specs), _split(config.base_url or "")
    if not config.kind and kind != name:
        yield f'providers.{name} has a base_url and no kind, so it is of kind {kind!r}; write kind = "{kind}"'
    if config.api_key is None and url.hostname and _is_foreign(config, spec):
        other = f', or kind = "{generic}" for a server without it' if generic else ""
        yield (
            f"providers.{name}: the default key of kind {kind!r} ({spec.api_key}) is not sent to {url.hostname}; "
            f'write api_key = "{spec.api_key}" to send it{other}'
        )
    has_key = key_reference(config, spec) is not None
    has_key = has_key or any(part in header.casefold() for header in config.headers for part in _KEY_HEADERS)
    if has_key and url.scheme == "http" and not _is_loopback(url.hostname or ""):
        yield f"providers.{name}: the key is sent to {url.hostname} unencrypted; use https in base_url"


def _is_foreign(config: ProviderConfig, spec: ProviderSpec) -> bool:
    """Whether the configured host does not belong to the domain of the default one, whose key is the default key."""
    if not config.base_url or not spec.base_url or not spec.api_key:
        return False
    default, host = (_split(url).hostname or "" for url in (spec.base_url, config.base_url))
    domain = ".".join(default.split(".")[-2:])
    return host != domain and not host.endswith(f".{domain}")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        return parts if parts.hostname else SplitResult("", "", "", "", "")
    except ValueError:  # reported when the provider is opened
        return SplitResult("", "", "", "", "")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
