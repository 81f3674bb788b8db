"""The command line with closed streams, a full disk, or a deleted current directory."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helmdeck_cli.progress import Progress
from helmdeck_core.cli import ExitCode, main
from helmdeck_core.cli.exit_codes import missing_directory_error
from tests.cli_support import Cli, environment, leave_the_machine

PLUGIN = """
import sys

from helmdeck_core import Command, hookimpl


def _report(arguments):
    print("to standard error", file=sys.stderr)
    print("the result")
    return 0


@hookimpl
def helmdeck_commands():
    return [Command(name="tell", summary="tell", configure=lambda parser: None, run=_report)]
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)


def shell(line: str, folder: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in which ``helmdeck`` is the command line."""
    if os.name != "posix":
        pytest.skip("the line is written for a POSIX shell")
    command = f'helmdeck() {{ "{sys.executable}" -P -m helmdeck_core.cli "$@"; }}; {line}'
    variables = {"HELMDECK_PLUGIN_AUTOLOAD": "0", **env}
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment(folder, **variables), capture_output=True, timeout=60
    )


# -- closed streams ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "output"),
    [
        # With debug lines, a command writes to every stream that it has.
        ("plan --log-level debug remember this 0<&- 2>&-", 0, b"helmdeck.memory_store"),
        ("route remember this 0<&- 2>&-", 0, b"local/lexical: "),
        ("run web.crawl --input url=x --json 0<&- 2>&-", 2, b"{"),
    ],
)
def test_closed_unused_stream_does_not_break_a_command(tmp_path, words, code, output):
    done = shell(f"helmdeck {words}", tmp_path)
    assert done.returncode == code
    assert output in done.stdout
    assert b"AttributeError" not in done.stdout + done.stderr


def test_request_from_closed_standard_input_is_empty(tmp_path):
    done = shell("helmdeck plan 0<&-", tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert b"the request is empty" in done.stderr


def test_output_to_closed_standard_error_does_not_reach_standard_output(installed_plugin):
    folder = installed_plugin("tell", {"tell": "tell_plugin"}, {"tell_plugin": PLUGIN})
    done = shell("helmdeck tell 2>&-", folder, HELMDECK_PLUGIN_AUTOLOAD="1")
    assert (done.returncode, done.stdout) == (0, b"the result\n")


def test_progress_without_standard_error_writes_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)

    async def wait():
        async with Progress("asking", interval_s=0) as progress:
            progress.update("still asking")
            progress.draw()
            await asyncio.sleep(0)
        return "done"

    assert asyncio.run(wait()) == "done"


def test_closed_terminal_during_progress_keeps_the_result():
    class Gone:
        def isatty(self):
            return True

        def write(self, text):
            raise OSError(5, "Input/output error")

    async def wait():
        async with Progress("asking", Gone(), interval_s=0):
            for _ in range(5):
                await asyncio.sleep(0)
        return "done"

    assert asyncio.run(wait()) == "done"


# -- output that cannot be written -------------------------------------------------------------------------

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")


@needs_full
@pytest.mark.parametrize("words", ["--help", "catalog show --json"])
def test_full_disk_is_a_one_line_error_with_exit_code_1(tmp_path, words):
    done = shell(f"helmdeck {words} > /dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr == b"helmdeck: the result cannot be written (No space left on device)\n"


@pytest.mark.parametrize("words", ["--version", "plan remember this"])
def test_closed_standard_output_is_an_error_as_a_full_disk_is(tmp_path, words):
    done = shell(f"helmdeck {words} >&-", tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith(b"helmdeck: the result cannot be written (standard output is closed)\n")


@needs_full
def test_exit_code_of_an_error_survives_unwritable_streams(tmp_path):
    assert shell("helmdeck plan --json '' > /dev/full 2> /dev/full", tmp_path).returncode == ExitCode.USAGE
    done = shell("helmdeck plan --json '' > /dev/full", tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert b"Traceback" not in done.stderr
    assert shell("helmdeck plan remember this 2> /dev/full", tmp_path).returncode == 0
    assert shell("helmdeck plan --json '' >&-", tmp_path).returncode == ExitCode.USAGE


@pytest.mark.skipif(os.name != "posix", reason="the limit of a file's size is set by a POSIX shell")
@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("init", "helmdeck.toml"),
        ("hooks --write hooks.md", "hooks.md"),
        ("plugins new pack tides", "helmdeck-pack-tides"),
        ("plugins new pack tides --file", "tides.py"),
    ],
)
def test_nothing_half_written_is_left_where_the_disk_is_full(tmp_path, words, target):
    done = shell(f"ulimit -f 0; helmdeck {words}", tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert b"cannot be written" in done.stderr and b"Traceback" not in done.stderr
    assert not (tmp_path / target).exists()


def test_main_raises_nothing_with_closed_standard_output(monkeypatch, capsys):
    class Closed:
        encoding = "utf-8"

        def write(self, text):
            raise ValueError("I/O operation on closed file.")

        flush = fileno = lambda self: self.write("")

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Closed())
        assert main(["--version"]) == 1
        assert main(["plan", "", "--json"]) == ExitCode.USAGE
    assert "the result cannot be written (I/O operation on closed file.)" in capsys.readouterr().err


# -- a folder that is gone ---------------------------------------------------------------------------------


GONE = "helmdeck: the current directory does not exist any more; change to another one"


@pytest.mark.parametrize("words", ["plan remember this", "catalog show", "config show", "plugins list", "frobnicate"])
def test_a_deleted_folder_is_named_as_the_reason(tmp_path, monkeypatch, capsys, words):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    done = Cli(capsys)(*words.split())
    assert (done.code, done.err.splitlines()[-1]) == (ExitCode.USAGE, GONE)


def test_a_process_in_a_deleted_folder_names_the_reason(tmp_path):
    done = shell("mkdir gone && cd gone && rmdir ../gone && helmdeck plan remember this", tmp_path)
    assert (done.returncode, done.stderr.decode().splitlines()[-1]) == (ExitCode.USAGE, GONE)


def test_help_works_in_a_deleted_directory(tmp_path):
    done = shell("mkdir gone && cd gone && rmdir ../gone && helmdeck --help", tmp_path)
    assert done.returncode == 0
    assert b"errors:\n  the current directory does not exist any more" in done.stdout


def test_other_missing_file_is_not_reported_as_missing_directory():
    assert missing_directory_error(FileNotFoundError(2, "No such file or directory")) is None
