"""Several workers behind one socket: restarts, reloads and the end of all of them, through the command line."""

import asyncio
import contextlib
import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from benchmarks.faults.upstream import Upstream
from helmdeck_core.cli import ExitCode
from helmdeck_gateway import Gateway
from helmdeck_gateway.commands.serve import configure, worker_command
from helmdeck_gateway.http_server import workers
from helmdeck_gateway.http_server.live_gateway import LiveGateway
from helmdeck_gateway.http_server.server import Address, http_server
from helmdeck_gateway.http_server.workers import Supervisor, WorkerPipes
from helmdeck_testing import make_deck
from tests.helmdeck_gateway.gateway_support import (
    DIALECTS,
    AppRequest,
    HeldServer,
    Running,
    events_of,
    finish_of_chunks,
    text_of_chunks,
)

LIMIT_S = 60
"""Seconds until a process that hangs is killed."""


class Serving:
    """``helmdeck serve`` as a process."""

    def __init__(self, *options, **environ):
        words = [sys.executable, "-m", "helmdeck_core.cli", "serve", "--no-plugins", "--port", "0", *options]
        env = {**os.environ, **environ}
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=env)
        self._limit = threading.Timer(LIMIT_S, self.process.kill)
        self._limit.start()

    def line(self, pattern):
        """Return the next line of standard error, which matches."""
        text = self.process.stderr.readline()
        assert re.search(pattern, text), text + self.process.stderr.read()
        return text

    @property
    def children(self):
        return [
            int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._limit.cancel()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def held():
    server = HeldServer()
    yield server
    server.release.set()
    server.close()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds the workers in /proc")
def test_workers_are_restarted_reloaded_and_drained(held, tmp_path):
    file = tmp_path / "helmdeck.toml"
    provider = f'[providers.up]\nkind = "openai-compatible"\nbase_url = "{held.base_url}"\n'
    file.write_text(f'{provider}[gateway.models]\nfast = "up/m"\n')
    with Serving("--config", str(file), "--workers", "2", HELMDECK_DATA_DIR=str(tmp_path)) as serving:
        url = re.search(r"http://\S+:\d+", serving.line("serving every local client on .* with 2 workers"))[0]
        serving.line("the console is at")
        gateway = Running(None, url)

        def continued(previous=None):
            body = {"model": "fast", "input": "hi", **({"previous_response_id": previous} if previous else {})}
            answer = gateway.send("/v1/responses", body)
            assert answer.status == 200, answer
            return answer.body["id"]

        last = None
        for _ in range(6):  # each turn may reach another worker
            last = continued(last)
        os.kill(serving.children[0], signal.SIGKILL)
        serving.line("ended by signal SIGKILL; another one is started")
        continued(last)
        while len(serving.children) < 2:
            pass
        # Reaches the worker that is left, and the new one as soon as it runs.
        file.write_text(f'{provider}[gateway.models]\nquick = "up/m"\n')
        serving.process.send_signal(signal.SIGHUP)
        serving.line("the configuration was reloaded")
        request = json.dumps({"model": "up/long", "stream": True, "messages": [{"role": "user", "content": "hi"}]})
        stream = urllib.request.urlopen(f"{url}/v1/chat/completions", request.encode(), timeout=60)
        raw = stream.readline()
        serving.process.send_signal(signal.SIGTERM)
        refused = refusal_of(gateway)
        assert (refused.status, refused.headers["retry-after"], refused.headers["connection"]) == (503, "1", "close")
        held.release.set()
        events = list(events_of(raw + stream.read()))
        assert (text_of_chunks(events), finish_of_chunks(events)) == ("once upon a time", ["stop"])
        assert serving.process.wait() == 0


def refusal_of(gateway):
    """The first refused request of a gateway that got SIGTERM."""
    while True:
        with contextlib.suppress(OSError):
            answer = gateway.chat()
            if answer.status != 200:
                return answer


def test_message_of_several_workers_is_printed_once(tmp_path, capsys):
    workers = [WorkerPipes(listener=0, ready=0, alive=0, folder=str(tmp_path)) for _ in range(3)]
    for worker in workers:
        worker.report("the configuration was reloaded (generation 2)")
    workers[1].report("the configuration was reloaded (generation 3)")
    assert re.findall(r"generation (\d)", capsys.readouterr().err) == ["2", "3"]
    for claim in tmp_path.iterdir():  # the same event again, a minute later
        os.utime(claim, (0, 0))
    workers[2].report("the configuration was reloaded (generation 2)")
    workers[0].report("the configuration was reloaded (generation 2)")
    assert capsys.readouterr().err.count("generation 2") == 1


def test_message_is_printed_after_the_folder_of_the_workers_is_removed(tmp_path, capsys):
    WorkerPipes(listener=0, ready=0, alive=0, folder=str(tmp_path / "none")).report("reloaded")
    assert "reloaded" in capsys.readouterr().err


def test_worker_that_cannot_start_ends_the_command_with_its_code(capfd):
    async def run():
        failing = [sys.executable, "-c", "import sys; sys.exit('no such plugin')"]
        supervisor = Supervisor(failing, 0, 2, drain_s=1, on_started=lambda: None)
        return await supervisor.run()

    assert asyncio.run(run()) == 1
    assert "no such plugin" in capfd.readouterr().err


def test_worker_whose_process_cannot_be_created_ends_the_command(capfd):
    async def run():
        supervisor = Supervisor(["/no/such/program"], 0, 2, drain_s=1, on_started=lambda: None)
        async with asyncio.timeout(LIMIT_S):
            return await supervisor.run()

    assert asyncio.run(run()) == ExitCode.UNEXPECTED
    assert "a worker cannot be started: [Errno 2]" in capfd.readouterr().err


class RefusedOnce(Supervisor):
    """The second process cannot be created."""

    processes = 0

    async def _start(self):
        self.processes += 1
        if self.processes == 2:
            raise BlockingIOError(errno.EAGAIN, "too many processes")
        if self.processes == 3:
            self._stop()
        return await super()._start()


def test_worker_whose_process_cannot_be_created_again_is_started_later(capfd, monkeypatch):
    monkeypatch.setattr(workers, "MAX_DELAY_S", 0.0)
    ready = "import os, sys; os.write(int(sys.argv[2].split(':')[1]), os.getpid().to_bytes(4, 'little'))"

    async def run():
        supervisor = RefusedOnce([sys.executable, "-c", ready], 0, 1, drain_s=1, on_started=lambda: None)
        async with asyncio.timeout(LIMIT_S):
            return await supervisor.run(), supervisor.processes

    assert asyncio.run(run()) == (0, 3)
    assert "a worker could not be started; another one is started" in capfd.readouterr().err


def test_workers_stop_when_their_parent_has_ended():
    async def run():
        stopped = asyncio.Event()
        end, other = os.pipe()
        WorkerPipes(listener=0, ready=0, alive=end, folder="").on_end_of_parent(stopped.set)
        os.close(other)
        await stopped.wait()
        os.close(end)

    asyncio.run(run())
    pipes = WorkerPipes(listener=5, ready=6, alive=7, folder="/a:b")
    assert WorkerPipes.read(str(pipes)) == pipes


def test_worker_gets_the_options_of_its_parent_that_select_the_configuration():
    import argparse

    from helmdeck_core.cli.options import add_global_options

    parser = argparse.ArgumentParser()
    configure(parser)
    add_global_options(parser)
    words = ["--config", "a b.toml", "--disable-plugin", "x", "--no-plugins", "--log-level", "INFO", "--no-traces"]
    arguments = parser.parse_args([*words, "--port", "0", "--workers", "3"])
    assert worker_command(arguments)[4:] == words


def stopped_during(path, body, kind=AppRequest):
    """Return a request that is under way when its gateway stops, and a later one."""

    async def run():
        async with Upstream(["silent"]) as one:
            config = {
                "providers": {"up": {"kind": "openai", "base_url": one.base_url}},
                "gateway": {"drain_s": 2, "ping_s": 0.5},
            }
            live = LiveGateway(Gateway(make_deck(config=config)))
            server = http_server(live)
            listener = Address(port=0).listen()
            serving = asyncio.create_task(server._serve(sockets=[listener]))
            request = kind(live, path, body)

            async def counted():
                task = asyncio.current_task()
                server.server_state.tasks.add(task)
                task.add_done_callback(server.server_state.tasks.discard)
                await request.sent()

            sending = asyncio.create_task(counted())
            await asyncio.sleep(1)
            server.drain()
            await asyncio.sleep(1)
            late = await AppRequest(live, path, body).sent()
            await sending
            await serving
            return request, late

    return asyncio.run(run())


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_request_that_outlasts_the_time_to_stop_ends_with_an_error(virtual_time_with_sockets, name, stream):
    dialect = DIALECTS[name]
    request, late = stopped_during(
        dialect.path, {"model": "up/m", "stream": stream, **dialect.body("When is the tide?")}
    )
    assert (late.status, late.headers["retry-after"]) == (503, "1")
    if stream:
        assert request.status == 200
        last = [event for event in events_of(request.raw) if event != "[DONE]"][-1]
        error = last.get("error") or last["response"]["error"]
        assert error["code"] == "draining"
    else:
        assert (request.status, json.loads(request.raw)["error"]["code"]) == (503, "draining")
    assert virtual_time_with_sockets.passed_s < 5


class Unfinished(AppRequest):
    """Its body does not arrive."""

    async def receive(self):
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/embeddings", AppRequest),
        ("/v1/embeddings", Unfinished),
        ("/v1/chat/completions", Unfinished),
        ("/v1/messages/count_tokens", Unfinished),
    ],
)
def test_request_without_a_call_that_outlasts_the_time_to_stop_ends_with_an_error(
    virtual_time_with_sockets, path, kind
):
    body = {"model": "up/e", "input": "x", "messages": [{"role": "user", "content": "x"}]}  # which the upstream reads
    request, _ = stopped_during(path, body, kind)
    assert (request.status, json.loads(request.raw)["error"]["code"]) == (503, "draining")
    assert virtual_time_with_sockets.passed_s < 5
