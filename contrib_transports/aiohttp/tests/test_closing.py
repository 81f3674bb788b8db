"""A deck that closes ends its calls and connections."""

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_core import test_closing

globals().update(transport_tests_of(test_closing))
