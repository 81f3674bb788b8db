"""Published MCP servers, imported together; programs that are not installed are skipped.

They are found in the folders of the environment variable ``MCP_SERVERS``, which is a list like ``PATH``, and in ``PATH``.
"""

import os
import shutil
import subprocess

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from helmdeck_core import PackError
from helmdeck_testing import make_deck

NPM, PYPI = "npm install @modelcontextprotocol/", "pip install "
PROGRAMS = {
    "mcp-server-everything": f"{NPM}server-everything",
    "mcp-server-filesystem": f"{NPM}server-filesystem",
    "mcp-server-memory": f"{NPM}server-memory",
    "mcp-server-sequential-thinking": f"{NPM}server-sequential-thinking",
    "mcp-server-git": f"{PYPI}mcp-server-git",
    "mcp-server-time": f"{PYPI}mcp-server-time",
}


def program(name):
    folders = os.pathsep.join(filter(None, (os.environ.get("MCP_SERVERS"), os.environ.get("PATH"))))
    return shutil.which(name, path=folders)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp").resolve()
    (folder / "notes.txt").write_text("three oranges\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", folder / "repo"], check=True)
    return folder


@pytest.fixture(scope="module")
def deck(folder):
    """A deck over all of them, and a second file server."""
    for name, how in PROGRAMS.items():
        if program(name) is None:
            pytest.skip(f"{name} is not installed: {how}, and its folder in MCP_SERVERS")
    files = program("mcp-server-filesystem")
    servers = {
        "everything": {"command": program("mcp-server-everything")},
        "files": {"command": files, "args": [str(folder)]},
        "repo_files": {"command": files, "args": [str(folder / "repo")]},
        "memory": {
            "command": program("mcp-server-memory"), "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        },
        "thinking": {"command": program("mcp-server-sequential-thinking")},
        "git": {"command": program("mcp-server-git")},
        "time": {"command": program("mcp-server-time")},
    }  # fmt: skip
    for server in servers.values():
        server["start_timeout_s"] = 60
    with make_deck(config={"catalog": {"sources": [], "mcp": servers}}) as made:
        yield made


def test_all_servers_are_imported_into_one_catalog(deck):
    assert len(deck.catalog) >= 60
    assert all(count and not problem for _, count, problem in deck.open_sources["mcp"].status())
    assert {entry.source for entry in deck.catalog.entries} == {
        f"mcp.{name}" for name in ("everything", "files", "repo_files", "memory", "thinking", "git", "time")
    }


def test_a_request_over_three_servers_is_planned_offline_and_run(deck, folder):
    request = (
        f"Read the text file {folder}/notes.txt, then show the git status of the repository "
        "and get the current time in Europe/Oslo"
    )
    plan = deck.plan(request, model="local/lexical", defaults={"repo_path": str(folder / "repo")})
    assert [step.tool for step in plan.steps] == [
        "files__read_text_file",
        "git__git_status",
        "time__get_current_time",
    ]
    texts = [deck.run(step.tool, step.args)["text"] for step in plan.steps]
    assert texts[0] == "three oranges\n"
    assert "No commits yet" in texts[1]
    assert '"timezone": "Europe/Oslo"' in texts[2]


def test_results_of_every_kind(deck):
    assert deck.run("everything__get-sum", {"a": 2, "b": 3})["text"] == "The sum of 2 and 3 is 5."
    weather = deck.run("everything__get-structured-content", {"location": "New York"})
    assert weather["structured"].keys() == {"temperature", "conditions", "humidity"}
    image = deck.run("everything__get-tiny-image", {})
    assert [each["type"] for each in image["attachments"]] == ["image"]
    created = deck.run("memory__create_entities", {"entities": [{"name": "a", "entityType": "b", "observations": []}]})
    assert created["structured"]["entities"][0]["name"] == "a"


def test_progress_of_a_long_call(deck):
    seen = []
    arguments = {"duration": 0.4, "steps": 2}
    deck.run("everything__trigger-long-running-operation", arguments, progress=seen.append)
    assert seen == ["1 of 2", "2 of 2"]


@pytest.mark.parametrize(
    ("entry_id", "arguments", "text"),
    [
        ("files__read_text_file", {"path": "/etc/passwd"}, "Access denied"),
        ("git__git_status", {"repo_path": "/no/such/folder"}, "/no/such/folder"),
        ("time__get_current_time", {"timezone": "Mars/Base"}, "Mars/Base"),
    ],
)
def test_failures(deck, entry_id, arguments, text):
    with pytest.raises(PackError, match=text) as failed:
        deck.run(entry_id, arguments)
    assert failed.value.to_dict()["cause"] == "tool_error"
