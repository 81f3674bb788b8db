"""A new configuration takes effect while requests run; a bad one changes nothing and is reported."""

import asyncio
import json

import pytest

from helmdeck_core.config.load import load_config
from helmdeck_gateway import Gateway
from helmdeck_gateway.commands.serve import with_sinks
from helmdeck_gateway.http_server.config_source import ConfigSource
from helmdeck_gateway.http_server.live_gateway import LiveGateway
from tests.helmdeck_gateway.gateway_support import AppRequest, HeldServer, events_of, finish_of_chunks, text_of_chunks


@pytest.fixture
def server():
    running = HeldServer()
    yield running
    running.release.set()
    running.close()


class ConfigFile:
    """A configuration file whose alias ``fast`` changes."""

    def __init__(self, path, server):
        self.path = path
        self._provider = f'[providers.up]\nkind = "openai-compatible"\nbase_url = "{server.base_url}"\n'
        self.messages = []
        self.reported = asyncio.Event()
        self.write("up/m0")

    def write(self, model, gateway=""):
        self.path.write_text(
            f'model = "up/m"\n{self._provider}[gateway]\n{gateway}\n[gateway.models]\nfast = "{model}"\n'
        )

    def report(self, message):
        self.messages.append(message)
        self.reported.set()

    def live(self):
        source = ConfigSource(lambda: with_sinks(load_config(file=self.path, environ={}), has_traces=False))
        deck, settings = source.open()
        return LiveGateway(Gateway(deck, settings), source, self.report)


@pytest.fixture
def file(tmp_path, server):
    return ConfigFile(tmp_path / "helmdeck.toml", server)


def chat(app, model, **fields):
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **fields}
    return AppRequest(app, "/v1/chat/completions", body)


async def status_of(live):
    return json.loads((await AppRequest(live, "/readyz", method="GET").sent()).raw)["config"]


def test_no_request_is_dropped_and_a_long_stream_ends_on_the_configuration_that_it_began_with(file, server):
    async def run():
        live = file.live()
        statuses, stopped = [], False

        async def traffic():
            while not stopped:
                statuses.append((await chat(live, "fast").sent()).status)

        long = chat(live, "up/long", stream=True)
        stream = asyncio.create_task(long.sent())
        clients = [asyncio.create_task(traffic()) for _ in range(4)]
        await long.has_text.wait()
        for number in range(1, 4):
            file.write(f"up/m{number}")
            assert await live.reload()
            own = [{"role": "user", "content": f"after reload {number}"}]
            assert json.loads((await chat(live, "fast", messages=own).sent()).raw)["model"] == "fast"
            # Requests of the former configuration may still arrive behind it.
            sent = [request.body["model"] for request in server.requests if request.body["messages"] == own]
            assert sent == [f"m{number}"]
        stopped = True
        await asyncio.gather(*clients)
        assert live.retired == 1, "the stream keeps the first gateway"
        server.release.set()
        await stream
        config = await status_of(live)
        await live.aclose()
        return statuses, long, config, live

    statuses, long, config, live = asyncio.run(run())
    assert set(statuses) == {200}
    events = list(events_of(long.raw))
    assert (text_of_chunks(events), finish_of_chunks(events)) == ("once upon a time", ["stop"])
    assert (config["generation"], live.retired) == (4, 0)
    assert file.messages[-1] == "the configuration was reloaded (generation 4)"


def test_former_gateway_is_closed_after_its_last_request(file, server):
    async def run():
        live = file.live()
        first = live.gateway
        stream = asyncio.create_task((long := chat(live, "up/long", stream=True)).sent())
        await long.has_text.wait()
        closed = asyncio.Event()
        first.aclose = lambda: asyncio.sleep(0, closed.set())
        await live.reload()
        assert not closed.is_set()
        server.release.set()
        await stream
        await closed.wait()
        await live.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("change", "places"),
    [
        ({"model": "x", "gateway": "max_request = 5"}, ["gateway.max_request", "gateway.models.fast"]),
        ({"model": "nowhere/m"}, ["gateway.models.fast"]),
        ({"model": "up/m", "gateway": "= broken"}, ["helmdeck.toml"]),
    ],
)
def test_bad_configuration_keeps_the_former_one_and_reports_every_mistake(file, server, change, places):
    async def run():
        live = file.live()
        file.write(**change)
        assert not await live.reload()
        status = (await chat(live, "fast").sent()).status
        config = await status_of(live)
        metrics = (await AppRequest(live, "/metrics", method="GET").sent()).raw.decode()
        file.write("up/m1")
        assert await live.reload()
        later = await status_of(live)
        await live.aclose()
        return status, config, metrics, later

    status, config, metrics, later = asyncio.run(run())
    assert (status, config["generation"], later["generation"]) == (200, 1, 2)
    assert "former one stays in effect" in file.messages[0]
    for place in places:
        assert place in file.messages[0] and place in config["last_error"]
    assert config["last_error"].startswith("1 mistake: " if len(places) == 1 else f"{len(places)} mistakes: ")
    assert "last_error" not in later
    assert 'config_reloads_total{outcome="failed"} 1' in metrics
    assert "helmdeck_gateway_config_last_reload_successful 0" in metrics


def test_provider_setting_that_is_found_when_a_provider_is_opened_keeps_the_former_configuration(file):
    async def run():
        live = file.live()
        file._provider += "timeout_s = 5\n[providers.bad]\nkind = 'openai-compatible'\nbase_url = 'ftp://host'\n"
        file.write("up/m1")
        assert not await live.reload()
        await live.aclose()

    asyncio.run(run())
    assert "providers.bad" in file.messages[0]


def test_settings_that_need_a_restart_are_named(file):
    async def run():
        live = file.live()
        file.write("up/m0", gateway="port = 9000\nworkers = 3\nmax_requests = 2")
        assert await live.reload()
        assert live.gateway.settings.max_requests == 2
        await live.aclose()

    asyncio.run(run())
    restart = "restart the gateway for it to take effect"
    assert file.messages[:2] == [f"warning: gateway.{name} has changed; {restart}" for name in ("port", "workers")]


def test_counters_and_stored_responses_survive_a_reload(file):
    async def run():
        live = file.live()
        first = await AppRequest(live, "/v1/responses", {"model": "fast", "input": "hi"}).sent()
        assert await live.reload()
        body = {"model": "fast", "input": "continue", "previous_response_id": json.loads(first.raw)["id"]}
        second = await AppRequest(live, "/v1/responses", body).sent()
        metrics = (await AppRequest(live, "/metrics", method="GET").sent()).raw.decode()
        await live.aclose()
        return second.status, metrics

    status, metrics = asyncio.run(run())
    assert status == 200
    assert 'requests_total{endpoint="responses",status="200"} 2' in metrics


def test_changed_file_is_loaded_without_a_signal_once_it_stays_as_it_is(file, virtual_time):
    async def run():
        live = file.live()
        received = asyncio.Queue()
        sent = asyncio.Queue()
        life = asyncio.create_task(live({"type": "lifespan"}, received.get, sent.put))
        received.put_nowait({"type": "lifespan.startup"})
        await sent.get()
        await asyncio.sleep(3)
        assert file.messages == []
        file.write("up/m1")
        await file.reported.wait()
        assert live.gateway.settings.models == {"fast": "up/m1"}
        received.put_nowait({"type": "lifespan.shutdown"})
        await life
        assert live.gateway.counters.is_draining

    asyncio.run(run())
    assert file.messages == ["the configuration was reloaded (generation 2)"]


def test_files_of_the_configuration_are_watched(file, tmp_path):
    catalog, key = tmp_path / "tools.json", tmp_path / "key"
    catalog.write_text("[]")
    key.write_text("0123456789abcdef")
    file.path.write_text(f'[catalog]\nsources = ["tools.json"]\n[gateway]\nkey = "file:{key}"\n')
    source = ConfigSource(lambda: load_config(file=file.path, environ={}))
    stamps = [source.stamp()]
    for path in (catalog, key, file.path):
        path.write_text(path.read_text() + "\n")
        stamps.append(source.stamp())
    key.unlink()
    stamps.append(source.stamp())
    assert len(set(stamps)) == 5


def test_change_of_a_file_while_it_is_read_again_is_noticed(tmp_path):
    path = tmp_path / "helmdeck.toml"
    texts = iter(['model = "a/b"', 'model = "a/bc"'])

    def read():
        loaded = load_config(file=path, environ={})
        if text := next(texts, ""):
            path.write_text(text)
        return loaded

    path.write_text('model = "local/lexical"')
    source = ConfigSource(read)
    found = []
    for _ in range(2):
        source._load()
        found.append((source.loaded.config.model, source.stamp() == source.loaded_stamp))
    assert found == [("a/b", False), ("a/bc", True)], "the first of them was written over meanwhile"
