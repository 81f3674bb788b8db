"""Renders the templates of a kind of plugin.

Templates are package data: ``common`` for every kind, and one folder for each kind. ``[[key]]`` is replaced by a value.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from typing import Final

from helmdeck_core import __version__

KINDS: Final[Mapping[str, str]] = {
    "provider": "models behind another wire format, with the provider contract",
    "transport": "a transport that observes the requests of another one, with the transport contract",
    "trim-step": "a trim step of catalog compaction, with the trim step contract",
    "ranker": "a ranker of catalog entries, with the ranker contract",
    "pack": "a pack that plans can use, with the pack contract",
    "command": "a command in a group of its own, with the command contract",
    "sink": "an event sink with options, with the event sink contract",
}
"""The kinds of plugins, with what their templates contain."""

NAME: Final = re.compile(r"(?=.{1,24}$)[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""Names of plugins; with longer ones, the lines of the templates would exceed their length."""

_KEY: Final = re.compile(r"\[\[(\w+)\]\]")
_SUFFIX: Final = ".tmpl"
_MODULE_FILES: Final = frozenset({"__init__.py", "py.typed"})


def distribution_name(kind: str, name: str) -> str:
    """Return the name of the distribution, which is also the name of its folder."""
    return f"helmdeck-{kind}-{name}"


def compatible_range(version: str) -> str:
    """Return the requirement of a plugin that is written for a version: until 1.0, a minor version may break it.

    :param version: such as ``0.2.1``, for ``helmdeck>=0.2,<0.3``.
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    return f"helmdeck>={major}.{minor},<{major + 1 if major else f'0.{minor + 1}'}"


def render(kind: str, name: str) -> dict[str, str]:
    """Return the files of a new distribution: path, with ``/``, to content.

    :param kind: one of ``KINDS``.
    :param name: the name of the plugin; it matches ``NAME``.
    """
    module = distribution_name(kind, name).replace("-", "_")
    templates = importlib.resources.files("helmdeck_cli.scaffold") / "templates"
    files: dict[str, str] = {}
    for folder in ("common", kind):
        for path, template in _files(templates / folder):
            target = f"src/{module}/{path}" if path in _MODULE_FILES else path
            files[target] = _filled(template, kind, name)
    return dict(sorted(files.items()))


def render_file(kind: str, name: str) -> tuple[str, str]:
    """Return a plugin in a single file: its name and content; the parameters are those of ``render``."""
    templates = importlib.resources.files("helmdeck_cli.scaffold") / "templates"
    short = templates / "file" / f"{kind}.py{_SUFFIX}"
    template = short if short.is_file() else templates / kind / f"__init__.py{_SUFFIX}"
    return f"{name.replace('-', '_')}.py", _filled(template, kind, name)


def _filled(template: Traversable, kind: str, name: str) -> str:
    distribution = distribution_name(kind, name)
    values = {
        "name": name,
        "identifier": name.replace("-", "_"),
        "constant": name.replace("-", "_").upper(),
        "class": "".join(word.capitalize() for word in name.split("-")),
        "kind": kind.replace("-", " "),
        "distribution": distribution,
        "module": distribution.replace("-", "_"),
        "requirement": compatible_range(__version__),
    }
    return _KEY.sub(lambda match: values[match[1]], template.read_text(encoding="utf-8"))


def _files(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _files(each, f"{above}{each.name}/")
        elif each.name.endswith(_SUFFIX):
            # A name with a leading dot would be left out by tools that build distributions.
            yield f"{above}{each.name.removesuffix(_SUFFIX)}".replace("dot-", "."), each
