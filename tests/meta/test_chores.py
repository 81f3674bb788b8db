"""The commands of contributors: one list of linters for CI, pre-commit and nox, and a CONTRIBUTING.md that is up to date."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

import helmdeck_core
from helmdeck_core.packages import CAPABILITIES, LIBRARIES

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
PRE_COMMIT = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")


def load_noxfile():
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NOXFILE = load_noxfile()
SESSIONS = {name for name, value in vars(NOXFILE).items() if type(value).__name__ == "Func"}


class Recorder:
    """A nox session that records commands instead of running them."""

    def __init__(self, *posargs):
        self.posargs = posargs
        self.commands = []

    def run(self, *command):
        assert command[0] == sys.executable
        self.commands.append(" ".join(command[1:]))

    def error(self, message):
        raise ValueError(message)


def commands_of(name, *posargs):
    recorder = Recorder(*posargs)
    vars(NOXFILE)[name].func(recorder)
    return recorder.commands


def test_nox_runs_the_listed_linters():
    for name, commands in NOXFILE.LINTERS.items():
        assert commands_of(name) == [f"-m {command}" for command in commands]


def test_ci_and_pre_commit_run_the_linters_of_nox_and_no_other_ones():
    linters = {command.split()[0] for commands in NOXFILE.LINTERS.values() for command in commands}
    assert re.findall(r"^run nox (.*)$", CI, re.MULTILINE) == [f"-s {' '.join(NOXFILE.LINTERS)}"]
    assert re.findall(r"^ +entry: (.*)$", PRE_COMMIT, re.MULTILINE) == [
        f".venv/bin/nox -s {name}" for name in NOXFILE.LINTERS
    ]
    assert not [line for line in CI.splitlines() if line.startswith(tuple(f"run {linter}" for linter in linters))]
    names = re.findall(r"^ +name: (.*)$", PRE_COMMIT, re.MULTILINE)
    assert names == [", ".join(command.removesuffix(" .") for command in each) for each in NOXFILE.LINTERS.values()]


def test_pre_commit_downloads_nothing():
    assert re.findall(r"^ +- repo: (.*)$", PRE_COMMIT, re.MULTILINE) == ["local"]
    assert set(re.findall(r"^ +language: (.*)$", PRE_COMMIT, re.MULTILINE)) == {"system"}


def test_tests_of_a_package_include_the_import_rules():
    assert commands_of("room", "helmdeck_mcp") == ["-m pytest tests/helmdeck_mcp tests/meta/test_layers.py"]
    with pytest.raises(ValueError, match="name a package"):
        commands_of("room")


def test_every_package_has_a_folder_of_tests():
    folders = {path.name for path in ROOT.glob("tests/helmdeck_*")}
    assert folders == {"helmdeck_core", *LIBRARIES, *CAPABILITIES}


# -- CONTRIBUTING.md -------------------------------------------------------------------------------------------


def test_guide_lists_every_session_of_nox():
    named = " ".join(re.findall(r"nox -s ([a-z ]+)", GUIDE)).split()
    assert set(named) == SESSIONS


def test_guide_lists_every_package():
    packages = re.findall(r"^\| `(?:plugins/)?(helmdeck_\w+)` \|", GUIDE, re.MULTILINE)
    assert packages == ["helmdeck_core", *LIBRARIES, *CAPABILITIES]


def test_places_to_begin_exist():
    for package, places in re.findall(r"^\| `((?:plugins/)?helmdeck_\w+)` \|.*\| (.*) \|$", GUIDE, re.MULTILINE):
        for place in re.findall(r"`([^`]+)`", places):
            path = ROOT / package / place
            assert path.is_dir() or (path.suffix and path.is_file()), f"{package}/{place}"


def test_paths_in_the_guide_exist():
    paths = set(re.findall(r"(?<![\w/.])((?:\.ci|docs|helmdeck_core|plugins|tests)/[\w./-]+)", GUIDE))
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path.rstrip(".")).exists()] == []


def test_first_change_of_the_guide_names_code_that_exists():
    from helmdeck_selection import trim_steps

    tests = (ROOT / "tests" / "helmdeck_selection" / "test_trim.py").read_text(encoding="utf-8")
    for name, place in (("_BEFORE_NUMBER", vars(trim_steps)), ("test_first_sentence_ends_at_its_real_end", tests)):
        assert f"`{name}`" in GUIDE and name in place


def test_both_places_of_the_version_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == helmdeck_core.__version__


# -- decisions -------------------------------------------------------------------------------------------------

DECISIONS = ROOT / "docs" / "decisions"


def test_decisions_are_numbered_and_listed_with_their_titles():
    pages = sorted(DECISIONS.glob("0*.md"))
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in pages]
    assert [title[:4] for title in titles] == [path.name[:4] for path in pages]
    assert [int(title[:4]) for title in titles] == list(range(1, len(pages) + 1))
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[([^\]]+)\]\(([^)]+)\)", index, re.MULTILINE)
    assert listed == [(title, path.name) for title, path in zip(titles, pages, strict=True)]


def test_decisions_have_the_same_parts_and_are_short():
    for path in DECISIONS.glob("0*.md"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"], path
        assert re.search(r"^Status: (accepted|replaced by)", text, re.MULTILINE), path
        assert len(text.splitlines()) <= 40, path
