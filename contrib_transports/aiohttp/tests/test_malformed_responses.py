"""For any server behaviour, a call returns the right response or a cause, and closes all resources."""

import pytest

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_malformed_responses

globals().update(transport_tests_of(test_malformed_responses))


# How a response is parsed does not depend on the transport: one adapter of text and one of binary frames.
@pytest.mark.parametrize("name", ["chat", "bedrock"])
def test_every_response_is_read_or_fails_and_all_resources_are_closed(name):
    test_malformed_responses.check_every_response(name)
