"""The commands that know MCP servers: catalog show, run, plan, doctor and config check."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from helmdeck_core.cli import main

RAW_SERVER = Path(__file__).with_name("raw_mcp_server.py")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with two servers, one of which does not exist."""
    tools = [
        {"name": "weather", "description": "Show the weather.\u001b[31m", "inputSchema": {"type": "object"}},
        {"name": "ansi", "inputSchema": {"type": "object"}},
    ]
    args = ["-S", "-E", str(RAW_SERVER), json.dumps({"tools": tools})]
    lines = [
        "[catalog.mcp.met]", f"command = {json.dumps(sys.executable)}", f"args = {json.dumps(args)}",
        "[catalog.mcp.gone]", 'command = "no-such-program-here"', 'env = { TOKEN = "file:no-such-file" }',
        "[plugins]", "autoload = false",
    ]  # fmt: skip
    (tmp_path / "helmdeck.toml").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_catalog_show_lists_tools_and_problems(capsys):
    assert main(["catalog", "show", "--ids"]) == 0
    out, err = capsys.readouterr()
    assert [name for name in out.split() if "__" in name] == ["met__weather", "met__ansi"]
    assert "warning: catalog.mcp.gone: TOKEN: file:" in err


def test_plan_and_run(capsys):
    assert main(["plan", "show the weather", "--json"]) == 0
    assert [step["tool"] for step in json.loads(capsys.readouterr().out)["steps"]] == ["met__weather"]
    assert main(["run", "met__weather", "--input", "city=Oslo"]) == 0
    assert json.loads(capsys.readouterr().out) == {"text": '{"city": "Oslo"}'}


def test_a_failure_has_an_exit_code_and_no_terminal_sequence(capsys):
    assert main(["run", "met__ansi"]) == 4
    err = capsys.readouterr().err
    assert "gone evil" in err
    assert "\x1b" not in err


def test_doctor_starts_the_servers(capsys):
    main(["doctor", "--json"])
    findings = {each["subject"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert (findings["mcp.met"]["state"], findings["mcp.met"]["text"]) == ("ok", "2 entries")
    assert findings["mcp.gone"]["state"] == "warn"
    assert "the file cannot be read" in findings["mcp.gone"]["text"]


def test_config_check_starts_nothing(capsys, folder):
    assert main(["config", "check"]) == 0
    err = capsys.readouterr().err
    assert (
        f"warning: catalog.mcp.gone.env.TOKEN: file:{folder}/no-such-file: the file cannot be read or is empty" in err
    )
    assert "not started: 2 configured MCP servers; `helmdeck doctor` starts them" in err


def test_config_check_reports_mistakes_of_servers(capsys, folder):
    (folder / "helmdeck.toml").write_text('[catalog.mcp.a]\ncomand = "x"\n[catalog.mcp.b]\n', encoding="utf-8")
    assert main(["config", "check"]) == 2
    err = capsys.readouterr().err
    assert "catalog.mcp.a.comand: unknown option (did you mean 'command'?)" in err
    assert "catalog.mcp.b: takes one of command and url" in err
