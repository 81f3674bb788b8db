"""Lists of tools are kept: a process that only plans starts no server, and a started server corrects the list."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from helmdeck_core import Catalog, Entry, EntryKind, PackError, data_directory
from helmdeck_core.cli import main
from helmdeck_mcp.client.options import ServerOptions
from helmdeck_mcp.client.tools_cache import KnownTools, ToolsCache
from helmdeck_testing import make_deck
from tests.case_support import each_case
from tests.helmdeck_mcp.mcp_support import changes_of

RAW_SERVER = Path(__file__).with_name("raw_mcp_server.py")


class Server:
    """A server in a folder: its tools are in a file, and each start appends a character to another one."""

    def __init__(self, folder):
        self.folder, self.starts = folder, folder / "starts"
        self.script = folder / "server.py"
        self.offer("one")

    def offer(self, *names):
        tools = [{"name": name, "description": f"Runs {name}.", "inputSchema": {"type": "object"}} for name in names]
        (self.folder / "tools.json").write_text(json.dumps({"tools": tools}))
        if not self.script.exists():
            self.script.write_text(
                f"import sys\nfrom pathlib import Path\nopen({str(self.starts)!r}, 'a').write('x')\n"
                f"sys.argv = ['raw', Path({str(self.folder / 'tools.json')!r}).read_text()]\n"
                f"exec(compile(Path({str(RAW_SERVER)!r}).read_text(), 'raw', 'exec'))\n"
            )

    def options(self, **more):
        return {"command": sys.executable, "args": ["-S", "-E", str(self.script)], **more}

    @property
    def started(self):
        return len(self.starts.read_text()) if self.starts.exists() else 0


@pytest.fixture
def server(tmp_path):
    return Server(tmp_path)


def deck_over(*plugins, **servers):
    return make_deck(*plugins, config={"catalog": {"sources": [], "mcp": servers}})


def ids(**servers):
    with deck_over(**servers) as deck:
        return [entry.id for entry in deck.catalog.entries]


def test_server_is_started_once_for_many_processes_that_plan(server):
    assert [ids(s=server.options()) for _ in range(3)] == [["s__one"]] * 3
    assert server.started == 1


def test_run_starts_only_the_server_of_the_tool(server, tmp_path):
    (tmp_path / "b").mkdir()
    other = Server(tmp_path / "b")
    servers = {"s": server.options(), "t": other.options()}
    ids(**servers)
    with deck_over(**servers) as deck:
        assert deck.run("s__one", {"a": 1}) == {"text": '{"a": 1}'}
        assert deck.run("s__one", {"a": 2}) == {"text": '{"a": 2}'}
    assert (server.started, other.started) == (2, 1)


def test_changed_list_is_noticed_when_the_server_is_started_for_a_tool(server):
    ids(s=server.options())
    server.offer("one", "two")
    with deck_over(s=server.options()) as deck:
        assert deck.catalog.get("s__two") is None
        deck.run("s__one", {})
        assert deck.catalog.get("s__two") is not None
    assert ids(s=server.options()) == ["s__one", "s__two"], "later processes know it too"
    server.offer("two")
    with deck_over(s=server.options()) as deck, pytest.raises(PackError, match="does not have this tool any more"):
        deck.run("s__one", {})
    assert ids(s=server.options()) == ["s__two"]


def test_tools_that_a_server_adds_are_known_to_the_next_process(server):
    server.offer("grow")
    plugin, changes = changes_of()
    with deck_over(plugin, s=server.options()) as deck:
        assert [entry.id for entry in deck.catalog.entries] == ["s__grow"]
        deck.run("s__grow", {})
        assert changes.get(timeout=60) == ["s__grow", "s__grown"]
    assert ids(s=server.options()) == ["s__grow", "s__grown"]
    assert server.started == 1


def test_server_that_does_not_start_any_more_is_a_failure_of_the_call_alone(server):
    assert ids(s=server.options()) == ["s__one"]
    (server.folder / "tools.json").unlink()
    with deck_over(s=server.options()) as deck:
        assert deck.catalog.get("s__one") is not None
        with pytest.raises(PackError, match="No such file or directory") as caught:
            deck.run("s__one", {})
        assert caught.value.to_dict()["cause"] == "server_down"
        assert deck.catalog.get("s__one") is None


@each_case(
    "change",
    [
        {"args": ["other"]},
        {"env": {"MODE": "x"}},
        {"command": "python3"},
        {"cwd": "/"},
        {"protocol": "legacy"},
        {"max_tools": 3},
    ],
)
def test_other_options_have_another_list(change):
    folder = data_directory()
    options = ServerOptions(command="python", args=("a",))
    known = KnownTools(catalog=Catalog([Entry(EntryKind.PACK, "s__a", {"name": "s__a"}, "mcp.s")]), names={"s__a": "a"})
    ToolsCache(folder, "s", options).write(known)
    read = ToolsCache(folder, "s", options).read()
    assert (read.catalog.entries, read.names, read.problem) == (known.catalog.entries, known.names, "")
    values = {"command": "python", "args": ("a",), **change}
    assert ToolsCache(folder, "s", ServerOptions(**values)).read() is None


def test_changed_file_among_the_arguments_has_another_list(server):
    ids(s=server.options())
    server.script.write_text(server.script.read_text() + "# another version\n")
    ids(s=server.options())
    assert server.started == 2


@each_case(
    "content", ["", "{", "[]", '{"format": 0}', '{"format": 1, "time": 0, "entries": [{}], "names": {}, "problem": ""}']
)
def test_unreadable_file_is_ignored(content):
    options = ServerOptions(command="python")
    known = KnownTools(catalog=Catalog([Entry(EntryKind.PACK, "s__a", {"name": "s__a"}, "mcp.s")]), names={"s__a": "a"})
    cache = ToolsCache(data_directory(), "s", options)
    cache.write(known)
    (path,) = data_directory().glob("s-*.json")
    path.write_text(content)
    assert cache.read() is None


def test_old_list_is_not_used_and_zero_keeps_none(server, monkeypatch):
    assert ids(s=server.options(tools_cache_s=0)) == ids(s=server.options(tools_cache_s=0))
    assert server.started == 2 and not (data_directory() / "mcp-tools").exists()
    ids(s=server.options())
    monkeypatch.setattr("helmdeck_mcp.client.tools_cache.time.time", lambda: 4e9)
    ids(s=server.options())
    assert server.started == 4


def test_secret_is_not_in_the_file_or_its_name(server, monkeypatch):
    monkeypatch.setenv("TICKETS_TOKEN", "t0p-s3cret-value")
    ids(s=server.options(env={"TOKEN": "env:TICKETS_TOKEN"}))
    (path,) = (data_directory() / "mcp-tools").iterdir()
    assert "t0p-s3cret-value" not in path.name + path.read_text()
    monkeypatch.setenv("TICKETS_TOKEN", "another")
    ids(s=server.options(env={"TOKEN": "env:TICKETS_TOKEN"}))
    assert server.started == 1, "a rotated key does not change the tools"


def test_unwritable_folder_costs_the_list_only(server, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "file"))
    assert ids(s=server.options()) == ["s__one"]


def test_refresh_and_doctor_start_every_server(server, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    args = json.dumps(server.options()["args"])
    text = f"[catalog.mcp.s]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n[plugins]\nautoload = false\n"
    Path("helmdeck.toml").write_text(text)
    assert main(["catalog", "show", "--ids"]) == 0
    server.offer("one", "two")
    capsys.readouterr()
    assert main(["catalog", "refresh", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == {"servers": [{"server": "mcp.s", "entries": 2, "problem": ""}], "added": ["s__two"], "removed": []}
    assert main(["catalog", "refresh"]) == 0 and "mcp.s" in capsys.readouterr().out
    server.offer("two")
    main(["doctor", "--json"])
    findings = {each["subject"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["mcp.s"]["text"] == "1 entry"
    assert server.started == 4
    with Path("helmdeck.toml").open("a") as file:
        file.write('[catalog.mcp.gone]\ncommand = "no-such-program-here"\n')
    assert main(["catalog", "refresh"]) == 24 and "does not exist" in capsys.readouterr().out
