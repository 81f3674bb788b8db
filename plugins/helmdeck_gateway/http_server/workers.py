"""Several processes that serve one listening socket, and the parent that starts them again when they end.

Each worker is the command line of the parent with an option more; nothing is shared but the socket. Workers notice the end of
the parent by a pipe, and stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import struct
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import attrs

from helmdeck_cli import counted
from helmdeck_core.cli import ExitCode, note

FAST_S: Final = 5.0
"""A worker that ends sooner after its start is started again with a delay."""
MAX_DELAY_S: Final = 30.0
KILL_AFTER_S: Final = 5.0
"""Seconds beyond the time for requests under way until a worker is killed."""

SAME_S: Final = 10.0
"""Seconds within which several workers report the same event."""

_PID: Final = struct.Struct("<I")


@attrs.frozen(kw_only=True)
class WorkerPipes:
    """What a worker gets from its parent, file descriptors above all.

    :ivar listener: the listening socket.
    :ivar ready: the end of a pipe to which a worker writes when it accepts requests.
    :ivar alive: the end of a pipe that is at its end when the parent has ended.
    :ivar folder: a folder for the metrics and messages of the workers.
    """

    listener: int
    ready: int
    alive: int
    folder: str

    @classmethod
    def read(cls, text: str) -> WorkerPipes:
        """Return the descriptors of an option.

        :raises ValueError: it is not three numbers and a path.
        """
        listener, ready, alive, folder = text.split(":", 3)
        return cls(listener=int(listener), ready=int(ready), alive=int(alive), folder=folder)

    def __str__(self) -> str:
        return f"{self.listener}:{self.ready}:{self.alive}:{self.folder}"

    def report_start(self) -> None:
        """Tell the parent that this worker accepts requests."""
        with contextlib.suppress(OSError):  # it has ended meanwhile
            os.write(self.ready, _PID.pack(os.getpid()))

    def report(self, message: str) -> None:
        """Show the operator a message that every worker reports, such as that of a reload, once."""
        claim = Path(self.folder, hashlib.blake2b(message.encode(), digest_size=8).hexdigest())
        try:
            claim.touch(exist_ok=False)
        except FileExistsError:
            if time.time() - claim.stat().st_mtime < SAME_S:
                return
            claim.touch()
        except OSError:  # the parent has ended and removed the folder
            pass
        note(message)

    def on_end_of_parent(self, stop: Callable[[], None]) -> None:
        """Call ``stop`` on the running loop when the parent has ended."""
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(self.alive)
            stop()

        loop.add_reader(self.alive, ended)


class Supervisor:
    """Starts workers and keeps their number.

    :param command: the command line of a worker, without the option for its pipes.
    :param listener: the descriptor of the listening socket.
    :param drain_s: seconds that requests under way get when everything stops.
    :param on_started: is called once, when all workers accept requests.
    """

    def __init__(
        self, command: Sequence[str], listener: int, count: int, *, drain_s: float, on_started: Callable[[], None]
    ) -> None:
        self._command = command
        self._listener = listener
        self._count = count
        self._drain_s = drain_s
        self._on_started = on_started
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._started: set[int] = set()
        self._stopping = asyncio.Event()
        self._has_announced = False
        self._code = int(ExitCode.OK)

    async def run(self) -> int:
        """Run until a signal ends it; return the exit code."""
        loop = asyncio.get_running_loop()
        self._ready, ready_end = os.pipe()
        alive_end, self._alive = os.pipe()
        os.set_blocking(self._ready, False)
        folder = tempfile.mkdtemp(prefix="helmdeck-gateway-")
        self._pipes = WorkerPipes(listener=self._listener, ready=ready_end, alive=alive_end, folder=folder)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        loop.add_reader(self._ready, self._note_starts)
        keepers = [asyncio.create_task(self._keep()) for _ in range(self._count)]
        try:
            await self._stopping.wait()
            done, late = await asyncio.wait(keepers, timeout=self._drain_s + KILL_AFTER_S)
            if late:
                note(f"killing {counted(len(late), 'worker')} that did not stop in time")
                self._send(signal.SIGKILL)
                await asyncio.wait(late)
            for keeper in (*done, *late):
                keeper.result()
        finally:
            loop.remove_reader(self._ready)
            for end in (self._ready, ready_end, alive_end, self._alive):
                os.close(end)
            shutil.rmtree(folder, ignore_errors=True)
        return self._code

    async def _keep(self) -> None:
        """Run one worker, and another one each time it ends."""
        loop, delay_s = asyncio.get_running_loop(), 0.0
        while not self._stopping.is_set():
            start_s = loop.time()
            ended, code, has_started = await self._run_once()
            if self._stopping.is_set():
                return
            if not self._has_announced and not has_started:
                self._code = code if code > 0 else int(ExitCode.UNEXPECTED)
                self._stop()  # why is printed already; the others would fail in the same way
                return
            is_early = loop.time() - start_s < FAST_S
            delay_s = min(max(1.0, delay_s * 2), MAX_DELAY_S) if is_early and not has_started else 0.0
            note(f"{ended}; another one is started" + (f" in {delay_s:g} s" * bool(delay_s)))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay_s)

    async def _run_once(self) -> tuple[str, int, bool]:
        """Run one worker; return how it ended in words, its exit code, and whether it accepted requests."""
        try:
            process = await self._start()
        except OSError as exc:  # such as too many processes
            note(f"a worker cannot be started: {exc}")
            return "a worker could not be started", int(ExitCode.UNEXPECTED), False
        code = await process.wait()
        self._running.pop(process.pid, None)
        has_started = process.pid in self._started
        self._started.discard(process.pid)
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"worker {process.pid} ended {how}", code, has_started

    async def _start(self) -> asyncio.subprocess.Process:
        pipes = self._pipes
        process = await asyncio.create_subprocess_exec(
            *self._command,
            "--worker",
            str(pipes),
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=(pipes.listener, pipes.ready, pipes.alive),
            # Ctrl-C in a terminal reaches the parent alone, which passes it on once.
            process_group=0,
        )
        self._running[process.pid] = process
        if self._stopping.is_set():
            self._send(signal.SIGTERM)
        return process

    def _note_starts(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._ready, _PID.size * 1_024)
            self._started.update(pid for (pid,) in _PID.iter_unpack(data))
        if not self._has_announced and len(self._started) >= self._count:
            self._has_announced = True
            self._on_started()

    def _stop(self) -> None:
        self._stopping.set()
        self._send(signal.SIGTERM)

    def _reload(self) -> None:
        """Pass the signal on to workers that handle it; the others look at their files when they have started."""
        self._send(signal.SIGHUP, self._started)

    def _send(self, number: signal.Signals, only: Collection[int] | None = None) -> None:
        for pid, process in self._running.items():
            if only is not None and pid not in only:
                continue
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
