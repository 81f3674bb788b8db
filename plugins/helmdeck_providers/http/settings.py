"""Checks the settings of an HTTP provider: base URL, headers and options; proxies are in ``proxies``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import attrs

from helmdeck_core import (
    ConfigError,
    Hidden,
    InvalidRequest,
    Mistake,
    ProviderSettings,
    read_options,
    shown_url,
)

T = TypeVar("T")


def checked_base_url(settings: ProviderSettings) -> str:
    """Return the base URL without a slash at its end.

    :raises InvalidRequest: there is none, or it is not a plain HTTP address.

    >>> from helmdeck_providers import checked_base_url
    >>> from helmdeck_testing import provider_settings
    >>> checked_base_url(provider_settings(name="acme", base_url="https://api.example.org/v1/"))
    'https://api.example.org/v1'
    """
    url = settings.base_url
    if not url:
        raise refused_setting(
            settings, "base_url", "it is missing; set the URL of the server, such as http://127.0.0.1:8000/v1"
        )
    if problem := url_problem(url) or _extra_parts(urlsplit(url)):
        raise refused_setting(settings, "base_url", f"{problem}, found {shown_url(url)!r}")
    return url.rstrip("/")


def url_problem(url: str) -> str:
    """Return why a string is not an HTTP URL; empty for a valid one."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            return "not a URL that starts with http:// or https://"
        if not parts.hostname or parts.port == 0 or any(char.isspace() for char in parts.netloc + parts.path):
            return "not a URL with a host"
    except ValueError:  # brackets or an invalid port; the message could quote part of a password
        return "not a URL"
    return ""


def _extra_parts(parts: SplitResult) -> str:
    if "@" in parts.netloc:
        return "holds a name or a password; give headers or api_key instead"
    if parts.query or parts.fragment:
        return "holds a query or a fragment, which nothing can be appended to"
    return ""


def checked_headers(settings: ProviderSettings) -> Mapping[str, str]:
    """Return the deployment's headers with their names in lower case.

    :raises InvalidRequest: one of them cannot be sent; its value is not repeated.
    """
    for name, value in settings.headers.items():
        if not (name.isascii() and name.isprintable()) or " " in name:  # it may be a value in the wrong place
            raise refused_setting(settings, "headers", "a name has characters that no name of a header can carry")
        if not (value.isascii() and value.isprintable()):
            raise refused_setting(settings, "headers", f"{name!r} has characters that no header can carry")
    return Hidden({name.lower(): value for name, value in settings.headers.items()})


def provider_options(settings: ProviderSettings, cls: type[T]) -> T:
    """Convert the options of a provider into an attrs class; see ``helmdeck_core.read_options``.

    :raises InvalidRequest: with every mistake, without the wrong values.

    >>> import attrs
    >>> from helmdeck_providers import provider_options
    >>> from helmdeck_testing import provider_settings
    >>> @attrs.frozen(kw_only=True)
    ... class Options:
    ...     region: str = "eu"
    >>> provider_options(provider_settings(name="acme", options={"region": "us"}), Options)
    Options(region='us')
    """
    return checked_options(settings.options, cls, "providers", settings.name, "options")


def checked_options(options: Mapping[str, Any], cls: type[T], *where: str) -> T:
    """Convert options into an attrs class, for a provider that is opened during a call.

    :raises InvalidRequest: with every mistake, without the wrong values.

    >>> import attrs
    >>> from helmdeck_providers import checked_options
    >>> @attrs.frozen(kw_only=True)
    ... class Options:
    ...     region: str = "eu"
    >>> checked_options({"region": "us"}, Options, "providers", "acme", "options")
    Options(region='us')
    """
    try:
        return read_options(options, cls, *where)
    except ConfigError as exc:
        mistakes = tuple(attrs.evolve(mistake, found="") for mistake in exc.mistakes)
    # Raised here, so that the error with the wrong values is not its context.
    raise InvalidRequest(
        f"{mistakes[0].where} cannot be used",
        provider=where[1] if where[0] == "providers" else "",
        sub_cause="misconfigured",
        detail="; ".join(map(str, mistakes)),
        mistakes=mistakes,
    )


def refused_setting(settings: ProviderSettings, option: str, problem: str) -> InvalidRequest:
    """The complaint about one setting; it repeats no value.

    >>> from helmdeck_providers import refused_setting
    >>> from helmdeck_testing import provider_settings
    >>> refused_setting(provider_settings(name="acme"), "region", "is not a region").headline
    'providers.acme.region cannot be used'
    """
    where = f"providers.{settings.name}.{option}"
    return InvalidRequest(
        f"{where} cannot be used",
        provider=settings.name,
        sub_cause="misconfigured",
        detail=problem,
        mistakes=(Mistake(where, problem),),
    )
