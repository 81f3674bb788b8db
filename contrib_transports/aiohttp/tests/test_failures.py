"""Failures have their classes and messages without secrets."""

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_openai_errors

globals().update(transport_tests_of(test_openai_errors))
