"""Redis and PostgreSQL servers of the benchmark's own, which can be restarted; their data is removed at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

Restart = Callable[[], None]


def free_port() -> int:
    """A port that no server uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def redis_server() -> Iterator[tuple[str, Restart] | None]:
    """URL and restart of a server that writes every command to disk; ``None`` without ``redis-server``."""
    if shutil.which("redis-server") is None:
        yield None
        return
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        options = f"--port {port} --bind 127.0.0.1 --dir {folder} --save '' --appendonly yes --appendfsync always"
        process = start(["sh", "-c", f"exec redis-server {options}"], port)

        def restart() -> None:
            nonlocal process
            process.terminate()
            process.wait()
            process = start(["sh", "-c", f"exec redis-server {options}"], port)

        try:
            yield f"redis://127.0.0.1:{port}/0", restart
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def postgres_server() -> Iterator[tuple[str, Restart] | None]:
    """URL and restart of a server; ``None`` without PostgreSQL's programs."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    where = shutil.which("pg_ctl")
    if not programs and where is None:
        yield None
        return
    binaries, port = Path(where).parent if where else programs[-1], free_port()
    # The server refuses to run as root.
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = tempfile.mkdtemp()
    if prefix:
        shutil.chown(folder, "postgres")
    data = f"{folder}/data"

    def control(*words: str) -> None:
        command = [*prefix, str(binaries / "pg_ctl"), "-D", data, "-w", "-s", "-l", f"{folder}/log", *words]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder}"
    command = [*prefix, str(binaries / "initdb"), "-D", data, "-A", "trust", "-U", "bench"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        control("start", "-o", options)
        yield (
            f"postgresql://bench@127.0.0.1:{port}/postgres",
            lambda: control("restart", "-m", "fast", "-o", options),
        )
    finally:
        control("stop", "-m", "immediate")
        shutil.rmtree(folder, ignore_errors=True)


def start(command: list[str], port: int) -> subprocess.Popen[bytes]:
    """Start a server and wait until it accepts connections."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return process
    raise RuntimeError(f"{command[0]} ended with {process.returncode}")
