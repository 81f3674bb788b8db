"""The processes of deploy/compose.yaml on ports of this machine, with the configuration files of deploy/."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from benchmarks.gateway_bill import ROOT
from helmdeck_testing import write_distribution

DEPLOY = ROOT / "deploy"
TRANSPORT_SOURCE = ROOT / "contrib_transports" / "aiohttp" / "src"
KEY = "key-of-the-deployment-benchmark"
START_S = 90.0
PRICES = """
[budgets."openai/gpt-4o-mini"]
input_cost_usd_per_mtok = 0.15
output_cost_usd_per_mtok = 0.60
"""
"""Nothing else is added to the configuration."""


def free_ports(count: int) -> list[int]:
    """Return ports that no server listens on."""
    with contextlib.ExitStack() as stack:
        return [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


def get(port: int, path: str) -> tuple[int, bytes]:
    """Send a GET request; the status is 0 where nothing listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    return 0, b""


def wait_for(port: int, path: str) -> None:
    """Wait until a server answers with 200."""
    end_s = time.monotonic() + START_S
    while get(port, path)[0] != 200:
        if time.monotonic() > end_s:
            raise RuntimeError(f"no answer to GET http://127.0.0.1:{port}{path} within {START_S:.0f} s")
        time.sleep(0.05)


@attrs.define
class Deployment:
    """Two gateways, the balancer and Prometheus.

    :ivar port: the balancer.
    :ivar exit_codes: those of gateways that were stopped by SIGTERM.
    """

    folder: Path
    environ: Mapping[str, str]
    port: int
    gateway_ports: list[int]
    prometheus_port: int
    gateways: dict[int, subprocess.Popen[bytes]] = attrs.field(factory=dict)
    exit_codes: list[int] = attrs.field(factory=list)

    def start(self, index: int) -> None:
        """Start a gateway, and wait until it is ready."""
        home = self.folder / f"gateway-{index + 1}"
        home.mkdir(exist_ok=True)
        environ = {**os.environ, **self.environ, "HOME": str(home), "HELMDECK_DATA_DIR": str(home)}
        environ["PYTHONPATH"] = ":".join(map(str, (ROOT, ROOT / "plugins", TRANSPORT_SOURCE, self.folder)))
        environ["HELMDECK_CONFIG"] = str(self.folder / "helmdeck.toml")
        command = [
            sys.executable,
            "-m",
            "helmdeck_core.cli",
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.gateway_ports[index]),
        ]
        log = (self.folder / f"gateway-{index + 1}.log").open("ab")
        self.gateways[index] = subprocess.Popen(
            [*command, "--workers", "2"], cwd=home, env=environ, stderr=log, start_new_session=True
        )
        wait_for(self.gateway_ports[index], "/readyz")

    def kill(self, index: int) -> None:
        """Kill all processes of a gateway, as the end of its container does."""
        os.killpg(self.gateways[index].pid, signal.SIGKILL)
        self.gateways[index].wait()

    def stop(self, index: int) -> None:
        """Stop a gateway as container runtimes do."""
        self.gateways[index].send_signal(signal.SIGTERM)
        self.exit_codes.append(self.gateways[index].wait(70))


@contextlib.contextmanager
def running(folder: Path, environ: Mapping[str, str]) -> Iterator[Deployment]:
    """Start the deployment."""
    balancer, first, second, prometheus = free_ports(4)
    write_distribution(folder, "helmdeck-transport-aiohttp", {"aiohttp": "helmdeck_transport_aiohttp"}, {})
    config = (DEPLOY / "config" / "helmdeck.toml").read_text(encoding="utf-8")
    (folder / "helmdeck.toml").write_text(config + PRICES, encoding="utf-8")
    hosts = {
        "gateway-1:8930": f"127.0.0.1:{first}",
        "gateway-2:8930": f"127.0.0.1:{second}",
        "bind :8930": f"bind 127.0.0.1:{balancer}",
    }
    files = {}
    for path in (DEPLOY / "haproxy" / "haproxy.cfg", DEPLOY / "prometheus" / "prometheus.yml"):
        text = path.read_text(encoding="utf-8").replace("scrape_interval: 15s", "scrape_interval: 1s")
        for name, local in hosts.items():
            text = text.replace(name, local)
        files[path.name] = folder / path.name
        files[path.name].write_text(text, encoding="utf-8")
    deployment = Deployment(folder, environ, balancer, [first, second], prometheus)
    commands = [
        ["haproxy", "-db", "-q", "-f", str(files["haproxy.cfg"])],
        ["prometheus", f"--config.file={files['prometheus.yml']}", f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{prometheus}", "--log.level=error"],
    ]  # fmt: skip
    others: list[subprocess.Popen[bytes]] = []
    try:
        for index in (0, 1):
            deployment.start(index)
        others += [subprocess.Popen(command, cwd=folder) for command in commands]
        wait_for(balancer, "/readyz")
        wait_for(prometheus, "/-/ready")
        yield deployment
    finally:
        for process in others:
            process.kill()
            process.wait()
        for index in deployment.gateways:
            with contextlib.suppress(ProcessLookupError):
                deployment.kill(index)


# -- Prometheus ------------------------------------------------------------------------------------------------


def query(deployment: Deployment, expression: str) -> tuple[int, Any]:
    """Return the status and the result of an expression."""
    status, data = get(deployment.prometheus_port, f"/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
    return status, json.loads(data or b"{}").get("data", {}).get("result", [])


def value(deployment: Deployment, expression: str) -> int:
    """Return the single value of an expression; 0 without one."""
    _, rows = query(deployment, expression)
    return int(float(rows[0]["value"][1])) if rows else 0


def scraped(deployment: Deployment) -> tuple[int, int]:
    """Return how many gateways Prometheus reads, and the requests that it has seen counted; a kill loses the last second."""
    end_s = time.monotonic() + 20
    while (up := value(deployment, 'sum(up{job="helmdeck"})')) < 2 and time.monotonic() < end_s:
        time.sleep(0.2)
    return up, value(deployment, 'sum(increase(helmdeck_gateway_requests_total{endpoint="chat"}[10m]))')


def panels(deployment: Deployment) -> list[str]:
    """Return the expressions of the dashboard that Prometheus refuses."""
    dashboard = json.loads((DEPLOY / "grafana" / "helmdeck.json").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    filled = [re.sub(r"\$__(range|rate_interval|interval)", "5m", each) for each in expressions]
    return [each for each in filled if query(deployment, each)[0] != 200]
