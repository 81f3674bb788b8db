"""Runs tests of the core over this transport."""

import pytest

import helmdeck_transport_aiohttp.connections  # noqa: F401  # what importing a library takes is not a call's time
from helmdeck_core.resolve.transports import TransportChooser
from helmdeck_transport_aiohttp import helmdeck_transports
from tests.conftest import _own_data_directory as _own_data_directory
from tests.conftest import loop_lag as loop_lag
from tests.conftest import only_new_objects as only_new_objects
from tests.conftest import virtual_time as virtual_time
from tests.conftest import virtual_time_with_sockets as virtual_time_with_sockets


@pytest.fixture
def transport(monkeypatch):
    """The transport of all decks and providers of a test: this one."""
    (spec,) = helmdeck_transports()
    monkeypatch.setattr(TransportChooser, "open", lambda self, provider, settings: spec.open(settings))
    return spec.name
