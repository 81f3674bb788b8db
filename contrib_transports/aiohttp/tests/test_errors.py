"""The exceptions of the library: each has its class."""

import aiohttp
import pytest
from aiohttp.http_exceptions import BadHttpMessage

from helmdeck_core import ConnectFailed, ConnectionBroken, ConnectTimeout, InvalidUrl, TlsFailed
from helmdeck_transport_aiohttp.connections import _error
from tests.helmdeck_providers.test_transport_errors import one_of

CLASSES = {
    aiohttp.ClientConnectorError: ConnectFailed,
    aiohttp.ClientConnectorDNSError: ConnectFailed,
    aiohttp.ClientConnectorCertificateError: TlsFailed,
    aiohttp.ClientConnectorSSLError: TlsFailed,
    aiohttp.ClientHttpProxyError: ConnectFailed,
    aiohttp.ClientOSError: ConnectionBroken,
    aiohttp.ClientPayloadError: ConnectionBroken,
    aiohttp.ClientProxyConnectionError: ConnectFailed,
    aiohttp.ClientResponseError: ConnectionBroken,
    aiohttp.ConnectionTimeoutError: ConnectTimeout,
    aiohttp.InvalidURL: InvalidUrl,
    aiohttp.NonHttpUrlClientError: InvalidUrl,
    aiohttp.ServerDisconnectedError: ConnectionBroken,
    aiohttp.ServerTimeoutError: ConnectionBroken,
    BadHttpMessage: ConnectionBroken,
    OSError: ConnectionBroken,
}


@pytest.mark.parametrize(("kind", "expected"), CLASSES.items())
def test_every_exception_of_the_library_has_its_class(kind, expected):
    found = _error(one_of(kind))
    is_truncated = kind is aiohttp.ClientPayloadError
    assert type(found) is expected
    assert found.detail == ("the body ended before it was complete" if is_truncated else "said")


def test_other_exceptions_are_not_translated():
    assert _error(ValueError("x")) is None
