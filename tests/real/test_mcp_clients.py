"""Clients of others against ``helmdeck mcp``: the SDK for Python as a process, the SDK for JavaScript, the official inspector.

``MCP_NODE_MODULES`` names the folder ``node_modules`` in which the packages ``@modelcontextprotocol/sdk`` and
``@modelcontextprotocol/inspector`` are installed, ``MCP_NODE`` the program ``node``; what is missing is skipped.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

COMMAND = [sys.executable, "-m", "helmdeck_core.cli", "--config", os.devnull, "--no-plugins", "mcp"]

SCRIPT = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }));
const names = (await client.listTools()).tools.map((tool) => tool.name);
const plan = await client.callTool({ name: "helmdeck__plan", arguments: { intent: "search the web for cats" } });
const failed = await client.callTool({ name: "helmdeck__plan", arguments: { intent: "" } });
const found = await client.callTool({ name: "helmdeck__search", arguments: { query: "search the web" } });
const models = await client.readResource({ uri: "helmdeck://models" });
const prompt = await client.getPrompt({ name: "plan", arguments: { intent: "x" } });
await client.close();
console.log(JSON.stringify({ names, plan, failed, found, models, prompt }));
"""


def node():
    """The program; skips the test without it."""
    program = os.environ.get("MCP_NODE") or shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    return program


def package(name):
    """The folder of an npm package; skips the test without it."""
    modules = os.environ.get("MCP_NODE_MODULES")
    if not modules:
        pytest.skip("MCP_NODE_MODULES does not name a folder node_modules")
    folder = Path(modules) / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not installed in {modules}")
    return folder


def test_python_sdk_over_standard_input_and_output(tmp_path):
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters

    async def main():
        server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "--facade"], cwd=tmp_path)
        async with Client(server) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return (
                client.protocol_version,
                names,
                await client.call_tool("helmdeck__plan", {"intent": "search the web"}),
            )

    version, names, plan = asyncio.run(main())
    assert version == "2026-07-28"
    assert "helmdeck__search" in names and "helmdeck__route" not in names
    assert plan.structured_content["steps"][0]["tool"] == "web.search"


def test_standard_output_has_only_the_protocol_and_the_end_of_input_ends_the_server(tmp_path):
    start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "no-such-tool", "arguments": {}}},
    ]
    config = tmp_path / "helmdeck.toml"
    config.write_text('log_level = "TRACE"\n')
    command = [word if word != os.devnull else str(config) for word in COMMAND]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, cwd=tmp_path, **pipes) as server:
        server.stdin.write("not json\n" + "".join(json.dumps(line) + "\n" for line in lines))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline())]
        while answers[-1].get("id") != 2:
            answers.append(json.loads(server.stdout.readline()))
        rest, _ = server.communicate(timeout=30)
    assert (server.returncode, rest) == (0, "")
    assert answers[-1]["result"]["isError"] is True and 1 in {answer.get("id") for answer in answers}


def test_javascript_sdk(tmp_path):
    package("@modelcontextprotocol/sdk")
    (tmp_path / "node_modules").symlink_to(os.environ["MCP_NODE_MODULES"])
    script = tmp_path / "client.mjs"
    script.write_text(SCRIPT)
    command = [node(), str(script), *COMMAND, "--facade"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["names"] == ["helmdeck__search", "helmdeck__describe", "helmdeck__call", "helmdeck__plan"]
    assert seen["plan"]["structuredContent"]["steps"][0]["tool"] == "web.search"
    assert seen["failed"]["isError"] is True
    assert seen["failed"]["structuredContent"]["error"]["cause"] == "invalid_input"
    assert seen["found"]["structuredContent"]["tools"][0]["name"] == "web__search"
    assert json.loads(seen["models"]["contents"][0]["text"])["default"] == "local/lexical"
    assert "The request:\nx" in seen["prompt"]["messages"][0]["content"]["text"]


def inspect(tmp_path, *words):
    folder = package("@modelcontextprotocol/inspector")
    program = json.loads((folder / "package.json").read_text())["bin"]["mcp-inspector"]
    # The inspector takes options behind the command for its own, except those of a configuration file.
    settings = {"mcpServers": {"deck": {"type": "stdio", "command": COMMAND[0], "args": COMMAND[1:]}}}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(settings))
    command = [node(), str(folder / program), "--cli", "--config", str(file), "--server", "deck", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_inspector_lists_and_calls(tmp_path):
    names = [tool["name"] for tool in inspect(tmp_path, "--method", "tools/list")["tools"]]
    assert names[:2] == ["helmdeck__plan", "helmdeck__route"]
    call = ("--method", "tools/call", "--tool-name", "helmdeck__plan", "--tool-arg", "intent=search the web for cats")
    assert inspect(tmp_path, *call)["structuredContent"]["steps"][0]["tool"] == "web.search"
    uris = [each["uri"] for each in inspect(tmp_path, "--method", "resources/list")["resources"]]
    assert "helmdeck://routing-guide" in uris
