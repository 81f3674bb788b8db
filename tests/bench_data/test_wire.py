"""Recorded payloads of all vendors, scored, if they are available.

The data are not in the repository: ``BENCH_DATA`` names a directory next to ``fixtures/wire``.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks import adapters
from helmdeck_core import CallFailed, ChatRequest, ChatResponse, Message, Role, TextPart
from helmdeck_providers import HttpProvider
from helmdeck_testing import Chunks, provider_settings

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


def test_recorded_payloads_are_read_completely(scores):
    files, whole, unspoken, raised = scores["all"]
    assert (raised, whole / (files - unspoken) >= WHOLE) == (0, True), scores


def test_every_provider_family_is_supported(scores):
    spoken = {dialect for dialect, (files, _, unspoken, _) in scores.items() if unspoken < files}
    assert spoken >= FAMILIES, sorted(scores)


# -- HTTP ----------------------------------------------------------------------------------------------------

KINDS = {"bedrock-converse": "application/vnd.amazon.eventstream", "ollama-native": "application/x-ndjson"}
ASK = ChatRequest(model="recorded/model", messages=(Message(Role.USER, (TextPart("hi"),)),))


@pytest.fixture(scope="module")
def recorded():
    """Dialect to recordings."""
    if not SCORER.is_file():
        pytest.skip(f"no recordings beside {SCORER}")
    found = defaultdict(list)
    for line in (SCORER.parent / "expected.jsonl").read_text(encoding="utf-8").splitlines():
        fixture = json.loads((SCORER.parent / json.loads(line)["file"]).read_text(encoding="utf-8"))
        found[fixture["dialect"]].append(fixture)
    return found


def answered(dialect, fixture):
    """The recording as a server response."""
    headers = {name: value for name, value in (fixture.get("headers") or {}).items() if name.lower() != "content-type"}
    if not fixture["stream"] or fixture["status"] != 200:
        return fixture["status"], {**headers, "content-type": "application/json"}, json.dumps(fixture["body"])
    interface = adapters.INTERFACES[dialect]
    pieces = [piece for event in fixture["events"] for piece in adapters.pieces(interface, event)]
    return Chunks(pieces, headers={**headers, "content-type": KINDS.get(dialect, "text/event-stream")})


async def response_facts(provider, fixture):
    deltas = []
    try:
        if not fixture["stream"]:
            return adapters.said(await provider.complete(ASK))
        async for piece in provider.stream(ASK):
            if isinstance(piece, ChatResponse):
                return adapters.said(piece)
            deltas.append(piece)
    except CallFailed as exc:
        return adapters.broken(deltas, exc) if fixture["status"] == 200 else adapters.refused(exc)


@pytest.mark.parametrize("dialect", sorted(adapters.INTERFACES))
def test_response_over_http_equals_the_parsed_recording(recorded, chat_server, dialect):
    background = adapters.INTERFACES[dialect].background
    # Recordings cannot answer the polling of a background response.
    fixtures = [
        each for each in recorded[dialect] if each["stream"] or background is None or not background.path(each["body"])
    ]
    answers = iter([answered(dialect, each) for each in fixtures])
    server = chat_server(lambda body: next(answers))

    async def ask():
        settings = provider_settings("recorded", base_url=server.base_url)
        provider = HttpProvider(settings, adapters.deck().runtime, adapters.INTERFACES[dialect])
        try:
            return [await response_facts(provider, each) for each in fixtures]
        finally:
            await provider.aclose()

    for fixture, found in zip(fixtures, asyncio.run(ask()), strict=True):
        assert found == adapters.wire(fixture), fixture["label"]
