"""What people do first: ten scripts, run with the installed console script in an empty home, with a loopback server only.

A script contains ``# expect: TEXT`` for each text that its output must contain.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helmdeck_testing import OPENAI_CHAT, failing_server

SCRIPTS = sorted(path for path in Path(__file__).with_name("scripts").iterdir() if path.is_file())
TEXT = "Paris is the capital of France."
JSON = '{"capital": "Paris"}'
MAX_SCRIPT_S = 60


@pytest.fixture(scope="session")
def environment():
    """The ``bin`` folder with the installed console script; what a wheel holds is the claim of ``tests/meta/test_distribution.py``."""
    folder = Path(sys.executable).parent
    if not (folder / "helmdeck").exists():
        pytest.skip("Helmdeck is not installed here: pip install -e .")
    return folder


@pytest.fixture
def server():
    """A server with a good model, one that answers with JSON, and one that is down."""

    def mode(request):
        name = request.body["model"] if request.body else "good"
        server.text = JSON if name == "json" else TEXT
        return "unavailable" if name == "down" else "good"

    with failing_server(OPENAI_CHAT, mode, text=TEXT) as server:
        yield server


def run(script, environment, server, folder):
    command = ["sh", "-eu", str(script)] if script.suffix == ".sh" else ["python", "-W", "error", str(script)]
    variables = {
        "PATH": f"{environment}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(folder),
        "SERVER": server.base_url,
        "COLUMNS": "200",
        "LANG": "C.UTF-8",
    }
    command[0] = {"python": str(environment / "python")}.get(command[0], command[0])
    return subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MAX_SCRIPT_S,
        check=False,
    )


def test_there_are_ten_scripts_and_each_expects_something():
    assert len(SCRIPTS) == 10
    assert all("# expect: " in script.read_text(encoding="utf-8") for script in SCRIPTS)


@pytest.mark.parametrize("script", [pytest.param(path, id=path.name) for path in SCRIPTS])
def test_the_script_works_in_an_empty_home(script, environment, server, tmp_path):
    done = run(script, environment, server, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for expected in re.findall(r"^# expect: (.+)$", script.read_text(encoding="utf-8"), re.MULTILINE):
        assert expected in done.stdout, done.stdout + done.stderr
