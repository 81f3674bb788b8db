"""``helmdeck mcp install`` and ``uninstall``: what is changed in the files of clients, and what is not."""

import io
import json
import stat
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core.cli import ExitCode, main
from helmdeck_mcp.server import clients
from helmdeck_mcp.server.client_files import MAX_BACKUPS, CannotEdit, added, removed, snippet
from helmdeck_mcp.server.clients import CLIENTS
from helmdeck_mcp.server.json_text import with_member, without_member
from tests.case_support import each_case

WORDS = ["/opt/helmdeck", "mcp"]
EVERY = pytest.mark.parametrize("name", list(CLIENTS))
KEY = "sk-" + "a" * 20


@pytest.fixture(autouse=True)
def _home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "APPDATA", "HELMDECK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(clients.sys, "platform", "linux")
    monkeypatch.chdir(tmp_path)


def written(name, text):
    path = CLIENTS[name].path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def data_of(client):
    text = client.path().read_text(encoding="utf-8")
    return tomllib.loads(text) if client.is_toml else json.loads(text)


def entry_of(client):
    table = data_of(client)
    for key in client.keys:
        table = table[key]
    return table["helmdeck"]


@EVERY
def test_entry_is_added_once_and_removed(name):
    client = CLIENTS[name]
    assert added(client, WORDS).write() is None  # there was no file to keep
    assert entry_of(client) == client.entry(WORDS)
    assert not added(client, WORDS).is_needed
    removed(client).write()
    assert not removed(client).is_needed
    assert not client.path().exists() if name == "continue" else "helmdeck" not in client.path().read_text()


@EVERY
def test_other_servers_and_settings_stay(name):
    client = CLIENTS[name]
    if client.is_toml:
        before = 'model = "m"  # the default\n\n[mcp_servers.other]\ncommand = "x"\n\n# about the profile\n[profiles.a]\nb = 1\n'
    else:
        table = {"other": {"command": "x", "args": ["ä", 1.5, None]}}
        before = json.dumps({"theme": "dark", client.keys[0]: table, "z": [1]}, indent=4, ensure_ascii=False) + "\n"
    written(name, before)
    added(client, WORDS).write()
    assert entry_of(client) == client.entry(WORDS)
    removed(client).write()
    assert client.path().read_text(encoding="utf-8") == before


@EVERY
def test_an_older_entry_is_replaced_and_what_the_user_added_stays(name):
    client = CLIENTS[name]
    added(client, ["/old/helmdeck", "mcp"]).write()
    text = client.path().read_text()
    key = '\nenabled_tools = ["a"]' if client.is_toml else '"alwaysAllow": ["a"], '
    head = "[mcp_servers.helmdeck]" if client.is_toml else '"helmdeck": {'
    client.path().write_text(text.replace(head, f"{head}{key}"))
    added(client, WORDS).write()
    entry = entry_of(client)
    assert client.entry(WORDS).items() <= entry.items()
    assert "/old/helmdeck" not in client.path().read_text()
    assert ["a"] in entry.values()


@each_case(
    ("name", "text", "why"),
    [
        ("zed", '{\n  // my theme\n  "theme": "One"\n}\n', "comments"),
        ("vscode", '{"servers": {},}', "trailing commas"),
        ("cursor", "{", "not valid JSON"),
        ("cursor", "[]", "not an object"),
        ("cursor", '{"mcpServers": []}', "'mcpServers' is not an object"),
        ("cursor", '{"a": 1, "a": 2}', "twice"),
        ("codex", "a = ", "not valid TOML"),
        ("codex", 'mcp_servers = {other = {command = "x"}}', "cannot be changed by lines"),
        ("codex", "[mcp_servers]\nhelmdeck = {command = 'x'}\n", "not a table of its own"),
        ("codex", "[[mcp_servers]]\na = 1\n", "cannot be changed by lines"),
    ],
)
def test_file_that_could_lose_something_is_left_unchanged_with_the_text_to_paste(name, text, why):
    path = written(name, text)
    with pytest.raises(CannotEdit) as caught:
        added(CLIENTS[name], WORDS)
    assert path.read_text() == text
    assert why in str(caught.value) and snippet(CLIENTS[name], CLIENTS[name].entry(WORDS)) in str(caught.value)


def test_comments_in_toml_stay_around_a_removed_table():
    text = '# top\n[mcp_servers.helmdeck] # mine\ncommand = "x"\n\n# about the next\n[next]\na = 1 # one\n'
    path = written("codex", text)
    removed(CLIENTS["codex"]).write()
    assert path.read_text() == "# top\n\n# about the next\n[next]\na = 1 # one\n"


def test_tables_below_the_entry_stay_when_it_is_replaced_and_go_with_it():
    text = '[mcp_servers.helmdeck]\ncommand = "x"\n\n[mcp_servers.helmdeck.env]\nMODE = "fast"\n'
    path = written("codex", text)
    added(CLIENTS["codex"], WORDS).write()
    assert entry_of(CLIENTS["codex"]) == {**CLIENTS["codex"].entry(WORDS), "env": {"MODE": "fast"}}
    removed(CLIENTS["codex"]).write()
    assert path.read_text() == ""


def test_file_is_replaced_as_a_whole_with_its_permissions_and_a_backup():
    path = written("cursor", "{}")
    path.chmod(0o600)
    backup = added(CLIENTS["cursor"], WORDS).write()
    assert backup.read_text() == "{}"
    assert {stat.S_IMODE(each.stat().st_mode) for each in (path, backup)} == {0o600}
    assert sorted(each.name for each in path.parent.iterdir()) == sorted([path.name, backup.name])


def test_link_stays_a_link(tmp_path):
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    path = CLIENTS["cursor"].path()
    path.parent.mkdir()
    path.symlink_to(target)
    added(CLIENTS["cursor"], WORDS).write()
    assert path.is_symlink() and "helmdeck" in target.read_text()


def test_old_backups_are_deleted(monkeypatch):
    path = written("cursor", "{}")
    for number in range(6):
        monkeypatch.setattr("time.strftime", lambda _, number=number: f"2026010{number}-000000")
        added(CLIENTS["cursor"], [f"/{number}", "mcp"]).write()
    assert len(list(path.parent.glob("*-backup"))) == MAX_BACKUPS


def test_difference_shows_no_credential_of_another_server():
    secret = {"command": "x", "env": {"API_KEY": KEY, "MODE": "fast"}}
    for indent in (2, None):
        written("cursor", json.dumps({"mcpServers": {"other": secret}}, indent=indent))
        diff = added(CLIENTS["cursor"], WORDS).diff()
        assert KEY not in diff and "/opt/helmdeck" in diff
    written("codex", f'[mcp_servers.other.env]\nAPI_KEY = "{KEY}"\n')
    assert KEY not in added(CLIENTS["codex"], WORDS).diff()


@each_case(
    "before",
    [
        "{}",
        '{"a": 1}',
        '{\n\t"mcpServers": {\n\t\t"other": {"command": "x", "args": ["a", "b"]}\n\t}, "b": [1, 2]\n}',
        '{"mcpServers": { }, "x": "\\"}{"}',
        '{"mcpServers": {"a": {}, "b": 1.50, "c": "//"}}\n\n',
    ],
)
def test_every_other_character_of_json_stays(before):
    client = CLIENTS["cursor"]
    written("cursor", before)
    change = added(client, WORDS)
    change.write()
    data = json.loads(before)
    data.setdefault("mcpServers", {})["helmdeck"] = client.entry(WORDS)
    assert data_of(client) == data
    removed(client).write()
    without = client.path().read_text()
    assert without.replace('"mcpServers": {}', "").replace(" ", "").replace("\n", "").rstrip(",}") == before.replace(
        '"mcpServers": { }', ""
    ).replace(" ", "").replace("\n", "").rstrip(",}")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.text(max_size=4), VALUES, max_size=4),
    st.none() | st.dictionaries(st.text(max_size=4), VALUES, max_size=3),
    st.sampled_from([None, 0, 1, 4, "\t"]),
)
def test_any_json_keeps_its_content(data, table, indent):
    data = data if table is None else {**data, "servers": table}
    before = json.dumps(data, indent=indent)
    changed = with_member(before, ["servers"], "helmdeck", {"args": ["a"]})
    assert json.loads(changed) == {**data, "servers": {**(table or {}), "helmdeck": {"args": ["a"]}}}
    assert json.loads(without_member(changed, ["servers"], "helmdeck"))["servers"] == (table or {})


# -- the commands ----------------------------------------------------------------------------------------------


def test_install_shows_the_change_and_writes_it_only_when_confirmed(capsys):
    assert main(["mcp", "install", "cursor"]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert '+    "helmdeck": {' in err and "--yes writes without asking" in err
    assert not CLIENTS["cursor"].path().exists()
    assert main(["mcp", "install", "cursor", "--yes"]) == ExitCode.OK
    assert "written: " in capsys.readouterr().out
    assert main(["mcp", "install", "cursor", "--yes"]) == ExitCode.OK
    assert "already as requested" in capsys.readouterr().out
    assert main(["mcp", "uninstall", "cursor", "--yes", "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["is_changed"] is True


def test_change_is_written_after_a_yes_on_a_terminal_and_not_after_anything_else(capsys, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for answer, is_written in (("\n", False), ("no\n", False), ("y\n", True)):
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        assert main(["mcp", "install", "cursor"]) == ExitCode.OK
        assert CLIENTS["cursor"].path().exists() is is_written
        assert ("nothing was written" in capsys.readouterr().err) is not is_written


def test_missing_extra_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    assert main(["mcp"]) == ExitCode.USAGE
    assert "pip install 'helmdeck[mcp]'" in capsys.readouterr().err


def test_entry_has_absolute_paths_and_no_environment(capsys, tmp_path):
    (tmp_path / "helmdeck.toml").write_text('model = "local/lexical"\n')
    assert main(["mcp", "install", "claude-code", "--yes", "--facade"]) == ExitCode.OK
    entry = entry_of(CLIENTS["claude-code"])
    assert Path(entry["command"]).is_absolute() and "env" not in entry
    assert entry["args"][-4:] == ["mcp", "--facade", "--config", str(tmp_path / "helmdeck.toml")]


def test_file_that_cannot_be_changed_is_a_usage_error(capsys):
    written("zed", "{ // x\n}")
    assert main(["mcp", "install", "zed", "--yes"]) == ExitCode.USAGE
    assert "context_servers" in capsys.readouterr().err


def test_unknown_client_and_unsafe_endpoint_are_usage_errors(capsys):
    assert main(["mcp", "install", "cursr"]) == ExitCode.USAGE
    assert main(["mcp", "--http", "--host", "0.0.0.0"]) == ExitCode.USAGE
    assert "callers need tokens" in capsys.readouterr().err
    assert main(["mcp", "--http", "--rate", "0"]) == ExitCode.USAGE
    assert main(["mcp", "instal"]) == ExitCode.USAGE
    assert main(["mcp", "install", "--help"]) == ExitCode.OK


@pytest.mark.parametrize(
    ("platform", "path"),
    [
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("linux", ".config/Claude/claude_desktop_config.json"),
        ("win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
    ],
)
def test_files_are_where_the_system_keeps_them(monkeypatch, tmp_path, platform, path):
    monkeypatch.setattr(clients.sys, "platform", platform)
    assert CLIENTS["claude-desktop"].path() == tmp_path / path
