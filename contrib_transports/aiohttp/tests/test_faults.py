"""Every fault of the failing test server has its cause."""

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_testing import test_faults

globals().update(transport_tests_of(test_faults))
