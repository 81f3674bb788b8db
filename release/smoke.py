"""Uses an installed Helmdeck as a user would; ``environments`` runs it with the Python of a clean environment, in an empty folder.

It imports nothing of the checkout. Its argument is JSON with what should be installed; it prints one line, or fails.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

HELMDECK = Path(sys.executable).with_name("helmdeck")
ANSWER = "High tide is at noon."
TOKENS = {"prompt_tokens": 7, "completion_tokens": 6, "total_tokens": 13}
CHAT = {
    "id": "1",
    "object": "chat.completion",
    "model": "tides",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}],
    "usage": TOKENS,
}
COHERE = {
    "id": "1",
    "finish_reason": "COMPLETE",
    "message": {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    "usage": {"tokens": {"input_tokens": 7, "output_tokens": 6}},
}
CONFIG = """
[providers.acme]
kind = "openai-compatible"
base_url = "{url}/v1"
"""
CONTRIBS = """
[providers.cohere]
base_url = "{url}/v2"
api_key = "file:cohere.key"

[providers.tape.options]
file = "tape.jsonl"
"""


class Upstream(BaseHTTPRequestHandler):
    """A scripted server with two APIs."""

    def do_POST(self) -> None:
        """Answer every request alike."""
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(CHAT if self.path.startswith("/v1") else COHERE).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def upstream() -> Iterator[str]:
    """Serve on a free port of this machine, and yield the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def helmdeck(*arguments: str) -> str:
    """Run a command and return its standard output."""
    command = [str(HELMDECK), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (
        f"helmdeck {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    )
    assert "left out" not in done.stderr, done.stderr
    return done.stdout


def check_versions(versions: dict[str, str]) -> None:
    """Everything is installed in the expected version, from site-packages."""
    for name, expected in versions.items():
        assert version(name) == expected, f"{name} is {version(name)}, not {expected}"
    assert expected_line(versions) in helmdeck("--version"), helmdeck("--version")
    core = importlib.import_module("helmdeck_core")
    assert "site-packages" in str(core.__file__), core.__file__


def expected_line(versions: dict[str, str]) -> str:
    """The version that ``helmdeck --version`` prints."""
    return versions["helmdeck"]


def check_names() -> int:
    """Import every public name of every package; return their number."""
    packages = sorted(name for name, owners in packages_distributions().items() if "helmdeck" in owners)
    names = [
        (package, name) for package in packages for name in getattr(importlib.import_module(package), "__all__", ())
    ]
    for package, name in names:
        getattr(importlib.import_module(package), name)
    return len(names)


def check_offline() -> None:
    """Plan, read a malformed response, and list the plugins, without a model or a network."""
    plan = json.loads(helmdeck("plan", "--json", "draft a blog post about tides"))
    assert plan["steps"][0]["tool"] == "blog.draft", plan
    Path("response.txt").write_text('<think>so</think>```json\n{"steps": [],}\n```', encoding="utf-8")
    decoded = json.loads(helmdeck("decode", "--json", "response.txt"))
    assert decoded["value"] == {"steps": []}, decoded


def check_plugins(expected: list[str]) -> int:
    """All installed plugins are loaded; return the number of plugins."""
    plugins = json.loads(helmdeck("plugins", "list", "--json"))["plugins"]
    loaded = {each["name"] for each in plugins if each["source"] == "entry point" and each["error"] is None}
    assert loaded == set(expected), f"loaded: {sorted(loaded)}, expected: {sorted(expected)}"
    return len(plugins)


@contextlib.contextmanager
def gateway() -> Iterator[str]:
    """Run ``helmdeck serve`` on a free port, and yield the URL."""
    command = [str(HELMDECK), "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines = []
    try:
        for line in process.stderr:
            lines.append(line)
            if " on http://127.0.0.1:" in line:
                threading.Thread(target=process.stderr.read, daemon=True).start()
                yield "http://127.0.0.1:" + line.partition(" on http://127.0.0.1:")[2].split()[0].rstrip("/,;.")
                break
        else:
            raise AssertionError("".join(lines))
    finally:
        process.terminate()
        assert process.wait(timeout=30) in (0, -15, 143)


def check_gateway() -> None:
    """A client of OpenAI's API gets the answer of the scripted server through the gateway."""
    with gateway() as url:
        body = {"model": "acme/tides", "messages": [{"role": "user", "content": "When is high tide?"}]}
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            answer: Any = json.load(response)
    assert answer["choices"][0]["message"]["content"] == ANSWER, answer


def ask(model: str) -> None:
    """Ask a model, and check the answer."""
    text = helmdeck("ask", "--model", model, "When is high tide?")
    assert text.strip() == ANSWER, text


def main() -> None:
    """Run all checks."""
    expected = json.loads(sys.argv[1])
    check_versions(expected["versions"])
    names = check_names() if expected["full"] else 0
    check_offline()
    plugins = check_plugins(expected["plugins"])
    with upstream() as url:
        Path("helmdeck.toml").write_text((CONFIG + CONTRIBS * expected["full"]).format(url=url), encoding="utf-8")
        Path("cohere.key").write_text("a-key-of-no-value", encoding="utf-8")
        ask("acme/tides")
        if expected["full"]:
            check_gateway()
            ask("cohere/command-a")
            ask("tape/acme/tides")
    if expected["full"]:
        ask("tape/acme/tides")  # the server is gone: the recorded response is replayed
        used = f"plan, decode, ask, serve, cohere and tape; {names} public names imported"
    else:
        used = "plan, decode and ask"
    print(f"{len(expected['versions'])} distributions, {plugins} plugins; {used}")


if __name__ == "__main__":
    main()
