"""What people do first: ten scripts, run with an installed wheel in a fresh environment, with a loopback server only.

A script contains ``# expect: TEXT`` for each text that its output must contain.
"""

import fcntl
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from helmdeck_testing import OPENAI_CHAT, failing_server

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(Path(__file__).with_name("scripts").iterdir())
TEXT = "Paris is the capital of France."
JSON = '{"capital": "Paris"}'
MAX_SCRIPT_S = 60


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """The ``bin`` folder of an environment with this checkout installed, once for all workers of a test session."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / "first-use"
    with (base / "first-use.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            install(folder)
            (folder / "ready").touch()
    return folder / "bin"


def install(folder):
    """Install the checkout without a network: its dependencies are those of the environment that runs the tests."""
    venv.create(folder, symlinks=True, with_pip=False, clear=True)
    python = folder / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    # Packages of a folder in a .pth file can be imported; .pth files in it, such as that of this checkout, are ignored.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    options = [
        "-q",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--ignore-installed",
        "--disable-pip-version-check",
    ]
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", *options, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(
            f"the checkout cannot be installed without a network (pip and hatchling needed): {done.stderr[-500:]}"
        )


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


def test_the_environment_imports_the_installed_wheel(environment, tmp_path):
    command = [str(environment / "python"), "-c", "import helmdeck_core; print(helmdeck_core.__file__)"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(environment.parent)


@pytest.mark.parametrize("script", [pytest.param(path, id=path.name) for path in SCRIPTS])
def test_the_script_works_from_a_fresh_environment(script, environment, server, tmp_path):
    done = run(script, environment, server, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for expected in re.findall(r"^# expect: (.+)$", script.read_text(encoding="utf-8"), re.MULTILINE):
        assert expected in done.stdout, done.stdout + done.stderr
