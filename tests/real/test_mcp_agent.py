"""An agent over the published filesystem and memory MCP servers; programs that are not installed are skipped.

They are found in the folders of the environment variable ``MCP_SERVERS``, which is a list like ``PATH``, and in ``PATH``.
"""

import asyncio
import json
import os
import shutil

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from helmdeck_runs import Agent, AgentOutcome
from helmdeck_testing import make_deck, scripted_provider

FACT = "Gannet 2 was released on 9 October."


def program(name):
    folders = os.pathsep.join(filter(None, (os.environ.get("MCP_SERVERS"), os.environ.get("PATH"))))
    if (found := shutil.which(name, path=folders)) is None:
        package = name.removeprefix("mcp-")
        pytest.skip(
            f"{name} is not installed: npm install @modelcontextprotocol/{package}, and its folder in MCP_SERVERS"
        )
    return found


def step(tool, **args):
    return {"order": 1, "tool": tool, "args": args, "rationale": "requested"}


def test_fact_is_stored_and_a_file_is_written_after_a_confirmation(tmp_path):
    folder = tmp_path.resolve()
    files, memory = program("mcp-server-filesystem"), program("mcp-server-memory")
    servers = {
        "files": {"command": files, "args": [str(folder)], "start_timeout_s": 60},
        "memory": {"command": memory, "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}, "start_timeout_s": 60},
    }
    entity = {"name": "Gannet 2", "entityType": "model", "observations": [FACT]}
    fact = "{{steps.1.structured.entities[0].observations[0]}}"
    plan = {
        "steps": [
            step("memory__create_entities", entities=[entity]),
            step("files__write_file", path=str(folder / "post.md"), content=f"# Gannet 2\n\n{fact}\n"),
            step("files__read_text_file", path=str(folder / "post.md")),
        ],
        "complexity": "pack-chain",
        "reasoning": "ok",
    }
    confirmed = []

    def confirm(step):
        confirmed.append(step.entry_id)
        return True

    config = {
        "model": "scripted/any",
        "catalog": {"sources": [], "mcp": servers},
        "budgets": {"scripted": {"tier": "A"}},
    }
    with make_deck(scripted_provider([json.dumps(plan)]), config=config) as deck:
        run = asyncio.run(Agent(deck, confirm=confirm).arun("remember this, write a post about it, and show it"))
    assert run.outcome is AgentOutcome.DONE, run.reason
    assert FACT in (folder / "post.md").read_text(encoding="utf-8")
    assert FACT in (folder / "memory.jsonl").read_text(encoding="utf-8")
    assert FACT in run.outputs[3]["text"]
    # The servers annotate reading as read-only.
    assert confirmed == ["memory__create_entities", "files__write_file"]
