"""One pool of HTTP connections to one provider: sends JSON, reads an answer up to a limit, names what broke.

It never retries and never follows a redirect: the first is decided elsewhere, the second could carry the key to a stranger.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, urlsplit

import attrs

from helmdeck_core import (
    AuthFailed,
    CallFailed,
    InvalidRequest,
    LikelyTimeout,
    ProviderSettings,
    ProviderUnavailable,
    TransientUnknown,
)
from helmdeck_plugins.providers.failures import quoted

_KEEPALIVE_S = 30.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MIN_SECRET_CHARS = 4
_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token|key|api-?key) +")

FOREIGN: Mapping[str, type[CallFailed]] = {
    "HTTPError": ProviderUnavailable,
    "RequestError": ProviderUnavailable,
    "TransportError": ProviderUnavailable,
    "TimeoutException": LikelyTimeout,
    "ConnectTimeout": ProviderUnavailable,
    "ReadTimeout": LikelyTimeout,
    "WriteTimeout": ProviderUnavailable,
    "PoolTimeout": ProviderUnavailable,
    "NetworkError": ProviderUnavailable,
    "ConnectError": ProviderUnavailable,
    "ReadError": ProviderUnavailable,
    "WriteError": ProviderUnavailable,
    "CloseError": ProviderUnavailable,
    "ProxyError": ProviderUnavailable,
    "ProtocolError": ProviderUnavailable,
    "RemoteProtocolError": ProviderUnavailable,
    "LocalProtocolError": InvalidRequest,
    "UnsupportedProtocol": InvalidRequest,
    "DecodingError": ProviderUnavailable,
    "TooManyRedirects": InvalidRequest,
    "HTTPStatusError": ProviderUnavailable,
    "InvalidURL": InvalidRequest,
    "CookieConflict": InvalidRequest,
    "StreamError": TransientUnknown,
    "StreamConsumed": TransientUnknown,
    "StreamClosed": TransientUnknown,
    "ResponseNotRead": TransientUnknown,
    "RequestNotRead": TransientUnknown,
}
"""Every exception of httpx and what it becomes; by name, so that reading the table imports nothing."""


@attrs.frozen
class Received:
    """An answer as it came; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """The connections to one provider."""

    def __init__(self, settings: ProviderSettings) -> None:
        # Costs more than a tenth of a second, which a process that opens no provider should not pay.
        import httpx

        self._name = settings.name
        self._url = checked_base_url(settings)
        self._headers = checked_headers(settings)
        self._api_key = settings.api_key
        self._timeout_s = settings.timeout_s
        self._max_bytes = settings.max_response_bytes
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(settings.timeout_s, connect=settings.connect_timeout_s),
            limits=httpx.Limits(keepalive_expiry=_KEEPALIVE_S),
            follow_redirects=False,
            # A proxy that the environment names can reach many hosts, but never this machine's own.
            trust_env=urlsplit(self._url).hostname not in _LOOPBACK,
        )

    def key(self) -> str | None:
        """Read the key now; ``None`` when the provider needs none.

        :raises AuthFailed: there is none where one is needed, or it is not one line of ASCII.
        """
        if self._api_key is None:
            return None
        key = self._api_key().strip()
        # The library's own complaint about such a header quotes the whole header.
        if not key or not (key.isascii() and key.isprintable()):
            detail = f"it is empty, or has characters that no header can carry; see providers.{self._name}.api_key"
            raise AuthFailed(f"the key for provider {self._name!r} cannot be used", detail=detail)
        return key

    def secrets(self, key: str | None) -> tuple[str, ...]:
        """What must not be quoted: the key, and the value of every header that the deployment gave.

        No name tells whether a value is one; only one that is too short to be does not count. Of a value with a scheme,
        as in ``Bearer abc``, what follows the scheme is the secret.
        """
        values = [value.strip() for value in self._headers.values()]
        found = [rest if len(rest := _SCHEME.sub("", value)) >= _MIN_SECRET_CHARS else value for value in values]
        return (*((key,) if key else ()), *(value for value in found if len(value) >= _MIN_SECRET_CHARS))

    async def post(self, path: str, body: bytes, headers: Mapping[str, str], secrets: Iterable[str] = ()) -> Received:
        """Send a body of JSON and return the answer, whatever its status.

        :param path: is appended to the base URL.
        :param headers: the deployment's own headers are laid over them.
        :raises CallFailed: nothing, too little, too much or too late came back.
        """
        sent = {"content-type": "application/json", "accept": "application/json", **headers, **self._headers}
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchange(self._url + path, body, sent)
        except TimeoutError as exc:
            detail = f"no complete answer within {self._timeout_s:g} s; see providers.{self._name}.timeout_s"
            raise LikelyTimeout("the provider did not answer in time", detail=detail) from exc
        except CallFailed:
            raise
        except Exception as exc:
            failure = translated(exc, self._url, secrets)
            if failure is None:
                raise
            raise failure from exc

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _exchange(self, url: str, body: bytes, headers: Mapping[str, str]) -> Received:
        async with self._client.stream("POST", url, content=body, headers=headers) as response:
            received = bytearray()
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > self._max_bytes:
                    raise TransientUnknown(
                        "the provider's answer is too large",
                        status=response.status_code,
                        sub_cause="too_large",
                        detail=f"more than {self._max_bytes:,} bytes; see providers.{self._name}.max_response_bytes",
                    )
            return Received(response.status_code, dict(response.headers), bytes(received))


def translated(exc: Exception, url: str, secrets: Iterable[str] = ()) -> CallFailed | None:
    """Turn an exception of httpx into ours; ``None`` for every other one."""
    names = (kind.__name__ for kind in type(exc).__mro__ if kind.__module__.partition(".")[0] == "httpx")
    found = next((FOREIGN[name] for name in names if name in FOREIGN), None)
    if found is None:
        return None
    headline = "the call to the provider broke off"
    if found is LikelyTimeout:
        headline = "the provider did not answer in time"
    elif type(exc).__name__.startswith(("Connect", "Proxy")):
        headline = "the provider cannot be reached"
    place = urlsplit(url)
    detail = quoted(f"{type(exc).__name__} at {place.scheme}://{place.netloc}: {exc}", secrets)
    return found(headline, detail=detail)


# -- settings that can be wrong -------------------------------------------------------------------------------


def checked_base_url(settings: ProviderSettings) -> str:
    """Return the base URL without a slash at its end.

    :raises InvalidRequest: there is none, or it is not a plain HTTP address.
    """
    url = settings.base_url
    if not url:
        raise _refused(settings, "base_url", "there is none")
    try:
        parts = urlsplit(url)
        problem = _url_problem(parts)
    except ValueError as exc:  # brackets, or a port that is not a number
        raise _refused(settings, "base_url", f"not an address ({exc})") from None
    if problem:
        # An address with a password in it is not repeated.
        raise _refused(settings, "base_url", problem if "@" in parts.netloc else f"{problem}, found {url!r}")
    return url.rstrip("/")


def _url_problem(parts: SplitResult) -> str:
    if parts.scheme not in ("http", "https"):
        return "not an address that starts with http:// or https://"
    if not parts.hostname or parts.port == 0 or any(char.isspace() for char in parts.netloc + parts.path):
        return "not an address of a host"
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
        if not (name.isascii() and name.isprintable() and value.isascii() and value.isprintable()) or " " in name:
            raise _refused(settings, "headers", f"{name!r} has characters that no header can carry")
    return {name.lower(): value for name, value in settings.headers.items()}


def _refused(settings: ProviderSettings, option: str, problem: str) -> InvalidRequest:
    where = f"providers.{settings.name}.{option}"
    return InvalidRequest(f"{where} cannot be used", provider=settings.name, detail=problem)
