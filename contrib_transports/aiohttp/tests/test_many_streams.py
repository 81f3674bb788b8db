"""Many concurrent streams with random faults leave nothing, and the number of objects stays flat."""

import pytest

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_many_streams

globals().update(transport_tests_of(test_many_streams))


@pytest.fixture(autouse=True)
def _own_objects(monkeypatch):
    """Count the objects of the transport and its library as well."""
    counted = (*test_many_streams.OURS, "helmdeck_transport_aiohttp", "aiohttp")
    monkeypatch.setattr(test_many_streams, "OURS", counted)
