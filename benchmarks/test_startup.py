"""Start-up time of a fresh interpreter, which every command pays."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from helmdeck_testing.deck_factory import make_deck

COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "import": ["-c", "import helmdeck_core"],
    "hooks": ["-m", "helmdeck_core.cli", "hooks"],
    "plan offline": ["-m", "helmdeck_core.cli", "plan", "--model", "local/lexical", "draft a blog post"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_command(benchmark: Any, arguments: list[str]) -> None:
    benchmark.group = "start-up"
    run = benchmark.pedantic(
        subprocess.run,
        ([sys.executable, *arguments],),
        {"capture_output": True, "check": True},
        rounds=5,
        warmup_rounds=1,
    )
    assert run.returncode == 0


def test_make_a_deck(benchmark: Any) -> None:
    benchmark.group = "start-up"
    benchmark(make_deck)
