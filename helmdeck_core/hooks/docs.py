"""Renders the hook specifications as Markdown: what is in the docstrings, and nothing beside it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import attrs

from helmdeck_core import hookspecs
from helmdeck_core.hooks.contributions import is_lookup, specifications

TITLE = "# Hooks"
NOTICE = "<!-- Written by `helmdeck hooks --write hookspecs.md`; a test compares. Change helmdeck_core/hookspecs.py instead. -->"

_FIELD = re.compile(r":(?P<word>param|returns|raises)(?:\s+(?P<name>[\w.]+))?:\s*(?P<text>.*)")
_DIRECTIVE = re.compile(r"\.\. (?P<word>versionadded|versionchanged|deprecated)::\s*(?P<text>.*)")
_DIRECTIVES = {"versionadded": "New in", "versionchanged": "Changed in", "deprecated": "Deprecated since"}


@attrs.frozen
class HookDoc:
    """One hook, ready to be shown."""

    name: str
    kind: str
    signature: str
    docstring: str

    @property
    def summary(self) -> str:
        """The first line."""
        return self.docstring.partition("\n")[0]

    def to_dict(self) -> dict[str, Any]:
        """The hook as plain data."""
        return attrs.asdict(self)


def hooks() -> list[HookDoc]:
    """Every hook, in the order of the source."""
    return [
        HookDoc(name, "look-up" if is_lookup(each) else "contribution", _signature(each), inspect.getdoc(each) or "")
        for name, each in specifications().items()
    ]


def render() -> str:
    """The whole page."""
    every = hooks()
    parts = [TITLE, NOTICE, _ticked(inspect.getdoc(hookspecs) or "")]
    rows = [f"| [`{hook.name}`](#{hook.name}) | {hook.kind} | {_ticked(hook.summary)} |" for hook in every]
    parts.append("\n".join(["| hook | kind | what for |", "|---|---|---|", *rows]))
    parts += [_section(hook) for hook in every]
    return "\n\n".join(parts) + "\n"


def _signature(function: FunctionType) -> str:
    # Annotations are texts here, which inspect would put into quotes.
    signature = inspect.signature(function)
    given = [f"{parameter.name}: {parameter.annotation}" for parameter in signature.parameters.values()]
    return f"def {function.__name__}({', '.join(given)}) -> {signature.return_annotation}"


def _section(hook: HookDoc) -> str:
    head = f"## {hook.name}\n\n```python\n{hook.signature}\n```\n\n*{hook.kind.capitalize()}.*"
    return "\n\n".join([head, *_blocks(hook.docstring)]).replace(
        f"*{hook.kind.capitalize()}.*\n\n", f"*{hook.kind.capitalize()}.* ", 1
    )


def _blocks(docstring: str) -> Iterator[str]:
    """Paragraphs as they are; fields as one list; a directive as a line of its own."""
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
