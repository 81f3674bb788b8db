"""Who may import whom: the core stands on nothing above it and names no behaviour; plugins see only public names."""

import ast
import re
import sys
from pathlib import Path

import pytest

import helmdeck_core

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "helmdeck_core"

LADDER = [
    "attempts", "codes", "advice", "errors", "log", "hiding", "waiting", "dialects", "narrowing", "domain", "http", "hookspecs", "config",
    "configuring", "rules", "schemas", "fitting", "manager", "calling", "listening", "answers", "toolcalls", "continuation", "budgeting",
    "pricing", "checking", "runtime", "context", "calls", "explaining", "engine", "running", "portal", "deck", "hookdocs", "testing", "cli",
]  # fmt: skip
"""Lower modules and packages first; a module imports only what stands before it."""

INSIDE = {
    "answers": ["marks", "stripping", "fragments", "diagnosis", "refusing", "reading", "decoding", "names"],
    "continuation": ["repetition", "merging", "continuing"],
    "context": ["catalogs", "ladder", "selection", "prompting", "digest", "filtering", "priors", "library", "composing"],
    "calls": [
        "cooling", "turns", "recovering", "watching", "work", "telling", "trail", "offering", "gateway", "listing", "judging", "completing",
        "dispatching",
    ],
}  # fmt: skip
"""The same inside packages whose modules stand on one another."""

BASES = [ROOT, ROOT / "plugins", *sorted(ROOT.glob("contrib_*/*/src"))]
FILES = [
    pytest.param(base, path, id=path.relative_to(ROOT).as_posix())
    for base in BASES
    for path in sorted(base.glob("helmdeck_*/**/*.py"))
]
NOT_OURS_TO_SHIP = {"plugins", "tests", "benchmarks", "contrib_providers", "contrib_packs"}


def imports(path):
    """Dotted names as lists, one part deeper than the ``from`` so that modules are seen; type-only ones count."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path.name}:{node.lineno}: relative import"
            yield from ([*node.module.split("."), alias.name] for alias in node.names)


@pytest.mark.parametrize(("base", "path"), FILES)
def test_imports_point_downwards(base, path):
    package, *rest = path.relative_to(base).with_suffix("").parts
    every = list(imports(path))
    assert not NOT_OURS_TO_SHIP & {parts[0] for parts in every}
    ours = [parts for parts in every if parts[0].startswith("helmdeck_")]
    assert {parts[0] for parts in ours} <= {"helmdeck_core", package}
    if package == "helmdeck_core" and rest != ["__init__"]:
        allowed = {*LADDER[: LADDER.index(rest[0]) + 1], "__version__"}
        assert [parts for parts in ours if parts[1] not in allowed] == []
        if rest[0] in INSIDE and rest[1] != "__init__":
            inside = INSIDE[rest[0]]
            below = inside[: inside.index(rest[1]) + 1]
            assert [parts for parts in ours if parts[1] == rest[0] and parts[2] not in below] == []


@pytest.mark.parametrize(("base", "path"), [each for each in FILES if "helmdeck_core" not in str(each.id)])
def test_plugins_use_only_what_the_core_exports(base, path):
    package = path.relative_to(base).parts[0]
    public = {*helmdeck_core.__all__, "log", "http", "testing"}
    for parts in imports(path):
        if parts[0] == "helmdeck_core":
            assert len(parts) == 2 or parts[1] in ("log", "http", "testing"), f"{'.'.join(parts)} is not public"
            assert parts[1] in public, f"{parts[1]} is not exported"
        assert parts[0] in {"helmdeck_core", package} or not parts[0].startswith("helmdeck_")


def plugin_unit(parts):
    """The plugin that a module of the built-ins belongs to: a module, or a package with its helpers."""
    return ".".join(parts[:2]) if parts[0] not in ("providers", "packs") else parts[0]


@pytest.mark.parametrize(("base", "path"), [each for each in FILES if "helmdeck_plugins" in str(each.id)])
def test_a_built_in_imports_its_own_helpers_and_no_other_built_in(base, path):
    own = path.relative_to(base / "helmdeck_plugins").with_suffix("").parts
    for parts in imports(path):
        if parts[0] == "helmdeck_plugins":
            assert parts[1] == own[0], f"{'.'.join(parts)} belongs to another plugin"


def modules_in(folder):
    names = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return names - {"__init__"}


def test_every_module_of_the_core_has_a_place_on_the_ladder():
    assert modules_in(CORE) == set(LADDER)
    for package, modules in INSIDE.items():
        assert modules_in(CORE / package) == set(modules)


def test_only_one_module_touches_hooks():
    touching = {
        path.name for path in CORE.rglob("*.py") if re.search(r"\bpm\.hook\b", path.read_text(encoding="utf-8"))
    }
    assert touching == {"calling.py"}


OPINIONS = (
    r"(?i)openrouter|anthropic|openai|gemini|claude|mistral|<think|\[think|intent_keywords|typical_use|limitations"
)


def test_the_core_names_no_vendor_model_tag_or_trim_field():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(CORE.rglob("*.py"))
        if path.relative_to(CORE).parts[0] not in ("testing", "cli")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(OPINIONS, line)
    ]
    assert found == []


@pytest.mark.parametrize(("base", "path"), [each for each in FILES if each.id != "helmdeck_core/__init__.py"])
def test_a_file_can_be_read_in_one_sitting(base, path):
    if path == CORE / "__init__.py":
        return  # a list of names
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 450


def test_public_names_exist_and_stand_once():
    assert sorted(set(helmdeck_core.__all__)) == sorted(helmdeck_core.__all__)
    for name in helmdeck_core.__all__:
        assert getattr(helmdeck_core, name).__class__ is not None
    assert sys.modules["helmdeck_core"].__version__


def test_each_hook_is_documented_and_has_a_test_that_names_it():
    from helmdeck_core import hookspecs

    tests = (ROOT / "tests" / "unit" / "test_hooks.py").read_text(encoding="utf-8")
    specs = {name: function for name, function in vars(hookspecs).items() if name.startswith("helmdeck_")}
    assert len(specs) >= 12
    for name, function in specs.items():
        doc = function.__doc__ or ""
        for needed in ("Called", ":returns:", ":raises", ".. versionadded::"):
            assert needed in doc, f"{name} does not say {needed}"
        assert all(f":param {each}:" in doc for each in function.__code__.co_varnames[: function.__code__.co_argcount])
        assert f"def test_{name}_" in tests
