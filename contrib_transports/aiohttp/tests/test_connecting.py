"""Connections that cannot be made have their causes."""

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_http_connecting

globals().update(transport_tests_of(test_http_connecting))
