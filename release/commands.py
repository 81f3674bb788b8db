"""Runs commands of the release, and reports what fails."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class ReleaseError(Exception):
    """Something that a release needs does not hold."""


def run(
    *command: str | Path,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 1_800,
) -> str:
    """Run a command and return its standard output.

    :param env: variables beside those of this process.
    :raises ReleaseError: it fails; the error has the end of its output.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=timeout_s
    )
    if done.returncode:
        output = "\n".join((done.stdout + done.stderr).strip().splitlines()[-30:])
        raise ReleaseError(f"{' '.join(words[:6])}: exit code {done.returncode}\n{output}")
    return done.stdout


def module(name: str, *arguments: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a module of this environment as a command, and return its standard output."""
    return run(sys.executable, "-m", name, *arguments, cwd=cwd, env=env)


def script(name: str, *arguments: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a program that is installed in this environment, whether or not the environment is activated."""
    return run(Path(sys.executable).with_name(name), *arguments, cwd=cwd, env=env)


def report(lines: Sequence[str]) -> None:
    """Print lines at once."""
    print("\n".join(lines), flush=True)
