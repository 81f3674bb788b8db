"""The bill of the gateway after kills: what ``helmdeck usage export`` prints, against what the provider charged.

::

    python -m benchmarks.gateway_bill            # 50 kills, 4,000 calls
    python -m benchmarks.gateway_bill --quick    # 50 kills, 1,500 calls

Workers of a running gateway are killed while clients call it; every second call is a stream. Each call has a key of its own, so that
the bill of each call can be compared with the charge: a settled call must cost exactly its charge, and a call that was under way
in a killed worker at least that.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import http.server
import io
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import attrs

from helmdeck_core.cli import main as helmdeck
from helmdeck_gateway import KeyRecord, create_key, open_store
from helmdeck_gateway.accounts.ledger import LEASE_S

ROOT = Path(__file__).resolve().parents[1]
TEAMS = ("ads", "maps", "research", "search")
LANES = 8
WORKERS = 2
INPUT_NUSD, OUTPUT_NUSD = 1_000, 2_000
"""Prices per token: a whole number of nano US dollars, so that no rounding hides a difference."""

PROMPT = "Summarize the following notes in one sentence. " * 18
CONFIG = """
model = "up/m"

[providers.up]
kind = "openai-compatible"
base_url = "{url}/v1"

[budgets."up/"]
input_cost_usd_per_mtok = 1.0
output_cost_usd_per_mtok = 2.0
output_tokens = 200

[gateway]
workers = {workers}
store = "sqlite:{folder}/gateway.db"
requires_keys = true
"""


class Provider(http.server.BaseHTTPRequestHandler):
    """A provider that notes what it charges for each call, before it answers."""

    protocol_version = "HTTP/1.1"
    charges: ClassVar[dict[int, int]] = {}
    prices: ClassVar[tuple[int, int]] = (INPUT_NUSD, OUTPUT_NUSD)

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = int(body["messages"][-1]["content"].rpartition("#")[2])
        usage = {"prompt_tokens": 150 + number % 61, "completion_tokens": 50 + number % 131}
        usage["total_tokens"] = sum(usage.values())
        nusd = usage["prompt_tokens"] * self.prices[0] + usage["completion_tokens"] * self.prices[1]
        self.charges[number] = self.charges.get(number, 0) + nusd
        time.sleep(0.002 * (1 + number % 17))
        with contextlib.suppress(OSError):  # a killed worker does not read the rest
            (self._stream if body.get("stream") else self._whole)(number, usage)

    def _whole(self, number: int, usage: dict[str, int]) -> None:
        message = {"role": "assistant", "content": f"answer {number}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        data = json.dumps({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        self._head("application/json", len(data))
        self.wfile.write(data)

    def _stream(self, number: int, usage: dict[str, int]) -> None:
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"content": f"part {part} of {number} "}}]} for part in range(6)
        ]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks.append({"choices": [], "usage": usage})
        events = [f"data: {json.dumps({'id': 'c', **each})}\n\n".encode() for each in chunks] + [b"data: [DONE]\n\n"]
        self._head("text/event-stream", sum(map(len, events)))
        for each in events:
            self.wfile.write(each)
            time.sleep(0.003)

    def _head(self, kind: str, size: int) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(size))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server whose clients may be killed."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that were reset."""


@attrs.frozen(kw_only=True)
class Outcome:
    """The result; amounts in nano US dollars.

    :ivar lost: calls that were under way in a killed worker.
    :ivar wrong: settled calls whose bill is not their charge, and lost ones with a lower bill; 0 is right.
    """

    kills: int
    calls: int
    answered: int
    lost: int
    wrong: int
    charged_nusd: int
    billed_nusd: int
    lost_charged_nusd: int
    lost_billed_nusd: int
    by_team: dict[str, tuple[int, int]]

    def text(self) -> str:
        """Return the result as text."""
        settled = self.billed_nusd - self.lost_billed_nusd, self.charged_nusd - self.lost_charged_nusd
        lines = [
            f"{self.kills} kills, {self.calls:,} calls, {self.answered:,} answered, {self.lost} under way in a killed worker",
            f"settled calls: billed ${_usd(settled[0])}, charged ${_usd(settled[1])}, difference ${_usd(settled[0] - settled[1])}",
            f"calls of killed workers: billed ${_usd(self.lost_billed_nusd)} (estimates), charged ${_usd(self.lost_charged_nusd)}",
            f"bill: ${_usd(self.billed_nusd)}, provider: ${_usd(self.charged_nusd)}; calls with a wrong bill: {self.wrong}",
        ]
        lines += [f"  {team}: billed ${_usd(b)}, charged ${_usd(c)}" for team, (b, c) in sorted(self.by_team.items())]
        return "\n".join(lines)


def _usd(nusd: int) -> str:
    return f"{Decimal(nusd).scaleb(-9):.9f}"


def measure(kills: int, calls: int, folder: Path, seed: int) -> Outcome:
    """Run the clients, kill workers, and compare the bill with the charges."""
    url = f"sqlite:{folder / 'gateway.db'}"
    keys = asyncio.run(_make_keys(url, calls))
    provider = Server(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file = folder / "helmdeck.toml"
    address = f"http://127.0.0.1:{provider.server_port}"
    file.write_text(CONFIG.format(url=address, folder=folder, workers=WORKERS), encoding="utf-8")
    os.environ["HELMDECK_DATA_DIR"] = str(folder)
    command = [
        sys.executable,
        "-m",
        "helmdeck_core.cli",
        "serve",
        "--config",
        str(file),
        "--no-plugins",
        "--port",
        str(port),
    ]
    gateway = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        answered, done = _call_all(port, keys, gateway.pid, kills, random.Random(seed))
    finally:
        gateway.send_signal(signal.SIGTERM)
        gateway.wait(60)
        provider.shutdown()
    lost = asyncio.run(_end_leases(url, folder, [key_id for key_id, _ in keys]))
    by_key = {row["key_id"]: _nusd(row["spent_usd"]) for row in _export(file, "key")}
    charges = {keys[number][0]: nusd for number, nusd in Provider.charges.items()}
    wrong = [
        key_id
        for key_id, _ in keys
        if (
            by_key.get(key_id, 0) < charges.get(key_id, 0)
            if key_id in lost
            else by_key.get(key_id, 0) != charges.get(key_id, 0)
        )
    ]
    teams = {row["team"]: _nusd(row["spent_usd"]) for row in _export(file, "team")}
    assert sum(teams.values()) == sum(by_key.values())
    charged = {
        team: sum(charges.get(keys[n][0], 0) for n in range(index, calls, len(TEAMS)))
        for index, team in enumerate(TEAMS)
    }
    return Outcome(
        kills=done, calls=calls, answered=answered, lost=len(lost), wrong=len(wrong),
        charged_nusd=sum(charges.values()), billed_nusd=sum(by_key.values()),
        lost_charged_nusd=sum(charges.get(each, 0) for each in lost),
        lost_billed_nusd=sum(by_key.get(each, 0) for each in lost),
        by_team={team: (teams.get(team, 0), charged[team]) for team in TEAMS},
    )  # fmt: skip


async def _make_keys(url: str, calls: int) -> list[tuple[str, str]]:
    """The id and the secret of a key for each call."""
    store, found = open_store(url), []
    for number in range(calls):
        record = KeyRecord(name=f"k{number}", id="", digest="", caller="bench", team=TEAMS[number % len(TEAMS)])
        made = await create_key(store, record)
        found.append((made.record.id, made.secret))
    await store.aclose()
    return found


def _call_all(port: int, keys: list[tuple[str, str]], pid: int, kills: int, chance: random.Random) -> tuple[int, int]:
    """Call with every key; return the number of answers, and of kills."""
    answered, done, killed = 0, 0, 0
    kill_at = sorted(chance.uniform(0.02, 0.95) * len(keys) for _ in range(kills))
    with ThreadPoolExecutor(LANES) as pool:
        for is_answered in pool.map(
            lambda each: _call(port, *each), ((n, secret) for n, (_, secret) in enumerate(keys))
        ):
            answered, done = answered + is_answered, done + 1
            while kill_at and done >= kill_at[0]:
                kill_at.pop(0)
                workers = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
                if workers:
                    os.kill(int(chance.choice(workers)), signal.SIGKILL)
                    killed += 1
    return answered, killed


def _call(port: int, number: int, secret: str) -> bool:
    """One call of a client, which is repeated only while no worker accepts connections."""
    messages = [{"role": "user", "content": f"{PROMPT}#{number}"}]
    body = {"model": "up/m", "messages": messages, "stream": number % 2 == 0, "max_tokens": 200}
    headers = {"content-type": "application/json", "authorization": f"Bearer {secret}"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException):
            return False
    return response.status == 200 and (b"[DONE]" in data or b"answer" in data)


async def _end_leases(url: str, folder: Path, accounts: list[str]) -> set[str]:
    """Let the leases of killed workers end, and return their accounts."""
    store = open_store(url)
    for account in accounts:
        await store.usage(account, now_s=time.time() + LEASE_S + 1)
    await store.aclose()
    with contextlib.closing(sqlite3.connect(folder / "gateway.db")) as connection:
        return {
            str(account) for (account,) in connection.execute("SELECT account FROM gateway_calls WHERE is_open = 0")
        }


def _export(file: Path, by: str) -> list[dict[str, str]]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if helmdeck(["usage", "export", "--by", by, "--json", "--config", str(file), "--no-plugins"]) != 0:
            raise RuntimeError("the export failed")
    rows: list[dict[str, str]] = json.loads(out.getvalue())["rows"]
    return rows


def _nusd(text: str) -> int:
    return int(Decimal(text).scaleb(9))


def _wait_for(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError("the gateway did not start")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--calls", type=int, default=None)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    calls = arguments.calls or (1_500 if arguments.quick else 4_000)
    with tempfile.TemporaryDirectory() as folder:
        print(measure(arguments.kills, calls, Path(folder), arguments.seed).text())


if __name__ == "__main__":
    main()
