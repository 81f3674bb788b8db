"""Processes: signals under load, lost workers, no file descriptors, forks, and a thousand decks."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held
from benchmarks.attacks.hostile import Exchange, HostileUpstream, chunk, hostile_upstream
from benchmarks.attacks.runner import clean_environment
from benchmarks.attacks.settings import configuration
from benchmarks.attacks.victim import Victim, children_of, cli, gateway, load_modules, polled
from helmdeck_testing import make_deck

SUITE = Suite("process")
DRAIN_S = 2.0
OPERATION = "The Twelve-Factor App, disposability"
EXHAUSTION = "CWE-400; CWE-404; CWE-772"


@attrs.frozen
class Loaded:
    """A gateway with streams under way."""

    victim: Victim
    upstream: HostileUpstream


@contextlib.contextmanager
def loaded(
    stage: Stage, *options: str, seconds: float = 60.0, lines: str = "", preexec: Any = None
) -> Iterator[Loaded]:
    """A gateway whose provider streams for some seconds."""

    async def long(exchange: Exchange) -> None:
        await exchange.start_events()
        for _ in range(int(seconds / 0.05)):
            await exchange.event(chunk("word "))
            await asyncio.sleep(0.05)
        await exchange.event(chunk(finish="stop"))
        await exchange.event(b"[DONE]")
        await exchange.close()

    with hostile_upstream() as upstream:
        upstream.behaviours["long"] = long
        text = configuration(upstream, gateway_lines=f"drain_s = {DRAIN_S}\n{lines}").replace(
            "deadline_s = 3.0", "deadline_s = 100.0", 1
        )
        with gateway(stage.new_folder(), text, *options, preexec=preexec) as victim:
            yield Loaded(victim, upstream)


class Streams:
    """Clients that read one stream each."""

    def __init__(self, victim: Victim, count: int, model: str = "up/long") -> None:
        body = json.dumps({"model": model, "stream": True, "messages": [{"role": "user", "content": "x"}]}).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.received = [b""] * count
        self.ended_s: list[float | None] = [None] * count
        self.clients = [victim.connect(30.0) for _ in range(count)]
        for client in self.clients:
            client.sendall(head + body)
        self.threads = [threading.Thread(target=self._read, args=(number,), daemon=True) for number in range(count)]
        for thread in self.threads:
            thread.start()
        end_s = time.monotonic() + 15
        while not all(b"word" in each for each in self.received) and time.monotonic() < end_s:
            time.sleep(0.05)

    def _read(self, number: int) -> None:
        with contextlib.suppress(OSError):
            while data := self.clients[number].recv(65_536):
                self.received[number] += data
        self.ended_s[number] = time.monotonic()

    def join(self, seconds: float) -> None:
        """Wait until all have ended."""
        end_s = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0.0, end_s - time.monotonic()))

    def count(self, text: bytes) -> int:
        """How many streams contain a text."""
        return sum(text in each for each in self.received)

    @property
    def ended(self) -> int:
        """How many have ended."""
        return sum(each is not None for each in self.ended_s)

    def close(self) -> None:
        """Close all connections."""
        for client in self.clients:
            client.close()


@SUITE.case("SIGTERM under 64 streams that never end", reference=OPERATION, deadline_s=60)
def _drain(stage: Stage) -> Verdict:
    with loaded(stage) as at:
        streams = Streams(at.victim, 64)
        started, start_s = streams.count(b"word"), time.monotonic()
        at.victim.process.terminate()
        time.sleep(0.3)
        late = (
            at.victim.raw(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").statuses
            if at.victim.is_alive()
            else [0]
        )
        streams.join(DRAIN_S + 15)
        code = at.victim.process.wait(20)
        seconds = time.monotonic() - start_s
    reasons = streams.count(b'"draining"')
    text = f"{started} streams, {streams.ended} ended, {reasons} with the reason; exit code {code} after {seconds:.1f} s of a limit of {DRAIN_S:g} s; ready: {late}"
    return (
        held(text)
        if started == streams.ended == reasons == 64 and code == 0 and seconds < DRAIN_S + 5 and 200 not in late
        else broken(text)
    )


@SUITE.case("SIGTERM under 64 streams that end in time", reference=OPERATION, deadline_s=60)
def _drain_whole(stage: Stage) -> Verdict:
    with loaded(stage, seconds=1.0, lines="") as at:
        streams = Streams(at.victim, 64)
        at.victim.process.terminate()
        streams.join(15)
        code = at.victim.process.wait(20)
    whole = streams.count(b"data: [DONE]")
    text = f"{whole} of 64 streams are whole, exit code {code}"
    return held(text) if whole == 64 and code == 0 else broken(text)


@SUITE.case("SIGTERM twice under streams", reference=OPERATION, deadline_s=60)
def _twice(stage: Stage) -> Verdict:
    with loaded(stage) as at:
        streams = Streams(at.victim, 8)
        start_s = time.monotonic()
        at.victim.process.terminate()
        time.sleep(0.3)
        at.victim.process.terminate()
        code = at.victim.process.wait(20)
        seconds = time.monotonic() - start_s
        streams.close()
    text = f"exit code {code} after {seconds:.1f} s"
    return held(text) if seconds < DRAIN_S + 1 else broken(text)


@SUITE.case("SIGKILL under 64 streams, and a new start", reference=OPERATION, deadline_s=60)
def _killed(stage: Stage) -> Verdict:
    with loaded(stage) as at:
        streams = Streams(at.victim, 64)
        at.victim.process.kill()
        streams.join(10)
        at.victim.process.wait()
        ended, whole = streams.ended, streams.count(b"[DONE]")
        end_s = time.monotonic() + 3
        while any(each.ended_s is None for each in at.upstream.of("long")) and time.monotonic() < end_s:
            time.sleep(0.05)
        left = sum(each.ended_s is None for each in at.upstream.of("long"))
        with gateway(at.victim.folder, configuration(at.upstream)) as again:
            is_serving = again.is_serving()
    text = f"{ended} streams ended, {whole} look complete, {left} calls of the provider continue; starts again on the same data: {is_serving}"
    return held(text) if ended == 64 and not whole and not left and is_serving else broken(text)


@SUITE.case("SIGKILL of one of two workers", reference=OPERATION, deadline_s=90)
def _worker(stage: Stage) -> Verdict:
    with loaded(stage, "--workers", "2") as at:
        end_s = time.monotonic() + 20
        while len(workers := _workers(at.victim)) < 2 and time.monotonic() < end_s:
            time.sleep(0.1)
        at.victim.chat("up/ok")
        os.kill(workers[0], signal.SIGKILL)
        served = [at.victim.chat("up/ok").status for _ in range(20)]
        end_s = time.monotonic() + 20
        while len({*_workers(at.victim)} - {workers[0]}) < 2 and time.monotonic() < end_s:
            time.sleep(0.1)
        now = {*_workers(at.victim)} - {workers[0]}
    text = f"{served.count(200)} of 20 requests served at once, {len(now)} workers afterwards"
    return held(text) if served.count(200) >= 19 and len(now) == 2 else broken(text)


def _workers(victim: Victim) -> list[int]:
    return [pid for pid in children_of(victim.pid) if b"resource_tracker" not in _command(pid)]


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@SUITE.case("SIGKILL of the parent of two workers", reference=OPERATION, deadline_s=90)
def _parent(stage: Stage) -> Verdict:
    with loaded(stage, "--workers", "2") as at:
        end_s = time.monotonic() + 20
        while len(workers := _workers(at.victim)) < 2 and time.monotonic() < end_s:
            time.sleep(0.1)
        at.victim.chat("up/ok")
        at.victim.process.kill()
        at.victim.process.wait()
        end_s = time.monotonic() + 15
        while (left := [pid for pid in workers if _command(pid)]) and time.monotonic() < end_s:
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    return held(f"{len(workers)} workers ended with it") if not left else broken(f"{len(left)} workers continue")


@SUITE.case("SIGHUP with a configuration that is not valid", reference=OPERATION)
def _reload(stage: Stage) -> Verdict:
    with loaded(stage) as at:
        (at.victim.folder / "helmdeck.toml").write_text("[providers.up]\nkind = 7\n[nonsense", encoding="utf-8")
        for _ in range(5):
            at.victim.process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        end_s, ready = time.monotonic() + 10, {}
        while (
            "last_error" not in (ready := at.victim.send("/readyz", method="GET").json["config"])
            and time.monotonic() < end_s
        ):
            time.sleep(0.1)
        is_serving = at.victim.is_serving()
    text = f"serves on the old configuration: {is_serving}; /readyz: {str(ready.get('last_error'))[:80]}"
    return held(text) if is_serving and ready.get("last_error") else broken(text)


def _few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


@SUITE.case("no file descriptors left", reference=EXHAUSTION, deadline_s=60)
def _descriptors(stage: Stage) -> Verdict:
    with loaded(stage, preexec=_few_files) as at:
        at.victim.chat("up/ok")
        clients: list[socket.socket] = []
        for _ in range(150):
            with contextlib.suppress(OSError):
                clients.append(at.victim.connect(2.0))
        time.sleep(1.0)
        cpu_s = _cpu_s(at.victim.pid)
        time.sleep(1.0)
        busy = _cpu_s(at.victim.pid) - cpu_s
        is_alive = at.victim.is_alive()
        for client in clients:
            client.close()
        end_s = time.monotonic() + 15
        while not (is_serving := _serves(at.victim)) and time.monotonic() < end_s:
            time.sleep(0.3)
        size = at.victim.log.stat().st_size
    text = f"{len(clients)} connections on 64 descriptors; alive: {is_alive}, {busy:.2f} s of CPU in a second, {size:,} bytes of log; serves afterwards: {is_serving}"
    if not is_alive or not is_serving:
        return broken(text)
    return held(text) if busy < 0.7 and size < 1_000_000 else degraded(text)


def _serves(victim: Victim) -> bool:
    try:
        return victim.is_serving()
    except OSError:
        return False


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@SUITE.case("5,000 requests do not grow the process", reference=EXHAUSTION, deadline_s=120)
def _growth(stage: Stage) -> Verdict:
    with loaded(stage) as at:
        count = stage.sized(5_000, 800)
        asyncio.run(_send(at.victim, count))
        memory, files = at.victim.memory_mb(), len(list(Path(f"/proc/{at.victim.pid}/fd").iterdir()))
        with polled(at.victim) as stall:
            asyncio.run(_send(at.victim, count))
        grown, more = at.victim.memory_mb() - memory, len(list(Path(f"/proc/{at.victim.pid}/fd").iterdir())) - files
    text = f"{count:,} requests after {count:,}: memory +{grown:.1f} MB, {more} descriptors more, {stall}"
    return held(text) if grown < 30 and more < 20 else broken(text)


async def _send(victim: Victim, count: int) -> None:
    import aiohttp

    body = {"model": "up/ok", "messages": [{"role": "user", "content": "x"}]}
    left = iter(range(count))
    async with aiohttp.ClientSession() as session:

        async def lane() -> None:
            for _ in left:
                async with session.post(f"http://127.0.0.1:{victim.port}/v1/chat/completions", json=body) as response:
                    await response.read()

        await asyncio.gather(*(lane() for _ in range(16)))


# -- the library -------------------------------------------------------------------------------------------------------


def _usage() -> tuple[float, int, int]:
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return (
        int(status.partition("VmRSS:")[2].split()[0]) / 1024,
        len(list(Path("/proc/self/fd").iterdir())),
        threading.active_count(),
    )


@SUITE.case("1,000 decks made, used and closed", reference=EXHAUSTION, deadline_s=240)
def _decks(stage: Stage) -> Verdict:
    count = stage.sized(1_000, 100)
    os.environ["HELMDECK_DATA_DIR"] = str(stage.new_folder())
    config = {"model": "local/lexical", "events": {"sinks": ["traces"]}}

    def use() -> None:
        with make_deck(config=config) as deck:
            deck.rank("draft a post")

    for _ in range(20):
        use()
    memory, files, threads = _usage()
    for _ in range(count):
        use()
    grown, more_files, more_threads = (
        now - before for now, before in zip(_usage(), (memory, files, threads), strict=True)
    )
    text = f"{count:,} decks: memory +{grown:.1f} MB, {more_files} descriptors and {more_threads} threads more"
    return held(text) if grown < 20 and more_files < 5 and more_threads < 3 else broken(text)


@SUITE.case("a process that forks after a deck was used", reference="POSIX fork(); CWE-662", deadline_s=60)
def _fork(stage: Stage) -> Verdict:
    with hostile_upstream() as upstream:
        os.environ["HELMDECK_DATA_DIR"] = str(stage.new_folder())
        config = {
            "model": "up/ok",
            "providers": {"up": {"kind": "openai-compatible", "base_url": upstream.base_url}},
            "events": {"sinks": ["traces"]},
        }
        with make_deck(config=config) as deck:
            first = deck.ask("hi").value
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    text = repr(deck.ask("hi").value)
                except BaseException as exc:
                    text = f"{type(exc).__name__}: {exc}"
                os.write(writing, text.encode()[:500])
                os._exit(0)
            os.close(writing)
            end_s, done = time.monotonic() + 20, 0
            while not done and time.monotonic() < end_s:
                done, _ = os.waitpid(pid, os.WNOHANG)
                time.sleep(0.05)
            if not done:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            found = os.read(reading, 1_000).decode() or "nothing"
            os.close(reading)
            again = deck.ask("hi").value
    text = f"the child gets {found[:120]}; the parent {again!r} afterwards"
    if not done:
        return broken(f"the child hangs; the parent {again!r}")
    if first != again:
        return broken(text)
    return held(text)


@SUITE.case("a reader of standard output that goes away", reference="POSIX SIGPIPE", deadline_s=40)
def _pipe(stage: Stage) -> Verdict:
    folder = stage.new_folder()
    command = [sys.executable, "-m", "helmdeck_core.cli", "catalog", "show"]
    pipe = subprocess.PIPE
    running = subprocess.Popen(command, cwd=folder, env=clean_environment(folder), stdout=pipe, stderr=pipe)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    errors = running.stderr.read()
    code = running.wait(30)
    text = f"exit code {code}, {len(errors)} bytes on standard error"
    return held(text) if b"Traceback" not in errors and code != 1 else broken(f"{text}: {errors[-150:]!r}")


@SUITE.each(
    {f"{name} during a plan": sign for name, sign in (("SIGINT", signal.SIGINT), ("SIGTERM", signal.SIGTERM))},
    reference=OPERATION,
    deadline_s=40,
)
def _interrupted(stage: Stage, sign: signal.Signals) -> Verdict:
    load_modules()
    with hostile_upstream() as upstream:
        folder = stage.new_folder()

        async def hang(_: Exchange) -> None:
            await asyncio.sleep(30)

        upstream.behaviours["hang"] = hang
        (folder / "helmdeck.toml").write_text(
            f'model = "up/hang"\n[providers.up]\nkind = "openai-compatible"\nbase_url = "{upstream.base_url}"\n',
            encoding="utf-8",
        )

        def interrupt() -> None:
            pid = os.getpid()

            def send() -> None:
                time.sleep(1.0)
                os.kill(pid, sign)

            threading.Thread(target=send, daemon=True).start()

        start_s = time.monotonic()
        done = cli(folder, "ask", "hello", before=interrupt, timeout_s=15)
        seconds = time.monotonic() - start_s
    text = f"exit code {done.returncode} after {seconds:.1f} s: {' '.join(done.stderr.decode().split())[:80]}"
    return (
        held(text)
        if done.returncode in (130, 143, -2, -15) and seconds < 5 and b"Traceback" not in done.stderr
        else broken(text)
    )
