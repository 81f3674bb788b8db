"""``helmdeck plugins new``: every kind of distribution is complete, installs, and passes its own tests unchanged."""

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import hatchling.build
import pytest

from helmdeck_cli.scaffold.render import KINDS, compatible_range, render, render_file
from helmdeck_core.cli import ExitCode, main
from helmdeck_testing import chat_server
from tests.case_support import each_case
from tests.cli_support import ROOT, environment

NAME = "tide-tables"


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.2.7", "helmdeck>=0.2,<0.3"), ("0.9.0.dev1", "helmdeck>=0.9,<0.10"), ("1.4.0", "helmdeck>=1.4,<2")],
)
def test_distribution_requires_the_versions_that_do_not_break_it(version, expected):
    assert compatible_range(version) == expected


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a new distribution of every kind."""
    parent = tmp_path_factory.mktemp("new")
    for kind in KINDS:
        # Two installed plugins of one name would be a conflict.
        assert main(["plugins", "new", kind, f"tides-{kind}", "--folder", str(parent)]) == ExitCode.OK
    return parent


@pytest.fixture(scope="module")
def site(folder, tmp_path_factory):
    """The distributions as an installer unpacks their wheels; the test of the tutorial installs one with pip."""
    target = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        for distribution in folder.iterdir():
            patch.chdir(distribution)
            with zipfile.ZipFile(target / hatchling.build.build_wheel(str(target))) as wheel:
                wheel.extractall(target)
    return target


def python(*words, folder, site):
    """Run Python in another process, which finds the checkout and the installed distributions."""
    command = [sys.executable, *map(str, words)]
    env = environment(site, COLUMNS="100", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


@each_case("kind", KINDS)
def test_distribution_is_complete_and_contains_no_placeholder(kind):
    files = render(kind, NAME)
    module = f"helmdeck_{kind.replace('-', '_')}_tide_tables"
    assert {
        ".github/workflows/tests.yml", ".gitignore", "README.md", "pyproject.toml", f"src/{module}/__init__.py",
        f"src/{module}/py.typed",
    } <= files.keys()  # fmt: skip
    assert [path for path in files if re.fullmatch(r"tests/test_\w+\.py", path)]
    for path, text in files.items():
        assert "[[" not in text.replace(f"[providers.{NAME}]", "").replace("[[tool", ""), path
        if path.endswith(".py"):
            ast.parse(text)
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["entry-points"]["helmdeck"] == {NAME: module}
    assert files["README.md"].startswith(f"# {project['name']}\n")


def test_new_distributions_install_and_pass_their_tests_and_contracts_unchanged(folder, site):
    options = ["-q", "-p", "helmdeck_testing", "-p", "no:cacheprovider", "--import-mode=importlib", "-W", "error"]
    done = python("-m", "pytest", *options, "--rootdir", folder, folder, folder=folder, site=site)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 25 * len(KINDS)


@pytest.mark.parametrize("name", ["a", NAME, "a-name-of-24-characters2"])
def test_new_code_passes_the_linter_and_the_formatter_of_its_own_settings(name, tmp_path):
    for kind in KINDS:
        assert main(["plugins", "new", kind, name, "--folder", str(tmp_path)]) == ExitCode.OK
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "."], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


@each_case("kind", KINDS)
def test_new_code_uses_public_names_only(kind):
    files = render(kind, NAME)
    for path, text in files.items():
        if path.endswith(".py"):
            modules = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
            public = {
                "helmdeck_core",
                "helmdeck_core.cli",
                "helmdeck_cli",
                "helmdeck_runs",
                "helmdeck_providers",
                "helmdeck_testing",
            }
            assert {module for module in modules if module.startswith("helmdeck")} <= public, path


@pytest.mark.parametrize(
    "name", ["Tides", "tide_tables", "-x", "../x", "a--b", "9a", "", "é", "a b", "lexical", "a" * 25]
)
def test_unusable_name_is_a_usage_error_and_nothing_is_created(name, tmp_path, capsys):
    assert main(["plugins", "new", "--folder", str(tmp_path), "pack", "--", name]) == ExitCode.USAGE
    assert "name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_unknown_kind_and_missing_folder_are_usage_errors(tmp_path, capsys):
    assert main(["plugins", "new", "packs", NAME, "--folder", str(tmp_path)]) == ExitCode.USAGE
    assert main(["plugins", "new", "pack", NAME, "--folder", str(tmp_path / "missing")]) == ExitCode.USAGE
    assert "no such directory" in capsys.readouterr().err


def test_existing_folder_is_never_changed(tmp_path, capsys):
    (tmp_path / f"helmdeck-pack-{NAME}").mkdir()
    (tmp_path / f"helmdeck-pack-{NAME}" / "README.md").write_text("mine")
    assert main(["plugins", "new", "pack", NAME, "--folder", str(tmp_path)]) == ExitCode.USAGE
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / f"helmdeck-pack-{NAME}" / "README.md").read_text() == "mine"


def test_files_are_listed_as_json(tmp_path, capsys):
    assert main(["--json", "plugins", "new", "sink", NAME, "--folder", str(tmp_path)]) == ExitCode.OK
    listed = json.loads(capsys.readouterr().out)
    folder = Path(listed["folder"])
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == set(listed["files"])


@pytest.fixture
def tutorial():
    """The commands of the tutorial's section about a new pack."""
    section = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8").partition("## 8. ")[2].partition("\n## ")[0]
    return [line[2:] for line in section.splitlines() if line.startswith("$ ")]


def test_commands_of_the_tutorial_lead_from_nothing_to_a_planned_and_executed_step(tutorial, tmp_path):
    assert len(tutorial) < 10
    venv.create(tmp_path / "venv", with_pip=False)
    python = str(tmp_path / "venv" / "bin" / "python")
    packages = Path(pytest.__file__).parents[1]
    env = environment(
        packages, COLUMNS="100", HELMDECK_DATA_DIR=str(tmp_path / "data"), PIP_DISABLE_PIP_VERSION_CHECK="1",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )  # fmt: skip
    programs = {
        "helmdeck": [python, "-m", "helmdeck_core.cli"],
        "pip": [python, "-m", "pip"],
        "python": [python],
    }
    offline = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    output = []
    for line in tutorial:
        program, *words = shlex.split(line)
        more = offline if program == "pip" else ["-p", "no:cacheprovider"] if program == "python" else []
        command = [*programs[program], *words, *more]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        output.append(done.stdout)
    plan, run = output[-2:]
    assert "1. tides.count" in plan
    assert '{"text": "High tide is at noon."}' in plan
    assert json.loads(run) == {"words": 5, "sentences": 1, "characters": 21}


# -- single files --------------------------------------------------------------------------------------------


@each_case("kind", KINDS)
def test_single_file_of_every_kind_is_loaded_with_its_option(kind, tmp_path, capsys, monkeypatch):
    (tmp_path / kind).mkdir()
    monkeypatch.chdir(tmp_path / kind)
    assert main(["plugins", "new", kind, NAME, "--file"]) == ExitCode.OK
    assert "helmdeck plugins show tide_tables.py --plugin tide_tables.py" in capsys.readouterr().out
    assert main(["plugins", "show", "tide_tables.py", "--plugin", "tide_tables.py", "--no-plugins"]) == ExitCode.OK
    assert "tide_tables.py (file): loaded" in capsys.readouterr().out
    assert main(["plugins", "new", kind, NAME, "--file"]) == ExitCode.USAGE, "an existing file is never changed"


def test_single_files_pass_the_linter_and_the_formatter(tmp_path):
    for kind in KINDS:
        for name in (NAME, "a", "a-name-of-24-characters2"):
            path, text = render_file(kind, name)
            assert "[[" not in text.replace(f"[providers.{name}]", "")
            (tmp_path / kind).mkdir(exist_ok=True)
            (tmp_path / kind / path).write_text(text, encoding="utf-8")
    for command in (["check", "--select", "F,I"], ["format", "--check"]):
        words = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", "--line-length", "120", "."]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_provider_in_a_single_file_starts_at_forty_lines_and_answers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDE_TABLES_API_KEY", "sk-0123456789")
    path, text = render_file("provider", NAME)
    assert len(text.splitlines()) <= 40
    (tmp_path / path).write_text(text)
    answers = {"good": {"output": "High at noon.", "why": "done", "read": 9, "written": 4}, "empty": {"why": "done"}}
    with chat_server(lambda body: answers[body["model"]]) as server:
        (tmp_path / "helmdeck.toml").write_text(
            f'[plugins]\nfiles = ["{path}"]\n[providers.{NAME}]\nbase_url = "{server.base_url}"\n'
            'api_key = "env:TIDE_TABLES_API_KEY"\n'
        )
        monkeypatch.setattr(sys, "stdin", None)
        assert main(["ask", "-m", f"{NAME}/good", "when is high tide?"]) == ExitCode.OK
        assert capsys.readouterr().out == "High at noon.\n"
        assert server.requests[0].headers["x-api-key"] == "sk-0123456789"
        assert main(["ask", "-m", f"{NAME}/empty", "when is high tide?"]) == ExitCode.LIKELY_TIMEOUT
