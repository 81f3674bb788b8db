"""The gateway as a process on loopback, raw connections to it, and what can be seen of it from outside."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.attacks.runner import ROOT, clean_environment
from helmdeck_gateway.accounts import changes
from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.records import KeyRecord, Limits, Usage

READ_S = 20.0
MAX_STALL_S = 1.0
"""Longest time that ``/healthz`` may take, beyond what the machine itself delayed the poller."""


@attrs.frozen
class Reply:
    """A response of the gateway.

    :ivar status: 0 if the connection ended without a response.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as a string."""
        return self.body.decode("utf-8", "replace")


@attrs.define
class Victim:
    """A running gateway.

    :ivar folder: its home and working folder.
    :ivar log: the file with its standard error.
    """

    process: subprocess.Popen[bytes]
    host: str
    port: int
    folder: Path
    log: Path

    @property
    def pid(self) -> int:
        """Its process id; that of the parent if there are workers."""
        return self.process.pid

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def send(
        self,
        path: str = "/v1/chat/completions",
        body: Any = None,
        *,
        key: str = "",
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = READ_S,
    ) -> Reply:
        """Send a request and read its response; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {
            "content-type": "application/json",
            **({"authorization": f"Bearer {key}"} if key else {}),
            **(headers or {}),
        }
        with contextlib.closing(connection):
            try:
                with contextlib.suppress(
                    BrokenPipeError, ConnectionResetError
                ):  # it may answer before the end of a body
                    connection.request(method, path, data, sent)
                response = connection.getresponse()
                found = {name.lower(): value for name, value in response.getheaders()}
                return Reply(response.status, found, response.read())
            except (ConnectionError, http.client.HTTPException):
                return Reply(0)

    def chat(
        self, model: str, *, key: str = "", timeout_s: float = READ_S, headers: Any = None, **fields: Any
    ) -> Reply:
        """Send a chat completion request."""
        body = {"model": model, "messages": [{"role": "user", "content": "hello"}], **fields}
        return self.send(body=body, key=key, timeout_s=timeout_s, headers=headers)

    def connect(self, timeout_s: float = READ_S) -> socket.socket:
        """Open a connection."""
        return socket.create_connection((self.host, self.port), timeout=timeout_s)

    def raw(self, *parts: bytes, timeout_s: float = 3.0, is_one: bool = False) -> RawReply:
        """Send bytes, and read until the connection ends or is idle for some time.

        :param is_one: stop at the end of the first response.
        """
        with contextlib.closing(self.connect(timeout_s)) as client:
            with contextlib.suppress(OSError):
                for part in parts:
                    client.sendall(part)
            received, is_closed = b"", False
            with contextlib.suppress(TimeoutError):
                while True:
                    try:
                        data = client.recv(65_536)
                    except ConnectionError:
                        data = b""
                    if not data:
                        is_closed = True
                        break
                    received += data
                    if is_one and _is_whole(received):
                        break
            return RawReply(received, is_closed)

    def memory_mb(self) -> float:
        """Resident memory of the process and its children."""
        return sum(_memory_mb(pid) for pid in (self.pid, *children_of(self.pid)))

    def log_text(self) -> str:
        """What it has written to standard error so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def is_serving(self, model: str = "up/ok", *, key: str = "") -> bool:
        """Whether it answers another client completely."""
        reply = self.chat(model, key=key, timeout_s=10)
        return reply.status == 200 and b"hello" in reply.body


@attrs.frozen
class RawReply:
    """Bytes of a connection.

    :ivar is_closed: the gateway has closed the connection.
    """

    data: bytes
    is_closed: bool

    @property
    def statuses(self) -> list[int]:
        """The status of each response, without interim ones."""
        found = [
            int(part.split(b" ", 2)[1][:3]) for part in self.data.split(b"HTTP/1.1 ")[1:] for part in [b"x " + part]
        ]
        return [status for status in found if status >= 200]


def _is_whole(received: bytes) -> bool:
    head, end, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def _memory_mb(pid: int) -> float:
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024
    return 0.0


def children_of(pid: int) -> list[int]:
    """Process ids of the children of a process, and of theirs."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split():
            found += [int(child), *children_of(int(child))]
    return found


@contextlib.contextmanager
def gateway(
    folder: Path, config: str, *options: str, environ: Mapping[str, str] | None = None, preexec: Any = None
) -> Iterator[Victim]:
    """Run ``helmdeck serve`` with a configuration, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "helmdeck.toml").write_text(config, encoding="utf-8")
    log = folder / "stderr.txt"
    with log.open("wb") as file:
        started = subprocess.Popen(
            [sys.executable, "-m", "helmdeck_core.cli", "serve", "--port", "0", *options],
            cwd=folder, env=clean_environment(folder, **(environ or {})), stdout=file, stderr=file, preexec_fn=preexec,
        )  # fmt: skip
    try:
        yield Victim(started, "127.0.0.1", _port_of(started, log), folder, log)
    finally:
        stop(started)


def stop(process: subprocess.Popen[Any]) -> None:
    """Kill a process with its children."""
    pids = children_of(process.pid)
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _port_of(started: subprocess.Popen[bytes], log: Path, limit_s: float = 30.0) -> int:
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        text = log.read_text(encoding="utf-8", errors="replace")
        if "http://127.0.0.1:" in text:
            return int(text.partition("http://127.0.0.1:")[2].split("\n")[0].split(";")[0].split("/")[0].split()[0])
        if started.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"the gateway did not start: {log.read_text(encoding='utf-8', errors='replace')[-400:]}")


def create_key(
    folder: Path,
    name: str,
    *,
    url: str = "",
    expires_s: float | None = None,
    models: Sequence[str] | None = None,
    **limits: Any,
) -> str:
    """Create a key in the store of a gateway.

    :param url: the store; by default, the file in the data directory of its folder.
    :param limits: fields of ``Limits``.
    """

    async def create() -> str:
        store = open_store(url or store_url(folder))
        allowed = None if models is None else tuple(models)
        record = KeyRecord(
            name=name, id="", digest="", caller=name, limits=Limits(**limits), models=allowed, expires_s=expires_s
        )
        made = await changes.create_key(store, record)
        await store.aclose()
        return made.secret

    return asyncio.run(create())


def store_url(folder: Path) -> str:
    """The store in the data directory of a gateway's folder."""
    return f"sqlite:{folder / '.helmdeck' / 'gateway.db'}"


def usage_of(url: str, key: str, *, later_s: float = 0.0) -> Usage:
    """What a key has used by now, or will have used at a later time if nothing happens."""

    async def read() -> Usage:
        store = open_store(url)
        usage = await store.usage(key.split("-")[1], now_s=time.time() + later_s)
        await store.aclose()
        return usage

    return asyncio.run(read())


@attrs.frozen
class Done:
    """A command that has ended.

    :ivar returncode: its exit code; minus the signal that ended it.
    """

    returncode: int
    stdout: bytes
    stderr: bytes


class TooLong(Exception):
    """A command was killed after its time limit."""


def cli(
    folder: Path,
    *words: str,
    environ: Mapping[str, str] | None = None,
    path: Sequence[Path] = (),
    timeout_s: float = 60.0,
    before: Callable[[], None] = lambda: None,
) -> Done:
    """Run a command in a folder, in a process that is forked from this one: its modules are loaded already.

    :param path: folders that are put in front of the module path.
    :param before: is called in the process first.
    :raises TooLong: it has not ended in time.
    """
    from helmdeck_core.cli import main

    outputs = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115 - closed below
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            os.environ.clear()
            os.environ.update(clean_environment(folder, **(environ or {})))
            os.chdir(folder)
            with Path(os.devnull).open(encoding="utf-8") as nothing:
                os.dup2(nothing.fileno(), 0)
            for number, file in enumerate(outputs, 1):
                os.dup2(file.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = (
                open(number, mode, closefd=False)  # noqa: SIM115
                for number, mode in ((0, "r"), (1, "w"), (2, "w"))
            )
            sys.path[:0] = map(str, path)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for background processes
            sys.argv = ["helmdeck", *words]
            before()
            code = main(list(words))
        except SystemExit as exc:
            code = exc.code if isinstance(exc.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            _end(code)
    try:
        status = _waited(pid, timeout_s)
        for file in outputs:
            file.seek(0)
        return Done(os.waitstatus_to_exitcode(status), *(file.read() for file in outputs))
    finally:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        for file in outputs:
            file.close()


def _end(code: int) -> None:
    """End a forked process as the interpreter does: threads and functions at exit first."""
    with contextlib.suppress(BaseException):
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        atexit._run_exitfuncs()  # noqa: SLF001
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _waited(pid: int, timeout_s: float) -> int:
    end_s = time.monotonic() + timeout_s
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > end_s:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise TooLong(f"no end within {timeout_s:g} s")
        time.sleep(0.01)


def load_modules() -> None:
    """Load what commands use, so that forked ones start at once."""
    from helmdeck_testing import make_deck

    with make_deck(config={"model": "local/lexical"}) as deck:
        deck.plan("draft a blog post")


@attrs.define
class Stall:
    """The longest delay of ``/healthz`` while a block ran, in seconds.

    :ivar noise_s: the longest delay of the poller itself, which a busy machine causes.
    """

    longest_s: float = 0.0
    noise_s: float = 0.0

    @property
    def seconds(self) -> float:
        """The delay that the gateway caused."""
        return max(0.0, self.longest_s - self.noise_s)

    def __str__(self) -> str:
        return f"/healthz within {self.longest_s:.2f} s"


@contextlib.contextmanager
def polled(victim: Victim) -> Iterator[Stall]:
    """Poll ``/healthz`` every 20 ms from another process."""
    command: Sequence[str] = [sys.executable, "-m", "benchmarks.attacks.poller", victim.host, str(victim.port)]
    poller = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert poller.stdout is not None
    poller.stdout.readline()
    stall = Stall()
    try:
        yield stall
    finally:
        out, _ = poller.communicate(timeout=READ_S + 10)
        stall.longest_s, stall.noise_s = json.loads(out)
