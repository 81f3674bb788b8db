"""A program as a pack: JSON in, JSON out, with limits, and nothing of it survives."""

import asyncio
import os
import select
import sys
from pathlib import Path

import pytest

from helmdeck_core import CallLimits, PackError, PackErrorCode, hookimpl
from helmdeck_runs import ProgramLimits, program_pack

OBJECT = {"type": "object"}


def python(code):
    return [sys.executable, "-I", "-c", code]


@pytest.fixture
def run_program(deck_with):
    def run(argv, arguments=None, call_limits=CallLimits(), **options):  # noqa: B008
        made = program_pack("t.program", argv, description="Run it.", input_schema=OBJECT, **options)

        class Packs:
            @hookimpl
            def helmdeck_packs(self):
                return [made]

        return deck_with(Packs()).run("t.program", arguments or {}, limits=call_limits)

    return run


@pytest.fixture
def fails(run_program):
    def run(*arguments, **options):
        with pytest.raises(PackError) as caught:
            run_program(*arguments, **options)
        return caught.value

    return run


def test_input_and_output_are_json(run_program):
    code = "import json, sys; print(json.dumps({'said': json.load(sys.stdin)['text'].upper()}))"
    assert run_program(python(code), {"text": "a; rm -rf /; $(id) é"}) == {"said": "A; RM -RF /; $(ID) É"}


def test_environment_is_restricted_and_the_folder_is_new_and_empty(run_program, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    monkeypatch.setenv("NEEDED", "yes")
    code = "import json, os; print(json.dumps({'env': sorted(os.environ), 'files': os.listdir(), 'cwd': os.getcwd()}))"
    output = run_program(python(code), environ=["NEEDED"])
    assert "NEEDED" in output["env"] and not {"SOME_API_KEY", "HOME"} & {*output["env"]}
    assert output["files"] == [] and not Path(output["cwd"]).exists()


def test_exit_codes_are_typed_failures_with_the_end_of_standard_error(fails):
    code = "import sys; sys.stderr.write('x' * 90000 + 'no such file'); print('{\"findings\": [1]}'); sys.exit(3)"
    failed = fails(python(code))
    assert failed.code is PackErrorCode.HANDLER_FAILED and "exit code 3" in failed.detail
    assert failed.detail.endswith("no such file") and len(failed.detail) < 700
    assert failed.output == {"findings": [1]} and failed.to_dict()["output"] == {"findings": [1]}
    assert fails(python(code), exit_codes={3: PackErrorCode.INVALID_INPUT}).code is PackErrorCode.INVALID_INPUT


def test_a_signal_is_named(fails):
    failed = fails(python("import os; os.kill(os.getpid(), 11)"))
    assert failed.code is PackErrorCode.HANDLER_FAILED and "SIGSEGV" in failed.detail


@pytest.mark.parametrize("written", ["", "hello", "[1]", '{"count": "two"}'])
def test_output_of_another_shape_is_a_schema_mismatch(fails, written):
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}}
    failed = fails(python(f"print({written!r})"), output_schema=schema)
    assert failed.code is PackErrorCode.SCHEMA_MISMATCH


def test_program_that_is_missing_is_reported(fails):
    failed = fails(["no-such-program-here"])
    assert failed.code is PackErrorCode.HANDLER_FAILED
    assert "no-such-program-here" in failed.detail and "install the program" in failed.detail


def test_output_is_limited(fails):
    failed = fails(
        python("import sys\nwhile True: sys.stdout.write('x' * 100000)"), limits=ProgramLimits(max_output_bytes=300_000)
    )
    assert failed.code is PackErrorCode.INVALID_OUTPUT and "300,000 bytes" in failed.detail


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit of memory")
def test_memory_is_limited(fails):
    failed = fails(python("x = 'x' * 400_000_000; print('{}')"), limits=ProgramLimits(max_memory_bytes=200_000_000))
    assert failed.code is PackErrorCode.HANDLER_FAILED and "MemoryError" in failed.detail


def test_program_that_hangs_is_killed_at_its_timeout(fails):
    failed = fails(python("import threading; threading.Event().wait()"), limits=ProgramLimits(timeout_s=0.3))
    assert failed.code is PackErrorCode.TIMEOUT and failed.retryable


CHILD = """
import subprocess, sys, json
child = subprocess.Popen([sys.executable, "-I", "-c", "import threading; threading.Event().wait()"])
print(json.dumps({"child": child.pid, "group": __import__("os").getpgid(child.pid)}), flush=True)
"""


def has_ended(pid):
    """Whether a process has ended, or ends within ten seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    return bool(select.select([descriptor], [], [], 10)[0])


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes of others")
def test_processes_that_the_program_leaves_behind_are_killed(run_program):
    output = run_program(python(CHILD))
    assert has_ended(output["child"])


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes of others")
def test_cancelled_call_kills_the_program_and_its_children(deck_with, tmp_path):
    marker = tmp_path / "pids"
    os.mkfifo(marker)
    code = (
        "import os, subprocess, sys, threading\n"
        "child = subprocess.Popen([sys.executable, '-I', '-c', 'import threading; threading.Event().wait()'])\n"
        f"open({str(marker)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "threading.Event().wait()"
    )
    made = program_pack("t.program", python(code), description="Hang.", input_schema=OBJECT)

    class Packs:
        @hookimpl
        def helmdeck_packs(self):
            return [made]

    async def cancelled():
        deck = deck_with(Packs())
        task = asyncio.create_task(deck.arun("t.program", {}))
        pids = (await asyncio.to_thread(marker.read_text)).split()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await deck.aclose()
        return [int(pid) for pid in pids]

    pids = asyncio.run(cancelled())
    assert len(pids) == 2 and all(map(has_ended, pids))


def test_argv_is_a_list():
    with pytest.raises(ValueError, match="argv is a list"):
        program_pack("t.program", "rm -rf /", description="x.", input_schema=OBJECT)
