"""Gateways of the tests with unmodified clients: two models, and a gateway over each of their APIs."""

import pytest

from benchmarks.gateway_clients.gateway import serving, settings
from benchmarks.gateway_clients.model import client_model


@pytest.fixture(scope="module")
def models():
    with client_model() as first, client_model() as spare:
        yield first, spare


@pytest.fixture(scope="module", params=["chat", "responses", "messages"])
def gateway(request, models, tmp_path_factory):
    first, spare = models
    config = settings(first.base_url, spare.base_url, request.param)
    with serving(config, tmp_path_factory.mktemp("gateway")) as url:
        yield url


@pytest.fixture(scope="module")
def chat_gateway(models, tmp_path_factory):
    first, spare = models
    with serving(settings(first.base_url, spare.base_url), tmp_path_factory.mktemp("gateway")) as url:
        yield url
