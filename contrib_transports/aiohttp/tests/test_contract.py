"""The transport keeps the contract of transports."""

from helmdeck_transport_aiohttp import helmdeck_transports
from tests.helmdeck_providers.test_transport_contract import OfTheProject


class TestAiohttp(OfTheProject):
    (spec,) = helmdeck_transports()
