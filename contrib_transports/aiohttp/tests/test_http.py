"""Streams arrive as they are sent, within their limits, and no connection stays open."""

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_http_transport

globals().update(transport_tests_of(test_http_transport))
