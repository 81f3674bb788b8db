"""A gateway loads what the first call needs before it accepts requests, or soon after that."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from helmdeck_core import InvalidRequest, TransportSpec
from helmdeck_gateway.http_server.warm_up import open_transports, warm_up
from helmdeck_testing import OPENAI_CHAT, EventRecorder, failing_server, make_deck, plugin_with
from tests.helmdeck_gateway.gateway_support import upstream

ROOT = Path(__file__).parents[2]

FIRST_CALL = """
import asyncio, importlib, json, sys
from helmdeck_gateway import Gateway
from helmdeck_gateway.http_server.live_gateway import LiveGateway
from helmdeck_gateway.http_server.server import WARM_UP, Address, serve
from helmdeck_testing import make_deck
from tests.helmdeck_gateway.gateway_support import AppRequest

async def run():
    started = asyncio.Event()
    live = LiveGateway(Gateway(make_deck(*map(importlib.import_module, sys.argv[2:]), config=json.loads(sys.argv[1]))))
    serving = asyncio.create_task(serve(live, Address(port=0).listen(), started.set))
    await started.wait()
    await asyncio.sleep(0)
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == WARM_UP))
    before = set(sys.modules)
    body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}
    statuses, new = [], []
    for stream in (False, True):
        statuses.append((await AppRequest(live, "/v1/chat/completions", {**body, "stream": stream}).sent()).status)
    new = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    print(json.dumps([statuses, new]))

asyncio.run(run())
"""


def test_first_call_imports_no_module_of_the_project_or_of_its_transport():
    assert not imported_by_first_call("httpx") & {"httpx2", "httpcore2"}


def imported_by_first_call(transport, *plugins, paths=()):
    """Serve a whole and a streamed call in another process; return the top-level modules that they import, none of ours.

    :param plugins: names of modules with plugins.
    :param paths: folders to import from, besides those of the project.
    """
    with failing_server(OPENAI_CHAT, text="hello") as server:
        config = {"providers": {"up": upstream(server, transport=transport)}}
        words = [sys.executable, "-c", FIRST_CALL, json.dumps(config), *plugins]
        path = {"PYTHONPATH": ":".join(map(str, (ROOT, ROOT / "plugins", *paths)))}
        ended = subprocess.run(words, capture_output=True, text=True, timeout=120, env=path, check=False)
    assert ended.returncode == 0, ended.stderr
    statuses, new = json.loads(ended.stdout)
    assert statuses == [200, 200]
    assert not [name for name in new if name.startswith("helmdeck")]
    assert not {"genai_prices", "pydantic"} & set(new)
    return set(new)


def test_failure_while_loading_is_left_to_the_first_call():
    def fail(_):
        raise InvalidRequest("the library is not installed")

    recorder = EventRecorder()
    broken = plugin_with(helmdeck_transports=[TransportSpec(name="broken", open=fail)])
    config = {
        "http": {"transport": "broken"},
        "providers": {"up": {"kind": "openai-compatible", "base_url": "http://x"}},
    }
    deck = make_deck(broken, recorder, config=config)
    asyncio.run(open_transports(deck))
    warm_up(deck)
    assert recorder.events == []
