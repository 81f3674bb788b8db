"""Import rules: the core imports no plugin and names no behaviour; plugins use only public names."""

import ast
import functools
import graphlib
import importlib
import re
from pathlib import Path

import helmdeck_core
from tests.case_support import each_case

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "helmdeck_core"

LADDER = [
    "log", "errors", "domain", "hookspecs", "hooks", "config", "resolve", "context", "calls", "packs", "deck", "cli",
]  # fmt: skip
"""Lower modules and packages first; a module imports only earlier ones."""

PUBLIC_MODULES = ("cli", "log")
"""Modules of the core that plugins import as they are; everything else comes from the package itself."""

CLI_NAMES = set(
    re.findall(r"import (\w+) as \1$", (CORE / "cli" / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
)
"""The public names of the command line, for commands of plugins."""

KITS = (
    "helmdeck_catalog_kit",
    "helmdeck_command_kit",
    "helmdeck_history_kit",
    "helmdeck_pack_kit",
    "helmdeck_provider_kit",
    "helmdeck_run_kit",
    "helmdeck_testing",
)
"""Packages of this distribution that plugins may use, lower ones first."""

BASES = [ROOT, ROOT / "plugins", *sorted(ROOT.glob("contrib_*/*/src"))]
FILES = [(base, path) for base in BASES for path in sorted(base.glob("helmdeck_*/**/*.py"))]
NOT_OURS_TO_SHIP = {"plugins", "tests", "benchmarks", "contrib_providers", "contrib_packs"}


@functools.cache
def imports(path):
    """Dotted names as lists, one part deeper than the ``from`` so that modules are seen; type-only ones count."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path}:{node.lineno}: relative import"
            found += [[*node.module.split("."), alias.name] for alias in node.names]
    return found


def below(package):
    """The packages of the project that a package may import from: itself, the guards, the core, and lower kits."""
    if package == "helmdeck_guards":
        return {package}
    if package == "helmdeck_core":
        return {package, "helmdeck_guards"}
    kits = KITS[: KITS.index(package)] if package in KITS else KITS
    return {"helmdeck_guards", "helmdeck_core", package, *kits}


def test_imports_point_downwards():
    for base, path in FILES:
        package, *rest = path.relative_to(base).with_suffix("").parts
        assert not NOT_OURS_TO_SHIP & {parts[0] for parts in imports(path)}, path
        ours = [parts for parts in imports(path) if parts[0].startswith("helmdeck_")]
        assert {parts[0] for parts in ours} <= below(package), path
        if package == "helmdeck_core" and rest != ["__init__"]:
            allowed = {*LADDER[: LADDER.index(rest[0]) + 1], "__version__"}
            assert [parts for parts in ours if parts[0] == package and parts[1] not in allowed] == [], path


@each_case("package", sorted({path.parent for path in CORE.rglob("*.py")}))
def test_modules_of_a_package_import_each_other_without_a_circle(package):
    graph = {}
    for path in package.glob("*.py"):
        dotted = list(path.relative_to(ROOT).with_suffix("").parts)
        depth = len(dotted)
        graph[path.stem] = {
            parts[depth - 1]
            for parts in imports(path)
            if len(parts) >= depth and parts[: depth - 1] == dotted[:-1] and parts[depth - 1] != path.stem
        } & {each.stem for each in package.glob("*.py")}
    if package == CORE:
        graph.pop("__init__")
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_plugins_use_only_what_the_public_packages_export():
    exported = {*helmdeck_core.__all__, *PUBLIC_MODULES, "__version__"}
    uses = [(base, path, parts) for base, path in FILES for parts in imports(path)]
    for base, path, parts in uses:
        package, name = path.relative_to(base).parts[0], f"{path}: {'.'.join(parts)}"
        if parts[0] == "helmdeck_core" != package:
            assert len(parts) == 2 or parts[1] in PUBLIC_MODULES, f"{name} is not public"
            assert parts[1] in exported, f"{name} is not exported"
            if parts[1] == "cli" and len(parts) > 2:
                assert parts[2] in CLI_NAMES, f"{name} is not exported"
        elif parts[0] in KITS and parts[0] != package:
            assert parts[1] in vars(importlib.import_module(parts[0])), f"{name} is not public"


PLUGINS = ROOT / "plugins" / "helmdeck_plugins"
WIRE_FORMATS = sorted(path.parent.name for path in (PLUGINS / "providers").glob("*/__init__.py"))


def plugin_unit(parts):
    """The built-in that a module belongs to: a module, a package, or one wire format; modules beside them are shared."""
    return parts[:2] if parts[0] == "providers" and len(parts) > 1 and parts[1] in WIRE_FORMATS else parts[:1]


def test_built_in_imports_its_own_modules_and_no_other_built_in():
    files = [path for _, path in FILES if path.is_relative_to(PLUGINS)]
    assert len(files) > 100
    for path in files:
        own = plugin_unit(path.relative_to(PLUGINS).with_suffix("").parts)
        for parts in imports(path):
            if parts[0] == "helmdeck_plugins":
                unit = plugin_unit(tuple(parts[1:]))
                assert unit in (own, own[:1]), f"{path}: {'.'.join(parts)} belongs to another plugin"


def test_wire_formats_are_packages_with_the_same_layout():
    assert len(WIRE_FORMATS) >= 5
    for name in WIRE_FORMATS:
        modules = {path.stem for path in (PLUGINS / "providers" / name).glob("*.py")}
        assert {"__init__", "wire_format", "request", "response", "stop_reasons"} <= modules, name


def modules_in(folder):
    names = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return names - {"__init__"}


def test_every_module_of_the_core_has_a_place_on_the_ladder():
    assert modules_in(CORE) == set(LADDER)


def test_every_built_in_command_is_a_plugin_that_can_be_blocked_by_name():
    from helmdeck_core.hooks.manager import load_plugins
    from helmdeck_plugins import BUILTINS, COMMANDS

    contributing = {info.name for info in load_plugins(autoload=False).infos if "helmdeck_commands" in info.hooks}
    assert contributing == set(COMMANDS) <= set(BUILTINS)
    assert not [path.name for path in (CORE / "cli").glob("*.py") if "Command(" in path.read_text(encoding="utf-8")]


def test_only_one_module_touches_hooks():
    touching = {
        path.name for path in CORE.rglob("*.py") if re.search(r"\bpm\.hook\b", path.read_text(encoding="utf-8"))
    }
    assert touching == {"calls.py"}


def test_a_file_can_be_read_in_one_sitting():
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for _, path in FILES}
    del lines[CORE / "__init__.py"]  # a list of names
    assert [f"{path}: {count}" for path, count in lines.items() if count > 450] == []


def test_each_public_name_is_listed_once_and_is_what_its_module_defines():
    lines = (CORE / "__init__.pyi").read_text(encoding="utf-8").splitlines()
    listed = [re.fullmatch(r"from (\S+) import (\w+) as \2", line) for line in lines if line.startswith("from ")]
    assert all(listed)
    names = [match[2] for match in listed]
    assert len(names) > 100
    assert sorted(names) == helmdeck_core.__all__, "one line per name"
    for module, name in (match.groups() for match in listed):
        assert getattr(helmdeck_core, name) is getattr(importlib.import_module(module), name), name


def test_each_hook_is_documented_and_has_a_test_that_names_it():
    from helmdeck_core.hooks.contributions import hook_specifications

    tests = (ROOT / "tests" / "unit" / "test_hooks.py").read_text(encoding="utf-8")
    specs = hook_specifications()
    assert len(specs) >= 12
    for name, function in specs.items():
        doc = function.__doc__ or ""
        for needed in ("Called", ":returns:", ":raises"):
            assert needed in doc, f"{name} does not say {needed}"
        assert all(f":param {each}:" in doc for each in function.__code__.co_varnames[: function.__code__.co_argcount])
        assert f"def test_{name}_" in tests
