"""A transport over the standard library: one connection per request, in a thread."""

import asyncio
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from helmdeck_core import ConnectFailed, ConnectionBroken, TransportSpec, WholeResponse, hookimpl


class ThreadTransport:
    """Keeps no connection."""

    def __init__(self, settings):
        self._timeout_s = settings.connect_timeout_s

    async def send(self, method, url, headers, body):
        """Send a request."""
        try:
            return await asyncio.to_thread(self._send, method, urlsplit(url), headers, body)
        except (OSError, HTTPException) as exc:
            error = (ConnectFailed if isinstance(exc, OSError) else ConnectionBroken)(str(exc))
        raise error  # outside the except block, so that the library's exception is not attached

    def _send(self, method, url, headers, body):
        kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
        with closing(kind(url.netloc, timeout=self._timeout_s)) as connection:
            connection.request(method, url._replace(scheme="", netloc="").geturl(), body, headers)
            reply = connection.getresponse()
            return WholeResponse(reply.status, dict(reply.getheaders()), reply.read())

    async def aclose(self):
        """Nothing is open."""


@hookimpl
def helmdeck_transports():
    """Chosen with ``transport = "threads"``."""
    return [TransportSpec(name="threads", open=ThreadTransport, order=20)]
