"""What is shipped: wheels are built as a release builds them, and looked into."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import hatchling.build
import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("helmdeck_core", *sorted(path.parent.name for path in ROOT.glob("plugins/*/__init__.py")))
CONTRIBS = sorted(path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("contrib_*/*/pyproject.toml"))
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", ".benchmarks", "build", "dist"
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree without what tools leave behind."""
    return shutil.copytree(ROOT, tmp_path_factory.mktemp("copy") / "helmdeck", ignore=LEFT_OUT)


@pytest.fixture
def wheel(tree, tmp_path, monkeypatch):
    """Build the wheel of a folder as an installer does, and return the names of its files."""

    def build(folder):
        monkeypatch.chdir(tree / folder)
        with zipfile.ZipFile(tmp_path / hatchling.build.build_wheel(str(tmp_path))) as archive:
            return archive.namelist()

    return build


def top_level(names):
    return {name.partition("/")[0] for name in names}


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel, tree):
    names = wheel(".")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    info = f"helmdeck-{version}.dist-info"
    assert top_level(names) == {*PACKAGES, info}
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert {f"{info}/entry_points.txt", f"{info}/licenses/LICENSE"} <= set(names)
    core = {path.relative_to(tree).as_posix() for path in tree.glob("helmdeck_*/**/*") if path.is_file()}
    plugins = tree / "plugins"
    held = core | {path.relative_to(plugins).as_posix() for path in plugins.glob("*/**/*") if path.is_file()}
    assert {name for name in names if not name.startswith(info)} == held


@pytest.mark.parametrize("folder", CONTRIBS)
def test_the_wheel_of_a_contrib_holds_its_module_alone(wheel, folder):
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    (module,) = project["entry-points"]["helmdeck"].values()
    names = wheel(folder)
    info = f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    assert top_level(names) == {module, info}
    assert f"{module}/py.typed" in names
    assert f"{info}/entry_points.txt" in names


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_the_installed_packages_type_check_from_a_foreign_folder(tmp_path, checker):
    shutil.copy(ROOT / "tests" / "typing" / "api.py", tmp_path)
    options = {"mypy": ["--strict", "--cache-dir", str(tmp_path)], "pyright": ["--pythonpath", sys.executable]}[checker]
    command = [sys.executable, "-m", checker, *options, "api.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
