"""Helmdeck's configuration of the model: what the product itself proposes for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

PLAIN: Mapping[str, Any] = {
    "enforces_schema": True,
    "prompt_variant": "single_pick",
    "max_catalog_bytes": 4_000,
    "output_tokens": 400,
    "input_tokens": 6_000,
}
"""The row of a small model whose server takes a JSON Schema, where ``doctor`` proposes none."""


COMMAND = "import sys; from helmdeck_core.cli.runner import main; sys.exit(main())"


@attrs.frozen
class Proposal:
    """The settings that ``helmdeck doctor --model`` proposes for the model.

    :ivar source: where the row is from, for the page.
    """

    row: Mapping[str, Any]
    source: str


def proposed(provider: str, model: str, url: str, seconds: float) -> Proposal:
    """Let ``helmdeck doctor --model`` examine the model; without a usable proposal, return the row of any small model."""
    model_id = f"{provider}/{model}"
    command = [sys.executable, "-c", COMMAND, "doctor", "--model", model_id, "--seconds", f"{seconds:g}", "--json"]
    try:
        ran = subprocess.run(
            command,
            env=environment_of(provider, url),
            capture_output=True,
            text=True,
            timeout=4 * seconds + 60,
            check=False,
        )
        tables = json.loads(ran.stdout)["settings"]
        (row,) = (each["values"] for each in tables if each["table"] == ["budgets", model_id])
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as exc:
        return Proposal(PLAIN, f"the row of any small model, since doctor proposed none ({type(exc).__name__})")
    if "enforces_schema" not in row:
        return Proposal(
            {**PLAIN, **row}, "the row of any small model, and helmdeck doctor --model, whose time ended early"
        )
    return Proposal(row, "helmdeck doctor --model")


def kept_proposal(path: Path) -> Proposal | None:
    """Return the proposal of the measurement that is continued; ``None`` if it kept none."""
    return Proposal(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def environment_of(provider: str, url: str) -> dict[str, str]:
    """Return the environment of a command that is to use the server, without other settings of Helmdeck."""
    found = {name: value for name, value in os.environ.items() if not name.startswith("HELMDECK_")}
    return {**found, f"HELMDECK_PROVIDERS__{provider.upper()}__BASE_URL": url, "HELMDECK_CONFIG": os.devnull}
