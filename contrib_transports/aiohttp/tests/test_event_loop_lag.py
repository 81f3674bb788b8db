"""Other tasks run while a long response is read."""

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_event_loop_lag

globals().update(transport_tests_of(test_event_loop_lag))
