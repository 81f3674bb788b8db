"""Secrets in keys, headers and proxy URLs are never shown, whatever a server returns and however a call fails."""

import pytest

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_secret_leaks

globals().update(transport_tests_of(test_secret_leaks))


# What an adapter shows does not depend on the transport; these three differ in what they send and read.
@pytest.mark.parametrize("name", ["chat", "bedrock", "azure"])
def test_no_secret_is_shown_for_any_server_behaviour(transport, name, written, spans, tmp_path):
    test_secret_leaks.check_server_behaviours(transport, name, written, spans, tmp_path)
