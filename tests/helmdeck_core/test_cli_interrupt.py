"""Ctrl-C and SIGTERM during a call: one word, no traceback, and everything is closed."""

import os
import signal
import socket
import threading

import pytest

from helmdeck_core.cli import ExitCode
from tests.cli_support import PLUGIN, Cli, environment, leave_the_machine, start

INTERRUPTED = (ExitCode.INTERRUPTED, b"", b"helmdeck: interrupted\n")
TERMINATED = (ExitCode.TERMINATED, b"", b"helmdeck: terminated\n")


@pytest.fixture
def stub(installed_plugin, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path, autoload=True)
    return installed_plugin("stub", {"stub": "stub_plugin"}, {"stub_plugin": PLUGIN})


@pytest.mark.parametrize("words", [("plan", "--model", "stub/interrupt", "hello"), ("run", "stub.stop")])
def test_interrupt_during_a_call_ends_with_exit_code_130(capsys, stub, words):
    done = Cli(capsys)(*words)
    assert (done.code, done.out, done.err) == (ExitCode.INTERRUPTED, "", "helmdeck: interrupted\n")


def test_interrupt_is_reported_as_json(capsys, stub):
    done = Cli(capsys)("run", "stub.stop", "--json")
    assert done.data["error"] == {"kind": "KeyboardInterrupt", "message": "interrupted", "exit_code": 130}


INTERRUPT = """
import sys

class Finder:
    def find_spec(self, name, *_):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    "module", ["helmdeck_core.cli.runner", "helmdeck_core.config.types", "helmdeck_planner.packs.plan"]
)
def test_interrupt_while_helmdeck_is_imported_ends_quietly(tmp_path, module):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT.format(name=module))
    process = start("plan", "hello", folder=tmp_path, env=environment(tmp_path))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == INTERRUPTED


@pytest.mark.parametrize(
    ("command", "sigint", "sent", "ended"),
    [
        ("plan", signal.default_int_handler, signal.SIGINT, INTERRUPTED),
        ("route", signal.default_int_handler, signal.SIGTERM, TERMINATED),
        ("ask", signal.SIG_IGN, signal.SIGTERM, TERMINATED),  # a job in the background of a shell
    ],
)
def test_a_signal_while_waiting_for_a_response_cancels_the_call(tmp_path, stub, command, sigint, sent, ended):
    closed = tmp_path / "closed"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        port = str(server.getsockname()[1])
        env = environment(stub, STUB_PORT=port, STUB_CLOSED=str(closed))
        process = start(command, "--model", "stub/wait", "hello", folder=tmp_path, env=env, sigint=sigint)
        try:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(60)
                assert connection.recv(16) == b"asked"  # the command now waits for the answer
                process.send_signal(sent)
                assert connection.recv(16) == b""  # the call was cancelled: its connection is closed
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
    assert (process.returncode, out, err) == ended
    assert closed.exists(), "the provider was not closed"


def test_sigint_cancels_a_call_over_http(tmp_path, stub):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        (tmp_path / "helmdeck.toml").write_text(f'[providers.here]\nkind = "vllm"\nbase_url = "{url}"\n')
        process = start("plan", "--model", "here/any", "hello", folder=tmp_path, env=environment(NO_PROXY="127.0.0.1"))
        try:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(60)
                assert connection.recv(4).startswith(b"POST")
                process.send_signal(signal.SIGINT)
                while connection.recv(65_536):
                    pass  # the rest of the request, then the end of the connection
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
    assert (process.returncode, out, err) == INTERRUPTED


@pytest.mark.parametrize(("sent", "ended"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_a_signal_while_reading_a_document_ends_the_command(tmp_path, stub, sent, ended):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = start("plan", "--document", "pipe", "hello", folder=tmp_path, env=environment(stub))

    def open_the_other_end():
        # A command that ends without having opened the pipe would leave the test waiting at its own end.
        process.wait()
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))

    threading.Thread(target=open_the_other_end, daemon=True).start()
    try:
        with pipe.open("wb"):  # opens only when the command has opened its end
            process.send_signal(sent)
            out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == ended


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("words", "package"),
    [(("serve",), "starlette"), (("console", "--demo"), "starlette"), (("mcp", "--http"), "mcp")],
    ids=["serve", "console", "mcp"],
)
def test_a_server_that_is_stopped_ends_with_success(tmp_path, words, package, sent):
    pytest.importorskip(package, reason=f"{package} is not installed")
    process = start(*words, "--port", "0", folder=tmp_path, env=environment(tmp_path))
    with process:
        assert b"Ctrl-C stops it" in process.stderr.readline()
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (ExitCode.OK, b"")
    assert b"interrupted" not in err and b"Traceback" not in err
