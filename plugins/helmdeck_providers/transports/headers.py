"""Response headers as transports return them."""

from __future__ import annotations

from collections.abc import Iterable


def joined_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return raw headers as a transport returns them: names in lower case, values of a repeated header joined by commas.

    :param headers: names and values in Latin-1, in the order of the response.

    >>> from helmdeck_providers import joined_headers
    >>> joined_headers([(b"Vary", b"accept"), (b"vary", b"origin"), (b"Server", b"nginx")])
    {'vary': 'accept, origin', 'server': 'nginx'}
    """
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
