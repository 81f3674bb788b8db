"""Renders the hook specifications as Markdown: the docstrings, and the built-in implementations of each hook."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import attrs

from helmdeck_core import Contribution, PluginInventory, hook_specifications, list_plugins, value_name

TITLE = "# Hooks"
NOTICE = "<!-- Written by `helmdeck hooks --write hookspecs.md`; a test compares. Change helmdeck_core/hookspecs/ instead. -->"

MAX_NAMES = 20
"""Maximum number of contributed names that are listed per plugin; beyond it, only their number."""

_FIELD = re.compile(r":(?P<word>param|returns|raises)(?:\s+(?P<name>[\w.]+))?:\s*(?P<text>.*)")
_DIRECTIVE = re.compile(r"\.\. (?P<word>versionadded|versionchanged|deprecated)::\s*(?P<text>.*)")
_DIRECTIVES = {"versionadded": "New in", "versionchanged": "Changed in", "deprecated": "Deprecated since"}


@attrs.frozen
class HookDoc:
    """The documentation of one hook.

    :ivar kind: ``contribution`` or ``lookup``.
    """

    name: str
    kind: str
    signature: str
    docstring: str

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.docstring.partition("\n")[0]

    def to_dict(self) -> dict[str, Any]:
        """The hook as plain data."""
        return attrs.asdict(self)


def hooks() -> list[HookDoc]:
    """Every hook, in the order of the source."""
    return [
        HookDoc(name, _kind(each), _signature(each), inspect.getdoc(each) or "")
        for name, each in hook_specifications().items()
    ]


def _kind(specification: FunctionType) -> str:
    return "lookup" if getattr(specification, "helmdeck_spec")["firstresult"] else "contribution"


@attrs.frozen
class HookUse:
    """One hook, the plugins that implement it, and the values that take effect.

    :ivar implementations: the plugins that implement the hook, in the order of registration. For a lookup, the last one is
        called first.
    :ivar contributions: the values that take effect, in their order; empty for a lookup.
    """

    hook: HookDoc
    implementations: tuple[str, ...]
    contributions: tuple[Contribution[Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """The hook as plain data."""
        values = [
            {"name": value_name(contribution.value), "plugin": contribution.plugin, "replaces": contribution.replaced}
            for contribution in self.contributions
        ]
        return {**self.hook.to_dict(), "implementations": list(self.implementations), "contributions": values}


def hook_uses(inventory: PluginInventory) -> tuple[HookUse, ...]:
    """Every hook with its implementations, in the order of their specifications."""
    return tuple(
        HookUse(hook, inventory.implementations(hook.name), inventory.contributions.get(hook.name, ()))
        for hook in hooks()
    )


def hooks_page() -> str:
    """The page ``hookspecs.md``: every hook with its built-in implementations, independent of installed plugins.

    :raises PluginError: a built-in plugin cannot be loaded.
    """
    inventory = list_plugins()
    for error in inventory.errors:
        raise error
    names: dict[str, dict[str, list[str]]] = {}
    for use in hook_uses(inventory):
        names[use.hook.name] = {plugin: [] for plugin in use.implementations}
        for contribution in use.contributions:
            names[use.hook.name][contribution.plugin].append(value_name(contribution.value))
    return render(names)


def render(builtin: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """The page with all hooks.

    :param builtin: by hook, the built-in plugins that implement it, each with the names of its contributed values.
    """
    every = hooks()
    package = next(iter(hook_specifications().values())).__module__.rpartition(".")[0]
    parts = [TITLE, NOTICE, _ticked(inspect.getdoc(sys.modules[package]) or "")]
    rows = [f"| [`{hook.name}`](#{hook.name}) | {hook.kind} | {_ticked(hook.summary)} |" for hook in every]
    parts.append("\n".join(["| hook | kind | purpose |", "|---|---|---|", *rows]))
    parts += [_section(hook, builtin.get(hook.name, {})) for hook in every]
    return "\n\n".join(parts) + "\n"


def _signature(function: FunctionType) -> str:
    # Annotations are strings here; inspect would quote them.
    signature = inspect.signature(function)
    parameters = [f"{parameter.name}: {parameter.annotation}" for parameter in signature.parameters.values()]
    return f"def {function.__name__}({', '.join(parameters)}) -> {signature.return_annotation}"


def _section(hook: HookDoc, builtin: Mapping[str, Sequence[str]]) -> str:
    head = f"## {hook.name}\n\n```python\n{hook.signature}\n```\n\n*{hook.kind.capitalize()}.*"
    text = "\n\n".join([head, *_blocks(hook.docstring)]).replace(
        f"*{hook.kind.capitalize()}.*\n\n", f"*{hook.kind.capitalize()}.* ", 1
    )
    return f"{text}\n\n{_implementations(hook, builtin)}"


def _implementations(hook: HookDoc, builtin: Mapping[str, Sequence[str]]) -> str:
    """The built-in implementations of a hook, and how to replace them."""
    if not builtin:
        return "Built-in implementations: none."
    lines = ["Built-in implementations:", ""]
    for plugin, names in builtin.items():
        listed = ", ".join(f"`{name or '(fallback)'}`" for name in names)
        values = f"{len(names)} values" if len(names) > MAX_NAMES else listed
        lines.append(f"- plugin `{plugin}`" + (f": {values}" if values else ""))
    by_name = (
        "contribute one of the same name"
        if hook.kind == "contribution"
        else "answer instead, which installed plugins do first"
    )
    what = "a value" if hook.kind == "contribution" else "an answer"
    first = next(iter(builtin))
    return "\n".join(
        [*lines, "", f'To replace {what}, {by_name}. To remove a plugin, block it: `[plugins] disable = ["{first}"]`.']
    )


def _blocks(docstring: str) -> Iterator[str]:
    """Paragraphs unchanged, fields as one list, a directive as its own line."""
    items: list[str] = []
    for paragraph in docstring.split("\n\n"):
        if directive := _DIRECTIVE.fullmatch(paragraph.strip()):
            if items:
                yield "\n".join(items)
                items = []
            yield f"*{_DIRECTIVES[directive['word']]} {directive['text']}.*"
        elif paragraph.startswith(":"):
            items += _fields(paragraph)
        else:
            yield _ticked(paragraph)
    if items:
        yield "\n".join(items)


def _fields(paragraph: str) -> list[str]:
    items: list[str] = []
    for line in paragraph.split("\n"):
        field = _FIELD.fullmatch(line)
        if field is None:
            items[-1] += f" {line.strip()}"
            continue
        label = {"param": "", "returns": "returns", "raises": "raises"}[field["word"]]
        name = f"`{field['name']}`" if field["name"] else ""
        items.append(f"- {' '.join(filter(None, (label, name)))}: {field['text']}")
    return [_ticked(item) for item in items]


def _ticked(text: str) -> str:
    return text.replace("``", "`")
