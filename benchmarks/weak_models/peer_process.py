"""Installs the peers, each in an environment of its own, and talks to them."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = Path.home() / ".cache" / "helmdeck-peers"
PACKAGES: Mapping[str, Sequence[str]] = {
    "openai_tools": ("openai",),
    "instructor": ("instructor",),
    "pydantic_ai": ("pydantic-ai-slim[openai]",),
    "outlines": ("outlines[openai]",),
    "typed_gguf": ("typed-gguf==0.3.0",),
}


class NotInstalled(Exception):
    """A peer cannot be used; the message is the reason."""


def python_of(peer: str) -> Path:
    """Return the interpreter of a peer's environment; create it where it is missing.

    :raises NotInstalled: its packages cannot be installed.
    """
    folder = ENVIRONMENTS / peer
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        if not (folder / "lib").exists() or not python.exists():
            venv.create(folder, with_pip=True)
        print(f"installing {', '.join(PACKAGES[peer])}", file=sys.stderr, flush=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[peer]]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            lines = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
            raise NotInstalled(lines[-1])
        done.touch()
    return python


class PeerProcess:
    """A peer that runs jobs one after another.

    :param url: what the peer calls, with the model that it requests; for a peer that calls no server, two other words.
    :ivar versions: versions of its libraries.
    :raises NotInstalled: it cannot be installed or started.
    """

    def __init__(self, peer: str, url: str, model: str) -> None:
        self._command = [str(python_of(peer)), "-m", "benchmarks.weak_models.peers", peer, url, model]
        self._start()

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by close)
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self.versions: Mapping[str, str] = self._read().get("versions", {})

    def run(self, job: Mapping[str, Any], seconds: float | None = None) -> Mapping[str, Any]:
        """Do one job and return its result.

        :param seconds: after which the peer is started again, and the result is a failure; for a peer that no proxy stops.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        if seconds is not None and not select.select([self._process.stdout], [], [], seconds)[0]:
            self.close()
            self._start()
            return {"failure": "timeout", "message": f"no result after {seconds:.0f} s"}
        return self._read()

    def _read(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                found: Mapping[str, Any] = json.loads(line)
                return found
        self._process.wait()
        self._errors.seek(0)
        errors = self._errors.read().strip().splitlines()
        raise NotInstalled(errors[-1] if errors else "its process ended")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()
