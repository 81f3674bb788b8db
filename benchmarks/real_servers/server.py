"""Starts llama.cpp's two servers, built by ``build.sh``, with a tiny model."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.real_servers.tiny_gguf import model

READY_S = 60.0
STOP_S = 10.0


@attrs.frozen(kw_only=True)
class Program:
    """A server program.

    :ivar variable: environment variable with its path.
    :ivar options: command-line options with placeholders for model, context and port.
    :ivar ready: URL path that returns 200 once the model is loaded.
    """

    name: str
    variable: str
    options: str
    ready: str

    def path(self) -> str | None:
        """Return the path of the program, or ``None``."""
        path = os.environ.get(self.variable, "")
        return path if Path(path).is_file() else None

    def missing(self) -> str:
        """Return instructions for a missing program."""
        return f"set {self.variable} to {self.name}; benchmarks/real_servers/build.sh builds it"


PROGRAMS: Mapping[str, Program] = {
    each.name: each
    for each in (
        Program(
            name="llama-server",
            variable="BENCH_LLAMA_SERVER",
            options="-m {model} -c {context} --port {port} --parallel 1 --jinja --alias tiny -t 1 --host 127.0.0.1",
            ready="/health",
        ),
        Program(
            name="llama-cpp-python",
            variable="BENCH_LLAMA_CPP_PYTHON",
            options="--model {model} --n_ctx {context} --port {port} --model_alias tiny --n_threads 1 --host 127.0.0.1",
            ready="/v1/models",
        ),
    )
}


@contextlib.contextmanager
def serve(program: Program, kind: str, folder: Path, *, context: int) -> Iterator[str]:
    """Serve a model for the duration of a ``with`` block; yield the base URL.

    :param folder: directory for the model file.
    :param context: context window in tokens.
    :raises FileNotFoundError: the program is missing.
    :raises RuntimeError: the server exited during start-up.
    :raises TimeoutError: the server is not ready in time.
    """
    binary = program.path()
    if binary is None:
        raise FileNotFoundError(program.missing())
    file = folder / f"{kind}.gguf"
    file.write_bytes(model(kind))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = program.options.format(model=file, context=context, port=port).split()
    with running([binary, *options], f"http://127.0.0.1:{port}{program.ready}"):
        yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def running(
    command: Sequence[str], ready: str, *, ready_s: float = READY_S, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server program for the duration of a ``with`` block, which begins once the server is ready; yield its process.

    :param ready: URL that answers with 200 once the model is loaded.
    :param env: variables in addition to those of this process.
    :raises RuntimeError: the server exited during start-up.
    :raises TimeoutError: the server is not ready in time.
    """
    variables = {**os.environ, **(env or {})}
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _await_ready(ready, process, ready_s)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:  # llama-server sometimes hangs while it shuts down
                process.kill()


def _await_ready(url: str, process: subprocess.Popen[bytes], ready_s: float) -> None:
    end = time.monotonic() + ready_s
    while True:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        if time.monotonic() > end:
            raise TimeoutError(f"{url} is not ready after {ready_s:g} s")
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise RuntimeError(f"the server exited with code {process.wait(0.05)} during start-up")
