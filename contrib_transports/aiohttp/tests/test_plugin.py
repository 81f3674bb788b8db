"""A deck uses the transport where the configuration chooses it, and the library is loaded no earlier and no later than needed."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

import helmdeck_transport_aiohttp
from helmdeck_core import ChatRequest, Message, Role, TextPart
from helmdeck_testing import completion, make_deck
from helmdeck_transport_aiohttp.connections import AiohttpTransport
from tests.helmdeck_gateway.test_warm_up import imported_by_first_call

SOURCE = Path(helmdeck_transport_aiohttp.__file__).parents[1]
ROOT = Path(__file__).parents[3]
ASKS = re.compile(r'usefixtures\([^)]*"transport"')


@pytest.mark.parametrize(
    ("http", "provider"), [({"transport": "aiohttp"}, {}), ({}, {"transport": "aiohttp"})], ids=["all", "one provider"]
)
def test_configuration_chooses_the_transport(chat_server, http, provider):
    server = chat_server(lambda body: completion("hello"))
    config = {"http": http, "providers": {"vllm": {"base_url": server.base_url, **provider}}}
    question = ChatRequest(model="vllm/any", messages=(Message(Role.USER, (TextPart("say hello"),)),))

    async def run():
        async with make_deck(helmdeck_transport_aiohttp, config=config) as deck:
            assert (await deck.acomplete(question)).text == "hello"
            return type(deck._engine.pool.open_provider("vllm")._connection._transport)

    assert asyncio.run(run()) is AiohttpTransport


def test_installed_transport_is_not_the_default_one():
    with make_deck(helmdeck_transport_aiohttp) as deck:
        assert deck.runtime.transports.name_of("vllm") == "httpx"


def test_library_is_not_imported_before_the_transport_is_opened():
    code = "import sys, helmdeck_transport_aiohttp as t; t.helmdeck_transports(); sys.exit('aiohttp' in sys.modules)"
    path = {"PYTHONPATH": ":".join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=path, timeout=120).returncode == 0


def test_gateway_imports_the_library_before_the_first_call():
    assert "aiohttp" not in imported_by_first_call("aiohttp", "helmdeck_transport_aiohttp", paths=[SOURCE])


def test_every_module_of_the_core_with_tests_for_all_transports_is_run_here():
    asking = {path.stem for path in (ROOT / "tests").rglob("test_*.py") if ASKS.search(path.read_text())}
    here = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert {name for name in asking if f"transport_tests_of({name})" not in here} == set()
    assert len(asking) > 5
