"""The exceptions of HTTP libraries, and the failures that providers make of those of transports: each has its class."""

from __future__ import annotations

import asyncio

import httpcore2
import httpx
import httpx2
import pytest

from helmdeck_core import (
    ConnectFailed,
    ConnectionBroken,
    ConnectTimeout,
    InvalidRequest,
    InvalidUrl,
    ProviderUnavailable,
    TlsFailed,
    TransportError,
)
from helmdeck_providers import HttpConnection
from helmdeck_providers.http.compression import DecodingError
from helmdeck_providers.transports import httpx_client, httpx_pool
from helmdeck_testing import provider_settings
from tests.case_support import each_case

HTTPCORE = {
    httpcore2.ProxyError: ConnectFailed,
    httpcore2.LocalProtocolError: InvalidUrl,
    httpcore2.RemoteProtocolError: ConnectionBroken,
    httpcore2.UnsupportedProtocol: InvalidUrl,
    httpcore2.ReadError: ConnectionBroken,
    httpcore2.WriteError: ConnectionBroken,
}


def clients(library):
    return {
        library.ConnectError: ConnectFailed,
        library.ConnectTimeout: ConnectTimeout,
        library.PoolTimeout: ConnectionBroken,
        library.ProxyError: ConnectFailed,
        library.ReadError: ConnectionBroken,
        library.RemoteProtocolError: ConnectionBroken,
        library.LocalProtocolError: InvalidUrl,
        library.UnsupportedProtocol: InvalidUrl,
        library.InvalidURL: InvalidUrl,
        library.StreamConsumed: ConnectionBroken,
    }


TABLES = [
    (httpx_pool, HTTPCORE),
    (httpx_client, clients(httpx2)),
    (httpx_client, clients(httpx)),
]


def one_of(kind):
    """An exception of which only the class counts."""

    class Raised(kind):
        def __init__(self):
            pass

        def __str__(self):
            return "said"

    return Raised()


@each_case(("module", "kind", "expected"), [(module, *row) for module, table in TABLES for row in table.items()])
def test_every_exception_of_a_library_has_its_class(module, kind, expected):
    found = module._error(one_of(kind))
    assert (type(found), found.detail) == (expected, "said")


@pytest.mark.parametrize("module", [httpx_pool, httpx_client])
def test_other_exceptions_are_not_translated(module):
    assert module._error(ValueError("x")) is None


class Failing:
    """A transport that fails."""

    def __init__(self, error):
        self.error = error

    async def send(self, method, url, headers, body):
        raise self.error

    async def aclose(self):
        pass


@each_case(
    ("error", "expected", "sub_cause", "detail"),
    [
        (ConnectFailed("Connection refused"), ProviderUnavailable, "unreachable", "Connection refused"),
        (TlsFailed("TLS: expired"), ProviderUnavailable, "unreachable", "TLS: expired"),
        (ConnectTimeout(), ProviderUnavailable, "unreachable", "no connection within 10 s; see providers.test."),
        (
            ConnectionBroken("it broke"),
            ProviderUnavailable,
            "disconnected",
            "ConnectionBroken at http://host: it broke",
        ),
        (TransportError("odd"), ProviderUnavailable, "disconnected", "odd"),
        (DecodingError("bad header"), ProviderUnavailable, "cut_body", "bad header"),
        (InvalidUrl("bad"), InvalidRequest, "", "bad"),
        (ConnectionBroken("key sk-secret-1"), ProviderUnavailable, "disconnected", "key [redacted]"),
    ],
)
def test_every_error_of_a_transport_becomes_a_failure_without_secrets(error, expected, sub_cause, detail):
    connection = HttpConnection(
        provider_settings("test", base_url="http://host/v1", open_transport=lambda settings: Failing(error))
    )
    with pytest.raises(expected) as caught:
        asyncio.run(connection.post("/x", b"{}", secrets=["sk-secret-1"]))
    assert caught.value.sub_cause == sub_cause
    assert detail in caught.value.detail
    assert caught.value.__context__ is None


def test_provider_without_a_transport_is_an_error():
    connection = HttpConnection(provider_settings("test", base_url="http://host/v1", open_transport=None))
    with pytest.raises(InvalidRequest, match="no HTTP transport"):
        asyncio.run(connection.get("/models"))
