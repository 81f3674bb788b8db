"""The proxy of a provider: which one the environment names for a URL, and the header with its password."""

from __future__ import annotations

import base64
import ipaddress
from urllib.parse import unquote, urlsplit

from helmdeck_core import InvalidRequest, ProxySettings
from helmdeck_providers.http.settings import url_problem


def proxy_for(url: str, name: str) -> ProxySettings | None:
    """The proxy that the environment names for a URL; ``None`` for loopback hosts, which a proxy cannot reach.

    :param name: of the provider.
    :raises InvalidRequest: it cannot be used; it is not repeated, for it may hold a password.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_loopback(host):
        return None
    # Costs a tenth of a second, which a process that opens no provider should not pay.
    from urllib.request import getproxies, proxy_bypass

    found = getproxies()
    proxy = found.get(parts.scheme) or found.get("all")
    if not proxy or proxy_bypass(host):
        return None
    if problem := url_problem(proxy):
        headline = "the proxy that the environment names cannot be used"
        detail = f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is {problem} (it is not shown)"
        raise InvalidRequest(headline, provider=name, sub_cause="misconfigured", detail=detail)
    return proxy_at(proxy)


def proxy_at(url: str) -> ProxySettings:
    """The proxy at a URL, which may hold a user name and a password."""
    parts = urlsplit(url)
    credentials, _, place = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    basic = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    headers = {"proxy-authorization": f"Basic {basic}"} if credentials else {}
    return ProxySettings(parts._replace(netloc=place).geturl(), headers)


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine, in any form; ``0.0.0.0`` and ``::`` connect to it as well."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    return address.is_loopback or address.is_unspecified
