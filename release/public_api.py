"""Compares the public names with those of the last release, and names what breaks.

``release/baseline`` holds the public names of the last release as stubs, one for each package: signatures, fields and methods. They are
rendered at run time, so that they include the constructors of attrs classes, and griffe compares them with stubs of the checkout.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import re
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import griffe

from release.commands import ROOT, ReleaseError, report
from release.distributions import distributions

BASELINE = ROOT / "release" / "baseline"
SUFFIX = ".txt"
"""Not ``.pyi``: linters and type checkers would read the files as code."""

ACCEPTED = BASELINE.parent / "accepted.txt"
"""Breaking changes that are announced for the next release, one line each, as ``compare`` prints them."""

HEAD = "# Public names of {package} in version {version}, written by: python -m release api --write\n"


@functools.cache
def packages(root: Path = ROOT) -> list[str]:
    """Return the core and the capability packages, which have a list of public names each."""
    return [
        path.parent.name for path in [root / "helmdeck_core/__init__.pyi", *sorted(root.glob("plugins/*/__init__.pyi"))]
    ]


def render(package: str, version: str) -> str:
    """Return the stub of the public names of a package."""
    names = sorted(importlib.import_module(package).__all__)
    parts = [_rendered(name, getattr(importlib.import_module(package), name)) for name in names]
    return HEAD.format(package=package, version=version) + "\n" + "\n".join(parts)


def _rendered(name: str, value: object) -> str:
    if isinstance(value, type) and not isinstance(value, types.GenericAlias):
        return _class(name, value)
    if inspect.isroutine(value):
        return _function(name, value)
    return f"{name}: {type(value).__name__}\n"


def _class(name: str, cls: type) -> str:
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object and not _is_private_base(base))
    lines = [f"class {name}({bases}):" if bases else f"class {name}:"]
    if issubclass(cls, enum.Enum):
        lines += [f"    {member} = {cls.__members__[member].value!r}" for member in cls.__members__]
    else:
        lines += [f"    {line}" for line in _constructor(cls)]
        lines += [f"    {line}" for member, value in _members(cls).items() for line in _member(member, value)]
    return "\n".join(lines if len(lines) > 1 else [*lines, "    ..."]) + "\n"


def _is_private_base(cls: type) -> bool:
    """Whether a class belongs to Helmdeck and is not public, so that its members count as those of its subclasses."""
    package = cls.__module__.partition(".")[0]
    return package in packages() and cls.__name__ not in importlib.import_module(package).__all__


def _constructor(cls: type) -> Iterator[str]:
    owner = next((each for each in cls.__mro__ if "__init__" in vars(each)), object)
    if not getattr(cls, "_is_protocol", False) and (owner is cls or _is_private_base(owner)):
        yield _function("__init__", vars(owner)["__init__"]).strip()


def _members(cls: type) -> dict[str, Any]:
    """Return the public members of a class and of its private bases: functions and properties, or the text of a type."""
    members: dict[str, Any] = {}
    for each in reversed([cls, *(base for base in cls.__mro__[1:] if _is_private_base(base))]):
        members |= {
            name: value for name, value in vars(each).items() if not isinstance(value, types.MemberDescriptorType)
        }
        members |= {
            name: inspect.formatannotation(value).strip("'") for name, value in inspect.get_annotations(each).items()
        }
    return {name: members[name] for name in sorted(members) if not name.startswith("_")}


def _member(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, (property, functools.cached_property)):
        getter = value.fget if isinstance(value, property) else value.func
        returns = inspect.get_annotations(getter).get("return", "object") if inspect.isfunction(getter) else "object"
        yield "@property"
        yield f"def {name}(self) -> {returns}: ..."
        return
    if isinstance(value, (staticmethod, classmethod)):
        yield "@" + type(value).__name__
        value = value.__func__
    value = inspect.unwrap(value) if callable(value) else value
    if inspect.isfunction(value):
        yield _function(name, value).strip()
    else:
        yield f"{name}: {value if isinstance(value, str) else type(value).__name__}"


def _function(name: str, function: Any) -> str:
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"{prefix}def {name}(*args, **kwargs): ...\n"
    parameters = [
        each.replace(annotation=_annotation(each.annotation), default=_default(each))
        for each in signature.parameters.values()
    ]
    returns = _annotation(signature.return_annotation)
    return f"{prefix}def {name}{inspect.Signature(parameters, return_annotation=returns)}: ...\n"


@attrs.frozen
class _Text:
    """An annotation or default that is shown as it is written."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _annotation(value: Any) -> Any:
    """Return an annotation whose representation is the text in the source; ``inspect`` would put it in quotes."""
    return _Text(value) if isinstance(value, str) else value


def _default(parameter: inspect.Parameter) -> Any:
    value = parameter.default
    simple = value is inspect.Parameter.empty or value is None or isinstance(value, (bool, int, float, str))
    return value if simple and not isinstance(value, enum.Enum) else _Text("...")


def stubs(version: str) -> dict[str, str]:
    """Return the stubs of all packages, by file name."""
    return {f"{package}{SUFFIX}": render(package, version) for package in packages()}


def baseline_version() -> str:
    """Return the version that the baseline was written for."""
    first = (BASELINE / f"helmdeck_core{SUFFIX}").read_text(encoding="utf-8").partition("\n")[0]
    return first.partition(" in version ")[2].partition(",")[0]


def write_baseline() -> list[Path]:
    """Write the public names of the checkout as those of its version, and forget accepted changes."""
    version = distributions()[0].version
    BASELINE.mkdir(exist_ok=True)
    for path in BASELINE.glob(f"*{SUFFIX}"):
        path.unlink()
    for name, text in stubs(version).items():
        (BASELINE / name).write_text(text, encoding="utf-8")
    ACCEPTED.write_text("", encoding="utf-8")
    return sorted(BASELINE.glob(f"*{SUFFIX}"))


def breaking_changes() -> list[str]:
    """Return what breaks users of the baseline, one line for each change."""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in stubs("now").items():
            (Path(scratch) / name).write_text(text, encoding="utf-8")
        for path in sorted(BASELINE.glob(f"*{SUFFIX}")):
            if not (Path(scratch) / path.name).is_file():
                found.append(f"{path.stem}: the package was removed")
                continue
            before, after = (_load(folder, path.stem) for folder in (BASELINE, Path(scratch)))
            found += [_line(each) for each in griffe.find_breaking_changes(before, after)]
            found += _return_types(before, after)
    return sorted(set(found))


def _load(folder: Path, package: str) -> griffe.Module:
    path = folder / f"{package}{SUFFIX}"
    return griffe.visit(package, path, path.read_text(encoding="utf-8"))


def _line(breakage: griffe.Breakage) -> str:
    text = re.sub(r"\x1b\[\d*m", "", breakage.explain(griffe.ExplanationStyle.ONE_LINE))
    package, _, change = text.partition(f"{SUFFIX}:")
    # Without folder and line, so that a line stays the same on every machine.
    return f"{Path(package).name}: {re.sub(r'^[0-9]*:? *', '', change)}"


def _return_types(before: griffe.Object, after: griffe.Object) -> Iterator[str]:
    """Yield changed return types, which griffe does not compare."""
    for name, old in before.members.items():
        new = after.members.get(name)
        if isinstance(old, griffe.Class) and isinstance(new, griffe.Class):
            yield from _return_types(old, new)
        elif (
            isinstance(old, griffe.Function)
            and isinstance(new, griffe.Function)
            and str(old.returns) != str(new.returns)
        ):
            path = old.path.removeprefix(f"{old.module.name}.")
            yield f"{old.module.name}: {path}: Return type was changed: {old.returns} -> {new.returns}"


def compare() -> None:
    """Report what breaks users of the last release.

    :raises ReleaseError: a change breaks them that is not in ``ACCEPTED``.
    """
    accepted = set(ACCEPTED.read_text(encoding="utf-8").splitlines())
    changes = breaking_changes()
    fresh = [line for line in changes if line not in accepted]
    if stale := sorted(accepted - set(changes)):
        raise ReleaseError("\n".join([f"{ACCEPTED.relative_to(ROOT)} lists changes that do not exist:", *stale]))
    if fresh:
        hint = (
            "keep the old name or argument with a warning (docs/api-stability.md), or write the baseline again if this version "
            "was never released: python -m release api --write"
        )
        raise ReleaseError("\n".join([f"breaking changes since {baseline_version()}:", *fresh, hint]))
    report(
        [f"no breaking change since {baseline_version()} in {len(packages())} packages, {len(accepted)} accepted ones"]
    )
