"""Recorded payloads of all vendors, scored, where they are at hand.

They lie outside of the repository: ``BENCH_DATA`` names a directory beside which ``fixtures/wire`` stands.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCH = Path(os.environ.get("BENCH_DATA") or ROOT.parent / "shared" / "bench")
SCORER = BENCH.parent / "fixtures" / "wire" / "score.py"
WHOLE = 0.97
FAMILIES = {
    *("openai-chat", "openai-responses", "anthropic-messages", "gemini", "ollama-native"),
    *("bedrock-converse", "cohere-v2"),
}


@pytest.fixture(scope="module")
def scores():
    """Dialect to files, files read whole, files of a dialect that is not spoken, and files that raised."""
    if not SCORER.is_file():
        pytest.skip(f"no scorer at {SCORER}; BENCH_DATA names a directory beside which fixtures/wire stands")
    command = [sys.executable, str(SCORER), "--path", str(ROOT), "--adapter", "benchmarks.adapters:wire"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = re.findall(r"(?m)^(\S+) +files +(\d+) +whole +(\d+) +unspoken +(\d+) +raised +(\d+)", ran.stdout)
    return {dialect: tuple(map(int, counts)) for dialect, *counts in found}


def test_the_recorded_payloads_are_read_whole(scores):
    files, whole, unspoken, raised = scores["all"]
    assert (raised, whole / (files - unspoken) >= WHOLE) == (0, True), scores


def test_every_family_of_providers_is_spoken(scores):
    spoken = {dialect for dialect, (files, _, unspoken, _) in scores.items() if unspoken < files}
    assert spoken >= FAMILIES, sorted(scores)
