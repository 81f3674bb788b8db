"""A console over prepared records, and a client that keeps cookies and tokens as a browser does."""

import asyncio
import concurrent.futures
import re
import warnings

from starlette.applications import Starlette
from starlette.routing import Mount

from helmdeck_console import Access, Console, Sources, example_traces
from helmdeck_core import Config, LoadedConfig
from helmdeck_gateway import KeyRecord, create_key, open_store
from helmdeck_telemetry import RequestLog
from helmdeck_testing import make_deck

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

NOW_S = 1_790_000_000.0
HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe'


class ConsoleUnderTest:
    """A console with a store of keys, and clients for it."""

    def __init__(self, *plugins, traces=(), now=None, open_role="", is_always_open=False, **sources):
        self.store = open_store("memory:")
        self.log = RequestLog.open("memory:")
        self.log.add(list(traces))
        self.deck = make_deck(*plugins, model="local/lexical")
        clock = {"now": now} if now is not None else {}
        access = Access(lambda: self.store, open_role=open_role, is_always_open=is_always_open, **clock)
        loaded = LoadedConfig(Config(model="local/lexical"), {})
        given = {"loaded": loaded, "find_store": lambda: self.store, **sources}
        self.console = Console(Sources(find_log=lambda: self.log, deck=self.deck, **given), access)
        self.app = Starlette(routes=[Mount("/console", app=self.console)])

    def key(self, name, role="", team="", **more):
        record = KeyRecord(name=name, id="", digest="", caller=name, role=role, team=team, **more)
        # In a thread: Playwright runs an event loop in the one of the test.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(create_key(self.store, record)).secret).result()

    def client(self, key="", base_url="http://127.0.0.1"):
        client = Client(self.app, base_url)
        if key:
            assert client.sign_in(key).status_code == 303
        return client


class Client:
    """A browser without scripts."""

    def __init__(self, app, base_url="http://127.0.0.1"):
        self.http = TestClient(app, base_url=base_url, follow_redirects=False, raise_server_exceptions=True)

    def get(self, path, **headers):
        return self.http.get(f"/console{path}", headers=headers)

    def sign_in(self, key):
        return self.http.post("/console/sign-in", data={"key": key})

    def token(self, path="/try"):
        found = re.search(r'name="token" value="([0-9a-f]+)"', self.get(path).text)
        return found[1] if found else ""

    def post(self, path, headers=None, **fields):
        fields = {"token": self.token(), **fields}
        return self.http.post(f"/console{path}", data=fields, headers=headers or {})


def example(count=40):
    return example_traces(NOW_S, count, length_s=3_600.0)
