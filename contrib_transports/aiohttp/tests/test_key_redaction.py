"""Keys are redacted in what a provider returns."""

from contrib_transports.aiohttp.tests.core_tests import transport_tests_of
from tests.helmdeck_providers import test_openai_secrets

globals().update(transport_tests_of(test_openai_secrets))
