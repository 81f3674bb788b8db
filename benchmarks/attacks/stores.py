"""Stores: full, read-only, locked, corrupted, of another version, killed while they write, cut off, and clocks that jump."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs

from benchmarks.attacks.budgets import Bank, running
from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held
from benchmarks.attacks.victim import TooLong, cli, create_key, load_modules, polled, usage_of
from helmdeck_gateway.stores.records import NANO
from helmdeck_testing import make_deck

SUITE = Suite("stores")
FAULTS = "CWE-703; CWE-755; SQLite, How To Corrupt"
PLAN = ("plan", "remember this and draft a blog post about it", "--json")
RUN = ("pipeline", "run", "research-to-blog", "--dry-run")
DATA = ".helmdeck"
DUMPS = Path(__file__).resolve().parents[2] / "tests" / "data" / "storage"


def planned(folder: Path, **more: Any) -> tuple[str, int]:
    """Plan in a folder with a history and traces; return a description, and the number of steps."""
    start_s = time.monotonic()
    try:
        run = cli(folder, *PLAN, timeout_s=40.0, **more)
    except TooLong:
        return "no plan within 40 s", 0
    try:
        steps = len(json.loads(run.stdout)["steps"])
    except (ValueError, KeyError):
        steps = 0
    warning = "a warning" if b"warning" in run.stderr else "no warning"
    trace = ", a traceback" if b"Traceback" in run.stderr else ""
    return f"exit code {run.returncode}, {steps} steps in {time.monotonic() - start_s:.1f} s, {warning}{trace}", steps


@contextlib.contextmanager
def _template(stage: Stage) -> Iterator[Path]:
    """The files of a plan and a key, which are made once."""
    load_modules()
    folder = stage.new_folder()
    (folder / "helmdeck.toml").write_text('model = "local/lexical"\n[events]\nsinks = ["traces"]\n', encoding="utf-8")
    planned(folder)
    create_key(folder, "first")
    yield folder


def with_data(stage: Stage) -> Path:
    """A folder whose data directory has the files of a plan, a key and a run."""
    folder = stage.new_folder()
    shutil.copytree(stage.use(_template), folder, dirs_exist_ok=True)
    return folder


def files_of(folder: Path) -> list[Path]:
    """The databases of a data directory."""
    return sorted(path for path in (folder / DATA).rglob("*.db") if path.is_file())


def judged(text: str, steps: int) -> Verdict:
    """A plan is made in every state of the stores."""
    if steps < 2:
        return broken(text)
    return degraded(text) if "Traceback" in text else held(text)


# -- disks -------------------------------------------------------------------------------------------------------------


def _full() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))


@SUITE.case("a full disk during a plan", reference=FAULTS, deadline_s=60)
def _full_plan(stage: Stage) -> Verdict:
    folder = stage.new_folder()
    (folder / "helmdeck.toml").write_text('model = "local/lexical"\n[events]\nsinks = ["traces"]\n', encoding="utf-8")
    return judged(*planned(folder, before=_full))


@SUITE.case("a full disk when a key is created", reference=FAULTS)
def _full_key(stage: Stage) -> Verdict:
    run = cli(stage.new_folder(), "keys", "create", "ann", before=_full)
    text = " ".join(run.stderr.decode().split())[:150]
    if run.returncode == 0 or b"hd-" in run.stdout or b"Traceback" in run.stderr:
        return broken(f"exit code {run.returncode}: {text}")
    return held(f"exit code {run.returncode}: {text}")


@SUITE.case("a full disk under a gateway", reference=FAULTS, deadline_s=60)
def _full_gateway(stage: Stage) -> Verdict:
    with _bank(stage) as at:
        key = at.key("ann", 1.0)
        at.victim.chat("up/ok", key=key)
        largest = max(path.stat().st_size for path in (at.victim.folder / DATA).rglob("*") if path.is_file())
        hard = resource.prlimit(at.victim.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(at.victim.pid, resource.RLIMIT_FSIZE, (4_096, hard))
        statuses = [at.victim.chat("up/ok", key=key).status for _ in range(5)]
        resource.prlimit(at.victim.pid, resource.RLIMIT_FSIZE, (hard, hard))
        after = [at.victim.chat("up/ok", key=key).status for _ in range(3)]
    text = f"statuses {statuses} while nothing can be written, {after} afterwards; files of up to {largest:,} bytes"
    return held(text) if {*statuses} <= {200, 503} and after[-1] == 200 else broken(text)


@contextlib.contextmanager
def read_only(paths: list[Path]) -> Iterator[bool]:
    """Make files and folders read-only, also for root; yields whether that is possible."""
    done = [
        subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False).returncode == 0 for path in paths
    ]
    try:
        yield all(done)
    finally:
        for path in paths:
            subprocess.run(["chattr", "-i", str(path)], capture_output=True, check=False)


@SUITE.case("read-only databases", reference=FAULTS, deadline_s=60)
def _read_only(stage: Stage) -> Verdict:
    folder = with_data(stage)
    with read_only(files_of(folder)) as is_possible:
        verdict = judged(*planned(folder))
    return verdict if is_possible else degraded("files cannot be made read-only on this machine")


@SUITE.case("a read-only data directory", reference=FAULTS, deadline_s=60)
def _read_only_folder(stage: Stage) -> Verdict:
    folder = stage.new_folder()
    (folder / "helmdeck.toml").write_text('model = "local/lexical"\n[events]\nsinks = ["traces"]\n', encoding="utf-8")
    (folder / DATA).mkdir()
    with read_only([folder / DATA]) as is_possible:
        verdict = judged(*planned(folder))
    return verdict if is_possible else degraded("folders cannot be made read-only on this machine")


@SUITE.case("a data directory that cannot exist", reference=FAULTS, deadline_s=60)
def _no_folder(stage: Stage) -> Verdict:
    return judged(*planned(stage.new_folder(), environ={"HELMDECK_DATA_DIR": "/proc/none/data"}))


# -- files that are no databases -----------------------------------------------------------------------------------------


def _noise(path: Path) -> None:
    path.write_bytes(random.Random(7).randbytes(20_000))


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4_096 : 4_096 + 2_000] = b"\xff" * 2_000
    path.write_bytes(data)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _journal(path: Path) -> None:
    path.with_name(path.name + "-wal").write_bytes(b"\x37\x7f\x06\x82" + b"\xff" * 10_000)


def _newer(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE '%\\_schema' ESCAPE '\\'"
        ).fetchall():
            connection.execute(f"UPDATE {table} SET version = 999")
        connection.commit()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "random bytes": _noise, "half a file": _half, "an empty file": _empty, "an overwritten page": _page, "a folder": _folder,
    "a journal of noise": _journal, "a schema of version 999": _newer,
}  # fmt: skip


@SUITE.each(
    {f"{name} in place of history, traces and keys": damage for name, damage in DAMAGES.items()},
    reference=FAULTS,
    deadline_s=90,
)
def _damaged(stage: Stage, damage: Callable[[Path], None]) -> Verdict:
    folder = with_data(stage)
    names = [path.name for path in files_of(folder)]
    for path in files_of(folder):
        for more in path.parent.glob(f"{path.name}-*"):
            more.unlink()
        damage(path)
    before = {path: path.read_bytes() for path in files_of(folder)}
    text, steps = planned(folder)
    keys = cli(folder, "keys", "list")
    doctor = cli(folder, "doctor", "--offline")
    traces = [name for name, run in (("keys list", keys), ("doctor", doctor)) if b"Traceback" in run.stderr]
    text = f"{', '.join(names)}: {text}; keys list: exit code {keys.returncode}"
    if traces:
        return broken(f"{text}; a traceback of {traces}")
    if damage in (_newer, _noise) and any(path.read_bytes() != data for path, data in before.items()):
        return broken(f"{text}; the file was changed")
    return judged(text, steps)


@SUITE.each({f"a database of an earlier release: {name}": name for name in ("history-1", "history-2", "history-3", "traces-1", "gateway-1", "runs-0")},
            reference="CWE-703", deadline_s=60)  # fmt: skip
def _older(stage: Stage, name: str) -> Verdict:
    folder = stage.new_folder()
    kind = name.partition("-")[0]
    (folder / DATA).mkdir()
    path = folder / DATA / f"{kind}.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((DUMPS / f"{name}.sql").read_text(encoding="utf-8"))
    (folder / "helmdeck.toml").write_text('model = "local/lexical"\n[events]\nsinks = ["traces"]\n', encoding="utf-8")
    rows = _rows(path)
    text, steps = planned(folder)
    words = {
        "gateway": ("keys", "list"),
        "runs": ("pipeline", "runs"),
        "history": ("history", "show"),
        "traces": ("explain", "--call", "last"),
    }[kind]
    run = cli(folder, *words)
    text = f"{text}; {' '.join(words)}: exit code {run.returncode}; {rows} rows before, {_rows(path)} after"
    if run.returncode not in (0, 2) or b"Traceback" in run.stderr or _rows(path) < rows:
        return broken(f"{text}: {run.stderr[-150:]!r}")
    return judged(text, steps)


def _rows(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = [
            n
            for (n,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
        ]
        kept = [name for name in names if not name.endswith(("_schema", "_config")) and "_fts" not in name]
        return sum(connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in kept)


# -- locks -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def locked(paths: list[Path]) -> Iterator[None]:
    """Lock databases exclusively."""
    connections = [sqlite3.connect(path, isolation_level=None, check_same_thread=False) for path in paths]
    try:
        for connection in connections:
            connection.execute("PRAGMA busy_timeout = 5000")
            connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        for connection in connections:
            connection.close()


@SUITE.case("history and traces locked by another process for a minute", reference=FAULTS, deadline_s=60)
def _locked(stage: Stage) -> Verdict:
    folder = with_data(stage)
    with locked(files_of(folder)):
        text, steps = planned(folder)
    return judged(text, steps)


@SUITE.case("the store of keys locked by another process for a minute", reference=FAULTS, deadline_s=90)
def _locked_keys(stage: Stage) -> Verdict:
    with _bank(stage) as at:
        key = at.key("ann", 1.0)
        at.victim.chat("up/ok", key=key)
        path = Path(at.url.partition(":")[2])
        with locked([path]), polled(at.victim) as stall:
            start_s = time.monotonic()
            reply = at.victim.chat("up/ok", key=key, timeout_s=60)
            seconds = time.monotonic() - start_s
        after = [at.victim.chat("up/ok", key=key, timeout_s=30).status for _ in range(2)]
    text = f"answered {reply.status} in {seconds:.1f} s, {stall}; {after[-1]} afterwards"
    return (
        held(text)
        if reply.status in (200, 503) and seconds < 30 and stall.seconds < 1 and after[-1] == 200
        else broken(text)
    )


# -- killed ------------------------------------------------------------------------------------------------------------


def _write_for_ever(folder: Path) -> None:
    os.environ["HELMDECK_DATA_DIR"] = str(folder)
    with make_deck(config={"model": "local/lexical", "events": {"sinks": ["traces"]}}) as deck:
        number = 0
        while True:
            number += 1
            deck.plan(f"draft a blog post about number {number}")
            deck.run("image.generate", {"prompt": f"a cat {number}"})
            create_key(folder.parent, f"key{os.getpid()}-{number}", url=f"sqlite:{folder / 'gateway.db'}")


@SUITE.case("killed with SIGKILL at 50 random moments", reference=FAULTS, deadline_s=240)
def _killed(stage: Stage) -> Verdict:
    folder, kills, chance = stage.new_folder() / DATA, stage.sized(50, 8), random.Random(7)
    load_modules()
    damaged: list[str] = []
    for _ in range(kills):
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                _write_for_ever(folder)
            os._exit(1)
        time.sleep(chance.uniform(0.2, 1.2))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            damaged.append("a process could not start on the files of the killed one")
        for path in folder.glob("*.db"):
            with contextlib.closing(sqlite3.connect(path)) as connection:
                found = connection.execute("PRAGMA integrity_check").fetchone()[0]
            if found != "ok":
                damaged.append(f"{path.name}: {found[:60]}")
    rows = {path.name: _rows(path) for path in sorted(folder.glob("*.db"))}
    text = f"{kills} kills, rows {rows}"
    return (
        broken(f"{text}: {damaged[:3]}")
        if damaged or min(rows.values(), default=0) == 0
        else held(f"{text}; every database is intact and was opened again")
    )


# -- clocks ------------------------------------------------------------------------------------------------------------


def shift(seconds: float) -> None:
    """Shift the clock of this process."""
    read, read_ns = time.time, time.time_ns
    time.time = lambda: read() + seconds
    time.time_ns = lambda: read_ns() + int(seconds * 1e9)


@SUITE.each({"the clock set back by a day": -86_400.0, "the clock set forward by a year": 31_536_000.0, "the clock at 1970": -1.8e9},
            reference="CWE-367", deadline_s=90)  # fmt: skip
def _clock(stage: Stage, shift_s: float) -> Verdict:
    folder = with_data(stage)

    def before() -> None:
        shift(shift_s)

    there, steps = planned(folder, before=before)
    back, again = planned(folder)
    last = cli(folder, "explain", "--call", "last")
    keys = cli(folder, "keys", "list", before=before)
    text = f"there: {there}; back: {back}; explain: exit code {last.returncode}, keys list: exit code {keys.returncode}"
    if steps < 2 or again < 2 or last.returncode or keys.returncode or b"Traceback" in last.stderr + keys.stderr:
        return broken(f"{text}: {(last.stderr + keys.stderr)[-150:]!r}")
    return held(text)


@SUITE.case("a spend limit with the clock set back by a day", reference="CWE-367", deadline_s=60)
def _clock_spend(stage: Stage) -> Verdict:
    with _bank(stage) as at:
        key = at.key("ann", 1.0)
        at.victim.chat("up/ok", key=key)
        url, now = at.url, usage_of(at.url, key)
    yesterday = usage_of(url, key, later_s=-86_400.0)
    back = usage_of(url, key)
    text = f"${now.day.spent_nusd / NANO:.6f} today, ${yesterday.day.spent_nusd / NANO:.6f} on the day before, ${back.day.spent_nusd / NANO:.6f} back"
    return (
        held(text) if now.day.spent_nusd == back.day.spent_nusd > 0 and yesterday.day.spent_nusd >= 0 else broken(text)
    )


# -- networks ----------------------------------------------------------------------------------------------------------


@attrs.define
class Wire:
    """A TCP proxy in front of a database.

    :ivar state: ``open``, ``cut`` (connections are closed) or ``silent`` (nothing passes).
    """

    target: tuple[str, int]
    state: str = "open"
    port: int = 0
    _sockets: list[socket.socket] = attrs.field(factory=list)
    _listener: Any = None

    def start(self) -> None:
        """Listen."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, state: str) -> None:
        """Change the state; connections that are open are closed for ``cut``."""
        self.state = state
        if state == "cut":
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close everything."""
        self.set("cut")
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.state == "cut":
                    client.close()
                    continue
                server = socket.create_connection(self.target)
                self._sockets += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                while self.state == "silent":
                    time.sleep(0.05)
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def behind(stage: Stage, store: str) -> Iterator[tuple[Bank, Wire]]:
    """A gateway whose store is reached through a wire."""
    from benchmarks.gateway_limits import stores

    with stores(stage.new_folder()) as found:
        url = dict(found)[store]
        parts = urlsplit(url)
        wire = Wire((parts.hostname or "localhost", parts.port or {"PostgreSQL": 5432, "Redis": 6379}[store]))
        wire.start()
        user = f"{parts.username}{f':{parts.password}' if parts.password else ''}@" if parts.username else ""
        changed = parts._replace(netloc=f"{user}127.0.0.1:{wire.port}").geturl()
        try:
            with running(stage.new_folder(), changed) as at:
                yield at, wire
        finally:
            wire.close()


@SUITE.each({f"{name} whose connections are {state}": (name, state) for name in ("PostgreSQL", "Redis") for state in ("closed", "silent")},
            reference=FAULTS, deadline_s=120)  # fmt: skip
def _network(stage: Stage, row: tuple[str, str]) -> Verdict:
    store, state = row
    with behind(stage, store) as (at, wire):
        key = create_key(at.victim.folder, "ann", url=at.url, day_nusd=NANO)
        first = at.victim.chat("up/ok", key=key).status
        wire.set("cut" if state == "closed" else state)
        with polled(at.victim) as stall:
            start_s = time.monotonic()
            during = at.victim.chat("up/ok", key=key, timeout_s=60).status
            seconds = time.monotonic() - start_s
        wire.set("open")
        end_s = time.monotonic() + 30
        while (after := at.victim.chat("up/ok", key=key, timeout_s=30).status) != 200 and time.monotonic() < end_s:
            time.sleep(0.3)
    text = f"{first} before, {during} in {seconds:.1f} s during, {stall}, {after} afterwards"
    return (
        held(text)
        if (first, after) == (200, 200) and during in (200, 503) and seconds < 35 and stall.seconds < 1
        else broken(text)
    )


@contextlib.contextmanager
def _bank(stage: Stage) -> Iterator[Bank]:
    with running(stage.new_folder()) as at:
        yield at
