"""``helmdeck doctor``."""

import os
import socket
import sqlite3
import time
from email.utils import formatdate

import pytest

from helmdeck_core.cli import ExitCode
from tests.cli_support import Cli, leave_the_machine, refused_url

KEY = "sk-very-secret-key-0123456789"


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ACME_KEY", KEY)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture
def configure(tmp_path):
    """Write providers into the configuration: base URL by name. All of them take a key."""

    def write(more="", **urls):
        tables = [
            f'[providers.{name}]\nkind = "vllm"\nbase_url = "{url}"\napi_key = "env:ACME_KEY"\n'
            for name, url in urls.items()
        ]
        (tmp_path / "helmdeck.toml").write_text(f"{more}\n" + "\n".join(tables))

    return write


@pytest.fixture
def listing_server(chat_server):
    """Start a server that lists the model ``m``, with these headers."""
    return lambda **headers: chat_server(lambda body: (200, headers, {"data": [{"id": "m"}]})).base_url


def found(done, area, subject=None):
    return [
        (each["state"], each["text"])
        for each in done.data["findings"]
        if each["area"] == area and subject in (None, each["subject"])
    ]


def test_healthy_deployment_is_ok_and_no_key_is_shown(cli, configure, chat_server):
    server = chat_server(lambda body: {"data": [{"id": "m"}]})
    configure('model = "acme/m"', acme=server.base_url)
    done = cli("doctor", "--json")
    assert (done.code, done.data["ok"], done.data["counts"]["fail"]) == (0, True, 0)
    assert [state for state, _ in found(done, "provider", "acme")] == ["ok"]
    assert found(done, "key", "acme") == [("ok", "present (env:ACME_KEY)")]
    assert found(done, "models", "acme") == [("ok", "1 model listed")]
    assert {request.method for request in server.requests} == {"GET"}
    text = cli("doctor")
    assert text.code == 0 and "reachable in" in text.out
    assert KEY not in done.out + done.err + text.out + text.err


def test_every_problem_has_a_remedy_and_a_failed_check_has_its_own_exit_code(cli, configure, chat_server, tmp_path):
    rejecting = chat_server(lambda body: (401, {}, {"error": {"message": f"bad key {KEY}"}}))
    more = 'modle = "x"\n[history]\nurl = "sqlite:helmdeck.toml"\n[events]\nsinks = ["traces"]\n'
    more += '[events.options.traces]\nfile = "helmdeck.toml/traces.db"\n'
    configure(more, rejecting=rejecting.base_url, gone=refused_url())
    done = cli("doctor", "--json")
    assert done.code == ExitCode.CHECK_FAILED
    failed = [each for each in done.data["findings"] if each["state"] != "ok"]
    assert all(each["remedy"] for each in failed)
    assert {(each["area"], each["subject"]) for each in failed} == {
        ("configuration", "helmdeck.toml"),
        ("store", "history"),
        ("store", "traces"),
        ("models", "rejecting"),
        ("provider", "gone"),
    }
    assert "not a database" in found(done, "store", "history")[0][1]
    assert "unknown key (did you mean 'model'?)" in found(done, "configuration")[0][1]
    assert KEY not in done.out + done.err
    shown = cli("doctor")
    assert shown.code == ExitCode.CHECK_FAILED
    assert shown.out.count("remedy: ") >= len(failed)


def test_missing_key_names_the_variable(cli, configure, monkeypatch, listing_server):
    monkeypatch.delenv("ACME_KEY")
    configure('model = "acme/m"', acme=listing_server())
    done = cli("doctor", "--json")
    assert done.code == ExitCode.CHECK_FAILED
    assert found(done, "key", "acme") == [("fail", "missing: the variable ACME_KEY is not set")]
    assert found(done, "provider", "acme")[0][0] == "ok", "the server is checked without the key"
    assert found(done, "models", "acme") == []


def test_default_model_that_is_not_listed_is_a_warning(cli, configure, listing_server):
    configure('model = "acme/other"', acme=listing_server())
    done = cli("doctor", "--json")
    assert found(done, "models", "acme") == [("warn", "1 model listed, without the default model acme/other")]
    assert done.code == 0


@pytest.mark.parametrize(
    ("ahead_s", "state", "text"),
    [
        (0, "ok", "differs by less than 60 s"),
        (150, "warn", "s behind that of acme"),
        (7200, "fail", "s behind that of acme"),
        (-7200, "fail", "s ahead of that of acme"),
    ],
)
def test_clock_is_compared_with_the_date_of_the_server(cli, configure, listing_server, ahead_s, state, text):
    configure(acme=listing_server(date=formatdate(time.time() + ahead_s, usegmt=True)))
    ((found_state, found_text),) = found(cli("doctor", "--json"), "clock")
    assert found_state == state and text in found_text


def test_clock_is_right_if_one_server_agrees_and_answers_of_caches_do_not_count(cli, configure, listing_server):
    wrong = formatdate(time.time() + 7200, usegmt=True)
    configure(wrong=listing_server(date=wrong), right=listing_server(date=formatdate(time.time(), usegmt=True)))
    assert found(cli("doctor", "--json"), "clock") == [("ok", "differs by less than 60 s from that of right")]
    configure(cached=listing_server(date=wrong, age="7000"), odd=listing_server(date="yesterday"))
    assert found(cli("doctor", "--json"), "clock") == []


def test_provider_that_does_not_answer_ends_at_the_limit(cli, configure, monkeypatch):
    from helmdeck_cli.checks import network as doctor_network

    monkeypatch.setattr(doctor_network, "CHECK_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        configure(silent=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        done = cli("doctor", "--json")
    ((state, text),) = found(done, "provider", "silent")
    assert state == "fail" and "no complete answer within 0.05 s" in text


def test_broken_plugins_and_configuration_do_not_stop_the_other_checks(
    cli, configure, listing_server, installed_plugin, monkeypatch
):
    monkeypatch.delenv("HELMDECK_PLUGIN_AUTOLOAD")
    installed_plugin("broken", {"broken": "broken_plugin"}, {"broken_plugin": "raise SystemExit(1)"})
    raising = "from helmdeck_core import hookimpl\n@hookimpl\ndef helmdeck_packs():\n    raise OSError('disk')\n"
    installed_plugin("raising", {"raising": "raising_plugin"}, {"raising_plugin": raising})
    configure("[recovery]\nmax_attempts = 'many'\n[selection]\nranker = 'none'\n", acme=listing_server())
    done = cli("doctor", "--json")
    assert done.code == ExitCode.CHECK_FAILED
    plugins = {each["subject"]: each for each in done.data["findings"] if each["area"] == "plugins"}
    assert plugins["all"]["state"] == "ok"
    assert "SystemExit: 1" in plugins["broken"]["text"] and "--disable-plugin broken" in plugins["broken"]["remedy"]
    assert "OSError: disk" in plugins["raising"]["text"]
    configuration = [text for _, text in found(done, "configuration")]
    assert any("max_attempts" in text for text in configuration) and any("ranker" in text for text in configuration)
    assert found(done, "provider", "acme")[0][0] == "ok"
    assert "OSError" in cli("doctor", "--traceback").err


def test_plugin_file_that_is_missing_or_broken_is_not_to_be_reinstalled(cli, configure, tmp_path):
    (tmp_path / "broken.py").write_text("def x(:\n")
    configure('[plugins]\nfiles = ["gone.py", "broken.py"]\n')
    done = cli("doctor", "--offline", "--json")
    plugins = {each["subject"]: each for each in done.data["findings"] if each["area"] == "plugins"}
    assert plugins["gone.py"]["text"] == f"plugin cannot be loaded from {tmp_path}/gone.py: the file does not exist"
    assert plugins["gone.py"]["remedy"].startswith("correct plugins.files in the configuration, or")
    assert plugins["broken.py"]["remedy"].startswith("correct the file, or")


def test_doctor_reports_a_required_plugin_that_is_not_installed(cli, configure):
    configure('[plugins]\nrequired = ["ghost"]\n')
    done = cli("doctor", "--offline", "--json")
    assert done.code == ExitCode.CHECK_FAILED
    plugins = {each["subject"]: each for each in done.data["findings"] if each["area"] == "plugins"}
    assert plugins["ghost"]["text"].endswith("it is not installed")
    assert plugins["ghost"]["remedy"] == "install it, or remove it from [plugins] required"


def test_plugin_without_hooks_is_a_warning(cli, configure, tmp_path):
    (tmp_path / "mine.py").write_text("def helmdeck():\n    pass\n")
    configure('[plugins]\nfiles = ["mine.py"]\n')
    done = cli("doctor", "--offline", "--json")
    assert found(done, "plugins", "mine.py") == [
        ("warn", "it is loaded and implements no hook, so that it changes nothing")
    ]


def test_unreadable_configuration_file_is_a_finding(cli, tmp_path):
    (tmp_path / "helmdeck.toml").write_bytes(b"\xff = = [")
    done = cli("doctor", "--json")
    assert done.code == ExitCode.CHECK_FAILED
    assert "not valid TOML" in found(done, "configuration")[0][1]
    assert found(done, "plugins")[0][0] == "ok"


def test_folder_in_place_of_a_store_is_named(cli, configure, tmp_path):
    configure('[history]\nurl = "sqlite:plans"\n')
    (tmp_path / "plans").mkdir()
    assert found(cli("doctor", "--json"), "store", "history") == [("fail", "plans is a folder")]


def test_store_that_others_can_read_is_a_warning(cli, configure, tmp_path):
    if os.name != "posix":
        pytest.skip("permissions of files are those of POSIX")
    sqlite3.connect(tmp_path / "history.db").close()
    (tmp_path / "history.db").chmod(0o644)
    configure('[history]\nurl = "sqlite:history.db"\n')
    done = cli("doctor", "--json")
    assert found(done, "store", "history") == [("warn", "other users may access history.db (mode 644)")]
    (tmp_path / "history.db").chmod(0o600)
    assert found(cli("doctor", "--json"), "store", "history")[0][0] == "ok"


def test_check_creates_no_store(cli, configure, tmp_path):
    configure(
        '[history]\nurl = "sqlite:new/history.db"\n[events]\nsinks = ["traces"]\noptions = {traces = {file = "t.db"}}\n'
    )
    done = cli("doctor", "--json")
    assert [state for state, _ in found(done, "store")] == ["ok", "ok"]
    assert not (tmp_path / "new").exists() and not (tmp_path / "t.db").exists()


def test_offline_check_calls_no_provider(cli, configure, chat_server):
    server = chat_server(lambda body: {"data": []})
    configure(acme=server.base_url)
    done = cli("doctor", "--offline", "--json")
    assert done.code == 0 and found(done, "provider") == [] and not server.requests
    assert found(done, "key", "acme")[0][0] == "ok"


def test_extras_are_listed_with_the_command_that_installs_them(cli, monkeypatch):
    from helmdeck_cli.checks import local as doctor_local

    monkeypatch.setattr(doctor_local, "_is_installed", lambda name: name not in ("prometheus-client", "psycopg-pool"))
    extras = {
        each["subject"]: each["text"] for each in cli("doctor", "--json").data["findings"] if each["area"] == "extra"
    }
    if list(extras) == ["helmdeck"]:
        pytest.skip("the distribution is not installed")
    assert "otel" in extras["installed"] and "dev" not in extras["installed"]
    assert extras["optional"] == "postgres (without psycopg-pool), prometheus: pip install 'helmdeck[NAME]'"


def test_each_key_of_a_provider_is_checked_by_its_position(cli, tmp_path, chat_server, monkeypatch):
    monkeypatch.setenv("SECOND_KEY", "sk-the-second-key-987654321")
    server = chat_server(lambda body: {"data": [{"id": "m"}]})
    respond = server.respond

    def refuse_second(request):
        is_second = "second" in request.headers.get("authorization", "")
        return (401, {}, {"error": {"message": "no such key"}}) if is_second else respond(request)

    server.respond = refuse_second
    keys = '["env:ACME_KEY", "env:SECOND_KEY", "env:THIRD_KEY"]'
    text = f'[providers.vllm]\nbase_url = "{server.base_url}"\napi_keys = {keys}\nrouting = "in-order"\n'
    (tmp_path / "helmdeck.toml").write_text(text)
    done = cli("doctor", "--json")
    assert found(done, "key", "vllm (key 1 of 3)") == [("ok", "present (env:ACME_KEY)")]
    assert found(done, "key", "vllm (key 3 of 3)") == [("warn", "missing: the variable THIRD_KEY is not set")]
    assert found(done, "models", "vllm (key 1 of 3)") == [("ok", "1 model listed")]
    ((state, refusal),) = found(done, "models", "vllm (key 2 of 3)")
    assert state == "fail" and "auth_failed" in refusal
    listed = cli("models", "vllm")
    assert "vllm/m" in listed.out and "vllm has 3 keys" in listed.err
    for shown in (done, listed, cli("config", "show"), cli("config", "check")):
        assert not any(secret in shown.out + shown.err for secret in (KEY, "the-second-key"))
    assert "environment variable is not set" in shown.err and "env:THIRD_KEY" in shown.err


def test_the_history_of_the_command_line_is_checked(cli, configure, monkeypatch, tmp_path):
    monkeypatch.setattr("helmdeck_core.cli.options.DEFAULT_HISTORY", f"sqlite:{tmp_path}/new/history.db")
    configure()
    ((state, text),) = found(cli("doctor", "--offline", "--json"), "store", "history")
    assert state == "ok" and "history.db is created at the first use" in text
    configure('[history]\nurl = "off"')
    assert found(cli("doctor", "--offline", "--json"), "store", "history") == [("ok", "off")]
