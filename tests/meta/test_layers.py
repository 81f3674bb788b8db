"""Import rules: the core imports no plugin, packages use public names of lower packages, and every arrow is drawn."""

import ast
import functools
import graphlib
import importlib
import re
from pathlib import Path

import helmdeck_core
from docs.packages_page import arrows, import_statements
from helmdeck_core.hooks.builtins import builtin_commands, builtin_plugins
from helmdeck_core.packages import CAPABILITIES, LIBRARIES
from tests.case_support import each_case

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "helmdeck_core"

LADDER = [
    "packages", "public_names", "log", "redaction", "secret_places", "suggestions", "encoding", "json_schema", "timeouts",
    "directories", "artifacts", "errors", "domain", "hookspecs", "hooks", "config", "resolve", "context", "calls", "packs",
    "deck", "cli",
]  # fmt: skip
"""Modules and packages of the core, lower ones first; a module imports only earlier ones."""

PUBLIC_MODULES = ("cli", "log", "public_names")
"""Modules of the core that plugins import as they are; everything else comes from the package itself."""

CLI_NAMES = set(
    re.findall(r"import (\w+) as \1$", (CORE / "cli" / "__init__.pyi").read_text(encoding="utf-8"), re.MULTILINE)
)
"""The public names of the command line, for commands of plugins."""

ARROWS = {
    "helmdeck_language": set(),
    "helmdeck_storage": set(),
    "helmdeck_reading": set(),
    "helmdeck_recovery": set(),
    "helmdeck_providers": set(),
    "helmdeck_selection": {"helmdeck_language", "helmdeck_providers", "helmdeck_storage"},
    "helmdeck_planner": {"helmdeck_language", "helmdeck_reading", "helmdeck_selection"},
    "helmdeck_cli": {"helmdeck_providers", "helmdeck_selection", "helmdeck_storage"},
    "helmdeck_history": {"helmdeck_cli", "helmdeck_storage"},
    "helmdeck_chains": {"helmdeck_history"},
    "helmdeck_telemetry": {"helmdeck_storage"},
    "helmdeck_runs": {"helmdeck_cli", "helmdeck_providers", "helmdeck_storage"},
    "helmdeck_mcp": {"helmdeck_cli", "helmdeck_history", "helmdeck_storage"},
    "helmdeck_cache": {"helmdeck_storage"},
    "helmdeck_guards": {"helmdeck_language"},
    "helmdeck_gateway": {"helmdeck_cache", "helmdeck_cli", "helmdeck_guards", "helmdeck_providers", "helmdeck_storage"},
    "helmdeck_console": {
        "helmdeck_chains",
        "helmdeck_cli",
        "helmdeck_gateway",
        "helmdeck_history",
        "helmdeck_storage",
        "helmdeck_telemetry",
    },
    "helmdeck_testing": {"helmdeck_history", "helmdeck_providers"},
}
"""What each package imports besides the core; a new arrow is a decision, and is drawn on ``docs/reference/packages.md``."""

BASES = [ROOT, ROOT / "plugins", *sorted(ROOT.glob("contrib_*/*/src"))]
FILES = [(base, path) for base in BASES for path in sorted(base.glob("helmdeck_*/**/*.py"))]
NOT_OURS_TO_SHIP = {
    "plugins",
    "tests",
    "benchmarks",
    "contrib_providers",
    "contrib_packs",
    "contrib_transports",
    "contrib_caches",
}


@functools.cache
def imports(path):
    """Dotted names as lists, one part deeper than the ``from`` so that modules are seen; type-only ones count."""
    found = []
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found += [alias.name.split(".") for alias in node.names]
        else:
            assert node.module and not node.level, f"{path}:{node.lineno}: relative import"
            found += [[*node.module.split("."), alias.name] for alias in node.names]
    return found


def project_imports(path):
    return [parts for parts in imports(path) if parts[0].startswith("helmdeck_")]


def package_of(base, path):
    return path.relative_to(base).parts[0]


def test_the_core_imports_no_plugin_and_its_modules_import_lower_ones():
    for base, path in FILES:
        package, *rest = path.relative_to(base).with_suffix("").parts
        assert not NOT_OURS_TO_SHIP & {parts[0] for parts in imports(path)}, path
        if package == "helmdeck_core":
            assert {parts[0] for parts in project_imports(path)} <= {package}, path
            if rest != ["__init__"]:
                allowed = {*LADDER[: LADDER.index(rest[0]) + 1], "__version__"}
                assert [parts for parts in project_imports(path) if parts[1] not in allowed] == [], path


def test_packages_import_each_other_only_as_drawn():
    assert arrows() == ARROWS
    assert list(graphlib.TopologicalSorter(ARROWS).static_order())


def test_arrows_point_to_packages_that_are_registered_earlier():
    order = [*LIBRARIES, *CAPABILITIES]
    assert all(order.index(lower) < order.index(package) for package, lowers in ARROWS.items() for lower in lowers)
    assert {path.parent.name for path in (ROOT / "plugins").glob("*/__init__.py")} == set(order)


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


@each_case("package", CAPABILITIES)
def test_modules_of_a_capability_import_each_other_without_a_circle(package):
    folder = ROOT / "plugins" / package
    modules = {
        path: ".".join(path.relative_to(ROOT / "plugins").with_suffix("").parts) for path in folder.rglob("*.py")
    }
    known = set(modules.values())
    graph = {}
    for path, name in modules.items():
        targets = {".".join(parts[:size]) for parts in project_imports(path) for size in (len(parts), len(parts) - 1)}
        graph[name] = {each for each in targets & known if each != name}
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_packages_use_only_what_other_packages_export():
    exported = {*helmdeck_core.__all__, *PUBLIC_MODULES, "__version__"}
    packages = {*LIBRARIES, *CAPABILITIES}
    for base, path in FILES:
        package = package_of(base, path)
        for parts in project_imports(path):
            name = f"{path}: {'.'.join(parts)}"
            if parts[0] == package:
                continue
            if parts[0] == "helmdeck_core":
                assert len(parts) == 2 or parts[1] in PUBLIC_MODULES, f"{name} is not public"
                assert parts[1] in exported, f"{name} is not exported"
                if parts[1] == "cli" and len(parts) > 2:
                    assert parts[2] in CLI_NAMES, f"{name} is not exported"
            elif parts[0] in packages:
                assert len(parts) == 2, f"{name} is not public"
                assert parts[1] in importlib.import_module(parts[0]).__all__, f"{name} is not exported"


DRIVERS = {"sqlite3", "psycopg", "psycopg_pool", "redis", "sqlalchemy"}


def test_only_storage_imports_the_drivers_of_databases():
    found = {package_of(base, path) for base, path in FILES if DRIVERS & {parts[0] for parts in imports(path)}}
    # The search over files uses the full-text index of SQLite in memory, and no database.
    assert found == {"helmdeck_storage", "helmdeck_pack_web"}


WIRE_FORMATS = sorted((ROOT / "plugins" / "helmdeck_providers" / "wire_formats").glob("*/__init__.py"))


def test_wire_formats_are_packages_with_the_same_layout():
    assert len(WIRE_FORMATS) >= 5
    for path in WIRE_FORMATS:
        modules = {each.stem for each in path.parent.glob("*.py")}
        assert {"__init__", "wire_format", "request", "response", "stop_reasons"} <= modules, path


def test_a_wire_format_imports_no_other_one():
    names = {path.parent.name for path in WIRE_FORMATS}
    for own in WIRE_FORMATS:
        for path in own.parent.glob("*.py"):
            others = {parts[2] for parts in project_imports(path) if parts[1:2] == ["wire_formats"]} & names
            assert others <= {own.parent.name}, path


def modules_in(folder):
    names = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return names - {"__init__"}


def test_every_module_of_the_core_has_a_place_on_the_ladder():
    assert modules_in(CORE) == set(LADDER)


# -- packages --------------------------------------------------------------------------------------------------


@each_case("package", CAPABILITIES)
def test_hooks_are_implemented_only_by_modules_that_the_table_of_the_package_lists(package):
    folder = ROOT / "plugins" / package
    listed = {target for target in builtin_plugins().values() if target.startswith(f"{package}.")}
    implementing = set()
    for path in folder.rglob("*.py"):
        if re.search(r"^@hookimpl", path.read_text(encoding="utf-8"), re.MULTILINE):
            parts = path.relative_to(ROOT / "plugins").with_suffix("").parts
            implementing.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    assert implementing == listed


@each_case("package", (*LIBRARIES, *CAPABILITIES))
def test_a_package_says_what_it_does_which_hooks_it_implements_and_where_to_begin(package):
    doc = importlib.import_module(package).__doc__ or ""
    for heading in ("**In**", "**Out**", "**Hooks**", "**Begin**"):
        assert heading in doc, f"{package} does not say {heading}"
    assert 5 <= len(doc.splitlines()) <= 20
    targets = [target for target in builtin_plugins().values() if target.startswith(f"{package}.")]
    implemented = {
        name for target in targets for name in vars(importlib.import_module(target)) if is_hook(target, name)
    }
    hooks = re.search(r"\*\*Hooks\*\*:(.*?)\n- \*\*Begin", doc, re.DOTALL)
    assert hooks is not None
    assert set(re.findall(r"``(helmdeck_\w+)``", hooks[1])) - ({package} - implemented) == implemented


@each_case("package", (*LIBRARIES, *CAPABILITIES))
def test_a_package_begins_with_modules_that_exist(package):
    begin = (importlib.import_module(package).__doc__ or "").partition("**Begin**")[2]
    first_sentence = re.split(r"\.\s", begin)[0]
    named = re.findall(r"``([a-z_0-9]+(?:\.[a-z_0-9]+)*)``", first_sentence)
    names = {name for name in named if not name.startswith("helmdeck_")}
    files = [path.relative_to(ROOT / "plugins").with_suffix("") for path in (ROOT / "plugins" / package).rglob("*.py")]
    modules = {".".join(each.parts[start:]) for path in files for each in (path, path.parent) for start in range(1, 5)}
    assert names
    assert names - modules - set(importlib.import_module(package).__all__) == set()


def is_hook(target, name):
    return hasattr(vars(importlib.import_module(target))[name], "helmdeck_impl")


@each_case("package", (*LIBRARIES, *CAPABILITIES))
def test_public_names_differ_from_the_names_of_modules(package):
    """Importing a module sets an attribute of its package, which would hide a public name."""
    assert not set(importlib.import_module(package).__all__) & modules_in(ROOT / "plugins" / package)


def test_public_names_of_the_core_differ_from_the_names_of_its_modules():
    assert not set(helmdeck_core.__all__) & modules_in(CORE)


def test_every_built_in_command_is_a_plugin_that_can_be_blocked_by_name():
    from helmdeck_core.hooks.manager import load_plugins

    contributing = {info.name for info in load_plugins(autoload=False).infos if "helmdeck_commands" in info.hooks}
    assert contributing == set(builtin_commands())
    assert not [path.name for path in (CORE / "cli").glob("*.py") if "Command(" in path.read_text(encoding="utf-8")]


def test_only_one_module_touches_hooks():
    touching = {
        path.name for path in CORE.rglob("*.py") if re.search(r"\bpm\.hook\b", path.read_text(encoding="utf-8"))
    }
    assert touching == {"calls.py"}


def test_a_file_can_be_read_in_one_sitting():
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for _, path in FILES}
    assert [f"{path}: {count}" for path, count in lines.items() if count > 450] == []


STUBS = [CORE / "__init__.pyi", CORE / "cli" / "__init__.pyi", *sorted((ROOT / "plugins").glob("*/__init__.pyi"))]


@each_case("stub", STUBS)
def test_each_public_name_is_listed_once_and_is_what_its_module_defines(stub):
    is_cli = stub.parent.name == "cli"
    package = importlib.import_module("helmdeck_core.cli" if is_cli else stub.parent.name)
    lines = stub.read_text(encoding="utf-8").splitlines()
    listed = [re.fullmatch(r"from (\S+) import (\w+) as \2", line) for line in lines if line.startswith("from ")]
    assert all(listed)
    names = [match[2] for match in listed]
    assert sorted(names) == package.__all__, "one line per name"
    for module, name in (match.groups() for match in listed):
        assert getattr(package, name) is getattr(importlib.import_module(module), name), name


def test_each_hook_is_documented_and_has_a_test_that_names_it():
    from helmdeck_core.hooks.contributions import hook_specifications

    modules = sorted((ROOT / "tests" / "helmdeck_core").glob("test_hooks_for_*.py"))
    tests = "".join(path.read_text(encoding="utf-8") for path in modules)
    specs = hook_specifications()
    assert len(specs) >= 12
    for name, function in specs.items():
        doc = function.__doc__ or ""
        for needed in ("Called", ":returns:", ":raises"):
            assert needed in doc, f"{name} does not say {needed}"
        assert all(f":param {each}:" in doc for each in function.__code__.co_varnames[: function.__code__.co_argcount])
        assert f"def test_{name}_" in tests
