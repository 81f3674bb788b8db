"""Every contributed distribution is one that a third party could have written: whole, declared, found by its metadata."""

import ast
import functools
import importlib
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import helmdeck_core
import helmdeck_providers
import helmdeck_runs
from helmdeck_cli.scaffold.render import compatible_range
from helmdeck_testing import make_deck

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = sorted(path.parent for path in ROOT.glob("contrib_*/*/pyproject.toml"))

pytestmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())


@pytest.fixture
def project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


@pytest.fixture
def module(project):
    """The one module of the distribution, by its name."""
    (target,) = project["entry-points"]["helmdeck"].values()
    return target.partition(":")[0]


@pytest.fixture
def install(project, installed_plugin):
    """Write the metadata that pip would write; the module itself is importable already."""
    points = project["entry-points"]["helmdeck"]
    return lambda: installed_plugin(project["name"], points, {}, project["version"])


def sources(folder):
    found = sorted((folder / "src").rglob("*.py"))
    assert found
    return found


@functools.cache
def installed_modules():
    """The distributions of each importable module; reading them takes a quarter of a second."""
    return packages_distributions()


def test_it_is_named_after_what_it_is(folder, project, module):
    kinds = {"contrib_providers": "provider", "contrib_packs": "pack", "contrib_transports": "transport"}
    kind = {**kinds, "contrib_caches": "cache"}[folder.parent.name]
    assert project["name"] == f"helmdeck-{kind}-{folder.name}"
    assert module == f"helmdeck_{kind}_{folder.name}"
    assert list(project["entry-points"]["helmdeck"]) == [folder.name]


def test_it_is_on_the_lists_of_the_root(folder):
    source = (folder / "src").relative_to(ROOT).as_posix()
    tools = PROJECT["tool"]
    assert source in tools["pytest"]["ini_options"]["pythonpath"]
    assert source in tools["mypy"]["mypy_path"]
    assert source in tools["pyright"]["extraPaths"]


def test_it_is_whole(folder, project, module):
    package = folder / "src" / module
    assert (package / "py.typed").is_file()
    assert (package / "__init__.py").is_file()
    assert list((folder / "tests").glob("test_*.py"))
    assert f"# {project['name']}\n" in (folder / project["readme"]).read_text()
    assert project["license"] == "Apache-2.0"
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert project["license-files"] == ["LICENSE"]
    assert project["requires-python"] == PROJECT["project"]["requires-python"]


def test_it_depends_on_helmdeck_and_a_provider_on_nothing_else(folder, project):
    names = [requirement.partition(">")[0] for requirement in project["dependencies"]]
    assert project["dependencies"][0] == compatible_range(PROJECT["project"]["version"])
    assert names[1:] == [] or folder.parent.name != "contrib_providers"


def test_its_libraries_are_those_that_its_tests_run_with(project):
    assert set(project["dependencies"][1:]) <= set(PROJECT["project"]["optional-dependencies"]["dev"])


def test_it_builds_as_helmdeck_does(folder):
    assert tomllib.loads((folder / "pyproject.toml").read_text())["build-system"] == PROJECT["build-system"]


def test_it_uses_nothing_of_helmdeck_but_its_public_names(folder, module):
    for path in sources(folder):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                used = [(alias.name, None) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path} line {node.lineno}: relative import"
                used = [(node.module, alias.name) for alias in node.names]
            else:
                continue
            for source, name in used:
                top = source.partition(".")[0]
                where = f"{path} line {node.lineno}: {source} {name or ''}"
                assert (
                    top == module
                    or not top.startswith(("helmdeck", "plugins", "tests", "contrib"))
                    or (source == "helmdeck_core" and name in helmdeck_core.__all__)
                    or (source == "helmdeck_providers" and name in dir(helmdeck_providers))
                    or (source == "helmdeck_runs" and name in dir(helmdeck_runs))
                ), where


def test_it_imports_libraries_only_that_helmdeck_or_itself_brings(folder, project, module):
    requirements = (*PROJECT["project"]["dependencies"], *project["dependencies"])
    required = {re.split("[<>=]", requirement)[0] for requirement in requirements}
    # A module may be named differently from its distribution, such as pptx of python-pptx.
    brought = {module for module, names in installed_modules().items() if required & set(names)}
    allowed = {
        *sys.stdlib_module_names,
        *brought,
        "helmdeck_core",
        "helmdeck_runs",
        "helmdeck_providers",
        module,
    }
    for path in sources(folder):
        tree = ast.parse(path.read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name.partition(".")[0] for name in names} <= allowed, path


def test_its_entry_point_is_a_module_with_hooks(project):
    (target,) = project["entry-points"]["helmdeck"].values()
    plugin = importlib.import_module(target)
    assert [name for name in dir(plugin) if hasattr(getattr(plugin, name), "helmdeck_impl")]


def test_it_is_found_by_its_metadata(folder, project, install):
    install()
    infos = {info.name: info for info in make_deck(autoload=True).runtime.plugins.infos}
    found = infos[folder.name]
    assert (found.source, found.is_blocked) == ("entry point", False)
    assert found.distribution == f"{project['name']} {project['version']}"
    assert found.hooks


def test_it_stays_out_when_autoload_is_off(folder, install):
    install()
    assert folder.name not in [info.name for info in make_deck(autoload=False).runtime.plugins.infos]


def test_it_is_blocked_by_its_name(folder, install):
    install()
    deck = make_deck(autoload=True, environ={"HELMDECK_DISABLE_PLUGINS": folder.name})
    assert [info.hooks for info in deck.runtime.plugins.infos if info.name == folder.name and info.is_blocked] == [()]
    owners = {owned.plugin for values in deck.runtime.contributions.values() for owned in values}
    assert folder.name not in owners


def test_its_packs_take_the_inputs_of_the_example_catalog(folder, project):
    (target,) = project["entry-points"]["helmdeck"].values()
    examples = make_deck().catalog
    for pack in getattr(importlib.import_module(target), "helmdeck_packs", tuple)():
        entry = examples.get(pack.name)
        example = {"properties": {}, **((entry and entry.input_schema) or {})}
        assert example.get("required") is None or set(example["required"]) == set(pack.input_schema["required"])
        for name, property_ in example["properties"].items():
            own = pack.input_schema["properties"][name]
            assert [own.get(key) for key in ("type", "enum")] == [property_.get(key) for key in ("type", "enum")], name


def test_its_packs_are_on_the_list_that_names_their_distribution(project):
    (target,) = project["entry-points"]["helmdeck"].values()
    listed = tomllib.loads((ROOT / "plugins/helmdeck_runs/pipelines/distributions.toml").read_text())["packs"]
    for pack in getattr(importlib.import_module(target), "helmdeck_packs", tuple)():
        assert listed[pack.name] == project["name"]
