"""The cost of connections, and the limits of compressed responses."""

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_http_connections

globals().update(transport_tests_of(test_http_connections))
