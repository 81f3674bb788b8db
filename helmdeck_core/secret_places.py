"""Finds secrets in URLs, headers, options and words of a configuration, and shows URLs without theirs."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from helmdeck_core.redaction import MIN_TELLING_CHARS, NOT_SHOWN

_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token|key|api-?key) +")
_SECRET_NAME = re.compile(r"key|token|secret|passw|pwd|auth|credential|cookie|signature", re.IGNORECASE)


def speaks_of_secrets(name: str) -> bool:
    """Whether an option, header or parameter of this name may contain a secret.

    >>> from helmdeck_core import speaks_of_secrets
    >>> speaks_of_secrets("x-api-key"), speaks_of_secrets("region")
    (True, False)
    """
    return _SECRET_NAME.search(name) is not None


_MIXED = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_MIN_SECRET_CHARS = 20
_MIN_MIXED = 6


def looks_like_a_secret(text: str) -> bool:
    """Whether a word changes between letters and digits as often as generated keys do, such as one in the wrong option."""
    return any(
        len(word) >= _MIN_SECRET_CHARS and len(_MIXED.findall(word)) >= _MIN_MIXED for word in text[:1_000].split()
    )


def shown_url(text: str) -> str:
    """A URL without its userinfo, query and fragment, which may contain secrets.

    >>> from helmdeck_core import shown_url
    >>> shown_url("https://user:word@example.org/v1?token=abc#top")
    'https://(not shown)@example.org/v1?(not shown)'
    """
    scheme, slashes, rest = text.partition("://")
    if not slashes:
        scheme, rest = "", text
    userinfo, at, host = rest.rpartition("@")
    host, *more = re.split(r"(?=[?#])", host, maxsplit=1)
    return f"{scheme}{slashes}{NOT_SHOWN if userinfo else ''}{at}{host}{more[0][0] + NOT_SHOWN if more else ''}"


def secret_in(url: str) -> str:
    """Describe the secret in a URL; empty if the URL contains none.

    >>> from helmdeck_core import secret_in
    >>> secret_in("https://user:word@example.org/v1")
    'contains a user name or a password'
    >>> secret_in("https://example.org/v1")
    ''
    """
    _, _, rest = url.rpartition("://")
    host, _, query = rest.partition("?")
    if "@" in host.partition("/")[0]:
        return "contains a user name or a password"
    names = (pair.partition("=")[0] for pair in query.partition("#")[0].split("&"))
    return "contains a secret in its query" if any(map(speaks_of_secrets, names)) else ""


def option_secrets(options: Mapping[str, Any]) -> Iterator[str]:
    """The secrets in plugin options: values of options with a secret-like name, and passwords in URLs."""
    for name, value in options.items():
        if isinstance(value, str):
            yield from ((value,) if speaks_of_secrets(name) else url_secrets(value))


def url_secrets(url: str) -> Iterator[str]:
    """The secrets in a URL: the password, alone and with the user name.

    >>> from helmdeck_core import url_secrets
    >>> list(url_secrets("https://user:example-word@example.org/v1"))
    ['example-word', 'user:example-word', 'example-word']
    """
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        password = parts.password
    except ValueError:  # brackets, or a port that is not a number
        return
    if password:
        name = unquote(parts.username or "")
        yield from (unquote(password), f"{name}:{unquote(password)}", password)


def header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """The secrets in headers: every value of sufficient length, because names do not identify secrets reliably.

    For a value with a scheme, such as ``Bearer abc``, the part after the scheme is the secret; for basic authentication,
    also the decoded credentials and the password.

    >>> from helmdeck_core import header_secrets
    >>> list(header_secrets({"Authorization": "Bearer example-token-123"}))
    ['example-token-123']
    """
    for value in map(str.strip, headers.values()):
        rest = without_scheme(value)
        secret = rest if len(rest) >= MIN_TELLING_CHARS else value
        if len(secret) >= MIN_TELLING_CHARS:
            yield secret
            if value[:6].casefold() == "basic ":
                yield from _basic(rest)


def without_scheme(value: str) -> str:
    """The part of a header value after the scheme, such as ``abc`` in ``Bearer abc``.

    >>> from helmdeck_core import without_scheme
    >>> without_scheme("Bearer abc"), without_scheme("abc")
    ('abc', 'abc')
    """
    return _SCHEME.sub("", value)


def _basic(coded: str) -> Iterator[str]:
    try:
        decoded = base64.b64decode(coded, validate=True).decode()
    except ValueError:
        return
    yield from (text for text in (decoded, decoded.partition(":")[2]) if len(text) >= MIN_TELLING_CHARS)
