"""``helmdeck serve`` as a process, in front of a failing model and a fallback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

KINDS: Mapping[str, str] = {"chat": "openai-compatible", "responses": "responses", "messages": "anthropic"}
"""The kind of a provider that speaks an API."""


def settings(primary: str, fallback: str, api: str = "chat") -> dict[str, Any]:
    """Return the configuration: default settings, one fallback, and one model for every name.

    :param primary: the base URL of the first model; ``fallback`` likewise.
    :param api: the API of both.
    """
    return {
        "providers": {
            "first": {"kind": KINDS[api], "base_url": primary},
            "spare": {"kind": KINDS[api], "base_url": fallback},
        },
        "fallback": {"first/": ["spare/m"]},
        "gateway": {"models": {"*": "first/m"}},
    }


@contextlib.contextmanager
def serving(config: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Run the command within a ``with`` block; yields the base URL without ``/v1``.

    :raises RuntimeError: it ends before it accepts requests.
    """
    file = folder / "gateway.toml"
    file.write_text("".join(_toml("", config)))
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    command = [sys.executable, "-m", "helmdeck_core.cli", "--config", str(file), "--no-plugins", "serve", "--port", "0"]
    log = folder / "gateway.log"
    with log.open("w") as errors:
        ran = subprocess.Popen(command, env={**os.environ, **home}, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert ran.stderr is not None
        found = None
        for line in ran.stderr:
            errors.write(line.decode())
            if found := re.search(r"on (http://[\d.]+:\d+)", line.decode()):
                break
    try:
        if found is None:
            raise RuntimeError(f"helmdeck serve ended: {log.read_text()[-2000:]}")
        yield found.group(1)
    finally:
        ran.terminate()
        ran.wait()
        ran.stderr.close()


def _toml(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a table and the tables in it; strings, numbers and lists of TOML are those of JSON."""
    yield f"[{name}]\n" if name else ""
    for key, value in table.items():
        if not isinstance(value, Mapping):
            yield f"{json.dumps(key)} = {json.dumps(value)}\n"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _toml(f"{name}.{json.dumps(key)}".lstrip("."), value)
